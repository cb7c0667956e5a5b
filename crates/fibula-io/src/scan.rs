//! Reads prefixes and fields from bytes: text becomes numbers here.
//!
//! `str::parse` of an IPv4 prefix costs more than the rest of reading a table, so the plain dotted
//! form goes through [`address`](crate::address). Everything else (IPv6, and all errors) goes
//! through the library's `Prefix`, with its error text.

use crate::address::{leading_ipv4, parse};
use fibula::{IpPrefix, Prefix};
use std::net::IpAddr;
use std::num::NonZero;

/// Reads `address/length`, `address/netmask`, or a bare address as a host prefix. Never panics.
#[inline(always)]
pub(crate) fn prefix(text: &[u8], mask_host_bits: bool) -> Result<IpPrefix, String> {
    match plain_v4(text) {
        Some(prefix) => Ok(IpPrefix::V4(prefix)),
        None => any_prefix(text, mask_host_bits),
    }
}

/// Returns the prefix of an address and a length.
pub(crate) fn prefix_of(
    address: impl Into<IpAddr>,
    len: u8,
    mask_host_bits: bool,
) -> Result<IpPrefix, String> {
    let of = if mask_host_bits { IpPrefix::masked } else { IpPrefix::new };
    of(address.into(), len).map_err(|error| error.to_string())
}

/// Returns the length that a netmask of the family of `address` means.
pub(crate) fn len_of_mask(address: IpAddr, mask: IpAddr) -> Result<u8, String> {
    let (ones, trailing) = match mask {
        IpAddr::V4(mask) => (mask.to_bits().leading_ones(), 32 - mask.to_bits().trailing_zeros()),
        IpAddr::V6(mask) => (mask.to_bits().leading_ones(), 128 - mask.to_bits().trailing_zeros()),
    };
    if address.is_ipv4() == mask.is_ipv4() && ones == trailing {
        Ok(ones as u8)
    } else {
        Err(format!("{mask} is no netmask of {address}"))
    }
}

fn any_prefix(text: &[u8], mask_host_bits: bool) -> Result<IpPrefix, String> {
    let text = utf8(text)?;
    if !text.bytes().any(|b| b == b':' || b == b'.') {
        return Err(format!("{} is not a prefix (expected address/length)", quoted(text)));
    }
    if let Some((address, mask)) = text.split_once('/')
        && let (Some(address), Some(mask)) = (parse(address.as_bytes()), parse(mask.as_bytes()))
    {
        return prefix_of(address, len_of_mask(address, mask)?, mask_host_bits);
    }
    if mask_host_bits
        && let Some((address, len)) = text.split_once('/')
        && (len == "0" || !len.starts_with(['0', '+']))
        && let (Some(address), Ok(len)) = (parse(address.as_bytes()), len.parse())
    {
        return IpPrefix::masked(address, len).map_err(|e| e.to_string());
    }
    text.parse().map_err(|error: fibula::Error| error.to_string())
}

/// Reads the canonical dotted form with a length and without host bits; `None` for all else, legal
/// or not.
#[inline(always)]
fn plain_v4(text: &[u8]) -> Option<Prefix<u32>> {
    let (address, end) = leading_ipv4(text)?;
    let digit = |byte: u8| byte.wrapping_sub(b'0');
    let len = match text[end..] {
        [b'/', len] if digit(len) < 10 => digit(len),
        [b'/', tens @ b'1'..=b'9', ones] if digit(ones) < 10 => 10 * digit(tens) + digit(ones),
        _ => return None,
    };
    Prefix::new(address, len).ok()
}

/// Returns the number of threads worth starting: one for each `bytes_a_thread` bytes, at most one a
/// core.
pub(crate) fn threads(bytes: usize, bytes_a_thread: usize) -> usize {
    match bytes / bytes_a_thread {
        // Asking for the number of cores reads files, and takes longer than reading a small table.
        0 | 1 => 1,
        wanted => std::thread::available_parallelism().map_or(1, NonZero::get).min(wanted),
    }
}

/// Returns bytes as text, or the message when they are none.
pub(crate) fn utf8(text: &[u8]) -> Result<&str, String> {
    std::str::from_utf8(text)
        .map_err(|_| format!("{} is not UTF-8 text", quoted(&String::from_utf8_lossy(text))))
}

/// Returns the text that was found, short enough for one line.
pub(crate) fn quoted(text: &str) -> String {
    const SHOWN: usize = 60;
    if text.chars().nth(SHOWN).is_none() {
        return format!("{text:?}");
    }
    format!("{:?}...", text.chars().take(SHOWN).collect::<String>())
}

/// Returns the first field of white-space-separated text, and the rest without the white space
/// between. `None` if blank.
#[inline]
pub(crate) fn field(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let text = text.trim_ascii_start();
    if text.is_empty() {
        return None;
    }
    let end = text.iter().position(u8::is_ascii_whitespace).unwrap_or(text.len());
    Some((&text[..end], text[end..].trim_ascii_start()))
}

/// Returns the lines of a text with their numbers from 1, without the line break (`\n` or `\r\n`).
pub(crate) fn lines(text: &[u8]) -> impl Iterator<Item = (u64, &[u8])> {
    let empty = text.is_empty();
    // A text that ends in a line break has no empty line after it.
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    (1..)
        .zip(split_lines(text))
        .filter(move |_| !empty)
        .map(|(number, line)| (number, line.strip_suffix(b"\r").unwrap_or(line)))
}

fn split_lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut from = 0;
    memchr::memchr_iter(b'\n', text).chain([text.len()]).map(move |end| {
        let line = &text[from..end];
        from = end + 1;
        line
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn scan(text: &str) -> Result<String, String> {
        prefix(text.as_bytes(), false).map(|p| p.to_string())
    }

    #[test]
    fn what_is_wrong_is_said() {
        assert_eq!(scan("10.0.0.0/33").unwrap_err(), "prefix length 33 is past the 32 bits of the family");
        assert_eq!(scan("10.0.0.1/8").unwrap_err(), "10.0.0.1/8 has bits set after its length (host bits)");
        assert_eq!(scan("hello").unwrap_err(), "\"hello\" is not a prefix (expected address/length)");
        assert!(scan("010.0.0.0/8").is_err(), "a leading zero may mean octal");
        assert!(scan("1.2.3.4/+8").is_err());
        assert!(prefix(b"1.2.3.4/+8", true).is_err());
        assert!(scan("1.0.0.0/08").is_err());
        assert!(prefix(b"1.2.3.4/08", true).is_err());
        assert!(prefix(b"1.2.3.4/0", true).is_ok());
        assert!(prefix(b"1.2.3.4/33", true).is_err());
        assert!(prefix(b"\xFF.2.3.4/3", true).is_err());
    }

    #[test]
    fn host_bits_are_masked_when_asked() {
        let masked = |text: &str| prefix(text.as_bytes(), true).unwrap().to_string();
        assert_eq!(masked("10.1.2.3/8"), "10.0.0.0/8");
        assert_eq!(masked("2001:db8::1/32"), "2001:db8::/32");
        assert_eq!(masked("::ffff:1.2.3.4/120"), "::ffff:1.2.3.0/120");
        assert_eq!(masked("1.2.3.4"), "1.2.3.4/32");
    }

    #[test]
    fn lines_are_numbered() {
        let of = |text: &'static [u8]| lines(text).collect::<Vec<_>>();
        assert_eq!(of(b""), []);
        assert_eq!(of(b"a"), [(1, &b"a"[..])]);
        assert_eq!(of(b"\n"), [(1, &b""[..])]);
        assert_eq!(of(b"a\r\n\nb\n"), [(1, &b"a"[..]), (2, b""), (3, b"b")]);
    }

    proptest! {
        #[test]
        fn the_plain_path_agrees_with_the_library(text in "[0-9./]{0,20}|([0-9]{1,3}\\.){3}[0-9]{1,3}/[0-9]{1,2}") {
            let plain = plain_v4(text.as_bytes());
            if let Some(prefix) = plain {
                prop_assert_eq!(text.parse::<Prefix<u32>>(), Ok(prefix));
                prop_assert_eq!(&prefix.to_string(), &text);
            }
            prop_assert_eq!(scan(&text).ok(), text.parse::<Prefix<u32>>().ok().map(|p| p.to_string()));
        }

        #[test]
        fn every_prefix_is_read_back(address: u32, long: u128, len in 0..=128_u8) {
            let four = Prefix::containing(address, len.min(32));
            let six = Prefix::containing(long, len);
            prop_assert_eq!(prefix(four.to_string().as_bytes(), false), Ok(IpPrefix::V4(four)));
            prop_assert_eq!(plain_v4(four.to_string().as_bytes()), Some(four));
            prop_assert_eq!(prefix(six.to_string().as_bytes(), false), Ok(IpPrefix::V6(six)));
        }

        #[test]
        fn random_bytes_never_panic(text: Vec<u8>, mask: bool) {
            let _ = prefix(&text, mask);
            let _ = field(&text);
            prop_assert!(lines(&text).count() <= text.len() + 1);
        }
    }
}
