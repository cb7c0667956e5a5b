//! Next-hop objects: `struct nhmsg` and its attributes, of `linux/nexthop.h`.

use super::{Event, Leg};
use netlink_packet_core::{NlasIterator, parse_ip, parse_u32};
use zerocopy::{FromBytes, Immutable, KnownLayout, Unaligned};

const ID: u16 = 1;
const GROUP: u16 = 2;
const BLACKHOLE: u16 = 4;
const INTERFACE: u16 = 5;
const GATEWAY: u16 = 6;
const ENCAPSULATION: u16 = 8;
/// An object of a bridge, which no route may name.
const BRIDGE: u16 = 11;

/// What a next-hop object stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Object {
    /// One leg.
    Leg(Leg),
    /// Packets are dropped.
    Blackhole,
    /// Several objects by their ids, with their weights from 1 on.
    Group(Box<[(u32, u16)]>),
    /// Something that only the kernel can do, as labels, on the way to this leg.
    Kernel(Leg),
}

#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Header {
    _family: u8,
    _scope: u8,
    _protocol: u8,
    _reserved: u8,
    _flags: [u8; 4],
}

#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Member {
    id: [u8; 4],
    weight: u8,
    /// The upper half of the weight, since Linux 6.12.
    weight_high: u8,
    _reserved: [u8; 2],
}

/// Returns the event of a message; `None` if it is of a bridge.
pub(super) fn event(payload: &[u8], is_deleted: bool) -> Result<Option<Event>, String> {
    let short = || format!("next-hop object: {} bytes", payload.len());
    let (_, attributes) = Header::ref_from_prefix(payload).map_err(|_| short())?;
    let (mut id, mut interface, mut gateway, mut special) = (None, None, None, None);
    let mut is_of_kernel = false;
    for attribute in NlasIterator::new(attributes) {
        let attribute = attribute.map_err(|error| format!("next-hop object: {error}"))?;
        let value = attribute.value();
        let number = || parse_u32(value).map_err(|error| format!("next-hop object: {error}"));
        match attribute.kind() {
            ID => id = Some(number()?),
            INTERFACE => interface = Some(number()?),
            GATEWAY => gateway = Some(parse_ip(value).map_err(|error| format!("next-hop object: {error}"))?),
            BLACKHOLE => special = Some(Object::Blackhole),
            ENCAPSULATION => is_of_kernel = true,
            GROUP => special = Some(Object::Group(members(value)?)),
            BRIDGE => return Ok(None),
            _ => {}
        }
    }
    let id = id.ok_or("next-hop object: no id")?;
    if is_deleted {
        return Ok(Some(Event::Object { id, object: None }));
    }
    let object = match (special, interface, gateway) {
        (Some(special), ..) => special,
        (None, None, None) if !is_of_kernel => {
            return Err(format!("next-hop object {id}: neither interface nor gateway"));
        }
        (None, interface, gateway) => {
            let leg = Leg { interface: interface.unwrap_or_default(), gateway, weight: 1 };
            if is_of_kernel { Object::Kernel(leg) } else { Object::Leg(leg) }
        }
    };
    Ok(Some(Event::Object { id, object: Some(object) }))
}

fn members(value: &[u8]) -> Result<Box<[(u32, u16)]>, String> {
    let members = <[Member]>::ref_from_bytes(value);
    let members = members.map_err(|_| format!("next-hop group: {} bytes of members", value.len()))?;
    let weight = |member: &Member| u16::from_le_bytes([member.weight, member.weight_high]).saturating_add(1);
    Ok(members.iter().map(|member| (u32::from_ne_bytes(member.id), weight(member))).collect())
}
