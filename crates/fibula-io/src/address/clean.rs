//! [`clean`]: addresses with something around them.

use super::{Found, Window, find};

/// Parses an address with white space, brackets, a port, a zone or the length of a host prefix
/// around it.
///
/// An IPv6 address has brackets before its port, and its zone is left out. All else is refused:
/// prefixes of more than one address, names, and numbers that are no port.
///
/// ```
/// use fibula_io::address::{Found, clean};
/// for text in [" 192.0.2.1", "192.0.2.1:443", "192.0.2.1/32", "[192.0.2.1]"] {
///     assert_eq!(clean(text.as_bytes()), Found::Ipv4(0xC000_0201));
/// }
/// for text in ["[::1]:443", "::1%eth0", "::1/128", "[::1%2]:80"] {
///     assert_eq!(clean(text.as_bytes()), Found::Ipv6(1));
/// }
/// assert_eq!(clean(b"192.0.2.0/24"), Found::Invalid);
/// ```
#[must_use]
#[cold]
pub fn clean(text: &[u8]) -> Found {
    stripped(text.trim_ascii()).unwrap_or(Found::Invalid)
}

fn stripped(text: &[u8]) -> Option<Found> {
    let (text, len) = match memchr::memrchr(b'/', text) {
        Some(at) => (&text[..at], Some(&text[at + 1..])),
        None => (text, None),
    };
    let text = if let Some(rest) = text.strip_prefix(b"[") {
        let end = memchr::memchr(b']', rest)?;
        if let [colon, port @ ..] = &rest[end + 1..] {
            (*colon == b':' && is_port(port)).then_some(())?;
        }
        &rest[..end]
    } else {
        match memchr::memchr(b':', text) {
            Some(at) if memchr::memrchr(b':', text) == Some(at) => {
                is_port(&text[at + 1..]).then_some(())?;
                &text[..at]
            }
            _ => text,
        }
    };
    let (text, zone) = match memchr::memchr(b'%', text) {
        Some(at) => (&text[..at], Some(&text[at + 1..])),
        None => (text, None),
    };
    let found = find(Window::of(text));
    let is_whole = match found {
        Found::Ipv4(_) => zone.is_none() && matches!(len, None | Some(b"32")),
        Found::Ipv6(_) => zone.is_none_or(is_zone) && matches!(len, None | Some(b"128")),
        Found::Invalid => false,
    };
    is_whole.then_some(found)
}

/// Returns whether a text may name an interface. Such a name needs no quotes in JSON and CSV.
fn is_zone(text: &[u8]) -> bool {
    !text.is_empty() && text.iter().all(|byte| byte.is_ascii_graphic() && !b"\"\\,".contains(byte))
}

fn is_port(text: &[u8]) -> bool {
    text.iter().all(u8::is_ascii_digit) && str::from_utf8(text).is_ok_and(|text| text.parse::<u16>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_around_an_address_is_left_out() {
        let four = Found::Ipv4(0xC000_0201);
        let six = Found::Ipv6(0x2001_0DB8 << 96 | 1);
        for (text, found) in [
            ("192.0.2.1", four),
            ("\t192.0.2.1 \r", four),
            ("192.0.2.1:65535", four),
            ("192.0.2.1:80/32", four),
            ("[192.0.2.1]:80", four),
            ("2001:db8::1", six),
            ("[2001:db8::1]", six),
            ("[2001:db8::1]:0", six),
            ("2001:db8::1%en0", six),
            ("[2001:db8::1%25en0]:443", six),
            ("2001:db8::1/128", six),
        ] {
            assert_eq!(clean(text.as_bytes()), found, "{text}");
        }
        for text in [
            "",
            "[]",
            "[192.0.2.1",
            "192.0.2.1]",
            "192.0.2.1:",
            "192.0.2.1:65536",
            "192.0.2.1:http",
            "192.0.2.1:+80",
            "192.0.2.1/31",
            "192.0.2.1/128",
            "192.0.2.1%eth0",
            "2001:db8::1/32",
            "2001:db8::1%",
            "[2001:db8::1]80",
            "[2001:db8::1]:",
            "192.0.2.1 192.0.2.2",
            "01.2.3.4",
            "example.com:80",
        ] {
            assert_eq!(clean(text.as_bytes()), Found::Invalid, "{text}");
        }
    }

    proptest! {
        #[test]
        fn an_address_alone_is_itself(ipv4: u32, ipv6: u128) {
            let texts = [std::net::Ipv4Addr::from(ipv4).to_string(), std::net::Ipv6Addr::from(ipv6).to_string()];
            prop_assert_eq!(clean(texts[0].as_bytes()), Found::Ipv4(ipv4));
            prop_assert_eq!(clean(texts[1].as_bytes()), Found::Ipv6(ipv6));
        }
    }
}
