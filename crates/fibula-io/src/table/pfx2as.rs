//! CAIDA's Routeviews prefix-to-AS files: `address<TAB>length<TAB>AS`.
//!
//! A prefix that several ASes originate has them joined by `_`, an AS set by `,`; both stay labels.

use super::rows::Row;
use super::text::without_comment;
use crate::address::parse;
use crate::scan::{field, quoted, utf8};
use fibula::IpPrefix;

pub(super) fn row(line: &[u8], mask_host_bits: bool) -> Result<Row<'_>, String> {
    let Some((address, rest)) = field(without_comment(line)) else { return Ok(None) };
    let expected = || {
        let found = String::from_utf8_lossy(line);
        format!("expected address, length and AS separated by tabs, found {}", quoted(found.trim()))
    };
    let (len, value) = field(rest).ok_or_else(expected)?;
    let value = value.trim_ascii_end();
    if value.is_empty() || !len.iter().all(u8::is_ascii_digit) {
        return Err(expected());
    }
    let address = parse(address).ok_or_else(expected)?;
    let bits = if address.is_ipv4() { 32 } else { 128 };
    let prefix = if let Ok(len) = utf8(len)?.parse() {
        let of = if mask_host_bits { IpPrefix::masked } else { IpPrefix::new };
        of(address, len).map_err(|e| e.to_string())?
    } else {
        let len = String::from_utf8_lossy(len);
        return Err(format!("prefix length {len} is past the {bits} bits of the family"));
    };
    Ok(Some((prefix, value.into())))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{self, values};
    use super::super::{Format, ReadOptions, parse};

    #[test]
    fn several_origins_stay_labels() {
        let loaded = parse(
            b"1.0.0.0\t24\t13335\n1.0.4.0\t22\t38803_56203\n2001:200::\t32\t1,2\n",
            &ReadOptions::default(),
        )
        .unwrap();
        assert_eq!(loaded.format, Format::Pfx2as);
        assert_eq!(values(&loaded), ["13335", "38803_56203", "1,2"]);
        assert_eq!((loaded.tables.ipv4.len(), loaded.tables.ipv6.len()), (2, 1));
    }

    #[test]
    fn what_is_wrong_is_said() {
        let error = |text: &str| testing::error(Format::Pfx2as, text);
        let past = "memory, line 1: prefix length 33 is past the 32 bits of the family";
        assert_eq!(error("1.0.0.0\t33\t1"), past);
        assert_eq!(error("1.0.0.0\t333\t1"), past.replace("33 ", "333 "));
        for text in ["1.0.0.0", "1.0.0.0\t8", "1.0.0.0\t+8\t1", "x\t8\t1", "1.0.0.0/8\t8\t1"] {
            assert!(error(text).contains("expected address, length and AS separated by tabs"), "{text}");
        }
    }
}
