//! The project's own text: `prefix value`, one route a line.
//!
//! The value is the rest of the line: an AS number, an address, `address dev interface`, or any
//! label. Words of a routing program (`via`, `proto`, `nexthop`) are no value: the error names the
//! layouts to ask for. A line that begins with `#` or `;`, and everything after a `#` that follows
//! white space, is a comment. Blank lines are skipped.

use super::layouts::{Layout, Looks, Reader, Writer};
use super::rows::{self, Row};
use crate::scan::{self, field, quoted};

pub(super) const LAYOUT: Layout = Layout {
    looks: Looks::Line(|line| matches!(row(line, true), Ok(Row::Prefix(..)))),
    reader: Reader::Lines(|lines, options, builder| rows::read(lines, options, builder, row)),
    writer: Some(Writer::Lines {
        header: "",
        has_comments: true,
        name: str::to_owned,
        line: |prefix, name, out| writeln!(out, "{prefix}\t{name}"),
    }),
    endings: &["txt", "text"],
};

#[inline(always)]
pub(super) fn row(line: &[u8], mask_host_bits: bool) -> Result<Row<'_>, String> {
    if line.first() == Some(&b';') {
        return Ok(Row::Blank);
    }
    let Some((prefix, rest)) = field(without_comment(line)) else { return Ok(Row::Blank) };
    let prefix = scan::prefix(prefix, mask_host_bits)?;
    let value = rest.trim_ascii_end();
    if memchr::memchr3(b' ', b'\t', b',', value).is_some() {
        one_value(value)?;
    }
    if value.is_empty() {
        let found = String::from_utf8_lossy(line);
        return Err(format!("expected a next hop or AS after the prefix, found {}", quoted(found.trim())));
    }
    Ok(Row::Prefix(prefix, value.into()))
}

/// Refuses a value of several words that is the rest of a routing program's line.
fn one_value(value: &[u8]) -> Result<(), String> {
    const WORDS: [&[u8]; 6] = [b"proto", b"scope", b"nexthop", b"encap", b"nhid", b"metric"];
    let is_address = |word: &[u8]| crate::address::parse(word).is_some();
    // Words that are of plain English too count with what follows them there.
    let begins = |first: &[u8], second: &[u8]| match first {
        b"via" => is_address(second) || second == b"inet" || second == b"inet6",
        b"from" | b"src" => is_address(second.split(|byte| *byte == b'/').next().unwrap_or_default()),
        b"unicast" | b"multipath" | b"blackhole" | b"unreachable" | b"prohibit" => second.starts_with(b"["),
        b"is" | b"directly" => second == b"directly" || second == b"connected",
        b"tos" | b"weight" => second.first().is_some_and(u8::is_ascii_digit),
        _ => {
            WORDS.contains(&first)
                || first.starts_with(b"[") && first.ends_with(b"]") && first.contains(&b'/')
        }
    };
    if value.starts_with(b",") {
        return Err(
            "expected one value, found fields between commas: name the format, geofeed or csv".to_owned()
        );
    }
    let (mut words, mut count) = ([b"".as_slice(); 5], 0);
    for word in value.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).take(5) {
        words[count] = word;
        count += 1;
    }
    // `2001:db8:: /64`, `192.0.2.1 -> 192.0.2.2`
    let is_length = words[0].strip_prefix(b"/").is_some_and(|len| len.iter().all(u8::is_ascii_digit));
    if is_length || count > 1 && !words[0].iter().any(|byte| byte.is_ascii_alphanumeric() || *byte > 127) {
        let found = quoted(&String::from_utf8_lossy(words[0]));
        return Err(format!("expected one value, found {found} after the prefix"));
    }
    let found = match words[..count] {
        // `192.0.2.1 dev eth0`, `dev eth0`
        [b"dev", _] | [_, b"dev", _] => None,
        [b"dev", _, next, ..] if WORDS.contains(&next) => Some(next),
        [first, second, ..] if begins(first, second) => Some(first),
        [first, second, third, ..] if is_address(first) && begins(second, third) => Some(second),
        [first, b"dev", _, next, ..] if is_address(first) => Some(next),
        _ => None,
    };
    found.map_or(Ok(()), |found| {
        let found = quoted(&String::from_utf8_lossy(found));
        Err(format!(
            "expected one value, found {found} of a routing program: name its format, such as ip-route, bird or show-route"
        ))
    })
}

/// Returns the line up to a `#` that begins it or follows white space.
#[inline]
pub(crate) fn without_comment(line: &[u8]) -> &[u8] {
    let begins = |&mark: &usize| mark == 0 || line[mark - 1].is_ascii_whitespace();
    let mark = memchr::memchr_iter(b'#', line).find(begins);
    &line[..mark.unwrap_or(line.len())]
}

#[cfg(test)]
mod tests {
    use super::super::testing::values;
    use super::super::{Format, ReadOptions, Value, parse};

    #[test]
    fn comments_blank_lines_and_both_separators() {
        let text = b"# a table\n\n10.0.0.0/8\t192.0.2.1\r\n  2001:db8::/32   AS64500 # an AS\n\
            10.1.0.0/16 192.0.2.1 dev eth0\n::ffff:10.0.0.0/104 x#y\n";
        let loaded = parse(text, &ReadOptions::default()).unwrap();
        assert_eq!((loaded.tables.ipv4.len(), loaded.tables.ipv6.len()), (2, 2));
        assert_eq!(values(&loaded), ["192.0.2.1", "AS64500", "192.0.2.1 dev eth0", "x#y"]);
        let options = ReadOptions { value: Value::OriginAs, ..Default::default() };
        assert_eq!(values(&parse(text, &options).unwrap())[1], "64500");
    }

    #[test]
    fn signs_are_no_values() {
        for (row, found) in [
            ("192.0.2.1 -> 192.0.2.2 => adj out of Vlan13\n", "->"),
            ("2001:db8:: /64 600 TwentyFiveGigE1/0/23\n", "/64"),
        ] {
            let options = ReadOptions { format: Some(Format::Text), ..Default::default() };
            let error = parse(row.as_bytes(), &options).unwrap_err().to_string();
            assert_eq!(
                error,
                format!("memory, line 1: expected one value, found \"{found}\" after the prefix")
            );
        }
    }

    #[test]
    fn the_last_of_two_wins() {
        let loaded = parse(b"10.0.0.0/8 1\n10.0.0.0/8 2\n", &ReadOptions::default()).unwrap();
        let route = loaded.tables.ipv4.iter().next().unwrap();
        assert_eq!(loaded.tables.next_hops.get(route.next_hop).unwrap().to_string(), "2");
    }

    #[test]
    fn words_of_a_routing_program_are_no_value() {
        let error = |text: &str| super::super::testing::error(super::super::Format::Text, text);
        let of_program = "of a routing program: name its format, such as ip-route, bird or show-route";
        for text in [
            "10.0.0.0/8 via 192.0.2.1 dev eth0",
            "10.0.0.0/8 192.0.2.1 proto bgp",
            "10.0.0.0/8 encap mpls 100 via 192.0.2.9",
            "10.0.0.0/8 [20/0] via 192.0.2.1, eth0",
            "10.0.0.0/8 unicast [bgp1 2024-01-01] * (100)",
        ] {
            assert!(error(text).ends_with(of_program), "{text}");
        }
        assert!(error("10.0.0.0/8 , US , US-CA").ends_with("name the format, geofeed or csv"));
        let text = b"10.0.0.0/8 192.0.2.1 dev eth0\n10.1.0.0/16 dev eth0\n10.2.0.0/16 a label of words\n";
        assert_eq!(parse(text, &ReadOptions::default()).unwrap().tables.ipv4.len(), 3);
    }

    #[test]
    fn damage_is_named_or_passed_over() {
        let text = b"10.0.0.0/8 1\n10.0.0.1/8 1\nx y\n11.0.0.0/8\n12.0.0.0/8 2\n";
        let error = parse(text, &ReadOptions::default()).unwrap_err().to_string();
        assert_eq!(error, "memory, line 2: 10.0.0.1/8 has bits set after its length (host bits)");
        let options = ReadOptions { keep_going: true, ..Default::default() };
        let loaded = parse(text, &options).unwrap();
        assert_eq!(loaded.tables.ipv4.len(), 2);
        let damage: Vec<String> = loaded.damage.iter().map(ToString::to_string).collect();
        assert_eq!(
            damage,
            [
                "line 2: 10.0.0.1/8 has bits set after its length (host bits)",
                "line 3: \"x\" is not a prefix (expected address/length)",
                "line 4: expected a next hop or AS after the prefix, found \"11.0.0.0/8\"",
            ]
        );
        let options = ReadOptions { keep_going: true, mask_host_bits: true, ..Default::default() };
        assert_eq!(parse(text, &options).unwrap().damage.len(), 2);
    }
}
