//! The lines of `bgpdump -m` and `-M`: dumps as they are, updates one after the other.
//!
//! ```text
//! TABLE_DUMP2|1700000000|B|192.0.2.7|64500|10.0.0.0/8|64500 65001|IGP|192.0.2.7|0|0||NAG||
//! BGP4MP|1700000000|W|192.0.2.7|64500|10.0.0.0/8
//! BGP4MP|1700000000|STATE|192.0.2.7|64500|6|1
//! BGP|936348099|A|192.0.2.7|64500|10.0.0.0/8|64500 65001|IGP|192.0.2.7|0|0||NAG||
//! ```
//!
//! The values and the best path are those of [MRT](super::mrt).

use super::builder::{Builder, Trouble};
use super::layouts::{Layout, Lines, Looks, Reader};
use super::{ReadOptions, mrt};
use crate::mrt::{
    AsPath, Details, Event, Path, Paths, Peer, PeerChoice, Preference, Speaker, What, as_number, origin_code,
};
use crate::scan::{self, quoted, utf8};
use crate::{Damage, Place};
use std::time::Duration;

pub(super) const LAYOUT: Layout = Layout {
    looks: Looks::Line(|line| utf8(line).is_ok_and(|line| event(line, 0).is_ok_and(|event| event.is_some()))),
    reader: Reader::Lines(read),
    writer: None,
    endings: &[],
};

fn read(blocks: &mut Lines<'_>, options: &ReadOptions, builder: &mut Builder) -> Result<(), Damage> {
    let choice = PeerChoice::parse(options.peer.as_deref()).map_err(|what| Damage::line(1, what))?;
    let mut paths = Paths::new(choice, options.value);
    let mut end = 1;
    blocks.each_line(|number, line| {
        end = number;
        let result = line.and_then(utf8).and_then(|line| event(line, number)).map_err(Trouble::Here);
        let result = result.map(|event| {
            if let Some(event) = event {
                paths.apply(&event);
            }
        });
        builder.settled(Place::Line(number), result)
    })?;
    mrt::finish(&mut paths, Place::Line(end), builder)
}

/// Reads a line; `None` if it is blank.
fn event(line: &str, number: u64) -> Result<Option<Event>, String> {
    let expected = || format!("expected a line of bgpdump -m, found {}", quoted(line));
    if line.trim().is_empty() {
        return Ok(None);
    }
    let fields: Vec<&str> = line.trim_end().split('|').collect();
    let [source, _, kind, address, asn, ref rest @ ..] = fields[..] else { return Err(expected()) };
    let is_dump = source.starts_with("TABLE_DUMP");
    if !is_dump && !source.starts_with("BGP4MP") && source != "BGP" {
        return Err(expected());
    }
    let address = address.parse().map_err(|_| format!("{} is no address of a peer", quoted(address)))?;
    let peer = Peer { address, asn: as_number(asn)? };
    let state = |at: usize| rest.get(at).and_then(|state| state.parse::<u16>().ok()).ok_or_else(expected);
    let prefix = |text: &str| scan::prefix(text.as_bytes(), true);
    let (id, attributes) = match (source.ends_with("_AP"), rest) {
        (true, [_, id, attributes @ ..]) => (Some(id.parse().map_err(|_| expected())?), attributes),
        (_, [_, attributes @ ..]) => (None, attributes),
        _ => return Err(expected()),
    };
    let what = match kind {
        "A" | "B" => {
            let [path, origin_name, next_hop, ..] = attributes else { return Err(expected()) };
            let as_path = AsPath::parse(path)?;
            let (origin, length) = (as_path.origin(), as_path.length());
            let next_hop = next_hop.parse().map_err(|_| format!("{} is no next hop", quoted(next_hop)))?;
            // `bgpdump` writes this where a message has no next hop.
            let next_hop = Some(next_hop).filter(|hop| *hop != std::net::IpAddr::from([255; 4]));
            // After the next hop: local preference, MED, communities.
            let communities = attributes.get(5).copied().unwrap_or_default().split_ascii_whitespace();
            let communities = communities.map(str::to_owned).collect();
            let number = |at: usize| attributes.get(at).and_then(|number| number.parse::<u32>().ok());
            let preference = Preference {
                // `bgpdump` writes 0 where a message has none.
                local: number(3).filter(|&local| local != 0),
                origin: origin_code(origin_name),
                exit: number(4).unwrap_or(0),
                neighbour: as_path.neighbour(),
            };
            let details = Some(Details { as_path, communities }.into());
            let path = Path { next_hop, origin, length, preference, details };
            What::Announce {
                prefix: prefix(rest[0])?,
                path_id: id,
                path,
                dumped: is_dump.then_some(Duration::ZERO),
            }
        }
        "W" => What::Withdraw { prefix: prefix(rest[0])?, path_id: id },
        "STATE" => What::State { from: state(0)?, to: state(1)? },
        _ => return Err(expected()),
    };
    let (offset, time, speaker, multicast) = (number, Duration::ZERO, Speaker::default(), false);
    Ok(Some(Event { offset, time, peer, speaker, multicast, what }))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{self, routes};
    use super::super::{Format, ReadOptions, Value, parse};

    const TEXT: &[u8] = b"TABLE_DUMP2|1700000000|B|192.0.2.7|64500|10.0.0.0/8|64500 65001|IGP|192.0.2.7|0|0||NAG||\n\
        TABLE_DUMP2|1700000000|B|192.0.2.8|64501|10.0.0.0/8|64501 (65010) {65003,65002}|IGP|192.0.2.8|0|0||NAG||\n\
        BGP4MP|11/14/23 22:13:20|A|192.0.2.8|64501|2001:db8::/32|64501|IGP|2001:db8::8|0|0||NAG||\n\
        BGP|1700000000|A|192.0.2.8|64501|10.1.0.0/16|64501|IGP|192.0.2.8|0|0||NAG||\n\
        BGP4MP|1700000000|W|192.0.2.8|64501|10.1.0.0/16\n\
        BGP4MP|1700000000|STATE|192.0.2.9|64501|6|1\n";

    #[test]
    fn dumps_and_updates_are_applied() {
        let of = |value| parse(TEXT, &ReadOptions { value, ..Default::default() }).unwrap();
        assert_eq!(of(Value::NextHop).format, Format::Bgpdump);
        assert_eq!(routes(&of(Value::NextHop)), ["10.0.0.0/8 192.0.2.7", "2001:db8::/32 2001:db8::8"]);
        assert_eq!(routes(&of(Value::OriginAs)), ["10.0.0.0/8 65001", "2001:db8::/32 64501"]);
        let peer =
            ReadOptions { value: Value::OriginAs, peer: Some("192.0.2.8".into()), ..Default::default() };
        assert_eq!(routes(&parse(TEXT, &peer).unwrap())[0], "10.0.0.0/8 {65002,65003}");
    }

    #[test]
    fn what_is_wrong_is_said() {
        let error = |text: &str| testing::error(Format::Bgpdump, text);
        assert_eq!(error("x|y\n"), "memory, line 1: expected a line of bgpdump -m, found \"x|y\"");
        assert!(error("BGP4MP|1|W|x|1|10.0.0.0/8").ends_with("\"x\" is no address of a peer"));
        assert!(
            error("BGP4MP|1|A|192.0.2.7|1|10.0.0.0/8|1 x|IGP|192.0.2.7").ends_with("\"x\" is no AS number")
        );
        assert!(error("BGP4MP|1|A|192.0.2.7|1|10.0.0.0/8|1|IGP").contains("expected a line of bgpdump"));
    }
}
