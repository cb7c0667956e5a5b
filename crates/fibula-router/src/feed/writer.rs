//! Writes events as zebra and the kernel do: for tests, fuzzers and measurements.

use crate::message::{Conf, Event, HEADER, Kind, Leg, Link, Neighbour, Object, Target};
use fibula::{Family, IpPrefix};
use netlink_packet_core::{NetlinkHeader, NetlinkMessage, NetlinkPayload};
use netlink_packet_route::link::{
    AfSpecInet6, AfSpecUnspec, BridgePortState, Inet6DevConf, InfoBridge, InfoBridgePort, InfoData, InfoKind,
    InfoPortData, InfoPortKind, InfoVlan, InfoVrf, LinkAttribute, LinkFlags, LinkInfo, LinkLayerType,
    LinkMessage,
};
use netlink_packet_route::neighbour::{
    NeighbourAddress, NeighbourAttribute, NeighbourMessage, NeighbourState,
};
use netlink_packet_route::route::{
    RouteAttribute, RouteHeader, RouteMessage, RouteNextHop, RouteType, RouteVia,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use std::net::IpAddr;

/// Returns an FPM frame of some events.
///
/// # Panics
/// If the frame is longer than 65,535 bytes.
#[must_use]
pub fn frame(events: &[Event]) -> Vec<u8> {
    let mut frame = vec![1, 1, 0, 0];
    for event in events {
        frame.extend(message(event));
        frame.resize(frame.len().next_multiple_of(4), 0);
    }
    let length = u16::try_from(frame.len()).expect("a short frame");
    frame[2..4].copy_from_slice(&length.to_be_bytes());
    frame
}

/// Returns the netlink message of an event.
#[must_use]
pub fn message(event: &Event) -> Vec<u8> {
    match event {
        Event::Route { table, prefix, metric, protocol, target } => {
            route(*table, *prefix, *metric, *protocol, target.as_ref())
        }
        Event::Gone { table, prefix, metric, was: _ } => route(*table, *prefix, *metric, 0, None),
        Event::Partial { table, prefix, metric, protocol, selector, legs } => {
            let target = |legs: &[Leg]| {
                if legs.is_empty() { Target::Unreachable } else { Target::Legs(legs.into()) }
            };
            let target = legs.as_deref().map(target);
            let mut bytes = route(*table, *prefix, *metric, *protocol, target.as_ref());
            let source = selector.source;
            (bytes[HEADER + 2], bytes[HEADER + 3]) = (source.len(), selector.tos);
            let address = match source.first() {
                IpAddr::V4(address) => address.octets().to_vec(),
                IpAddr::V6(address) => address.octets().to_vec(),
            };
            bytes.extend([4 + address.len() as u8, 0, 2, 0]);
            bytes.extend(address);
            let length = bytes.len() as u32;
            bytes[..4].copy_from_slice(&length.to_ne_bytes());
            bytes
        }
        Event::Object { id, object } => next_hop(*id, object.as_ref()),
        Event::Link { index, link } => self::link(*index, link.as_ref()),
        Event::Neighbour { interface, address, neighbour } => {
            self::neighbour(*interface, *address, neighbour.as_ref())
        }
        Event::Station { bridge, mac, port } => station(*bridge, *mac, *port),
        Event::Conf { interface, family, conf } => self::conf(*interface, *family, *conf),
    }
}

fn link(index: u32, link: Option<&Link>) -> Vec<u8> {
    let mut message = LinkMessage::default();
    (message.header.index, message.header.link_layer_type) = (index, LinkLayerType::Ether);
    let Some(link) = link else { return bytes(RouteNetlinkMessage::DelLink(message), 0) };
    message.header.flags.set(LinkFlags::Up, link.is_enabled);
    message.header.flags.set(LinkFlags::Running, link.is_up);
    message.attributes = vec![LinkAttribute::IfName(link.name.clone()), LinkAttribute::Mtu(link.mtu)];
    message.attributes.extend(link.mac.map(|mac| LinkAttribute::Address(mac.into())));
    message.attributes.extend(link.master.map(LinkAttribute::Controller));
    message.attributes.extend(link.ipv6_mtu.map(|mtu| {
        let mut conf = Inet6DevConf::default();
        conf.mtu6 = mtu.cast_signed();
        LinkAttribute::AfSpecUnspec(vec![AfSpecUnspec::Inet6(vec![AfSpecInet6::DevConf(conf)])])
    }));
    let mut infos = match link.kind {
        Kind::Device => Vec::new(),
        Kind::Vlan(vlan) => {
            message.attributes.push(LinkAttribute::Link(vlan.parent));
            vec![LinkInfo::Kind(InfoKind::Vlan), LinkInfo::Data(InfoData::Vlan(vec![InfoVlan::Id(vlan.id)]))]
        }
        Kind::Bridge { has_vlans } => vec![
            LinkInfo::Kind(InfoKind::Bridge),
            LinkInfo::Data(InfoData::Bridge(vec![InfoBridge::VlanFiltering(has_vlans)])),
        ],
        Kind::Bond => vec![LinkInfo::Kind(InfoKind::Bond)],
        Kind::Vrf { table } => {
            let data = InfoData::Vrf(vec![InfoVrf::TableId(table)]);
            vec![LinkInfo::Kind(InfoKind::Vrf), LinkInfo::Data(data)]
        }
        Kind::Other => vec![LinkInfo::Kind(InfoKind::MacVlan)],
    };
    if !link.is_active {
        let state = InfoBridgePort::State(BridgePortState::Blocking);
        infos.push(LinkInfo::PortKind(InfoPortKind::Bridge));
        infos.push(LinkInfo::PortData(InfoPortData::BridgePort(vec![state])));
    }
    message.attributes.extend((!infos.is_empty()).then_some(LinkAttribute::LinkInfo(infos)));
    bytes(RouteNetlinkMessage::NewLink(message), 0)
}

fn station(bridge: u32, mac: [u8; 6], port: Option<u32>) -> Vec<u8> {
    let mut message = NeighbourMessage::default();
    message.header.family = AddressFamily::Bridge;
    message.attributes =
        vec![NeighbourAttribute::LinkLayerAddress(mac.into()), NeighbourAttribute::Controller(bridge)];
    let Some(port) = port else { return bytes(RouteNetlinkMessage::DelNeighbour(message), 0) };
    message.header.ifindex = port;
    bytes(RouteNetlinkMessage::NewNeighbour(message), 0)
}

fn conf(interface: Option<u32>, family: Family, conf: Conf) -> Vec<u8> {
    let family = if family == Family::Ipv4 { AddressFamily::Inet } else { AddressFamily::Inet6 };
    let index = interface.map_or(-1, u32::cast_signed);
    let settings = [
        (1_u16, Some(index)),
        (2, conf.forwarding.map(i32::from)),
        (3, conf.reverse_path.map(i32::from)),
        (9, conf.is_forced.map(i32::from)),
    ];
    let mut bytes = vec![0; HEADER];
    bytes.extend([u8::from(family), 0, 0, 0]);
    for (kind, value) in settings.into_iter().filter_map(|(kind, value)| Some((kind, value?))) {
        bytes.extend(8_u16.to_ne_bytes());
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(value.to_ne_bytes());
    }
    let length = bytes.len() as u32;
    bytes[..4].copy_from_slice(&length.to_ne_bytes());
    bytes[4..6].copy_from_slice(&80_u16.to_ne_bytes());
    bytes
}

fn neighbour(interface: u32, address: IpAddr, neighbour: Option<&Neighbour>) -> Vec<u8> {
    let mut message = NeighbourMessage::default();
    let (family, address) = match address {
        IpAddr::V4(address) => (AddressFamily::Inet, NeighbourAddress::Inet(address)),
        IpAddr::V6(address) => (AddressFamily::Inet6, NeighbourAddress::Inet6(address)),
    };
    (message.header.family, message.header.ifindex) = (family, interface);
    message.attributes.push(NeighbourAttribute::Destination(address));
    let Some(neighbour) = neighbour else { return bytes(RouteNetlinkMessage::DelNeighbour(message), 0) };
    message.header.state = match neighbour {
        Neighbour { mac: None, .. } => NeighbourState::Incomplete,
        Neighbour { is_stale: true, .. } => NeighbourState::Stale,
        Neighbour { .. } => NeighbourState::Reachable,
    };
    message.attributes.extend(neighbour.mac.map(|mac| NeighbourAttribute::LinkLayerAddress(mac.into())));
    bytes(RouteNetlinkMessage::NewNeighbour(message), 0)
}

fn route(table: u32, prefix: IpPrefix, metric: u32, protocol: u8, target: Option<&Target>) -> Vec<u8> {
    let mut message = RouteMessage::default();
    let family = match prefix {
        IpPrefix::V4(_) => AddressFamily::Inet,
        IpPrefix::V6(_) => AddressFamily::Inet6,
    };
    message.header = RouteHeader {
        address_family: family,
        destination_prefix_length: prefix.len(),
        table: u8::try_from(table).unwrap_or_default(),
        protocol: protocol.into(),
        kind: match target {
            None => RouteType::Unspec,
            Some(Target::Legs(_) | Target::Object(_)) => RouteType::Unicast,
            Some(Target::Blackhole) => RouteType::BlackHole,
            Some(Target::Unreachable) => RouteType::Unreachable,
            Some(Target::Prohibit) => RouteType::Prohibit,
            Some(Target::Local) => RouteType::Local,
            Some(Target::Kernel(_)) => RouteType::Throw,
        },
        ..RouteHeader::default()
    };
    let attributes = &mut message.attributes;
    attributes.push(RouteAttribute::Destination(prefix.first().into()));
    attributes.push(RouteAttribute::Priority(metric));
    if u8::try_from(table).is_err() {
        attributes.push(RouteAttribute::Table(table));
    }
    match target {
        Some(Target::Object(id)) => attributes.push(RouteAttribute::NhId(*id)),
        Some(Target::Legs(legs)) if legs.len() == 1 && legs[0].weight == 1 => {
            attributes.extend(gateway(prefix, &legs[0]));
            attributes.push(RouteAttribute::Oif(legs[0].interface));
        }
        Some(Target::Legs(legs)) => {
            let hops = legs.iter().map(|leg| {
                let mut hop = RouteNextHop::default();
                hop.hops = (leg.weight - 1) as u8;
                hop.interface_index = leg.interface;
                hop.attributes = gateway(prefix, leg).into_iter().collect();
                hop
            });
            attributes.push(RouteAttribute::MultiPath(hops.collect()));
        }
        _ => {}
    }
    match target {
        Some(_) => bytes(RouteNetlinkMessage::NewRoute(message), 0x501),
        None => bytes(RouteNetlinkMessage::DelRoute(message), 0x401),
    }
}

/// Returns the bytes of a message with some flags.
fn bytes(message: RouteNetlinkMessage, flags: u16) -> Vec<u8> {
    let payload = NetlinkPayload::InnerMessage(message);
    let mut message = NetlinkMessage::new(NetlinkHeader::default(), payload);
    message.header.flags = flags;
    message.finalize();
    let mut bytes = vec![0; message.buffer_len()];
    message.serialize(&mut bytes);
    bytes
}

/// Returns the attribute of a leg's gateway, which may be of the other family.
fn gateway(prefix: IpPrefix, leg: &Leg) -> Option<RouteAttribute> {
    Some(match (prefix, leg.gateway?) {
        (IpPrefix::V4(_), gateway @ IpAddr::V6(_)) => RouteAttribute::Via(RouteVia::from(gateway)),
        (_, gateway) => RouteAttribute::Gateway(gateway.into()),
    })
}

fn next_hop(id: u32, object: Option<&Object>) -> Vec<u8> {
    let mut bytes = vec![0; HEADER + 8];
    let mut attribute = |kind: u16, value: &[u8]| {
        bytes.extend((4 + value.len() as u16).to_ne_bytes());
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(value);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
    };
    attribute(1, &id.to_ne_bytes());
    match object {
        None => {}
        Some(Object::Blackhole) => attribute(4, &[]),
        Some(Object::Group(members)) => {
            let member = |&(id, weight): &(u32, u16)| {
                let [low, high] = (weight - 1).to_le_bytes();
                let [a, b, c, d] = id.to_ne_bytes();
                [a, b, c, d, low, high, 0, 0]
            };
            attribute(2, &members.iter().flat_map(member).collect::<Vec<u8>>());
        }
        Some(object @ (Object::Leg(leg) | Object::Kernel(leg))) => {
            if matches!(object, Object::Kernel(_)) {
                attribute(8 | 0x8000, &[]);
            }
            match leg.gateway {
                Some(IpAddr::V4(gateway)) => attribute(6, &gateway.octets()),
                Some(IpAddr::V6(gateway)) => attribute(6, &gateway.octets()),
                None => {}
            }
            attribute(5, &leg.interface.to_ne_bytes());
        }
    }
    let kind: u16 = if object.is_some() { 104 } else { 105 };
    let length = bytes.len() as u32;
    bytes[..4].copy_from_slice(&length.to_ne_bytes());
    bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
    bytes[6..8].copy_from_slice(&0x501_u16.to_ne_bytes());
    bytes
}
