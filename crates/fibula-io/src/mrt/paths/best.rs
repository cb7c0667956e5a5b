//! Which of the paths to a prefix is best, by the decision process of RFC 4271 section 9.1.
//!
//! The steps, each among those that the step before leaves: the greatest LOCAL_PREF, the shortest
//! AS path, the least ORIGIN, the least MULTI_EXIT_DISC among the paths of one neighbouring AS,
//! peers of other ASes, the least identifier of the router, the least address of the peer, and at
//! last the least path identifier (RFC 7911). The cost of the way to the next hop is not known here
//! and is left out.

use super::peers::{Known, Peers};
use super::{Held, Rank, Speaker};
use std::cmp::Reverse;

/// LOCAL_PREF where a message has none.
const LOCAL_DEFAULT: u32 = 100;

/// Returns the best of some paths, the first of those that are equal, or `None` if there are none.
pub(super) fn best(held: &[Held], ranks: &[Rank], peers: &Peers) -> Option<Held> {
    if let [one] = held {
        return Some(*one);
    }
    let of = |held: &Held| &ranks[held.rank as usize];
    let first_steps = |held: &Held| {
        let Rank { length, preference } = of(held);
        (Reverse(preference.local.unwrap_or(LOCAL_DEFAULT)), *length, preference.origin)
    };
    let least = held.iter().map(first_steps).min()?;
    let left = || held.iter().filter(|held| first_steps(held) == least);
    let exits = |held: &Held| (of(held).preference.neighbour, of(held).preference.exit);
    // Most routes have no discriminator, and then all are equal.
    let are_equal = left().all(|held| exits(held).1 == 0);
    let is_left = |held: &Held| {
        let (neighbour, exit) = exits(held);
        are_equal || !left().any(|other| exits(other).0 == neighbour && exits(other).1 < exit)
    };
    let last_steps = |held: &&Held| {
        let Known { peer, speaker, .. } = &peers[held.peer];
        let Speaker { router_id, is_internal } = *speaker;
        (is_internal.unwrap_or(false), router_id.unwrap_or(0), *peer, held.path_id)
    };
    left().filter(|held| is_left(held)).min_by_key(last_steps).copied()
}
