//! MRT (RFC 6396, RFC 8050): the records of route collectors and routing daemons, event by event.
//!
//! [`Events`] turns a stream of MRT records into announcements, withdrawals and session changes of
//! single prefixes. [`table::read`](crate::table::read) and [`update::read`](crate::update::read)
//! apply them to tables and changes. This module finds the records, so that damage has a byte
//! offset and reading can go on after it. `bgpkit-parser` decodes their content, on all cores.
//!
//! Decoded: TABLE_DUMP (12), TABLE_DUMP_V2 (13) with ADD-PATH and RIB_GENERIC of the two unicast
//! families, BGP4MP and BGP4MP_ET (16, 17) with ADD-PATH and the deprecated BGP4MP_ENTRY, and the
//! deprecated BGP (5). Only plain routes of IPv4 and IPv6 become events, none of VPNs or with
//! labels. Bits of a prefix after its length are padding (RFC 4271 section 4.3) and always cleared.

mod as_path;
pub mod bmp;
mod decode;
mod frame;
mod nlri;
mod paths;
mod rewritten;

pub(crate) use as_path::origin_code;
pub use as_path::{AsPath, Element, as_number};
pub use frame::looks_like;
pub use nlri::AddPath;
pub(crate) use paths::{Paths, PeerChoice};

use crate::report::{Kind, Report};
use crate::{Damage, Place};
use fibula::{IpPrefix, NextHopInfo};
use std::collections::VecDeque;
use std::fmt;
use std::io::Read;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

/// The peer that sent a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Peer {
    /// The peer's address.
    pub address: IpAddr,
    /// Its autonomous system.
    pub asn: u32,
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (AS{})", self.address, self.asn)
    }
}

/// The end of an AS path.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    /// The path is empty or ends in a confederation: the peer's own AS originates the route.
    Local,
    /// In one AS.
    As(u32),
    /// In a set of ASes, in rising order, each once.
    Set(Arc<[u32]>),
}

/// The attributes of a route that decide where packets go.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Path {
    /// The next hop; of an IPv6 pair the global one. `None` if the message has none.
    pub next_hop: Option<IpAddr>,
    /// The end of the AS path, AS4_PATH taken into account.
    pub origin: Origin,
    /// The length of the AS path as route selection counts it: a set is 1, confederations are 0.
    pub length: u32,
    /// What else route selection compares.
    pub preference: Preference,
    /// The whole of the AS path and the communities, if [`Events::detailed`] asked for them.
    pub details: Option<Arc<Details>>,
}

/// What route selection compares beside the length of the AS path (RFC 4271 section 9.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Preference {
    /// LOCAL_PREF, if the message has it.
    pub local: Option<u32>,
    /// ORIGIN: 0 is IGP, 1 is EGP, 2 is incomplete.
    pub origin: u8,
    /// MULTI_EXIT_DISC; 0 if the message has none.
    pub exit: u32,
    /// The AS that the path begins with, among whose routes the discriminators are compared; 0 if
    /// none.
    pub neighbour: u32,
}

/// What a route has beside what decides where packets go.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Details {
    /// The AS path without confederations.
    pub as_path: AsPath,
    /// The communities, extended and large ones too, as text: `64500:100`, `no-export`.
    pub communities: Vec<String>,
}

/// What a message tells of the peer beside its routes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Speaker {
    /// The identifier of the peer's router, if it is told.
    pub router_id: Option<u32>,
    /// Whether the peer is of the same AS as the router that tells of it.
    pub is_internal: Option<bool>,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum What {
    /// A route was announced, or is in a dumped table.
    Announce {
        /// Its prefix.
        prefix: IpPrefix,
        /// Which of the peer's paths to it, with ADD-PATH (RFC 7911).
        path_id: Option<u32>,
        /// Its next hop and AS path.
        path: Path,
        /// When the table began to be dumped, if it comes from one.
        dumped: Option<Duration>,
    },
    /// A route was withdrawn.
    Withdraw {
        /// Its prefix.
        prefix: IpPrefix,
        /// Which of the peer's paths to it.
        path_id: Option<u32>,
    },
    /// The peer has told all routes of a family that it has (End-of-RIB, RFC 4724 section 2).
    EndOfRib {
        /// Whether the family is IPv6, else IPv4.
        is_ipv6: bool,
    },
    /// The peer opened a session. What it says of itself is the event's `speaker`.
    Open,
    /// The session with the peer changed its state (RFC 4271 section 8.2.2; 6 is Established).
    /// Leaving or entering Established withdraws all the peer's routes.
    State {
        /// The state before.
        from: u16,
        /// The state now.
        to: u16,
    },
}

/// Why an update is left out.
pub(crate) const BEFORE_DUMP: &str = "update from before the dump";

/// One event.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Event {
    /// The first byte of its record.
    pub offset: u64,
    /// When, since 1970-01-01 UTC; microseconds where the record has them.
    pub time: Duration,
    /// The peer.
    pub peer: Peer,
    /// What is told of the peer.
    pub speaker: Speaker,
    /// Whether it is of the multicast routes (SAFI 2), which do not decide where packets go. Tables
    /// and update streams skip these.
    pub multicast: bool,
    /// What happened.
    pub what: What,
}

/// The events of a stream of MRT records, in order. A damaged record is an `Err`; the events after
/// it follow.
///
/// ```
/// use fibula_io::mrt::Events;
/// // A record of type 16 that says it has 100 bytes, and no more.
/// let bytes = [0, 0, 0, 1, 0, 16, 0, 1, 0, 0, 0, 100];
/// let damage = Events::new(&bytes[..]).next().unwrap().unwrap_err();
/// assert_eq!(damage.to_string(), "byte 0: the record is cut off: 0 of its 100 bytes are there");
/// ```
pub struct Events<R> {
    frames: frame::Frames<R>,
    /// The peers of the latest PEER_INDEX_TABLE.
    peers: Option<Arc<decode::Peers>>,
    add_path: AddPath,
    is_detailed: bool,
    sessions: nlri::Sessions,
    report: Report,
    ready: VecDeque<Result<Event, Damage>>,
}

impl<R: Read> Events<R> {
    /// Reads the events of decompressed MRT bytes.
    pub fn new(input: R) -> Self {
        Self::with(input, AddPath::Guess)
    }

    /// As [`Events::new`], and says whether prefixes have path identifiers where the records do
    /// not.
    pub fn with(input: R, add_path: AddPath) -> Self {
        let (frames, sessions, report) =
            (frame::Frames::new(input), nlri::Sessions::default(), Report::default());
        let ready = VecDeque::new();
        Self { frames, peers: None, add_path, is_detailed: false, sessions, report, ready }
    }

    /// Reads the [`Details`] of routes too.
    #[must_use]
    pub fn detailed(mut self, is_detailed: bool) -> Self {
        self.is_detailed = is_detailed;
        self
    }

    /// Returns what has been left out and guessed so far. Routes are not counted here.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// Finds records until there are enough for all cores, and decodes them.
    fn fill(&mut self) {
        const BATCH_BYTES: usize = 4 << 20;
        let mut batch = Vec::new();
        let mut bytes = 0;
        while bytes < BATCH_BYTES {
            match self.frames.next() {
                None => break,
                Some(Err(damage)) => batch.push(Err(damage)),
                Some(Ok(record)) => {
                    bytes += record.body.len() + size_of::<frame::Record>();
                    if record.is_peer_index() {
                        match decode::peers(record) {
                            Ok(peers) => self.peers = Some(Arc::new(peers.after(self.peers.as_deref()))),
                            Err(damage) => batch.push(Err(damage)),
                        }
                    } else if let Some(what) = decode::left_out(&record) {
                        self.report.note(Kind::LeftOut, what, Place::Byte(record.offset));
                    } else {
                        let lists = decode::lists(&record);
                        if let Some((peer, is_marked, lists)) = &lists {
                            self.sessions.learn(*peer, *is_marked, &lists.all);
                        }
                        batch.push(Ok((record, self.peers.clone(), lists)));
                    }
                }
            }
        }
        let decided = |framed: Framed| {
            let Ok((record, peers, lists)) = framed else { return framed.map(|_| unreachable!()) };
            let lists = lists.map(|(peer, is_marked, mut lists)| {
                let place = Place::Byte(record.offset);
                if lists.has_others {
                    self.report.note(Kind::LeftOut, decode::OTHER_FAMILY, place);
                }
                if let Some(guess) = self.sessions.decide(peer, is_marked, self.add_path, &mut lists.all) {
                    self.report.note(Kind::Guessed, format!("of peer {peer}: {guess}"), place);
                }
                (peer, is_marked, lists)
            });
            Ok((record, peers, lists))
        };
        let batch = batch.into_iter().map(decided).collect();
        self.ready = decode_batch(batch, bytes, self.is_detailed);
    }
}

/// A record, the peers that it may name, and the lists of a message with its peer and mark.
type Framed = Result<(frame::Record, Option<Arc<decode::Peers>>, Option<(Peer, bool, nlri::Lists)>), Damage>;

/// Decodes records on all cores. Their events stay in order.
fn decode_batch(batch: Vec<Framed>, bytes: usize, is_detailed: bool) -> VecDeque<Result<Event, Damage>> {
    const THREAD_BYTES: usize = 256 << 10;
    let decode = |part: Vec<Framed>| {
        let mut events = VecDeque::new();
        for framed in part {
            match framed {
                Ok((record, peers, lists)) => {
                    let lists = lists.as_ref().map(|(_, _, lists)| lists);
                    let reading = decode::Reading { is_detailed, sender: None };
                    decode::events(&record, peers.as_deref(), lists, reading, &mut events);
                }
                Err(damage) => events.push_back(Err(damage)),
            }
        }
        events
    };
    let threads = crate::scan::threads(bytes, THREAD_BYTES);
    if threads == 1 {
        return decode(batch);
    }
    let part_len = batch.len().div_ceil(threads);
    let mut batch = batch.into_iter();
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|_| {
                let part = batch.by_ref().take(part_len).collect();
                scope.spawn(move || decode(part))
            })
            .collect();
        let mut events = VecDeque::new();
        for worker in workers {
            events.append(&mut worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        events
    })
}

impl<R: Read> Iterator for Events<R> {
    type Item = Result<Event, Damage>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.ready.is_empty() && !self.frames.is_at_end() {
            self.fill();
        }
        let event = self.ready.pop_front();
        if let Some(Ok(event)) = &event
            && event.multicast
        {
            self.report.note(Kind::LeftOut, "multicast route", Place::Byte(event.offset));
        }
        event
    }
}

impl<R> fmt::Debug for Events<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Events").field("ready", &self.ready.len()).finish_non_exhaustive()
    }
}

impl Path {
    /// Returns the path's value as the tables keep it. An announcement without a next hop has the
    /// label `-`.
    pub(crate) fn value(&self, peer: Peer, value: crate::table::Value) -> NextHopInfo {
        use crate::table::Value;
        let gateway = |address| NextHopInfo::Gateway { address: Some(address), interface: None };
        match (value, &self.origin) {
            (Value::NextHop, _) => self.next_hop.map_or_else(|| NextHopInfo::Label("-".into()), gateway),
            (Value::OriginAs | Value::Origins, Origin::Local) => NextHopInfo::AutonomousSystem(peer.asn),
            (Value::OriginAs | Value::Origins, Origin::As(number)) => NextHopInfo::AutonomousSystem(*number),
            (Value::OriginAs | Value::Origins, Origin::Set(set)) => {
                let numbers: Vec<String> = set.iter().map(ToString::to_string).collect();
                NextHopInfo::Label(format!("{{{}}}", numbers.join(",")).into())
            }
            (Value::Peer, _) => gateway(peer.address),
            (Value::NextHops, _) => crate::table::all_next_hops(self.next_hop),
            (Value::Route, _) => crate::table::route_fields(self, Some(peer)),
        }
    }
}
