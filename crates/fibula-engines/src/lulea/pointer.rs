//! [`Pointer`]: the value of a head. [`Base`]: where the pointers of a group of bit masks begin.

use fibula::NextHop;
use std::fmt::Debug;

/// The kinds of chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Sparse = 0,
    Dense = 1,
    VeryDense = 2,
}

impl Kind {
    pub(super) const ALL: [Self; 3] = [Self::Sparse, Self::Dense, Self::VeryDense];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Sparse => "sparse chunk",
            Self::Dense => "dense chunk",
            Self::VeryDense => "very dense chunk",
        }
    }
}

/// The meaning of a pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// A genuine head: the index of the next hop, 0 for none.
    Answer(u32),
    /// A root head: the chunk of the next level.
    Chunk(Kind, usize),
}

impl Target {
    /// Returns the next hop of a genuine head.
    #[inline(always)]
    pub(super) fn next_hop(self) -> Option<NextHop> {
        match self {
            Self::Answer(next_hop) => Some(NextHop(next_hop)),
            Self::Chunk(..) => None,
        }
    }
}

/// The kind and the index of a head, in 16 or in 32 bits; drawn on the [module page](super).
pub(super) trait Pointer:
    Copy + Eq + Debug + Send + Sync + TryFrom<u32> + Into<u32> + 'static
{
    /// The bits of a chunk's index.
    const INDEX_BITS: u32;
    /// The least value that is a next hop.
    const NEXT_HOPS: u32;

    /// Returns the pointer of a genuine head, or `None` if the index does not fit.
    fn to_next_hop(next_hop: NextHop) -> Option<Self> {
        Self::NEXT_HOPS.checked_add(next_hop.0)?.try_into().ok()
    }

    /// Returns the pointer of a root head, or `None` if the index does not fit.
    fn to_chunk(kind: Kind, index: usize) -> Option<Self> {
        let index = u32::try_from(index).ok().filter(|index| index >> Self::INDEX_BITS == 0)?;
        ((kind as u32) << Self::INDEX_BITS | index).try_into().ok()
    }

    /// Returns what it points to.
    #[inline(always)]
    fn target(self) -> Target {
        match Kind::ALL.into_iter().find(|&kind| self.is(kind)) {
            Some(kind) => Target::Chunk(kind, self.index() as usize),
            None => Target::Answer(self.next_hop_or_any()),
        }
    }

    /// Returns whether it points to a chunk of this kind.
    #[inline(always)]
    fn is(self, kind: Kind) -> bool {
        self.into() >> Self::INDEX_BITS == kind as u32
    }

    /// Returns the index of the chunk, if it points to one; else any number.
    #[inline(always)]
    fn index(self) -> u32 {
        self.into() & ((1 << Self::INDEX_BITS) - 1)
    }

    /// Returns whether it is a next hop.
    #[inline(always)]
    fn is_next_hop(self) -> bool {
        self.into() >= Self::NEXT_HOPS
    }

    /// Returns the next hop, if it is one; else any number.
    #[inline(always)]
    fn next_hop_or_any(self) -> u32 {
        self.into().wrapping_sub(Self::NEXT_HOPS)
    }
}

impl Pointer for u16 {
    const INDEX_BITS: u32 = 14;
    const NEXT_HOPS: u32 = 3 << Self::INDEX_BITS;
}

impl Pointer for u32 {
    const INDEX_BITS: u32 = 29;
    const NEXT_HOPS: u32 = 1 << 31;
}

/// A base index, of 16 or of 32 bits.
pub(super) trait Base:
    Copy + Default + Debug + Send + Sync + TryFrom<usize> + Into<u32> + 'static
{
}

impl Base for u16 {}
impl Base for u32 {}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trips<P: Pointer>(next_hop_max: u32, index_max: usize) {
        for next_hop in [0, 1, next_hop_max] {
            let pointer = P::to_next_hop(NextHop(next_hop)).unwrap();
            assert_eq!(pointer.target(), Target::Answer(next_hop));
        }
        assert_eq!(P::to_next_hop(NextHop(next_hop_max + 1)), None);
        for kind in Kind::ALL {
            for index in [0, index_max] {
                assert_eq!(P::to_chunk(kind, index).unwrap().target(), Target::Chunk(kind, index));
            }
            assert_eq!(P::to_chunk(kind, index_max + 1), None);
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        round_trips::<u16>((1 << 14) - 1, (1 << 14) - 1);
        round_trips::<u32>((1 << 31) - 1, (1 << 29) - 1);
        assert_eq!(u32::to_next_hop(NextHop(u32::MAX)), None);
        assert_eq!(u32::to_chunk(Kind::Sparse, usize::MAX), None);
    }
}
