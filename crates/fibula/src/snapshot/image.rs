//! [`Image`]: a snapshot to be written.

use super::header::{ALIGN, Header};
use super::{Part, VERSION, next_hops, routes};
use crate::sections::SectionWriter;
use crate::{Address, Error, ErrorKind, Fib, Limit, NextHops, Rib, Route};
use std::borrow::Cow;
use std::io::{self, Write};
use std::ops::Range;
use xxhash_rust::xxh3::Xxh3Default;

/// The bytes of a snapshot, most of them borrowed from the engines.
#[derive(Debug)]
pub struct Image<'s> {
    header: Header,
    file_bytes: u64,
    next_hops: u64,
    contents: Vec<Cow<'s, [u8]>>,
}

/// Returns the zeros that pad `bytes` bytes.
fn zeros_after(bytes: usize) -> &'static [u8] {
    &[0; ALIGN][..bytes.next_multiple_of(ALIGN) - bytes]
}

impl<'s> Image<'s> {
    /// Creates a snapshot of next hops and of no table.
    #[must_use]
    pub fn new(next_hops: &NextHops) -> Self {
        let header = Header { version: VERSION, parts: Vec::new(), sections: Vec::new() };
        let next_hop_count = next_hops.len() as u64;
        let mut image = Self { header, file_bytes: 0, next_hops: next_hop_count, contents: Vec::new() };
        let mut writer = SectionWriter::default();
        next_hops::write(next_hops, &mut writer);
        image.take(writer);
        image.file_bytes = image.header.place();
        image
    }

    /// Adds a compiled table and, if asked for, the routes it was compiled from. O(bytes), because
    /// checksums are computed.
    ///
    /// # Errors
    /// If the snapshot has a table of this family, the engine cannot be stored in snapshots, or the
    /// table has next hops that are not among those of the snapshot.
    pub fn with<A: Address>(
        mut self,
        fib: &'s Fib<A>,
        rib: &Rib<A>,
        keep_routes: bool,
    ) -> Result<Self, Error> {
        if self.header.parts.iter().any(|part| part.family == A::FAMILY) {
            let text = format!("a snapshot has one {} table", A::FAMILY);
            return Err(Error::new(ErrorKind::Family, text));
        }
        let max = self.next_hops;
        if let Some(Route { prefix, next_hop }) = rib.iter().find(|route| u64::from(route.next_hop.0) > max) {
            let limit = Limit { what: Limit::NEXT_HOPS, had: next_hop.0.into(), max };
            let text = format!("{prefix}: next hop {}, of a snapshot that has {max}", next_hop.0);
            return Err(Error::new(ErrorKind::Limit(limit), text));
        }
        let mut writer = SectionWriter::default();
        fib.save(&mut writer)?;
        if keep_routes {
            routes::write(rib, &mut writer);
        }
        let sections = self.take(writer);
        self.header.parts.push(Part {
            family: A::FAMILY,
            prefixes: rib.len() as u64,
            width: fib.width(),
            specification: fib.specification(),
            sections,
        });
        self.file_bytes = self.header.place();
        Ok(self)
    }

    /// Takes sections. Returns which they are.
    fn take(&mut self, writer: SectionWriter<'s>) -> Range<usize> {
        let start = self.contents.len();
        for (mut section, bytes) in writer.sections {
            let mut checksum = Xxh3Default::new();
            checksum.update(&bytes);
            checksum.update(zeros_after(bytes.len()));
            section.checksum = checksum.digest();
            self.header.sections.push(section);
            self.contents.push(bytes);
        }
        start..self.contents.len()
    }

    /// Returns the bytes it takes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.file_bytes
    }

    /// Writes it.
    ///
    /// # Errors
    /// If a write fails.
    pub fn write(&self, out: &mut (impl Write + ?Sized)) -> io::Result<()> {
        out.write_all(&self.header.write(self.file_bytes))?;
        for bytes in &self.contents {
            out.write_all(bytes)?;
            out.write_all(zeros_after(bytes.len()))?;
        }
        out.flush()
    }
}
