//! [`Lines`] and [`Blocks`]: addresses in a stream of text, one a line.

use std::io::{self, BufRead, BufReader, Read};

/// The most bytes that are read at once, and the most of a line before it is cut there.
const BLOCK_BYTES: usize = 1 << 20;

/// A stream in blocks of whole lines. A block is the result of one read, so that a slow writer is
/// answered at once and a fast one in large blocks.
pub(super) struct Blocks {
    input: BufReader<Box<dyn Read + Send>>,
    /// The beginning of a line whose end has not been read yet.
    begun: Vec<u8>,
}

impl Blocks {
    pub(super) fn new(input: Box<dyn Read + Send>) -> Self {
        Self { input: BufReader::with_capacity(BLOCK_BYTES, input), begun: Vec::new() }
    }
}

impl Iterator for Blocks {
    type Item = io::Result<Vec<u8>>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let read = match self.input.fill_buf() {
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Some(Err(error)),
            };
            let (len, whole) = match memchr::memrchr(b'\n', read) {
                _ if read.is_empty() => (0, !self.begun.is_empty()),
                Some(newline) => (newline + 1, true),
                None => (read.len(), self.begun.len() >= BLOCK_BYTES),
            };
            let ended = read.is_empty();
            self.begun.extend_from_slice(&read[..len]);
            let block = whole.then(|| std::mem::take(&mut self.begun));
            // The bytes after the last newline begin the next block.
            self.begun.extend_from_slice(if whole { &read[len..] } else { &[] });
            let consumed = read.len();
            self.input.consume(consumed);
            if ended || whole {
                return block.map(Ok);
            }
        }
    }
}

/// The lines of a block, each with its first field.
#[derive(Debug)]
pub(super) struct Lines<'b> {
    block: &'b [u8],
    at: usize,
}

/// One line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Line<'b> {
    /// The offset of the first field in the block.
    pub(super) start: usize,
    /// The first field, as it is in the text.
    pub(super) field: &'b [u8],
    /// The meaning of the first field.
    pub(super) content: Content,
}

/// The meaning of the first field of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// An IPv4 address.
    Ipv4(u32),
    /// An IPv6 address, v4-mapped ones included.
    Ipv6(u128),
    /// Nothing, or a comment (`#`): skipped.
    Blank,
    /// Something else.
    Bad,
}

impl<'b> Lines<'b> {
    pub(super) fn new(block: &'b [u8]) -> Self {
        Self { block, at: 0 }
    }
}

impl<'b> Iterator for Lines<'b> {
    type Item = Line<'b>;

    #[inline]
    fn next(&mut self) -> Option<Line<'b>> {
        let start = self.at;
        let rest = self.block.get(start..).filter(|rest| !rest.is_empty())?;
        // Most lines are an IPv4 address and nothing else. They are read without looking for the
        // line's end first.
        if let Some((address, len)) = ipv4(rest)
            && let None | Some(b'\n') = rest.get(len)
        {
            self.at = start + len + 1;
            return Some(Line { start, field: &rest[..len], content: Content::Ipv4(address) });
        }
        let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        self.at = start + end + 1;
        let line = rest[..end].trim_ascii_start();
        let start = start + end - line.len();
        let field = line.split(u8::is_ascii_whitespace).next().unwrap_or_default();
        Some(Line { start, field, content: content(field) })
    }
}

/// Reads a field in any form that the standard library reads.
fn content(field: &[u8]) -> Content {
    match field.first() {
        None | Some(b'#') => return Content::Blank,
        _ => {}
    }
    match str::from_utf8(field).ok().and_then(|text| text.parse().ok()) {
        Some(std::net::IpAddr::V4(ip)) => Content::Ipv4(ip.to_bits()),
        Some(std::net::IpAddr::V6(ip)) => Content::Ipv6(ip.to_bits()),
        None => Content::Bad,
    }
}

/// Reads the dotted quad that a text begins with. Also returns its length. As in the standard
/// library, no octet has a leading zero.
#[inline]
fn ipv4(text: &[u8]) -> Option<(u32, usize)> {
    let digit = |at: usize| text.get(at).map(|byte| u32::from(byte.wrapping_sub(b'0'))).filter(|&d| d <= 9);
    let (mut address, mut at) = (0, 0);
    for index in 0..4 {
        if index > 0 {
            if text.get(at) != Some(&b'.') {
                return None;
            }
            at += 1;
        }
        let mut octet = digit(at)?;
        at += 1;
        while octet != 0
            && let Some(next) = digit(at)
        {
            octet = octet * 10 + next;
            if octet > 255 {
                return None;
            }
            at += 1;
        }
        address = address << 8 | octet;
    }
    Some((address, at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    fn contents(block: &str) -> Vec<Content> {
        Lines::new(block.as_bytes()).map(|line| line.content).collect()
    }

    #[test]
    fn the_fast_way_reads_what_the_standard_library_reads() {
        let texts = [
            "0.0.0.0",
            "255.255.255.255",
            "1.2.3.4",
            "10.0.0.1",
            "256.1.1.1",
            "1.2.3",
            "1.2.3.4.5",
            "01.2.3.4",
            "1.2.3.00",
            "1.2.3.",
            "1..3.4",
            "1.2.3.4x",
            "1.2.3.1000",
            "::ffff:1.2.3.4",
            "2001:db8::1",
            "+1.2.3.4",
            "1.2.3.4/32",
        ];
        for text in texts {
            let expected = match text.parse() {
                Ok(std::net::IpAddr::V4(ip)) => Content::Ipv4(ip.to_bits()),
                Ok(std::net::IpAddr::V6(ip)) => Content::Ipv6(ip.to_bits()),
                Err(_) => Content::Bad,
            };
            for block in
                [text.to_string(), format!("{text}\n"), format!("  {text}\r\n"), format!("{text} more\n")]
            {
                assert_eq!(contents(&block), [expected], "{block:?}");
            }
        }
    }

    #[test]
    fn every_line_counts_even_an_empty_one() {
        assert_eq!(
            contents("\n# note\n1.2.3.4\n \n0.0.0.1"),
            [Content::Blank, Content::Blank, Content::Ipv4(0x0102_0304), Content::Blank, Content::Ipv4(1)]
        );
        assert_eq!(contents("\u{e9}\n"), [Content::Bad]);
    }

    #[test]
    fn a_field_is_found_where_it_stands() {
        let block = b"1.2.3.4\n  ::1 x\r\n\t5.6.7.8\r\n";
        let fields: Vec<_> = Lines::new(block).map(|line| &block[line.start..][..line.field.len()]).collect();
        let expected: [&[u8]; 3] = [b"1.2.3.4", b"::1", b"5.6.7.8"];
        assert_eq!(fields, expected);
    }

    /// A stream that arrives in the given pieces.
    struct Pieces(VecDeque<&'static [u8]>);

    impl Read for Pieces {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let piece = self.0.pop_front().unwrap_or_default();
            buffer[..piece.len()].copy_from_slice(piece);
            Ok(piece.len())
        }
    }

    #[test]
    fn blocks_hold_whole_lines_wherever_the_stream_is_cut() {
        let pieces: [&[u8]; 5] = [b"1.1.1.1\n2.2", b".2.2", b"\n3.3.3.3\n", b"4.4.4.4\n5", b".5.5.5"];
        let blocks: Vec<_> = Blocks::new(Box::new(Pieces(pieces.into()))).map(Result::unwrap).collect();
        let expected: [&[u8]; 4] = [b"1.1.1.1\n", b"2.2.2.2\n3.3.3.3\n", b"4.4.4.4\n", b"5.5.5.5"];
        assert_eq!(blocks, expected);
    }

    #[test]
    fn a_line_without_end_is_not_gathered_for_ever() {
        let endless = Blocks::new(Box::new(io::repeat(b'1')));
        let block = endless.map(Result::unwrap).next().unwrap();
        assert!(block.len() <= 3 * BLOCK_BYTES);
    }
}
