//! [`mirror`]: tells the routes of feeds as values, as they change, to somebody who keeps tables.
//!
//! ```text
//! feeds ──▶ Queue ──▶ Control ──▶ Noted, a plane that forwards nothing ──▶ values ──▶ tell
//! ```
//! A value is what the readers of [`fibula_io::table`] give for the route where `ip route` prints
//! it. What only forwarding needs is left out: the local table, host routes of neighbours, routes
//! for some packets alone. Next hops that are dead because their interface is disabled do not
//! count, and a route without others has no value.

use super::{Control, Settings};
use crate::Error;
use crate::feed::{Batch, Queue};
use crate::message::Target;
use crate::next_hops::Resolved;
use crate::plane::{Action, Adjacency, AdjacencyId, Plane, Routes};
use crate::routes::LOCAL;
use fibula::{Family, IpPrefix, NextHop, NextHopInfo};
use fibula_io::table::{Value, value_of};
use std::collections::{HashMap, HashSet};
use std::time::Instant;

/// How many routes are applied before they are told.
const PIECE: usize = 1 << 15;

/// A plane that forwards nothing. It notes which routes have changed.
#[derive(Debug, Default)]
pub struct Noted {
    /// The table, the prefix, and where it leads now.
    routes: Vec<(u32, IpPrefix, NextHop)>,
    /// Whether indices of next hops may be reused.
    have_indices_gone: bool,
}

impl Plane for Noted {
    fn set_adjacency(&mut self, _id: AdjacencyId, _adjacency: Adjacency) -> Result<(), Error> {
        Ok(())
    }

    fn set_action(&mut self, _next_hop: NextHop, _action: &Action) -> Result<(), Error> {
        Ok(())
    }

    fn apply(&mut self, table: u32, routes: Routes<'_>) -> Result<(), Error> {
        match routes {
            Routes::V4(_, deltas) => {
                self.routes.extend(deltas.iter().map(|delta| (table, delta.prefix.into(), delta.after)));
            }
            Routes::V6(_, deltas) => {
                self.routes.extend(deltas.iter().map(|delta| (table, delta.prefix.into(), delta.after)));
            }
        }
        Ok(())
    }

    fn grace_period(&mut self) -> Result<(), Error> {
        self.have_indices_gone = true;
        Ok(())
    }

    fn start(&mut self) -> Result<(), Error> {
        Ok(())
    }
}

/// What a mirror tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told<'t> {
    /// The value that a prefix has now. It may be the one that it had.
    Route {
        /// The id of the table.
        table: u32,
        /// The prefix.
        prefix: IpPrefix,
        /// The value; `None` if there is no route, or it has no next hop that lives.
        value: Option<&'t NextHopInfo>,
    },
    /// Routes are left out, because this limit was reached.
    Limit(&'t str),
}

/// Applies what feeds put into the queue, and tells the values of the routes that changed, until
/// the queue says that it is the last batch. Changed routes of a session that follows another one
/// are told as in [`Settings`].
///
/// O(changes), and O(routes) where a link or a next-hop object changes the value of a next hop.
pub fn mirror(
    settings: Settings,
    wanted: Value,
    queue: &Queue<Control<Noted>>,
    mut tell: impl FnMut(Told<'_>),
) {
    let mut mirror =
        Mirror { control: Control::new(Noted::default(), settings), wanted, values: HashMap::new() };
    loop {
        let mut batch = queue.take(mirror.control.deadline(), mirror.control.settings.gather);
        let (requests, is_last) = (std::mem::take(&mut batch.requests), batch.is_last);
        for piece in routes_alone(batch).pieces(PIECE) {
            mirror.apply(piece, &mut tell);
        }
        for request in requests {
            request(&mut mirror.control);
        }
        if is_last {
            return;
        }
    }
}

/// Returns a batch without what only forwarding needs.
fn routes_alone(mut batch: Batch<Control<Noted>>) -> Batch<Control<Noted>> {
    batch.routes.retain(|key, _| key.table != LOCAL && key.selector.is_none());
    batch.neighbours.clear();
    batch.stations.clear();
    batch.confs.clear();
    batch
}

struct Mirror {
    control: Control<Noted>,
    wanted: Value,
    /// The value of each next hop that was told.
    values: HashMap<NextHop, Option<NextHopInfo>>,
}

impl Mirror {
    fn apply(&mut self, batch: Batch<Control<Noted>>, tell: &mut impl FnMut(Told<'_>)) {
        let limit = self.control.limit.clone();
        let is_of_routes = batch.links.is_empty() && batch.objects.is_empty() && batch.marks.is_empty();
        self.control.apply(batch, Instant::now());
        if self.control.limit != limit
            && let Some(limit) = &self.control.limit
        {
            tell(Told::Limit(limit));
        }
        let Noted { routes, have_indices_gone } = std::mem::take(&mut self.control.plane);
        if !is_of_routes || have_indices_gone {
            let next_hops = &self.control.next_hops;
            self.values.retain(|&next_hop, _| next_hops.key(next_hop).is_some());
        }
        if !is_of_routes {
            self.tell_changed(tell);
        }
        let Self { control, wanted, values } = self;
        for (table, prefix, next_hop) in routes {
            let value = if next_hop.is_some() {
                values.entry(next_hop).or_insert_with(|| control.value(next_hop, *wanted)).as_ref()
            } else {
                None
            };
            tell(Told::Route { table, prefix, value });
        }
    }

    /// Tells the routes of next hops whose value is another now.
    fn tell_changed(&mut self, tell: &mut impl FnMut(Told<'_>)) {
        let Self { control, wanted, values } = self;
        let mut changed = HashSet::new();
        for (&next_hop, told) in &mut *values {
            let now = control.value(next_hop, *wanted);
            if *told != now {
                *told = now;
                changed.insert(next_hop);
            }
        }
        if changed.is_empty() {
            return;
        }
        for table in control.tables.sizes().into_iter().map(|size| size.table) {
            for family in [Family::Ipv4, Family::Ipv6] {
                let routes = control.tables.routes(table, family, None);
                for route in routes.filter(|route| changed.contains(&route.next_hop)) {
                    let value = values.get(&route.next_hop).and_then(Option::as_ref);
                    tell(Told::Route { table, prefix: route.prefix, value });
                }
            }
        }
    }
}

impl Control<Noted> {
    /// Returns the value of a next hop; `None` if it has no leg that lives.
    fn value(&self, next_hop: NextHop, wanted: Value) -> Option<NextHopInfo> {
        let word = match (self.next_hops.key(next_hop)?, self.next_hops.resolve(next_hop)?) {
            (_, Resolved::Drop) => "blackhole",
            (Target::Unreachable, _) => "unreachable",
            (Target::Prohibit, _) => "prohibit",
            (Target::Local, _) => "local",
            (Target::Kernel(legs), _) if legs.is_empty() => "throw",
            _ => return value_of(self.living(next_hop), wanted),
        };
        value_of([(NextHopInfo::Label(word.into()), None)], wanted)
    }

    /// Returns the legs of a next hop that live, with their weights where it has several.
    fn living(&self, next_hop: NextHop) -> impl Iterator<Item = (NextHopInfo, Option<u32>)> {
        let legs = self.next_hops.legs(next_hop);
        let is_one = legs.len() == 1;
        legs.into_iter().filter(|&((interface, _), _)| self.adjacencies.is_enabled(interface)).map(
            move |((interface, address), weight)| {
                let interface = (interface != 0).then(|| self.adjacencies.link_name(interface).into());
                let weight = (!is_one).then(|| u32::try_from(weight).unwrap_or(u32::MAX));
                (NextHopInfo::Gateway { address, interface }, weight)
            },
        )
    }
}
