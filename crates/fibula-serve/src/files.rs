//! [`Followed`]: what is read from a file, and read again when the file is replaced.

use crate::Tell;
use arc_swap::ArcSwap;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

/// What tells that a file is another one, or was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mark {
    device: u64,
    inode: u64,
    bytes: u64,
    modified: (i64, i64),
}

impl Mark {
    fn of(path: &Path) -> io::Result<Self> {
        let about = fs::metadata(path)?;
        Ok(Self {
            device: about.dev(),
            inode: about.ino(),
            bytes: about.len(),
            modified: (about.mtime(), about.mtime_nsec()),
        })
    }
}

/// Why the file was not taken when it was last looked at.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) what: String,
    pub(crate) since: SystemTime,
}

/// How a file becomes a `T`: from its path and the generation that it would be.
type Read<T> = dyn Fn(&Path, u64) -> Result<T, String> + Send + Sync;

/// A value that is read from a file.
pub(crate) struct Followed<T> {
    pub(crate) path: PathBuf,
    read: Box<Read<T>>,
    current: ArcSwap<T>,
    generation: AtomicU64,
    failures: AtomicU64,
    /// The file as it was when it was read last, even if in vain.
    mark: Mutex<Option<Mark>>,
    failure: Mutex<Option<Failure>>,
}

impl<T> Followed<T> {
    /// Reads the file for the first time.
    pub(crate) fn open(
        path: PathBuf,
        read: impl Fn(&Path, u64) -> Result<T, String> + Send + Sync + 'static,
    ) -> Result<Self, String> {
        let mark = Mark::of(&path).ok();
        let first = read(&path, 1)?;
        Ok(Self {
            path,
            read: Box::new(read),
            current: ArcSwap::from_pointee(first),
            generation: AtomicU64::new(1),
            failures: AtomicU64::new(0),
            mark: Mutex::new(mark),
            failure: Mutex::new(None),
        })
    }

    /// Returns what was read last. Whoever holds it keeps it, whatever happens to the file.
    pub(crate) fn get(&self) -> Arc<T> {
        self.current.load_full()
    }

    /// Returns the number of times the file was read.
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Relaxed)
    }

    /// Returns the number of times the file could not be taken.
    pub(crate) fn failures(&self) -> u64 {
        self.failures.load(Ordering::Relaxed)
    }

    /// Returns why what is served is older than the file.
    pub(crate) fn failure(&self) -> Option<Failure> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Reads the file again if it is another one than last time, or if `asked`. Returns what was
    /// there before, if it was replaced. Only one thread calls this.
    pub(crate) fn follow(&self, asked: bool, tell: Tell) -> Option<Arc<T>> {
        let before = Mark::of(&self.path).ok();
        {
            let mut known = self.mark.lock().unwrap_or_else(PoisonError::into_inner);
            if *known == before && !asked {
                return None;
            }
            *known = before;
        }
        let generation = self.generation() + 1;
        match (self.read)(&self.path, generation) {
            // Written meanwhile, so maybe in parts: the next look finds another mark.
            Ok(_) if Mark::of(&self.path).ok() != before => None,
            Ok(next) => {
                let old = self.current.swap(Arc::new(next));
                self.generation.store(generation, Ordering::Relaxed);
                *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = None;
                tell(format_args!("{}: read again, generation {generation}", self.path.display()));
                Some(old)
            }
            Err(what) => {
                self.failures.fetch_add(1, Ordering::Relaxed);
                tell(format_args!("{what}; generation {} still answers", self.generation()));
                let failure = Failure { what, since: SystemTime::now() };
                *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(failure);
                None
            }
        }
    }
}
