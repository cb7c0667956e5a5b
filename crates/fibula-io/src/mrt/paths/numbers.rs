//! The numbers of values and ranks. Of both kinds what came last is tried first: neighbouring
//! events mostly share it.

use super::peers::PeerNumber;
use super::{Path, Paths, Rank};
use fibula::NextHopInfo;

impl Paths {
    pub(super) fn rank_number(&mut self, path: &Path, peer: PeerNumber) -> u32 {
        let rank = Rank { length: path.length, preference: path.preference };
        let known = &mut self.peers[peer];
        if self.ranks.get(known.rank as usize) != Some(&rank) {
            let next = self.ranks.len() as u32;
            known.rank = *self.rank_numbers.entry(rank).or_insert_with(|| {
                self.ranks.push(rank);
                next
            });
        }
        known.rank
    }

    pub(super) fn value_number(&mut self, value: NextHopInfo, peer: PeerNumber) -> u32 {
        let known = &mut self.peers[peer];
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
