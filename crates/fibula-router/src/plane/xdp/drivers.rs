//! What the driver of an interface can do with XDP, as the kernel tells it (generic netlink, family
//! `netdev`, Linux 6.3 and later).

use crate::Error;
use crate::message::HEADER;
use netlink_packet_core::{NLM_F_REQUEST, NlaBuffer, NlasIterator};
use rustix::io::Errno;
use rustix::net::netlink::{GENERIC, SocketAddrNetlink};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
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

/// The bit of the features that says that programs can run in the driver.
const BASIC: u64 = 1;

/// The bytes of the header of generic netlink: command, version, and two without a meaning.
const GENERIC_HEADER: usize = 4;

/// Returns whether the driver of an interface can run programs; `None` if the kernel does not tell.
pub(super) fn runs_programs(interface: u32) -> Option<bool> {
    features(interface).ok().flatten().map(|features| features & BASIC != 0)
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
    }
}
