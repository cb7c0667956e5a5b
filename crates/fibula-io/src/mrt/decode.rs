//! Decodes single records. `bgpkit-parser` reads the BGP messages and attributes.
//!
//! Two kinds of record that `bgpkit-parser` does not know are rewritten into kinds that it does.
//! RIB_GENERIC of a unicast family holds the same entries as that family's own subtype. The
//! deprecated BGP4MP_ENTRY holds the same fields as TABLE_DUMP.

use super::frame::{BGP, BGP4MP, BGP4MP_ET, Record, TABLE_DUMP, TABLE_DUMP_V2};
use super::nlri::{self, Lists};
use super::rewritten::{address, address_bytes, entry_as_table_dump, generic_as_unicast};
use super::{AsPath, Details, Event, Path, Peer, Preference, Speaker, What, as_path};
use crate::Damage;
use bgpkit_parser::models::{
    AttrType, AttributeValue, Attributes, Bgp4MpEnum, BgpMessage, LegacyBgp, MrtMessage, NetworkPrefix,
    NextHopAddress, Nlri, RibAfiEntries, Safi, TableDumpMessage, TableDumpV2Message,
};
use bgpkit_parser::parser::mrt::mrt_record::parse_mrt_body;
use bytes::Bytes;
use fibula::IpPrefix;
use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

/// A PEER_INDEX_TABLE: the peers by their index.
pub(super) struct Peers {
    /// When the dump began.
    time: Duration,
    by_index: HashMap<u16, (Peer, Speaker)>,
}

impl Peers {
    /// Returns them as those of a dump that has named others before.
    pub(super) fn after(self, before: Option<&Self>) -> Self {
        Self { time: before.map_or(self.time, |before| before.time.min(self.time)), ..self }
    }
}

/// The peer of records that name none.
const UNKNOWN_PEER: Peer = Peer { address: IpAddr::V4(Ipv4Addr::UNSPECIFIED), asn: 0 };

/// The attributes without which a route means something else: AS_PATH, NEXT_HOP, MP_REACH_NLRI,
/// MP_UNREACH_NLRI, AS4_PATH.
const NEEDED: [u8; 5] = [2, 3, 14, 15, 17];

/// The peers of a PEER_INDEX_TABLE record.
pub(super) fn peers(record: Record) -> Result<Peers, Damage> {
    let time = record.time;
    match parse_mrt_body(record.kind, record.subtype, record.body) {
        Ok(MrtMessage::TableDumpV2Message(TableDumpV2Message::PeerIndexTable(table))) => {
            let known = table.id_peer_map.into_iter().map(|(index, peer)| {
                let speaker = Speaker { router_id: Some(peer.peer_bgp_id.into()), is_internal: None };
                (index, (Peer { address: peer.peer_ip, asn: peer.peer_asn.to_u32() }, speaker))
            });
            Ok(Peers { time, by_index: known.collect() })
        }
        Ok(_) => Err(Damage::byte(record.offset, "expected a peer index table")),
        Err(error) => Err(Damage::byte(
            record.offset,
            format!("the peer index table is damaged: {}", reason(&error.to_string())),
        )),
    }
}

/// How the paths of a record are read.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reading {
    /// Whether they have their details.
    pub(super) is_detailed: bool,
    /// The AS of a router that may have put itself in front, as it does where it sends a path on.
    pub(super) sender: Option<u32>,
}

/// Adds the events of a record. Damage in it comes after the events that could be read. Returns
/// whether paths were read without their sender in front.
pub(super) fn events(
    record: &Record,
    peers: Option<&Peers>,
    lists: Option<&Lists>,
    reading: Reading,
    out: &mut VecDeque<Result<Event, Damage>>,
) -> bool {
    let speaker = Speaker::default();
    let (offset, time, multicast, is_sent_on) = (record.offset, record.time, false, false);
    let mut found = Found { offset, time, reading, is_sent_on, speaker, multicast, out };
    if let Err(what) = decode(record, peers, lists, &mut found) {
        let damage = Damage::byte(found.offset, what);
        found.out.push_back(Err(damage));
    }
    found.is_sent_on
}

/// Collects the events of one record.
struct Found<'a> {
    offset: u64,
    time: Duration,
    reading: Reading,
    /// Whether a path had its sender in front.
    is_sent_on: bool,
    /// The attributes of the events that are pushed next.
    speaker: Speaker,
    multicast: bool,
    out: &'a mut VecDeque<Result<Event, Damage>>,
}

impl Found<'_> {
    fn push(&mut self, peer: Peer, what: What) {
        let Self { offset, time, speaker, multicast, .. } = *self;
        self.out.push_back(Ok(Event { offset, time, peer, speaker, multicast, what }));
    }

    /// Returns the path of some attributes. Beside an AS_PATH of numbers of 4 bytes, AS4_PATH is
    /// discarded (RFC 6793 section 4.2.3).
    fn path(&mut self, attributes: &Attributes, next_hop: Option<IpAddr>, has_long_numbers: bool) -> Path {
        let (merged, received);
        let path = match (attributes.as_path(), attributes.as4_path().filter(|_| !has_long_numbers)) {
            (Some(_), Some(_)) => {
                merged = attributes.effective_as_path();
                merged.as_ref()
            }
            (path, as4_path) => path.or(as4_path),
        };
        let path = match self.reading.sender.and_then(|sender| as_path::without_sender(path?, sender)) {
            Some(path) => {
                self.is_sent_on = true;
                received = path;
                Some(&received)
            }
            None => path,
        };
        let segments = path.map_or(&[][..], |path| &path.segments);
        let details = self.reading.is_detailed.then(|| {
            let communities = attributes.iter_communities().map(|community| community.to_string());
            Arc::new(Details { as_path: AsPath::of(segments), communities: communities.collect() })
        });
        let (origin, neighbour) = as_path::ends(segments);
        let length = path.map_or(0, |path| path.route_len() as u32);
        Path { next_hop, origin, length, preference: preference(attributes, neighbour), details }
    }

    /// Adds a route of a table that began to be dumped then.
    fn announce(
        &mut self,
        peer: Peer,
        prefix: &NetworkPrefix,
        path: Path,
        began: Duration,
    ) -> Result<(), String> {
        let path_id = prefix.path_id;
        let prefix = read_prefix(prefix)?;
        self.push(peer, What::Announce { prefix, path_id, path, dumped: Some(began) });
        Ok(())
    }
}

/// Returns what route selection compares.
fn preference(attributes: &Attributes, neighbour: u32) -> Preference {
    // A value that is not there counts as the least (RFC 4271 section 9.1.2.2).
    let mut preference = Preference { origin: 2, neighbour, ..Preference::default() };
    for attribute in attributes {
        match attribute {
            AttributeValue::Origin(origin) => preference.origin = u8::from(*origin),
            AttributeValue::MultiExitDiscriminator(value) => preference.exit = *value,
            AttributeValue::LocalPreference(value) => preference.local = Some(*value),
            _ => {}
        }
    }
    preference
}

fn read_prefix(prefix: &NetworkPrefix) -> Result<IpPrefix, String> {
    IpPrefix::masked(prefix.prefix.addr(), prefix.prefix.prefix_len()).map_err(|e| e.to_string())
}

/// Returns the lists of prefixes of an UPDATE, the peer that sent it, and whether the record is
/// marked as one with path identifiers. `None` if it is another record, or its framing is damaged.
pub(super) fn lists(record: &Record) -> Option<(Peer, bool, Lists)> {
    const HEADER: usize = 19;
    let body = &record.body;
    let number = |from: usize, bytes: usize| {
        Some(body.get(from..from + bytes)?.iter().fold(0, |number, &byte| number << 8 | u32::from(byte)))
    };
    if (record.kind, record.subtype) == (BGP, 1) {
        let octets = *body.get(2..)?.first_chunk::<4>()?;
        let peer = Peer { address: octets.into(), asn: number(0, 2)? };
        return Some((peer, false, Lists::of(&body.get(12..).map(|rest| body.slice_ref(rest))?)?));
    }
    if !matches!(record.kind, BGP4MP | BGP4MP_ET) || !matches!(record.subtype, 1 | 4 | 8 | 9) {
        return None;
    }
    let as_bytes = if has_long_numbers(record.subtype) { 4 } else { 2 };
    let addresses = 2 * as_bytes + 4;
    let bytes = address_bytes(body.get(addresses - 2..addresses)?).ok()?;
    let peer =
        Peer { address: address(body.get(addresses..addresses + bytes)?).ok()?, asn: number(0, as_bytes)? };
    let message = addresses + 2 * bytes;
    let length = usize::try_from(number(message + 16, 2)?).ok()?;
    if *body.get(message + 18)? != 2 || length < HEADER {
        return None;
    }
    let update = body.slice(message + HEADER..body.len().min(message + length));
    Some((peer, record.subtype >= 8, Lists::of(&update)?))
}

/// Returns what a record is that holds no routes of the families and protocol that are read.
pub(super) fn left_out(record: &Record) -> Option<&'static str> {
    match (record.kind, record.subtype) {
        (TABLE_DUMP_V2, 6 | 12) => {
            generic_as_unicast(record.subtype, &record.body).is_none().then_some(OTHER_FAMILY)
        }
        (BGP4MP | BGP4MP_ET, 6 | 7 | 10 | 11) => Some("message that the router itself sent"),
        (TABLE_DUMP | TABLE_DUMP_V2 | BGP4MP | BGP4MP_ET | BGP, _) => None,
        (6 | 8, _) => Some("record of RIP"),
        (9 | 10, _) => Some("record of BGP4PLUS"),
        (11 | 48 | 49, _) => Some("record of OSPF"),
        (32 | 33, _) => Some("record of IS-IS"),
        _ => Some("record of another protocol"),
    }
}

/// Routes of VPNs, flow specifications and the like.
pub(super) const OTHER_FAMILY: &str = "record with routes of another family (VPN, flow and the like)";

/// Returns whether a BGP4MP message has AS numbers of 4 bytes, in its AS_PATH too.
fn has_long_numbers(subtype: u16) -> bool {
    matches!(subtype, 4 | 9)
}

fn decode(
    record: &Record,
    peers: Option<&Peers>,
    lists: Option<&Lists>,
    found: &mut Found<'_>,
) -> Result<(), String> {
    let (subtype, body) = match (record.kind, record.subtype) {
        (TABLE_DUMP_V2, 6 | 12) => match generic_as_unicast(record.subtype, &record.body) {
            Some(rewritten) => rewritten,
            None => return Ok(()), // which `left_out` says
        },
        (BGP4MP | BGP4MP_ET, 2) => {
            let entry = entry_as_table_dump(&record.body)?;
            return match parse(TABLE_DUMP, entry.subtype, entry.body)? {
                MrtMessage::TableDumpMessage(message) => {
                    dumped(&message, Some((entry.peer, entry.next_hop)), found)
                }
                _ => Err("expected one entry".into()),
            };
        }
        (BGP4MP | BGP4MP_ET, 3) => return Err(unsupported(record, "a BGP4MP_SNAPSHOT record")),
        (TABLE_DUMP | TABLE_DUMP_V2 | BGP4MP | BGP4MP_ET | BGP, _) => (record.subtype, record.body.clone()),
        _ => return Ok(()), // which `left_out` says
    };
    let message = parse(record.kind, subtype, body.clone())?;
    match message {
        MrtMessage::TableDumpMessage(message) => dumped(&message, None, found),
        MrtMessage::TableDumpMessageBatch(messages) => {
            messages.iter().try_for_each(|message| dumped(message, None, found))
        }
        MrtMessage::TableDumpV2Message(TableDumpV2Message::RibAfi(rib)) => {
            rib_entries(&rib, &body, peers, found)
        }
        MrtMessage::Bgp4Mp(Bgp4MpEnum::StateChange(change)) => {
            let peer = Peer { address: change.peer_ip, asn: change.peer_asn.to_u32() };
            found.push(peer, What::State { from: change.old_state.into(), to: change.new_state.into() });
            Ok(())
        }
        MrtMessage::LegacyBgp(LegacyBgp::StateChange(change)) => {
            let peer = Peer { address: change.peer_ip, asn: change.peer_asn.to_u32() };
            found.push(peer, What::State { from: change.old_state.into(), to: change.new_state.into() });
            Ok(())
        }
        MrtMessage::Bgp4Mp(Bgp4MpEnum::Message(message)) => {
            let peer = Peer { address: message.peer_ip, asn: message.peer_asn.to_u32() };
            found.speaker.is_internal = Some(message.local_asn == message.peer_asn);
            bgp_message(peer, &message.bgp_message, lists, has_long_numbers(subtype), found)
        }
        MrtMessage::LegacyBgp(LegacyBgp::Message(message)) => {
            let peer = Peer { address: message.peer_ip, asn: message.peer_asn.to_u32() };
            bgp_message(peer, &message.bgp_message, lists, false, found)
        }
        MrtMessage::TableDumpV2Message(_) => Ok(()),
    }
}

fn parse(kind: u16, subtype: u16, body: Bytes) -> Result<MrtMessage, String> {
    parse_mrt_body(kind, subtype, body)
        .map_err(|error| format!("the record is damaged: {}", reason(&error.to_string())))
}

/// Returns the library's message without its heading.
fn reason(text: &str) -> &str {
    text.strip_prefix("Error: ").unwrap_or(text)
}

fn unsupported(record: &Record, what: &str) -> String {
    format!("{what} is not supported (type {}, subtype {})", record.kind, record.subtype)
}

/// `entry` has the fields of a rewritten record that the library does not see.
fn dumped(
    message: &TableDumpMessage,
    entry: Option<(Peer, IpAddr)>,
    found: &mut Found<'_>,
) -> Result<(), String> {
    let attributes = &message.attributes;
    let (peer, next_hop) = match entry {
        Some((peer, next_hop)) => (peer, Some(next_hop)),
        None => (Peer { address: message.peer_ip, asn: message.peer_asn.to_u32() }, any_next_hop(attributes)),
    };
    let path = found.path(attributes, next_hop, false);
    found.announce(peer, &message.prefix, path, found.time)?;
    complete(attributes, false)
}

fn rib_entries(
    rib: &RibAfiEntries,
    body: &[u8],
    peers: Option<&Peers>,
    found: &mut Found<'_>,
) -> Result<(), String> {
    found.multicast = matches!(u16::from(rib.rib_type), 3 | 5 | 9 | 11);
    let mut missing = None;
    let began = peers.map_or(found.time, |peers| peers.time);
    for entry in &rib.rib_entries {
        let (peer, speaker) = match peers.map(|peers| peers.by_index.get(&entry.peer_index)) {
            Some(Some(&known)) => known,
            Some(None) => {
                missing.get_or_insert(format!("peer {} is not in the peer index table", entry.peer_index));
                continue;
            }
            None => {
                missing.get_or_insert("no peer index table before it names its peers".into());
                (UNKNOWN_PEER, Speaker::default())
            }
        };
        found.speaker = speaker;
        let mut prefix = rib.prefix;
        prefix.path_id = entry.path_id;
        let path = found.path(&entry.attributes, any_next_hop(&entry.attributes), true);
        found.announce(peer, &prefix, path, began)?;
        if let Err(what) = complete(&entry.attributes, false) {
            missing.get_or_insert(what);
        }
    }
    // The library drops, without an error, the first entry that it cannot read and all after it.
    let prefix_bytes = usize::from(body.get(4).copied().unwrap_or_default()).div_ceil(8);
    let count = body.get(5 + prefix_bytes..).and_then(<[u8]>::first_chunk::<2>);
    let declared = count.map_or(0, |count| u16::from_be_bytes(*count));
    if rib.rib_entries.len() < declared.into() {
        return Err(format!(
            "the record is damaged: {} of its {declared} entries can be read",
            rib.rib_entries.len()
        ));
    }
    missing.map_or(Ok(()), Err)
}

fn bgp_message(
    peer: Peer,
    message: &BgpMessage,
    lists: Option<&Lists>,
    has_long_numbers: bool,
    found: &mut Found<'_>,
) -> Result<(), String> {
    if let BgpMessage::Open(open) = message {
        found.speaker.router_id = Some(open.bgp_identifier.into());
        found.push(peer, What::Open);
    }
    let (BgpMessage::Update(update), Some(lists)) = (message, lists) else { return Ok(()) };
    if let Some(is_ipv6) = lists.ends {
        found.push(peer, What::EndOfRib { is_ipv6 });
        return Ok(());
    }
    let attributes = &update.attributes;
    let mut damage = None;
    let of_kind = |kind| lists.all.iter().filter(move |list| list.kind == kind);
    for list in of_kind(nlri::Kind::Withdrawn).chain(of_kind(nlri::Kind::Announced)) {
        let is_announced = list.kind == nlri::Kind::Announced;
        found.multicast = list.safi == 2;
        let next_hop = if list.is_multiprotocol { list.next_hop } else { attributes.next_hop() };
        let path = is_announced.then(|| found.path(attributes, next_hop, has_long_numbers));
        for entry in list.entries() {
            match (entry, path.clone()) {
                (Ok(nlri::Entry { prefix, path_id, .. }), Some(path)) => {
                    found.push(peer, What::Announce { prefix, path_id, path, dumped: None });
                }
                (Ok(nlri::Entry { prefix, path_id, .. }), None) => {
                    found.push(peer, What::Withdraw { prefix, path_id });
                }
                (Err(what), _) => {
                    let kind = if is_announced { "announced" } else { "withdrawn" };
                    damage.get_or_insert(format!("the {kind} prefixes cannot be read: {what}"));
                }
            }
        }
    }
    match damage {
        Some(what) => Err(what),
        None => complete(attributes, true),
    }
}

/// Reads the unicast and multicast parts of MP_REACH_NLRI.
fn multiprotocol(attributes: &Attributes) -> impl Iterator<Item = &Nlri> {
    attributes.iter().filter_map(|attribute| match attribute {
        AttributeValue::MpReachNlri(nlri) if matches!(nlri.safi, Safi::Unicast | Safi::Multicast) => {
            Some(nlri)
        }
        _ => None,
    })
}

/// Returns whether a multiprotocol attribute is of VPNs or the like. Their routes are not ours,
/// readable or not.
fn is_of_another_family(code: u8, bytes: &[u8]) -> bool {
    // In dumps the attribute may be cut down to its next hop. It then begins with the next hop's
    // length, never 0.
    matches!((code, bytes), (14 | 15, [0, afi, safi, ..]) if *afi > 2 || *safi > 2)
}

/// Checks that all attributes about routes could be read. The library keeps the others as raw
/// bytes. `has_lists` says that the lists of prefixes were read before.
fn complete(attributes: &Attributes, has_lists: bool) -> Result<(), String> {
    for attribute in attributes {
        if let AttributeValue::Raw(raw) = attribute
            && NEEDED.contains(&raw.code)
            && !(has_lists && matches!(raw.code, 14 | 15))
            && !is_of_another_family(raw.code, &raw.bytes)
        {
            return Err(format!("attribute {} of {} bytes cannot be read", raw.code, raw.bytes.len()));
        }
    }
    // An attribute longer than the rest of the message ends the library's reading, without an
    // error.
    for code in NEEDED {
        let kind = AttrType::from(code);
        if attributes.has_attr(kind) && !attributes.iter().any(|attribute| attribute.attr_type() == kind) {
            return Err(format!("attribute {code} is cut off"));
        }
    }
    Ok(())
}

/// Returns the next hop of a dumped route: MP_REACH_NLRI's (which has no prefixes there), else
/// NEXT_HOP.
fn any_next_hop(attributes: &Attributes) -> Option<IpAddr> {
    let reach = multiprotocol(attributes).find_map(|nlri| nlri.next_hop);
    let told = |next_hop| match next_hop {
        // As in `next_hop_of`.
        NextHopAddress::Ipv6LinkLocal(global, local) if global.is_unspecified() => IpAddr::V6(local),
        other => other.global_addr(),
    };
    reach.map(told).or_else(|| attributes.next_hop())
}
