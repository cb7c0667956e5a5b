//! What several tests use: a plain model of FPM, and a control over a plane in memory.
#![allow(dead_code, reason = "each test uses a part")]

use fibula::IpPrefix;
use fibula_router::control::{Control, Settings, Way};
use fibula_router::feed::{Batch, Feed, Mark, Queue, Session, fpm};
use fibula_router::plane::memory::Memory;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// A control over a plane in memory.
pub(crate) type Router = Control<Memory>;

/// How long FPM must be quiet in tests.
pub(crate) const QUIET: Duration = Duration::from_secs(10);

/// Returns a router whose only feed is FPM.
pub(crate) fn router() -> Router {
    router_of(Feed::Fpm)
}

/// Returns a router of one feed, with the engine that is built fastest.
pub(crate) fn router_of(feed: Feed) -> Router {
    Control::new(
        Memory::with_engine("oracle"),
        Settings { feeds: vec![feed], quiet: QUIET, ..Settings::default() },
    )
}

/// Returns the n-th session of FPM.
pub(crate) fn session(number: u32) -> Session {
    Session { feed: Feed::Fpm, number }
}

/// Plays a stream as one connection, and returns how it ended.
pub(crate) fn play(
    router: &mut Router,
    number: u32,
    bytes: &[u8],
    now: Instant,
) -> Result<usize, fibula_router::Error> {
    let (mut batch, end) = read(number, bytes, true);
    batch.marks.push(Mark::Ended(session(number)));
    router.apply(batch, now);
    end
}

/// Plays a well-formed stream as a connection that stays open.
pub(crate) fn tell(router: &mut Router, number: u32, bytes: &[u8], now: Instant) {
    let (batch, end) = read(number, bytes, true);
    end.unwrap();
    router.apply(batch, now);
}

/// As [`tell`], for a connection that was open before.
pub(crate) fn tell_more(router: &mut Router, number: u32, bytes: &[u8], now: Instant) {
    let (batch, end) = read(number, bytes, false);
    end.unwrap();
    router.apply(batch, now);
}

fn read(number: u32, bytes: &[u8], begins: bool) -> (Batch<Router>, Result<usize, fibula_router::Error>) {
    let queue = Queue::default();
    if begins {
        queue.fill(|batch| batch.marks.push(Mark::Begun(session(number))));
    }
    let end = fpm::read(bytes, session(number), &queue);
    (queue.take(None, Duration::ZERO), end)
}

/// Lets time pass.
pub(crate) fn pass(router: &mut Router, now: Instant) {
    router.apply(Batch::default(), now);
}

/// Returns the number in an environment variable, or `default` if there is none.
pub(crate) fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
}

/// Changes one to three bytes.
pub(crate) fn damage(bytes: &mut [u8], random: &mut fastrand::Rng) {
    for _ in 0..random.usize(1..4) {
        let at = random.usize(..bytes.len());
        bytes[at] = random.u8(..);
    }
}

/// A capture of a real zebra, where the folder of captures is.
pub(crate) fn capture(name: &str) -> Option<Vec<u8>> {
    let path = shared().join("harness/frr").join(name);
    let bytes = std::fs::read(&path).ok();
    if bytes.is_none() {
        eprintln!("skipped: no {}", path.display());
    }
    bytes
}

/// The folder of real tables and captures, beside the repository.
pub(crate) fn shared() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared")
}

/// Where a route leads: its legs (gateway, interface, weight), or a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Leads {
    Legs(Vec<(Option<IpAddr>, u32, u64)>),
    Word(String),
}

/// The routes of FPM frames, read by the plainest parser there can be.
#[derive(Debug, Default)]
pub(crate) struct Model {
    routes: BTreeMap<(u32, IpPrefix), Leads>,
    by_object: BTreeMap<(u32, IpPrefix), u32>,
    objects: BTreeMap<u32, Vec<u8>>,
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap())
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_ne_bytes(bytes[at..at + 2].try_into().unwrap())
}

fn ip(bytes: &[u8]) -> IpAddr {
    match <[u8; 4]>::try_from(bytes) {
        Ok(bytes) => bytes.into(),
        Err(_) => <[u8; 16]>::try_from(bytes).unwrap().into(),
    }
}

/// The attributes of a message, by their kinds.
fn attributes(bytes: &[u8]) -> BTreeMap<u16, &[u8]> {
    let (mut at, mut found) = (0, BTreeMap::new());
    while at + 4 <= bytes.len() {
        let length = usize::from(u16_at(bytes, at));
        found.insert(u16_at(bytes, at + 2) & 0x3FFF, &bytes[at + 4..at + length]);
        at += length.next_multiple_of(4);
    }
    found
}

/// The gateway of a leg: RTA_GATEWAY, or RTA_VIA.
fn gateway(attributes: &BTreeMap<u16, &[u8]>) -> Option<IpAddr> {
    attributes.get(&5).map(|bytes| ip(bytes)).or_else(|| attributes.get(&18).map(|bytes| ip(&bytes[2..])))
}

impl Model {
    /// Plays a well-formed stream of frames.
    pub(crate) fn play(&mut self, mut bytes: &[u8]) {
        while bytes.len() >= 4 {
            let length = usize::from(u16::from_be_bytes([bytes[2], bytes[3]]));
            let (frame, rest) = bytes.split_at(length);
            let mut messages = &frame[4..];
            while messages.len() >= 16 {
                let length = u32_at(messages, 0) as usize;
                self.message(u16_at(messages, 4), &messages[16..length]);
                messages = &messages[length.next_multiple_of(4).min(messages.len())..];
            }
            bytes = rest;
        }
    }

    fn message(&mut self, kind: u16, bytes: &[u8]) {
        match kind {
            24 | 25 => {
                let found = attributes(&bytes[12..]);
                let table = found.get(&15).map_or(u32::from(bytes[4]), |table| u32_at(table, 0));
                let unspecified = if bytes[0] == 2 { ip(&[0; 4]) } else { ip(&[0; 16]) };
                let address = found.get(&1).map_or(unspecified, |address| ip(address));
                let key = (table, IpPrefix::new(address, bytes[1]).unwrap());
                self.routes.remove(&key);
                self.by_object.remove(&key);
                if kind == 25 {
                    return;
                }
                let leads = match (bytes[7], found.get(&30), found.get(&9)) {
                    (6, ..) => Leads::Word("blackhole".into()),
                    (7, ..) => Leads::Word("unreachable".into()),
                    (8, ..) => Leads::Word("prohibit".into()),
                    (_, Some(object), _) => {
                        self.by_object.insert(key, u32_at(object, 0));
                        return;
                    }
                    (_, _, Some(hops)) => {
                        let (mut at, mut legs) = (0, Vec::new());
                        while at + 8 <= hops.len() {
                            let length = usize::from(u16_at(hops, at));
                            let found = attributes(&hops[at + 8..at + length]);
                            legs.push((gateway(&found), u32_at(hops, at + 4), u64::from(hops[at + 3]) + 1));
                            at += length.next_multiple_of(4);
                        }
                        Leads::Legs(legs)
                    }
                    _ => {
                        Leads::Legs(vec![(gateway(&found), found.get(&4).map_or(0, |oif| u32_at(oif, 0)), 1)])
                    }
                };
                self.routes.insert(key, leads);
            }
            104 | 105 => {
                let id = u32_at(attributes(&bytes[8..])[&1], 0);
                if kind == 104 {
                    self.objects.insert(id, bytes[8..].to_vec());
                } else {
                    self.objects.remove(&id);
                }
            }
            _ => {}
        }
    }

    fn object(&self, id: u32) -> Leads {
        let Some(bytes) = self.objects.get(&id) else { return Leads::Word("kernel".into()) };
        let found = attributes(bytes);
        if let Some(group) = found.get(&2) {
            let members = group.chunks(8).flat_map(|member| match self.object(u32_at(member, 0)) {
                Leads::Legs(legs) => {
                    legs.into_iter().map(|leg| (leg.0, leg.1, u64::from(member[4]) + 1)).collect()
                }
                Leads::Word(_) => Vec::new(),
            });
            let members: Vec<_> = members.collect();
            return if members.is_empty() { Leads::Word("kernel".into()) } else { Leads::Legs(members) };
        }
        if found.contains_key(&4) {
            return Leads::Word("blackhole".into());
        }
        Leads::Legs(vec![(found.get(&6).map(|bytes| ip(bytes)), u32_at(found[&5], 0), 1)])
    }

    /// Returns where every route leads.
    pub(crate) fn routes(&self) -> BTreeMap<(u32, IpPrefix), Leads> {
        let by_object = self.by_object.iter().map(|(&key, &id)| (key, self.object(id)));
        self.routes.iter().map(|(&key, leads)| (key, leads.clone())).chain(by_object).collect()
    }
}

/// Returns where every route of a router leads.
pub(crate) fn routes(router: &Router) -> BTreeMap<(u32, IpPrefix), Leads> {
    let mut found = BTreeMap::new();
    for size in router.status().tables {
        for family in [fibula::Family::Ipv4, fibula::Family::Ipv6] {
            for row in router.routes(size.table, family, None) {
                let legs = row.ways.iter();
                let leads = match row.ways[0].kind {
                    Way::Via | Way::OnLink => Leads::Legs(
                        legs.map(|way| (way.gateway, index(way.interface.as_deref()), way.weight)).collect(),
                    ),
                    word => Leads::Word(word.to_string()),
                };
                found.insert((size.table, row.prefix.parse().unwrap()), leads);
            }
        }
    }
    found
}

/// Without links the name of an interface is its index.
fn index(interface: Option<&str>) -> u32 {
    interface.unwrap().parse().unwrap()
}
