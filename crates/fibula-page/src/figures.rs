//! The figures of a table: lengths, nesting, and what most routes lead to.

use crate::Shown;
use fibula::{Address, NextHop, Rib};
use serde_json::{Value, json};
use std::cmp::Reverse;

/// The values that are named.
const TOP: usize = 12;

/// Returns the figures of both families.
pub(crate) fn of(shown: &Shown) -> Value {
    json!({ "ipv4": of_family(&shown.ipv4(Some), shown), "ipv6": of_family(&shown.ipv6(Some), shown) })
}

fn of_family<A: Address>(rib: &Rib<A>, shown: &Shown) -> Value {
    let statistics = rib.statistics();
    let mut counts = vec![0_usize; shown.next_hops.len() + 1];
    rib.iter().for_each(|route| counts[route.next_hop.0 as usize] += 1);
    let mut values: Vec<usize> = (1..counts.len()).filter(|&at| counts[at] > 0).collect();
    values.sort_by_key(|&at| Reverse(counts[at]));
    let top = values.iter().take(TOP).map(|&at| json!([shown.text(NextHop(at as u32)), counts[at]]));
    json!({
        "routes": statistics.routes,
        "values": statistics.next_hops,
        "ranges": statistics.ranges,
        "default_route": statistics.default_route.map(|next_hop| shown.text(next_hop)),
        "lengths": statistics.lengths().collect::<Vec<_>>(),
        "depths": statistics.by_depth,
        "top": top.collect::<Vec<_>>(),
    })
}
