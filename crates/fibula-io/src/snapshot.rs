//! Snapshots as files: written to a temporary file and renamed, mapped and checked.

use crate::table::write_beside;
use crate::{Error, Source};
use fibula::memory::Mapping;
use fibula::snapshot::{Image, MAGIC, Snapshot};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Writes a snapshot. At any moment, also if the machine stops, the name is either the whole old
/// file or the whole new one. Whoever has mapped the old file goes on reading it.
///
/// # Errors
/// If the file cannot be written. The old file is then unchanged.
pub fn write(image: &Image<'_>, path: &Path) -> Result<(), Error> {
    write_beside(path, |out| image.write(out)).map_err(|error| Error::writing(path, &error))
}

/// Maps a snapshot and checks that it is whole.
///
/// While it is mapped, the file must be replaced by renaming another to its name, as [`write()`]
/// does, and never be written to or truncated. A program that copies over it in place (`cp`) takes
/// away what others read, and the system ends them (SIGBUS).
///
/// # Errors
/// If it cannot be mapped or is not sound, or its length changes meanwhile. The text is one line
/// with the file's name and the reason.
///
/// ```
/// use fibula::{Fib, NextHopInfo, NextHops, Rib, snapshot::Image};
/// let mut next_hops = NextHops::new();
/// let mut rib: Rib<u32> = Rib::new();
/// rib.insert("192.0.2.0/24".parse()?, next_hops.intern(NextHopInfo::parse("AS64500"))?);
/// let fib = Fib::build("poptrie", &rib)?;
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("table.fib");
/// fibula_io::snapshot::write(&Image::new(&next_hops).with(&fib, &rib, false)?, &path)?;
/// let mapped = fibula_io::snapshot::open(&path)?.view::<u32>()?;
/// assert_eq!(mapped.lookup(0xC000_0201_u32), fib.lookup(0xC000_0201_u32));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn open(path: &Path) -> Result<Snapshot, Error> {
    let failed = |what: &dyn std::fmt::Display| Error::of(&Source::File(path.into()), what);
    let file = File::open(path).map_err(|error| failed(&format!("cannot be read: {error}")))?;
    let mapping = Mapping::of_file(&file).map_err(|error| failed(&format!("cannot be mapped: {error}")))?;
    let snapshot = Snapshot::new(mapping).map_err(|error| failed(&error))?;
    // A file that somebody rewrites in place is not one to be mapped.
    let bytes = file.metadata().map_err(|error| failed(&format!("cannot be read: {error}")))?.len();
    if bytes == snapshot.bytes() as u64 {
        Ok(snapshot)
    } else {
        Err(failed(&format!("is being rewritten: {bytes} bytes, {} when it was opened", snapshot.bytes())))
    }
}

/// Returns whether a file begins as a snapshot does. A file that cannot be read does not.
#[must_use]
pub fn is_one(path: &Path) -> bool {
    let begins = || -> io::Result<bool> {
        let file = File::open(path)?;
        if !file.metadata()?.is_file() {
            return Ok(false); // a pipe cannot be read twice
        }
        let mut magic = [0; MAGIC.len()];
        file.take(MAGIC.len() as u64).read_exact(&mut magic)?;
        Ok(magic == MAGIC)
    };
    begins().unwrap_or(false)
}
