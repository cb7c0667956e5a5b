//! What the control shows of itself.

use super::{Control, Counts};
use crate::feed::Feed;
use crate::feed::bfd::Gateways;
use crate::message::{Rule, Target};
use crate::next_hops::Resolved;
use crate::plane::{Adjacency, Plane};
use crate::routes::{Chosen, TableSize};
use fibula::{Family, IpPrefix, NextHop};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::IpAddr;

/// A feed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FeedRow {
    /// Its name.
    pub feed: Feed,
    /// The number of its sessions.
    pub session: u32,
    /// Whether it is connected.
    pub connected: bool,
    /// Whether a session has told everything.
    pub complete: bool,
    /// How many routes there were before a session of zebra.
    pub before: usize,
    /// How many routes the session has told or removed, until it is complete.
    pub heard: usize,
    /// How many that must be so that the session need not be waited for.
    pub wanted: usize,
}

/// A network interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkRow {
    /// The kernel's index.
    pub index: u32,
    /// The name.
    pub name: String,
    /// Whether it is up.
    pub up: bool,
    /// In bytes.
    pub mtu: u32,
}

/// A router at a glance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// Whether the plane forwards.
    pub forwarding: bool,
    /// How often what forwards was replaced as a whole.
    pub generation: u64,
    /// How the plane forwards, in lines; none of a plane that has nothing to say.
    pub plane: Vec<String>,
    /// The feeds.
    pub feeds: Vec<FeedRow>,
    /// The tables.
    pub tables: Vec<TableSize>,
    /// Next hops in use.
    pub next_hops: usize,
    /// Next-hop objects.
    pub objects: usize,
    /// Adjacencies in use.
    pub adjacencies: usize,
    /// Those of them that are not resolved: the kernel gets their packets.
    pub unresolved: usize,
    /// The kernel's rules that the router obeys: the kernel gets packets that they may concern.
    pub rules: Vec<Rule>,
    /// What BFD says of gateways; `None` if nobody follows it.
    pub bfd: Option<Gateways>,
    /// The next hops of which BFD holds a gateway down.
    pub held_down: usize,
    /// Neighbours of the kernel.
    pub neighbours: usize,
    /// The interfaces that packets come in by, and what is wrong with each, if something is.
    pub attached: Vec<(String, Option<String>)>,
    /// Network interfaces.
    pub links: Vec<LinkRow>,
    /// How often things happened.
    pub counts: Counts,
    /// From the arrival of a message until the plane had it: median, microseconds.
    pub latency_p50_us: f64,
    /// The same: 99 of 100 were faster.
    pub latency_p99_us: f64,
    /// What the plane refuses at the moment.
    pub error: Option<String>,
    /// The limit that was reached last: what was told beyond it was left out.
    pub limit: Option<String>,
}

/// What happens to packets of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// They go to a gateway.
    Via,
    /// Their destination is on the link; the kernel resolves it.
    OnLink,
    /// They are dropped.
    Blackhole,
    /// The kernel answers that there is no route.
    Unreachable,
    /// The kernel answers that it is forbidden.
    Prohibit,
    /// They are for this machine.
    Local,
    /// The kernel does what only it can do.
    Kernel,
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Via => "via",
            Self::OnLink => "on-link",
            Self::Blackhole => "blackhole",
            Self::Unreachable => "unreachable",
            Self::Prohibit => "prohibit",
            Self::Local => "local",
            Self::Kernel => "kernel",
        })
    }
}

/// A way to a destination.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NextHopRow {
    /// What happens to packets.
    pub kind: Way,
    /// The gateway.
    pub gateway: Option<IpAddr>,
    /// The name of the interface.
    pub interface: Option<String>,
    /// The share beside the other ways.
    pub weight: u64,
    /// Whether the plane can send there; else the kernel gets the packet.
    pub resolved: bool,
    /// Whether BFD holds the gateway down: the other ways get its packets, or else the kernel.
    pub held_down: bool,
}

/// A route.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RouteRow {
    /// The id of the table.
    pub table: u32,
    /// The destination.
    pub prefix: String,
    /// Who told it; `None` for host routes of neighbours and local addresses.
    pub feed: Option<Feed>,
    /// Who made it, as `rtm_protocol` says it.
    pub protocol: Option<u8>,
    /// Its metric.
    pub metric: Option<u32>,
    /// The index of its next hop.
    pub next_hop: u32,
    /// The ways to it.
    pub ways: Vec<NextHopRow>,
}

/// The answer for an address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LookupRow {
    /// The address.
    pub address: IpAddr,
    /// The route that answers for it.
    pub route: Option<RouteRow>,
}

impl<P: Plane> Control<P> {
    /// Returns the router at a glance. O(interfaces, tables and next hops).
    pub fn status(&self) -> Status {
        let feeds = self.feeds.iter().map(|(&feed, state)| FeedRow {
            feed,
            session: state.session,
            connected: state.is_connected,
            complete: state.is_complete,
            before: state.before,
            heard: state.heard,
            wanted: if feed == Feed::Fpm { state.wanted(&self.settings) } else { 0 },
        });
        let mut links: Vec<LinkRow> = self
            .adjacencies
            .links()
            .map(|(index, link)| LinkRow { index, name: link.name.clone(), up: link.is_up, mtu: link.mtu })
            .collect();
        links.sort_by_key(|link| link.index);
        let microseconds = |quantile| self.latency.value_at_quantile(quantile) as f64 / 1e3;
        Status {
            forwarding: self.has_started,
            plane: self.plane.facts(),
            feeds: feeds.collect(),
            tables: self.tables.sizes(),
            next_hops: self.next_hops.len(),
            objects: self.next_hops.object_count(),
            adjacencies: self.adjacencies.len(),
            unresolved: self.adjacencies.unresolved(),
            rules: self.rules.clone(),
            bfd: self.adjacencies.gateways().cloned(),
            held_down: self.next_hops.held_down(),
            generation: self.plane.generation(),
            neighbours: self.adjacencies.neighbour_count(),
            attached: self.attached.clone(),
            links,
            counts: self.counts,
            latency_p50_us: microseconds(0.5),
            latency_p99_us: microseconds(0.99),
            error: self.error.clone(),
            limit: self.limit.clone(),
        }
    }

    /// Returns how long messages took from their arrival until the plane had them, as pairs of
    /// nanoseconds (to three digits) and the number of messages since the beginning. The
    /// difference of two calls is what came in between.
    pub fn latencies(&self) -> impl Iterator<Item = (u64, u64)> {
        self.latency.iter_recorded().map(|value| (value.value_iterated_to(), value.count_at_value()))
    }

    /// Returns the routes of a table in one family in order, those after a prefix if one is given.
    /// O(log n) to begin.
    pub fn routes(
        &self,
        table: u32,
        family: Family,
        after: Option<IpPrefix>,
    ) -> impl Iterator<Item = RouteRow> {
        self.tables.routes(table, family, after).map(move |route| self.row(table, route))
    }

    /// Returns what answers for an address.
    pub fn lookup(&self, table: u32, address: IpAddr) -> LookupRow {
        let route = self.tables.lookup(table, address);
        LookupRow { address, route: route.map(|route| self.row(table, route)) }
    }

    /// Returns the prefix and the next hop that answer for an address.
    pub fn answer(&self, table: u32, address: IpAddr) -> Option<(IpPrefix, NextHop)> {
        self.tables.lookup(table, address).map(|route| (route.prefix, route.next_hop))
    }

    fn row(&self, table: u32, route: Chosen) -> RouteRow {
        RouteRow {
            table,
            prefix: route.prefix.to_string(),
            feed: route.by.map(|by| by.0),
            protocol: route.by.map(|by| by.1),
            metric: route.by.map(|by| by.2),
            next_hop: route.next_hop.0,
            ways: self.ways(route.next_hop),
        }
    }

    fn ways(&self, next_hop: NextHop) -> Vec<NextHopRow> {
        let way = |kind| NextHopRow {
            kind,
            gateway: None,
            interface: None,
            weight: 1,
            resolved: false,
            held_down: false,
        };
        let interface = self.next_hops.on_link(next_hop);
        match (self.next_hops.resolve(next_hop), interface) {
            (Some(Resolved::Legs(legs)), _) => legs
                .into_iter()
                .map(|(neighbour, weight)| NextHopRow {
                    kind: if neighbour.1.is_some() { Way::Via } else { Way::OnLink },
                    gateway: neighbour.1,
                    interface: Some(self.adjacencies.link_name(neighbour.0)),
                    weight,
                    resolved: matches!(self.adjacencies.resolve(neighbour), Adjacency::Resolved { .. }),
                    held_down: self.adjacencies.is_held(neighbour),
                })
                .collect(),
            (_, Some(interface)) => {
                vec![NextHopRow {
                    interface: Some(self.adjacencies.link_name(interface)),
                    ..way(Way::OnLink)
                }]
            }
            (Some(Resolved::Drop), _) => vec![way(Way::Blackhole)],
            _ => vec![way(match self.next_hops.key(next_hop) {
                Some(Target::Unreachable) => Way::Unreachable,
                Some(Target::Prohibit) => Way::Prohibit,
                Some(Target::Local) => Way::Local,
                _ => Way::Kernel,
            })],
        }
    }
}
