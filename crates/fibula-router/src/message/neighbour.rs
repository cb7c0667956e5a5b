//! Neighbours: the entries of ARP and of neighbour discovery, and the stations of bridges.

use super::Event;
use netlink_packet_route::AddressFamily;
use netlink_packet_route::neighbour::{
    NeighbourAddress, NeighbourAttribute, NeighbourFlags, NeighbourMessage, NeighbourState,
};
use std::net::IpAddr;

/// What the kernel knows of a neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Neighbour {
    /// Its MAC address; `None` while it is not resolved, and after it failed to answer.
    pub mac: Option<[u8; 6]>,
    /// Whether the kernel has not heard of it for a while. It asks again only if it sends there
    /// itself.
    pub is_stale: bool,
}

/// Returns the event of a message; `None` if it is of a proxy, or of another family.
pub(super) fn event(message: &NeighbourMessage, is_deleted: bool) -> Option<Event> {
    let header = &message.header;
    if header.family == AddressFamily::Bridge {
        return station(message, is_deleted);
    }
    if header.flags.contains(NeighbourFlags::Proxy) {
        return None;
    }
    let (mut address, mut mac) = (None, None);
    for attribute in &message.attributes {
        match attribute {
            NeighbourAttribute::Destination(NeighbourAddress::Inet(ip)) => address = Some(IpAddr::from(*ip)),
            NeighbourAttribute::Destination(NeighbourAddress::Inet6(ip)) => address = Some((*ip).into()),
            NeighbourAttribute::LinkLayerAddress(bytes) => mac = bytes.as_slice().try_into().ok(),
            _ => {}
        }
    }
    let is_known =
        !matches!(header.state, NeighbourState::None | NeighbourState::Incomplete | NeighbourState::Failed);
    let is_stale = header.state == NeighbourState::Stale;
    let neighbour = Neighbour { mac: mac.filter(|_| is_known), is_stale };
    let neighbour = (!is_deleted).then_some(neighbour);
    Some(Event::Neighbour { interface: header.ifindex, address: address?, neighbour })
}

/// Returns the event of an entry of a bridge; `None` if it is of one VLAN, or not of a bridge.
fn station(message: &NeighbourMessage, is_deleted: bool) -> Option<Event> {
    let (mut bridge, mut mac) = (None, None);
    for attribute in &message.attributes {
        match attribute {
            NeighbourAttribute::Controller(index) => bridge = Some(*index),
            NeighbourAttribute::LinkLayerAddress(bytes) => mac = bytes.as_slice().try_into().ok(),
            NeighbourAttribute::Vlan(_) => return None,
            _ => {}
        }
    }
    let port = (!is_deleted).then_some(message.header.ifindex);
    Some(Event::Station { bridge: bridge?, mac: mac?, port })
}
