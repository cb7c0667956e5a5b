//! [`blocks`] and [`Lines`]: addresses in a stream of text, one a line.

use anyhow::anyhow;
use fibula_io::address::{Found, Window, find, leading_ipv4};
use fibula_io::blocks::{Block, Blocks};
use fibula_io::{Content, Damage};

/// Whole lines and the number of the first, from 1, or a line that is too long.
pub(super) type Owned = Result<(u64, Vec<u8>), Damage>;

/// Reads standard input as its lines come, up to its end or an error.
pub(super) fn blocks(input: Content) -> impl Iterator<Item = anyhow::Result<Owned>> + Send {
    let mut blocks = Blocks::as_they_come(input);
    std::iter::from_fn(move || match blocks.next() {
        Some(block) => Some(Ok(block.map(|Block { first_line, text }| (first_line, text.to_vec())))),
        None => blocks.cut().map(|error| Err(anyhow!("standard input: {error}"))),
    })
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
    /// What that is; `None` if the line is skipped: it is blank, or a comment (`#`).
    pub(super) found: Option<Found>,
}

impl<'b> Lines<'b> {
    pub(super) fn new(block: &'b [u8]) -> Self {
        Self { block, at: 0 }
    }
}

impl<'b> Iterator for Lines<'b> {
    type Item = Line<'b>;

    #[inline(always)]
    fn next(&mut self) -> Option<Line<'b>> {
        let start = self.at;
        let rest = self.block.get(start..).filter(|rest| !rest.is_empty())?;
        // Most lines are an IPv4 address and nothing else. They are read without looking for the
        // line's end first.
        if let Some((address, len)) = leading_ipv4(rest)
            && let None | Some(b'\n') = rest.get(len)
        {
            self.at = start + len + 1;
            return Some(Line { start, field: &rest[..len], found: Some(Found::Ipv4(address)) });
        }
        let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        self.at = start + end + 1;
        let line = rest[..end].trim_ascii_start();
        let start = start + end - line.len();
        let field = line.split(u8::is_ascii_whitespace).next().unwrap_or_default();
        let found = (!matches!(field.first(), None | Some(b'#'))).then(|| find(Window::of(field)));
        Some(Line { start, field, found })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(block: &str) -> Vec<Option<Found>> {
        Lines::new(block.as_bytes()).map(|line| line.found).collect()
    }

    #[test]
    fn an_address_is_found_whatever_follows_it() {
        for text in
            ["1.2.3.4", "255.255.255.255", "01.2.3.4", "1.2.3.4.5", "1.2.3.4x", "1.2.3.4/32", "::1", "x"]
        {
            let expected = find(Window::of(text.as_bytes()));
            for block in
                [text.to_string(), format!("{text}\n"), format!("  {text}\r\n"), format!("{text} more\n")]
            {
                assert_eq!(found(&block), [Some(expected)], "{block:?}");
            }
        }
    }

    #[test]
    fn every_line_counts_even_an_empty_one() {
        assert_eq!(
            found("\n# note\n1.2.3.4\n \n0.0.0.1"),
            [None, None, Some(Found::Ipv4(0x0102_0304)), None, Some(Found::Ipv4(1))]
        );
        assert_eq!(found("\u{e9}\n"), [Some(Found::Invalid)]);
    }

    #[test]
    fn a_field_is_found_where_it_stands() {
        let block = b"1.2.3.4\n  ::1 x\r\n\t5.6.7.8\r\n";
        let fields: Vec<_> = Lines::new(block).map(|line| &block[line.start..][..line.field.len()]).collect();
        let expected: [&[u8]; 3] = [b"1.2.3.4", b"::1", b"5.6.7.8"];
        assert_eq!(fields, expected);
    }
}
