//! [`NextHopSlice`]: the output of a batch, at the width of the engine's answers.
#![allow(unsafe_code, reason = "indices seen as the integers that they are")]

use crate::NextHop;
use crate::engine::WidthBits;

/// A mutable slice of next-hop indices of one of the three widths.
///
/// ```
/// use fibula::NextHopSlice;
/// let mut next_hops = [0_u16; 4];
/// assert_eq!(NextHopSlice::from(&mut next_hops[..]).width().bits(), 16);
/// ```
#[derive(Debug)]
pub enum NextHopSlice<'s> {
    /// Indices up to 255.
    U8(&'s mut [u8]),
    /// Indices up to 65,535.
    U16(&'s mut [u16]),
    /// Any index.
    U32(&'s mut [u32]),
}

impl NextHopSlice<'_> {
    /// Returns the width of its elements.
    #[must_use]
    pub fn width(&self) -> WidthBits {
        match self {
            Self::U8(_) => WidthBits::U8,
            Self::U16(_) => WidthBits::U16,
            Self::U32(_) => WidthBits::U32,
        }
    }
}

impl<'s> From<&'s mut [u8]> for NextHopSlice<'s> {
    fn from(slice: &'s mut [u8]) -> Self {
        Self::U8(slice)
    }
}

impl<'s> From<&'s mut [u16]> for NextHopSlice<'s> {
    fn from(slice: &'s mut [u16]) -> Self {
        Self::U16(slice)
    }
}

impl<'s> From<&'s mut [u32]> for NextHopSlice<'s> {
    fn from(slice: &'s mut [u32]) -> Self {
        Self::U32(slice)
    }
}

/// Indices as integers of 32 bits.
///
/// ```
/// use fibula::{NextHop, NextHopSlice};
/// let mut next_hops = [NextHop(7), NextHop(0)];
/// let NextHopSlice::U32(indices) = NextHopSlice::from(&mut next_hops[..]) else { unreachable!() };
/// indices[1] = 9;
/// assert_eq!((indices.len(), next_hops[1]), (2, NextHop(9)));
/// ```
impl<'s> From<&'s mut [NextHop]> for NextHopSlice<'s> {
    fn from(slice: &'s mut [NextHop]) -> Self {
        // SAFETY: a `NextHop` is a transparent `u32`, of which any is an index.
        Self::U32(unsafe { &mut *(std::ptr::from_mut(slice) as *mut [u32]) })
    }
}
