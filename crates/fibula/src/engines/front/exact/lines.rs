//! [`Lines`]: entries in cache lines, each in the line that its hash says, and how keys and next
//! hops lie in a line.

use crate::arch::{Isa, KEYS};
use crate::blocks::linear_tree::halves;
use crate::engine::{Lookup, Meter, Persist};
use crate::engines::{mosaic, terrace};
use crate::memory::{Array, Pages};
use crate::{Address, NextHop};
use std::fmt::Debug;
use std::marker::PhantomData;
use zerocopy::{transmute_mut, transmute_ref};

/// A line of keys and their next hops.
pub(super) type Line = [u64; KEYS];

/// The 32-bit words of a line.
const WORDS: usize = 2 * KEYS;

/// Odd multipliers whose bits are spread evenly: the fraction of the golden ratio, and that of the
/// square root of two.
const MULTIPLIERS: [u64; 2] = [0x9E37_79B9_7F4A_7C15, 0x6A09_E667_F3BC_C909];

/// How keys and next hops lie in a line: keys first, then next hops, then zeros.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    /// The 32-bit words of a key.
    words: usize,
    /// The keys of a line.
    slots: usize,
    /// The word where the next hops begin.
    hops: usize,
    /// The entries for ten first lines that a build makes.
    fill_of_ten: usize,
    /// The first lines for each second line.
    firsts: usize,
}

impl Layout {
    /// Returns the number of first lines, and of second lines, that a build makes for `entries`
    /// entries.
    pub(super) fn lines_for(self, entries: usize) -> [usize; 2] {
        let first = (10 * entries).div_ceil(self.fill_of_ten).max(1);
        [first, first.div_ceil(self.firsts)]
    }

    /// Returns the keys of a line.
    pub(super) fn slots(self) -> usize {
        self.slots
    }
}

/// A family whose addresses are the keys of lines.
pub(crate) trait InLines: Address {
    /// The layout of lines with whole addresses.
    const WHOLE: Layout;
    /// The layout of lines with short keys, of as many bits as [`SHORT_BITS`](Self::SHORT_BITS)
    /// says.
    const SHORT: Layout;
    /// The longest prefix length whose keys are short, if those of any are.
    const SHORT_BITS: Option<u8>;
    /// The engine of the routes that are not entries.
    type Inner: Persist<Self, View: Lookup<Self, Width = u32> + Debug> + Debug;

    /// Returns whether prefixes of a length have short keys.
    #[must_use]
    #[inline(always)]
    fn is_short(length: u8) -> bool {
        Self::SHORT_BITS.is_some_and(|bits| length <= bits)
    }

    /// Returns the layout for prefixes of a length.
    #[must_use]
    fn layout(length: u8) -> Layout {
        if Self::is_short(length) { Self::SHORT } else { Self::WHOLE }
    }

    /// Returns a key in one word.
    fn folded(self) -> u64;

    /// Returns the first slot with this key; as many as there are slots if there is none.
    fn slot<const SHORT: bool>(self, isa: impl Isa, line: &[u64; KEYS]) -> usize;
}

impl InLines for u32 {
    const WHOLE: Layout = Layout { words: 1, slots: 8, hops: 8, fill_of_ten: 60, firsts: 11 };
    const SHORT: Layout = Self::WHOLE;
    const SHORT_BITS: Option<u8> = None;
    type Inner = mosaic::Mosaic<u32>;

    #[inline(always)]
    fn folded(self) -> u64 {
        self.into()
    }

    #[inline(always)]
    fn slot<const SHORT: bool>(self, isa: impl Isa, line: &[u64; KEYS]) -> usize {
        let equal = u32::from(isa.lanes_of_kind(words_of(line), (u32::MAX, self)));
        (equal | 1 << Self::WHOLE.slots).trailing_zeros() as usize
    }
}

impl InLines for u128 {
    const WHOLE: Layout = Layout { words: 4, slots: 3, hops: 12, fill_of_ten: 18, firsts: 5 };
    const SHORT: Layout = Layout { words: 2, slots: 5, hops: 10, fill_of_ten: 36, firsts: 7 };
    const SHORT_BITS: Option<u8> = Some(64);
    type Inner = terrace::Terrace;

    #[inline(always)]
    fn folded(self) -> u64 {
        let (network, host) = halves(self);
        network.wrapping_mul(MULTIPLIERS[1]) ^ host
    }

    #[inline(always)]
    fn slot<const SHORT: bool>(self, isa: impl Isa, line: &[u64; KEYS]) -> usize {
        let (network, host) = halves(self);
        if SHORT {
            let equal = isa.numbers_equal(line, [network; 2]);
            return (equal | 1 << Self::SHORT.slots).trailing_zeros() as usize;
        }
        let equal = isa.numbers_equal(line, [host, network]);
        let both = equal & equal >> 1 & 0x55;
        (both | 1 << (2 * Self::WHOLE.slots)).trailing_zeros() as usize / 2
    }
}

#[inline(always)]
fn words_of(line: &Line) -> &[u32; WORDS] {
    transmute_ref!(line)
}

fn words_of_mut(line: &mut Line) -> &mut [u32; WORDS] {
    transmute_mut!(line)
}

/// Returns the next hop of a key in its line; 0 if it is not there.
#[inline(always)]
pub(super) fn hop_in<A: InLines, const SHORT: bool>(isa: impl Isa, line: &Line, key: A) -> u32 {
    let Layout { slots, hops, .. } = if SHORT { A::SHORT } else { A::WHOLE };
    let slot = key.slot::<SHORT>(isa, line);
    let hop = words_of(line)[(hops + slot) % WORDS];
    // The word behind the last next hop is 0, except where there is none. No branch on the result:
    // the processor would mispredict it.
    if slots + hops < WORDS { hop } else { hop & u32::from(slot < slots).wrapping_neg() }
}

/// The entries as lookups read them: the first lines, and those of keys whose first line was full.
#[derive(Clone, Debug)]
pub(super) struct Lines<A> {
    pub(super) arrays: [Array<Line>; 2],
    layout: Layout,
    family: PhantomData<A>,
}

/// Returns the number of the line of a key among the first lines, or among the second.
#[inline(always)]
pub(super) fn line_of<A: InLines, const SECOND: bool>(lines: &[Line], key: A) -> u32 {
    let product = key.folded().wrapping_mul(MULTIPLIERS[0]);
    let hash = (product ^ product >> 32).wrapping_mul(MULTIPLIERS[1]);
    let half = if SECOND { hash & u64::from(u32::MAX) } else { hash >> 32 };
    ((half * lines.len() as u64) >> 32) as u32
}

/// Returns the next hop of a key among the second lines; 0 if it is not there.
#[inline(always)]
pub(super) fn second_hop<A: InLines, const SHORT: bool>(isa: impl Isa, lines: &[Line], key: A) -> u32 {
    hop_in::<A, SHORT>(isa, &lines[line_of::<A, true>(lines, key) as usize], key)
}

impl<A: InLines> Lines<A> {
    /// Returns empty lines with room for `entries` entries, whose prefixes have `length` bits.
    pub(super) fn with_room_for(entries: usize, length: u8, pages: Pages) -> Self {
        let lines = A::layout(length).lines_for(entries).map(|lines| Array::zeroed(lines, pages));
        Self::holding(lines, length)
    }

    /// Returns the entries of lines that are written already, at least one of each.
    pub(super) fn holding(arrays: [Array<Line>; 2], length: u8) -> Self {
        Self { arrays, layout: A::layout(length), family: PhantomData }
    }

    /// Returns all lines: first or second, the number, the line.
    pub(super) fn all(&self) -> impl Iterator<Item = (usize, usize, &Line)> {
        let levels = self.arrays.iter().enumerate();
        levels.flat_map(|(level, lines)| lines.iter().enumerate().map(move |(at, line)| (level, at, line)))
    }

    /// Returns the number of entries.
    pub(super) fn entries(&self) -> usize {
        self.all().map(|(_, _, line)| self.filled(line)).sum()
    }

    /// Returns the bytes of all lines.
    pub(super) fn bytes(&self) -> usize {
        self.arrays.iter().map(Array::bytes).sum()
    }

    /// Returns the numbers of the lines where a key may be.
    pub(super) fn places(&self, key: A) -> [usize; 2] {
        let [first, second] = &self.arrays;
        [line_of::<A, false>(first, key), line_of::<A, true>(second, key)].map(|line| line as usize)
    }

    /// Returns the next hop of a key; 0 if there is no such entry.
    #[inline(always)]
    pub(super) fn get<const SHORT: bool>(&self, isa: impl Isa, key: A, meter: &mut impl Meter) -> u32 {
        let [first, second] = &self.arrays;
        meter.hash();
        let line = &meter.load(&first[line_of::<A, false>(first, key) as usize]);
        let hop = hop_in::<A, SHORT>(isa, line, key);
        if hop != 0 {
            return hop;
        }
        hop_in::<A, SHORT>(isa, &meter.load(&second[line_of::<A, true>(second, key) as usize]), key)
    }

    /// Returns the next hop of an entry, or none.
    pub(super) fn next_hop(&self, key: A) -> NextHop {
        self.find(key).map_or(NextHop::NONE, |(level, line, slot)| {
            NextHop(self.hop_at(&self.arrays[level][line], slot))
        })
    }

    /// Returns where an entry is: first or second lines, the line, the slot.
    fn find(&self, key: A) -> Option<(usize, usize, usize)> {
        let places = self.places(key).into_iter().enumerate();
        let mut found = places.filter_map(|(level, line)| {
            let words = &self.arrays[level][line];
            let slot = (0..self.filled(words)).find(|&slot| self.key_at(words, slot) == key)?;
            Some((level, line, slot))
        });
        found.next()
    }

    /// Returns the key in a slot.
    pub(super) fn key_at(&self, line: &Line, slot: usize) -> A {
        let words = &words_of(line)[slot * self.layout.words..][..self.layout.words];
        let value = words.iter().rev().fold(0_u128, |value, &word| value << 32 | u128::from(word));
        A::from_u128(value << self.shift()).unwrap_or_default()
    }

    /// Returns the bits of an address behind its key.
    fn shift(&self) -> u32 {
        u32::from(A::BITS) - 32 * self.layout.words as u32
    }

    /// Returns the next hop in a slot.
    pub(super) fn hop_at(&self, line: &Line, slot: usize) -> u32 {
        words_of(line)[self.layout.hops + slot]
    }

    /// Returns the number of entries of a line.
    pub(super) fn filled(&self, line: &Line) -> usize {
        (0..self.layout.slots).take_while(|&slot| self.hop_at(line, slot) != 0).count()
    }

    fn write(&mut self, (level, line, slot): (usize, usize, usize), key: A, hop: u32) {
        let (Layout { words, hops, .. }, shift) = (self.layout, self.shift());
        let line = words_of_mut(&mut self.arrays[level][line]);
        for (at, word) in line[slot * words..][..words].iter_mut().enumerate() {
            *word = (key.to_u128() >> shift >> (32 * at)) as u32;
        }
        line[hops + slot] = hop;
    }

    /// Adds an entry, or gives it another next hop. Returns false, and changes nothing, if both of
    /// its lines are full.
    pub(super) fn set(&mut self, key: A, next_hop: NextHop) -> bool {
        debug_assert!(next_hop.is_some());
        let places = self.places(key).into_iter().enumerate();
        let mut free = places.map(|(level, line)| (level, line, self.filled(&self.arrays[level][line])));
        let place = self.find(key).or_else(|| free.find(|&(_, _, slot)| slot < self.layout.slots));
        let Some(place) = place else { return false };
        self.write(place, key, next_hop.0);
        true
    }

    /// Removes an entry, if it is there. The last of its line takes its slot.
    pub(super) fn remove(&mut self, key: A) {
        let Some((level, line, slot)) = self.find(key) else { return };
        let words = &self.arrays[level][line];
        let last = self.filled(words) - 1;
        let moved = (self.key_at(words, last), self.hop_at(words, last));
        self.write((level, line, slot), moved.0, moved.1);
        self.write((level, line, last), A::ZERO, 0);
    }
}
