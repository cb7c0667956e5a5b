//! [`Paths`]: every peer's present paths, and what they say of each prefix.

mod best;
mod lists;
mod numbers;
mod peers;
mod stale;
#[cfg(test)]
mod tests;
mod thrift;

use super::{Event, Path, Peer, Preference, Speaker, What, as_number};
use crate::table::{Value, list_of_origins};
use best::best;
use fibula::{IpPrefix, NextHopInfo};
use lists::{List, Lists};
use peers::{PeerNumber, Peers};
use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::time::Duration;
use thrift::Thrift;

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
        let Some(text) = text.map(str::trim) else { return Ok(Self::All) };
        if let Ok(address) = text.parse() {
            return Ok(Self::Address(address));
        }
        let number = as_number(text).map(Self::As);
        number.map_err(|_| format!("peer {text:?} is neither an address nor an AS number"))
    }

    fn wants(self, peer: Peer) -> bool {
        match self {
            Self::All => true,
            Self::Address(address) => peer.address == address,
            Self::As(asn) => peer.asn == asn,
        }
    }
}

/// One path to a prefix. Peers, values and ranks are numbered: there are few of them and millions
/// of paths.
#[derive(Clone, Copy, Debug)]
struct Held {
    peer: PeerNumber,
    path_id: u32,
    value: u32,
    rank: u32,
}

/// What route selection compares of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Rank {
    length: u32,
    preference: Preference,
}

/// The dumped record that is read.
#[derive(Debug)]
struct Record {
    prefix: IpPrefix,
    time: Duration,
    list: u32,
    /// Whether there was no path to the prefix before, and else the paths that it has.
    is_first: bool,
    paths: Vec<(PeerNumber, u32)>,
}

/// Counts the paths of each peer while those to a prefix change.
struct Count<'p> {
    peers: &'p mut Peers,
    family: usize,
}

impl Count<'_> {
    fn came(&mut self, held: &Held) {
        self.peers[held.peer].kept[self.family] += 1;
    }

    /// Notes that a path goes. Returns true.
    fn gone(&mut self, held: &Held) -> bool {
        self.peers[held.peer].kept[self.family] -= 1;
        true
    }
}

/// What an event did to the answer for a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// The number of its value now; `None` if no path is left.
    pub(crate) value: Option<u32>,
    /// Whether it had another value before. An announcement of the best path is told without a
    /// change too, and so is the withdrawal of a prefix of which nothing is known.
    pub(crate) is_change: bool,
}

/// The paths of all wanted peers, as dumped, announced and withdrawn so far.
///
/// The answer for a prefix is the value of its [best](best) path, or for [`Value::Origins`] the
/// origins of all of its paths. What a dumped table says of a prefix holds from the time of its
/// record on: an update from before does not change it, however the records are ordered.
#[derive(Debug)]
pub(crate) struct Paths {
    choice: PeerChoice,
    value: Value,
    lists: Lists,
    peers: Peers,
    values: Vec<NextHopInfo>,
    value_numbers: HashMap<NextHopInfo, u32>,
    ranks: Vec<Rank>,
    rank_numbers: HashMap<Rank, u32>,
    /// The value and the prefix of the event before, which neighbouring events share.
    last_value: u32,
    last_prefix: Option<(IpPrefix, u32)>,
    /// When the first table began to be dumped, in seconds.
    first_dump: Option<u32>,
    record: Option<Record>,
    /// The peers that have stale paths of IPv4, and of IPv6.
    behind: [HashSet<Peer>; 2],
    thrift: Thrift,
    matched: bool,
    /// The bytes of the values' texts.
    text_bytes: usize,
}

impl Paths {
    pub(crate) fn new(choice: PeerChoice, value: Value) -> Self {
        Self {
            choice,
            value,
            lists: Lists::default(),
            peers: Peers::default(),
            values: Vec::new(),
            value_numbers: HashMap::new(),
            ranks: Vec::new(),
            rank_numbers: HashMap::new(),
            last_value: 0,
            last_prefix: None,
            first_dump: None,
            record: None,
            behind: Default::default(),
            thrift: Thrift::default(),
            matched: false,
            text_bytes: 0,
        }
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
        let mut peers: Vec<String> =
            self.peers.iter().take(SHOWN).map(|known| known.peer.to_string()).collect();
        let more = self.peers.iter().skip(SHOWN).count();
        if more > 0 {
            peers.push(format!("{more} more"));
        }
        Some(format!("no route of peer {wanted} (there are {})", peers.join(", ")))
    }

    /// Applies an event. Returns false if it changes nothing, because a table was dumped after it.
    pub(crate) fn apply(&mut self, event: &Event) -> bool {
        self.take(event, None::<&mut fn(IpPrefix, Outcome)>)
    }

    /// As [`apply`](Self::apply). Calls `changed` for each prefix that the event touches, with what
    /// it did.
    pub(crate) fn play(&mut self, event: &Event, mut changed: impl FnMut(IpPrefix, Outcome)) -> bool {
        self.take(event, Some(&mut changed))
    }

    fn take(&mut self, event: &Event, mut told: Option<&mut impl FnMut(IpPrefix, Outcome)>) -> bool {
        let peers = self.peers.len();
        let peer = self.peers.number(event.peer);
        if self.learn(peer, event.speaker, told.as_deref_mut()) && peers == self.peers.len() {
            self.need_all();
        }
        if let What::Announce { dumped: Some(began), .. } = event.what {
            let seconds = seconds(began.min(event.time));
            self.first_dump = Some(self.first_dump.map_or(seconds, |first| first.min(seconds)));
        }
        if let What::EndOfRib { is_ipv6 } = event.what {
            self.end_of_rib(peer, is_ipv6, told);
            return true;
        }
        if event.multicast || !self.choice.wants(event.peer) {
            return true;
        }
        self.matched = true;
        if !matches!(event.what, What::Announce { dumped: Some(_), .. } | What::Open) {
            self.need_all();
        }
        match &event.what {
            What::Announce { prefix, path_id, path, dumped } => {
                let value = self.value_number(path.value(event.peer, self.value), peer);
                let rank = self.rank_number(path, peer);
                let new = Held { peer, path_id: path_id.unwrap_or(0), value, rank };
                self.peers[peer].is_up = true;
                if dumped.is_some() {
                    self.dump(*prefix, event.time, new, told);
                    return true;
                }
                if self.is_before_dump(*prefix, event.time) {
                    return false;
                }
                let is_it = self.is_path(peer, new.path_id);
                self.edit(*prefix, told, Some(new), |list, count| {
                    count.came(&new);
                    list.put(new, |held| is_it(held) && count.gone(held));
                });
            }
            What::Withdraw { prefix, path_id } => {
                if self.is_before_dump(*prefix, event.time) {
                    return false;
                }
                let is_it = self.is_path(peer, path_id.unwrap_or(0));
                self.edit(*prefix, told, None, |list, count| {
                    list.drop_if(|held| is_it(held) && count.gone(held));
                });
            }
            // A session begins without routes, also where the end of the one before was not told.
            // Stale ones are those of a session that the feed did not tell the end of.
            What::State { from, to } if (*from == 6) != (*to == 6) => {
                self.peers[peer].is_up = *to == 6;
                self.drop_paths(peer, event.time, told.as_deref_mut());
                if *from == 6 {
                    self.drop_stale(peer, event.time, told);
                }
            }
            What::EndOfRib { .. } | What::Open | What::State { .. } => {}
        }
        true
    }

    /// Drops the paths of a peer from before a time.
    fn drop_paths(
        &mut self,
        peer: PeerNumber,
        time: Duration,
        mut told: Option<&mut impl FnMut(IpPrefix, Outcome)>,
    ) {
        for is_ipv6 in [false, true] {
            self.each_of(is_ipv6, &[peer], |paths, prefix, list| {
                if paths.lists.dumped(list) <= seconds(time) {
                    paths.drop_those(prefix, list, &[peer], told.as_deref_mut());
                }
            });
        }
    }

    /// Returns whether a table was dumped after a time, and tells of the prefix, or began to be.
    fn is_before_dump(&self, prefix: IpPrefix, time: Duration) -> bool {
        let Some(first) = self.first_dump else { return false };
        let dumped = self.lists.get(prefix).map_or(0, |list| self.lists.dumped(list));
        seconds(time) < first.max(dumped)
    }

    /// Adds a path of a dumped table. A record without path identifiers may have several of a peer.
    fn dump(
        &mut self,
        prefix: IpPrefix,
        time: Duration,
        new: Held,
        told: Option<&mut impl FnMut(IpPrefix, Outcome)>,
    ) {
        let mut record = match self.record.take() {
            Some(record) if (record.prefix, record.time) == (prefix, time) => record,
            before => self.next_record(before, prefix, time),
        };
        let key = (new.peer, new.path_id);
        self.edit(prefix, told, Some(new), |list, count| {
            count.came(&new);
            // What the record itself has said of the peer stays.
            if record.is_first || record.paths.contains(&key) {
                list.push(new);
            } else {
                list.put(new, |held| (held.peer, held.path_id) == key && count.gone(held));
            }
        });
        if let Some((_, list)) = self.last_prefix {
            self.lists.note_dump(list, seconds(time));
        }
        if !record.is_first {
            record.paths.push(key);
        }
        self.record = Some(record);
    }

    /// Begins a record, and gives back the room that the list of the one before does not take.
    fn next_record(&mut self, before: Option<Record>, prefix: IpPrefix, time: Duration) -> Record {
        let mut paths = Vec::new();
        if let Some(before) = before {
            if self.thrift != Thrift::KeepsAll {
                self.drop_unchosen(before.prefix, before.list);
            }
            self.lists.shrink(before.list);
            paths = before.paths;
            paths.clear();
        }
        let known = self.lists.get(prefix);
        if known.is_some() {
            self.need_all();
        }
        let list = known.unwrap_or_else(|| self.lists.add(prefix));
        self.last_prefix = Some((prefix, list));
        Record { prefix, time, list, is_first: known.is_none(), paths }
    }

    /// Changes the paths to a prefix, and tells what that did.
    fn edit(
        &mut self,
        prefix: IpPrefix,
        told: Option<&mut impl FnMut(IpPrefix, Outcome)>,
        announced: Option<Held>,
        edit: impl FnOnce(&mut List, &mut Count<'_>),
    ) {
        let number = match self.last_prefix {
            Some((last, number)) if last == prefix => Some(number),
            _ => self.lists.get(prefix),
        };
        let number = match (number, announced) {
            (Some(number), _) => number,
            (None, Some(_)) => self.lists.add(prefix),
            // It may be of a route from before all that was told.
            (None, None) => {
                if let Some(told) = told {
                    told(prefix, Outcome { value: None, is_change: false });
                }
                return;
            }
        };
        self.last_prefix = Some((prefix, number));
        self.edit_list(prefix, number, told, announced, edit);
    }

    /// As [`edit`](Self::edit), for a prefix that has this list.
    fn edit_list(
        &mut self,
        prefix: IpPrefix,
        number: u32,
        told: Option<&mut impl FnMut(IpPrefix, Outcome)>,
        announced: Option<Held>,
        edit: impl FnOnce(&mut List, &mut Count<'_>),
    ) {
        let before = if told.is_some() { self.answer(number) } else { None };
        let Self { lists, peers, .. } = self;
        let mut count = Count { peers, family: family(prefix) };
        let is_empty = lists.change(number, |list| {
            edit(list, &mut count);
            list.is_empty()
        });
        if let Some(told) = told {
            let value = self.answer(number);
            let is_best = announced.is_some_and(|new| self.is_best(number, new));
            if value != before || is_best || value.is_none() {
                told(prefix, Outcome { value, is_change: value != before });
            }
        }
        if is_empty {
            self.lists.remove(prefix, number);
            self.last_prefix = None;
            self.record.take_if(|record| record.list == number);
        }
    }

    fn best(&self, list: u32) -> Option<Held> {
        best(self.lists.paths(list), &self.ranks, &self.peers)
    }

    /// Returns whether a path that was announced is the one that answers, or one of them.
    fn is_best(&self, list: u32, new: Held) -> bool {
        let is_new = |best: Held| (best.peer, best.path_id) == (new.peer, new.path_id);
        self.value == Value::Origins || self.best(list).is_some_and(is_new)
    }

    /// Returns the number of the value of a list; `None` if it has no path.
    fn answer(&mut self, list: u32) -> Option<u32> {
        if self.value != Value::Origins {
            return self.best(list).map(|best| best.value);
        }
        let paths = self.lists.paths(list);
        let peer = paths.first()?.peer;
        let origins = list_of_origins(paths.iter().map(|held| &self.values[held.value as usize]));
        Some(self.value_number(origins, peer))
    }

    /// Returns the number of prefixes.
    pub(crate) fn len(&self) -> usize {
        self.lists.len()
    }

    /// Returns the bytes it takes.
    pub(crate) fn bytes(&self) -> u64 {
        let of_values = self.values.len() * 3 * size_of::<NextHopInfo>() + self.text_bytes;
        let of_ranks = self.ranks.len() * 4 * size_of::<Rank>();
        (self.lists.bytes() + of_values + of_ranks + self.peers.bytes()) as u64
    }

    /// Returns the number of the value of every prefix, in order.
    pub(crate) fn answers(&mut self) -> Vec<(IpPrefix, u32)> {
        let lists: Vec<(IpPrefix, u32)> = self.lists.iter().collect();
        lists.into_iter().filter_map(|(prefix, list)| Some((prefix, self.answer(list)?))).collect()
    }

    /// Notes what a message tells of a peer. Returns whether that may change the rank of paths that
    /// it has sent.
    fn learn(
        &mut self,
        peer: PeerNumber,
        speaker: Speaker,
        told: Option<&mut impl FnMut(IpPrefix, Outcome)>,
    ) -> bool {
        let known = self.peers[peer].speaker;
        let router_id = speaker.router_id.or(known.router_id);
        let is_internal = speaker.is_internal.or(known.is_internal);
        if (router_id, is_internal) == (known.router_id, known.is_internal) {
            return false;
        }
        // An AS that is not told counts as another one.
        let is_ranked_otherwise = router_id != known.router_id
            || is_internal.unwrap_or(false) != known.is_internal.unwrap_or(false);
        let both = [peer, self.peers[peer].stale.unwrap_or(peer)];
        let mut before = Vec::new();
        if is_ranked_otherwise && told.is_some() {
            for is_ipv6 in [false, true] {
                self.each_of(is_ipv6, &both, |paths, prefix, list| {
                    before.push((prefix, list, paths.answer(list)));
                });
            }
        }
        for peer in both {
            self.peers[peer].speaker = Speaker { router_id, is_internal };
        }
        let Some(told) = told else { return is_ranked_otherwise };
        for (prefix, list, before) in before {
            let value = self.answer(list);
            if value != before {
                told(prefix, Outcome { value, is_change: true });
            }
        }
        is_ranked_otherwise
    }

    /// Calls `take` with the prefixes of a family, and their lists, that have a path of some peers,
    /// in order.
    fn each_of(
        &mut self,
        is_ipv6: bool,
        peers: &[PeerNumber],
        mut take: impl FnMut(&mut Self, IpPrefix, u32),
    ) {
        // A list of all would take more memory than their paths.
        const SOME: usize = 1 << 12;
        let mut last = None;
        while peers.iter().any(|&peer| self.peers[peer].kept[usize::from(is_ipv6)] > 0) {
            let is_one = |held: &Held| peers.contains(&held.peer);
            let some = self.lists.some_after(is_ipv6, last, SOME, |paths| paths.iter().any(is_one));
            let Some(&(end, _)) = some.last() else { return };
            for (prefix, list) in some {
                take(self, prefix, list);
            }
            last = Some(end);
        }
    }
}

/// Returns 0 for a prefix of IPv4, and 1 for one of IPv6.
fn family(prefix: IpPrefix) -> usize {
    usize::from(matches!(prefix, IpPrefix::V6(_)))
}

/// Returns the second of an event: records of dumps tell no more.
fn seconds(time: Duration) -> u32 {
    u32::try_from(time.as_secs()).unwrap_or(u32::MAX)
}
