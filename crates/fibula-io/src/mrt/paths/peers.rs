//! [`Peers`]: what is known of each peer, by numbers.

use super::{Peer, Speaker};
use std::collections::HashMap;
use std::num::NonZero;
use std::ops::{Index, IndexMut};

/// The number of a peer. It is never 0, so that a [list](super::lists::List) is no larger than a
/// path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PeerNumber(NonZero<u32>);

impl PeerNumber {
    pub(super) fn of(index: usize) -> Self {
        Self(NonZero::<u32>::MIN.saturating_add(index as u32))
    }

    fn index(self) -> usize {
        self.0.get() as usize - 1
    }
}

/// A peer and what is known of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    pub(super) peer: Peer,
    pub(super) speaker: Speaker,
    /// The numbers of the value and the rank of its latest path: neighbouring ones mostly share
    /// them.
    pub(super) value: u32,
    pub(super) rank: u32,
    /// Whether it keeps the paths of another peer that are [stale](super::stale).
    pub(super) is_stale: bool,
    /// The one that stands for its stale paths.
    pub(super) stale: Option<PeerNumber>,
    /// Whether it has told something since the feed began.
    pub(super) is_up: bool,
    /// How many paths it has, of IPv4 and of IPv6.
    pub(super) kept: [u32; 2],
}

/// All peers, each with one number, and with another one for its stale paths.
#[derive(Debug, Default)]
pub(super) struct Peers {
    known: Vec<Known>,
    numbers: HashMap<Peer, PeerNumber>,
    /// The index of the peer of the event before: neighbouring events share it, or name the peers
    /// in order.
    last: usize,
}

impl Peers {
    /// Returns the number of a peer, a new one if need be.
    pub(super) fn number(&mut self, peer: Peer) -> PeerNumber {
        for likely in [self.last, self.last + 1] {
            if self.known.get(likely).is_some_and(|known| known.peer == peer && !known.is_stale) {
                self.last = likely;
                return PeerNumber::of(likely);
            }
        }
        let number = self.numbers.get(&peer).copied().unwrap_or_else(|| {
            let (value, rank, stale, kept) = (0, 0, None, [0; 2]);
            let (speaker, is_stale, is_up) = (Speaker::default(), false, false);
            let number = self.add(Known { peer, speaker, value, rank, is_stale, stale, is_up, kept });
            self.numbers.insert(peer, number);
            number
        });
        self.last = number.index();
        number
    }

    fn add(&mut self, known: Known) -> PeerNumber {
        self.known.push(known);
        PeerNumber::of(self.known.len() - 1)
    }

    /// Returns the number of a peer that is known.
    pub(super) fn get(&self, peer: Peer) -> Option<PeerNumber> {
        self.numbers.get(&peer).copied()
    }

    /// Returns the peers themselves, without those that stand for stale paths.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Known> {
        self.known.iter().filter(|known| !known.is_stale)
    }

    pub(super) fn len(&self) -> usize {
        self.known.len()
    }

    /// Returns the number of the paths of all.
    pub(super) fn kept(&self) -> usize {
        self.known.iter().flat_map(|known| known.kept).map(|kept| kept as usize).sum()
    }

    /// Returns the bytes that it takes, about.
    pub(super) fn bytes(&self) -> usize {
        self.known.len() * 4 * size_of::<Known>()
    }

    /// Makes all paths of a peer stale: its number stands for them, and the peer gets another one.
    /// Returns the number that stands for stale paths already, if there are some; then they are to
    /// be changed one by one.
    pub(super) fn make_stale(&mut self, number: PeerNumber) -> Option<PeerNumber> {
        let known = self[number];
        let other = match known.stale {
            Some(other) if self[other].kept != [0; 2] => return Some(other),
            Some(other) => other,
            None => self.add(known),
        };
        self[other] = Known { stale: Some(number), is_stale: false, kept: [0; 2], ..known };
        self[number] = Known { stale: None, is_stale: true, ..known };
        self.numbers.insert(known.peer, other);
        None
    }
}

impl Index<PeerNumber> for Peers {
    type Output = Known;

    fn index(&self, number: PeerNumber) -> &Known {
        &self.known[number.index()]
    }
}

impl IndexMut<PeerNumber> for Peers {
    fn index_mut(&mut self, number: PeerNumber) -> &mut Known {
        &mut self.known[number.index()]
    }
}
