//! Addresses in text, in exactly the language of [`std::net::IpAddr`].
//!
//! A column of text is one buffer and an offset a row, and a block of lines is one buffer. So the
//! bytes after a text may be read too, except after the last ones: [`Window`] hands out 16 or 48
//! bytes of the buffer at once, and copies only where the buffer ends. The parsers compare all of
//! those bytes at once and mask what is not theirs. They take the usual forms; what they refuse
//! goes to the standard library, which decides.

mod clean;
mod embedded;
mod ipv4;
mod ipv6;

pub use clean::clean;
pub use embedded::Embedded;

use fibula::parts::arch::joined;
use std::net::IpAddr;

/// What a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// An IPv4 address.
    Ipv4(u32),
    /// An IPv6 address, v4-mapped ones included.
    Ipv6(u128),
    /// No address.
    Invalid,
}

impl Found {
    /// Returns the address, if it is one.
    #[must_use]
    #[inline(always)]
    pub fn ip(self) -> Option<IpAddr> {
        match self {
            Self::Ipv4(address) => Some(IpAddr::V4(address.into())),
            Self::Ipv6(address) => Some(IpAddr::V6(address.into())),
            Self::Invalid => None,
        }
    }
}

/// A text within a buffer.
#[derive(Clone, Copy, Debug)]
pub struct Window<'b> {
    buffer: &'b [u8],
    start: usize,
    len: usize,
}

impl<'b> Window<'b> {
    /// A text that is no part of a buffer.
    #[must_use]
    #[inline(always)]
    pub fn of(text: &'b [u8]) -> Self {
        Self::new(text, 0, text.len())
    }

    /// The text of `len` bytes at `start`.
    #[must_use]
    #[inline(always)]
    pub fn new(buffer: &'b [u8], start: usize, len: usize) -> Self {
        Self { buffer, start, len }
    }

    /// Returns `N` bytes from the start of the text on: in place or, near the end of the buffer,
    /// in `copy`, which is zeros. Those after its end may be anything. `N` is at least the text's
    /// length.
    #[inline(always)]
    fn bytes<'c, const N: usize>(self, copy: &'c mut [u8; N]) -> &'c [u8; N]
    where
        'b: 'c,
    {
        if let Some(bytes) = self.buffer.get(self.start..).and_then(|rest| rest.first_chunk()) {
            return bytes;
        }
        let text = self.text();
        match (copied(text), copy.first_chunk_mut()) {
            (Some(bytes), Some(first)) => *first = bytes,
            _ => copy[..text.len()].copy_from_slice(text),
        }
        copy
    }

    #[inline(always)]
    fn text(self) -> &'b [u8] {
        &self.buffer[self.start..self.start + self.len]
    }
}

/// Copies a text of 4 to 15 bytes, the length of a dotted quad that is no part of a column, as two
/// words that overlap. A copy of any length is a call.
#[inline(always)]
fn copied(text: &[u8]) -> Option<[u8; 16]> {
    const LONG: usize = size_of::<u64>();
    const SHORT: usize = size_of::<u32>();
    if let (Some(&first), Some(&last)) = (text.first_chunk(), text.last_chunk())
        && let len @ LONG..=15 = text.len()
    {
        let last = u64::from_le_bytes(last) >> 8 >> (8 * (15 - len));
        return Some(joined([u64::from_le_bytes(first), last]));
    }
    if let (Some(&first), Some(&last)) = (text.first_chunk(), text.last_chunk())
        && let len @ SHORT..LONG = text.len()
    {
        let last = u64::from(u32::from_le_bytes(last)) << (8 * (len - SHORT));
        return Some(joined([u64::from(u32::from_le_bytes(first)) | last, 0]));
    }
    None
}

/// Parses an address in whole words, without a branch for each byte. `None` if it is none.
///
/// ```
/// use fibula_io::address::parse;
/// assert_eq!(parse(b"192.0.2.1"), "192.0.2.1".parse().ok());
/// assert_eq!(parse(b"192.0.2"), None);
/// ```
#[must_use]
#[inline]
pub fn parse(text: &[u8]) -> Option<IpAddr> {
    find(Window::of(text)).ip()
}

/// Parses the dotted quad that a text begins with, up to the first byte that is neither digit nor
/// dot. Also returns its length.
#[must_use]
#[inline(always)]
pub fn leading_ipv4(text: &[u8]) -> Option<(u32, usize)> {
    ipv4::leading(Window::new(text, 0, text.len().min(ipv4::BYTES)).bytes(&mut [0; _]))
}

/// As [`parse`], of a text with others around it.
#[must_use]
#[inline(always)]
pub fn find(text: Window<'_>) -> Found {
    if ipv4::LENGTHS.contains(&text.len)
        && let Some(address) = ipv4::parse(text.bytes(&mut [0; _]), text.len)
    {
        return Found::Ipv4(address);
    }
    if ipv6::LENGTHS.contains(&text.len)
        && let Some(address) = ipv6::parse(text.bytes(&mut [0; _]), text.len)
    {
        return Found::Ipv6(address);
    }
    unusual(text.text())
}

/// Parses what is no address, or an unusual form of one (`::ffff:192.0.2.1`).
#[cold]
fn unusual(text: &[u8]) -> Found {
    match std::str::from_utf8(text).ok().and_then(|text| text.parse().ok()) {
        Some(IpAddr::V4(address)) => Found::Ipv4(address.to_bits()),
        Some(IpAddr::V6(address)) => Found::Ipv6(address.to_bits()),
        None => Found::Invalid,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::net::{Ipv4Addr, Ipv6Addr};

    /// Parses a text with other bytes around it, at the end of a buffer and far from it.
    fn parsed(text: &str) -> Found {
        let found = find(Window::of(text.as_bytes()));
        for after in [".1:a", ":", "9999:9999.9999.9999.9999.9999.9999.9999.9999.9999.9999"] {
            let buffer = format!("1.2{text}{after}");
            assert_eq!(find(Window::new(buffer.as_bytes(), 3, text.len())), found, "{text:?} in {buffer:?}");
        }
        for after in ["", "\n", "/8", ":1.2.3.4", "x 9.9.9.9 9.9.9.9"] {
            let begin: String = text.chars().take_while(|letter| matches!(letter, '.' | '0'..='9')).collect();
            let quad = begin.parse::<Ipv4Addr>().ok().map(|quad| (quad.to_bits(), begin.len()));
            assert_eq!(leading_ipv4(format!("{text}{after}").as_bytes()), quad, "{text:?} before {after:?}");
        }
        found
    }

    fn agrees(text: &str) {
        assert_eq!(parsed(text), unusual(text.as_bytes()), "{text:?}");
    }

    #[test]
    fn strict_as_the_standard_library() {
        let texts = [
            "",
            "0.0.0.0",
            "255.255.255.255",
            "256.1.1.1",
            "1.2.3",
            "1.2.3.4.5",
            "01.2.3.4",
            "1.2.3.00",
            "1.2.3.",
            ".1.2.3",
            "1..3.4",
            "1.2.3.4 ",
            " 1.2.3.4",
            "1.2.3.4x",
            "1.2.3.1000",
            "1.2.3.0000",
            "+1.2.3.4",
            "1.2.3.4/32",
            "1.2.3.-4",
            "1.2.3.４",
            "::",
            ":::",
            "::1",
            "1::",
            "1:2:3:4:5:6:7:8",
            "1:2:3:4:5:6:7::",
            "::2:3:4:5:6:7:8",
            "1:2:3:4::5:6:7:8",
            "1:2:3:4:5:6:7:8:9",
            "1:2:3:4:5:6:7",
            "1::2::3",
            "12345::",
            "g::",
            "::ffff:192.0.2.1",
            "1:2:3:4:5:6:1.2.3.4",
            "::1.2.3",
            "fe80::1%eth0",
            "[::1]",
            "::1 ",
            "1:",
            ":1",
            "1:2:3:4:5:6:7:",
            ":1:2:3:4:5:6:7",
            "0:0:0:0:0:0:0:0",
            "00000::",
            "FFFF::abCD",
            "@::",
            "`::",
            "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
            "ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255",
            "1.2.3.\u{80}",
        ];
        for text in texts {
            agrees(text);
        }
        assert_eq!(parsed("192.0.2.1"), Found::Ipv4(0xC000_0201));
        assert_eq!(parsed("2001:db8::7"), Found::Ipv6(0x2001_0DB8 << 96 | 7));
        assert_eq!(parsed("::ffff:192.0.2.1"), Found::Ipv6(0xFFFF_C000_0201));
        assert_eq!(parsed("01.2.3.4"), Found::Invalid);
    }

    /// Every text of up to three characters in an octet of a dotted quad.
    #[test]
    fn every_octet() {
        let alphabet = b"0123456789.:af/ ";
        for n in 0..alphabet.len().pow(3) {
            let octet: String =
                (0..3).map(|at| char::from(alphabet[n / alphabet.len().pow(at) % alphabet.len()])).collect();
            let octet = octet.trim_end();
            for text in [format!("{octet}.0.0.0"), format!("12.{octet}.0.1"), format!("1.2.3.{octet}")] {
                agrees(&text);
            }
        }
    }

    fn mutated(text: &str, mutations: &[(u8, prop::sample::Index, u8)]) -> String {
        const LETTERS: &[u8] = b"0123456789abcdefABCDEFg.:% /";
        let mut bytes = text.as_bytes().to_vec();
        for &(kind, at, letter) in mutations {
            let letter = LETTERS[usize::from(letter) % LETTERS.len()];
            let at = at.index(bytes.len() + 1);
            match kind % 3 {
                0 => bytes.insert(at, letter),
                1 if at < bytes.len() => bytes[at] = letter,
                _ if at < bytes.len() => drop(bytes.remove(at)),
                _ => {}
            }
        }
        String::from_utf8(bytes).unwrap()
    }

    fn mutations() -> impl Strategy<Value = Vec<(u8, prop::sample::Index, u8)>> {
        prop::collection::vec(any::<(u8, prop::sample::Index, u8)>(), 0..4)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        #[test]
        fn ipv4_and_what_is_nearly_that(bits: u32, mutations in mutations()) {
            let text = Ipv4Addr::from_bits(bits).to_string();
            prop_assert_eq!(parsed(&text), Found::Ipv4(bits));
            agrees(&mutated(&text, &mutations));
        }

        /// Words with many zeros, so that the text has `::` at every place.
        #[test]
        fn ipv6_and_what_is_nearly_that(bits: u128, zeros: u8, long: bool, mutations in mutations()) {
            let kept = (0..8).filter(|at| zeros >> at & 1 == 0).map(|at| 0xFFFF_u128 << (16 * at));
            let bits = bits & kept.sum::<u128>();
            let short = Ipv6Addr::from_bits(bits);
            let words = short.segments().map(|word| format!("{word:04X}"));
            let text = if long { words.join(":") } else { short.to_string() };
            prop_assert_eq!(parsed(&text), Found::Ipv6(bits));
            agrees(&mutated(&text, &mutations));
        }

        #[test]
        fn any_text(text in "[0-9a-f.:]{0,50}|.{0,20}") {
            agrees(&text);
        }
    }
}
