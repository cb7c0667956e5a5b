//! [`Nhi`]: the next-hop index of Figure 3(a), in the paper's 16 bits and in two wider forms.

use fibula::{Limit, NextHop};
use std::fmt;
use zerocopy::FromZeros;

/// What [`Nhi::NODES_MAX`] limits, as errors name it.
pub(super) const NODES: &str = "TrieC4/4 nodes of a level";

/// What [`Nhi::NEXT_HOPS_MAX`] limits, as errors name it.
const NEXT_HOPS: &str = "next hops of a TrieC next-hop index";

/// The bits of a prefix length, as in the paper.
const LEN_BITS: u32 = 6;

/// A next-hop index: what the trie stores for some addresses.
///
/// Above the last level a set flag makes it a pointer to a node. On the last level and in Hash16 it
/// has a next hop and length whether or not the flag is set, and the flag means that more-specific
/// routes are below. All zeros: no route.
pub(super) trait Nhi: Copy + fmt::Debug + Default + Eq + FromZeros + Send + Sync + 'static {
    /// The greatest next hop that fits between the flag and the length.
    const NEXT_HOPS_MAX: u32;
    /// The number of nodes of one level that its pointers reach.
    const NODES_MAX: u64;
    /// "No route".
    const NONE: Self;

    /// Returns an answer: the next hop, and the length of its route.
    fn answer(next_hop: NextHop, len: u8) -> Self;

    /// Returns a pointer to a node.
    fn pointer(node: usize) -> Self;

    /// Returns the same index with the flag set or cleared.
    fn flagged(self, flag: bool) -> Self;

    /// Returns the flag.
    fn flag(self) -> bool;

    /// Returns the next hop of an answer.
    fn next_hop(self) -> NextHop;

    /// Returns the length of an answer.
    fn len(self) -> u8;

    /// Returns the node of a pointer.
    fn node(self) -> usize;

    /// Returns one half of a 32-bit pointer to an ExtraNHIA: the low 16 bits of `bits`.
    fn half(bits: u32) -> Self;

    /// Returns the half that [`Self::half`] stored.
    fn to_half(self) -> u32;

    /// Converts an answer to another width, which must hold its next hop.
    #[inline(always)]
    fn convert<N: Nhi>(self) -> N {
        N::answer(self.next_hop(), self.len()).flagged(self.flag())
    }

    /// Checks that a next hop fits.
    fn check_next_hop(next_hop: NextHop) -> Result<(), Limit> {
        Limit::check(NEXT_HOPS, next_hop.0.into(), Self::NEXT_HOPS_MAX.into())
    }
}

macro_rules! nhi {
    ($name:ident, $int:ty, $nodes_max:expr, $what:literal) => {
        #[doc = $what]
        #[derive(Clone, Copy, Default, PartialEq, Eq, FromZeros)]
        #[repr(transparent)]
        pub(super) struct $name($int);

        impl $name {
            const FLAG: $int = 1 << (<$int>::BITS - 1);
        }

        impl Nhi for $name {
            const NEXT_HOPS_MAX: u32 = {
                let bits = <$int>::BITS - 1 - LEN_BITS;
                if bits >= u32::BITS { u32::MAX } else { (1 << bits) - 1 }
            };
            const NODES_MAX: u64 = $nodes_max;
            const NONE: Self = Self(0);

            #[inline(always)]
            fn answer(next_hop: NextHop, len: u8) -> Self {
                debug_assert!(next_hop.0 <= Self::NEXT_HOPS_MAX && u32::from(len) < 1 << LEN_BITS);
                Self((next_hop.0 as $int) << LEN_BITS | <$int>::from(len))
            }

            #[inline(always)]
            fn pointer(node: usize) -> Self {
                debug_assert!((node as u64) < Self::NODES_MAX);
                Self(Self::FLAG | node as $int)
            }

            #[inline(always)]
            fn flagged(self, flag: bool) -> Self {
                Self(self.0 & !Self::FLAG | if flag { Self::FLAG } else { 0 })
            }

            #[inline(always)]
            fn flag(self) -> bool {
                self.0 & Self::FLAG != 0
            }

            #[inline(always)]
            fn next_hop(self) -> NextHop {
                NextHop(((self.0 & !Self::FLAG) >> LEN_BITS) as u32)
            }

            #[inline(always)]
            fn len(self) -> u8 {
                (self.0 & ((1 << LEN_BITS) - 1)) as u8
            }

            #[inline(always)]
            fn node(self) -> usize {
                (self.0 & !Self::FLAG) as usize
            }

            #[inline(always)]
            fn half(bits: u32) -> Self {
                Self((bits & 0xFFFF) as $int)
            }

            #[inline(always)]
            fn to_half(self) -> u32 {
                (self.0 & 0xFFFF) as u32
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let below = if self.flag() { " or below" } else { "" };
                write!(f, "{:#x}: /{} to {}{below}", self.0, self.len(), self.next_hop().0)
            }
        }
    };
}

/// The most nodes of a level that the wider pointers reach. They have bits for more. The limit lets
/// a pointer of 32 bits reach every ExtraNHIA of three levels of 256 slots per node.
pub const NODES_MAX: u64 = 1 << 22;

nhi!(Nhi16, u16, 1 << 15, "The paper's: 9 bits of next hop, pointers of 15 bits.");
nhi!(Nhi32, u32, NODES_MAX, "Twice as wide: 25 bits of next hop.");
nhi!(Nhi64, u64, NODES_MAX, "Four times as wide: any next hop.");

#[cfg(test)]
mod tests {
    use super::*;

    fn keeps_its_parts<N: Nhi>(next_hops_max: u32) {
        assert_eq!(N::NEXT_HOPS_MAX, next_hops_max);
        assert_eq!(N::NONE, N::default());
        for next_hop in [0, 1, next_hops_max].map(NextHop) {
            for len in [0, 48, 63] {
                let nhi = N::answer(next_hop, len);
                assert_eq!((nhi.next_hop(), nhi.len(), nhi.flag()), (next_hop, len, false));
                let flagged = nhi.flagged(true);
                assert_eq!((flagged.next_hop(), flagged.len(), flagged.flag()), (next_hop, len, true));
                assert_eq!(flagged.flagged(false), nhi);
            }
        }
        let last = (N::NODES_MAX - 1) as usize;
        assert_eq!((N::pointer(last).node(), N::pointer(last).flag()), (last, true));
        let widest: Nhi64 = N::answer(NextHop(next_hops_max), 48).flagged(true).convert();
        assert_eq!(widest, Nhi64::answer(NextHop(next_hops_max), 48).flagged(true));
        assert_eq!(widest.convert::<N>().convert::<Nhi64>(), widest);
        assert_eq!(N::half(0xABCD_1234).to_half(), 0x1234);
    }

    #[test]
    fn every_width_keeps_flag_next_hop_and_length_apart() {
        keeps_its_parts::<Nhi16>(511);
        keeps_its_parts::<Nhi32>((1 << 25) - 1);
        keeps_its_parts::<Nhi64>(u32::MAX);
        assert_eq!(Nhi16::answer(NextHop(5), 18), Nhi16(0b1_0101_0010));
        assert_eq!(Nhi16::pointer(3), Nhi16(0x8003));
    }
}
