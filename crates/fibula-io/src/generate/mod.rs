//! Made tables and update streams. They are seeded, the same on every machine, and shaped like real
//! ones.
//!
//! - [`internet`]: full tables of both families as of May 2026, and larger ones as tables will be;
//! - [`edge`]: the table of an access router, mostly host routes;
//! - [`triec`]: the tables the TrieC paper was measured on;
//! - [`updates`]: an hour of changes to any table;
//! - [`remap`]: any table with next hops of another [`NextHopModel`].
//!
//! Nothing depends on floating point, on the order of a hash table or on the number of threads. The
//! tests pin checksums of every kind.

mod edge;
mod internet;
mod mix;
mod next_hops;
mod random;
#[cfg(test)]
mod tests;
mod triec;
mod updates;
mod weights;

pub use edge::edge;
pub use mix::Size;
pub use next_hops::{NextHopModel, gateways, remap};
pub use triec::{TriecGroup, triec};
pub use updates::updates;

pub(crate) use random::Random;
pub(crate) use weights::Weights;

use crate::Error;
use crate::table::Tables;
use fibula::{Address, NextHop, Prefix, Rib, Route};

/// Returns full Internet tables.
///
/// [`Size::FULL`] has exactly the length mix of a RIPE RIS peer's tables of 2026-05-11 (1,042,325
/// IPv4 prefixes of /8../24 and 246,175 IPv6 prefixes of /16../48), and 1,000 and 300 longer
/// prefixes. Smaller tables keep the proportions. In larger ones only the lengths that operators
/// still add grow in number (/22../24, /29../48). Half the prefixes have a shorter cover in the
/// table.
///
/// Prefixes are placed shortest first. A prefix that is to have a cover is placed under a shorter
/// prefix, more likely under a large one or one that was split before. A prefix without cover is
/// placed in an operator's block (a /16; a /32 within a /24), mostly in a block that is used
/// already. Both come in runs of neighbours. So prefixes cluster as real ones do: the tests print
/// the figures, `cargo test -p fibula-io made_tables_resemble -- --nocapture`.
///
/// O(n log n); the full tables take about a second.
///
/// ```
/// use fibula_io::generate::{NextHopModel, Size, internet};
/// let size = Size { ipv4: 2000, ipv6: 500 };
/// let tables = internet(size, NextHopModel::Near(40), 1)?;
/// assert_eq!((tables.ipv4.len(), tables.ipv6.len(), tables.next_hops.len()), (2000, 500, 40));
/// assert_eq!(tables, internet(size, NextHopModel::Near(40), 1)?); // the seed decides
/// # Ok::<(), fibula_io::Error>(())
/// ```
///
/// # Errors
/// If the size is past [`Size::MAX`], or there are more next hops than fit.
pub fn internet(size: Size, model: NextHopModel, seed: u64) -> Result<Tables, Error> {
    size.check(Size::MAX)?;
    let place4 = || {
        let shape = &internet::IPV4;
        internet::place(shape, &mix::scaled(shape.mix, size.ipv4 as u64, shape.grows.clone()), seed)
    };
    let place6 = || {
        let shape = &internet::IPV6;
        internet::place(shape, &mix::scaled(shape.mix, size.ipv6 as u64, shape.grows.clone()), seed)
    };
    with_next_hops(place4(), place6(), model, seed)
}

/// Builds the tables of these prefixes, which are in order and distinct.
fn with_next_hops(
    ipv4: Vec<Prefix<u32>>,
    ipv6: Vec<Prefix<u128>>,
    model: NextHopModel,
    seed: u64,
) -> Result<Tables, Error> {
    let next_hops = gateways(model.count(ipv4.len() + ipv6.len()))?;
    let after_ipv4 = if model == NextHopModel::Each { ipv4.len() as u32 } else { 0 };
    Ok(Tables {
        ipv4: remap(&unmapped(ipv4), model, 1, seed),
        ipv6: remap(&unmapped(ipv6), model, 1 + after_ipv4, seed),
        next_hops,
    })
}

fn unmapped<A: Address>(prefixes: Vec<Prefix<A>>) -> Rib<A> {
    prefixes.into_iter().map(|prefix| Route { prefix, next_hop: NextHop(1) }).collect()
}
