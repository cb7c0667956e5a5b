//! [`Paths`]: every peer's present paths, and which of them is best.

use super::{Event, Path, Peer, What};
use crate::table::{Value, list_of_origins};
use fibula::{IpPrefix, NextHopInfo};
use smallvec::SmallVec;
use std::collections::HashMap;
use std::net::IpAddr;

/// The peers whose routes are wanted.
#[derive(Clone, Copy, Debug)]
pub(crate) enum PeerChoice {
    /// All peers.
    All,
    /// The peer with this address.
    Address(IpAddr),
    /// The peers of this autonomous system.
    As(u32),
}

impl PeerChoice {
    /// Reads an address, or a number with or without `AS`; `None` is all peers.
    pub(crate) fn parse(text: Option<&str>) -> Result<Self, String> {
        let Some(text) = text else { return Ok(Self::All) };
        match NextHopInfo::parse(text.trim()) {
            NextHopInfo::AutonomousSystem(number) => Ok(Self::As(number)),
            NextHopInfo::Gateway { address: Some(address), .. } => Ok(Self::Address(address)),
            _ => Err(format!("peer {text:?} is neither an address nor an AS number")),
        }
    }

    fn wants(self, peer: Peer) -> bool {
        match self {
            Self::All => true,
            Self::Address(address) => peer.address == address,
            Self::As(asn) => peer.asn == asn,
        }
    }
}

/// One path to a prefix. Peers and values are numbered: there are few of them and millions of
/// paths.
#[derive(Clone, Copy, Debug)]
struct Held {
    peer: u32,
    path_id: u32,
    length: u32,
    value: u32,
}

/// What an event did to the best path of a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The best path was announced, changed or not. Holds its value.
    Announced(u32),
    /// No path is left.
    Withdrawn,
}

/// The paths of all wanted peers, as announced and withdrawn so far.
///
/// The best path has the shortest AS path. Among equals it is that of the peer with the lowest
/// address, then of the lowest path identifier. Routes of a dumped table compete without being
/// stored where no updates follow: nothing withdraws them, and a full dump of forty peers would
/// fill memory with paths that never win.
#[derive(Debug)]
pub(crate) struct Paths {
    choice: PeerChoice,
    value: Value,
    /// Whether routes of a dumped table are stored as all others, because updates follow.
    keeps_all: bool,
    held: HashMap<IpPrefix, SmallVec<[Held; 1]>>,
    peers: Vec<Peer>,
    peer_numbers: HashMap<Peer, u32>,
    values: Vec<NextHopInfo>,
    value_numbers: HashMap<NextHopInfo, u32>,
    /// The latest peer and value: neighbouring events mostly share them.
    last: Option<(Peer, u32)>,
    matched: bool,
    /// The paths of all prefixes.
    kept: usize,
    /// The bytes of the values' texts.
    text_bytes: usize,
}

impl Paths {
    pub(crate) fn new(choice: PeerChoice, value: Value) -> Self {
        Self {
            choice,
            value,
            keeps_all: false,
            held: HashMap::new(),
            peers: Vec::new(),
            peer_numbers: HashMap::new(),
            values: Vec::new(),
            value_numbers: HashMap::new(),
            last: None,
            matched: false,
            kept: 0,
            text_bytes: 0,
        }
    }

    /// Stores the routes of a dumped table too, so that what withdraws the best leaves the next.
    pub(crate) fn keeping_all(self, keeps_all: bool) -> Self {
        Self { keeps_all, ..self }
    }

    /// The values by their numbers.
    pub(crate) fn value(&self, number: u32) -> &NextHopInfo {
        &self.values[number as usize]
    }

    /// Returns why there is nothing: a peer was named and sent nothing.
    pub(crate) fn unmatched(&self) -> Option<String> {
        const SHOWN: usize = 8;
        let wanted = match self.choice {
            PeerChoice::All => return None,
            _ if self.matched => return None,
            PeerChoice::Address(address) => address.to_string(),
            PeerChoice::As(number) => format!("AS{number}"),
        };
        let mut peers: Vec<String> = self.peers.iter().take(SHOWN).map(ToString::to_string).collect();
        if self.peers.len() > SHOWN {
            peers.push(format!("{} more", self.peers.len() - SHOWN));
        }
        Some(format!("no route of peer {wanted} (there are {})", peers.join(", ")))
    }

    /// Applies an event. Calls `changed` for each prefix that it touches, with what it did.
    pub(crate) fn play(&mut self, event: &Event, mut changed: impl FnMut(IpPrefix, Outcome)) {
        let peer = self.peer_number(event.peer);
        if event.multicast || !self.choice.wants(event.peer) {
            return;
        }
        self.matched = true;
        match &event.what {
            What::Announce { prefix, path_id, path, dumped } => {
                let value = self.value_number(event.peer, path);
                let held = Held { peer, path_id: path_id.unwrap_or(0), length: path.length, value };
                if let Some(outcome) = self.announce(*prefix, held, *dumped && !self.keeps_all) {
                    changed(*prefix, outcome);
                }
            }
            What::Withdraw { prefix, path_id } => {
                let path_id = path_id.unwrap_or(0);
                let outcome = self.withdraw(*prefix, |held| (held.peer, held.path_id) == (peer, path_id));
                if let Some(outcome) = outcome {
                    changed(*prefix, outcome);
                }
            }
            What::State { from: 6, to } if *to != 6 => {
                let of_peer = |(prefix, held): (&IpPrefix, &SmallVec<[Held; 1]>)| {
                    held.iter().any(|held| held.peer == peer).then_some(*prefix)
                };
                let mut prefixes: Vec<IpPrefix> = self.held.iter().filter_map(of_peer).collect();
                prefixes.sort_unstable();
                for prefix in prefixes {
                    if let Some(outcome) = self.withdraw(prefix, |held| held.peer == peer) {
                        changed(prefix, outcome);
                    }
                }
            }
            What::State { .. } => {}
        }
    }

    /// Returns the number of prefixes.
    pub(crate) fn len(&self) -> usize {
        self.held.len()
    }

    /// Returns the bytes it takes.
    pub(crate) fn bytes(&self) -> u64 {
        let of_prefixes = self.held.len() * 2 * size_of::<(IpPrefix, SmallVec<[Held; 1]>)>();
        let of_paths = 2 * self.kept * size_of::<Held>();
        let of_values = self.values.len() * 3 * size_of::<NextHopInfo>() + self.text_bytes;
        (of_prefixes + of_paths + of_values + self.peers.len() * 4 * size_of::<Peer>()) as u64
    }

    /// The best path of every prefix, in order.
    pub(crate) fn best(&self) -> Vec<(IpPrefix, u32)> {
        let best = |(&prefix, held): (&IpPrefix, &SmallVec<[Held; 1]>)| {
            best_of(&self.peers, held).map(|best| (prefix, best.value))
        };
        let mut routes: Vec<(IpPrefix, u32)> = self.held.iter().filter_map(best).collect();
        routes.sort_unstable();
        routes
    }

    /// Returns the origins of all paths of every prefix, each a list.
    pub(crate) fn origins(&self) -> Vec<(IpPrefix, NextHopInfo)> {
        let mut routes: Vec<(IpPrefix, NextHopInfo)> = Vec::with_capacity(self.held.len());
        for (&prefix, held) in &self.held {
            routes.push((prefix, list_of_origins(held.iter().map(|held| self.value(held.value)))));
        }
        routes.sort_unstable_by_key(|&(prefix, _)| prefix);
        routes
    }

    fn announce(&mut self, prefix: IpPrefix, new: Held, dumped: bool) -> Option<Outcome> {
        let keeps_all = self.value == Value::Origins;
        let held = self.held.entry(prefix).or_default();
        let paths = held.len();
        let before = best_of(&self.peers, held);
        match held.iter().position(|held| (held.peer, held.path_id) == (new.peer, new.path_id)) {
            Some(index) => held[index] = new,
            None if dumped && keeps_all && held.iter().all(|held| held.value != new.value) => held.push(new),
            None if dumped && !held.is_empty() => {
                if rank(&self.peers, new) < rank(&self.peers, held[0]) {
                    held[0] = new;
                }
            }
            None => held.push(new),
        }
        self.kept += held.len() - paths;
        outcome(&self.peers, held, before, |held| (held.peer, held.path_id) == (new.peer, new.path_id))
    }

    fn withdraw(&mut self, prefix: IpPrefix, gone: impl Fn(&Held) -> bool) -> Option<Outcome> {
        // A withdrawal of what was never announced here is passed on: it may be of an earlier
        // route.
        let Some(held) = self.held.get_mut(&prefix) else { return Some(Outcome::Withdrawn) };
        let before = best_of(&self.peers, held);
        let paths = held.len();
        held.retain(|held| !gone(held));
        self.kept -= paths - held.len();
        if held.is_empty() {
            self.held.remove(&prefix);
            return Some(Outcome::Withdrawn);
        }
        outcome(&self.peers, held, before, |_| false)
    }

    fn peer_number(&mut self, peer: Peer) -> u32 {
        if let Some((last, number)) = self.last
            && last == peer
        {
            return number;
        }
        let next = self.peers.len() as u32;
        let number = *self.peer_numbers.entry(peer).or_insert_with(|| {
            self.peers.push(peer);
            next
        });
        self.last = Some((peer, number));
        number
    }

    fn value_number(&mut self, peer: Peer, path: &Path) -> u32 {
        let value = path.value(peer, self.value);
        if let Some(&number) = self.value_numbers.get(&value) {
            return number;
        }
        let number = self.values.len() as u32;
        if let NextHopInfo::Label(text) = &value {
            self.text_bytes += text.len();
        }
        self.values.push(value.clone());
        self.value_numbers.insert(value, number);
        number
    }
}

/// The order of paths; the least wins.
fn rank(peers: &[Peer], held: Held) -> (u32, Peer, u32) {
    (held.length, peers[held.peer as usize], held.path_id)
}

fn best_of(peers: &[Peer], held: &[Held]) -> Option<Held> {
    held.iter().copied().min_by_key(|held| rank(peers, *held))
}

/// Returns what to report after a change: the best path, if it is another than before or the one
/// just announced.
fn outcome(
    peers: &[Peer],
    held: &[Held],
    before: Option<Held>,
    announced: impl Fn(&Held) -> bool,
) -> Option<Outcome> {
    let best = best_of(peers, held)?;
    let same =
        before.is_some_and(|before| rank(peers, before) == rank(peers, best) && before.value == best.value);
    (!same || announced(&best)).then_some(Outcome::Announced(best.value))
}

#[cfg(test)]
mod tests {
    use super::super::Origin;
    use super::*;
    use std::time::Duration;

    const PREFIX: &[u8] = b"10.0.0.0/8";

    fn event(peer: u8, what: What) -> Event {
        let peer = Peer { address: [192, 0, 2, peer].into(), asn: 64_500 + u32::from(peer) };
        Event { offset: 0, time: Duration::ZERO, peer, multicast: false, what }
    }

    fn announce(peer: u8, length: u32, dumped: bool) -> Event {
        let next_hop = Some([192, 0, 2, peer].into());
        let path = Path { next_hop, origin: Origin::As(64_500 + u32::from(peer)), length, details: None };
        let prefix = crate::scan::prefix(PREFIX, false).unwrap();
        event(peer, What::Announce { prefix, path_id: None, path, dumped })
    }

    fn withdraw(peer: u8) -> Event {
        event(peer, What::Withdraw { prefix: crate::scan::prefix(PREFIX, false).unwrap(), path_id: None })
    }

    fn play(choice: PeerChoice, events: &[Event]) -> Vec<String> {
        let mut paths = Paths::new(choice, Value::NextHop);
        let mut outcomes = Vec::new();
        for event in events {
            paths.play(event, |_, outcome| outcomes.push(outcome));
        }
        let name = |outcome| match outcome {
            Outcome::Announced(value) => paths.value(value).to_string(),
            Outcome::Withdrawn => "-".to_owned(),
        };
        outcomes.into_iter().map(name).collect()
    }

    #[test]
    fn the_shortest_path_then_the_lowest_peer_wins() {
        let all = PeerChoice::All;
        let events =
            [announce(3, 4, false), announce(2, 4, false), announce(1, 5, false), withdraw(2), withdraw(3)];
        assert_eq!(play(all, &events), ["192.0.2.3", "192.0.2.2", "192.0.2.3", "192.0.2.1"]);
        let events = [announce(1, 1, false), announce(2, 2, false), withdraw(2), withdraw(1), withdraw(1)];
        assert_eq!(play(all, &events), ["192.0.2.1", "-", "-"]);
        // A path that grows longer loses to the next. An announcement of the same best path is
        // reported again.
        let events =
            [announce(1, 1, false), announce(2, 2, false), announce(1, 3, false), announce(2, 2, false)];
        assert_eq!(play(all, &events), ["192.0.2.1", "192.0.2.2", "192.0.2.2"]);
    }

    #[test]
    fn a_session_that_ends_takes_its_routes_along() {
        let down = event(1, What::State { from: 6, to: 1 });
        let idle = event(2, What::State { from: 3, to: 1 });
        let events = [announce(1, 1, false), announce(2, 2, false), idle, down];
        assert_eq!(play(PeerChoice::All, &events), ["192.0.2.1", "192.0.2.2"]);
    }

    #[test]
    fn a_named_peer_is_heard_alone() {
        let events = [announce(1, 1, false), announce(2, 2, false), withdraw(1)];
        assert_eq!(play(PeerChoice::parse(Some("192.0.2.2")).unwrap(), &events), ["192.0.2.2"]);
        assert_eq!(play(PeerChoice::parse(Some("AS64501")).unwrap(), &events), ["192.0.2.1", "-"]);
        assert!(PeerChoice::parse(Some("x")).is_err());
        let mut paths = Paths::new(PeerChoice::As(1), Value::NextHop);
        paths.play(&events[0], |_, _| {});
        assert_eq!(paths.unmatched().unwrap(), "no route of peer AS1 (there are 192.0.2.1 (AS64501))");
    }

    #[test]
    fn dumped_routes_compete() {
        let mut paths = Paths::new(PeerChoice::All, Value::NextHop);
        for event in [announce(3, 4, true), announce(2, 3, true), announce(1, 5, true)] {
            paths.play(&event, |_, _| {});
        }
        let best = paths.best();
        assert_eq!(paths.value(best[0].1).to_string(), "192.0.2.2");
    }
    #[test]
    fn the_origins_of_all_routes_are_kept() {
        let of = |events: &[Event]| {
            let mut paths = Paths::new(PeerChoice::All, Value::Origins);
            for event in events {
                paths.play(event, |_, _| {});
            }
            paths.origins().into_iter().map(|(_, origins)| origins.to_string()).collect::<Vec<_>>()
        };
        for dumped in [false, true] {
            let events = [announce(3, 4, dumped), announce(1, 5, dumped), announce(3, 2, dumped)];
            assert_eq!(of(&events), ["[64501,64503]"]);
        }
        assert_eq!(of(&[announce(3, 4, false), announce(1, 5, false), withdraw(3)]), ["[64501]"]);
    }
}
