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
/// use fibula::parts::blocks::unanswered::look_up_unanswered;
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
    look_up: impl FnMut(&[A], &mut [W]),
) {
    let blocks = next_hops.chunks(BLOCK);
    let Some(first) = blocks.clone().position(any_unanswered).map(|block| block * BLOCK) else { return };
    if addresses.len() - first <= BLOCK {
        // A short call pays for no more room than it needs.
        look_up_from::<BLOCK, _, _>(first, addresses, next_hops, look_up);
    } else {
        look_up_from::<TOGETHER, _, _>(first, addresses, next_hops, look_up);
    }
}

/// Returns whether an answer is missing. All are compared, so that several are at once.
#[inline(always)]
fn any_unanswered<W: Width>(next_hops: &[W]) -> bool {
    next_hops.iter().fold(false, |any, &next_hop| any | (next_hop == W::default()))
}

#[inline(always)]
fn look_up_from<const N: usize, A: Address, W: Width>(
    mut at: usize,
    addresses: &[A],
    next_hops: &mut [W],
    mut look_up: impl FnMut(&[A], &mut [W]),
) {
    let mut missed = Missed { places: [0; N], addresses: [A::ZERO; N], len: 0 };
    let mut found = [W::default(); N];
    while at < addresses.len() {
        at = missed.collect(addresses, next_hops, at);
        look_up(&missed.addresses[..missed.len], &mut found[..missed.len]);
        for (&place, &found) in missed.places[..missed.len].iter().zip(&found) {
            next_hops[place as usize] = found;
        }
    }
}

/// The addresses of a batch that are looked up together.
struct Missed<const N: usize, A> {
    /// Their indices in the batch.
    places: [u32; N],
    addresses: [A; N],
    len: usize,
}

impl<const N: usize, A: Address> Missed<N, A> {
    /// Collects from index `at` on, and returns the index from which on to go on. Out of line:
    /// whoever looks up is compiled for each instruction set.
    #[inline(never)]
    fn collect<W: Width>(&mut self, addresses: &[A], next_hops: &[W], mut at: usize) -> usize {
        let mut len = 0;
        while at < addresses.len() && len <= N - BLOCK {
            let block = &next_hops[at..addresses.len().min(at + BLOCK)];
            // In many tables few blocks have any.
            if any_unanswered(block) {
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
