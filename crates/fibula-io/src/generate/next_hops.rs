//! [`NextHopModel`]: which next hops a made table, or a real table made harder or easier, has.

use super::random::{Random, hash};
use super::weights::Weights;
use crate::Error;
use fibula::{Address, Family, Limit, NextHop, NextHopInfo, NextHops, Prefix, Rib, Route};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// How next hops are assigned to the prefixes of a table.
///
/// Written `near=200`, `different=200`, `each`. The number of next hops decides how wide an
/// engine's entries are. Their locality decides how many intervals remain once equal neighbours are
/// merged.
///
/// ```
/// use fibula_io::generate::NextHopModel;
/// assert_eq!("near=200".parse::<NextHopModel>()?, NextHopModel::Near(200));
/// assert_eq!(NextHopModel::Each.to_string(), "each");
/// # Ok::<(), fibula_io::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NextHopModel {
    /// This number of next hops, neighbours alike as in a router's table. A few next hops carry
    /// most of the prefixes. A more-specific prefix mostly has the next hop of its cover or its
    /// neighbour.
    Near(u32),
    /// This number of next hops, hashed from the whole prefix: neighbours have nothing in common.
    Different(u32),
    /// Every prefix its own next hop: the hardest table for width and for merging.
    Each,
}

impl NextHopModel {
    /// Returns the most next hops that the model gives to tables of `prefixes` prefixes together.
    #[must_use]
    pub fn count(self, prefixes: usize) -> u64 {
        match self {
            Self::Near(count) | Self::Different(count) => count.max(1).into(),
            Self::Each => prefixes as u64,
        }
    }
}

impl fmt::Display for NextHopModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Near(count) => write!(f, "near={count}"),
            Self::Different(count) => write!(f, "different={count}"),
            Self::Each => f.write_str("each"),
        }
    }
}

impl FromStr for NextHopModel {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let invalid = || {
            Error::argument(
                "next hops",
                text,
                "expected near=COUNT, different=COUNT or each, with a COUNT from 1 to 4294967294",
            )
        };
        let number =
            |digits: &str| digits.parse().ok().filter(|&n| n > 0 && n < u32::MAX).ok_or_else(invalid);
        match text.split_once('=') {
            None if text == "each" => Ok(Self::Each),
            Some(("near", digits)) => Ok(Self::Near(number(digits)?)),
            Some(("different", digits)) => Ok(Self::Different(number(digits)?)),
            _ => Err(invalid()),
        }
    }
}

/// Returns the same prefixes with next hops of a model: the *near* and *different* versions of a
/// real table that benchmarks compare. Next hops are numbered from `first`. O(n).
///
/// ```
/// use fibula::{NextHop, Rib};
/// use fibula_io::generate::{NextHopModel, remap};
/// let mut rib: Rib<u32> = Rib::new();
/// rib.insert("192.0.2.0/25".parse()?, NextHop(7));
/// rib.insert("192.0.2.128/25".parse()?, NextHop(7));
/// let each = remap(&rib, NextHopModel::Each, 1, 0);
/// assert_eq!(each.iter().map(|route| route.next_hop.0).collect::<Vec<_>>(), [1, 2]);
/// # Ok::<(), fibula::Error>(())
/// ```
#[must_use]
pub fn remap<A: Address>(rib: &Rib<A>, model: NextHopModel, first: u32, seed: u64) -> Rib<A> {
    let prefixes = rib.iter().map(|route| route.prefix);
    match model {
        NextHopModel::Near(count) => {
            let mut near = Near::new(count, seed);
            prefixes.map(|prefix| Route { prefix, next_hop: NextHop(first + near.next(prefix)) }).collect()
        }
        NextHopModel::Different(count) => {
            let index = |prefix: Prefix<A>| {
                let address = prefix.first().to_u128();
                let high = hash((address >> 64) as u64, seed);
                let word = hash(hash(address as u64, high), prefix.len().into());
                ((u128::from(word) * u128::from(count.max(1))) >> 64) as u32
            };
            prefixes.map(|prefix| Route { prefix, next_hop: NextHop(first + index(prefix)) }).collect()
        }
        NextHopModel::Each => {
            prefixes.zip(first..).map(|(prefix, index)| Route { prefix, next_hop: NextHop(index) }).collect()
        }
    }
}

/// Returns made next hops: gateways of 10.0.0.0/8, and of fd00::/64 once those are used up.
///
/// # Errors
/// If there are more than [`NextHops::MAX`].
pub fn gateways(count: u64) -> Result<NextHops, Error> {
    let limit = |what: fibula::Error| Error::argument("next hops", &count.to_string(), what);
    Limit::check("next hops", count, NextHops::MAX).map_err(|e| limit(e.into()))?;
    let mut next_hops = NextHops::new();
    for index in 0..count as u32 {
        let address = if index < 1 << 24 {
            IpAddr::V4(Ipv4Addr::from_bits((10 << 24) | index))
        } else {
            IpAddr::V6(Ipv6Addr::from_bits((0xFD00 << 112) | u128::from(index)))
        };
        next_hops.intern(NextHopInfo::Gateway { address: Some(address), interface: None }).map_err(limit)?;
    }
    Ok(next_hops)
}

/// A neighbour is a prefix of the same /16 (IPv4) or /32 (IPv6): about what one operator holds.
fn neighbourhood(family: Family) -> u8 {
    match family {
        Family::Ipv4 => 16,
        Family::Ipv6 => 32,
    }
}

/// A walk in table order. For every open cover it keeps the next hop of the last prefix under it.
///
/// The shares are those of a router that exported its whole table with its next hops (PCH, 2015:
/// 577,703 routes, 3,771 next hops). More-specific prefixes with an earlier neighbour under the
/// same cover: 81 % have its next hop, and 34 % of the others have the cover's. Without such a
/// neighbour, 67 % have the cover's. Prefixes without cover: 52 % have their neighbour's.
struct Near<A> {
    random: Random,
    weights: Weights,
    open: Vec<Open<A>>,
}

struct Open<A> {
    cover: Prefix<A>,
    next_hop: Option<u32>,
    last: Option<(A, u32)>,
}

impl<A: Address> Near<A> {
    fn new(count: u32, seed: u64) -> Self {
        let everything = Open { cover: Prefix::ALL, next_hop: None, last: None };
        Self {
            random: Random::new(seed, u64::from(A::BITS)),
            weights: Weights::zipf(count.max(1) as usize),
            open: vec![everything],
        }
    }

    fn next(&mut self, prefix: Prefix<A>) -> u32 {
        while self.open.len() > 1 && self.open.last().is_some_and(|open| !open.cover.covers(prefix)) {
            self.open.pop();
        }
        let (cover, last) = self.open.last().map_or((None, None), |open| (open.next_hop, open.last));
        let neighbour = last
            .filter(|&(address, _)| address.common_prefix_len(prefix.first()) >= neighbourhood(A::FAMILY));
        let followed = match (cover, neighbour) {
            (Some(_), Some((_, neighbour))) if self.random.chance(810) => Some(neighbour),
            (Some(cover), Some(_)) if self.random.chance(340) => Some(cover),
            (Some(cover), None) if self.random.chance(670) => Some(cover),
            (None, Some((_, neighbour))) if self.random.chance(520) => Some(neighbour),
            _ => None,
        };
        let index = followed.unwrap_or_else(|| self.weights.draw(&mut self.random) as u32);
        if let Some(open) = self.open.last_mut() {
            open.last = Some((prefix.first(), index));
        }
        self.open.push(Open { cover: prefix, next_hop: Some(index), last: None });
        index
    }
}
