//! The structural check: counts the references again, and compares every interval of the table with
//! the entries.

use super::{CHAIN, ENDS, LEAVES, Layout, NUMBER, POINTS, Table};
use fibula::engine::Width;
use fibula::{Address, Prefix, Rib};
use std::borrow::Cow;

impl<L: Layout, W: Width, const N: usize, const E: usize> Table<L, W, N, E> {
    /// Returns the first contradiction to the routing table as an error.
    pub(super) fn contradiction(&self, rib: &Rib<L::Address>) -> Result<(), String> {
        self.nodes.validate()?;
        self.leaves.validate()?;
        self.chains.validate()?;
        self.ends.validate()?;
        for range in rib.ranges() {
            for prefix in range.prefixes() {
                self.check_answer(prefix, range.next_hop.0)?;
            }
        }
        self.check_references(rib)
    }

    /// Counts the references that the root and the nodes in use hold. Only root slots in which an
    /// interval begins hold any: elsewhere [`Self::check_answer`] has found answers.
    fn check_references(&self, rib: &Rib<L::Address>) -> Result<(), String> {
        let mut nodes = vec![0_u32; self.nodes.numbers()];
        let mut leaves = vec![0_u32; self.leaves.numbers()];
        let mut chains = vec![0_u32; self.chains.numbers()];
        let mut ends = vec![0_u32; self.ends.numbers()];
        let inside = rib
            .ranges()
            .map(|range| range.first)
            .filter(|&first| first & L::Address::mask(L::ROOT_BITS) != first);
        let mut slots: Vec<u64> = inside.map(|first| first.bits(0, L::ROOT_BITS)).collect();
        slots.dedup();
        let mut waiting: Vec<u32> = slots.into_iter().map(|slot| self.root[slot as usize]).collect();
        while let Some(entry) = waiting.pop() {
            let number = (entry & NUMBER) as usize;
            let counts = match entry & (POINTS | LEAVES | CHAIN) {
                POINTS => &mut nodes,
                ENDS => &mut ends,
                kind if kind == POINTS | LEAVES => &mut leaves,
                kind if kind == POINTS | CHAIN => &mut chains,
                _ => continue,
            };
            let counted = &mut counts[number]; // every entry has been followed before: it points to something
            *counted += 1;
            if *counted == 1 && entry & LEAVES == 0 {
                let chain = || vec![self.chains.get(number as u32)[3]];
                waiting.extend(if entry & CHAIN == 0 {
                    self.nodes.get(number as u32).to_vec()
                } else {
                    chain()
                });
            }
        }
        self.nodes.check_references(&nodes)?;
        self.chains.check_references(&chains)?;
        self.ends.check_references(&ends)?;
        self.leaves.check_references(&leaves)
    }

    /// Checks that everything under a prefix has one answer.
    fn check_answer(&self, prefix: Prefix<L::Address>, answer: u32) -> Result<(), String> {
        let wrong = |found: u32| Err(format!("{prefix}: expected {answer}, found {found:#x}"));
        let slots = |len: u8, bits: u8| {
            let (first, last) = (prefix.first().bits(len, bits), prefix.last().bits(len, bits));
            first as usize..=last as usize
        };
        let mut len = L::ROOT_BITS;
        let mut entries = Cow::Borrowed(&self.root[slots(0, len)]);
        loop {
            let &[entry] = &*entries else {
                // One comparison without a branch per entry: a root may have millions.
                let differ =
                    |entries: &[u32]| entries.iter().fold(0, |all, entry| all | (entry ^ answer)) != 0;
                let other = entries.chunks(1024).find(|entries| differ(entries));
                let other = other.and_then(|entries| entries.iter().find(|&&entry| entry != answer));
                return other.map_or(Ok(()), |&other| wrong(other));
            };
            if entry & POINTS == 0 {
                return if entry == answer { Ok(()) } else { wrong(entry) };
            }
            if prefix.len() <= len {
                return wrong(entry);
            }
            let numbers = match entry & (LEAVES | CHAIN) {
                0 => self.nodes.numbers(),
                LEAVES => self.leaves.numbers(),
                CHAIN => self.chains.numbers(),
                _ => self.ends.numbers(),
            };
            if (entry & NUMBER) as usize >= numbers {
                return Err(format!("{prefix}: {entry:#x} points to none of {numbers}"));
            }
            if entry & ENDS == POINTS | CHAIN {
                let [value, bits, other, below] = self.chains.get(entry & NUMBER);
                let known = (bits as u8).min(prefix.len() - len);
                if prefix.first().bits(len, known) != u64::from(value >> (bits - u32::from(known))) {
                    return if other == answer { Ok(()) } else { wrong(other) };
                }
                if u32::from(known) < bits {
                    return wrong(entry);
                }
                entries = Cow::Owned(vec![below]);
                len += known;
                continue;
            }
            if entry & LEAVES != 0 {
                let answers = if entry & CHAIN == 0 {
                    self.leaves.get(entry & NUMBER)[slots(len, Self::STRIDE)].to_vec()
                } else {
                    self.ends.get(entry & NUMBER)[slots(len, Self::END_STRIDE)].to_vec()
                };
                let other = answers.iter().map(|found| found.widen().0).find(|&found| found != answer);
                return other.map_or(Ok(()), wrong);
            }
            entries = Cow::Owned(self.nodes.get(entry & NUMBER)[slots(len, Self::STRIDE)].to_vec());
            len += Self::STRIDE;
        }
    }
}
