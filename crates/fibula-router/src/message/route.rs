//! Routes.

use super::{AboutRoute, Event};
use crate::routes::LOCAL;
use fibula::IpPrefix;
use netlink_packet_route::AddressFamily;
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteFlags, RouteMessage, RouteMetric, RouteNextHop, RoutePreference,
    RouteProtocol, RouteType, RouteVia,
};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

/// One way to a destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Leg {
    /// The kernel's index of the interface that sends.
    pub interface: u32,
    /// The neighbour that takes the packet, of either family; `None` if the destination itself is
    /// on the link.
    pub gateway: Option<IpAddr>,
    /// The share of this leg beside the others, from 1 on.
    pub weight: u16,
}

/// The packets that a route is for, where it is not for all to its prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Selector {
    /// Their type of service; 0 if any.
    pub tos: u8,
    /// The prefix of their source.
    pub source: IpPrefix,
}

/// Where a route leads. `O` names a next-hop object.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Target<O = u32> {
    /// To one of these legs; there is at least one.
    Legs(Box<[Leg]>),
    /// To what a next-hop object says.
    Object(O),
    /// Packets are dropped.
    Blackhole,
    /// The kernel answers that there is no route.
    Unreachable,
    /// The kernel answers that it is forbidden.
    Prohibit,
    /// An address of this machine, or a broadcast address, in the kernel's local table.
    Local,
    /// Something that only the kernel can do, as tunnels and labels, on the way to one of these
    /// legs. Without a leg the kernel goes on with its next table (`throw`).
    Kernel(Box<[Leg]>),
}

impl<O> Target<O> {
    /// Returns whether it names more than one leg.
    #[must_use]
    pub fn has_several_legs(&self) -> bool {
        matches!(self, Self::Legs(legs) | Self::Kernel(legs) if legs.len() > 1)
    }

    /// Returns the same target with another name for its object.
    pub fn with_object<P>(self, name: impl FnOnce(O) -> P) -> Target<P> {
        match self {
            Self::Legs(legs) => Target::Legs(legs),
            Self::Object(object) => Target::Object(name(object)),
            Self::Blackhole => Target::Blackhole,
            Self::Unreachable => Target::Unreachable,
            Self::Prohibit => Target::Prohibit,
            Self::Local => Target::Local,
            Self::Kernel(legs) => Target::Kernel(legs),
        }
    }
}

/// What a list of attributes says.
#[derive(Default)]
struct Attributes<'a> {
    destination: Option<IpAddr>,
    source: Option<IpAddr>,
    gateway: Option<IpAddr>,
    interface: Option<u32>,
    metric: u32,
    table: Option<u32>,
    object: Option<u32>,
    /// Only the kernel can do what it says: a tunnel, a label, an MTU of the route's own.
    is_of_kernel: bool,
    legs: &'a [RouteNextHop],
}

/// Returns the event of a message; `None` if it is of no use here.
pub(super) fn event(message: &RouteMessage, is_deleted: bool) -> Result<Option<Event>, String> {
    let header = &message.header;
    let unspecified: IpAddr = match header.address_family {
        AddressFamily::Inet => Ipv4Addr::UNSPECIFIED.into(),
        AddressFamily::Inet6 => Ipv6Addr::UNSPECIFIED.into(),
        _ => return Ok(None),
    };
    // A clone is an entry of a cache.
    if header.kind == RouteType::Multicast || header.flags.contains(RouteFlags::Cloned) {
        return Ok(None);
    }
    let attributes = read(&message.attributes);
    let destination = attributes.destination.unwrap_or(unspecified);
    let prefix = IpPrefix::new(destination, header.destination_prefix_length)
        .map_err(|error| format!("route: {error}"))?;
    let (table, metric) = (attributes.table.unwrap_or(header.table.into()), attributes.metric);
    let protocol = header.protocol.into();
    if header.tos != 0 || header.source_prefix_length != 0 {
        let source = attributes.source.unwrap_or(unspecified);
        let source = IpPrefix::new(source, header.source_prefix_length)
            .map_err(|error| format!("source of route {prefix}: {error}"))?;
        let selector = Selector { tos: header.tos, source };
        let legs = (!is_deleted).then(|| legs(&attributes).0);
        return Ok(Some(Event::Partial { table, prefix, metric, protocol, selector, legs }));
    }
    let target = if is_deleted { None } else { Some(target(header.kind, (table, prefix), &attributes)?) };
    Ok(Some(Event::Route { table, prefix, metric, protocol, target }))
}

/// Returns where the route of a message leads, if it says so.
pub(super) fn target_of(message: &RouteMessage) -> Option<Target> {
    let Ok(Some(Event::Route { target, .. })) = event(message, false) else { return None };
    target
}

/// The ticks of a second in which the kernel tells lifetimes (`USER_HZ`).
const TICKS: u32 = 100;

/// Returns what a message says of when the route is taken.
pub(super) fn about(message: &RouteMessage) -> AboutRoute {
    let header = &message.header;
    let is_local = header.address_family == AddressFamily::Inet
        && header.kind == RouteType::Local
        && header.protocol != RouteProtocol::Kernel;
    let mut about = AboutRoute { is_local, ..AboutRoute::default() };
    for attribute in &message.attributes {
        match attribute {
            RouteAttribute::Preference(RoutePreference::Low) => about.preference = -1,
            RouteAttribute::Preference(RoutePreference::High) => about.preference = 1,
            RouteAttribute::NhId(id) => about.names_object = *id != 0,
            // It is negative once the time is over, and 0 without an end.
            RouteAttribute::CacheInfo(info) if info.expires != 0 => {
                let left = u32::try_from(info.expires.cast_signed()).unwrap_or(0);
                about.lifetime = Some(Duration::from_secs(left.into()) / TICKS);
            }
            _ => {}
        }
    }
    about
}

fn read(attributes: &[RouteAttribute]) -> Attributes<'_> {
    let mut read = Attributes::default();
    for attribute in attributes {
        match attribute {
            RouteAttribute::Destination(address) => read.destination = ip(address),
            RouteAttribute::Source(address) => read.source = ip(address),
            RouteAttribute::Gateway(address) => read.gateway = ip(address),
            RouteAttribute::Via(RouteVia::Inet(address)) => read.gateway = Some((*address).into()),
            RouteAttribute::Via(RouteVia::Inet6(address)) => read.gateway = Some((*address).into()),
            RouteAttribute::Oif(interface) => read.interface = Some(*interface),
            RouteAttribute::Priority(metric) => read.metric = *metric,
            RouteAttribute::Table(table) => read.table = Some(*table),
            RouteAttribute::NhId(id) => read.object = Some(*id).filter(|&id| id != 0),
            RouteAttribute::Encap(_) | RouteAttribute::NewDestination(_) => read.is_of_kernel = true,
            RouteAttribute::Metrics(metrics) => {
                read.is_of_kernel |= metrics.iter().any(|metric| matches!(metric, RouteMetric::Mtu(_)));
            }
            RouteAttribute::MultiPath(legs) => read.legs = legs,
            _ => {}
        }
    }
    read
}

fn ip(address: &RouteAddress) -> Option<IpAddr> {
    match address {
        RouteAddress::Inet(address) => Some((*address).into()),
        RouteAddress::Inet6(address) => Some((*address).into()),
        _ => None,
    }
}

fn target(
    kind: RouteType,
    (table, prefix): (u32, IpPrefix),
    attributes: &Attributes<'_>,
) -> Result<Target, String> {
    let legs = |is_of_kernel: bool| {
        let (legs, is_said) = legs(attributes);
        if is_of_kernel || is_said { Target::Kernel(legs) } else { Target::Legs(legs) }
    };
    Ok(match kind {
        RouteType::Unreachable => Target::Unreachable,
        RouteType::Prohibit => Target::Prohibit,
        RouteType::Local | RouteType::Broadcast | RouteType::Anycast if table == LOCAL => Target::Local,
        RouteType::Local | RouteType::Broadcast | RouteType::Anycast => legs(true),
        RouteType::BlackHole if attributes.object.is_none() => Target::Blackhole,
        RouteType::Unicast | RouteType::BlackHole => match (attributes.object, legs(attributes.is_of_kernel))
        {
            (Some(object), _) if !attributes.is_of_kernel => Target::Object(object),
            (None, Target::Legs(legs)) if legs.is_empty() => {
                return Err(format!("route {prefix}: no next hop"));
            }
            (_, target) => target,
        },
        _ => Target::Kernel([].into()),
    })
}

/// Returns the legs that a route names, and whether only the kernel can do what it says of them.
fn legs(attributes: &Attributes<'_>) -> (Box<[Leg]>, bool) {
    let mut is_of_kernel = attributes.is_of_kernel;
    if attributes.legs.is_empty() {
        let interface = attributes.interface.unwrap_or_default();
        let leg = Leg { interface, gateway: attributes.gateway, weight: 1 };
        let is_there = attributes.gateway.is_some() || attributes.interface.is_some();
        return (is_there.then_some(leg).into_iter().collect(), is_of_kernel);
    }
    let legs = attributes.legs.iter().map(|hop| {
        let read = read(&hop.attributes);
        is_of_kernel |= read.is_of_kernel;
        Leg { interface: hop.interface_index, gateway: read.gateway, weight: u16::from(hop.hops) + 1 }
    });
    (legs.collect(), is_of_kernel)
}
