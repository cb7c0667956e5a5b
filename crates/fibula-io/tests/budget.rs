//! What passes the budget is one error that names the place, whatever the format; what repeats
//! itself takes no more than it says once.

use fibula_io::Budget;
use fibula_io::table::{Format, ReadOptions, parse, write};
use std::fmt::Write as _;

const LIMIT: u64 = 1 << 20;

/// The number of routes: more than the limit, as a route is counted.
const ROUTES: u32 = 1 << 15;

fn options(format: Option<Format>) -> ReadOptions {
    let budget = Some(Budget { memory: LIMIT, ..Budget::default() });
    ReadOptions { format, budget, ..ReadOptions::default() }
}

/// Returns `ROUTES` lines, each with another prefix.
fn lines(header: &str, line: impl Fn(&str, u32) -> String) -> Vec<u8> {
    let mut text = header.to_owned();
    for at in 0..ROUTES {
        let prefix = format!("{}.{}.{}.0/24", 11 + at / 65536, at / 256 % 256, at % 256);
        writeln!(text, "{}", line(&prefix, at)).unwrap();
    }
    text.into_bytes()
}

#[test]
fn a_table_that_is_too_large_is_refused_at_its_place() {
    let tables = [
        (Format::Text, lines("", |prefix, at| format!("{prefix} {}", at % 7))),
        (Format::List, lines("", |prefix, _| prefix.to_owned())),
        (Format::Csv, lines("prefix,value\n", |prefix, at| format!("{prefix},v{at}"))),
        (Format::Ndjson, lines("", |prefix, at| format!("{{\"prefix\":\"{prefix}\",\"value\":{at}}}"))),
        (Format::IpRoute, lines("", |prefix, _| format!("{prefix} via 192.0.2.1 dev eth0"))),
        (Format::Irr, lines("", |prefix, at| format!("route: {prefix}\norigin: AS{at}\n"))),
        (Format::Vrps, lines("ASN,IP Prefix,Max Length\n", |prefix, at| format!("AS{at},{prefix},24"))),
        (
            Format::Bird,
            lines("", |prefix, _| {
                format!("{prefix} unicast [a 2026-01-01] * (100)\n\tvia 192.0.2.1 on eth0")
            }),
        ),
    ];
    for (format, text) in tables {
        let error = parse(&text, &options(Some(format))).expect_err(format.name()).to_string();
        let line = error.strip_prefix("memory, line ").and_then(|rest| rest.split_once(": "));
        let (line, what) = line.unwrap_or_else(|| panic!("{format}: {error}"));
        assert_eq!(what, "the table takes more than 1M of memory, the limit", "{format}");
        let last = text.split(|&byte| byte == b'\n').count();
        assert!(line.parse::<usize>().unwrap() < last, "{format}: {error}");
        let roomy = ReadOptions { format: Some(format), ..ReadOptions::default() };
        assert_eq!(parse(&text, &roomy).unwrap().tables.ipv4.len() as u32, ROUTES, "{format}");
    }
}

#[test]
fn a_table_of_few_routes_is_read_however_often_it_says_them() {
    let line = |at: u32| format!("192.0.2.{}/32 64500\n2001:db8::{}/128 64501\n", at % 200, at % 100);
    let text: String = (0..200_000).map(line).collect();
    let loaded = parse(text.as_bytes(), &options(None)).unwrap();
    assert_eq!((loaded.tables.ipv4.len(), loaded.tables.ipv6.len()), (200, 100));
}

#[test]
fn the_number_of_routes_is_exact() {
    let text = lines("", |prefix, _| format!("{prefix} 1"));
    let of = |routes| {
        let budget = Some(Budget { routes, ..Budget::default() });
        parse(&text, &ReadOptions { budget, ..ReadOptions::default() })
    };
    assert_eq!(of(ROUTES.into()).unwrap().tables.ipv4.len() as u32, ROUTES);
    for most in [0, 1, 1000, 10_000, u64::from(ROUTES) - 1] {
        let error = of(most).unwrap_err().to_string();
        assert!(error.ends_with(&format!("the table has more than {most} routes, the limit")), "{error}");
    }
}

#[test]
fn a_document_that_is_held_counts_as_a_whole() {
    let rows: Vec<String> =
        (0..40_000).map(|at| format!("{{\"prefix\":\"10.0.0.0/8\",\"value\":{at}}}")).collect();
    let error = parse(format!("[{}]", rows.join(",")).as_bytes(), &options(None)).unwrap_err().to_string();
    assert!(error.contains("1M of memory, the limit"), "{error}");

    let routes = lines("", |prefix, at| format!("{prefix} {at}"));
    let loaded = parse(&routes, &ReadOptions::default()).unwrap();
    let mut database = Vec::new();
    write(&loaded.tables, Format::Mmdb, &mut database).unwrap();
    let error = parse(&database, &options(None)).unwrap_err().to_string();
    assert!(error.contains("1M of memory, the limit"), "{error}");
}
