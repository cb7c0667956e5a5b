//! Histories of BGP, drawn from a seed, and as bytes of MRT.

use super::common::made::record;
use super::naive::Naive;
use fastrand::Rng;
use std::net::Ipv4Addr;

/// The AS of the router that writes the records.
pub(crate) const LOCAL_AS: u32 = 64_496;

/// A prefix of IPv4: its address and length.
pub(crate) type Prefix = (u32, u8);

/// A peer: what it is called, and what a table of peers tells of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Peer {
    pub(crate) address: Ipv4Addr,
    pub(crate) asn: u32,
    pub(crate) router_id: u32,
    /// Whether its prefixes have path identifiers.
    pub(crate) has_ids: bool,
}

/// The attributes of a route. A segment is its type (RFC 4271, RFC 5065) and its numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Attributes {
    pub(crate) path: Vec<(u8, Vec<u32>)>,
    pub(crate) next_hop: Ipv4Addr,
    pub(crate) origin: u8,
    pub(crate) exit: Option<u32>,
    pub(crate) local: Option<u32>,
}

/// A record. Times are in microseconds.
#[derive(Clone, Debug)]
pub(crate) enum Record {
    /// The peers that the records of a dump name by index.
    Peers { time: u64, peers: Vec<Peer> },
    /// The paths to a prefix in a dump: the peer's index in the table above, and an identifier.
    Rib { time: u64, prefix: Prefix, has_ids: bool, entries: Vec<(u16, u32, Attributes)> },
    /// A message of a peer, or one that was sent to it.
    Update {
        time: u64,
        peer: Peer,
        is_sent: bool,
        withdrawn: Vec<(Prefix, u32)>,
        announced: Vec<(Prefix, u32)>,
        attributes: Attributes,
    },
    /// An OPEN of a peer, which tells the identifier of its router.
    Open { time: u64, peer: Peer },
    /// The end of what a peer has of IPv4.
    EndOfRib { time: u64, peer: Peer },
    /// A change of a session's state.
    State { time: u64, peer: Peer, from: u16, to: u16 },
}

impl Record {
    pub(crate) fn time(&self) -> u64 {
        match self {
            Self::Peers { time, .. }
            | Self::Rib { time, .. }
            | Self::Open { time, .. }
            | Self::EndOfRib { time, .. }
            | Self::Update { time, .. }
            | Self::State { time, .. } => *time,
        }
    }
}

/// A dump and the records after it, in order of time.
#[derive(Clone, Debug)]
pub(crate) struct History {
    pub(crate) dump: Vec<Record>,
    pub(crate) updates: Vec<Record>,
    /// The second in which the dump came to its last prefix, with a route or without; `None` if it
    /// has no route at all.
    pub(crate) dumped: Option<u64>,
}

const SECOND: u64 = 1_000_000;

impl History {
    /// Draws updates, and a dump that is written while they come: each of its records is what is
    /// known of its prefix then.
    pub(crate) fn draw(random: &mut Rng) -> Self {
        let peers: Vec<Peer> = (1..=random.u8(1..=4)).map(|last| peer(random, last)).collect();
        let prefixes: Vec<Prefix> =
            (1..=random.u32(1..=4)).map(|second| (10 << 24 | second << 16, random.u8(16..=17))).collect();
        let mut time = 1_000 * SECOND;
        let updates: Vec<Record> = (0..random.u8(1..32))
            .map(|_| {
                // Many records have equal times.
                time += [0, 0, 1, 500_000, SECOND, 2 * SECOND][random.usize(..6)];
                draw_update(random, time, &peers, &prefixes)
            })
            .collect();
        let (dump, ended) = draw_dump(random, &peers, &prefixes, &updates);
        let is_dumped = random.u8(..4) > 0 && dump.iter().any(|record| matches!(record, Record::Rib { .. }));
        let dump = if is_dumped { dump } else { Vec::new() };
        Self { dump, updates, dumped: is_dumped.then_some(ended) }
    }
}

fn draw_update(random: &mut Rng, time: u64, peers: &[Peer], prefixes: &[Prefix]) -> Record {
    let peer = peers[random.usize(..peers.len())];
    if random.u8(..12) == 0 {
        return Record::Open { time, peer };
    }
    if random.u8(..12) == 0 {
        return Record::EndOfRib { time, peer };
    }
    if random.u8(..8) == 0 {
        let [from, to] = [[6, 1], [5, 6], [1, 3], [6, 6]][random.usize(..4)];
        return Record::State { time, peer, from, to };
    }
    let mut some = || {
        let some = prefixes.iter().filter(|_| random.u8(..3) == 0).copied().collect::<Vec<_>>();
        some.into_iter().map(|prefix| (prefix, if peer.has_ids { random.u32(..2) } else { 0 })).collect()
    };
    let (withdrawn, announced) = (some(), some());
    let (is_sent, attributes) = (random.u8(..8) == 0, attributes(random));
    Record::Update { time, peer, is_sent, withdrawn, announced, attributes }
}

fn draw_dump(
    random: &mut Rng,
    peers: &[Peer],
    prefixes: &[Prefix],
    updates: &[Record],
) -> (Vec<Record>, u64) {
    let mut table = peers.to_vec();
    let mut at = random.usize(..updates.len());
    let table_of = |at: usize, peers: &[Peer]| {
        let time = updates[at].time() / SECOND * SECOND;
        Record::Peers { time, peers: peers.to_vec() }
    };
    let mut dump = vec![table_of(at, &table)];
    for &prefix in prefixes {
        at = (at + random.usize(..4)).min(updates.len() - 1);
        if random.u8(..4) == 0 {
            random.shuffle(&mut table);
            dump.push(table_of(at, &table));
        }
        let known = Naive::of(&updates[..at]);
        for has_ids in [false, true] {
            let index = |peer| table.iter().position(|known| *known == peer).unwrap() as u16;
            let entries: Vec<_> = known
                .routes_of(prefix)
                .filter(|(peer, _, _)| peer.has_ids == has_ids)
                .map(|(peer, id, attributes)| (index(peer), id, attributes.clone()))
                .collect();
            if !entries.is_empty() {
                let time = updates[at].time() / SECOND * SECOND;
                dump.push(Record::Rib { time, prefix, has_ids, entries });
            }
        }
    }
    (dump, updates[at].time() / SECOND)
}

fn peer(random: &mut Rng, last: u8) -> Peer {
    let asn = if random.u8(..4) == 0 { LOCAL_AS } else { 64_500 + u32::from(random.u8(1..=3)) };
    let (address, router_id) = (Ipv4Addr::new(192, 0, 2, last), random.u32(1..=2));
    Peer { address, asn, router_id, has_ids: random.u8(..3) == 0 }
}

fn attributes(random: &mut Rng) -> Attributes {
    let segment = |random: &mut Rng| {
        // Sequences mostly; sets, and confederations of both kinds.
        let kind = [2, 2, 2, 1, 3, 4][random.usize(..6)];
        (kind, (0..random.u8(1..=2)).map(|_| random.u32(64_501..=64_504)).collect())
    };
    let maybe = |random: &mut Rng| random.bool().then(|| random.u32(99..=101));
    Attributes {
        path: (0..random.u8(..=3)).map(|_| segment(random)).collect(),
        next_hop: Ipv4Addr::new(203, 0, 113, random.u8(1..=9)),
        origin: random.u8(..=2),
        exit: maybe(random),
        local: if random.u8(..3) == 0 { maybe(random) } else { None },
    }
}

/// Returns records as MRT.
pub(crate) fn bytes(records: &[Record]) -> Vec<u8> {
    records.iter().flat_map(of_record).collect()
}

fn of_record(it: &Record) -> Vec<u8> {
    let seconds = (it.time() / SECOND) as u32;
    match it {
        Record::Peers { peers, .. } => {
            let mut body = vec![0, 0, 0, 0, 0, 0, 0, peers.len() as u8];
            for peer in peers {
                body.push(2);
                body.extend(peer.router_id.to_be_bytes());
                body.extend(peer.address.octets());
                body.extend(peer.asn.to_be_bytes());
            }
            record(seconds, 13, 1, &body)
        }
        Record::Rib { prefix, has_ids, entries, .. } => {
            let mut body = vec![0; 4];
            body.extend(of_prefix(*prefix));
            body.extend((entries.len() as u16).to_be_bytes());
            for (index, id, attributes) in entries {
                body.extend(index.to_be_bytes());
                body.extend(seconds.to_be_bytes());
                if *has_ids {
                    body.extend(id.to_be_bytes());
                }
                let attributes = of_attributes(attributes);
                body.extend((attributes.len() as u16).to_be_bytes());
                body.extend(attributes);
            }
            record(seconds, 13, if *has_ids { 8 } else { 2 }, &body)
        }
        Record::Update { time, peer, is_sent, withdrawn, announced, attributes } => {
            let list = |prefixes: &[(Prefix, u32)]| -> Vec<u8> {
                let one = |&(prefix, id): &(Prefix, u32)| {
                    let id = if peer.has_ids { id.to_be_bytes().to_vec() } else { Vec::new() };
                    [id, of_prefix(prefix)].concat()
                };
                prefixes.iter().flat_map(one).collect()
            };
            let (withdrawn, announced) = (list(withdrawn), list(announced));
            let attributes = if announced.is_empty() { Vec::new() } else { of_attributes(attributes) };
            let mut message = vec![0xFF; 16];
            let length = 23 + withdrawn.len() + attributes.len() + announced.len();
            message.extend((length as u16).to_be_bytes());
            message.push(2);
            message.extend((withdrawn.len() as u16).to_be_bytes());
            message.extend(withdrawn);
            message.extend((attributes.len() as u16).to_be_bytes());
            message.extend([attributes, announced].concat());
            // BGP4MP_MESSAGE_AS4, _LOCAL, _ADDPATH, and both.
            let subtype = match (peer.has_ids, is_sent) {
                (false, false) => 4,
                (false, true) => 7,
                (true, false) => 9,
                (true, true) => 11,
            };
            with_time(*time, subtype, &[of_session(*peer), message].concat())
        }
        Record::Open { time, peer } => {
            let mut message = vec![0xFF; 16];
            message.extend([0, 29, 1, 4, 0x5B, 0xA0, 0, 90]);
            message.extend(peer.router_id.to_be_bytes());
            message.push(0);
            with_time(*time, 4, &[of_session(*peer), message].concat())
        }
        Record::EndOfRib { time, peer } => {
            let mut message = vec![0xFF; 16];
            message.extend([0, 23, 2, 0, 0, 0, 0]);
            with_time(*time, if peer.has_ids { 9 } else { 4 }, &[of_session(*peer), message].concat())
        }
        Record::State { time, peer, from, to } => {
            let states = [from.to_be_bytes(), to.to_be_bytes()].concat();
            with_time(*time, 5, &[of_session(*peer), states].concat())
        }
    }
}

/// Returns a record of BGP4MP, or of BGP4MP_ET where the time has microseconds.
fn with_time(time: u64, subtype: u16, body: &[u8]) -> Vec<u8> {
    let (seconds, micros) = ((time / SECOND) as u32, (time % SECOND) as u32);
    match micros {
        0 => record(seconds, 16, subtype, body),
        micros => record(seconds, 17, subtype, &[&micros.to_be_bytes()[..], body].concat()),
    }
}

fn of_session(peer: Peer) -> Vec<u8> {
    let mut body = peer.asn.to_be_bytes().to_vec();
    body.extend(LOCAL_AS.to_be_bytes());
    body.extend([0, 0, 0, 1]);
    body.extend(peer.address.octets());
    body.extend([192, 0, 2, 254]);
    body
}

fn of_prefix((address, length): Prefix) -> Vec<u8> {
    let octets = usize::from(length).div_ceil(8);
    [&[length], &address.to_be_bytes()[..octets]].concat()
}

fn of_attributes(attributes: &Attributes) -> Vec<u8> {
    let mut bytes = vec![0x40, 1, 1, attributes.origin];
    let path: Vec<u8> = attributes
        .path
        .iter()
        .flat_map(|(kind, numbers)| {
            let numbers: Vec<u8> = numbers.iter().flat_map(|number| number.to_be_bytes()).collect();
            [vec![*kind, (numbers.len() / 4) as u8], numbers].concat()
        })
        .collect();
    bytes.extend([0x40, 2, path.len() as u8]);
    bytes.extend(path);
    bytes.extend([0x40, 3, 4]);
    bytes.extend(attributes.next_hop.octets());
    for (kind, flags, value) in [(4, 0x80, attributes.exit), (5, 0x40, attributes.local)] {
        if let Some(value) = value {
            bytes.extend([flags, kind, 4]);
            bytes.extend(value.to_be_bytes());
        }
    }
    bytes
}
