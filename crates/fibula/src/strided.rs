//! [`Strided`]: addresses as they are in packet headers.

use crate::Address;
use crate::arch::prefetch;
use crate::blocks::pipeline::BURST;
use std::fmt;
use std::marker::PhantomData;

/// The most addresses of a chunk.
const CHUNK: usize = 512;

/// The addresses whose bytes are asked for before they are read.
const AHEAD: usize = 32;

/// Addresses in network byte order, the same number of bytes apart: a field of headers in a ring of
/// packets, or a column of records. Nothing is copied until they are looked up, a few at a time.
///
/// ```
/// use fibula::{Fib, NextHop, Rib, Strided};
/// let mut rib: Rib<u32> = Rib::new();
/// rib.insert("192.0.2.0/24".parse()?, NextHop(7));
/// let fib = Fib::new(&rib)?;
///
/// // Two IPv4 headers of 20 bytes in slots of 64. The destination is at byte 16.
/// let mut slots = [0; 2 * 64];
/// slots[16..20].copy_from_slice(&[192, 0, 2, 1]);
/// slots[64 + 16..][..4].copy_from_slice(&[203, 0, 113, 1]);
/// let destinations = Strided::new(&slots[16..], 64);
/// assert_eq!(destinations.len(), 2);
///
/// let mut next_hops = [NextHop::NONE; 2];
/// fib.lookup_strided(destinations, &mut next_hops);
/// assert_eq!(next_hops, [NextHop(7), NextHop::NONE]);
/// # Ok::<(), fibula::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Strided<'b, A> {
    bytes: &'b [u8],
    stride: usize,
    len: usize,
    of: PhantomData<A>,
}

impl<'b, A: Address> Strided<'b, A> {
    /// The most addresses of a [chunk](Self::in_chunks). Their arrays fit in the first-level cache.
    pub const CHUNK: usize = CHUNK;

    /// The bytes of an address.
    const SIZE: usize = A::BITS as usize / 8;

    /// The addresses that begin at `bytes[0]`, `bytes[stride]`, `bytes[2 * stride]` and so on, as
    /// far as they are whole. A stride shorter than an address lets them overlap.
    ///
    /// # Panics
    /// If the stride is 0.
    #[must_use]
    pub fn new(bytes: &'b [u8], stride: usize) -> Self {
        assert!(stride > 0, "the stride of addresses is at least one byte");
        let len = (bytes.len() + stride).saturating_sub(Self::SIZE) / stride;
        Self { bytes, stride, len, of: PhantomData }
    }

    /// The first `len` of them, or all if there are fewer.
    #[must_use]
    pub fn first(self, len: usize) -> Self {
        Self { len: self.len.min(len), ..self }
    }

    /// Returns their number.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the address at an index.
    ///
    /// # Panics
    /// If the index is not less than the [length](Self::len).
    #[must_use]
    #[inline(always)]
    pub fn get(&self, index: usize) -> A {
        A::from_network_order(&self.bytes[index * self.stride..][..Self::SIZE])
    }

    /// Calls `with` with some of them at a time, in order, and the elements of `out` that are
    /// theirs. Prefetches the bytes of those that follow.
    ///
    /// # Panics
    /// If the two differ in length.
    pub fn in_chunks<T>(self, out: &mut [T], mut with: impl FnMut(&[A], &mut [T])) {
        assert_eq!(self.len, out.len(), "as many answers as addresses");
        let with = |start, addresses: &[A]| with(addresses, &mut out[start..][..addresses.len()]);
        // A short call pays for no more room than it needs.
        if self.len <= BURST {
            self.each_chunk_of::<BURST>(with);
        } else {
            self.each_chunk_of::<CHUNK>(with);
        }
    }

    /// Calls `with` with at most `N` of them at a time, in order, and the position of the first.
    /// Prefetches the bytes of those that follow.
    #[inline]
    pub(crate) fn each_chunk_of<const N: usize>(self, mut with: impl FnMut(usize, &[A])) {
        let mut addresses = [A::ZERO; N];
        for start in (0..self.len).step_by(N) {
            let addresses = &mut addresses[..N.min(self.len - start)];
            for (at, address) in addresses.iter_mut().enumerate() {
                prefetch(self.bytes, (start + at + AHEAD).wrapping_mul(self.stride));
                *address = self.get(start + at);
            }
            with(start, addresses);
        }
    }
}

impl<A: Address> fmt::Debug for Strided<'_, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} addresses, {} bytes apart", self.len, A::FAMILY, self.stride)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NextHop;

    #[test]
    fn the_addresses_are_those_that_are_whole() {
        let bytes: Vec<u8> = (0..=255).collect();
        for stride in [1, 3, 4, 5, 64, 300] {
            for len in 0..=bytes.len() {
                let addresses = Strided::<u32>::new(&bytes[..len], stride);
                let right: Vec<u32> = (0..len)
                    .step_by(stride)
                    .filter_map(|at| bytes[..len].get(at..at + 4))
                    .map(|bytes| u32::from_be_bytes(bytes.try_into().unwrap()))
                    .collect();
                let found: Vec<u32> = (0..addresses.len()).map(|at| addresses.get(at)).collect();
                assert_eq!(found, right, "{len} bytes, {stride} apart");
            }
        }
        assert_eq!(Strided::<u128>::new(&bytes, 16).get(1), 0x1011_1213_1415_1617_1819_1A1B_1C1D_1E1F);
    }

    #[test]
    fn all_are_looked_up_in_their_order_whatever_their_number() {
        let bytes: Vec<u8> = (0..4000_u32).flat_map(u32::to_be_bytes).collect();
        for len in [0, 1, 31, 32, 33, 255, 256, 257, 1000, 4000] {
            let addresses = Strided::<u32>::new(&bytes, 4).first(len);
            let mut answers = vec![NextHop::NONE; len];
            addresses.in_chunks(&mut answers, |addresses, answers| {
                addresses.iter().zip(answers).for_each(|(&address, answer)| *answer = NextHop(address + 1));
            });
            assert!(answers.iter().map(|answer| answer.0).eq(1..=len as u32), "{len}");
        }
    }

    #[test]
    #[should_panic(expected = "as many answers")]
    fn another_number_of_answers_is_refused() {
        Strided::<u32>::new(&[0; 8], 4).in_chunks(&mut [NextHop::NONE], |_, _| {});
    }
}
