//! Snapshots that are swapped while other threads look up, when their file is replaced.
//!
//! A program builds a table and renames the file to its name; others answer from it. When
//! [`LiveSnapshot::refresh`] is called, and another file has the name, it maps and checks the new
//! one, and hands it to the readers. No reader waits. Call it from a timer, on SIGHUP, or when the
//! system reports a change of the folder: it starts no thread and watches nothing.
//!
//! ```
//! use fibula::snapshot::Image;
//! use fibula::snapshot::live::LiveSnapshot;
//! use fibula::{Fib, NextHopInfo, NextHops, Rib};
//! use std::fs;
//!
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("table.fib");
//! let write = |next_hop: &str| -> Result<(), Box<dyn std::error::Error>> {
//!     let mut next_hops = NextHops::new();
//!     let mut rib: Rib<u32> = Rib::new();
//!     rib.insert("192.0.2.0/24".parse()?, next_hops.intern(NextHopInfo::parse(next_hop))?);
//!     let fib = Fib::build("poptrie", &rib)?;
//!     let beside = path.with_extension("new");
//!     Image::new(&next_hops).with(&fib, &rib, false)?.write(&mut fs::File::create(&beside)?)?;
//!     Ok(fs::rename(&beside, &path)?)
//! };
//! write("64500")?;
//! let mut live = LiveSnapshot::open(&path)?;
//! let mut reader = live.reader(); // one a thread
//!
//! assert!(!live.refresh()?);
//! write("64501")?;
//! assert!(live.refresh()?);
//! let now = reader.guard();
//! let next_hop = now.views().lookup("192.0.2.1".parse()?);
//! assert_eq!(now.snapshot().next_hop(next_hop).unwrap().to_string(), "64501");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::file::{self, Identity};
use super::{ENGINES, Entry, Snapshot};
use crate::live::ReaderOf;
use crate::live::handover::{Handover, Settings};
use crate::{Error, Views};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How a swap treats readers: it never waits, and leaves them up to four files that were replaced.
const SWAP: Settings = Settings { attempts: 0, most_retired: 4, stuck_after: Duration::ZERO };

/// One thread's way to the snapshot that was opened last.
pub type SnapshotReader = ReaderOf<Opened>;

/// A snapshot, and the views of its tables.
#[derive(Debug)]
pub struct Opened {
    snapshot: Snapshot,
    views: Views,
}

impl Opened {
    fn of(path: &Path, engines: &'static [Entry]) -> Result<(Self, Identity), Error> {
        let (snapshot, file) = file::open(path)?;
        let views = snapshot.views_from(engines);
        let views =
            views.map_err(|error| Error::new(error.kind(), format!("{}: {error}", path.display())))?;
        Ok((Self { snapshot, views }, file))
    }

    /// Returns the snapshot, which knows what the answers stand for.
    #[must_use]
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// Returns its tables, which look up.
    #[must_use]
    pub fn views(&self) -> &Views {
        &self.views
    }
}

/// The end that opens files; see the [module page](self).
#[derive(Debug)]
pub struct LiveSnapshot {
    path: PathBuf,
    engines: &'static [Entry],
    /// The file that is open.
    file: Identity,
    published: Handover<Opened>,
}

impl LiveSnapshot {
    /// Opens a snapshot. O(bytes).
    ///
    /// # Errors
    /// As [`Snapshot::open`] and [`Snapshot::view`].
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, Error> {
        Self::open_from(path, ENGINES)
    }

    /// As [`open`](LiveSnapshot::open), with the engines from `engines`.
    ///
    /// # Errors
    /// See [`open`](LiveSnapshot::open).
    pub fn open_from(path: impl Into<PathBuf>, engines: &'static [Entry]) -> Result<Self, Error> {
        let path = path.into();
        let (opened, file) = Opened::of(&path, engines)?;
        Ok(Self { path, engines, file, published: Handover::new(opened) })
    }

    /// Opens the file again if another has its name, or its length or time has changed. Returns
    /// whether it did: then every guard taken from now on shows the new one. Also unmaps files that
    /// no reader holds any more.
    ///
    /// O(1) if the file is the same, O(bytes) if not. Never waits for readers.
    ///
    /// # Errors
    /// Then readers go on with the file that they have.
    /// - There is no file of this name, or it is not a sound snapshot. The next call tries again.
    /// - Of kind [`ErrorKind::ReadersHeldUp`](crate::ErrorKind::ReadersHeldUp), if readers that
    ///   neither take guards nor rest hold up four files that were replaced.
    pub fn refresh(&mut self) -> Result<bool, Error> {
        let room = self.published.take_back(SWAP).map(drop);
        if Identity::at(&self.path)? == self.file {
            return Ok(false);
        }
        room?;
        let (opened, file) = Opened::of(&self.path, self.engines)?;
        self.published.publish(opened);
        self.file = file;
        Ok(true)
    }

    /// Returns a new reader, which rests. O(readers).
    #[must_use]
    pub fn reader(&self) -> SnapshotReader {
        self.published.reader()
    }

    /// Returns the snapshot that was opened last.
    #[must_use]
    pub fn published(&self) -> &Opened {
        self.published.current()
    }

    /// Returns the name of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}
