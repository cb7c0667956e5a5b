//! Snapshots: the compiled tables of both families as bytes that are mapped, not parsed.
//!
//! An [`Image`] is written once. A [`Snapshot`] of those bytes, mapped from a file by any number of
//! processes, answers at once: the engines' arrays are read in place.
//!
//! # Layout
//! Everything is in the byte order of the machine that wrote it, which the mark shows.
//!
//! ```text
//!  0  magic    89 "FIB" 0d 0a 1a 0a          8 bytes
//!  8  mark     0x0102_0304                   4        the writer's byte order
//! 12  version  of this format                4
//! 16  length of the header                   8        a multiple of 64
//! 24  checksum of the header from 32 on      8        XXH3, 64 bits
//! 32  length of the file                     8
//! 40  tables, none to two; sections of none  4 each
//! 48  a table each: prefixes 8; family 4 or 6, width of the answers in bits, sections, bytes of
//!     the specification: 4 each
//!     a section each: name 24, offset 8, bytes 8, checksum 8, bytes of an element 4, reserved 4
//!     the specification of each table's engine, as in "dxr/k=20"
//!     zeros to a multiple of 64
//!     the sections in order, each followed by zeros to a multiple of 64
//! ```
//! A section's checksum also covers the zeros after it. So every byte of the file is either under a
//! checksum, or one of the 24 at the beginning that can have only one value. The first sections are
//! of no table: they hold the next hops of both. Those of a table are its engine's arrays under
//! names of its own, and, if asked for, its routes. Version 3 is read, too: it has one table, whose
//! description follows the length of the file, and all sections are of that table.
//!
//! # What is checked, and when
//! Opening a snapshot verifies all checksums. It refuses bytes that were truncated or changed
//! anywhere, and those of another byte order or a newer version of the format. That costs one pass
//! over the file.
//!
//! Checksums are no signatures: whoever forges a file can make them right. Such a file is refused
//! when it is opened, or lookups answer wrongly or panic. No lookup reads outside of the file's own
//! bytes, and each ends after a bounded number of steps.
//!
//! A file must not be written to while it is mapped: the system ends a process that reads what a
//! truncation took away (SIGBUS). fibula never does that. It replaces a file under its name, and
//! whoever has mapped the old one goes on reading it. Copy another's file beside and rename it.
//!
//! # Changes
//! A snapshot gives [`Views`], which look up and cannot change. To follow changes, compile the
//! tables that the snapshot contains ([`Snapshot::rib`]).
//!
//! ```
//! use fibula::snapshot::{Image, Snapshot};
//! use fibula::{Fib, NextHopInfo, NextHops, Rib};
//! let mut next_hops = NextHops::new();
//! let mut rib: Rib<u32> = Rib::new();
//! rib.insert("198.51.100.0/24".parse()?, next_hops.intern(NextHopInfo::parse("192.0.2.2"))?);
//! let fib = Fib::build("poptrie", &rib)?;
//!
//! let mut bytes = Vec::new();
//! Image::new(&next_hops).with(&fib, &rib, true)?.write(&mut bytes).unwrap();
//!
//! let snapshot = Snapshot::from_bytes(&bytes)?;
//! let view = snapshot.view::<u32>()?;
//! let next_hop = view.lookup(0xC633_6407_u32).unwrap();
//! assert_eq!(snapshot.next_hop(next_hop).unwrap().to_string(), "192.0.2.2");
//! assert_eq!(snapshot.rib::<u32>()?, rib);
//! # Ok::<(), fibula::Error>(())
//! ```

#[cfg(feature = "mmap")]
mod file;
mod forged;
mod header;
mod image;
#[cfg(feature = "mmap")]
pub mod live;
mod next_hops;
mod routes;
#[cfg(test)]
mod tests;

pub use forged::forged;
pub use image::Image;
pub use routes::Routes;

use crate::View;
use crate::engine::{ENGINES, Entry, WidthBits};
use crate::fib;
use crate::memory::{Array, Mapping, Pages};
use crate::sections::Sections;
use crate::{Address, Error, ErrorKind, Family, NextHop, NextHopInfo, NextHops, Rib, Views};
use header::Header;
use std::ops::Range;

/// The version of the format. It increases when the header changes, or the meaning of any engine's
/// sections.
pub const VERSION: u32 = 4;

/// The first bytes of a snapshot: not text, and damaged by whatever converts line ends.
pub const MAGIC: [u8; 8] = *b"\x89FIB\r\n\x1a\n";

/// Returns the bytes with a header that fits them, for fuzzers.
#[doc(hidden)]
#[must_use]
pub fn repaired(bytes: &[u8]) -> Option<Vec<u8>> {
    Header::repair(bytes)
}

/// What a snapshot says of one of its tables.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Part {
    /// The family.
    pub family: Family,
    /// The number of routes.
    pub prefixes: u64,
    /// The width of the answers.
    pub width: WidthBits,
    /// The specification of the engine, as in `dxr/k=20`.
    pub specification: String,
    /// Its sections by index.
    sections: Range<usize>,
}

/// A snapshot whose checksums were verified.
#[derive(Debug)]
pub struct Snapshot {
    mapping: Mapping,
    header: Header,
}

impl Snapshot {
    /// Maps a file and checks that it is a whole snapshot. All processes that open it read the same
    /// memory. O(bytes) for the checksums.
    ///
    /// While it is mapped, the file must be replaced by renaming another to its name, and never be
    /// written to or truncated. A program that copies over it in place (`cp`) takes away what
    /// others read, and the system ends them (SIGBUS). [`live`] opens a file again that was
    /// replaced.
    ///
    /// # Errors
    /// If it cannot be read or mapped, is not sound, or its length changes meanwhile. The text is
    /// one line with the file's name and the reason.
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
    /// let mut file = std::fs::File::create(&path)?;
    /// Image::new(&next_hops).with(&fib, &rib, false)?.write(&mut file)?;
    /// let view = Snapshot::open(&path)?.view::<u32>()?;
    /// assert_eq!(view.lookup(0xC000_0201_u32), fib.lookup(0xC000_0201_u32));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[cfg(feature = "mmap")]
    pub fn open(path: impl AsRef<std::path::Path>) -> Result<Self, Error> {
        file::open(path.as_ref()).map(|(snapshot, _)| snapshot)
    }

    fn new(mapping: Mapping) -> Result<Self, Error> {
        let header = Header::read(mapping.bytes())?;
        Ok(Self { mapping, header })
    }

    /// Checks that bytes are a whole snapshot, and copies them to memory that begins on a cache
    /// line as a file's does. O(bytes).
    ///
    /// # Errors
    /// If they are not, with the reason in one line.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let mut copy = Array::new(Pages::Small);
        copy.extend_from_slice(bytes);
        Self::new(Mapping::new(copy))
    }

    /// Returns what it says of its tables, at most one of each family.
    #[must_use]
    pub fn parts(&self) -> &[Part] {
        &self.header.parts
    }

    /// Returns what it says of the table of a family. `None` if there is none.
    #[must_use]
    pub fn part(&self, family: Family) -> Option<&Part> {
        self.header.parts.iter().find(|part| part.family == family)
    }

    /// Returns the bytes it takes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.mapping.bytes().len()
    }

    /// Returns the bytes themselves, as they were written.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.mapping.bytes()
    }

    /// Returns whether it contains the routes of all its tables.
    #[must_use]
    pub fn has_routes(&self) -> bool {
        self.header.parts.iter().all(|part| routes::are_in(&self.sections(part)))
    }

    /// Returns the view of a table, whose arrays are read in place.
    ///
    /// # Errors
    /// If there is none of the family, its engine is not in this crate, or a section is not what
    /// the engine needs.
    pub fn view<A: Address>(&self) -> Result<Box<dyn View<A>>, Error> {
        self.view_from(ENGINES)
    }

    /// As [`Snapshot::view`], with the engine from `engines`.
    ///
    /// # Errors
    /// See [`Snapshot::view`].
    pub fn view_from<A: Address>(&self, engines: &'static [Entry]) -> Result<Box<dyn View<A>>, Error> {
        let none = || Error::new(ErrorKind::Family, format!("a snapshot without an {} table", A::FAMILY));
        self.optional_view(engines)?.ok_or_else(none)
    }

    /// As [`Snapshot::view_from`], of all its tables. A family without one has no route.
    ///
    /// # Errors
    /// See [`Snapshot::view`].
    pub fn views_from(&self, engines: &'static [Entry]) -> Result<Views, Error> {
        Ok(Views::from((self.optional_view(engines)?, self.optional_view(engines)?)))
    }

    fn optional_view<A: Address>(
        &self,
        engines: &'static [Entry],
    ) -> Result<Option<Box<dyn View<A>>>, Error> {
        let open = |part: &Part| fib::open(engines, &part.specification, part.width, &self.sections(part));
        self.part(A::FAMILY).map(open).transpose()
    }

    /// Returns the description of a next hop, or `None` for [`NextHop::NONE`] and for one that the
    /// table does not have. O(1).
    #[must_use]
    pub fn next_hop(&self, next_hop: NextHop) -> Option<NextHopInfo> {
        next_hops::one(&self.all_sections(), next_hop)
    }

    /// Returns the number of next hops: the greatest index that [`Snapshot::next_hop`] knows. O(1).
    ///
    /// # Errors
    /// If the section that lists them is not what it should be.
    pub fn next_hop_count(&self) -> Result<usize, Error> {
        next_hops::count(&self.all_sections())
    }

    /// Returns all next hops. O(next hops).
    ///
    /// # Errors
    /// If one cannot be parsed, or appears twice.
    pub fn next_hops(&self) -> Result<NextHops, Error> {
        next_hops::all(&self.all_sections())
    }

    /// Returns the routes of a family as a table. O(routes).
    ///
    /// # Errors
    /// If they were left out of the snapshot, or a route is unsound.
    pub fn rib<A: Address>(&self) -> Result<Rib<A>, Error> {
        let rib = self.routes()?.rib()?;
        next_hops::check(&self.all_sections(), rib.max_next_hop())?;
        Ok(rib)
    }

    /// Returns the routes of a family, which are searched in place. O(1).
    ///
    /// # Errors
    /// If they were left out.
    pub fn routes<A: Address>(&self) -> Result<Routes<A>, Error> {
        match self.part(A::FAMILY) {
            Some(part) => Routes::open(&self.sections(part), part.prefixes),
            None => Ok(Routes::default()),
        }
    }

    fn sections(&self, part: &Part) -> Sections<'_> {
        Sections::new(&self.mapping, &self.header.sections[part.sections.clone()])
    }

    /// Returns the sections of all tables and of none.
    fn all_sections(&self) -> Sections<'_> {
        Sections::new(&self.mapping, &self.header.sections)
    }
}
