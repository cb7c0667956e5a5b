//! The changes among which the worst is looked for.

use fibula::{Address, Change, Family, NextHop, Prefix, Rib, Route};
use std::time::Duration;

/// A kind of changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Short covers, from the whole space to a /8 (/19 in IPv6), come and go.
    ShortCovers,
    /// Longer covers come and go.
    LongCovers,
    /// The default route comes and goes, or goes and comes.
    DefaultRoute,
    /// Routes of the /24 (/48 in IPv6) with the most longer routes go and come.
    Densest,
    /// Any routes longer than the short covers go and come.
    Random,
}

impl Kind {
    /// Returns its name in results.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::ShortCovers => "short covers",
            Self::LongCovers => "long covers",
            Self::DefaultRoute => "default route",
            Self::Densest => "densest",
            Self::Random => "random",
        }
    }

    /// Returns the most time that one change may take.
    pub(super) fn bound(self) -> Duration {
        match self {
            Self::ShortCovers => Duration::from_millis(50),
            Self::DefaultRoute | Self::LongCovers | Self::Densest | Self::Random => Duration::from_millis(1),
        }
    }
}

/// Changes of one kind, in pairs: the second of each takes the first back.
#[derive(Clone, Debug)]
pub(super) struct Changes<A: Address> {
    pub(super) kind: Kind,
    pub(super) pairs: Vec<[Change<A>; 2]>,
}

/// Returns the length of the longest of the short covers, and the length of the node whose longer
/// routes are the densest.
fn lengths<A: Address>() -> (u8, u8) {
    match A::FAMILY {
        Family::Ipv4 => (8, 24),
        Family::Ipv6 => (19, 48),
    }
}

/// Returns the changes of each kind that a table allows. `sample` is the number of routes of each
/// sample.
pub(super) fn changes_of<A: Address>(rib: &Rib<A>, sample: usize) -> Vec<Changes<A>> {
    let (short, dense) = lengths::<A>();
    let next_hop = rib.max_next_hop().max(NextHop(1));
    let cover = |len| Some(comes_and_goes(Route { prefix: densest(rib, len, true)?, next_hop }));
    let default = match rib.get(Prefix::ALL) {
        Some(next_hop) => goes_and_comes(Route { prefix: Prefix::ALL, next_hop }),
        None => comes_and_goes(Route { prefix: Prefix::ALL, next_hop }),
    };
    let of_densest = densest(rib, dense, false).map(|node| {
        let routes: Vec<Route<A>> = rib.covered(node).filter(|route| route.prefix != node).collect();
        sampled(&routes, sample)
    });
    let all: Vec<Route<A>> = rib.iter().filter(|route| route.prefix.len() > short).collect();
    let kinds = [
        (Kind::ShortCovers, (0..=short).filter_map(cover).collect()),
        (Kind::LongCovers, (short + 1..=A::BITS).filter_map(cover).collect()),
        (Kind::DefaultRoute, vec![default; 5]),
        (Kind::Densest, of_densest.unwrap_or_default()),
        (Kind::Random, sampled(&all, sample)),
    ];
    kinds
        .into_iter()
        .filter(|(_, pairs)| !pairs.is_empty())
        .map(|(kind, pairs)| Changes { kind, pairs })
        .collect()
}

fn comes_and_goes<A: Address>(route: Route<A>) -> [Change<A>; 2] {
    [Change::Announce(route), Change::Withdraw(route.prefix)]
}

fn goes_and_comes<A: Address>(route: Route<A>) -> [Change<A>; 2] {
    [Change::Withdraw(route.prefix), Change::Announce(route)]
}

/// Returns `count` routes, drawn the same way every time, as changes.
fn sampled<A: Address>(routes: &[Route<A>], count: usize) -> Vec<[Change<A>; 2]> {
    let mut random = fastrand::Rng::with_seed(1);
    random.choose_multiple(routes, count).into_iter().map(|&route| goes_and_comes(route)).collect()
}

/// Returns the prefix of `len` bits that covers the most longer routes, without a route itself if
/// it is to be `new`. O(n).
fn densest<A: Address>(rib: &Rib<A>, len: u8, new: bool) -> Option<Prefix<A>> {
    let mut most: Option<(usize, Prefix<A>)> = None;
    let mut now: Option<(usize, Prefix<A>)> = None;
    // In order of address, the longer routes of a node are neighbours, shorter ones aside.
    for route in rib.iter().filter(|route| route.prefix.len() > len) {
        let node = Prefix::containing(route.prefix.first(), len);
        let count = now.filter(|&(_, same)| same == node).map_or(1, |(count, _)| count + 1);
        now = Some((count, node));
        if most.is_none_or(|(least, _)| count > least) && !(new && rib.get(node).is_some()) {
            most = now;
        }
    }
    most.map(|(_, node)| node)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rib(prefixes: &[&str]) -> Rib<u32> {
        let route = |prefix: &&str| Route { prefix: prefix.parse().unwrap(), next_hop: NextHop(1) };
        prefixes.iter().map(route).collect()
    }

    #[test]
    fn covers_are_where_the_most_routes_are_and_none_stands() {
        let rib = rib(&["10.0.0.0/9", "10.1.0.0/16", "10.1.2.0/24", "10.1.3.0/24", "11.1.0.0/16"]);
        let found = |len, new| densest(&rib, len, new).map(|prefix| prefix.to_string()).unwrap_or_default();
        assert_eq!([found(7, true), found(8, true)], ["10.0.0.0/7", "10.0.0.0/8"]);
        assert_eq!([found(9, true), found(9, false)], ["11.0.0.0/9", "10.0.0.0/9"]);
        assert_eq!([found(23, true), found(24, true)], ["10.1.2.0/23", ""]);
    }

    #[test]
    fn every_pair_leaves_the_table_as_it_was() {
        let whole = rib(&["0.0.0.0/0", "10.1.0.0/16", "10.1.2.128/25", "10.1.2.0/25"]);
        let kinds = changes_of(&whole, 10);
        assert_eq!(kinds.len(), 5);
        for Changes { kind, pairs } in kinds {
            for pair in pairs {
                let mut rib = whole.clone();
                assert!(pair.iter().all(|&change| rib.apply(change).is_some()), "{kind:?}");
                assert!(rib.iter().eq(whole.iter()), "{kind:?}");
            }
        }
    }
}
