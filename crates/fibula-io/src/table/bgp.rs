//! The best routes of tables of BGP that show the others too.

use super::builder::Builder;
use super::hops::{all_next_hops, list_of_origins, route_fields};
use super::{ReadOptions, Value};
use crate::mrt::{AsPath, Details, Origin, Path, Peer, Preference};
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
    /// Its AS path; `None` where the text does not tell it.
    pub(super) as_path: Option<AsPath>,
    pub(super) communities: Vec<String>,
    pub(super) peer: Option<IpAddr>,
}

/// The best route of each prefix.
#[derive(Debug, Default)]
pub(super) struct BestRoutes {
    /// The AS of the daemon itself, which originates routes with an empty path.
    pub(super) local_as: Option<u32>,
    routes: HashMap<IpPrefix, Known>,
    order: Vec<IpPrefix>,
}

/// What is known of a prefix.
#[derive(Debug)]
struct Known {
    first: Place,
    best: Option<Route>,
    /// The AS paths of all of its routes.
    as_paths: Vec<AsPath>,
}

impl BestRoutes {
    pub(super) fn push(&mut self, place: Place, route: Route) {
        let prefix = route.prefix;
        let known = self.routes.entry(prefix).or_insert_with(|| {
            self.order.push(prefix);
            Known { first: place, best: None, as_paths: Vec::new() }
        });
        known.as_paths.extend(route.as_path.clone());
        if route.is_best && known.best.is_none() {
            known.best = Some(route);
        }
    }

    /// Adds them to the tables. Counts the prefixes without one.
    pub(super) fn finish(mut self, options: &ReadOptions, builder: &mut Builder) -> Result<(), Damage> {
        for prefix in self.order {
            let Some(Known { first: place, best, as_paths }) = self.routes.remove(&prefix) else { continue };
            if options.value == Value::Origins {
                let origins: Result<Vec<_>, _> =
                    as_paths.iter().map(|as_path| origin(Some(as_path), self.local_as)).collect();
                match origins.as_deref() {
                    Ok([]) | Err(_) => builder.left_out(place, NO_ORIGIN)?,
                    Ok(origins) => builder.route(place, prefix, list_of_origins(origins.iter()))?,
                }
                continue;
            }
            let Some(route) = best else {
                builder.left_out(place, "prefix without a best route")?;
                continue;
            };
            match value(route, options.value, self.local_as) {
                Ok(value) => builder.route(place, prefix, value)?,
                Err(what) => builder.left_out(place, what)?,
            }
        }
        Ok(())
    }
}

const NO_ORIGIN: &str = "route without an origin AS";

/// Returns the origin of an AS path, which is the daemon's own where that is empty.
pub(super) fn origin(as_path: Option<&AsPath>, local_as: Option<u32>) -> Result<NextHopInfo, &'static str> {
    let origin = as_path.ok_or(NO_ORIGIN)?.origin();
    if origin == Origin::Local && local_as.is_none() {
        return Err(NO_ORIGIN);
    }
    let path = Path { next_hop: None, origin, length: 0, preference: Preference::default(), details: None };
    Ok(path.value(Peer { address: UNKNOWN, asn: local_as.unwrap_or(0) }, Value::OriginAs))
}

const UNKNOWN: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);

/// Returns the value of a route, or why it has none.
pub(super) fn value(route: Route, wanted: Value, local_as: Option<u32>) -> Result<NextHopInfo, &'static str> {
    // The daemon's own routes have the next hop 0.0.0.0.
    let next_hop = route.next_hop.filter(|address| !address.is_unspecified());
    match wanted {
        Value::NextHop | Value::NextHops => {
            route.next_hop.ok_or("route without a next hop")?;
            Ok(match wanted {
                Value::NextHops => all_next_hops(next_hop),
                _ => NextHopInfo::Gateway { address: next_hop, interface: None },
            })
        }
        Value::OriginAs | Value::Origins => origin(route.as_path.as_ref(), local_as),
        Value::Route => {
            let as_path = route.as_path.ok_or("route without an AS path")?;
            let (origin, length) = (as_path.origin(), as_path.length());
            let details = Some(Details { as_path, communities: route.communities }.into());
            let peer = Peer { address: route.peer.unwrap_or(UNKNOWN), asn: local_as.unwrap_or(0) };
            let preference = Preference::default();
            Ok(route_fields(&Path { next_hop, origin, length, preference, details }, Some(peer)))
        }
        Value::Peer => {
            let address = Some(route.peer.ok_or("route without a known peer")?);
            Ok(NextHopInfo::Gateway { address, interface: None })
        }
    }
}
