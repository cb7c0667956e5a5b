//! Writes a table: entries from intervals of equal answers, nodes by path copying.
//!
//! An entry with an index holds one reference to its target, whether the entry is in the root, in a
//! node or in a variable here.

use super::{CHAIN, ENDS, LEAVES, Layout, NUMBER, POINTS, Table, Touched};
use fibula::engine::Width;
use fibula::rib::Range;
use fibula::{Address, Prefix, Rib};

/// The number of slots of the root that are compared at once.
const RUN: usize = 1024;

/// The target of an entry.
enum Target {
    Nothing,
    Node(u32),
    Leaves(u32),
    Chain(u32),
    Ends(u32),
}

fn target(entry: u32) -> Target {
    let number = entry & NUMBER;
    match entry & ENDS {
        ENDS => Target::Ends(number),
        POINTS => Target::Node(number),
        kind if kind == POINTS | LEAVES => Target::Leaves(number),
        kind if kind == POINTS | CHAIN => Target::Chain(number),
        _ => Target::Nothing,
    }
}

/// The most bits of a chain.
const CHAIN_BITS: u32 = 32;

/// Returns the part of `prefix` that `index` selects among `1 << bits`.
fn child<A: Address>(prefix: Prefix<A>, bits: u8, index: usize) -> Prefix<A> {
    let first = prefix.first() | A::from_bits(index as u64, prefix.len(), bits);
    Prefix::containing(first, prefix.len() + bits)
}

/// Returns the intervals that meet a block, out of a run of intervals that covers it and begins no
/// later.
fn within<A: Address>(ranges: &[Range<A>], first: A, last: A) -> &[Range<A>] {
    let begin = ranges.partition_point(|range| range.last < first);
    let end = ranges.partition_point(|range| range.first <= last);
    &ranges[begin..end]
}

impl<L: Layout, W: Width, const N: usize, const E: usize> Table<L, W, N, E> {
    /// Writes the entries of the root under `prefix`, at most [`Layout::ROOT_BITS`] long, from its
    /// intervals.
    pub(super) fn paint_root(
        &mut self,
        prefix: Prefix<L::Address>,
        ranges: impl Iterator<Item = Range<L::Address>>,
        touched: &mut Touched,
    ) {
        let slot_of = |address: L::Address| address.bits(0, L::ROOT_BITS) as usize;
        // Intervals that share this slot, until one goes past its end.
        let mut pending: Vec<Range<L::Address>> = Vec::new();
        for range in ranges {
            pending.push(range);
            let slot = slot_of(pending[0].first);
            let block = child(Prefix::ALL, L::ROOT_BITS, slot);
            if range.last < block.last() {
                continue;
            }
            let mut next = slot;
            if pending.len() > 1 {
                let entry = self.fresh(block, &pending, touched);
                self.fill_root(slot..slot + 1, entry, touched);
                next += 1;
            }
            pending.clear();
            // Whole slots with one answer, then the begin of the slot in which the interval ends.
            let end = slot_of(range.last);
            let last = child(Prefix::ALL, L::ROOT_BITS, end);
            let ends_its_slot = last.last() == range.last;
            self.fill_root(next..end + usize::from(ends_its_slot), range.next_hop.0, touched);
            if !ends_its_slot {
                pending.push(Range { first: last.first(), ..range });
            }
        }
        debug_assert!(pending.is_empty(), "{prefix} is covered by its intervals");
    }

    /// Applies a change of one prefix.
    pub(super) fn repaint(
        &mut self,
        prefix: Prefix<L::Address>,
        rib: &Rib<L::Address>,
        touched: &mut Touched,
    ) {
        if prefix.len() <= L::ROOT_BITS {
            self.paint_root(prefix, rib.ranges_within(prefix), touched);
            return;
        }
        let slot = prefix.first().bits(0, L::ROOT_BITS) as usize;
        let block = child(Prefix::ALL, L::ROOT_BITS, slot);
        self.root[slot] = self.repainted(self.root[slot], block, prefix, rib, touched);
        touched.root.push(slot..slot + 1);
    }

    /// Frees an entry of `block`, and returns the one that replaces it now that `prefix` has
    /// changed.
    fn repainted(
        &mut self,
        old: u32,
        block: Prefix<L::Address>,
        prefix: Prefix<L::Address>,
        rib: &Rib<L::Address>,
        touched: &mut Touched,
    ) -> u32 {
        let opened = if prefix.covers(block) { None } else { self.opened(old, touched) };
        let new = if let Some(mut entries) = opened {
            let index = |address: L::Address| address.bits(block.len(), Self::STRIDE) as usize;
            let first = index(prefix.first());
            for (at, entry) in (first..).zip(&mut entries[first..=index(prefix.last())]) {
                *entry = self.repainted(*entry, child(block, Self::STRIDE, at), prefix, rib, touched);
            }
            self.sealed(block.len(), &entries, touched)
        } else {
            let ranges: Vec<Range<L::Address>> = rib.ranges_within(block).collect();
            self.fresh(block, &ranges, touched)
        };
        self.release(old);
        new
    }

    /// Returns the entries of a node, or those that a chain replaces, each with its own reference;
    /// of anything else none.
    fn opened(&mut self, entry: u32, touched: &mut Touched) -> Option<[u32; N]> {
        match target(entry) {
            Target::Node(number) => {
                let entries = self.nodes.get(number);
                for &entry in &entries {
                    self.retain(entry);
                }
                Some(entries)
            }
            Target::Chain(number) => {
                let [value, len, other, entry] = self.chains.get(number);
                self.retain(entry);
                let rest = len - u32::from(Self::STRIDE);
                let mut entries = [other; N];
                entries[(value >> rest) as usize] = if rest == 0 {
                    entry
                } else {
                    self.insert_chain([value & ((1 << rest) - 1), rest, other, entry], touched)
                };
                Some(entries)
            }
            Target::Nothing | Target::Leaves(_) | Target::Ends(_) => None,
        }
    }

    /// Returns the entry of a block from the intervals that meet it.
    fn fresh(
        &mut self,
        block: Prefix<L::Address>,
        ranges: &[Range<L::Address>],
        touched: &mut Touched,
    ) -> u32 {
        if let [range] = ranges {
            return range.next_hop.0;
        }
        if E != N && block.len() + Self::END_STRIDE == L::Address::BITS {
            return self.end(block, ranges, touched);
        }
        let mut entries = [0; N];
        let mut rest = ranges;
        for (at, entry) in entries.iter_mut().enumerate() {
            let part = child(block, Self::STRIDE, at);
            let begin = rest.iter().position(|range| range.last >= part.first()).unwrap_or_default();
            rest = &rest[begin..];
            *entry = if rest[0].last >= part.last() {
                rest[0].next_hop.0
            } else {
                self.fresh(part, within(rest, part.first(), part.last()), touched)
            };
        }
        self.sealed(block.len(), &entries, touched)
    }

    /// Returns the entry of a block of the last level, whose parts are single addresses.
    fn end(&mut self, block: Prefix<L::Address>, ranges: &[Range<L::Address>], touched: &mut Touched) -> u32 {
        let index = |address: L::Address| address.bits(block.len(), Self::END_STRIDE) as usize;
        let mut answers = [W::default(); E];
        for range in ranges {
            let (first, last) = (range.first.max(block.first()), range.last.min(block.last()));
            answers[index(first)..=index(last)].fill(W::narrow(range.next_hop));
        }
        let before = self.ends.len();
        let number = self.ends.insert(&answers);
        if self.ends.len() > before {
            touched.ends.push(number);
        }
        ENDS | number
    }

    /// Returns the entry for the entries of a block whose prefix is `len` long. Takes over their
    /// references.
    fn sealed(&mut self, len: u8, entries: &[u32; N], touched: &mut Touched) -> u32 {
        let plain = entries.iter().all(|&entry| entry & POINTS == 0);
        if plain && entries.iter().all(|&entry| entry == entries[0]) {
            return entries[0];
        }
        if L::CHAINS
            && let Some(chain) = self.chained(entries, touched)
        {
            return chain;
        }
        if plain && (L::LEAVES_ANYWHERE || len + Self::STRIDE == L::Address::BITS) {
            let before = self.leaves.len();
            let number = self.leaves.insert(&entries.map(|answer| W::narrow(fibula::NextHop(answer))));
            if self.leaves.len() > before {
                touched.leaves.push(number);
            }
            return POINTS | LEAVES | number;
        }
        let before = self.nodes.len();
        let number = self.nodes.insert(entries);
        if self.nodes.len() > before {
            touched.nodes.push(number);
        } else {
            // The equal node that was stored already has its own references.
            for &entry in entries {
                self.release(entry);
            }
        }
        POINTS | number
    }

    /// Returns the chain for entries of which all but one are the same answer. Takes over the
    /// reference of that one.
    fn chained(&mut self, entries: &[u32; N], touched: &mut Touched) -> Option<u32> {
        let other = if entries[0] == entries[1] { entries[0] } else { entries[2] };
        let index = entries.iter().position(|&entry| entry != other)?;
        let alone = entries[index + 1..].iter().all(|&entry| entry == other);
        if other & POINTS != 0 || !alone {
            return None;
        }
        let mut chain = [index as u32, Self::STRIDE.into(), other, entries[index]];
        if let Target::Chain(number) = target(entries[index]) {
            let [value, len, other_below, entry] = self.chains.get(number);
            if other_below == other && len + u32::from(Self::STRIDE) <= CHAIN_BITS {
                chain = [(index as u32) << len | value, len + u32::from(Self::STRIDE), other, entry];
                self.retain(entry);
                self.release(entries[index]);
            }
        }
        Some(self.insert_chain(chain, touched))
    }

    /// Returns the entry of a chain. Takes over the reference of the entry inside.
    fn insert_chain(&mut self, chain: [u32; 4], touched: &mut Touched) -> u32 {
        let before = self.chains.len();
        let number = self.chains.insert(&chain);
        if self.chains.len() > before {
            touched.chains.push(number);
        } else {
            self.release(chain[3]);
        }
        POINTS | CHAIN | number
    }

    fn retain(&mut self, entry: u32) {
        match target(entry) {
            Target::Nothing => {}
            Target::Node(number) => self.nodes.retain(number, 1),
            Target::Leaves(number) => self.leaves.retain(number, 1),
            Target::Chain(number) => self.chains.retain(number, 1),
            Target::Ends(number) => self.ends.retain(number, 1),
        }
    }

    fn release(&mut self, entry: u32) {
        match target(entry) {
            Target::Nothing => {}
            Target::Leaves(number) => {
                self.leaves.release(number, 1);
            }
            Target::Ends(number) => {
                self.ends.release(number, 1);
            }
            Target::Chain(number) => {
                if self.chains.release(number, 1) {
                    self.release(self.chains.get(number)[3]);
                }
            }
            Target::Node(number) => {
                if self.nodes.release(number, 1) {
                    // The chain is freed now, but its content can still be read.
                    let entries = self.nodes.get(number);
                    for entry in entries {
                        self.release(entry);
                    }
                }
            }
        }
    }

    /// Writes an entry to slots of the root. Takes over the one reference that it may hold, for a
    /// single slot.
    fn fill_root(&mut self, slots: std::ops::Range<usize>, entry: u32, touched: &mut Touched) {
        if slots.is_empty() || (entry == 0 && touched.all) {
            return; // a new root has zeros, on pages that were never touched
        }
        // A root may have millions of slots, and few of them hold an index.
        for begin in slots.clone().step_by(RUN) {
            let run = begin..slots.end.min(begin + RUN);
            if self.root[run.clone()].iter().fold(0, |all, old| all | old) & POINTS != 0 {
                run.clone().for_each(|slot| self.release(self.root[slot]));
            }
            self.root[run].fill(entry);
        }
        touched.root.push(slots);
    }
}
