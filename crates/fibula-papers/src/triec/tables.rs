//! The nine tables of the paper.

use crate::{Error, Lab, Named};
use fibula_io::generate::{NextHopModel, TriecGroup, triec};

/// The groups.
pub(super) const GROUPS: [TriecGroup; 3] = [TriecGroup::A, TriecGroup::B, TriecGroup::C];

/// The sizes of each group, in thousands of prefixes.
pub(super) const THOUSANDS: [usize; 3] = [200, 300, 400];

/// The largest tables, which the paper's measurements of speed take.
pub(super) const LARGEST: usize = 400;

/// The next hops of a router with 40 neighbours.
const NEXT_HOPS: NextHopModel = NextHopModel::Near(40);

/// Makes a table: `B-400K` is group B, 400,000 prefixes.
pub(super) fn table(lab: &Lab, group: TriecGroup, thousands: usize) -> Result<Named<u128>, Error> {
    let prefixes = thousands * 1000 / lab.options.smaller;
    let rib = triec(group, prefixes, NEXT_HOPS, 1)?.ipv6;
    Ok(Named { name: format!("{group}-{thousands}K"), rib })
}

/// Makes the largest table of each group.
pub(super) fn largest(lab: &Lab) -> Result<Vec<Named<u128>>, Error> {
    GROUPS.into_iter().map(|group| table(lab, group, LARGEST)).collect()
}
