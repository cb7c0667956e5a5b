//! [`look_up_unanswered`]: the addresses of a batch that have no answer yet go through another
//! engine together.

use crate::Address;
use crate::engine::Width;

/// The addresses that are looked up together.
const TOGETHER: usize = 256;
/// The addresses that are passed over together if each has an answer.
const BLOCK: usize = 64;

/// Collects the addresses whose next hop is 0, and has them looked up together, some hundred at a
/// time. `look_up` writes their next hops.
///
/// ```
/// use fibula::blocks::unanswered::look_up_unanswered;
/// let mut next_hops = [7_u8, 0, 0, 9];
/// look_up_unanswered(&[10_u32, 20, 30, 40], &mut next_hops, |addresses, next_hops| {
///     assert_eq!(addresses, [20, 30]);
///     next_hops.copy_from_slice(&[1, 2]);
/// });
/// assert_eq!(next_hops, [7, 1, 2, 9]);
/// ```
#[inline(always)]
pub fn look_up_unanswered<A: Address, W: Width>(
    addresses: &[A],
    next_hops: &mut [W],
    mut look_up: impl FnMut(&[A], &mut [W]),
) {
    let mut missed = Missed { places: [0; TOGETHER], addresses: [A::ZERO; TOGETHER], len: 0 };
    let mut found = [W::default(); TOGETHER];
    let mut at = 0;
    while at < addresses.len() {
        at = missed.collect(addresses, next_hops, at);
        look_up(&missed.addresses[..missed.len], &mut found[..missed.len]);
        for (&place, &found) in missed.places[..missed.len].iter().zip(&found) {
            next_hops[place as usize] = found;
        }
    }
}

/// The addresses of a batch that are looked up together.
struct Missed<A> {
    /// Their indices in the batch.
    places: [u32; TOGETHER],
    addresses: [A; TOGETHER],
    len: usize,
}

impl<A: Address> Missed<A> {
    /// Collects from index `at` on, and returns the index from which on to go on. Out of line:
    /// whoever looks up is compiled for each instruction set.
    #[inline(never)]
    fn collect<W: Width>(&mut self, addresses: &[A], next_hops: &[W], mut at: usize) -> usize {
        let mut len = 0;
        while at < addresses.len() && len <= TOGETHER - BLOCK {
            let block = &next_hops[at..addresses.len().min(at + BLOCK)];
            // All are compared, so that several are at once. In many tables few blocks have any.
            if block.iter().fold(false, |any, &next_hop| any | (next_hop == W::default())) {
                for (lane, &next_hop) in block.iter().enumerate() {
                    self.places[len] = (at + lane) as u32;
                    len += usize::from(next_hop == W::default());
                }
            }
            at += block.len();
        }
        for (missed, &place) in self.addresses.iter_mut().zip(&self.places[..len]) {
            *missed = addresses[place as usize];
        }
        self.len = len;
        at
    }
}
