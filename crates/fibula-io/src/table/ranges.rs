//! Ranges of addresses with values: first and last address, and then fields, without a header.
//!
//! ```text
//! 192.0.2.0,192.0.2.254,SG,,,Singapore,,1.30283,103.834,
//! 192.0.2.0<TAB>192.0.2.255<TAB>64500<TAB>US<TAB>EXAMPLE
//! "3221225984","3221226239","AU","Australia"
//! 192.0.2.0 192.0.2.255 any text
//! ```
//!
//! Where each second address is a netmask of the first, and not all are 255.255.255.255, they are
//! taken as such; that is a guess, and told.
//!
//! A range becomes the fewest prefixes that are its addresses. The names of the fields follow from
//! their number, by the lists of DB-IP, ip-location-db, iptoasn and, where addresses are integers,
//! IP2Location. Fields of other lists are called `column3` and so on.

use super::builder::Builder;
use super::columns::{self, Chosen, DELIMITERS, LISTED, Net, bounds, fields, is_skipped};
use super::layouts::{Layout, Lines, Looks, Reader, Writer};
use super::rows::{self, Row};
use super::text::without_comment;
use super::{Columns, Format, ReadOptions};
use crate::scan::{field, len_of_mask, lines, prefix_of};
use crate::{Damage, Kind, Note, Place, address};
use fibula::IpPrefix;
use std::borrow::Cow;
use std::net::IpAddr;

pub(super) const LAYOUT: Layout = Layout {
    looks: Looks::Line(is_line),
    reader: Reader::Lines(read),
    writer: Some(Writer::Whole(super::sets::write_ranges)),
    endings: &[],
};

fn read(blocks: &mut Lines<'_>, options: &ReadOptions, builder: &mut Builder) -> Result<(), Damage> {
    let has_spaces = lines(blocks.peek()).find(|(_, line)| !is_skipped(line)).is_some_and(|(_, line)| {
        begin(line, &options.columns, false).is_err() && between_spaces(line).is_some()
    });
    let of_masks = are_masks(blocks.peek());
    if of_masks {
        let what = "second address as a netmask".into();
        let first = lines(blocks.peek()).find(|(_, line)| !is_skipped(line)).map_or(1, |(number, _)| number);
        builder.notes([Note { kind: Kind::Guessed, what, count: 1, first: Place::Line(first) }])?;
    }
    if has_spaces {
        return rows::read(blocks, options, builder, |line, mask| of_spaces(line, of_masks, mask));
    }
    let is_named = options.format == Some(Format::Ranges);
    columns::read(blocks, options, builder, |line| {
        let (chosen, is_row) = begin(line, &options.columns, is_named)?;
        let net = if of_masks { Net::Masked(0, 1) } else { chosen.net };
        Ok((Chosen { net, ..chosen }, is_row))
    })
}

/// Returns whether the second address of each line is a netmask of the first, and not all are of
/// single addresses: 224.0.0.0 to 255.255.255.255 is a range.
fn are_masks(text: &[u8]) -> bool {
    let len = |line: &[u8]| {
        let mut words = line.split(|byte| b", \t;|\"".contains(byte)).filter(|word| !word.is_empty());
        let (address, mask) = (address::parse(words.next()?)?, address::parse(words.next()?)?);
        let len = len_of_mask(address, mask).ok()?;
        IpPrefix::new(address, len).is_ok().then_some((len, mask))
    };
    // The last line may be cut.
    let text = memchr::memrchr(b'\n', text).map_or(text, |end| &text[..end]);
    let mut is_any_wide = false;
    let are_all = lines(text).filter(|(_, line)| !is_skipped(line)).all(|(_, line)| {
        len(line).is_some_and(|(len, mask)| {
            is_any_wide |= len < if mask.is_ipv4() { 32 } else { 128 };
            true
        })
    });
    are_all && is_any_wide
}

/// Returns the two addresses that a line between spaces begins with.
fn pair(line: &[u8]) -> Option<(IpAddr, IpAddr, &[u8])> {
    let (first, rest) = field(without_comment(line))?;
    let (last, rest) = field(rest)?;
    Some((address::parse(first)?, address::parse(last)?, rest))
}

/// As [`pair`], if they may be a range.
fn between_spaces(line: &[u8]) -> Option<(IpAddr, IpAddr, &[u8])> {
    pair(line).filter(|(first, last, _)| first.is_ipv4() == last.is_ipv4() && first < last)
}

/// Returns whether a line of the text format, an address and its next hop, may be a range as well.
pub(super) fn may_be_one(line: &[u8]) -> bool {
    between_spaces(line).is_some_and(|(_, _, rest)| rest.is_empty())
}

fn of_spaces(line: &[u8], of_masks: bool, mask_host_bits: bool) -> Result<Row<'_>, String> {
    if is_skipped(line) {
        return Ok(Row::Blank);
    }
    let addresses = if of_masks { pair(line) } else { between_spaces(line) };
    let (first, last, value) = addresses.ok_or_else(|| expected(line))?;
    let value = if value.is_empty() { LISTED.as_bytes() } else { value.trim_ascii_end() }.into();
    Ok(if of_masks {
        Row::Prefix(prefix_of(first, len_of_mask(first, last)?, mask_host_bits)?, value)
    } else {
        Row::Range(first, last, value)
    })
}

fn is_line(line: &[u8]) -> bool {
    begin(line, &Columns::default(), false).is_ok()
        || between_spaces(line).is_some_and(|(_, _, rest)| !rest.is_empty() && !rest.starts_with(b"dev "))
}

fn expected(line: &[u8]) -> String {
    let found = crate::scan::quoted(String::from_utf8_lossy(line).trim());
    format!("expected the first and the last address of a range and its values, found {found}")
}

/// Returns the columns of a list whose first row this is. `is_named` says that it is one.
fn begin(line: &[u8], wanted: &Columns, is_named: bool) -> Result<(Chosen, bool), String> {
    let chosen =
        DELIMITERS.into_iter().filter(|&delimiter| wanted.delimiter.is_none_or(|one| one == delimiter));
    let chosen = chosen.into_iter().find_map(|delimiter| {
        let fields = fields(line, delimiter).ok()?;
        let (first, last) = (fields.first()?.trim_ascii(), fields.get(1)?.trim_ascii());
        let (start, end) = bounds(first, last).ok()?;
        let are_integers = first.iter().all(u8::is_ascii_digit);
        // IP2Location quotes its integers. Without quotes, they may be anything.
        let is_range = start.is_ipv4() == end.is_ipv4()
            && start <= end
            && (is_named || !are_integers || matches!(fields[0], Cow::Owned(_)))
            && (is_named || fields.len() > 2 || delimiter != b'\t');
        is_range.then(|| Chosen::of(delimiter, Net::Range(0, 1), &names(&fields[2..], are_integers)))
    });
    Ok((chosen.ok_or_else(|| expected(line))?, true))
}

/// Returns the names of the fields after the addresses.
fn names(fields: &[Cow<'_, [u8]>], are_integers: bool) -> Vec<String> {
    const LOCATION: [&str; 8] = [
        "country_code",
        "country_name",
        "region_name",
        "city_name",
        "latitude",
        "longitude",
        "zip_code",
        "time_zone",
    ];
    let is_number = |field: &Cow<'_, [u8]>| !field.is_empty() && field.iter().all(u8::is_ascii_digit);
    let names: &[&str] = match (are_integers, fields) {
        (true, [_]) => &["country_code"],
        (true, [_, _]) => &LOCATION[..2],
        (true, [_, _, _]) => &["cidr", "asn", "as"],
        (true, [_, _, _, _]) => &LOCATION[..4],
        (true, [_, _, _, _, _, _]) => &LOCATION[..6],
        (true, [_, _, _, _, _, _, _]) => {
            &["country_code", "country_name", "region_name", "city_name", "latitude", "longitude", "zip_code"]
        }
        (true, [_, _, _, _, _, _, _, _]) => &LOCATION,
        (false, [_]) => &["value"],
        (false, [first, _]) if is_number(first) => &["asn", "as_name"],
        (false, [first, _, _]) if is_number(first) => &["asn", "country", "as_name"],
        (false, [_, _, _, _, _, _]) => &["continent", "country", "region", "city", "latitude", "longitude"],
        (false, [_, _, _, _, _, _, _, _]) => {
            &["country", "region", "district", "city", "postal_code", "latitude", "longitude", "time_zone"]
        }
        _ => &[],
    };
    if names.is_empty() {
        (3..3 + fields.len()).map(|number| format!("column{number}")).collect()
    } else {
        names.iter().map(|&name| name.to_owned()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{self, routes};
    use super::super::{Format, ReadOptions, parse};

    fn read(text: &str) -> Vec<String> {
        let loaded = parse(text.as_bytes(), &ReadOptions::default()).unwrap();
        assert_eq!(loaded.format, Format::Ranges);
        routes(&loaded)
    }

    #[test]
    fn ranges_are_split_exactly() {
        let value = r#"{"country":"SG","region":null,"district":null,"city":"Bukit, East","postal_code":"01","latitude":1.30,"longitude":103.8,"time_zone":null}"#;
        let text = "192.0.2.0,192.0.2.6,SG,,,\"Bukit, East\",01,1.30,103.8,\n2001:db8::,2001:db8::1,SG,,,\"Bukit, East\",01,1.30,103.8,\n";
        let prefixes = ["192.0.2.0/30", "192.0.2.4/31", "192.0.2.6/32", "2001:db8::/127"];
        assert_eq!(read(text), prefixes.map(|prefix| format!("{prefix} {value}")));
    }

    #[test]
    fn lists_of_systems_and_of_integers() {
        let value = r#"{"asn":64500,"country":"US","as_name":"EXAMPLE \"1\""}"#;
        assert_eq!(
            read("192.0.2.0\t192.0.2.255\t64500\tUS\tEXAMPLE \"1\"\n"),
            [format!("192.0.2.0/24 {value}")]
        );
        let value = r#"{"country_code":"AU","country_name":"Australia"}"#;
        assert_eq!(
            read(
                "\"3221225984\",\"3221226239\",\"AU\",\"Australia\"\n\"281470681743360\",\"281470681743361\",\"AU\",\"Australia\"\n"
            ),
            [format!("0.0.0.0/31 {value}"), format!("192.0.2.0/24 {value}")]
        );
        assert_eq!(read("192.0.2.0;192.0.2.1;lab\n"), ["192.0.2.0/31 lab"]);
        assert_eq!(read("192.0.2.0 192.0.2.2 lab 7\n"), ["192.0.2.0/31 lab 7", "192.0.2.2/32 lab 7"]);
        let options = ReadOptions { format: Some(Format::Ranges), ..Default::default() };
        let loaded = parse(b"3221225984,3221226239,AU,Australia\n", &options).unwrap();
        assert_eq!(routes(&loaded), [r#"192.0.2.0/24 {"country_code":"AU","country_name":"Australia"}"#]);
        let loaded = parse(b"192.0.2.0\t192.0.2.255\n", &options).unwrap();
        assert_eq!(routes(&loaded), ["192.0.2.0/24 listed"]);
    }

    #[test]
    fn netmasks_are_no_ranges() {
        let of = |text: &str| {
            let loaded = parse(text.as_bytes(), &ReadOptions::default()).unwrap();
            (routes(&loaded), loaded.report.notes.first().map(ToString::to_string))
        };
        let guessed = Some("guessed: second address as a netmask, 1 time, first at line 1".to_owned());
        let spaces = "10.0.0.0 255.0.0.0 office\n0.0.0.0 0.0.0.0 rest\n10.1.0.1 255.255.255.255 host\n";
        let prefixes = ["0.0.0.0/0 rest", "10.0.0.0/8 office", "10.1.0.1/32 host"];
        assert_eq!(of(spaces), (prefixes.map(str::to_owned).into(), guessed.clone()));
        let commas = "10.0.0.0,255.0.0.0,office\n192.168.0.0,255.255.0.0,lab\n";
        assert_eq!(of(commas), (vec!["10.0.0.0/8 office".into(), "192.168.0.0/16 lab".into()], guessed));
        // What could be both is a range.
        let last = "224.0.0.0,255.255.255.255,multicast\n";
        assert_eq!(of(last), (vec!["224.0.0.0/3 multicast".into()], None));
    }

    #[test]
    fn what_is_wrong_is_said() {
        let error = |text: &str| testing::error(Format::Ranges, text);
        let expected =
            "memory, line 1: expected the first and the last address of a range and its values, found";
        assert_eq!(error("192.0.2.9,192.0.2.1,x\n"), format!("{expected} \"192.0.2.9,192.0.2.1,x\""));
        let columns = "memory, line 2: 4 columns, expected 3";
        assert_eq!(error("192.0.2.0,192.0.2.1,x\n192.0.2.2,192.0.2.3,x,y\n"), columns);
        let families = error("192.0.2.0,192.0.2.1,x\n192.0.2.2,::1,x\n");
        assert_eq!(families, "memory, line 2: 192.0.2.2 and ::1 are of two address families");
    }
}
