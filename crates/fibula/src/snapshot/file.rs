//! Snapshots as files: mapped, checked, and told apart.

use super::Snapshot;
use crate::memory::Mapping;
use crate::{Error, ErrorKind};
use std::fmt::Display;
use std::fs::{File, Metadata};
use std::io;
use std::path::Path;
use std::time::SystemTime;

/// What differs where another file has taken the name of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    /// The numbers of the device and the inode. The inode of a file that is mapped is not reused.
    inode: Option<(u64, u64)>,
    bytes: u64,
    modified: Option<SystemTime>,
}

impl Identity {
    fn of(metadata: &Metadata) -> Self {
        Self { inode: inode(metadata), bytes: metadata.len(), modified: metadata.modified().ok() }
    }

    /// Returns that of the file that has the name now.
    ///
    /// # Errors
    /// If there is none.
    pub(super) fn at(path: &Path) -> Result<Self, Error> {
        let metadata = std::fs::metadata(path).map_err(|error| cannot(path, "be read", &error))?;
        Ok(Self::of(&metadata))
    }
}

#[cfg(unix)]
#[allow(clippy::unnecessary_wraps, reason = "the twin has none")]
fn inode(metadata: &Metadata) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    Some((metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn inode(_: &Metadata) -> Option<(u64, u64)> {
    None
}

fn failed(path: &Path, kind: ErrorKind, what: impl Display) -> Error {
    Error::new(kind, format!("{}: {what}", path.display()))
}

fn cannot(path: &Path, what: &str, error: &io::Error) -> Error {
    failed(path, ErrorKind::File, format_args!("cannot {what}: {error}"))
}

/// Maps a file and checks it. Returns which file that was.
pub(super) fn open(path: &Path) -> Result<(Snapshot, Identity), Error> {
    let file = File::open(path).map_err(|error| cannot(path, "be read", &error))?;
    let mapping = Mapping::of_file(&file).map_err(|error| cannot(path, "be mapped", &error))?;
    let snapshot = Snapshot::new(mapping).map_err(|error| failed(path, error.kind(), error))?;
    let metadata = file.metadata().map_err(|error| cannot(path, "be read", &error))?;
    // A file that somebody rewrites in place is not one to be mapped.
    let (now, then) = (metadata.len(), snapshot.bytes());
    if now != then as u64 {
        let what = format_args!("is being rewritten: {now} bytes, {then} when it was opened");
        return Err(failed(path, ErrorKind::Snapshot, what));
    }
    Ok((snapshot, Identity::of(&metadata)))
}
