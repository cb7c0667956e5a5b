//! [`Image`]: a snapshot to be written.

use super::header::{ALIGN, Header};
use super::{next_hops, routes};
use crate::sections::SectionWriter;

use crate::{Address, Error, Fib, Limit, NextHops, Rib};
use std::borrow::Cow;
use std::io::{self, Write};
use xxhash_rust::xxh3::Xxh3Default;

/// The bytes of a snapshot, most of them borrowed from the engine.
#[derive(Debug)]
pub struct Image<'s> {
    header: Header,
    file_bytes: u64,
    contents: Vec<Cow<'s, [u8]>>,
}

/// Returns the zeros that pad `bytes` bytes.
fn zeros_after(bytes: usize) -> &'static [u8] {
    &[0; ALIGN][..bytes.next_multiple_of(ALIGN) - bytes]
}

impl<'s> Image<'s> {
    /// Creates a snapshot of a compiled table with its next hops and, if asked for, the routes it
    /// was compiled from. O(bytes), because checksums are computed.
    ///
    /// # Errors
    /// If the engine cannot be stored in snapshots, or the table has next hops that are not among
    /// `next_hops`.
    pub fn new<A: Address>(
        fib: &'s Fib<A>,
        rib: &Rib<A>,
        next_hops: &NextHops,
        keep_routes: bool,
    ) -> Result<Self, Error> {
        Limit::check(Limit::NEXT_HOPS, rib.max_next_hop().0.into(), next_hops.len() as u64)?;
        let mut writer = SectionWriter::default();
        fib.save(&mut writer)?;
        next_hops::write(next_hops, &mut writer);
        if keep_routes {
            routes::write(rib, &mut writer);
        }
        let (mut sections, contents): (Vec<_>, Vec<_>) = writer.sections.into_iter().unzip();
        for (section, bytes) in sections.iter_mut().zip(&contents) {
            let mut checksum = Xxh3Default::new();
            checksum.update(bytes);
            checksum.update(zeros_after(bytes.len()));
            section.checksum = checksum.digest();
        }
        let mut header = Header {
            prefixes: rib.len() as u64,
            family: A::FAMILY,
            width: fib.width(),
            specification: fib.specification(),
            sections,
        };
        let file_bytes = header.place();
        Ok(Self { header, file_bytes, contents })
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
