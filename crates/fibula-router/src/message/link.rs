//! Network interfaces.

use super::Event;
use netlink_packet_route::AddressFamily;
use netlink_packet_route::link::{
    AfSpecInet6, AfSpecUnspec, BondPortState, BridgePortState, InfoBondPort, InfoBridge, InfoBridgePort,
    InfoData, InfoKind, InfoPortData, InfoVlan, InfoVrf, LinkAttribute, LinkFlags, LinkInfo, LinkLayerType,
    LinkMessage, VlanProtocol,
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
    /// The same of IPv6; `None` if the kernel drops all of IPv6 that comes or leaves by it.
    pub ipv6_mtu: Option<u32>,
    /// Whether it is enabled. The kernel does not use routes by one that is not.
    pub is_enabled: bool,
    /// Whether it is enabled, and has a carrier.
    pub is_up: bool,
    /// What it is made of.
    pub kind: Kind,
    /// The index of the bridge, bond or VRF that has it.
    pub master: Option<u32>,
    /// Whether its bridge or bond takes frames by it; true without one.
    pub is_active: bool,
}

/// What an interface is made of, as far as that says where its frames come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A device that has its frames itself.
    Device,
    /// A VLAN of another interface, by 802.1Q.
    Vlan(Vlan),
    /// A bridge: a frame comes by one of its ports, and leaves by that of its station.
    Bridge {
        /// Whether it tells VLANs apart.
        has_vlans: bool,
    },
    /// Several devices that are one: a frame comes by any active one.
    Bond,
    /// A VRF: its interfaces have a table of their own.
    Vrf {
        /// The id of the table.
        table: u32,
    },
    /// Something else on other interfaces. Only the kernel knows what becomes of its frames.
    Other,
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
    let (mut name, mut mac, mut mtu, mut ipv6_mtu, mut parent, mut master) =
        (None, None, None, None, None, None);
    let mut infos = &[][..];
    for attribute in &message.attributes {
        match attribute {
            LinkAttribute::IfName(text) => name = Some(text.clone()),
            LinkAttribute::Address(bytes) => mac = bytes.as_slice().try_into().ok(),
            LinkAttribute::Mtu(bytes) => mtu = Some(*bytes),
            LinkAttribute::AfSpecUnspec(families) => ipv6_mtu = families.iter().find_map(of_ipv6),
            LinkAttribute::Link(index) => parent = Some(*index),
            LinkAttribute::Controller(index) => master = Some(*index).filter(|&index| index != 0),
            LinkAttribute::LinkInfo(all) => infos = all,
            _ => {}
        }
    }
    let kind = kind(infos, parent);
    // What is sent by an interface on others would not leave as the kernel sends it.
    let mac = mac.filter(|_| header.link_layer_type == LinkLayerType::Ether && kind != Kind::Other);
    let is_enabled = header.flags.contains(LinkFlags::Up);
    let is_up = header.flags.contains(LinkFlags::Up | LinkFlags::Running);
    let is_active = infos.iter().all(is_active);
    Some(Event::Link {
        index,
        link: Some(Link {
            name: name?,
            mac,
            mtu: mtu?,
            ipv6_mtu,
            is_enabled,
            is_up,
            kind,
            master,
            is_active,
        }),
    })
}

/// Returns the MTU of IPv6, if this is of IPv6 and that is not disabled (`disable_ipv6`).
fn of_ipv6(family: &AfSpecUnspec) -> Option<u32> {
    let AfSpecUnspec::Inet6(settings) = family else { return None };
    settings.iter().find_map(|setting| match setting {
        AfSpecInet6::DevConf(conf) if conf.disable_ipv6 == 0 => u32::try_from(conf.mtu6).ok(),
        _ => None,
    })
}

fn kind(infos: &[LinkInfo], parent: Option<u32>) -> Kind {
    let name = infos.iter().find_map(|info| if let LinkInfo::Kind(name) = info { Some(name) } else { None });
    let data = infos.iter().find_map(|info| if let LinkInfo::Data(data) = info { Some(data) } else { None });
    match (name, data) {
        (Some(InfoKind::Vlan), Some(InfoData::Vlan(infos))) => {
            let vlan = parent.zip(tag(infos)).map(|(parent, id)| Vlan { parent, id });
            vlan.map_or(Kind::Other, Kind::Vlan)
        }
        (Some(InfoKind::Bridge), data) => {
            let has_vlans = matches!(data, Some(InfoData::Bridge(infos))
                if infos.contains(&InfoBridge::VlanFiltering(true)));
            Kind::Bridge { has_vlans }
        }
        (Some(InfoKind::Bond), _) => Kind::Bond,
        (Some(InfoKind::Vrf), Some(InfoData::Vrf(infos))) => {
            let table = infos.iter().find_map(|info| match info {
                InfoVrf::TableId(table) => Some(*table),
                InfoVrf::Other(_) | _ => None,
            });
            table.map_or(Kind::Other, |table| Kind::Vrf { table })
        }
        (
            Some(
                InfoKind::Vlan
                | InfoKind::Vrf
                | InfoKind::MacVlan
                | InfoKind::MacVtap
                | InfoKind::IpVlan
                | InfoKind::IpVtap
                | InfoKind::MacSec
                | InfoKind::Team,
            ),
            _,
        ) => Kind::Other,
        _ => Kind::Device,
    }
}

/// Returns the tag of an 802.1Q VLAN.
fn tag(infos: &[InfoVlan]) -> Option<u16> {
    let is_8021q = !infos
        .iter()
        .any(|info| matches!(info, InfoVlan::Protocol(protocol) if *protocol != VlanProtocol::Ieee8021Q));
    infos.iter().find_map(|info| match info {
        InfoVlan::Id(id) if is_8021q => Some(*id),
        _ => None,
    })
}

/// Returns whether the port that this says something of takes frames.
fn is_active(info: &LinkInfo) -> bool {
    let LinkInfo::PortData(data) = info else { return true };
    match data {
        InfoPortData::BridgePort(infos) => infos.iter().all(|info| match info {
            InfoBridgePort::State(state) => *state == BridgePortState::Forwarding,
            _ => true,
        }),
        InfoPortData::BondPort(infos) => infos.iter().all(|info| match info {
            InfoBondPort::BondPortState(state) => *state == BondPortState::Active,
            _ => true,
        }),
        _ => true,
    }
}
