//! [`Flap`]: the changes that hurt most.

use fibula::{Address, Change, Error, NextHop, Prefix, Rib, Route};
use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;

/// The number of times that a short prefix is withdrawn and announced.
const ROUNDS: usize = 100;

/// A flap. Everything that it changes is changed back, so that the table at the end is the one at
/// the beginning.
///
/// ```
/// use fibula::{NextHop, Rib};
/// use fibula_lab::replay::Flap;
/// let mut rib: Rib<u32> = Rib::new();
/// rib.insert("10.0.0.0/8".parse()?, NextHop(1));
/// let mut flapped = rib.clone();
/// for flap in [Flap::Session, Flap::Default, Flap::Eight] {
///     flapped.apply_all(flap.changes(&rib));
///     assert_eq!(flapped, rib);
/// }
/// assert_eq!(Flap::Session.changes(&rib).len(), 2);
/// # Ok::<(), fibula::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flap {
    /// A BGP session goes down and comes back: every route is withdrawn, then every route
    /// announced, in the table's order.
    Session,
    /// The default route changes to one next hop, to another, and is withdrawn, a hundred times.
    Default,
    /// The same for the /8 that covers most routes.
    Eight,
}

impl Flap {
    /// Every flap.
    const ALL: [Self; 3] = [Self::Session, Self::Default, Self::Eight];

    /// The name used on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Default => "default",
            Self::Eight => "/8",
        }
    }

    /// Returns the changes for a table.
    #[must_use]
    pub fn changes<A: Address>(self, rib: &Rib<A>) -> Vec<Change<A>> {
        match self {
            Self::Session => {
                let withdrawn = rib.iter().map(|route| Change::Withdraw(route.prefix));
                withdrawn.chain(rib.iter().map(Change::Announce)).collect()
            }
            Self::Default => come_and_go(rib, Prefix::ALL),
            Self::Eight => {
                let mut covered: HashMap<Prefix<A>, usize> = HashMap::new();
                for route in rib.iter().filter(|route| route.prefix.len() >= 8) {
                    *covered.entry(Prefix::containing(route.prefix.first(), 8)).or_default() += 1;
                }
                let fullest = covered.into_iter().max_by_key(|&(prefix, routes)| (routes, prefix));
                fullest.map_or_else(Vec::new, |(prefix, _)| come_and_go(rib, prefix))
            }
        }
    }
}

fn come_and_go<A: Address>(rib: &Rib<A>, prefix: Prefix<A>) -> Vec<Change<A>> {
    let one = rib.iter().next().map_or(NextHop(1), |route| route.next_hop);
    let other = rib.iter().map(|route| route.next_hop).find(|&next_hop| next_hop != one).unwrap_or(one);
    let announce = |next_hop| Change::Announce(Route { prefix, next_hop });
    let round = [announce(one), announce(other), Change::Withdraw(prefix)];
    let last = rib.get(prefix).map_or(Change::Withdraw(prefix), announce);
    std::iter::repeat_n(round, ROUNDS).flatten().chain([last]).collect()
}

impl fmt::Display for Flap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Flap {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let found = Self::ALL.into_iter().find(|flap| flap.name() == text);
        found.ok_or_else(|| Error::unknown_name("flap", text, &Self::ALL.map(Self::name)))
    }
}
