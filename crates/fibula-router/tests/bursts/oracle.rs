//! What the kernel says that it would do with a packet: `ip route get fibmatch`, by its messages.

use fibula_router::message::Leg;
use netlink_packet_core::{NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteFlags, RouteHeader, RouteMessage, RouteNextHopFlags, RouteType,
    RouteVia,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{RecvFlags, SendFlags, SocketFlags, SocketType};
use std::collections::BTreeSet;
use std::net::IpAddr;
use std::os::fd::OwnedFd;

/// The kernel's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// For this machine, or a broadcast.
    Local,
    /// An error, by its `errno`: also what `blackhole`, `unreachable` and `prohibit` are.
    Error(i32),
    /// To one of these legs, dead ones left out.
    Legs(BTreeSet<Leg>),
    /// Something that only it can do, as a tunnel.
    OfKernel,
}

/// A socket for questions.
#[derive(Debug)]
pub(crate) struct Kernel {
    socket: OwnedFd,
    /// The index of the interface that packets come in by.
    interface: u32,
    sources: [IpAddr; 2],
}

impl Kernel {
    /// Of packets of these sources, that come in by an interface.
    pub(crate) fn new(interface: u32, sources: [&str; 2]) -> Self {
        let family = rustix::net::AddressFamily::NETLINK;
        let socket = rustix::net::socket_with(family, SocketType::RAW, SocketFlags::CLOEXEC, None).unwrap();
        rustix::net::bind(&socket, &SocketAddrNetlink::new(0, 0)).unwrap();
        Self { socket, interface, sources: sources.map(|source| source.parse().unwrap()) }
    }

    /// Returns what becomes of a packet to an address.
    pub(crate) fn ask(&self, address: IpAddr) -> Answer {
        let (family, bits) =
            if address.is_ipv4() { (AddressFamily::Inet, 32) } else { (AddressFamily::Inet6, 128) };
        let source = self.sources[usize::from(!address.is_ipv4())];
        let mut message = RouteMessage::default();
        message.header = RouteHeader {
            address_family: family,
            destination_prefix_length: bits,
            source_prefix_length: bits,
            flags: RouteFlags::FibMatch,
            ..RouteHeader::default()
        };
        let of = |address| match address {
            IpAddr::V4(address) => RouteAddress::Inet(address),
            IpAddr::V6(address) => RouteAddress::Inet6(address),
        };
        message.attributes = vec![
            RouteAttribute::Destination(of(address)),
            RouteAttribute::Source(of(source)),
            RouteAttribute::Iif(self.interface),
        ];
        let payload = NetlinkPayload::InnerMessage(RouteNetlinkMessage::GetRoute(message));
        let mut message = NetlinkMessage::new(NetlinkHeader::default(), payload);
        message.header.flags = NLM_F_REQUEST;
        message.finalize();
        let mut bytes = vec![0; message.buffer_len()];
        message.serialize(&mut bytes);
        rustix::net::send(&self.socket, &bytes, SendFlags::empty()).unwrap();
        let mut buffer = vec![0; 1 << 16];
        let (count, _) = rustix::net::recv(&self.socket, &mut buffer[..], RecvFlags::empty()).unwrap();
        match NetlinkMessage::<RouteNetlinkMessage>::deserialize(&buffer[..count]).unwrap().payload {
            NetlinkPayload::Error(error) => Answer::Error(-error.raw_code()),
            NetlinkPayload::InnerMessage(RouteNetlinkMessage::NewRoute(route)) => answer(&route),
            other => panic!("{address}: {other:?}"),
        }
    }
}

fn answer(route: &RouteMessage) -> Answer {
    match route.header.kind {
        RouteType::Unicast => {}
        RouteType::Local | RouteType::Broadcast | RouteType::Anycast => return Answer::Local,
        other => panic!("a route of type {other:?}"),
    }
    let mut legs = BTreeSet::new();
    let (first, is_tunnel) = leg(&route.attributes);
    let mut is_of_kernel = is_tunnel;
    let mut has_legs = false;
    for attribute in &route.attributes {
        if let RouteAttribute::MultiPath(hops) = attribute {
            has_legs = true;
            for hop in hops {
                let ((_, gateway), is_tunnel) = leg(&hop.attributes);
                is_of_kernel |= is_tunnel;
                let weight = u16::from(hop.hops) + 1;
                let leg = Leg { interface: hop.interface_index, gateway, weight };
                legs.extend((!hop.flags.contains(RouteNextHopFlags::Dead)).then_some(leg));
            }
        }
    }
    if !has_legs {
        let (interface, gateway) = first;
        let leg = Leg { interface, gateway, weight: 1 };
        legs.extend((!route.header.flags.contains(RouteFlags::Dead)).then_some(leg));
    }
    if is_of_kernel { Answer::OfKernel } else { Answer::Legs(legs) }
}

/// Returns an interface and a gateway, and whether the kernel alone can send by them.
fn leg(attributes: &[RouteAttribute]) -> ((u32, Option<IpAddr>), bool) {
    let (mut interface, mut gateway, mut is_tunnel) = (0, None, false);
    for attribute in attributes {
        match attribute {
            RouteAttribute::Oif(index) => interface = *index,
            RouteAttribute::Gateway(RouteAddress::Inet(address))
            | RouteAttribute::Via(RouteVia::Inet(address)) => gateway = Some((*address).into()),
            RouteAttribute::Gateway(RouteAddress::Inet6(address))
            | RouteAttribute::Via(RouteVia::Inet6(address)) => gateway = Some((*address).into()),
            RouteAttribute::Encap(_) | RouteAttribute::EncapType(_) => is_tunnel = true,
            _ => {}
        }
    }
    ((interface, gateway), is_tunnel)
}
