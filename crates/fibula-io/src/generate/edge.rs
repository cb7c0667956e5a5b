//! The table of an access router.

use super::{NextHopModel, Random, Size, with_next_hops};
use crate::Error;
use crate::table::Tables;
use fibula::{Address, Prefix};
use std::collections::BTreeSet;

/// The most hosts of a family: three quarters of the pools that fit into the region.
const MAX_HOSTS: Size = Size { ipv4: 4_000_000, ipv6: 4_000_000 };

/// Returns an access router's tables: host routes of subscribers, drawn from address pools.
///
/// `hosts` counts the host routes (/32, /128). IPv4 hosts are in pools of /22 and IPv6 hosts in
/// /64s. A pool has 1,024 addresses, three fifths of them used, at random. Each pool is a route
/// itself, and there is a default route. For every hundred hosts there is one network of a business
/// line (/28../30, /48../56).
///
/// # Errors
/// If a family has more than four million hosts, or more next hops than fit.
///
/// ```
/// use fibula_io::generate::{NextHopModel, Size, edge};
/// let tables = edge(Size::ipv4(1000), NextHopModel::Near(8), 1)?;
/// assert_eq!(tables.ipv4.iter().filter(|route| route.prefix.len() == 32).count(), 1000);
/// # Ok::<(), fibula_io::Error>(())
/// ```
pub fn edge(hosts: Size, model: NextHopModel, seed: u64) -> Result<Tables, Error> {
    hosts.check(MAX_HOSTS)?;
    let mut random = Random::new(seed, 0xED6E);
    let region = |bits, len| Prefix::containing(u32::from_bits(bits, 0, 8), len);
    // 100.64.0.0/10 is too small for the largest tables, so they use a provider's own /8.
    let ipv4 = place(&mut random, region(100, 8), [22, 30, 28], hosts.ipv4);
    let provider = Prefix::containing(u128::from_bits(0x2001_0DB8, 0, 32), 32);
    let ipv6 = place(&mut random, provider, [64, 56, 48], hosts.ipv6);
    with_next_hops(ipv4, ipv6, model, seed)
}

/// Places pools of length `pool`, hosts in them, and business lines of `longest` down to `shortest`
/// in the upper half of the region.
fn place<A: Address>(
    random: &mut Random,
    region: Prefix<A>,
    [pool, longest, shortest]: [u8; 3],
    hosts: usize,
) -> Vec<Prefix<A>> {
    let (Some([lower, upper]), 1..) = (region.halves(), hosts) else { return Vec::new() };
    let mut all = BTreeSet::from([Prefix::ALL]);
    let mut left = hosts;
    while left > 0 {
        let block = random.part(lower, pool);
        if !all.insert(block) {
            continue;
        }
        let mut places: Vec<u64> = (0..1024).collect();
        for i in 0..left.min(614) {
            places.swap(i, i + random.index(1024 - i));
            let address = block.first() | A::from_bits(places[i], A::BITS - 10, 10);
            all.insert(Prefix::host(address));
        }
        left -= left.min(614);
    }
    let wanted = all.len() + hosts / 100;
    while all.len() < wanted {
        let len = longest - random.below(u64::from(longest - shortest) + 1) as u8;
        all.insert(random.part(upper, len));
    }
    all.into_iter().collect()
}
