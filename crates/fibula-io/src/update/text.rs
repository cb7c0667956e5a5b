//! The project's own text: `A|W<TAB>prefix<TAB>next hop<TAB>Unix time`.

use super::{Each, ReadOptions, Timed, Updates, intern};
use crate::blocks::{Blocks, record};
use crate::scan::{self, field, quoted, utf8};
use crate::table::{read_value, without_comment};
use crate::{Damage, Place};
use fibula::{Address, Change, IpPrefix, NextHop, NextHops};
use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::time::Duration;

/// The fields of one line.
pub(crate) struct Line<'a> {
    pub(crate) announce: bool,
    pub(crate) prefix: IpPrefix,
    pub(crate) next_hop: &'a [u8],
    time: Option<Duration>,
}

pub(super) fn read(
    blocks: &mut Blocks<impl Read>,
    options: &ReadOptions,
    next_hops: &mut NextHops,
    updates: &mut Updates,
    each: &mut Each<'_>,
) -> Result<(), Damage> {
    let mut numbers: HashMap<Box<[u8]>, NextHop> = HashMap::new();
    blocks.each_line(|number, content| {
        let take = || {
            let Some(line) = line(content?, options.mask_host_bits)? else { return Ok::<(), String>(()) };
            let next_hop = match numbers.get(line.next_hop) {
                _ if !line.announce => None,
                Some(&next_hop) => Some(next_hop),
                None => {
                    let info = read_value(line.next_hop, options.value)?;
                    let next_hop = intern(next_hops, info, Place::Line(number), updates)
                        .map_err(|damage| damage.what)?;
                    numbers.insert(line.next_hop.into(), next_hop);
                    Some(next_hop)
                }
            };
            each(updates, line.time, line.prefix, next_hop);
            Ok(())
        };
        take().or_else(|what| record(&mut updates.damage, options.keep_going, Damage::line(number, what)))
    })
}

pub(crate) fn line(content: &[u8], mask_host_bits: bool) -> Result<Option<Line<'_>>, String> {
    let Some((kind, rest)) = field(without_comment(content)) else { return Ok(None) };
    let found = || quoted(String::from_utf8_lossy(content).trim());
    let announce = match kind {
        b"A" => true,
        b"W" => false,
        _ => return Err(format!("expected A or W, a prefix, a next hop and a time, found {}", found())),
    };
    let (prefix, rest) = field(rest).ok_or_else(|| format!("expected a prefix, found {}", found()))?;
    let prefix = scan::prefix(prefix, mask_host_bits)?;
    let (next_hop, rest) = field(rest).unwrap_or((b"-", b""));
    let (time, rest) = field(rest).unwrap_or((b"-", b""));
    if !rest.is_empty() {
        return Err(format!("expected nothing after the time, found {}", found()));
    }
    Ok(Some(Line { announce, prefix, next_hop, time: time_or_none(time)? }))
}

fn time_or_none(text: &[u8]) -> Result<Option<Duration>, String> {
    if text == b"-" { Ok(None) } else { unix_time(utf8(text)?).map(Some) }
}

/// Reads seconds since 1970-01-01 UTC, with a fraction of at most nine digits or without.
///
/// # Errors
/// If the text is something else.
pub fn unix_time(text: &str) -> Result<Duration, String> {
    let expected = || format!("{} is not a Unix time (expected seconds, or -)", quoted(text));
    let (seconds, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if !digits(seconds) || !digits(fraction) || fraction.len() > 9 {
        return Err(expected());
    }
    let seconds = seconds.parse().map_err(|_| expected())?;
    let nanos = format!("{fraction:0<9}").parse().map_err(|_| expected())?;
    Ok(Duration::new(seconds, nanos))
}

/// Writes updates as text, one family after the other.
///
/// # Errors
/// If a next hop's name cannot be written as one field (it is empty, or has white space or a line
/// break in it), or if `out` fails.
pub fn write(updates: &Updates, next_hops: &NextHops, out: &mut dyn Write) -> io::Result<()> {
    let mut out = io::BufWriter::new(out);
    write_family(&updates.ipv4, next_hops, &mut out)?;
    write_family(&updates.ipv6, next_hops, &mut out)?;
    out.flush()
}

fn write_family<A: Address>(
    updates: &[Timed<A>],
    next_hops: &NextHops,
    out: &mut impl Write,
) -> io::Result<()> {
    for update in updates {
        let time = update.time.map_or_else(|| "-".to_owned(), show_time);
        match update.change {
            Change::Withdraw(prefix) => writeln!(out, "W\t{prefix}\t-\t{time}")?,
            Change::Announce(route) => {
                let name = next_hops.get(route.next_hop).map_or_else(|| "-".to_owned(), ToString::to_string);
                if name.is_empty()
                    || name.starts_with('#')
                    || name.contains(|c: char| c.is_whitespace() || c.is_control())
                {
                    let what = format!("the next hop {name:?} cannot be written as one field");
                    return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
                }
                writeln!(out, "A\t{}\t{name}\t{time}", route.prefix)?;
            }
        }
    }
    Ok(())
}

fn show_time(time: Duration) -> String {
    let text = format!("{}.{:09}", time.as_secs(), time.subsec_nanos());
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;

    #[test]
    fn what_is_wrong_is_said() {
        let error = |text: &str| {
            parse(text.as_bytes(), &ReadOptions::default(), &mut NextHops::new()).unwrap_err().to_string()
        };
        assert_eq!(
            error("A\t10.0.0.0/8\t1\t1\nX\n"),
            "memory, line 2: expected A or W, a prefix, a next hop and a time, found \"X\""
        );
        assert_eq!(error("W"), "memory, line 1: expected a prefix, found \"W\"");
        assert_eq!(
            error("W 0.0.0.0/33"),
            "memory, line 1: prefix length 33 is past the 32 bits of the family"
        );
        for time in ["x", "+1", "1.", ".5", "1.0000000001", "99999999999999999999"] {
            let what = format!("memory, line 1: \"{time}\" is not a Unix time (expected seconds, or -)");
            assert_eq!(error(&format!("W 10.0.0.0/8 - {time}")), what);
        }
        assert!(error("W 10.0.0.0/8 - 1 2").contains("expected nothing after the time"));
    }

    #[test]
    fn what_is_written_is_read_back() {
        let text = b"A\t10.0.0.0/8\t192.0.2.1\t5.25\nW\t10.0.0.0/8\t-\t-\nA\t2001:db8::/32\t-\t6\n";
        let mut next_hops = NextHops::new();
        let updates = parse(text, &ReadOptions::default(), &mut next_hops).unwrap();
        let mut out = Vec::new();
        write(&updates, &next_hops, &mut out).unwrap();
        assert_eq!(out, text);
    }
}
