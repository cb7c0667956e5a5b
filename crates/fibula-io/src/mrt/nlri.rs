//! The prefixes of UPDATE messages, and whether they come with path identifiers.
//!
//! With ADD-PATH (RFC 7911) each prefix follows an identifier of 4 bytes. Records say so by their
//! subtype (RFC 8050), but older writers leave that out. A list is then read as it is marked,
//! unless only the other reading makes sense: see [`Sessions`].

use super::Peer;
use bytes::Bytes;
use fibula::IpPrefix;
use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::net::IpAddr;

/// Whether prefixes come with path identifiers, where the records do not say so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Hash)]
pub enum AddPath {
    /// As all lists of the peer together make sense. What is guessed is told.
    #[default]
    Guess,
    /// They do.
    Yes,
    /// They do not.
    No,
}

/// What a list does with its prefixes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Withdrawn,
    Announced,
}

/// A list of prefixes in a message.
#[derive(Clone, Debug)]
pub(super) struct List {
    pub(super) kind: Kind,
    /// The subsequent address family: 1 is unicast, 2 multicast.
    pub(super) safi: u8,
    is_ipv4: bool,
    /// The next hop that a multiprotocol attribute has.
    pub(super) next_hop: Option<IpAddr>,
    /// Whether it is of a multiprotocol attribute.
    pub(super) is_multiprotocol: bool,
    /// Whether its prefixes have path identifiers.
    pub(super) add_path: bool,
    bytes: Bytes,
}

/// A prefix of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) prefix: IpPrefix,
    pub(super) path_id: Option<u32>,
    /// Whether a bit is set after the length, which RFC 4271 allows and nobody writes.
    has_host_bits: bool,
}

/// The lists of a message.
#[derive(Clone, Debug, Default)]
pub(super) struct Lists {
    pub(super) all: Vec<List>,
    /// Whether there are routes of another family: VPNs, flow specifications and the like.
    pub(super) has_others: bool,
    /// The family that the message is an End-of-RIB of, if it is one: whether that is IPv6.
    pub(super) ends: Option<bool>,
}

impl Lists {
    /// Reads the lists of an UPDATE without its header; `None` if a length leads past its end.
    pub(super) fn of(update: &Bytes) -> Option<Self> {
        let mut lists = Self { ends: ended(update), ..Self::default() };
        let at =
            |offset: usize| Some(usize::from(u16::from_be_bytes(*update.get(offset..)?.first_chunk::<2>()?)));
        let withdrawn_end = 2 + at(0)?;
        let attributes = withdrawn_end + 2;
        let end = attributes + at(withdrawn_end)?;
        update.get(..end)?;
        lists.plain(Kind::Withdrawn, update.slice(2..withdrawn_end));
        let mut offset = attributes;
        while let Some(&[flags, code]) = update[offset..end].first_chunk::<2>() {
            let is_long = flags & 0x10 != 0;
            let (length, from) = if is_long {
                (at(offset + 2)?, offset + 4)
            } else {
                (usize::from(*update.get(offset + 2)?), offset + 3)
            };
            if from + length > end {
                break; // what decodes the attributes says so
            }
            match code {
                14 => lists.reachable(&update.slice(from..from + length)),
                15 => lists.unreachable(&update.slice(from..from + length)),
                _ => {}
            }
            offset = from + length;
        }
        lists.plain(Kind::Announced, update.slice(end..));
        Some(lists)
    }

    /// Says whether the prefixes of IPv4 and of IPv6 have path identifiers.
    pub(super) fn mark(&mut self, add_path: [bool; 2]) {
        for list in &mut self.all {
            list.add_path = add_path[usize::from(!list.is_ipv4)];
        }
    }

    fn plain(&mut self, kind: Kind, bytes: Bytes) {
        let (safi, is_ipv4, next_hop, is_multiprotocol, add_path) = (1, true, None, false, false);
        if !bytes.is_empty() {
            self.all.push(List { kind, safi, is_ipv4, next_hop, is_multiprotocol, add_path, bytes });
        }
    }

    /// MP_REACH_NLRI (RFC 4760 section 3).
    fn reachable(&mut self, attribute: &Bytes) {
        let Some(&[a0, a1, safi, length]) = attribute.first_chunk::<4>() else { return };
        let rest = attribute.slice(4..);
        let Some((next_hop, rest)) = rest.split_at_checked(length.into()) else { return };
        let address = next_hop_of(next_hop);
        if let Some((_, prefixes)) = rest.split_first() {
            self.multiprotocol(Kind::Announced, [a0, a1], safi, address, attribute.slice_ref(prefixes));
        }
    }

    /// MP_UNREACH_NLRI (RFC 4760 section 4).
    fn unreachable(&mut self, attribute: &Bytes) {
        if let Some(&[a0, a1, safi]) = attribute.first_chunk::<3>() {
            self.multiprotocol(Kind::Withdrawn, [a0, a1], safi, None, attribute.slice(3..));
        }
    }

    fn multiprotocol(&mut self, kind: Kind, afi: [u8; 2], safi: u8, next_hop: Option<IpAddr>, bytes: Bytes) {
        match (afi, safi) {
            ([0, afi @ (1 | 2)], 1 | 2) => {
                let (is_ipv4, is_multiprotocol, add_path) = (afi == 1, true, false);
                self.all.push(List { kind, safi, is_ipv4, next_hop, is_multiprotocol, add_path, bytes });
            }
            _ => self.has_others |= !bytes.is_empty(),
        }
    }
}

/// Returns whether an UPDATE is an End-of-RIB of IPv6, or of IPv4 (RFC 4724 section 2): it is
/// empty, or has one MP_UNREACH_NLRI without a prefix.
fn ended(update: &[u8]) -> Option<bool> {
    let attributes = update.strip_prefix(&[0, 0])?;
    match attributes {
        [0, 0] => Some(false),
        [0, 6, flags, 15, 3, 0, afi @ (1 | 2), 1] if flags & 0x10 == 0 => Some(*afi == 2),
        [0, 7, flags, 15, 0, 3, 0, afi @ (1 | 2), 1] if flags & 0x10 != 0 => Some(*afi == 2),
        _ => None,
    }
}

impl List {
    /// Reads the prefixes. After what cannot be read comes one error.
    pub(super) fn entries(&self) -> impl Iterator<Item = Result<Entry, &'static str>> + '_ {
        self.read(self.add_path)
    }

    fn read(&self, add_path: bool) -> impl Iterator<Item = Result<Entry, &'static str>> + '_ {
        let mut rest = &self.bytes[..];
        std::iter::from_fn(move || {
            (!rest.is_empty()).then(|| {
                let read = entry(&mut rest, self.is_ipv4, add_path);
                if read.is_err() {
                    rest = &[];
                }
                read
            })
        })
    }

    /// Returns how well a reading fits.
    fn fit(&self, add_path: bool) -> Fit {
        let mut known = HashSet::new();
        let mut fit = Fit::Clean;
        for entry in self.read(add_path) {
            match entry {
                Err(_) => return Fit::Wrong,
                Ok(entry) if entry.has_host_bits || !known.insert((entry.prefix, entry.path_id)) => {
                    fit = Fit::Odd;
                }
                Ok(_) => {}
            }
        }
        fit
    }
}

/// Reads a next hop: an address, or a global and a link-local one, of which the second is used
/// where the first is `::` (RFC 2545 section 3).
pub(super) fn next_hop_of(bytes: &[u8]) -> Option<IpAddr> {
    let ipv6 = |octets: &[u8]| octets.first_chunk::<16>().map(|octets| IpAddr::from(*octets));
    match bytes.len() {
        4 => bytes.first_chunk::<4>().map(|octets| IpAddr::from(*octets)),
        16 => ipv6(bytes),
        32 => ipv6(bytes).filter(|global| !global.is_unspecified()).or_else(|| ipv6(&bytes[16..])),
        _ => None,
    }
}

/// Reads one prefix.
fn entry(rest: &mut &[u8], is_ipv4: bool, add_path: bool) -> Result<Entry, &'static str> {
    let mut path_id = None;
    if add_path {
        let (id, after) = rest.split_first_chunk::<4>().ok_or("a path identifier is cut off")?;
        path_id = Some(u32::from_be_bytes(*id));
        *rest = after;
    }
    let (&length, after) = rest.split_first().ok_or("a prefix is cut off")?;
    let bits = if is_ipv4 { 32 } else { 128 };
    if length > bits {
        return Err("a prefix length is past the bits of the family");
    }
    let (octets, after) =
        after.split_at_checked(usize::from(length).div_ceil(8)).ok_or("a prefix is cut off")?;
    *rest = after;
    let mut address = [0; 16];
    address[..octets.len()].copy_from_slice(octets);
    let [a, b, c, d, ..] = address;
    let address = if is_ipv4 { IpAddr::from([a, b, c, d]) } else { IpAddr::from(address) };
    let prefix =
        IpPrefix::masked(address, length).map_err(|_| "a prefix length is past the bits of the family")?;
    Ok(Entry { prefix, path_id, has_host_bits: IpPrefix::new(address, length).is_err() })
}

/// How well a reading of a list fits. Nobody announces a prefix twice in one message, or sets bits
/// after its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    Wrong,
    Odd,
    Clean,
}

/// The sessions of a stream, each of one peer and family.
#[derive(Debug, Default)]
pub(super) struct Sessions(HashMap<(Peer, bool), Session>);

/// What the lists of a session that are not marked have shown so far.
#[derive(Clone, Copy, Debug, Default)]
struct Session {
    /// The lists that only fit as plain prefixes, and those that only fit with identifiers.
    plain: u64,
    with_ids: u64,
    /// Whether records of the peer are marked. What is not marked then is plain.
    is_marked: bool,
}

impl Sessions {
    /// Takes the lists of a message into account.
    pub(super) fn learn(&mut self, peer: Peer, is_marked: bool, lists: &[List]) {
        for list in lists {
            let session = self.0.entry((peer, list.is_ipv4)).or_default();
            session.is_marked |= is_marked;
            if !session.is_decided() {
                session.learn(list);
            }
        }
    }

    /// Decides of each list of a message whether it has path identifiers. Returns the guess, if one
    /// of them may be read in both ways.
    pub(super) fn decide(
        &self,
        peer: Peer,
        is_marked: bool,
        wanted: AddPath,
        lists: &mut [List],
    ) -> Option<&'static str> {
        let mut guess = None;
        for list in lists {
            list.add_path = match wanted {
                _ if is_marked => true,
                AddPath::Yes => true,
                AddPath::No => false,
                AddPath::Guess => {
                    let session = self.0.get(&(peer, list.is_ipv4)).copied().unwrap_or_default();
                    let reading = if session.is_decided() { Reading::Plain } else { session.reading(list) };
                    match reading {
                        Reading::Plain => {}
                        Reading::GuessedPlain => guess = guess.or(Some(GUESSED_PLAIN)),
                        Reading::GuessedWithIds => guess = Some(GUESSED_WITH_IDS),
                    }
                    reading == Reading::GuessedWithIds
                }
            };
        }
        guess
    }
}

/// The guesses that are told, each with its peer.
const GUESSED_PLAIN: &str = "no path identifiers, as it is marked, though the prefixes fit with some too";
const GUESSED_WITH_IDS: &str = "path identifiers, which the records do not say";

/// How a list that is not marked is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reading {
    Plain,
    GuessedPlain,
    GuessedWithIds,
}

impl Session {
    /// Whether no other list can change what is known: lists are plain.
    fn is_decided(self) -> bool {
        const ENOUGH: u64 = 100;
        self.is_marked || self.with_ids == 0 && self.plain >= ENOUGH
    }

    fn learn(&mut self, list: &List) {
        match list.fit(true) {
            Fit::Wrong => self.plain += 1,
            Fit::Odd => self.plain += u64::from(list.fit(false) == Fit::Clean),
            Fit::Clean => self.with_ids += u64::from(list.fit(false) != Fit::Clean),
        }
    }

    /// Returns how a list that is not marked is read. Where both readings fit, the peer's other
    /// lists decide, and without any the better fit.
    fn reading(self, list: &List) -> Reading {
        match (list.fit(false), list.fit(true)) {
            (_, Fit::Wrong) => Reading::Plain,
            (Fit::Wrong, _) => Reading::GuessedWithIds,
            (plain, with_ids) if self.plain == self.with_ids => match plain.cmp(&with_ids) {
                Ordering::Greater => Reading::Plain,
                Ordering::Equal => Reading::GuessedPlain,
                Ordering::Less => Reading::GuessedWithIds,
            },
            _ if self.with_ids > self.plain => Reading::GuessedWithIds,
            _ => Reading::Plain,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PEER: Peer = Peer { address: IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), asn: 1 };

    fn list(bytes: &[u8]) -> Vec<List> {
        let mut lists = Lists::default();
        lists.plain(Kind::Announced, Bytes::from(bytes.to_vec()));
        lists.all
    }

    fn has_ids(sessions: &mut Sessions, bytes: &[u8]) -> bool {
        let mut lists = list(bytes);
        sessions.learn(PEER, false, &lists);
        sessions.decide(PEER, false, AddPath::Guess, &mut lists);
        lists[0].add_path
    }

    #[test]
    fn a_link_local_next_hop_beside_none_is_used() {
        let (none, local) = ([0; 16], "fe80::1".parse::<std::net::Ipv6Addr>().unwrap());
        let global = "2001:db8::1".parse::<std::net::Ipv6Addr>().unwrap();
        let of = |first: [u8; 16]| next_hop_of(&[first, local.octets()].concat());
        assert_eq!((of(none), of(global.octets())), (Some(local.into()), Some(global.into())));
    }

    #[test]
    fn a_default_route_before_others_is_no_identifier() {
        for bytes in [&[0, 24, 1, 0, 0][..], &[0, 16, 10, 1, 16, 10, 2], &[0]] {
            assert!(!has_ids(&mut Sessions::default(), bytes), "{bytes:?}");
        }
        assert!(has_ids(&mut Sessions::default(), &[1, 2, 3, 4, 24, 10, 0, 0]));
        assert!(has_ids(&mut Sessions::default(), &[0, 0, 0, 1, 16, 10, 1]));
    }

    #[test]
    fn the_other_messages_of_the_peer_decide() {
        let both = [0, 16, 10, 1, 16, 10, 2];
        let mut sessions = Sessions::default();
        assert!(has_ids(&mut sessions, &[0, 0, 0, 7, 24, 10, 0, 0, 0, 0, 0, 8, 24, 10, 0, 1]));
        assert!(has_ids(&mut sessions, &both));
        sessions.learn(PEER, true, &list(&[0]));
        assert!(!has_ids(&mut sessions, &both));
        let mut sessions = Sessions::default();
        assert!(!has_ids(&mut sessions, &[16, 10, 1]));
        // With a bit after the length of a prefix.
        assert!(!has_ids(&mut sessions, &[1, 0, 1, 1, 3, 24]));
        let mut lists = list(&both);
        assert!(sessions.decide(PEER, false, AddPath::Yes, &mut lists).is_none() && lists[0].add_path);
        let mut lists = list(&[0, 24, 1, 0, 0]);
        let guess = Sessions::default().decide(PEER, false, AddPath::Guess, &mut lists);
        assert_eq!((guess, lists[0].add_path), (Some(GUESSED_PLAIN), false));
    }

    #[test]
    fn the_lists_of_a_message_are_cut_out() {
        let update = [0, 2, 8, 10, 0, 12, 0x90, 14, 0, 8, 0, 2, 1, 0, 0, 16, 0x20, 1, 8, 11].to_vec();
        let lists = Lists::of(&Bytes::from(update.clone())).unwrap();
        assert_eq!(lists.all.len(), 3);
        let texts = |list: &List| list.entries().map(|e| e.map(|e| e.prefix.to_string())).collect::<Vec<_>>();
        assert_eq!(texts(&lists.all[0]), [Ok("10.0.0.0/8".to_owned())]);
        assert_eq!(texts(&lists.all[1])[0], Ok("2001::/16".to_owned()));
        assert_eq!(texts(&lists.all[2]), [Ok("11.0.0.0/8".to_owned())]);
        for end in 0..update.len() {
            let _ = Lists::of(&Bytes::from(update[..end].to_vec()));
        }
    }
}
