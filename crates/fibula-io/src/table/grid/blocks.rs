//! Routes in blocks of names and values: `display ip routing-table verbose` of VRP and Comware, and
//! `display ipv6 routing-table` of VRP.
//!
//! ```text
//! Destination: 10.0.0.0/8
//!      Protocol: Static           Process ID: 0
//!       NextHop: 192.0.2.1         Neighbour: 0.0.0.0
//!         State: Active Adv              Age: 1d01h58m07s
//!  RelayNextHop: 0.0.0.0           Interface: GigabitEthernet0/0/1
//!      TunnelID: 0x0                   Flags: RD
//! ```
//!
//! A route of VRP is in the forwarding table if it is downloaded (`D`); Comware's flags are a
//! number, and an active route is. A value is one word, but for that of the state.

use super::super::hops::Hop;
use super::super::router::marks::{State, nowhere, unknown};
use super::super::router::sink::{REST, Route, Sink};
use super::super::router::words;
use crate::{Place, scan};
use std::net::IpAddr;

/// Names whose values have no effect.
#[rustfmt::skip]
const IDLE: [&str; 34] = [
    "Preference", "Cost", "Protocol", "Process ID", "ProcessID", "SubProtID", "RelayNextHop", "TunnelID",
    "Tunnel ID", "NeighbourID", "Neighbour", "Neighbor", "Label", "Age", "Tag", "Priority", "QoSInfo",
    "QosLocalID", "IpPre", "IndirectID", "Entry ID", "EntryFlags", "Reference Cnt", "OrigTblID", "OrigVrf",
    "TableID", "OrigAs", "NibID", "LastAs", "AttrID", "RealNextHop", "BkLabel", "BkNextHop", "BkTunnel ID",
];

/// Names whose values have one.
const USED: [&str; 7] =
    ["Destination", "PrefixLength", "NextHop", "OrigNextHop", "Interface", "Flags", "State"];

/// The words of a state, and whether a route of it is used.
#[rustfmt::skip]
const STATES: [(&str, Option<bool>); 9] = [
    ("Active", Some(true)), ("Inactive", Some(false)), ("Invalid", Some(false)), ("Adv", None), ("NoAdv", None),
    ("Relied", None), ("Gotten", None), ("GotQ", None), ("WaitQ", None),
];

/// A block that is read.
#[derive(Debug)]
pub(super) struct Block {
    place: Place,
    destination: IpAddr,
    len: Option<u8>,
    next_hop: Option<IpAddr>,
    interface: Option<String>,
    is_active: Option<bool>,
    /// Whether it is downloaded, and whether it is a black hole, by flags that are letters.
    flags: Option<(bool, bool)>,
}

/// Returns the names and values of a line; `None` if it is none of a block.
pub(super) fn fields(text: &str) -> Option<Vec<(&'static str, &str)>> {
    let name_at = |at: usize| {
        let is_begin = at == 0 || text[..at].ends_with(' ');
        let names = USED.iter().chain(&IDLE).chain(&["BkInterface"]);
        let named = |name: &&&str| {
            text[at..].strip_prefix(**name).is_some_and(|rest| rest.trim_start_matches(' ').starts_with(':'))
        };
        names.filter(|_| is_begin).find(named).copied()
    };
    let starts = text.char_indices().filter_map(|(at, _)| Some((at, name_at(at)?)));
    let starts: Vec<(usize, &'static str)> = starts.collect();
    starts.first().filter(|(at, _)| *at == 0)?;
    let ends = starts.iter().skip(1).map(|(at, _)| *at).chain([text.len()]);
    Some(
        { starts.iter().zip(ends) }
            .map(|(&(at, name), end)| {
                let value = text[at + name.len()..end].trim_start().trim_start_matches(':');
                (name, value.trim())
            })
            .collect(),
    )
}

impl Block {
    /// Takes the fields of a line. The block that it ends is opened as a route.
    pub(super) fn take(
        block: &mut Option<Self>,
        sink: &mut Sink<'_>,
        place: Place,
        fields: &[(&'static str, &str)],
        mask_host_bits: bool,
    ) -> Result<(), String> {
        for &(name, value) in fields {
            if name == "Destination" {
                Self::end(block, sink, mask_host_bits);
                let (address, len) = value.split_once('/').map_or((value, None), |(at, len)| (at, Some(len)));
                *block = Some(Self {
                    place,
                    destination: words::address(address).ok_or_else(|| unknown(value))?,
                    len: len.map(|len| len.parse().map_err(|_| unknown(value))).transpose()?,
                    next_hop: None,
                    interface: None,
                    is_active: None,
                    flags: None,
                });
                continue;
            }
            let taken =
                block.as_mut().ok_or_else(|| REST.to_owned()).and_then(|block| block.field(name, value));
            if let Err(what) = taken {
                // What is left of the block is left out with it.
                *block = None;
                return Err(what);
            }
        }
        Ok(())
    }

    fn field(&mut self, name: &str, value: &str) -> Result<(), String> {
        let address = || words::address(value).ok_or_else(|| unknown(value));
        match name {
            "PrefixLength" => self.len = Some(value.parse().map_err(|_| unknown(value))?),
            "NextHop" | "OrigNextHop" => self.next_hop = Some(address()?),
            "State" => {
                for word in value.split_ascii_whitespace() {
                    let known = STATES.iter().find(|(known, _)| *known == word);
                    let (_, is_active) = known.ok_or_else(|| unknown(word))?;
                    self.is_active = self.is_active.or(*is_active);
                }
            }
            "Flags" if value.chars().all(|flag| "RDTB".contains(flag)) => {
                self.flags = Some((value.contains('D'), value.contains('B')));
            }
            _ if value.contains(char::is_whitespace) => return Err(unknown(value)),
            "Interface" => self.interface = Some(value.to_owned()),
            "Flags" if !value.starts_with("0x") => return Err(unknown(value)),
            _ => {}
        }
        Ok(())
    }

    /// Ends a block, which is a route.
    pub(super) fn end(block: &mut Option<Self>, sink: &mut Sink<'_>, mask_host_bits: bool) {
        let Some(block) = block.take() else { return };
        let len = block.len.ok_or_else(|| "destination without its length".to_owned());
        let prefix = len.and_then(|len| scan::prefix_of(block.destination, len, mask_host_bits));
        let prefix = match prefix {
            Ok(prefix) => prefix,
            Err(what) => return sink.left_out(block.place, what),
        };
        let mut route = Route::new(block.place, prefix);
        route.state = match (block.is_active, block.flags) {
            (Some(false), _) => State::Candidate,
            (_, Some((false, _))) | (None, None) => State::Uninstalled,
            _ => State::Used,
        };
        let address = block.next_hop.filter(|address| !address.is_unspecified());
        let interface = block.interface.as_deref();
        let kind = match block.flags {
            Some((_, true)) => Some("blackhole"),
            _ => interface.and_then(nowhere),
        };
        let hop =
            kind.map_or_else(|| Hop::through(address, interface, None), |kind| Some(Hop::nowhere(kind)));
        route.hops.extend(hop.map(|hop| (hop, State::Used)));
        sink.open(route);
    }
}
