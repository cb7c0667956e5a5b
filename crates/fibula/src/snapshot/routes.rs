//! The routes of a snapshot: three arrays in the order of the table.

use crate::memory::{Array, Pages};
use crate::sections::{SectionWriter, Sections, unsound};
use crate::{Address, Error, ErrorKind, NextHop, Prefix, Rib, Route};

const ADDRESSES: &str = "route addresses";
const LENGTHS: &str = "route lengths";
const NEXT_HOPS: &str = "route next hops";

pub(super) fn write<A: Address>(rib: &Rib<A>, sections: &mut SectionWriter<'_>) {
    let (mut addresses, mut lengths, mut next_hops) = (Vec::new(), Vec::new(), Vec::new());
    for route in rib {
        addresses.push(route.prefix.first());
        lengths.push(route.prefix.len());
        next_hops.push(route.next_hop.0);
    }
    sections.made(ADDRESSES, &addresses);
    sections.made(LENGTHS, &lengths);
    sections.made(NEXT_HOPS, &next_hops);
}

/// Returns whether a snapshot contains routes.
pub(super) fn are_in(sections: &Sections<'_>) -> bool {
    sections.has(ADDRESSES)
}

/// The routes of a snapshot, searched in place.
#[derive(Clone, Debug)]
pub struct Routes<A: Address> {
    addresses: Array<A>,
    lengths: Array<u8>,
    next_hops: Array<u32>,
}

impl<A: Address> Default for Routes<A> {
    fn default() -> Self {
        Self {
            addresses: Array::new(Pages::Small),
            lengths: Array::new(Pages::Small),
            next_hops: Array::new(Pages::Small),
        }
    }
}

impl<A: Address> Routes<A> {
    pub(super) fn open(sections: &Sections<'_>, prefixes: u64) -> Result<Self, Error> {
        if !are_in(sections) {
            return Err(Error::new(ErrorKind::Snapshot, "a snapshot without its routes"));
        }
        let routes = usize::try_from(prefixes).unwrap_or(usize::MAX);
        Ok(Self {
            addresses: sections.array_of(ADDRESSES, routes)?,
            lengths: sections.array_of(LENGTHS, routes)?,
            next_hops: sections.array_of(NEXT_HOPS, routes)?,
        })
    }

    /// Returns all routes as a table. O(n).
    ///
    /// # Errors
    /// If a route is unsound.
    pub fn rib(&self) -> Result<Rib<A>, Error> {
        let read = (0..self.addresses.len()).map(|at| {
            let prefix = Prefix::new(self.addresses[at], self.lengths[at])?;
            let next_hop = Some(NextHop(self.next_hops[at])).filter(|next_hop| next_hop.is_some());
            let no_next_hop = || Error::new(ErrorKind::Snapshot, format!("{prefix} has no next hop"));
            Ok(Route { prefix, next_hop: next_hop.ok_or_else(no_next_hop)? })
        });
        let rib = read.collect::<Result<Rib<A>, Error>>().map_err(|error| unsound(ADDRESSES, error))?;
        if rib.len() == self.addresses.len() {
            Ok(rib)
        } else {
            Err(unsound(ADDRESSES, "holds a prefix twice"))
        }
    }

    /// Returns every route that covers a prefix, the longest first, as [`Rib::covering`].
    /// O(b log n) each, *b* as in [`Rib::longest_match`].
    pub fn covering(&self, prefix: Prefix<A>) -> impl Iterator<Item = Route<A>> {
        let mut next = Some(prefix);
        std::iter::from_fn(move || {
            let route = self.longest_cover(next?)?;
            let shorter = route.prefix.len().checked_sub(1);
            next = shorter.map(|len| Prefix::containing(route.prefix.first(), len));
            Some(route)
        })
    }

    /// Returns the longest cover by the algorithm of [`Rib::longest_cover`].
    fn longest_cover(&self, prefix: Prefix<A>) -> Option<Route<A>> {
        let mut bound = prefix;
        loop {
            let at = self.after(bound).checked_sub(1)?;
            let candidate = Prefix::new(self.addresses[at], self.lengths[at]).ok()?;
            if candidate.covers(prefix) {
                return Some(Route { prefix: candidate, next_hop: NextHop(self.next_hops[at]) });
            }
            let common = candidate.first().common_prefix_len(bound.first());
            if common >= bound.len() {
                return None; // out of order
            }
            bound = Prefix::containing(bound.first(), common);
        }
    }

    /// Returns the number of routes up to a prefix, itself included.
    fn after(&self, prefix: Prefix<A>) -> usize {
        let (mut low, mut high) = (0, self.addresses.len());
        while low < high {
            let middle = usize::midpoint(low, high);
            if (self.addresses[middle], self.lengths[middle]) <= (prefix.first(), prefix.len()) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }
}
