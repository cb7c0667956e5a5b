//! Changing tables on a card, for the lab's judges: alone, or beside one on the processor.

use super::on_processor;
use fibula::engine::WidthBits;
use fibula::live::{Counts, Live, Settings};
use fibula::{Change, ErrorKind, NextHop, Rib};
use fibula_gpu::Key;
use fibula_gpu::cooperative::Division;
use fibula_gpu::device::Device;
use fibula_gpu::live as gpu;
use fibula_lab::Error;
use fibula_lab::live_table::{LiveTable, OwnReader, TableReader};
use std::time::{Duration, Instant};

/// A changing table on a device. Where the processor takes part, it has the same table.
#[derive(Debug)]
pub(crate) struct TableOnDevice<D: Device, A: Key> {
    device: gpu::Live<D, A>,
    processor: Option<Live<A>>,
}

/// A reader on one of the two.
#[derive(Debug)]
pub(crate) enum Reader<D: Device, A: Key> {
    Device(gpu::Reader<D, A>),
    Processor(OwnReader<A>),
}

/// How long a publication on the processor may wait for readers that hold old tables.
const PATIENCE: Duration = Duration::from_secs(30);

/// Calls `publish` until it returns anything but "readers hold it up", at most for `patience`.
///
/// A limit is no error here: the table has taken the changes back and counted them, as the device
/// did.
fn publish_within(
    patience: Duration,
    mut publish: impl FnMut() -> Result<(), fibula::Error>,
) -> Result<(), Error> {
    let start = Instant::now();
    loop {
        match publish().map_err(|error| (error.kind(), error)) {
            Ok(()) | Err((ErrorKind::Limit(_), _)) => return Ok(()),
            Err((ErrorKind::ReadersHeldUp, error)) if start.elapsed() >= patience => {
                let waited = format!("gave up after {} s: {error}", patience.as_secs());
                return Err(fibula::Error::new(ErrorKind::ReadersHeldUp, waited).into());
            }
            Err((ErrorKind::ReadersHeldUp, _)) => std::thread::yield_now(),
            Err((_, error)) => return Err(error.into()),
        }
    }
}

impl<D: Device, A: Key> TableOnDevice<D, A> {
    /// Compiles a table for a device at a width, and for the processor if it takes part.
    pub(crate) fn new(
        device: D,
        division: Division,
        engine: &str,
        width: WidthBits,
        rib: &Rib<A>,
        settings: Settings,
    ) -> anyhow::Result<Self> {
        let device = gpu::Live::new(device, engine, Some(width), rib.clone(), settings)?;
        let processor = if division == Division::Device {
            None
        } else {
            let fib = on_processor(engine, rib, Some(width))?;
            // It publishes when the device does.
            let settings = Settings { most_changes: usize::MAX, longest_delay: Duration::MAX, ..settings };
            Some(Live::new(rib.clone(), [fib], settings)?)
        };
        Ok(Self { device, processor })
    }

    /// Publishes the pending changes on both sides. Between two publications the sides answer
    /// alike.
    fn publish(&mut self) -> Result<(), Error> {
        match self.device.publish() {
            Err(error) if error.limit().is_none() => return Err(Error::elsewhere(error)),
            _ => {} // what exceeds a limit is taken back and counted
        }
        match &mut self.processor {
            Some(processor) => publish_within(PATIENCE, || processor.publish()),
            None => Ok(()),
        }
    }
}

impl<D: Device + 'static, A: Key> LiveTable<A> for TableOnDevice<D, A>
where
    D::Table: 'static,
    D::Lane: 'static,
{
    type Reader = Reader<D, A>;

    /// The first reader is on the device. Where the processor takes part, the others are there.
    fn reader(&self, number: usize, batch: usize) -> Result<Reader<D, A>, Error> {
        match &self.processor {
            Some(processor) if number > 0 => {
                Ok(Reader::Processor(LiveTable::reader(processor, number, batch)?))
            }
            _ => self.device.reader(batch).map(Reader::Device).map_err(Error::elsewhere),
        }
    }

    fn places(&self) -> usize {
        1 + usize::from(self.processor.is_some())
    }

    fn change(&mut self, change: Change<A>, now: Duration) -> Result<(), Error> {
        self.device.take_in(change, now);
        if let Some(processor) = &mut self.processor {
            processor.change(change, Duration::ZERO).map_err(Error::from)?;
        }
        self.poll(now)
    }

    fn poll(&mut self, now: Duration) -> Result<(), Error> {
        if self.device.is_due(now) { self.publish() } else { Ok(()) }
    }

    fn pending(&self) -> usize {
        self.device.pending()
    }

    fn rib(&self) -> &Rib<A> {
        self.device.rib()
    }

    fn counts(&self) -> Counts {
        self.device.counts()
    }

    fn bytes(&self) -> usize {
        self.device.bytes() + self.processor.as_ref().map_or(0, LiveTable::bytes)
    }

    fn width(&self) -> WidthBits {
        self.device.width()
    }
}

impl<D: Device, A: Key> TableReader<A> for Reader<D, A> {
    fn look_up(&mut self, addresses: &[A]) -> Result<(), Error> {
        match self {
            Self::Device(reader) => reader.look_up(addresses).map_err(Error::elsewhere),
            Self::Processor(reader) => reader.look_up(addresses),
        }
    }

    fn answer(&self, index: usize) -> NextHop {
        match self {
            Self::Device(reader) => reader.answer(index),
            Self::Processor(reader) => reader.answer(index),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fibula::Limit;

    fn published(patience: Duration, answers: &[Result<(), fibula::Error>]) -> (Result<(), String>, usize) {
        let mut calls = 0;
        let came_to = publish_within(patience, || {
            let answer = answers[calls.min(answers.len() - 1)].clone();
            calls += 1;
            answer
        });
        (came_to.map_err(|error| error.to_string()), calls)
    }

    #[test]
    fn a_publication_waits_for_readers_and_ends() {
        let held_up = || Err(fibula::Error::new(ErrorKind::ReadersHeldUp, "a reader rests nowhere"));
        let limit = Err(Limit { what: "routes", had: 2, max: 1 }.into());
        let lost = Err(fibula::Error::new(ErrorKind::Engine, "out of memory"));
        let long = Duration::from_mins(1);
        assert_eq!(published(long, &[held_up(), held_up(), Ok(())]), (Ok(()), 3));
        assert_eq!(published(long, &[held_up(), limit]), (Ok(()), 2));
        assert_eq!(published(long, &[lost]), (Err("out of memory".into()), 1));
        let gave_up = Err("gave up after 0 s: a reader rests nowhere".into());
        assert_eq!(published(Duration::ZERO, &[held_up()]), (gave_up, 1));
    }
}
