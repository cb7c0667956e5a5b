//! [`Entry`]: 32 bits of TBL24 or TBLlong.

use super::BLOCK;
use crate::engine::Width;
use crate::{NextHop, Route};
use std::fmt;
use zerocopy::FromZeros;

/// The bits of a next hop or a block.
const VALUE_BITS: u32 = 25;
const VALUE: u32 = (1 << VALUE_BITS) - 1;

/// The bit that says "block".
const FLAG: u32 = 1 << 31;

/// The greatest next-hop index: the 25 bits that flag and length leave.
pub const NEXT_HOPS_MAX: u32 = VALUE;

/// A next hop with the length of the route it comes from, or a block.
#[derive(Clone, Copy, PartialEq, Eq, FromZeros)]
#[repr(transparent)]
pub(super) struct Entry(pub(super) u32);

impl Entry {
    /// What fresh tables hold: all zero bytes.
    pub(super) const NO_ROUTE: Self = Self(0);

    pub(super) fn of(route: Route<u32>) -> Self {
        Self(u32::from(route.prefix.len()) << VALUE_BITS | route.next_hop.0)
    }

    pub(super) fn pointing_to(block: u32) -> Self {
        Self(FLAG | block)
    }

    /// Where the block begins in TBLlong, if this points to one.
    #[inline(always)]
    pub(super) fn block(self) -> Option<usize> {
        (self.0 & FLAG != 0).then_some((self.0 & VALUE) as usize * BLOCK)
    }

    /// Of an entry that does not point to a block: the length of its route.
    #[inline(always)]
    pub(super) fn len(self) -> u8 {
        (self.0 >> VALUE_BITS) as u8
    }

    /// As [`Entry::next_hop`], as wide as the answers; of an entry that points to a block, anything.
    #[inline(always)]
    pub(super) fn answer<W: Width>(self) -> W {
        W::narrow(NextHop(self.next_hop().0 & W::MAX))
    }

    /// Of an entry that does not point to a block: its next hop.
    #[inline(always)]
    pub(super) fn next_hop(self) -> NextHop {
        NextHop(self.0 & VALUE)
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.block() {
            Some(start) => write!(f, "block {}", start / BLOCK),
            None => write!(f, "/{} to {}", self.len(), self.next_hop().0),
        }
    }
}
