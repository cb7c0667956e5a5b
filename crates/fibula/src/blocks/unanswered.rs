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
    let (mut places, mut missed) = ([0_u32; TOGETHER], [A::ZERO; TOGETHER]);
    let mut found = [W::default(); TOGETHER];
    let mut at = 0;
    while at < addresses.len() {
        let mut len = 0;
        while at < addresses.len() && len <= TOGETHER - BLOCK {
            let block = &next_hops[at..addresses.len().min(at + BLOCK)];
            // All are compared, so that several are at once. In many tables few blocks have any.
            if block.iter().fold(false, |any, &next_hop| any | (next_hop == W::default())) {
                for (lane, &next_hop) in block.iter().enumerate() {
                    places[len] = (at + lane) as u32;
                    len += usize::from(next_hop == W::default());
                }
            }
            at += block.len();
        }
        for (missed, &place) in missed.iter_mut().zip(&places[..len]) {
            *missed = addresses[place as usize];
        }
        look_up(&missed[..len], &mut found[..len]);
        for (&place, &found) in places[..len].iter().zip(&found) {
            next_hops[place as usize] = found;
        }
    }
}
