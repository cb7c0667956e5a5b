//! Cuts a stream into MRT records, and finds the next record after damage.
//!
//! ```text
//!  0                   4         6         8                  12
//! +-------------------+---------+---------+------------------+--- - - -
//! | seconds           | type    | subtype | length           | message
//! +-------------------+---------+---------+------------------+--- - - -
//! ```
//!
//! The format has no mark at the beginning of a record. An offset counts as a boundary when three
//! things hold: a header of a kind that we decode is there, its time is near that of the last good
//! record, and its length leads to another such header or to the end of the stream.

use crate::Damage;
use bytes::Bytes;
use std::io::Read;
use std::time::Duration;

/// The bytes of the common header (RFC 6396 section 2).
const HEADER: usize = 12;
/// The most bytes of a record. No real record is longer, and a damaged length must not make us read
/// a stream to its end.
const MAX_LENGTH: usize = 16 << 20;
/// The bytes fetched at once.
const FETCH: usize = 1 << 20;
/// After damage, the time of a record differs from that of the one before by at most this number of
/// seconds.
const NEAR_SECONDS: u32 = 31 * 86_400;

pub(super) const TABLE_DUMP: u16 = 12;
pub(super) const TABLE_DUMP_V2: u16 = 13;
pub(super) const BGP4MP: u16 = 16;
pub(super) const BGP4MP_ET: u16 = 17;
pub(super) const BGP: u16 = 5;

/// One record.
pub(super) struct Record {
    /// The offset of its first byte in the stream.
    pub(super) offset: u64,
    pub(super) time: Duration,
    pub(super) kind: u16,
    pub(super) subtype: u16,
    pub(super) body: Bytes,
}

impl Record {
    pub(super) fn is_peer_index(&self) -> bool {
        (self.kind, self.subtype) == (TABLE_DUMP_V2, 1)
    }
}

/// The fields of a common header.
#[derive(Clone, Copy)]
struct Header {
    seconds: u32,
    kind: u16,
    subtype: u16,
    length: usize,
}

impl Header {
    fn read(bytes: &[u8]) -> Option<Self> {
        let (header, _) = bytes.split_first_chunk::<HEADER>()?;
        let [s0, s1, s2, s3, k0, k1, b0, b1, l0, l1, l2, l3] = *header;
        Some(Self {
            seconds: u32::from_be_bytes([s0, s1, s2, s3]),
            kind: u16::from_be_bytes([k0, k1]),
            subtype: u16::from_be_bytes([b0, b1]),
            length: u32::from_be_bytes([l0, l1, l2, l3]) as usize,
        })
    }

    /// Returns whether routing data has this kind of record, and it is not too long.
    fn is_known(self) -> bool {
        let known = match self.kind {
            TABLE_DUMP => (1..=2).contains(&self.subtype),
            TABLE_DUMP_V2 => (1..=12).contains(&self.subtype),
            BGP4MP | BGP4MP_ET => self.subtype <= 11,
            BGP => self.subtype <= 7,
            _ => false,
        };
        known && self.length <= MAX_LENGTH
    }

    /// Returns whether MRT has ever had this kind (RFC 6396 section 4 and appendix B). If so, its
    /// length is believed.
    fn is_mrt(self) -> bool {
        self.is_known()
            || (matches!(self.kind, 0..=13 | 16 | 17 | 32 | 33 | 48 | 49) && self.length <= MAX_LENGTH)
    }
}

/// Returns whether bytes begin with an MRT record.
#[must_use]
pub fn looks_like(bytes: &[u8]) -> bool {
    if let Some(rest) = after_others(bytes) {
        return looks_like(rest);
    }
    Header::read(bytes).is_some_and(|header| {
        header.is_known()
            && match bytes.get(HEADER + header.length..) {
                // Where the next record is in the buffer it must be one, too; with 4 bytes to spare
                // for old TABLE_DUMPs.
                Some(next) => {
                    next.len() < HEADER
                        || Header::read(next).is_some_and(Header::is_mrt)
                        || next.get(4..).and_then(Header::read).is_some_and(Header::is_mrt)
                        || header.kind == BGP
                }
                None => true,
            }
    })
}

/// Returns what follows a record of another protocol, if such a record is followed by another.
fn after_others(bytes: &[u8]) -> Option<&[u8]> {
    let header = Header::read(bytes).filter(|header| header.is_mrt() && !header.is_known())?;
    let rest = bytes.get(HEADER + header.length..)?;
    let next = Header::read(rest).filter(|next| next.is_mrt())?;
    (header.seconds.abs_diff(next.seconds) <= NEAR_SECONDS).then_some(rest)
}

/// The records of a stream.
pub(super) struct Frames<R> {
    input: R,
    buffer: Vec<u8>,
    /// The offset of the next record in the buffer.
    start: usize,
    /// The offset of the buffer in the stream.
    base: u64,
    input_ended: bool,
    /// The time of the last good record.
    seconds: Option<u32>,
}

impl<R: Read> Frames<R> {
    pub(super) fn new(input: R) -> Self {
        Self { input, buffer: Vec::new(), start: 0, base: 0, input_ended: false, seconds: None }
    }

    /// Whether the whole input has been read.
    pub(super) fn is_at_end(&self) -> bool {
        self.input_ended && self.start == self.buffer.len()
    }

    /// Fetches until `count` bytes are available from `start`. Returns how many are, if the stream
    /// ends before.
    fn fetch(&mut self, count: usize) -> Result<(), usize> {
        while self.buffer.len() - self.start < count && !self.input_ended {
            if self.start >= FETCH {
                self.base += self.start as u64;
                self.buffer.drain(..self.start);
                self.start = 0;
            }
            let before = self.buffer.len();
            // A broken stream ends here; its owner knows why.
            let result = (&mut self.input).take(FETCH as u64).read_to_end(&mut self.buffer);
            self.input_ended = result.is_err() || self.buffer.len() == before;
        }
        let there = self.buffer.len() - self.start;
        if there < count { Err(there) } else { Ok(()) }
    }

    fn header_at(&mut self, ahead: usize) -> Option<Header> {
        self.fetch(ahead + HEADER).ok()?;
        Header::read(&self.buffer[self.start + ahead..])
    }

    /// Returns whether the stream ends exactly `ahead` bytes from here.
    fn ends_at(&mut self, ahead: usize) -> bool {
        self.fetch(ahead + 1) == Err(ahead)
    }

    /// Returns whether a record may begin `ahead` bytes from here, judged by its header alone.
    fn is_header(&mut self, ahead: usize) -> bool {
        let last = self.seconds;
        self.header_at(ahead).is_some_and(|header| {
            header.is_known() && last.is_none_or(|last| last.abs_diff(header.seconds) <= NEAR_SECONDS)
        })
    }

    /// As [`is_header`](Self::is_header), also of a record of another protocol.
    fn is_any_header(&mut self, ahead: usize) -> bool {
        let last = self.seconds;
        self.header_at(ahead).is_some_and(|header| {
            header.is_mrt() && last.is_none_or(|last| last.abs_diff(header.seconds) <= NEAR_SECONDS)
        })
    }

    /// Returns whether a record begins `ahead` bytes from here, judged by where its length leads.
    fn is_boundary(&mut self, ahead: usize) -> bool {
        if !self.is_header(ahead) {
            return false;
        }
        let Some(header) = self.header_at(ahead) else { return false };
        let end = ahead + HEADER + header.length;
        self.ends_at(end) || self.is_header(end)
    }

    /// Returns the nearest boundary from `from` to before `to` bytes ahead.
    fn next_boundary(&mut self, from: usize, to: usize) -> Option<usize> {
        // Where no header fits any more, the stream ends.
        let ahead =
            (from..to).find(|&ahead| self.fetch(ahead + HEADER).is_err() || self.is_boundary(ahead))?;
        self.fetch(ahead + HEADER).is_ok().then_some(ahead)
    }

    /// Reports damage here, and continues at the next boundary, at least `from` bytes ahead.
    fn damaged(&mut self, mut from: usize, what: &str) -> Damage {
        let offset = self.base + self.start as u64;
        loop {
            if let Some(ahead) = self.next_boundary(from, FETCH) {
                self.start += ahead;
                let next = self.base + self.start as u64;
                return Damage::byte(offset, format!("{what}; the next record is at byte {next}"));
            }
            if self.fetch(FETCH).is_err() {
                self.start = self.buffer.len();
                return Damage::byte(offset, what);
            }
            self.start += FETCH;
            from = 0;
        }
    }

    /// Returns the next record, or the damage in its stead; `None` at the end.
    pub(super) fn next(&mut self) -> Option<Result<Record, Damage>> {
        let offset = {
            let fetched = self.fetch(HEADER);
            if fetched == Err(0) {
                return None;
            }
            let offset = self.base + self.start as u64;
            if let Err(there) = fetched {
                self.start = self.buffer.len();
                let what = format!("the record header is cut off: {there} of its {HEADER} bytes are there");
                return Some(Err(Damage::byte(offset, what)));
            }
            offset
        };
        let header = self.header_at(0)?;
        if !header.is_mrt() {
            let Header { kind, subtype, length, .. } = header;
            let what = format!("expected a record, found type {kind}, subtype {subtype}, length {length}");
            return Some(Err(self.damaged(1, &what)));
        }
        let mut length = header.length;
        if let Err(there) = self.fetch(HEADER + length) {
            let there = there - HEADER;
            let what = format!("the record is cut off: {there} of its {length} bytes are there");
            return Some(Err(self.damaged(1, &what)));
        }
        let end = HEADER + length;
        if !self.ends_at(end) && !self.is_any_header(end) {
            // Dumps of the year 2000 declare records 4 bytes shorter than they are.
            if header.kind == TABLE_DUMP && (self.is_header(end + 4) || self.ends_at(end + 4)) {
                length += 4;
            } else if let Some(ahead) = self.next_boundary(HEADER, end) {
                let what = format!("the record's length {length} leads past the record after it");
                return Some(Err(self.damaged(ahead, &what)));
            }
        }
        self.seconds = Some(header.seconds);
        let from = self.start + HEADER;
        self.start = from + length;
        Some(record(offset, header, &self.buffer[from..self.start]))
    }
}

fn record(offset: u64, header: Header, mut body: &[u8]) -> Result<Record, Damage> {
    let mut time = Duration::from_secs(header.seconds.into());
    if header.kind == BGP4MP_ET {
        let Some((micros, rest)) = body.split_first_chunk::<4>() else {
            return Err(Damage::byte(offset, "the record has no room for its microseconds"));
        };
        time += Duration::from_micros(u32::from_be_bytes(*micros).into());
        body = rest;
    }
    let body = Bytes::copy_from_slice(body);
    Ok(Record { offset, time, kind: header.kind, subtype: header.subtype, body })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(seconds: u32, body: &[u8]) -> Vec<u8> {
        let mut bytes = seconds.to_be_bytes().to_vec();
        bytes.extend([0, 16, 0, 1]);
        bytes.extend((body.len() as u32).to_be_bytes());
        bytes.extend(body);
        bytes
    }

    fn all(bytes: &[u8]) -> Vec<Result<(u64, usize), String>> {
        let mut frames = Frames::new(bytes);
        std::iter::from_fn(|| frames.next())
            .map(|r| r.map(|r| (r.offset, r.body.len())).map_err(|damage| damage.to_string()))
            .collect()
    }

    #[test]
    fn records_are_found_again_behind_damage() {
        let good = message(1000, &[1; 30]);
        let mut bytes = good.clone();
        bytes.extend([9; 17]);
        bytes.extend(&good);
        bytes.extend(&good[..20]);
        assert_eq!(
            all(&bytes),
            [
                Ok((0, 30)),
                Err("byte 42: expected a record, found type 2313, subtype 2313, length 151587081; \
                    the next record is at byte 59"
                    .into()),
                Ok((59, 30)),
                Err("byte 101: the record is cut off: 8 of its 30 bytes are there".into()),
            ]
        );
    }

    #[test]
    fn a_length_that_is_too_great_loses_one_record() {
        let good = message(1000, &[1; 30]);
        let mut wrong = good.clone();
        wrong[11] += 5;
        let found = all(&[good.clone(), wrong, good.clone(), good].concat());
        assert_eq!(found.iter().filter(|r| r.is_ok()).count(), 3);
        assert_eq!(
            found[1],
            Err("byte 42: the record's length 35 leads past the record after it; the next record is at byte 84".into())
        );
    }
}
