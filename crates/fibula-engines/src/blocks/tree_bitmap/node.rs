//! [`Map`]: the bit maps of a node and the words they are stored in; [`Node`]: two of them and a
//! block.

use fibula::{Address, Prefix};
use std::fmt::Debug;
use std::ops::{BitAnd, BitOr, Not};

/// An integer as one of a node's bit maps: its 2^*s* bits give the stride *s*.
pub trait Map:
    Copy + Eq + Debug + Send + Sync + BitAnd<Output = Self> + BitOr<Output = Self> + Not<Output = Self> + 'static
{
    /// The number of address bits that a node consumes.
    const STRIDE: u8;
    /// The empty map.
    const NONE: Self;
    /// A node as words of 32 bits.
    type Words: Copy + Debug + Send + Sync + AsRef<[u32]> + 'static;
    /// The number of words of a node.
    const WORDS: usize = size_of::<Self::Words>() / size_of::<u32>();

    /// Returns the words of the node that begins at `words[at]`.
    fn place(words: &[u32], at: usize) -> &Self::Words;

    /// Returns the node that these words hold.
    fn unpack(words: Self::Words) -> Node<Self>;

    /// Returns the words of a node.
    fn pack(node: Node<Self>) -> Self::Words;

    /// Returns the map with one bit set.
    fn bit(position: u32) -> Self;

    /// Returns whether a bit is set.
    fn has(self, position: u32) -> bool;

    /// Returns how many bits are set.
    fn count(self) -> usize;

    /// Returns how many bits are set before `position`.
    fn count_before(self, position: u32) -> usize;

    /// Returns the position of the last set bit; there must be one.
    fn last(self) -> u32;

    /// Returns the bits of the internal map of all that covers a path of [`Self::STRIDE`] bits: its
    /// prefixes, and bit 0.
    fn covers(path: u32) -> Self;

    /// Returns the positions of the set bits, in order.
    fn positions(self) -> impl Iterator<Item = u32> {
        (0..1 << Self::STRIDE).filter(move |&position| self.has(position))
    }
}

/// Implements [`Map`] for an integer of 2^`stride` bits, given the conversions of a node to and
/// from `words` words.
macro_rules! map {
    ($int:ty, stride: $stride:literal, words: $words:literal, unpack: $unpack:expr, pack: $pack:expr) => {
        impl Map for $int {
            const STRIDE: u8 = $stride;
            const NONE: Self = 0;
            type Words = [u32; $words];

            #[inline(always)]
            fn place(words: &[u32], at: usize) -> &[u32; $words] {
                words[at..at + $words].try_into().expect("as many as asked for")
            }

            #[inline(always)]
            fn unpack(words: Self::Words) -> Node<Self> {
                $unpack(words)
            }

            fn pack(node: Node<Self>) -> Self::Words {
                $pack(node)
            }

            #[inline(always)]
            fn bit(position: u32) -> Self {
                1 << position
            }

            #[inline(always)]
            fn has(self, position: u32) -> bool {
                self >> position & 1 != 0
            }

            #[inline(always)]
            fn count(self) -> usize {
                self.count_ones() as usize
            }

            #[inline(always)]
            fn count_before(self, position: u32) -> usize {
                (self & ((1 << position) - 1)).count_ones() as usize
            }

            #[inline(always)]
            fn last(self) -> u32 {
                Self::BITS - 1 - self.leading_zeros()
            }

            #[inline(always)]
            fn covers(path: u32) -> Self {
                static COVERS: [$int; 1 << $stride] = {
                    let mut covers = [0; 1 << $stride];
                    let mut path = 0;
                    while path < 1 << $stride {
                        covers[path] = 1;
                        let mut position = (1 << $stride | path) >> 1;
                        while position > 0 {
                            covers[path] |= 1 << position;
                            position >>= 1;
                        }
                        path += 1;
                    }
                    covers
                };
                COVERS[path as usize % (1 << $stride)]
            }
        }
    };
}
#[cfg(test)]
pub(super) use map;

map! { u16, stride: 4, words: 2,
    unpack: |[maps, block]: [u32; 2]| Node { internal: maps as u16, external: (maps >> 16) as u16, block },
    pack: |node: Node<u16>| [u32::from(node.external) << 16 | u32::from(node.internal), node.block]
}

map! { u32, stride: 5, words: 3,
    unpack: |[internal, external, block]: [u32; 3]| Node { internal, external, block },
    pack: |node: Node<u32>| [node.internal, node.external, node.block]
}

map! { u64, stride: 6, words: 5,
    unpack: |[i0, i1, e0, e1, block]: [u32; 5]| {
        let wide = |low: u32, high: u32| u64::from(high) << 32 | u64::from(low);
        Node { internal: wide(i0, i1), external: wide(e0, e1), block }
    },
    pack: |node: Node<u64>| {
        let halves = |map: u64| [map as u32, (map >> 32) as u32];
        let ([i0, i1], [e0, e1]) = (halves(node.internal), halves(node.external));
        [i0, i1, e0, e1, node.block]
    }
}

map! { u128, stride: 7, words: 9,
    unpack: |[i0, i1, i2, i3, e0, e1, e2, e3, block]: [u32; 9]| {
        Node { internal: join([i0, i1, i2, i3]), external: join([e0, e1, e2, e3]), block }
    },
    pack: |node: Node<u128>| {
        let ([i0, i1, i2, i3], [e0, e1, e2, e3]) = (split(node.internal), split(node.external));
        [i0, i1, i2, i3, e0, e1, e2, e3, node.block]
    }
}

/// Returns four words as one integer, the least significant first.
#[inline(always)]
fn join(words: [u32; 4]) -> u128 {
    words.iter().rev().fold(0, |joined, &word| joined << 32 | u128::from(word))
}

fn split(joined: u128) -> [u32; 4] {
    std::array::from_fn(|at| (joined >> (32 * at)) as u32)
}

/// A node of the trie, unpacked; see the [module page](super).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node<M> {
    /// The prefixes that end inside, and bit 0 of a root that has a block: for the answer for all
    /// other addresses.
    pub internal: M,
    /// The ways out that have a child.
    pub external: M,
    /// The index of the word above its results and below its children; 0 if it has neither.
    pub block: u32,
}

impl<M: Map> Node<M> {
    /// The node with neither routes nor children, and no block for an answer above them.
    pub const EMPTY: Self = Self { internal: M::NONE, external: M::NONE, block: 0 };

    /// The bit of a root's internal map for the answer above its routes.
    pub(super) const ABOVE: u32 = 0;

    /// Returns whether it has neither routes nor children. A root may still have an answer above.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.routes() == M::NONE && self.external == M::NONE
    }

    /// Returns whether it has a block of results or children.
    pub(super) fn has_block(self) -> bool {
        (self.internal, self.external) != (M::NONE, M::NONE)
    }

    /// Returns the internal map without bit [`Self::ABOVE`].
    pub(super) fn routes(self) -> M {
        self.internal & !M::bit(Self::ABOVE)
    }

    /// Returns the index of the word where the child at the end of a path begins, if there is one.
    #[inline(always)]
    #[must_use]
    pub fn child(self, path: u32) -> Option<usize> {
        self.external.has(path).then(|| self.child_place(path))
    }

    /// As [`Self::child`], whether there is one or not.
    #[inline(always)]
    #[must_use]
    pub(super) fn child_place(self, path: u32) -> usize {
        self.block as usize + self.external.count_before(path) * M::WORDS
    }

    /// Returns the position of the longest prefix inside that covers a path; if none does, that of
    /// the answer above a root.
    #[inline(always)]
    #[must_use]
    pub fn longest(self, path: u32) -> Option<u32> {
        let covers = self.internal & M::covers(path);
        (covers != M::NONE).then(|| covers.last())
    }
}

/// Returns the bits of an address that a node at bit `offset` consumes; zeros past the address's
/// end.
#[inline(always)]
pub(super) fn path<A: Address, M: Map>(address: A, offset: u8) -> u32 {
    address.bits(offset, M::STRIDE) as u32
}

/// Returns the bit of the internal map for a prefix, in a node at bit `offset`.
pub(super) fn position<A: Address>(prefix: Prefix<A>, offset: u8) -> u32 {
    let len = prefix.len() - offset;
    1 << len | prefix.first().bits(offset, len) as u32
}
