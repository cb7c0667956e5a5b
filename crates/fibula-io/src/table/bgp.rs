//! The best routes of tables of BGP that show the others too.

use super::builder::Builder;
use super::hops::all_next_hops;
use super::{ReadOptions, Value};
use crate::mrt::{Origin, Path, Peer};
use crate::{Damage, Place};
use fibula::{IpPrefix, NextHopInfo};
use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr};

/// A route as a daemon shows it.
#[derive(Clone, Debug)]
pub(super) struct Route {
    pub(super) prefix: IpPrefix,
    pub(super) is_best: bool,
    pub(super) next_hop: Option<IpAddr>,
    /// The end of its AS path; `None` where the text does not tell it.
    pub(super) origin: Option<Origin>,
    pub(super) peer: Option<IpAddr>,
}

/// The best route of each prefix.
#[derive(Debug, Default)]
pub(super) struct BestRoutes {
    /// The AS of the daemon itself, which originates routes with an empty path.
    pub(super) local_as: Option<u32>,
    routes: HashMap<IpPrefix, (Place, Option<Route>)>,
    order: Vec<IpPrefix>,
}

impl BestRoutes {
    pub(super) fn push(&mut self, place: Place, route: Route) {
        let prefix = route.prefix;
        let (_, best) = self.routes.entry(prefix).or_insert_with(|| {
            self.order.push(prefix);
            (place, None)
        });
        if route.is_best && best.is_none() {
            *best = Some(route);
        }
    }

    /// Adds them to the tables. Counts the prefixes without one.
    pub(super) fn finish(mut self, options: &ReadOptions, builder: &mut Builder) -> Result<(), Damage> {
        for prefix in self.order {
            let Some((place, best)) = self.routes.remove(&prefix) else { continue };
            let Some(route) = best else {
                builder.left_out(place, "prefix without a best route")?;
                continue;
            };
            match value(&route, options.value, self.local_as) {
                Ok(value) => builder.route(place, prefix, value)?,
                Err(what) => builder.left_out(place, what)?,
            }
        }
        Ok(())
    }
}

fn value(route: &Route, wanted: Value, local_as: Option<u32>) -> Result<NextHopInfo, &'static str> {
    const UNKNOWN: Peer = Peer { address: IpAddr::V4(Ipv4Addr::UNSPECIFIED), asn: 0 };
    match wanted {
        Value::NextHop | Value::NextHops => {
            let next_hop = route.next_hop.ok_or("route without a next hop")?;
            let address = Some(next_hop).filter(|address| !address.is_unspecified());
            Ok(match (wanted, address) {
                (Value::NextHops, address) => all_next_hops(address),
                // The daemon's own routes have the next hop 0.0.0.0.
                (_, address) => NextHopInfo::Gateway { address, interface: None },
            })
        }
        Value::OriginAs => {
            let origin = route.origin.clone().ok_or("route without an origin AS")?;
            let peer = match (&origin, local_as) {
                (Origin::Local, None) => return Err("route without an origin AS"),
                (_, asn) => Peer { asn: asn.unwrap_or(0), ..UNKNOWN },
            };
            Ok(Path { next_hop: None, origin, length: 0 }.value(peer, Value::OriginAs))
        }
        Value::Peer => {
            let address = Some(route.peer.ok_or("route without a known peer")?);
            Ok(NextHopInfo::Gateway { address, interface: None })
        }
    }
}
