//! Which format some content is in, by evidence.
//!
//! Magic numbers come first, then JSON by its first value. Of a text the first 64 KiB are given to
//! the layouts of routers' text that one of its lines may be of, as to a reader: the one that
//! accounts for most lines wins. A list, a table of columns or the project's own text is recognised
//! by the first line that is of one, and only wins where it accounts for more lines. A tie, and a
//! layout that does not account for most lines, are guesses, and told.

use super::layouts::{Looks, of};
use super::router::Account;
use super::{Format, ReadOptions, Setting, csv, json, ranges, router};
use crate::Content;
use crate::blocks::{BYTE_ORDER_MARK, hold};
use crate::scan::{lines, quoted};
use crate::source::HEAD_BYTES;

/// A format, and what was guessed of it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Recognised {
    pub(super) format: Format,
    pub(super) guess: Option<String>,
}

impl From<Format> for Recognised {
    fn from(format: Format) -> Self {
        Self { format, guess: None }
    }
}

/// Texts of routers that are no tables, by how a line of them begins.
const NO_TABLES: [(&[u8], &str); 12] = [
    (b"Columns: DST-ADDRESS", "ip route print of RouterOS, of which print terse and detail are read"),
    (b"IP Multicast Routing Table", "routes of multicast, which are not read"),
    (b"IP Multicast Forwarding is not enabled", "routes of multicast, which are not read"),
    (b"FabricPath Unicast Route Table", "routes between switches, no table of prefixes"),
    (b"IPv4 CEF is enabled", "show ip cef detail, of which show ip cef prints the table"),
    (b"IP CEF with switching", "show ip cef detail, of which show ip cef prints the table"),
    (b"BGP Router ID:", "routes of BGP of SR OS, which are not read"),
    (b"BGP neighbor is ", "the sessions of BGP (show bgp neighbors), no table"),
    (
        b"BGP routing table entry for ",
        "routes of BGP one by one (a prefix, or detail), of which show ip bgp prints the table",
    ),
    (b"building configuration", "a configuration, no table"),
    (b"route version is ", "routes of IOS XR with their details, of which show route prints the table"),
    (b"bgp summary information for ", "the sessions of BGP (show bgp summary), no table"),
];

/// Returns what a text of a router is that is no table.
fn no_table(text: &[u8]) -> Option<&'static str> {
    let mut all = lines(text).map(|(_, line)| line.trim_ascii()).filter(|line| !line.is_empty()).peekable();
    if all.peek().is_some() && all.all(|line| line.starts_with(b"%")) {
        return Some("what a program said instead of a table");
    }
    let is_static = |line: &[u8]| {
        let address = line.strip_prefix(b"ip route ").and_then(|rest| rest.split(|c| *c == b' ').next());
        address.is_some_and(|address| crate::address::parse(address).is_some())
    };
    lines(text).find_map(|(_, line)| {
        let line = line.trim_ascii_start();
        let is_begun =
            |begin: &[u8]| line.get(..begin.len()).is_some_and(|start| start.eq_ignore_ascii_case(begin));
        let known = NO_TABLES.iter().find(|(begin, _)| is_begun(begin)).map(|(_, what)| *what);
        known.or(is_static(line).then_some("static routes of a configuration, no table"))
    })
}

/// Kinds of archives that are not read, by their bytes at an offset.
const ARCHIVES: [(usize, &[u8], &str); 3] =
    [(257, b"ustar", "a tar archive"), (0, b"7z\xBC\xAF", "a 7z archive"), (0, b"%PDF-", "a PDF document")];

/// What marks the end of a MaxMind DB.
const MMDB: &[u8] = b"\xAB\xCD\xEFMaxMind.com";

/// Returns the format of some content by its first bytes, and where they tell none by its last. For
/// that it reads the rest of binary content into `head`.
pub(super) fn of_content(
    head: &mut Vec<u8>,
    content: &mut Content,
    options: &ReadOptions,
    room: u64,
) -> Result<Recognised, String> {
    let what = match recognised(head, options) {
        Err(what) if head.contains(&0) => what,
        other => return other,
    };
    hold(content, head, room).map_err(|damage| damage.what)?;
    let ends = |format: &Format| matches!(of(*format).looks, Looks::Ends(ends) if ends(head));
    Format::ALL.into_iter().find(ends).map(Recognised::from).ok_or(what)
}

/// Returns the format of some content by its first bytes, or what was expected.
pub(super) fn recognised(head: &[u8], options: &ReadOptions) -> Result<Recognised, String> {
    let archive =
        ARCHIVES.iter().find(|(at, magic, _)| head.get(*at..).is_some_and(|rest| rest.starts_with(magic)));
    if let Some((_, _, what)) = archive {
        return Err(format!("this is {what}: unpack it first"));
    }
    if let Some(format) = first(|looks| matches!(looks, Looks::Begins(begins) if begins(head))) {
        // Any bytes may look like one record of MRT.
        let is_mmdb = format == Format::Mrt && memchr::memmem::find(head, MMDB).is_some();
        return Ok(if is_mmdb { Format::Mmdb } else { format }.into());
    }
    let text = head.strip_prefix(BYTE_ORDER_MARK).unwrap_or(head);
    if let Some(first_byte @ (b'{' | b'[')) = json::document_of(text).trim_ascii_start().first() {
        // Where another table of the command may have the columns, this one may be of any layout.
        if options.columns.are_named() && !options.may_be_idle.contains(&Setting::ValueColumn) {
            return Ok(if *first_byte == b'{' { Format::Ndjson } else { Format::JsonRows }.into());
        }
        let value = json::beginning(json::document_of(text));
        let found = first(|looks| matches!(looks, Looks::Json(is_one) if is_one(&value)));
        let what =
            || format!("JSON of no known layout: {}, expected one of {}", json::shape(&value), names());
        // A router may print a mark that begins as a list does.
        return match found {
            Some(format) => Ok(format.into()),
            None if options.columns.are_named() => {
                Ok(if *first_byte == b'{' { Format::Ndjson } else { Format::JsonRows }.into())
            }
            None => match (no_table(text), of_router(text)) {
                (Some(what), _) => Err(format!("this is {what}")),
                (None, Some((found, _))) => Ok(found),
                (None, None) => Err(what()),
            },
        };
    }
    let may_be_other = options.may_be_idle.contains(&Setting::ValueColumn);
    if options.columns.are_named()
        && !head.contains(&0)
        && (!may_be_other || csv::has_columns(text, &options.columns))
    {
        return Ok(Format::Csv.into());
    }
    if csv::zeek(text).is_some() {
        return Ok(Format::Tsv.into());
    }
    if let Some(what) = no_table(text) {
        return Err(format!("this is {what}"));
    }
    let (router, list) = (of_router(text), of_list(text));
    match (router, list) {
        // The text format refuses the words of routers, so that a tie is theirs.
        // BIRD shows payloads of RPKI under its own headings.
        (Some((_, account)), Ok(Some((Format::Vrps, _)))) if account.of_routes == 0 => {
            Ok(Format::Vrps.into())
        }
        (Some((router, account)), Ok(Some((_, count)))) if account.used >= count => Ok(router),
        (Some((router, _)), Ok(None) | Err(_)) => Ok(router),
        (_, Ok(Some((format, _)))) => Ok(format.into()),
        (None, Err(what)) => Err(what),
        (None, Ok(None)) => {
            // A table without routes is a table.
            let is_line = |line: &&[u8]| !line.trim_ascii().is_empty() && !line.starts_with(b"#");
            let Some(line) = lines(text).map(|(_, line)| line).find(is_line) else {
                return Ok(Format::Text.into());
            };
            let found = quoted(String::from_utf8_lossy(line).trim());
            Err(format!("the format is not recognised from {found}, expected one of {}", names()))
        }
    }
}

/// Returns the last format that looks so.
fn first(looks: impl Fn(&Looks) -> bool) -> Option<Format> {
    Format::ALL.into_iter().rev().find(|&format| looks(&of(format).looks))
}

fn names() -> String {
    let read = Format::ALL.into_iter().filter(|format| format.is_read());
    read.map(Format::name).collect::<Vec<_>>().join(", ")
}

/// Returns the layout of routers' text that accounts for most lines, and what became of all.
fn of_router(text: &[u8]) -> Option<(Recognised, Account)> {
    // The last line of a full head may be cut.
    let end = memchr::memrchr(b'\n', text).filter(|_| text.len() + BYTE_ORDER_MARK.len() >= HEAD_BYTES);
    let text = &text[..end.map_or(text.len(), |end| end + 1)];
    let account = |format| router::account(format, text).map(|account| (format, account));
    let mut found: Vec<_> = Format::ALL.into_iter().filter_map(account).collect();
    found.sort_by_key(|(_, account)| std::cmp::Reverse(account.used));
    let &(format, best) = found.first()?;
    let name = format.name();
    let guess = match found.get(1) {
        Some((other, account)) if account.used == best.used => {
            Some(format!("format {name}: {other} accounts for as many lines"))
        }
        _ if best.used < best.told => {
            let all = best.used + best.told;
            Some(format!("format {name}: it accounts for {} of {all} lines", best.used))
        }
        _ => None,
    };
    Some((Recognised { format, guess }, best))
}

/// Returns the list or the table of columns that the first lines are of, and how many lines are.
fn of_list(text: &[u8]) -> Result<Option<(Format, u64)>, String> {
    /// The number of lines that are looked at: the first lines of a table may be headings.
    const LINES: usize = 20;
    let mut is_list = false;
    let count = |format: Format| {
        let Looks::Line(is_line) = of(format).looks else { return 0 };
        lines(text).filter(|(_, line)| is_line(line)).count() as u64
    };
    for (_, line) in lines(text).take(LINES) {
        if line.trim_ascii().is_empty() || line.starts_with(b"#") {
            continue;
        }
        match first(|looks| matches!(looks, Looks::Line(is_line) if is_line(line))) {
            // A prefix alone may also be the first line of a route.
            Some(Format::List) => is_list = true,
            Some(Format::Text) if ranges::may_be_one(line) => {
                let found = quoted(String::from_utf8_lossy(line).trim());
                return Err(format!(
                    "{found} may be a range of addresses or an address and its next hop: name the format, ranges or text"
                ));
            }
            Some(format) => return Ok(Some((format, count(format)))),
            None => {}
        }
    }
    Ok(is_list.then(|| (Format::List, count(Format::List))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<Format, String> {
        recognised(text.as_bytes(), &ReadOptions::default()).map(|found| found.format)
    }

    #[test]
    fn every_text_format_is_told_apart() {
        let of = |text: &str| of(text).unwrap();
        assert_eq!(of("# x\n10.0.0.0/8\t192.0.2.1\n"), Format::Text);
        assert_eq!(of("10.0.0.0/8 192.0.2.1 dev eth0\n"), Format::Text);
        assert_eq!(of("10.0.0.0/8 dev eth0\n"), Format::Text);
        assert_eq!(of("not a route\n10.0.0.0/8 1\n"), Format::Text);
        assert_eq!(of(""), Format::Text);
        assert_eq!(of("10.0.0.0\t8\t1_2\n"), Format::Pfx2as);
        assert_eq!(of("Prefix,ASN\n10.0.0.0/8,1\n"), Format::Csv);
        assert_eq!(of("192.0.2.0 192.0.2.9 lab 7\n"), Format::Ranges);
        assert_eq!(of("192.0.2.7 192.0.2.9 dev eth0\n"), Format::Text);
        assert_eq!(of("192.0.2.7/32 192.0.2.9\n192.0.2.9 192.0.2.1\n"), Format::Text);
        assert_eq!(of("default via 192.0.2.1 dev eth0\n"), Format::IpRoute);
        assert_eq!(of("10.0.0.0/8 dev eth0 scope link\n"), Format::IpRoute);
        assert_eq!(of("unreachable 10.0.0.0/8\n"), Format::IpRoute);
        assert_eq!(of("\u{FEFF}  {\"10.0.0.0/8\":[{\"nexthops\":[]}]}"), Format::Frr);
        assert_eq!(of("BIRD 2.0.7 ready.\nTable master4:\n"), Format::Bird);
        assert_eq!(of("10.0.0.0/8  blackhole [static1 2024-01-01] * (200)\n"), Format::Bird);
        assert_eq!(of("PAR1\u{15}\0"), Format::Parquet);
        assert_eq!(of("\0\0\0\u{1}\0\u{10}\0\u{1}\0\0\0\0"), Format::Mrt);
    }

    #[test]
    fn the_layout_that_accounts_for_most_lines_wins() {
        let guess = |text: &str| recognised(text.as_bytes(), &ReadOptions::default()).unwrap().guess;
        // One line of another layout before many.
        let text = "default via 192.0.2.1 dev eth0\n".repeat(3) + "C 10.0.0.0/8 is directly connected, a\n";
        assert_eq!(of(&text).unwrap(), Format::IpRoute);
        assert_eq!(guess(&text), None);
        let tied = "default via 192.0.2.1 dev eth0\nC 10.0.0.0/8 is directly connected, a\n";
        assert!(guess(tied).unwrap().ends_with("accounts for as many lines"));
        let poor = "what\nis\nthis\nC 10.0.0.0/8 is directly connected, a\n";
        assert_eq!(guess(poor).unwrap(), "format show-route: it accounts for 1 of 4 lines");
        // A route within a list is a value of it.
        let list = "10.0.0.0/8 one\n10.1.0.0/16 two\n10.2.0.0/16 three\ndefault via 192.0.2.1 dev eth0\n";
        assert_eq!(of(list).unwrap(), Format::Text);
        let cut = [&*"default via 192.0.2.1 dev eth0\n".repeat(2), "10.0.0.0/8 via"].concat();
        assert_eq!(guess(&cut), None);
    }

    #[test]
    fn magic_numbers_come_before_all() {
        let error = |head: &[u8]| recognised(head, &ReadOptions::default()).unwrap_err();
        let tar = [&[b'x'; 257][..], b"ustar\x0000"].concat();
        assert_eq!(error(&tar), "this is a tar archive: unpack it first");
        let mrt = b"\0\0\0\x01\0\x10\0\x01\0\0\0\x0E";
        let mmdb = [&mrt[..], MMDB].concat();
        let format = |head: &[u8]| recognised(head, &ReadOptions::default()).unwrap().format;
        assert_eq!((format(mrt), format(&mmdb)), (Format::Mrt, Format::Mmdb));
        let sessions = error(b"BGP neighbor is 192.0.2.1, remote AS 64500, external link\n");
        assert_eq!(sessions, "this is the sessions of BGP (show bgp neighbors), no table");
        // A log begins as a list of JSON does.
        let log =
            error(b"[2026-01-02 03:04:05] show ip bgp 10.0.0.1\nBGP routing table entry for 10.0.0.0/8\n");
        assert!(log.starts_with("this is routes of BGP one by one"), "{log}");
        let lines = error(b"ip route 192.0.2.0 255.255.255.0 198.51.100.1\n");
        assert_eq!(lines, "this is static routes of a configuration, no table");
        let answer = error(b"\n% Subnet not in table\n");
        assert_eq!(answer, "this is what a program said instead of a table");
    }

    #[test]
    fn what_is_not_recognised_is_shown() {
        let error = of("hello world\n").unwrap_err();
        let what = "the format is not recognised from \"hello world\", expected one of text, mrt,";
        assert!(error.starts_with(what), "{error}");
        let error = of("192.0.2.0\t192.0.2.255\n").unwrap_err();
        assert!(
            error.ends_with(
                "may be a range of addresses or an address and its next hop: name the format, ranges or text"
            ),
            "{error}"
        );
        let error = of("{\"answers\":[{\"to\":\"10.0.0.0/8\"}],\"cost\":1}").unwrap_err();
        let what = "JSON of no known layout: an object with answers, cost, expected one of text, mrt,";
        assert!(error.starts_with(what), "{error}");
    }
}
