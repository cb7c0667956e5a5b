//! [`Grace`]: a thread that waits for grace periods, so that changes go on meanwhile.

use super::faults;
use crate::Error;
use aya::maps::{Array, ArrayOfMaps, Map, MapData};
use std::io;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

/// What is said of an error.
const WHAT: &str = "wait for a grace period";

/// A map in a map; see [`super`] for why replacing it waits.
type Outer = ArrayOfMaps<MapData, Array<MapData, u32>>;

/// Waits for grace periods in a thread, which ends when this is dropped.
#[derive(Debug)]
pub(super) struct Grace {
    begin: Sender<()>,
    ended: Receiver<Result<(), Error>>,
    is_under_way: bool,
}

impl Grace {
    /// Starts the thread. No program may read the map.
    pub(super) fn start(map: Map) -> Result<Self, Error> {
        let mut outer = Outer::try_from(map).map_err(|error| Error::of_chain(WHAT, &error))?;
        let (begin, begun) = mpsc::channel();
        let (end, ended) = mpsc::channel();
        let wait = move || {
            for () in begun {
                // Nobody may be there to hear of it any more.
                let _ = end.send(wait(&mut outer));
            }
        };
        let thread = thread::Builder::new().name("grace".into()).spawn(wait);
        thread.map_err(|error| Error::io("start a thread", error))?;
        Ok(Self { begin, ended, is_under_way: false })
    }

    /// Begins a grace period, unless one is under way.
    pub(super) fn begin(&mut self) {
        self.is_under_way = self.is_under_way || self.begin.send(()).is_ok();
    }

    /// Returns whether a grace period has ended since the last call.
    ///
    /// # Errors
    /// If the kernel fails; then none has ended.
    pub(super) fn has_ended(&mut self) -> Result<bool, Error> {
        if !self.is_under_way {
            return Ok(false);
        }
        let Ok(end) = self.ended.try_recv() else { return Ok(false) };
        self.is_under_way = false;
        end.map(|()| true)
    }

    /// Waits for a grace period that begins now.
    ///
    /// # Errors
    /// If the kernel fails.
    pub(super) fn wait(&mut self) -> Result<(), Error> {
        faults::call(WHAT)?;
        if self.is_under_way {
            // It began too early.
            self.end()?;
        }
        self.begin();
        self.end()
    }

    fn end(&mut self) -> Result<(), Error> {
        self.is_under_way = false;
        let gone = |_| Error::io(WHAT, io::Error::other("its thread has ended"));
        self.ended.recv().map_err(gone)?
    }
}

/// Returns when every program that was running has ended.
fn wait(outer: &mut Outer) -> Result<(), Error> {
    let inner = Array::<MapData, u32>::create(1, 0).map_err(|error| Error::of_chain(WHAT, &error))?;
    outer.set(0, &inner, 0).map_err(|error| Error::of_chain(WHAT, &error))
}
