//! [`Watch`]: what readers are to look at.

use fibula::{Address, NextHop};
use std::sync::atomic::{AtomicU64, Ordering, fence};

/// An address and the answers that are right at the moment. The writer sets them, and any number of
/// readers read them without a lock.
///
/// A sequence number guards the other fields. A reader that finds it the same before and after has
/// read one state. Whatever the reader looked up in between was looked up while the writer had set
/// that state.
#[derive(Debug, Default)]
pub(super) struct Watch {
    /// 0 while there is nothing to check; else even before the publication is done, and odd after.
    sequence: AtomicU64,
    address: [AtomicU64; 2],
    /// Both answers.
    next_hops: AtomicU64,
    /// The last number that the one writer used.
    last: AtomicU64,
}

/// The state that a reader checks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sight<A> {
    pub(super) address: A,
    /// The answer of the table before the publication in progress; once that is done, the one
    /// after.
    pub(super) before: NextHop,
    pub(super) after: NextHop,
    sequence: u64,
}

impl Watch {
    /// From now on, until the next call of any method, the answer for this address is one of the
    /// two.
    pub(super) fn show<A: Address>(&self, address: A, before: NextHop, after: NextHop) {
        self.hide();
        let number = self.last.load(Ordering::Relaxed) + 2;
        self.last.store(number, Ordering::Relaxed);
        let address = address.to_u128();
        self.address[0].store((address >> 64) as u64, Ordering::Relaxed);
        self.address[1].store(address as u64, Ordering::Relaxed);
        self.next_hops.store(u64::from(before.0) << 32 | u64::from(after.0), Ordering::Relaxed);
        self.sequence.store(number, Ordering::Release);
    }

    /// From now on the answer is the one after.
    pub(super) fn done(&self) {
        let number = self.sequence.load(Ordering::Relaxed);
        if number != 0 && number.is_multiple_of(2) {
            self.sequence.store(number + 1, Ordering::Release);
        }
    }

    /// From now on there is nothing to check.
    pub(super) fn hide(&self) {
        self.sequence.store(0, Ordering::Relaxed);
        fence(Ordering::Release); // before a publication, or another state
    }

    /// Returns the present state.
    pub(super) fn sight<A: Address>(&self) -> Option<Sight<A>> {
        let sequence = self.sequence.load(Ordering::Acquire);
        let [high, low] = self.address.each_ref().map(|half| half.load(Ordering::Relaxed));
        let next_hops = self.next_hops.load(Ordering::Relaxed);
        let (before, after) = (NextHop((next_hops >> 32) as u32), NextHop(next_hops as u32));
        let before = if sequence.is_multiple_of(2) { before } else { after };
        let address = A::from_u128(u128::from(high) << 64 | u128::from(low))?;
        (sequence != 0).then_some(Sight { address, before, after, sequence })
    }

    /// Returns whether `sight` has been the writer's state until now. Only then can what was looked
    /// up since be judged.
    pub(super) fn still_shows<A>(&self, sight: &Sight<A>) -> bool {
        fence(Ordering::Acquire);
        self.sequence.load(Ordering::Relaxed) == sight.sequence
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sight_lasts_until_the_next_word() {
        let watch = Watch::default();
        assert!(watch.sight::<u128>().is_none());
        watch.show(u128::MAX - 1, NextHop(1), NextHop(2));
        let open = watch.sight::<u128>().unwrap();
        assert_eq!((open.address, open.before, open.after), (u128::MAX - 1, NextHop(1), NextHop(2)));
        assert!(watch.still_shows(&open));
        watch.done();
        assert!(!watch.still_shows(&open));
        let done = watch.sight::<u128>().unwrap();
        assert_eq!((done.before, done.after), (NextHop(2), NextHop(2)));
        watch.hide();
        assert!(!watch.still_shows(&done) && watch.sight::<u32>().is_none());
        watch.done();
        assert!(watch.sight::<u32>().is_none());
    }
}
