//! The numbers of peers, values and ranks. Of each kind what came last is tried first: neighbouring
//! events mostly share it.

use super::{Known, Path, Paths, Peer, Rank, Speaker};
use fibula::NextHopInfo;

impl Paths {
    pub(super) fn peer_number(&mut self, peer: Peer) -> u32 {
        let next = self.peers.len() as u32;
        for likely in [self.last_peer, self.last_peer + 1] {
            if self.peers.get(likely as usize).is_some_and(|known| known.peer == peer && !known.is_stale) {
                self.last_peer = likely;
                return likely;
            }
        }
        let number = *self.peer_numbers.entry(peer).or_insert_with(|| {
            let (value, rank, stale) = (0, 0, None);
            let (speaker, is_stale, is_up) = (Speaker::default(), false, false);
            self.peers.push(Known { peer, speaker, value, rank, is_stale, stale, is_up });
            next
        });
        self.last_peer = number;
        number
    }

    pub(super) fn rank_number(&mut self, path: &Path, peer: u32) -> u32 {
        let rank = Rank { length: path.length, preference: path.preference };
        let known = &mut self.peers[peer as usize];
        if self.ranks.get(known.rank as usize) != Some(&rank) {
            let next = self.ranks.len() as u32;
            known.rank = *self.rank_numbers.entry(rank).or_insert_with(|| {
                self.ranks.push(rank);
                next
            });
        }
        known.rank
    }

    pub(super) fn value_number(&mut self, value: NextHopInfo, peer: u32) -> u32 {
        let known = &mut self.peers[peer as usize];
        for likely in [known.value, self.last_value] {
            if self.values.get(likely as usize) == Some(&value) {
                self.last_value = likely;
                return likely;
            }
        }
        let next = self.values.len() as u32;
        let number = self.value_numbers.get(&value).copied().unwrap_or(next);
        if number == next {
            if let NextHopInfo::Label(text) = &value {
                self.text_bytes += text.len();
            }
            self.values.push(value.clone());
            self.value_numbers.insert(value, number);
        }
        known.value = number;
        self.last_value = number;
        number
    }
}
