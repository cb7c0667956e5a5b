//! [`LiveTable`]: a table that changes while others read it, wherever it is, so that one judge does
//! for all.
//!
//! The library's own [`Live`] is one. A table that is kept elsewhere (on a card) implements the
//! same few methods, and is [replayed](crate::replay) and [verified](crate::verify) by the same
//! code.

use crate::answers::Answers;
use crate::mismatch::Tally;
use crate::verify::{ask_in_batches, ask_one_by_one};
use crate::{Error, Expected};
use fibula::engine::WidthBits;
use fibula::live::{Counts, Live, Reader};
use fibula::{Address, Change, ErrorKind, NextHop, Rib};
use std::time::Duration;

/// A table that changes while others read it: the writer's side. Times are since any moment and
/// must not run backwards.
pub trait LiveTable<A: Address> {
    /// See [`TableReader`].
    type Reader: TableReader<A> + 'static;

    /// Returns reader `number`, counted from 0, for batches of up to `batch` addresses.
    ///
    /// # Errors
    /// If there is no memory for it where the table is.
    fn reader(&self, number: usize, batch: usize) -> Result<Self::Reader, Error>;

    /// Returns the number of copies that readers read from. The first `places()` readers reach all
    /// of them.
    fn places(&self) -> usize {
        1
    }

    /// Takes a change, and publishes if that is due.
    ///
    /// # Errors
    /// If the table is lost. A change that exceeds a limit is taken back and counted, which is no
    /// error.
    fn change(&mut self, change: Change<A>, now: Duration) -> Result<(), Error>;

    /// Publishes if that is due and readers allow it.
    ///
    /// # Errors
    /// See [`LiveTable::change`].
    fn poll(&mut self, now: Duration) -> Result<(), Error>;

    /// Returns the number of changes that are taken and not published yet.
    fn pending(&self) -> usize;

    /// Returns the published table.
    fn rib(&self) -> &Rib<A>;

    /// Returns the counts of all changes so far.
    fn counts(&self) -> Counts;

    /// Returns the bytes of all copies together.
    fn bytes(&self) -> usize;

    /// Returns the width of the answers.
    fn width(&self) -> WidthBits;

    /// Returns the number of addresses that are answered wrong.
    ///
    /// # Errors
    /// If the table is lost.
    fn wrong(&self, expected: &Expected<A>) -> Result<u64, Error> {
        let judge = |place| Ok(tally(&mut self.reader(place, JUDGED_AT_ONCE)?, expected)?.mismatches);
        (0..self.places()).map(judge).sum()
    }
}

/// One thread's reader of a [`LiveTable`].
pub trait TableReader<A: Address>: Send {
    /// Looks up a batch, no larger than the reader was made for. All answers are of one published
    /// table, unless the table is changed in place.
    ///
    /// # Errors
    /// If the table is lost.
    fn look_up(&mut self, addresses: &[A]) -> Result<(), Error>;

    /// Returns the answer for the address at `index` of the last batch.
    ///
    /// # Panics
    /// If the batch is not that long.
    fn answer(&self, index: usize) -> NextHop;

    /// Returns the answer for one address.
    ///
    /// # Errors
    /// If the table is lost.
    fn look_up_one(&mut self, address: A) -> Result<NextHop, Error> {
        self.look_up(&[address])?;
        Ok(self.answer(0))
    }
}

/// The number of addresses of a batch, where any number does.
pub(crate) const JUDGED_AT_ONCE: usize = 1 << 16;

/// Compares the answers of a reader with the right ones. The reader takes batches of
/// [`JUDGED_AT_ONCE`].
pub(crate) fn tally<A: Address>(
    reader: &mut impl TableReader<A>,
    expected: &Expected<A>,
) -> Result<Tally<A>, Error> {
    let mut tally = Tally::new();
    let right = expected.next_hops().chunks(JUDGED_AT_ONCE);
    for (addresses, right) in expected.addresses().chunks(JUDGED_AT_ONCE).zip(right) {
        reader.look_up(addresses)?;
        for (index, (&address, &right)) in addresses.iter().zip(right).enumerate() {
            tally.compare(address, right, reader.answer(index));
        }
    }
    Ok(tally)
}

/// Judges the first of the live engines.
impl<A: Address> LiveTable<A> for Live<A> {
    type Reader = OwnReader<A>;

    fn reader(&self, _: usize, batch: usize) -> Result<OwnReader<A>, Error> {
        let mut reader = Live::reader(self, 0);
        let answers = Answers::new(reader.guard().width(), batch);
        reader.rest();
        Ok(OwnReader { reader, answers })
    }

    fn change(&mut self, change: Change<A>, now: Duration) -> Result<(), Error> {
        carried_on(Live::change(self, change, now))
    }

    fn poll(&mut self, now: Duration) -> Result<(), Error> {
        carried_on(Live::poll(self, now))
    }

    fn pending(&self) -> usize {
        Live::pending(self)
    }

    fn rib(&self) -> &Rib<A> {
        Live::rib(self)
    }

    fn counts(&self) -> Counts {
        Live::counts(self)
    }

    fn bytes(&self) -> usize {
        self.memory(0).total()
    }

    fn width(&self) -> WidthBits {
        Live::reader(self, 0).guard().width()
    }

    fn wrong(&self, expected: &Expected<A>) -> Result<u64, Error> {
        let mut reader = Live::reader(self, 0);
        let fib = reader.guard();
        Ok(ask_one_by_one(fib, expected).mismatches + ask_in_batches(fib, expected).mismatches)
    }
}

/// Passes over the two errors of a publication after which a judge goes on.
///
/// What exceeds a limit was taken back and counted. Changes that readers hold up stay pending: the
/// next call tries them again. After any other error the table is no longer to be trusted.
fn carried_on(published: Result<(), fibula::Error>) -> Result<(), Error> {
    match published {
        Err(error) if !matches!(error.kind(), ErrorKind::Limit(_) | ErrorKind::ReadersHeldUp) => {
            Err(error.into())
        }
        _ => Ok(()),
    }
}

/// A reader of a [`Live`], with memory for its answers.
#[derive(Debug)]
pub struct OwnReader<A: Address> {
    reader: Reader<A>,
    answers: Answers,
}

impl<A: Address> TableReader<A> for OwnReader<A> {
    fn look_up(&mut self, addresses: &[A]) -> Result<(), Error> {
        let fib = self.reader.guard();
        if !self.answers.is_of(fib.width()) {
            self.answers = Answers::new(fib.width(), self.answers.len());
        }
        fib.lookup_batch_into(addresses, self.answers.first(addresses.len()));
        Ok(())
    }

    fn answer(&self, index: usize) -> NextHop {
        self.answers.get(index)
    }

    fn look_up_one(&mut self, address: A) -> Result<NextHop, Error> {
        Ok(self.reader.guard().lookup_index(address))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fibula::Limit;

    #[test]
    fn only_limits_and_readers_that_hold_up_are_passed_over() {
        let limit = Limit { what: "routes", had: 2, max: 1 };
        assert!(carried_on(Ok(())).is_ok() && carried_on(Err(limit.into())).is_ok());
        assert!(carried_on(Err(fibula::Error::new(ErrorKind::ReadersHeldUp, "later"))).is_ok());
        let error = carried_on(Err(fibula::Error::new(ErrorKind::Engine, "out of memory"))).unwrap_err();
        assert_eq!(error.to_string(), "out of memory");
    }
}
