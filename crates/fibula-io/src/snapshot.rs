//! Snapshots as files: written to a temporary file and renamed.

use crate::Error;
use crate::table::write_beside;
use fibula::snapshot::{Image, MAGIC};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Writes a snapshot. At any moment, also if the machine stops, the name is either the whole old
/// file or the whole new one. Whoever has [opened](fibula::snapshot::Snapshot::open) the old file
/// goes on reading it.
///
/// # Errors
/// If the file cannot be written. The old file is then unchanged.
///
/// ```
/// use fibula::snapshot::{Image, Snapshot};
/// use fibula::{Fib, NextHopInfo, NextHops, Rib};
/// let mut next_hops = NextHops::new();
/// let mut rib: Rib<u32> = Rib::new();
/// rib.insert("192.0.2.0/24".parse()?, next_hops.intern(NextHopInfo::parse("64500"))?);
/// let fib = Fib::build("poptrie", &rib)?;
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("table.fib");
/// fibula_io::snapshot::write(&Image::new(&next_hops).with(&fib, &rib, false)?, &path)?;
/// let mapped = Snapshot::open(&path)?.view::<u32>()?;
/// assert_eq!(mapped.lookup(0xC000_0201_u32), fib.lookup(0xC000_0201_u32));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write(image: &Image<'_>, path: &Path) -> Result<(), Error> {
    write_beside(path, |out| image.write(out)).map_err(|error| Error::writing(path, &error))
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
