//! Made update streams.

use super::{Random, Weights};
use fibula::{Address, Change, NextHop, Prefix, Rib, Route};
use std::collections::HashSet;

/// Of a thousand updates, how many change nothing: the same route announced again, or an absent one
/// withdrawn again.
const NO_OPS: u32 = 333;
/// Of a thousand effective updates of a present route, how many withdraw it.
const WITHDRAWN: u32 = 300;
/// Of a thousand prefixes that see updates, how many are not in the table when the stream begins.
const NEW: u32 = 50;
/// Of a thousand updates, the number of distinct prefixes.
const DISTINCT: usize = 150;

/// Returns `count` updates, distributed as in a real hour (LINX, 2014-12-17: 23,446 updates of
/// 3,551 prefixes).
///
/// A third change nothing. Half are about the table's most frequent length (/24 in full tables).
/// Three prefixes flap all the time, and a hundred others take a quarter of the updates. There are
/// about three announcements to one withdrawal. One prefix in twenty is not in the table at first:
/// it is a part of a route that is. A withdrawn route comes back, mostly with the next hop that it
/// had, so that the table keeps its size. O((n + count) log n).
///
/// ```
/// use fibula_io::generate::{NextHopModel, Size, internet, updates};
/// let tables = internet(Size::ipv4(2000), NextHopModel::Near(40), 1)?;
/// let stream = updates(&tables.ipv4, 1000, 1);
/// let mut rib = tables.ipv4.clone();
/// let effective = stream.iter().filter(|&&change| rib.apply(change).is_some()).count();
/// assert!((600..730).contains(&effective));
/// # Ok::<(), fibula_io::Error>(())
/// ```
#[must_use]
pub fn updates<A: Address>(rib: &Rib<A>, count: usize, seed: u64) -> Vec<Change<A>> {
    let mut random = Random::new(seed, 0x0DA7_E500 + u64::from(A::BITS));
    let routes: Vec<Route<A>> = rib.iter().collect();
    let mut active = active(rib, &routes, (count * DISTINCT).div_ceil(1000), &mut random);
    if active.is_empty() {
        return Vec::new();
    }
    let weight = |rank: u64| (1 << 32) / (rank + 110) * if rank < 3 { 12 } else { 1 };
    let weights: Vec<u64> = (0..active.len() as u64).map(weight).collect();
    let weights = Weights::new(&weights);
    let mut stream = Vec::with_capacity(count);
    for _ in 0..count {
        let drawn = weights.draw(&mut random);
        let change = active[drawn].update(&routes, &mut random);
        stream.push(change);
    }
    stream
}

/// A prefix that sees updates.
struct Active<A> {
    prefix: Prefix<A>,
    /// Its next hop, or the next hop that it had when it was last in the table.
    next_hop: NextHop,
    present: bool,
}

impl<A: Address> Active<A> {
    fn update(&mut self, routes: &[Route<A>], random: &mut Random) -> Change<A> {
        if !random.chance(NO_OPS) {
            if self.present && random.chance(WITHDRAWN) {
                self.present = false;
            } else {
                if self.present || random.chance(250) {
                    self.next_hop = other(self.next_hop, routes, random);
                }
                self.present = true;
            }
        }
        if self.present {
            Change::Announce(Route { prefix: self.prefix, next_hop: self.next_hop })
        } else {
            Change::Withdraw(self.prefix)
        }
    }
}

/// Returns another next hop that is in use; the same one if few routes have another.
fn other<A: Address>(now: NextHop, routes: &[Route<A>], random: &mut Random) -> NextHop {
    let drawn = (0..32).filter_map(|_| random.one_of(routes)).map(|route| route.next_hop);
    drawn.into_iter().find(|&next_hop| next_hop != now).unwrap_or(now)
}

/// Returns the prefixes that see updates, at most `count`, the most frequent first.
fn active<A: Address>(
    rib: &Rib<A>,
    routes: &[Route<A>],
    wanted: usize,
    random: &mut Random,
) -> Vec<Active<A>> {
    let mut lengths = vec![0_usize; usize::from(A::BITS) + 1];
    for route in routes {
        lengths[usize::from(route.prefix.len())] += 1;
    }
    let frequent = (0..=A::BITS).max_by_key(|&len| lengths[usize::from(len)]).unwrap_or_default();
    let mut seen = HashSet::new();
    let mut active = Vec::new();
    // Small tables have fewer prefixes than were asked for.
    for _ in 0..wanted * 4 {
        if active.len() == wanted {
            break;
        }
        let is_frequent = random.chance(500);
        let drawn = (0..16).filter_map(|_| random.one_of(routes));
        let Some(route) = drawn.into_iter().find(|route| (route.prefix.len() == frequent) == is_frequent)
        else {
            continue;
        };
        let mut entry = Active { prefix: route.prefix, next_hop: route.next_hop, present: true };
        if random.chance(NEW) && route.prefix.len() < A::BITS {
            let longer = 1 + random.below(u64::from(A::BITS - route.prefix.len()).min(8)) as u8;
            entry.prefix = random.part(route.prefix, route.prefix.len() + longer);
            entry.present = rib.get(entry.prefix).is_some();
        }
        if seen.insert(entry.prefix) {
            active.push(entry);
        }
    }
    active
}
