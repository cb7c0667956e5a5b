//! The statistics files of the regional registries, `delegated-extended` and `delegated`.
//!
//! ```text
//! 2|apnic|20240101|3|19830613|20240101|+1000
//! apnic|*|ipv4|*|2|summary
//! apnic|CN|ipv4|192.0.2.0|768|20110414|allocated|A92E1062
//! apnic|JP|ipv6|2001:db8::|35|19990813|allocated|A91
//! ```
//!
//! IPv4 rows have a number of addresses, which need not be a power of two; IPv6 rows a length.

use super::ReadOptions;
use super::builder::Builder;
use super::fields::{Column, SEPARATOR};
use super::layouts::{Layout, Lines, Looks, Reader};
use super::rows::{self, Row};
use crate::scan::{self, quoted, utf8};
use crate::{Damage, address};
use std::net::{IpAddr, Ipv4Addr};

pub(super) const LAYOUT: Layout = Layout {
    looks: Looks::Line(|line| {
        is_version(line) || matches!(row(line, true), Ok(Row::Prefix(..) | Row::Range(..)))
    }),
    reader: Reader::Lines(read),
    writer: None,
    endings: &[],
};

fn read(blocks: &mut Lines<'_>, options: &ReadOptions, builder: &mut Builder) -> Result<(), Damage> {
    builder.columns = ["registry", "country", "date", "status", "opaque_id"].map(Column::new).to_vec();
    builder.columns.iter_mut().for_each(|column| column.is_text = true);
    rows::read(blocks, options, builder, row)
}

fn is_version(line: &[u8]) -> bool {
    line.first().is_some_and(u8::is_ascii_digit) && memchr::memchr_iter(b'|', line).count() == 6
}

fn row(line: &[u8], mask_host_bits: bool) -> Result<Row<'_>, String> {
    if line.trim_ascii().is_empty() || line.starts_with(b"#") || is_version(line) {
        return Ok(Row::Blank);
    }
    let fields: Vec<&str> = utf8(line)?.trim().split('|').collect();
    let expected =
        || format!("expected a row of a registry's statistics, found {}", quoted(&fields.join("|")));
    let [registry, country, kind, start, count, date, ref rest @ ..] = fields[..] else {
        return Err(expected());
    };
    if date == "summary" {
        return Ok(Row::Blank);
    }
    let value = || {
        let more = [0, 1].map(|at| rest.get(at).copied().unwrap_or_default());
        let texts = [registry, country, date, more[0], more[1]];
        texts.join(&SEPARATOR.to_string()).into_bytes().into()
    };
    let start = || address::parse(start.as_bytes()).ok_or_else(expected);
    match kind {
        "asn" => Ok(Row::LeftOut("row of AS numbers")),
        "ipv4" => {
            let IpAddr::V4(first) = start()? else { return Err(expected()) };
            let count: u64 = count.parse().map_err(|_| expected())?;
            let last = u64::from(first.to_bits()) + count.checked_sub(1).ok_or_else(expected)?;
            let last = u32::try_from(last)
                .map_err(|_| format!("{count} addresses from {first} on are past the last"))?;
            Ok(Row::Range(first.into(), Ipv4Addr::from(last).into(), value()))
        }
        "ipv6" => {
            let length = count.parse().map_err(|_| expected())?;
            Ok(Row::Prefix(scan::prefix_of(start()?, length, mask_host_bits)?, value()))
        }
        _ => Err(expected()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{self, routes};
    use super::super::{Format, ReadOptions, parse};

    #[test]
    fn counts_of_addresses_become_prefixes() {
        let text = b"2|apnic|20240101|3|19830613|20240101|+1000\napnic|*|ipv4|*|2|summary\n\
            apnic|AU|asn|64500|1|20110414|allocated|A1\napnic|CN|ipv4|192.0.2.0|768|20110414|allocated|A2\n\
            apnic||ipv6|2001:db8::|35|19990813|reserved\n";
        let loaded = parse(text, &ReadOptions::default()).unwrap();
        assert_eq!(loaded.format, Format::Delegated);
        let value =
            r#"{"registry":"apnic","country":"CN","date":"20110414","status":"allocated","opaque_id":"A2"}"#;
        let last =
            r#"{"registry":"apnic","country":null,"date":"19990813","status":"reserved","opaque_id":null}"#;
        let expected = [
            format!("192.0.2.0/23 {value}"),
            format!("192.0.4.0/24 {value}"),
            format!("2001:db8::/35 {last}"),
        ];
        assert_eq!(routes(&loaded), expected);
        assert_eq!(
            loaded.report.notes[0].to_string(),
            "left out: row of AS numbers, 1 time, first at line 3"
        );
    }

    #[test]
    fn what_is_wrong_is_said() {
        let error = |text: &str| testing::error(Format::Delegated, text);
        let expected = "memory, line 1: expected a row of a registry's statistics, found";
        assert_eq!(error("apnic|CN|ipv4\n"), format!("{expected} \"apnic|CN|ipv4\""));
        for row in ["a|CN|ipv4|192.0.2.0|0|1|allocated", "a|CN|ipv4|::|1|1|allocated", "a|CN|ipx|1|1|1|x"] {
            assert_eq!(error(row), format!("{expected} {row:?}"));
        }
        assert!(
            error("a|CN|ipv4|255.255.255.0|512|1|x")
                .ends_with("512 addresses from 255.255.255.0 on are past the last")
        );
    }
}
