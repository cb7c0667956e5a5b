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

    /// Forgets the values and ranks that no path has, if they are most: a feed whose values are AS
    /// paths tells more and more of them. Returns whether it did. Then all numbers are others.
    /// O(paths).
    pub(crate) fn forget_unused(&mut self) -> bool {
        // Of the origins of a prefix each may be a value, and all together another one.
        const MOST_USED: usize = 3;
        const SPARE: usize = 1_000;
        if self.values.len().max(self.ranks.len()) <= MOST_USED * self.peers.kept() + SPARE {
            return false;
        }
        let (mut values, mut ranks) = (Used::among(self.values.len()), Used::among(self.ranks.len()));
        self.lists.each_path(|held| {
            held.value = values.number(held.value);
            held.rank = ranks.number(held.rank);
        });
        self.values = values.of(&self.values);
        self.value_numbers = self.values.iter().cloned().zip(0..).collect();
        self.ranks = ranks.of(&self.ranks);
        self.rank_numbers = self.ranks.iter().copied().zip(0..).collect();
        let bytes = |value: &NextHopInfo| if let NextHopInfo::Label(text) = value { text.len() } else { 0 };
        self.text_bytes = self.values.iter().map(bytes).sum();
        true
    }
}

/// New numbers of what is used.
struct Used {
    /// By the number before.
    numbers: Vec<Option<u32>>,
    count: u32,
}

impl Used {
    fn among(count: usize) -> Self {
        Self { numbers: vec![None; count], count: 0 }
    }

    fn number(&mut self, before: u32) -> u32 {
        *self.numbers[before as usize].get_or_insert_with(|| {
            self.count += 1;
            self.count - 1
        })
    }

    /// Returns what is used, by the new numbers.
    fn of<T: Clone>(&self, all: &[T]) -> Vec<T> {
        let numbered = self.numbers.iter().zip(all);
        let mut used: Vec<(u32, &T)> = numbered.filter_map(|(number, one)| Some(((*number)?, one))).collect();
        used.sort_unstable_by_key(|(number, _)| *number);
        used.into_iter().map(|(_, one)| one.clone()).collect()
    }
}
