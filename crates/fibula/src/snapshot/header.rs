//! The header: what every reader must check before it trusts anything else.

use super::{MAGIC, Part, VERSION};
use crate::engine::WidthBits;
use crate::sections::Section;
use crate::{Error, ErrorKind, Family};
use xxhash_rust::xxh3::xxh3_64;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// The most routes that a table may claim: no machine holds more.
const MOST: u64 = 1 << 48;

/// The alignment of sections, and so of the arrays in them.
pub(super) const ALIGN: usize = 64;

/// A number that reads differently in another byte order.
const MARK: u32 = 0x0102_0304;

/// The beginning, which has the same layout in every version. Only the header's length and checksum
/// may differ between two snapshots that this code reads.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct Preamble {
    magic: [u8; 8],
    mark: u32,
    version: u32,
    header_bytes: u64,
    checksum: u64,
}

/// The version before, whose files are still read: without [`Counts`], of one table.
const ONE_TABLE: u32 = 3;

/// What the length of the file is followed by.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct Counts {
    tables: u32,
    /// The sections of no table, which come first.
    common: u32,
}

/// The description of a table.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct Table {
    prefixes: u64,
    family: u32,
    width: u32,
    sections: u32,
    specification_bytes: u32,
}

/// The contents of a header.
#[derive(Debug)]
pub(super) struct Header {
    pub(super) version: u32,
    /// In the order of their sections, and with those of no table before.
    pub(super) parts: Vec<Part>,
    pub(super) sections: Vec<Section>,
}

fn error(text: impl Into<String>) -> Error {
    Error::new(ErrorKind::Snapshot, text.into())
}

fn cut_short(had: usize, expected: u64) -> Error {
    error(format!("cut short or grown: {had} bytes, expected {expected}"))
}

impl Header {
    /// Returns the bytes that this header takes.
    fn bytes(&self) -> usize {
        (size_of::<Preamble>() + self.summed().len()).next_multiple_of(ALIGN)
    }

    /// Places the sections, whose lengths are known, one after the other behind the header. Returns
    /// the file's length.
    pub(super) fn place(&mut self) -> u64 {
        let mut offset = self.bytes() as u64;
        for section in &mut self.sections {
            section.offset = offset;
            offset += section.bytes.next_multiple_of(ALIGN as u64);
        }
        offset
    }

    /// Returns the header as bytes. Call [`place`](Self::place) first.
    pub(super) fn write(&self, file_bytes: u64) -> Vec<u8> {
        let mut summed = self.summed();
        summed[..8].copy_from_slice(file_bytes.as_bytes());
        summed.resize(self.bytes() - size_of::<Preamble>(), 0);
        let preamble = Preamble {
            magic: MAGIC,
            mark: MARK,
            version: self.version,
            header_bytes: self.bytes() as u64,
            checksum: xxh3_64(&summed),
        };
        [preamble.as_bytes(), &summed].concat()
    }

    /// Returns what the header's checksum covers, with no length of the file and without padding.
    fn summed(&self) -> Vec<u8> {
        let mut summed = vec![0; size_of::<u64>()];
        if self.version != ONE_TABLE {
            let common = self.parts.first().map_or(self.sections.len(), |part| part.sections.start);
            let counts = Counts { tables: self.parts.len() as u32, common: common as u32 };
            summed.extend_from_slice(counts.as_bytes());
        }
        for part in &self.parts {
            let table = Table {
                prefixes: part.prefixes,
                family: match part.family {
                    Family::Ipv4 => 4,
                    Family::Ipv6 => 6,
                },
                width: part.width.bits().into(),
                sections: part.sections.len() as u32,
                specification_bytes: part.specification.len() as u32,
            };
            summed.extend_from_slice(table.as_bytes());
        }
        summed.extend_from_slice(self.sections.as_bytes());
        self.parts.iter().for_each(|part| summed.extend_from_slice(part.specification.as_bytes()));
        summed
    }

    /// Reads the header of a file and verifies all checksums.
    pub(super) fn read(file: &[u8]) -> Result<Self, Error> {
        let header = Self::begin(file)?;
        header.check(file)?;
        Ok(header)
    }

    /// Reads the header of a file and verifies its own checksum.
    pub(super) fn begin(file: &[u8]) -> Result<Self, Error> {
        let beginning = &file[..file.len().min(MAGIC.len())];
        if beginning.is_empty() || !MAGIC.starts_with(beginning) {
            return Err(error("not a snapshot of fibula"));
        }
        let (preamble, rest) = Preamble::read_from_prefix(file)
            .map_err(|_| cut_short(file.len(), size_of::<Preamble>() as u64))?;
        if preamble.mark == MARK.swap_bytes() {
            return Err(error("a snapshot from a machine of the other byte order: build it here"));
        }
        if preamble.mark != MARK {
            return Err(error(format!("damaged: byte order mark {:#010x}", preamble.mark)));
        }
        let version = preamble.version;
        if ![ONE_TABLE, VERSION].contains(&version) {
            return Err(error(format!(
                "a snapshot of format version {version}, this fibula reads {ONE_TABLE} and {VERSION}"
            )));
        }
        let summed = usize::try_from(preamble.header_bytes).ok();
        let summed = summed.and_then(|bytes| rest.get(..bytes.checked_sub(size_of::<Preamble>())?));
        let summed = summed.ok_or_else(|| cut_short(file.len(), preamble.header_bytes))?;
        if xxh3_64(summed) != preamble.checksum {
            return Err(error("damaged: the header does not have its checksum"));
        }
        Self::parse(version, summed, file.len())
    }

    /// Repairs bytes for a fuzzer, which cannot guess checksums: fits the sections to the bytes
    /// there are, in their places, and sets the right checksums. Returns `None` if there are fewer
    /// bytes than a header has.
    pub(super) fn repair(bytes: &[u8]) -> Option<Vec<u8>> {
        const SECTIONS_MAX: usize = 16;
        let (_, rest) = <[u8; size_of::<Preamble>() + size_of::<u64>()]>::read_from_prefix(bytes).ok()?;
        let (counts, mut rest) = Counts::read_from_prefix(rest).ok()?;
        let mut header = Self { version: VERSION, parts: Vec::new(), sections: Vec::new() };
        let mut sections = counts.common as usize % SECTIONS_MAX;
        let mut texts = Vec::new();
        for _ in 0..counts.tables % 3 {
            let (table, after) = Table::read_from_prefix(rest).ok()?;
            let start = sections;
            sections += table.sections as usize % SECTIONS_MAX;
            let is_ipv4 =
                header.parts.first().map_or(table.family % 2 == 0, |part: &Part| part.family == Family::Ipv6);
            header.parts.push(Part {
                family: if is_ipv4 { Family::Ipv4 } else { Family::Ipv6 },
                prefixes: table.prefixes,
                width: WidthBits::ALL[table.width as usize % WidthBits::ALL.len()],
                specification: String::new(),
                sections: start..sections,
            });
            texts.push(table.specification_bytes as usize % 64);
            rest = after;
        }
        for _ in 0..sections {
            let (section, after) = Section::read_from_prefix(rest).ok()?;
            header.sections.push(section);
            rest = after;
        }
        for (part, bytes) in header.parts.iter_mut().zip(texts) {
            let (specification, after) = rest.split_at(rest.len().min(bytes));
            part.specification = String::from_utf8_lossy(specification).into_owned();
            rest = after;
        }
        let mut contents = Vec::new();
        for section in &mut header.sections {
            let (mine, after) = rest.split_at(section.bytes as usize % (rest.len() + 1));
            section.bytes = mine.len() as u64;
            let start = contents.len();
            contents.extend_from_slice(mine);
            contents.resize(contents.len().next_multiple_of(ALIGN), 0);
            section.checksum = xxh3_64(&contents[start..]);
            rest = after;
        }
        let file_bytes = header.place();
        Some([header.write(file_bytes), contents].concat())
    }

    /// Parses what the header's checksum covers.
    fn parse(version: u32, summed: &[u8], had_bytes: usize) -> Result<Self, Error> {
        let unsound = || error("damaged: the header contradicts itself");
        let (file_bytes, mut rest) = u64::read_from_prefix(summed).map_err(|_| unsound())?;
        if file_bytes != had_bytes as u64 {
            return Err(cut_short(had_bytes, file_bytes));
        }
        let mut counts = Counts { tables: 1, common: 0 };
        if version != ONE_TABLE {
            (counts, rest) = Counts::read_from_prefix(rest).map_err(|_| unsound())?;
        }
        let (tables, rest) =
            <[Table]>::ref_from_prefix_with_elems(rest, counts.tables as usize).map_err(|_| unsound())?;
        let sections = tables.iter().map(|table| table.sections).try_fold(counts.common, u32::checked_add);
        let (sections, mut rest) =
            <[Section]>::ref_from_prefix_with_elems(rest, sections.ok_or_else(unsound)? as usize)
                .map_err(|_| unsound())?;
        let mut header = Self { version, parts: Vec::new(), sections: sections.to_vec() };
        let mut start = counts.common as usize;
        for table in tables {
            let specification = rest.split_off(..table.specification_bytes as usize).ok_or_else(unsound)?;
            let part = Part {
                family: match table.family {
                    4 => Family::Ipv4,
                    6 => Family::Ipv6,
                    _ => return Err(unsound()),
                },
                prefixes: Some(table.prefixes).filter(|&prefixes| prefixes <= MOST).ok_or_else(unsound)?,
                width: WidthBits::ALL
                    .into_iter()
                    .find(|width| u32::from(width.bits()) == table.width)
                    .ok_or_else(unsound)?,
                specification: std::str::from_utf8(specification).map_err(|_| unsound())?.to_owned(),
                sections: start..start + table.sections as usize,
            };
            start = part.sections.end;
            if header.parts.iter().any(|other| other.family == part.family) {
                return Err(unsound());
            }
            header.parts.push(part);
        }
        let whole = header.bytes() == size_of::<Preamble>() + summed.len();
        whole.then_some(header).ok_or_else(unsound)
    }

    /// Verifies the checksums of the sections, which must follow each other to the end of the file.
    fn check(&self, file: &[u8]) -> Result<(), Error> {
        let mut end = self.bytes() as u64;
        for section in &self.sections {
            let name = String::from_utf8_lossy(section.name()).into_owned();
            let start = end;
            let length = section.bytes.checked_next_multiple_of(ALIGN as u64);
            end = length.and_then(|length| start.checked_add(length)).unwrap_or(u64::MAX);
            let bytes = usize::try_from(start).ok().zip(usize::try_from(end).ok());
            let bytes = bytes.and_then(|(start, end)| file.get(start..end));
            let bytes = bytes.filter(|_| section.offset == start);
            let bytes =
                bytes.ok_or_else(|| error(format!("damaged: section {name:?} is not in its place")))?;
            if xxh3_64(bytes) != section.checksum {
                return Err(error(format!("damaged: section {name:?} does not have its checksum")));
            }
        }
        if end == file.len() as u64 { Ok(()) } else { Err(cut_short(file.len(), end)) }
    }
}
