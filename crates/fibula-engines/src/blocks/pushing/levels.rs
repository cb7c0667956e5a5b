//! [`Levels`]: a trie pushed to a few levels, and the algorithms that keep it so.

use super::{exposed, internal_nodes, is_internal};
use crate::blocks::dense::Owners;
use fibula::{Address, NextHop, Prefix, Rib, Route};
use std::ops::Range;

/// The content of a slot of a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// The answer of every address below.
    Answer(NextHop),
    /// The chunk of the next level that resolves more bits.
    Chunk(u32),
    /// Only on a last level shorter than an address: longer routes are below, stored elsewhere.
    /// This is the answer of every address below that none of them covers.
    Beyond(NextHop),
}

/// The flag of [`Slot::unpack`]: SAIL's bit map, one bit beside each value.
pub const ANSWER: u32 = 1 << 31;

impl Slot {
    /// Unpacks an entry of SAIL's BCN, the array of section 4.2 that combines a level's bit map,
    /// chunk ids and next hops. An entry with the flag [`ANSWER`] holds an answer; one without it
    /// holds a chunk.
    ///
    /// ```
    /// use fibula::NextHop;
    /// use fibula_engines::blocks::pushing::{ANSWER, Slot};
    /// assert_eq!(Slot::unpack(7), Slot::Chunk(7));
    /// assert_eq!(Slot::unpack(ANSWER | 7), Slot::Answer(NextHop(7)));
    /// ```
    #[must_use]
    #[inline]
    pub fn unpack(entry: u32) -> Self {
        if entry & ANSWER != 0 { Self::Answer(NextHop(entry ^ ANSWER)) } else { Self::Chunk(entry) }
    }
}

/// The arrays of slots on a few levels, as an engine stores them.
///
/// Depth 0 is one array of all nodes of the first level. At each further depth, chunk *c* occupies
/// the slots from *c* × 2^stride on, one for each node of that level below the chunk's owner. On
/// the last level no slot has a chunk.
///
/// An internal node has a chunk, or on the last level [`Slot::Beyond`]; any other node has an
/// answer. [`repaint`] maintains this.
pub trait Levels<A: Address> {
    /// The prefix lengths of the levels, ascending: SAIL's 16, 24, 32. Where the last is shorter
    /// than the family's addresses, the engine itself stores longer routes.
    const LEVELS: &'static [u8];

    /// Returns the content of a slot.
    fn slot(&self, depth: usize, slot: usize) -> Slot;

    /// Writes one answer to slots that have no chunks.
    fn write(&mut self, depth: usize, slots: Range<usize>, next_hop: NextHop);

    /// Makes a slot of the last level, which has longer routes below it, [`Slot::Beyond`]. Not
    /// called if the last level is as long as an address.
    fn write_beyond(&mut self, slot: usize, next_hop: NextHop) {
        unreachable!(
            "slot {slot} of the last level is an address with one answer, not {next_hop:?} and others"
        )
    }

    /// Points a slot to a chunk of the next depth, replacing an answer or another chunk.
    fn link(&mut self, depth: usize, slot: usize, chunk: u32);

    /// Makes a slot that points to a chunk hold any answer; the right one is written next. An
    /// implementation may do nothing if that write also replaces the pointer.
    fn unlink(&mut self, depth: usize, slot: usize);

    /// Creates a chunk at `depth`, filled with one answer, for the node of the level before that
    /// begins at `owner`. Returns its number.
    fn create(&mut self, depth: usize, owner: A, next_hop: NextHop) -> u32;

    /// Removes a chunk. Returns the owner of the chunk that has taken its number, if any (see
    /// [`Owners::swap_remove`]).
    fn remove(&mut self, depth: usize, chunk: u32) -> Option<A>;

    /// Returns the owners of the chunks of a depth past 0.
    fn owners(&self, depth: usize) -> &Owners<A>;
}

/// Returns the bits of an address that one depth resolves: the first, and how many.
#[inline(always)]
fn stride(levels: &[u8], depth: usize) -> (u8, u8) {
    let from = if depth == 0 { 0 } else { levels[depth - 1] };
    (from, levels[depth] - from)
}

/// Returns the answer that the levels store at `prefix`: its longest cover's, without routes longer
/// than the last level. O(b log n), as a longest match.
fn answer<A: Address, L: Levels<A>>(rib: &Rib<A>, prefix: Prefix<A>) -> NextHop {
    let node = Prefix::containing(prefix.first(), prefix.len().min(last_level::<A, L>()));
    rib.longest_cover(node).map_or(NextHop::NONE, |route| route.next_hop)
}

/// Returns the length of the longest prefixes that the levels store.
const fn last_level<A: Address, L: Levels<A>>() -> u8 {
    L::LEVELS[L::LEVELS.len() - 1]
}

/// Writes a table to fresh levels. O(n × depth) and one write a slot and route.
pub fn paint_all<A: Address, L: Levels<A>>(levels: &mut L, rib: &Rib<A>) {
    // In order, each route comes after its covers.
    for Route { prefix, next_hop } in rib {
        let next_hop =
            if prefix.len() > last_level::<A, L>() { answer::<A, L>(rib, prefix) } else { next_hop };
        paint(levels, prefix.first(), prefix.last(), next_hop);
    }
}

/// Writes one answer to the addresses `first..=last`, on which no longer route than the answer's
/// may remain. Removes chunks that are covered whole. Nodes that are covered in part get chunks, or
/// [`Slot::Beyond`] on the last level.
#[inline]
pub fn paint<A: Address, L: Levels<A>>(levels: &mut L, first: A, last: A, next_hop: NextHop) {
    paint_chunk(levels, 0, 0, first, last, next_hop);
}

/// [`paint`] within the chunk that contains `first` and `last` and whose slots begin at `base`.
fn paint_chunk<A: Address, L: Levels<A>>(
    levels: &mut L,
    depth: usize,
    base: usize,
    first: A,
    last: A,
    next_hop: NextHop,
) {
    let (from, bits) = stride(L::LEVELS, depth);
    let slot = |address: A| base + address.bits(from, bits) as usize;
    let below = !A::mask(L::LEVELS[depth]);
    let (mut whole, end) = (slot(first), slot(last));
    let (first_in_part, last_in_part) = (first & below != A::ZERO, last & below != below);
    if whole == end && (first_in_part || last_in_part) {
        return paint_below(levels, depth, whole, first, last, next_hop);
    }
    if first_in_part {
        paint_below(levels, depth, whole, first, first | below, next_hop);
        whole += 1;
    }
    let whole = whole..if last_in_part { end } else { end + 1 };
    for slot in whole.clone() {
        remove_below(levels, depth, slot);
    }
    levels.write(depth, whole, next_hop);
    if last_in_part {
        paint_below(levels, depth, end, last & !below, last, next_hop);
    }
}

/// [`paint`] for a part of the node of one slot: in the chunk below it, created if there is none.
/// On the last level the slot becomes [`Slot::Beyond`].
fn paint_below<A: Address, L: Levels<A>>(
    levels: &mut L,
    depth: usize,
    slot: usize,
    first: A,
    last: A,
    next_hop: NextHop,
) {
    if depth + 1 == L::LEVELS.len() {
        return levels.write_beyond(slot, next_hop);
    }
    let chunk = match levels.slot(depth, slot) {
        Slot::Chunk(chunk) => chunk,
        Slot::Answer(inherited) | Slot::Beyond(inherited) => {
            let chunk = levels.create(depth + 1, first & A::mask(L::LEVELS[depth]), inherited);
            levels.link(depth, slot, chunk);
            chunk
        }
    };
    let base = (chunk as usize) << stride(L::LEVELS, depth + 1).1;
    paint_chunk(levels, depth + 1, base, first, last, next_hop);
}

/// Removes the chunk below a slot, if there is one, and all chunks below that.
fn remove_below<A: Address, L: Levels<A>>(levels: &mut L, depth: usize, slot: usize) {
    let Slot::Chunk(chunk) = levels.slot(depth, slot) else { return };
    let bits = stride(L::LEVELS, depth + 1).1;
    let base = (chunk as usize) << bits;
    // Lower chunks first: `find` locates a moved chunk's owner through pointers that must still
    // exist.
    for slot in base..base + (1 << bits) {
        remove_below(levels, depth + 1, slot);
    }
    levels.unlink(depth, slot);
    if let Some(moved) = levels.remove(depth + 1, chunk)
        && let Some(slot) = find(levels, depth, moved)
    {
        levels.link(depth, slot, chunk);
    }
}

/// Returns the slot at `depth` of an address, or `None` if an answer is stored above.
fn find<A: Address, L: Levels<A>>(levels: &L, depth: usize, address: A) -> Option<usize> {
    let mut base = 0;
    for at in 0.. {
        let (from, bits) = stride(L::LEVELS, at);
        let slot = base + address.bits(from, bits) as usize;
        if at == depth {
            return Some(slot);
        }
        let Slot::Chunk(chunk) = levels.slot(at, slot) else { break };
        base = (chunk as usize) << stride(L::LEVELS, at + 1).1;
    }
    None
}

/// Follows one prefix whose route was announced, replaced or withdrawn. `rib` is the table with all
/// changes in it. After a call for each, in any order, the levels equal a fresh build.
///
/// Only addresses that the prefix owns change (`exposed`). Where a withdrawal leaves a node
/// without longer routes, its chunk is removed. A route longer than the last level makes the node
/// above it [`Slot::Beyond`], or an answer again.
pub fn repaint<A: Address, L: Levels<A>>(levels: &mut L, rib: &Rib<A>, prefix: Prefix<A>) {
    let next_hop = answer::<A, L>(rib, prefix);
    if rib.get(prefix).is_none() {
        let above = L::LEVELS.iter().take_while(|&&level| level < prefix.len());
        let mut nodes = above.map(|&level| Prefix::containing(prefix.first(), level));
        if let Some(leaf) = nodes.find(|&node| !is_internal(rib, node)) {
            return paint(levels, leaf.first(), leaf.last(), next_hop);
        }
    }
    for (first, last) in exposed(rib, prefix) {
        paint(levels, first, last, next_hop);
    }
}

/// Checks levels against the table they follow. O(n × depth) and one pass over the slots.
///
/// - Every address answers its longest match.
/// - Exactly the internal nodes have chunks, and no chunk is lost.
/// - Each chunk is below its owner.
///
/// # Errors
/// Returns the first contradiction found.
pub fn validate<A: Address, L: Levels<A>>(levels: &L, rib: &Rib<A>) -> Result<(), String> {
    for depth in 1..L::LEVELS.len() {
        let level = L::LEVELS[depth - 1];
        let (had, internal) = (levels.owners(depth).len(), internal_nodes(rib, level));
        if had != internal {
            return Err(format!("{had} chunks below level {level} for {internal} internal nodes"));
        }
        for (chunk, owner) in levels.owners(depth).iter() {
            let slot = find(levels, depth - 1, owner);
            if slot.is_none_or(|slot| levels.slot(depth - 1, slot) != Slot::Chunk(chunk)) {
                return Err(format!("chunk {chunk} below level {level} is lost to {}", owner.to_ip()));
            }
        }
    }
    let unrouted = rib.get(Prefix::ALL).is_none().then_some((Prefix::ALL, NextHop::NONE));
    for (prefix, next_hop) in unrouted.into_iter().chain(rib.iter().map(|r| (r.prefix, r.next_hop))) {
        if prefix.len() > last_level::<A, L>() {
            let depth = L::LEVELS.len() - 1;
            let found = find(levels, depth, prefix.first()).map(|slot| levels.slot(depth, slot));
            if !matches!(found, Some(Slot::Beyond(_))) {
                return Err(format!("{prefix} is beyond the last level, where {found:?} stands"));
            }
            continue;
        }
        for (first, last) in exposed(rib, prefix) {
            check(levels, 0, 0, first, last, next_hop).map_err(|(level, found)| {
                let (first, last, expected) = (first.to_ip(), last.to_ip(), next_hop.0);
                format!("{first} to {last}, level {level}: {found:?}, expected {expected}")
            })?;
        }
    }
    Ok(())
}

/// Checks that `first..=last` answer `next_hop`: nodes covered whole by themselves, others by their
/// chunk.
fn check<A: Address, L: Levels<A>>(
    levels: &L,
    depth: usize,
    base: usize,
    first: A,
    last: A,
    next_hop: NextHop,
) -> Result<(), (u8, Slot)> {
    let (from, bits) = stride(L::LEVELS, depth);
    let below = !A::mask(L::LEVELS[depth]);
    let (start, end) = (first.bits(from, bits) as usize, last.bits(from, bits) as usize);
    for slot in start..=end {
        let from = if slot == start { first & below } else { A::ZERO };
        let to = if slot == end { last & below } else { below };
        let whole = from == A::ZERO && to == below;
        match levels.slot(depth, base + slot) {
            Slot::Answer(found) if whole && found == next_hop => {}
            Slot::Beyond(found) if !whole && found == next_hop => {}
            Slot::Chunk(chunk) if !whole => {
                let base = (chunk as usize) << stride(L::LEVELS, depth + 1).1;
                check(levels, depth + 1, base, from, to, next_hop)?;
            }
            found => return Err((L::LEVELS[depth], found)),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Three levels with different strides, in plain vectors. The last is shorter than an address.
    struct Plain {
        slots: [Vec<Slot>; 3],
        owners: [Owners<u128>; 3],
    }

    impl Plain {
        fn new() -> Self {
            let slots = [vec![Slot::Answer(NextHop::NONE); 1 << Self::LEVELS[0]], vec![], vec![]];
            Self { slots, owners: [Owners::from(0), Owners::from(0), Owners::from(0)] }
        }

        fn chunk(depth: usize, chunk: u32) -> Range<usize> {
            let len = 1 << stride(Self::LEVELS, depth).1;
            chunk as usize * len..(chunk as usize + 1) * len
        }

        fn answers(&self, depth: usize, chunk: u32) -> Vec<Slot> {
            self.slots[depth][Self::chunk(depth, chunk)].to_vec()
        }
    }

    impl Levels<u128> for Plain {
        const LEVELS: &'static [u8] = &[2, 4, 6];

        fn slot(&self, depth: usize, slot: usize) -> Slot {
            self.slots[depth][slot]
        }

        fn write(&mut self, depth: usize, slots: Range<usize>, next_hop: NextHop) {
            for slot in &mut self.slots[depth][slots] {
                assert!(!matches!(slot, Slot::Chunk(_)), "a chunk is lost");
                *slot = Slot::Answer(next_hop);
            }
        }

        fn write_beyond(&mut self, slot: usize, next_hop: NextHop) {
            self.slots[2][slot] = Slot::Beyond(next_hop);
        }

        fn link(&mut self, depth: usize, slot: usize, chunk: u32) {
            self.slots[depth][slot] = Slot::Chunk(chunk);
        }

        fn unlink(&mut self, depth: usize, slot: usize) {
            self.slots[depth][slot] = Slot::Answer(NextHop::NONE);
        }

        fn create(&mut self, depth: usize, owner: u128, next_hop: NextHop) -> u32 {
            let len = Self::chunk(depth, 0).len();
            self.slots[depth].extend(vec![Slot::Answer(next_hop); len]);
            self.owners[depth].push(owner)
        }

        fn remove(&mut self, depth: usize, chunk: u32) -> Option<u128> {
            let len = self.slots[depth].len();
            let last = len - Self::chunk(depth, 0).len();
            self.slots[depth].copy_within(last.., Self::chunk(depth, chunk).start);
            self.slots[depth].truncate(last);
            self.owners[depth].swap_remove(chunk)
        }

        fn owners(&self, depth: usize) -> &Owners<u128> {
            &self.owners[depth]
        }
    }

    fn node(bits: &str) -> Prefix<u128> {
        let value = if bits.is_empty() { 0 } else { u64::from_str_radix(bits, 2).unwrap() };
        Prefix::containing(u128::from_bits(value, 0, bits.len() as u8), bits.len() as u8)
    }

    fn painted(rib: &Rib<u128>) -> Plain {
        let mut levels = Plain::new();
        paint_all(&mut levels, rib);
        levels
    }

    /// The table of SAIL's Figure 2 on the levels of its Figure 3.
    #[test]
    fn figure_3_of_sail() {
        let mut rib = Rib::new();
        let figure_2 = [
            ("", 6),
            ("1", 4),
            ("01", 3),
            ("001", 3),
            ("111", 7),
            ("0011", 1),
            ("1110", 8),
            ("11100", 2),
            ("001011", 9),
        ];
        for (bits, next_hop) in figure_2 {
            rib.set(node(bits), NextHop(next_hop));
        }
        let levels = painted(&rib);
        let (answer, chunk) = (|next_hop| Slot::Answer(NextHop(next_hop)), Slot::Chunk);
        assert_eq!(levels.answers(0, 0), [chunk(0), answer(3), answer(4), chunk(1)]);
        assert_eq!(levels.answers(1, 0), [answer(6), answer(6), chunk(0), answer(1)]);
        assert_eq!(levels.answers(1, 1), [answer(4), answer(4), chunk(1), answer(7)]);
        assert_eq!(levels.answers(2, 0), [3, 3, 3, 9].map(answer));
        assert_eq!(levels.answers(2, 1), [2, 2, 8, 8].map(answer));
        validate(&levels, &rib).unwrap();
    }

    #[test]
    fn longer_routes_leave_their_node_the_answer_of_its_cover() {
        let mut rib = Rib::new();
        rib.insert(node("1"), NextHop(1));
        rib.insert(node("1100011"), NextHop(2));
        let mut levels = painted(&rib);
        let at_110001 = |levels: &Plain| levels.slots[2][Plain::chunk(2, 0)][1];
        assert_eq!(at_110001(&levels), Slot::Beyond(NextHop(1)));
        // The two halves cover the node: no address of it answers 1 until one of them is withdrawn.
        rib.insert(node("1100010"), NextHop(3));
        repaint(&mut levels, &rib, node("1100010"));
        rib.insert(node("1"), NextHop(4));
        repaint(&mut levels, &rib, node("1"));
        validate(&levels, &rib).unwrap();
        rib.remove(node("1100010"));
        repaint(&mut levels, &rib, node("1100010"));
        assert_eq!(at_110001(&levels), Slot::Beyond(NextHop(4)));
        // Its own route changes the answer; the chunks are removed with the last longer route.
        rib.insert(node("110001"), NextHop(5));
        repaint(&mut levels, &rib, node("110001"));
        assert_eq!(at_110001(&levels), Slot::Beyond(NextHop(5)));
        rib.remove(node("1100011"));
        repaint(&mut levels, &rib, node("1100011"));
        assert_eq!(at_110001(&levels), Slot::Answer(NextHop(5)));
        rib.remove(node("110001"));
        repaint(&mut levels, &rib, node("110001"));
        assert_eq!((levels.owners(1).len(), levels.owners(2).len()), (0, 0));
        validate(&levels, &rib).unwrap();
    }

    #[test]
    fn validation_finds_wrong_answers_lost_chunks_and_chunks_too_many() {
        let mut rib = Rib::new();
        rib.insert(node("1"), NextHop(1));
        rib.insert(node("110"), NextHop(2));
        for half in node("111111").halves().unwrap() {
            rib.insert(half, NextHop(4));
        }
        let sound = || painted(&rib);
        validate(&sound(), &rib).unwrap();
        let mut levels = sound();
        levels.slots[1][2] = Slot::Answer(NextHop(3));
        assert!(validate(&levels, &rib).unwrap_err().contains("expected 1"));
        let mut levels = sound();
        levels.slots[0][3] = Slot::Answer(NextHop(1));
        assert!(validate(&levels, &rib).unwrap_err().contains("is lost to"));
        let mut levels = sound();
        let chunk = levels.create(1, 0, NextHop(0));
        levels.link(0, 0, chunk);
        assert!(validate(&levels, &rib).unwrap_err().contains("2 chunks below level 2 for 1"));
        let mut levels = sound();
        levels.slots[2][3] = Slot::Answer(NextHop(1));
        assert!(validate(&levels, &rib).unwrap_err().contains("fc00::/7 is beyond the last level"));
    }

    proptest! {
        #[test]
        fn repaints_in_any_order_lead_to_a_fresh_build(
            batches in proptest::collection::vec(
                proptest::collection::vec((0..256_u64, 0..=8_u8, 0..3_u32), 1..8), 1..30),
        ) {
            let mut rib = Rib::new();
            let mut levels = Plain::new();
            for batch in batches {
                let prefixes = batch.iter().map(|&(bits, len, next_hop)| {
                    let prefix = Prefix::containing(u128::from_bits(bits, 0, 8), len);
                    rib.set(prefix, NextHop(next_hop));
                    prefix
                });
                let prefixes: Vec<Prefix<u128>> = prefixes.collect();
                for prefix in prefixes.into_iter().rev() {
                    repaint(&mut levels, &rib, prefix);
                }
                validate(&levels, &rib).map_err(TestCaseError::fail)?;
            }
        }
    }
}
