//! Network interfaces.

use super::Event;
use netlink_packet_route::AddressFamily;
use netlink_packet_route::link::{
    InfoData, InfoKind, InfoVlan, LinkAttribute, LinkFlags, LinkInfo, LinkLayerType, LinkMessage,
    VlanProtocol,
};

/// The state of a network interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Its name.
    pub name: String,
    /// Its MAC address; `None` if the interface cannot send such frames.
    pub mac: Option<[u8; 6]>,
    /// The greatest length of a packet from its IP header on, in bytes.
    pub mtu: u32,
    /// Whether it is up, and has a carrier.
    pub is_up: bool,
    /// If it is a VLAN of another interface.
    pub vlan: Option<Vlan>,
}

/// A VLAN of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vlan {
    /// The index of the interface that carries it.
    pub parent: u32,
    /// The tag.
    pub id: u16,
}

/// Returns the event of a message; `None` if it is of a bridge's port, or is not complete.
pub(super) fn event(message: &LinkMessage, is_deleted: bool) -> Option<Event> {
    let header = &message.header;
    // A port that leaves a bridge is deleted in the family of bridges, and stays a link.
    if header.interface_family != AddressFamily::Unspec {
        return None;
    }
    let index = header.index;
    if is_deleted {
        return Some(Event::Link { index, link: None });
    }
    let (mut name, mut mac, mut mtu, mut parent) = (None, None, None, None);
    let mut infos = &[][..];
    for attribute in &message.attributes {
        match attribute {
            LinkAttribute::IfName(text) => name = Some(text.clone()),
            LinkAttribute::Address(bytes) => mac = bytes.as_slice().try_into().ok(),
            LinkAttribute::Mtu(bytes) => mtu = Some(*bytes),
            LinkAttribute::Link(index) => parent = Some(*index),
            LinkAttribute::LinkInfo(all) => infos = all,
            _ => {}
        }
    }
    let vlan = parent.zip(infos.iter().find_map(tag)).map(|(parent, id)| Vlan { parent, id });
    // Frames of a VLAN whose tag is not known would leave without one.
    let is_other_vlan = vlan.is_none() && infos.contains(&LinkInfo::Kind(InfoKind::Vlan));
    let mac = mac.filter(|_| header.link_layer_type == LinkLayerType::Ether && !is_other_vlan);
    let is_up = header.flags.contains(LinkFlags::Up | LinkFlags::Running);
    Some(Event::Link { index, link: Some(Link { name: name?, mac, mtu: mtu?, is_up, vlan }) })
}

/// Returns the tag of an 802.1Q VLAN.
fn tag(info: &LinkInfo) -> Option<u16> {
    let LinkInfo::Data(InfoData::Vlan(infos)) = info else { return None };
    let is_8021q = !infos
        .iter()
        .any(|info| matches!(info, InfoVlan::Protocol(protocol) if *protocol != VlanProtocol::Ieee8021Q));
    infos.iter().find_map(|info| match info {
        InfoVlan::Id(id) if is_8021q => Some(*id),
        _ => None,
    })
}
