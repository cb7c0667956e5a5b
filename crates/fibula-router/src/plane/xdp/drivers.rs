//! What the driver of an interface can do with XDP, as the kernel tells it (generic netlink, family
//! `netdev`, Linux 6.3 and later).

use crate::Error;
use crate::message::HEADER;
use netlink_packet_core::{
    NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload, NlaBuffer, NlasIterator,
};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{InfoKind, LinkAttribute, LinkInfo, LinkMessage, LinkXdp, XdpAttached};
use rustix::io::Errno;
use rustix::net::netlink::{GENERIC, SocketAddrNetlink};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
use std::collections::BTreeSet;
use std::os::fd::{AsFd, OwnedFd};

/// The message that asks for a family's number, its version, and its attributes.
const CONTROL: u16 = 16;
const GET_FAMILY: u8 = 3;
const FAMILY_ID: u16 = 1;
const FAMILY_NAME: u16 = 2;

/// The message of `netdev` that asks for a device, and its attributes.
const GET_DEVICE: u8 = 1;
const INDEX: u16 = 1;
const XDP_FEATURES: u16 = 3;

/// The bits of the features that say that programs can run in the driver, that the driver takes
/// frames that a program redirects to it, and such frames of several buffers.
const BASIC: u64 = 1;
const SENDS: u64 = 4;
const SENDS_BUFFERS: u64 = 64;

/// The longest packet that is always in one buffer, from its IP header on, in bytes.
const ONE_BUFFER: u16 = 1500;

/// The bytes of the header of generic netlink: command, version, and two without a meaning.
const GENERIC_HEADER: usize = 4;

/// Returns whether the driver of an interface can run programs; `None` if the kernel does not tell.
pub(super) fn runs_programs(interface: u32) -> Option<bool> {
    features(interface).ok().flatten().map(|features| features & BASIC != 0)
}

/// Returns the longest packet that the driver of an interface sends if it is redirected to it, from
/// its IP header on, in bytes; 0 if it sends none. Where the kernel does not tell, it is taken to
/// send what is in one buffer.
///
/// A veth hands frames over only if its peer runs a program or has GRO. Of a peer in another
/// network namespace only the program is known.
pub(super) fn longest_sent(interface: u32) -> u16 {
    let features = |interface| features(interface).ok().flatten();
    let sends = |interface| features(interface).is_none_or(|features| features & SENDS != 0);
    let is_sent = sends(interface)
        && match link(interface, None) {
            Ok(known) if known.is_veth => match (known.peer, known.namespace) {
                (Some(peer), None) => sends(peer),
                (Some(peer), namespace) => link(peer, namespace).is_ok_and(|peer| peer.has_program),
                (None, _) => false,
            },
            // A link that the kernel does not tell of is not known to lose frames.
            _ => true,
        };
    match features(interface) {
        _ if !is_sent => 0,
        Some(features) if features & SENDS_BUFFERS != 0 => u16::MAX,
        _ => ONE_BUFFER,
    }
}

/// What is asked of a link.
#[derive(Debug, Default)]
struct Known {
    is_veth: bool,
    /// The index of its peer, and the id of the peer's namespace if that is another.
    peer: Option<u32>,
    namespace: Option<i32>,
    has_program: bool,
    /// The ids of the XDP programs that run on it, in whatever mode.
    programs: BTreeSet<u32>,
}

/// Returns the ids of the XDP programs that run on an interface; none if it is not there.
pub(super) fn programs(interface: u32) -> BTreeSet<u32> {
    link(interface, None).map(|known| known.programs).unwrap_or_default()
}

/// Asks for a link, in another network namespace if one is given.
fn link(index: u32, namespace: Option<i32>) -> Result<Known, Errno> {
    let kind = (SocketType::RAW, SocketFlags::CLOEXEC);
    let socket = rustix::net::socket_with(AddressFamily::NETLINK, kind.0, kind.1, None)?;
    rustix::net::bind(&socket, &SocketAddrNetlink::new(0, 0))?;
    let mut message = LinkMessage::default();
    message.header.index = index;
    message.attributes.extend(namespace.map(LinkAttribute::IfNetnsId));
    let payload = NetlinkPayload::InnerMessage(RouteNetlinkMessage::GetLink(message));
    let mut request = NetlinkMessage::new(NetlinkHeader::default(), payload);
    request.header.flags = NLM_F_REQUEST;
    request.finalize();
    let mut bytes = vec![0; request.buffer_len()];
    request.serialize(&mut bytes);
    rustix::net::send(&socket, &bytes, SendFlags::empty())?;
    let mut answer = vec![0; 1 << 16];
    let (count, _) = rustix::net::recv(&socket, &mut answer[..], RecvFlags::empty())?;
    let message = NetlinkMessage::<RouteNetlinkMessage>::deserialize(&answer[..count]);
    let Ok(NetlinkPayload::InnerMessage(RouteNetlinkMessage::NewLink(message))) =
        message.map(|message| message.payload)
    else {
        return Err(Errno::NODEV);
    };
    let mut known = Known::default();
    for attribute in message.attributes {
        match attribute {
            LinkAttribute::Link(peer) => known.peer = Some(peer),
            LinkAttribute::LinkNetNsId(namespace) => known.namespace = Some(namespace),
            LinkAttribute::LinkInfo(infos) => {
                known.is_veth = infos.contains(&LinkInfo::Kind(InfoKind::Veth));
            }
            LinkAttribute::Xdp(xdp) => {
                let is_there =
                    |attached: &XdpAttached| matches!(attached, XdpAttached::Driver | XdpAttached::Multiple);
                let ids = xdp.iter().filter_map(|each| match each {
                    LinkXdp::ProgId(id)
                    | LinkXdp::DrvProgId(id)
                    | LinkXdp::SkbProgId(id)
                    | LinkXdp::HwProgId(id) => Some(*id),
                    _ => None,
                });
                known.programs.extend(ids);
                known.has_program =
                    xdp.iter().any(|each| matches!(each, LinkXdp::Attached(attached) if is_there(attached)));
            }
            _ => {}
        }
    }
    Ok(known)
}

/// Asks for the features of a device.
fn features(interface: u32) -> Result<Option<u64>, Error> {
    let system = |error: Errno| Error::io("generic netlink", error);
    let kind = (SocketType::RAW, SocketFlags::CLOEXEC);
    let socket = rustix::net::socket_with(AddressFamily::NETLINK, kind.0, kind.1, Some(GENERIC));
    let socket = socket.map_err(system)?;
    rustix::net::bind(&socket, &SocketAddrNetlink::new(0, 0)).map_err(system)?;
    let family = ask(&socket, CONTROL, GET_FAMILY, FAMILY_NAME, b"netdev\0", FAMILY_ID).map_err(system)?;
    let Some(family) = family.as_deref().and_then(|id| Some(u16::from_ne_bytes(id.try_into().ok()?))) else {
        return Ok(None);
    };
    let features = ask(&socket, family, GET_DEVICE, INDEX, &interface.to_ne_bytes(), XDP_FEATURES);
    let features = features.map_err(system)?;
    Ok(features.and_then(|features| Some(u64::from_ne_bytes(features.try_into().ok()?))))
}

/// Sends a command with one attribute, and returns one attribute of the answer; `None` if the
/// kernel refuses, or the answer has none of this kind.
fn ask(
    socket: &OwnedFd,
    family: u16,
    command: u8,
    key: u16,
    value: &[u8],
    wanted: u16,
) -> Result<Option<Vec<u8>>, Errno> {
    let attribute = 4 + value.len();
    let length = HEADER + GENERIC_HEADER + attribute.next_multiple_of(4);
    let mut request = Vec::with_capacity(length);
    request.extend((length as u32).to_ne_bytes());
    request.extend(family.to_ne_bytes());
    request.extend(NLM_F_REQUEST.to_ne_bytes());
    request.extend([0; 8]);
    request.extend([command, 1, 0, 0]);
    request.extend((attribute as u16).to_ne_bytes());
    request.extend(key.to_ne_bytes());
    request.extend(value);
    request.resize(length, 0);
    rustix::net::send(socket.as_fd(), &request, SendFlags::empty())?;
    let mut answer = vec![0; 1 << 14];
    let (count, _) = rustix::net::recv(socket.as_fd(), &mut answer[..], RecvFlags::empty())?;
    let answer = &answer[..count];
    // What the kernel refuses is answered by a message of kind 2, an error.
    let kind = answer.get(4..6).map_or(2, |kind| u16::from_ne_bytes([kind[0], kind[1]]));
    let attributes = answer.get(HEADER + GENERIC_HEADER..).filter(|_| kind == family);
    let mut attributes = NlasIterator::new(attributes.unwrap_or_default()).filter_map(Result::ok);
    let found = attributes.find(|attribute: &NlaBuffer<&[u8]>| attribute.kind() == wanted);
    Ok(found.map(|attribute| attribute.value().to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_driver_of_its_own_runs_no_programs() {
        let loopback = super::super::interfaces::Interface::find("lo", 0).unwrap();
        // An older kernel does not tell.
        assert!(runs_programs(loopback.index) != Some(true));
        assert_eq!(runs_programs(u32::MAX >> 1), None, "there is none");
        assert!(!link(loopback.index, None).unwrap().is_veth);
        assert!(link(u32::MAX >> 1, None).is_err(), "there is none");
    }
}
