//! Packets of every kind that a router meets, as raw frames from the client. Each carries a token
//! by which it is known again.

use crate::common::{checksum, repair};
use std::net::{Ipv4Addr, Ipv6Addr};

/// Makes a frame out of a token.
pub(crate) type Make = Box<dyn Fn(&[u8]) -> Vec<u8>>;

/// A packet: its name, and what makes it.
pub(crate) type Packet = (String, Make);

/// The router's MAC address at the client, and the client's.
pub(crate) const ROUTER: [u8; 6] = [2, 0, 0, 0, 1, 1];
pub(crate) const CLIENT: [u8; 6] = [2, 0, 0, 0, 1, 2];

fn ethernet(kind: u16, packet: &[u8]) -> Vec<u8> {
    [&ROUTER[..], &CLIENT, &kind.to_be_bytes(), packet].concat()
}

/// Returns a frame with tags of these kinds and numbers.
fn tagged(tags: &[(u16, u16)], mut frame: Vec<u8>) -> Vec<u8> {
    let tags = tags.iter().flat_map(|(kind, tag)| [kind.to_be_bytes(), tag.to_be_bytes()].concat());
    frame.splice(12..12, tags);
    frame
}

pub(crate) fn udp(token: &[u8]) -> Vec<u8> {
    let length = (8 + token.len() as u16).to_be_bytes();
    [&[0x04, 0x57, 0x08, 0xAE], &length[..], &[0, 0], token].concat()
}

/// Returns a frame of an IPv4 packet, and what may be wrong with it.
pub(crate) fn ipv4(destination: &str, protocol: u8, payload: &[u8]) -> Vec<u8> {
    let length = (20 + payload.len() as u16).to_be_bytes();
    let mut packet = [&[0x45, 0], &length[..], &[0x12, 0x34, 0, 0, 64, protocol, 0, 0, 10, 1, 0, 2]].concat();
    packet.extend(destination.parse::<Ipv4Addr>().unwrap().octets());
    packet.extend(payload);
    let mut frame = ethernet(0x0800, &packet);
    repair(&mut frame);
    frame
}

/// Returns a frame of an IPv6 packet.
pub(crate) fn ipv6(destination: &str, protocol: u8, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u16).to_be_bytes();
    let mut packet = [&[0x60, 0, 0, 0], &length[..], &[protocol, 64]].concat();
    packet.extend("fd01::2".parse::<Ipv6Addr>().unwrap().octets());
    packet.extend(destination.parse::<Ipv6Addr>().unwrap().octets());
    packet.extend(payload);
    ethernet(0x86DD, &packet)
}

/// Returns an ICMP echo request, for IPv4.
fn echo(token: &[u8]) -> Vec<u8> {
    let mut message = [&[8, 0, 0, 0, 0, 1, 0, 1], token].concat();
    if message.len() % 2 == 1 {
        message.push(0);
    }
    let check = checksum(&message).to_be_bytes();
    message[2..4].copy_from_slice(&check);
    message
}

/// Returns an ICMPv6 message to an address, with its checksum.
fn icmp6(destination: &str, kind: u8, body: &[u8]) -> Vec<u8> {
    let mut message = [&[kind, 0, 0, 0], body].concat();
    if message.len() % 2 == 1 {
        message.push(0);
    }
    let mut pseudo = "fd01::2".parse::<Ipv6Addr>().unwrap().octets().to_vec();
    pseudo.extend(destination.parse::<Ipv6Addr>().unwrap().octets());
    pseudo.extend((message.len() as u32).to_be_bytes());
    pseudo.extend([0, 0, 0, 58]);
    let check = checksum(&[pseudo, message.clone()].concat()).to_be_bytes();
    message[2..4].copy_from_slice(&check);
    ipv6(destination, 58, &message)
}

/// Puts options into an IPv4 frame without any.
fn add_options(frame: &mut Vec<u8>, options: &[u8]) {
    frame.splice(34..34, options.iter().copied());
    frame[14] = 0x45 + (options.len() / 4) as u8;
    let length = (frame.len() as u16 - 14).to_be_bytes();
    frame[16..18].copy_from_slice(&length);
    frame[24..26].fill(0);
    let check = checksum(&frame[14..34 + options.len()]).to_be_bytes();
    frame[24..26].copy_from_slice(&check);
}

/// Returns addresses that are not the router's `own`, and have a bit with it (`bpf/packets.h`).
fn alike(own: Ipv4Addr) -> impl Iterator<Item = Ipv4Addr> {
    const FACTOR: u32 = 0x9E37_79B1;
    // Each step doubles the bits of the inverse that are right.
    let inverse = (0..5)
        .fold(1_u32, |inverse, _| inverse.wrapping_mul(2_u32.wrapping_sub(FACTOR.wrapping_mul(inverse))));
    let bit = own.to_bits().wrapping_mul(FACTOR) >> 16 << 16;
    let all = (0..1 << 16).map(move |low| Ipv4Addr::from_bits((bit | low).wrapping_mul(inverse)));
    all.filter(move |address| *address != own && (11..100).contains(&address.octets()[0]))
}

/// Where packets go that differ in their destination alone.
const DESTINATIONS4: &[&str] = &[
    "198.51.100.9",
    "203.0.113.9",
    "198.18.0.9",
    "198.18.1.9",
    "198.18.2.9",
    "198.18.3.9",
    "198.18.4.9",
    "198.18.5.9",
    "198.18.6.9",
    "198.18.7.9",
    "192.0.2.9",
    "10.1.0.1",
    "10.2.0.1",
    "10.3.0.1",
    "10.1.0.0",
    "10.1.0.255",
    "10.2.0.0",
    "10.2.0.255",
    "10.2.0.2",
    "127.0.0.1",
    "127.9.9.9",
    "0.0.0.0",
    "0.1.2.3",
    "224.0.0.1",
    "224.0.0.5",
    "224.0.0.18",
    "239.1.1.1",
    "240.0.0.1",
    "255.255.255.255",
    "169.254.1.1",
];

/// Sources of packets to a route.
const SOURCES4: &[&str] = &[
    "127.0.0.1",
    "127.1.2.3",
    "0.0.0.0",
    "0.1.2.3",
    "224.0.0.5",
    "239.255.255.255",
    "240.0.0.1",
    "255.255.255.255",
    "169.254.1.1",
    "10.1.0.1",
    "10.2.0.1",
    "10.3.0.1",
    "10.1.0.255",
    "10.3.0.7",
    "10.1.0.99",
    "10.2.0.2",
    "10.2.0.99",
    "198.51.100.7",
    "198.18.1.7",
    "198.18.2.7",
    "198.18.3.7",
    "198.18.4.7",
    "198.18.6.7",
    "198.18.8.7",
    "198.18.10.7",
    "198.18.11.7",
    "192.0.2.7",
];

/// What a packet of each of these sources is too, so that no route forwards it.
const FORMS4: &[Change] = &[
    ("with no-operation", |frame| add_options(frame, &[1; 4])),
    ("TTL 1", |frame| frame[22] = 1),
    ("for all hosts' MAC", |frame| frame[..6].fill(255)),
    ("to link-local", |frame| frame[30..34].copy_from_slice(&[169, 254, 7, 7])),
];

const DESTINATIONS6: &[&str] = &[
    "2001:db8:64::9",
    "2001:db8:65::9",
    "2001:db8:66::9",
    "2001:db8:67::9",
    "2001:db8:68::9",
    "2001:db8:69::9",
    "3fff::9",
    "fd01::1",
    "fd02::1",
    "fd02::",
    "fd02::2",
    "::1",
    "::",
    "::ffff:1.2.3.4",
    "fe80::1234",
    "ff02::1",
    "ff02::5",
    "ff02::12",
    "ff0e::1234",
    "fec0::1",
    "fd00::1",
];

const SOURCES6: &[&str] = &[
    "::",
    "::1",
    "ff02::1",
    "ff0e::1",
    "fd01::1",
    "fd02::1",
    "fe80::ff:fe00:102",
    "::ffff:1.2.3.4",
    "2001:db8::7",
    "fd01::99",
    "fd02::2",
    "fd02::99",
    "2001:db8:64::7",
    "2001:db8:66::7",
    "2001:db8:67::7",
    "2001:db8:68::7",
    "2001:db8:71::7",
    "2001:db8:72::7",
    "3fff::7",
];

const FORMS6: &[Change] = &[
    ("with hop by hop", |frame| {
        frame.splice(54..54, [frame[20], 0, 1, 4, 0, 0, 0, 0]);
        (frame[19], frame[20]) = (frame[19] + 8, 0);
    }),
    ("hop limit 1", |frame| frame[21] = 1),
    ("for all nodes' MAC", |frame| frame[..6].copy_from_slice(&[0x33, 0x33, 0, 0, 0, 1])),
];

/// What is changed in a packet, and how.
type Change = (&'static str, fn(&mut Vec<u8>));

/// Changes of an IPv4 packet whose header checksum is right again after it.
const CHANGES4: &[Change] = &[
    ("TTL 2", |frame| frame[22] = 2),
    ("TTL 1", |frame| frame[22] = 1),
    ("TTL 0", |frame| frame[22] = 0),
    ("TOS 0x10", |frame| frame[15] = 0x10),
    ("ECN", |frame| frame[15] = 3),
    ("longer than the frame", |frame| frame[16] = 1),
    ("shorter than the frame", |frame| frame[17] -= 20),
    ("shorter than its header", |frame| frame[16..18].copy_from_slice(&[0, 19])),
    ("padding", |frame| frame.extend([0xEE; 9])),
    ("a header of 16 bytes", |frame| frame[14] = 0x44),
    ("version 5", |frame| frame[14] = 0x55),
    ("first fragment", |frame| frame[20] = 0x20),
    ("later fragment", |frame| frame[21] = 100),
    ("last bytes of 64 KiB", |frame| frame[20..22].copy_from_slice(&[0x1F, 0xFF])),
    ("the evil bit", |frame| frame[20] = 0x80),
    ("DF", |frame| frame[20] = 0x40),
    ("IGMP", |frame| frame[23] = 2),
    ("IPIP", |frame| frame[23] = 4),
    ("TCP", |frame| frame[23] = 6),
    ("GRE", |frame| frame[23] = 47),
    ("ESP", |frame| frame[23] = 50),
    ("OSPF", |frame| frame[23] = 89),
    ("VRRP", |frame| frame[23] = 112),
    ("SCTP", |frame| frame[23] = 132),
    ("protocol 255", |frame| frame[23] = 255),
    ("for all hosts' MAC", |frame| frame[..6].fill(255)),
    ("for a multicast MAC", |frame| frame[..6].copy_from_slice(&[1, 0, 0x5E, 1, 1, 1])),
    ("for another MAC", |frame| frame[5] = 99),
    ("from the router's MAC", |frame| frame[6..12].copy_from_slice(&ROUTER)),
    ("from a multicast MAC", |frame| frame[6] = 1),
    ("in an IPv6 frame", |frame| frame[12..14].copy_from_slice(&[0x86, 0xDD])),
    ("VLAN 0", |frame| *frame = tagged(&[(0x8100, 0xA000)], frame.clone())),
    ("VLAN 77", |frame| *frame = tagged(&[(0x8100, 77)], frame.clone())),
    ("VLAN 77 of 802.1ad", |frame| *frame = tagged(&[(0x88A8, 77)], frame.clone())),
    ("VLANs 77 and 88", |frame| *frame = tagged(&[(0x88A8, 77), (0x8100, 88)], frame.clone())),
    ("VLANs 0 and 88", |frame| *frame = tagged(&[(0x8100, 0), (0x8100, 88)], frame.clone())),
    ("VLAN 0 of 802.1ad", |frame| *frame = tagged(&[(0x88A8, 0)], frame.clone())),
    ("VLANs 0 and 0", |frame| *frame = tagged(&[(0x8100, 0), (0x8100, 0)], frame.clone())),
    ("VLANs 77 and 0", |frame| *frame = tagged(&[(0x8100, 77), (0x8100, 0)], frame.clone())),
    ("three VLANs", |frame| *frame = tagged(&[(0x8100, 7), (0x8100, 8), (0x8100, 9)], frame.clone())),
];

const CHANGES6: &[Change] = &[
    ("hop limit 2", |frame| frame[21] = 2),
    ("hop limit 1", |frame| frame[21] = 1),
    ("hop limit 0", |frame| frame[21] = 0),
    ("a class and a label", |frame| frame[14..18].copy_from_slice(&[0x6B, 0x81, 2, 3])),
    ("longer than the frame", |frame| frame[18] = 1),
    ("shorter than the frame", |frame| frame[19] -= 20),
    ("length 0", |frame| frame[18..20].fill(0)),
    ("padding", |frame| frame.extend([0xEE; 9])),
    ("version 4", |frame| frame[14] = 0x40),
    ("no next header", |frame| frame[20] = 59),
    ("GRE", |frame| frame[20] = 47),
    ("in an IPv4 frame", |frame| frame[12..14].copy_from_slice(&[8, 0])),
    ("for a multicast MAC", |frame| frame[..6].copy_from_slice(&[0x33, 0x33, 0, 0, 0, 1])),
    ("VLAN 77", |frame| *frame = tagged(&[(0x8100, 77)], frame.clone())),
];

/// Extension headers of eight bytes, by their number and what follows the next one's.
const EXTENSIONS: &[(&str, u8, [u8; 7])] = &[
    ("hop by hop", 0, [0, 1, 4, 0, 0, 0, 0]),
    ("router alert", 0, [0, 5, 2, 0, 0, 1, 0]),
    ("an option that is not known", 0, [0, 0xBE, 4, 0, 0, 0, 0]),
    ("destination options", 60, [0, 1, 4, 0, 0, 0, 0]),
    ("a routing header", 43, [0, 0, 0, 0, 0, 0, 0]),
    ("first fragment", 44, [0, 0, 1, 0, 0, 0, 7]),
    ("later fragment", 44, [0, 0, 80, 0, 0, 0, 7]),
    ("an atomic fragment", 44, [0, 0, 0, 0, 0, 0, 7]),
];

const OPTIONS: &[(&str, &[u8])] = &[
    ("no-operation", &[1, 1, 1, 1]),
    ("router alert", &[0x94, 4, 0, 0]),
    ("record route", &[7, 11, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
    // There is room for no more of them: the time would differ.
    ("timestamps", &[0x44, 8, 9, 0, 0, 0, 0, 0]),
    ("loose source route", &[0x83, 7, 4, 203, 0, 113, 9, 0]),
    ("strict source route", &[0x89, 7, 4, 203, 0, 113, 9, 0]),
    ("an option that is cut", &[7, 40, 4, 0]),
];

/// Returns all packets.
#[allow(clippy::too_many_lines, reason = "it is a list")]
pub(crate) fn packets() -> Vec<Packet> {
    let mut all: Vec<Packet> = Vec::new();
    let mut add = |name: String, make: Make| all.push((name, make));
    for &to in DESTINATIONS4 {
        add(format!("IPv4 to {to}"), Box::new(move |token| ipv4(to, 17, &udp(token))));
        add(format!("echo to {to}"), Box::new(move |token| ipv4(to, 1, &echo(token))));
    }
    let alike = [[10, 1, 0, 1], [10, 2, 0, 1]].map(|own| alike(own.into()).next().unwrap());
    for from in SOURCES4.iter().map(|from| from.parse().unwrap()).chain(alike) {
        let make = move |to: &str, token: &[u8], change: fn(&mut Vec<u8>)| {
            let mut frame = ipv4(to, 17, &udp(token));
            frame[26..30].copy_from_slice(&from.octets());
            change(&mut frame);
            repair(&mut frame);
            frame
        };
        for to in ["198.51.100.9", "198.18.0.9", "10.1.0.9"] {
            let make = move |token: &[u8]| make(to, token, |_| {});
            add(format!("IPv4 from {from} to {to}"), Box::new(make));
        }
        for &(name, change) in FORMS4 {
            let make = move |token: &[u8]| make("198.51.100.9", token, change);
            add(format!("IPv4 from {from}: {name}"), Box::new(make));
        }
    }
    for &(name, change) in CHANGES4 {
        for to in ["198.51.100.9", "198.18.1.9"] {
            let make = move |token: &[u8]| {
                let mut frame = ipv4(to, 17, &udp(token));
                change(&mut frame);
                repair(&mut frame);
                frame
            };
            add(format!("IPv4 to {to}: {name}"), Box::new(make));
        }
    }
    for sum in [0x1234_u16, 0, 0xFFFF] {
        let make = move |token: &[u8]| {
            let mut frame = ipv4("198.51.100.9", 17, &udp(token));
            frame[24..26].copy_from_slice(&sum.to_be_bytes());
            frame
        };
        add(format!("IPv4: checksum {sum:#x}"), Box::new(make));
    }
    for &(name, bytes) in OPTIONS {
        let make = move |token: &[u8]| {
            let mut frame = ipv4("198.51.100.9", 17, &udp(token));
            add_options(&mut frame, bytes);
            frame
        };
        add(format!("IPv4 with {name}"), Box::new(make));
    }
    for (to, size) in [("198.51.100.9", 1472), ("198.18.2.9", 1272), ("198.18.2.9", 1273)] {
        for flags in [0, 0x40] {
            let make = move |token: &[u8]| {
                let mut payload = token.to_vec();
                payload.resize(size, b'z');
                let mut frame = ipv4(to, 17, &udp(&payload));
                frame[20] = flags;
                repair(&mut frame);
                frame
            };
            add(format!("IPv4 to {to}: {size} bytes, flags {flags:#x}"), Box::new(make));
        }
    }
    for &to in DESTINATIONS6 {
        add(format!("IPv6 to {to}"), Box::new(move |token| ipv6(to, 17, &udp(token))));
        let body = |token: &[u8]| [&[0, 1, 0, 1], token].concat();
        add(format!("echo to {to}"), Box::new(move |token| icmp6(to, 128, &body(token))));
    }
    for &from in SOURCES6 {
        for (name, change) in [("as it is", (|_| {}) as fn(&mut Vec<u8>))].iter().chain(FORMS6).copied() {
            let make = move |token: &[u8]| {
                let mut frame = ipv6("2001:db8:64::9", 17, &udp(token));
                frame[22..38].copy_from_slice(&from.parse::<Ipv6Addr>().unwrap().octets());
                change(&mut frame);
                frame
            };
            add(format!("IPv6 from {from}: {name}"), Box::new(make));
        }
    }
    for &(name, change) in CHANGES6 {
        let make = move |token: &[u8]| {
            let mut frame = ipv6("2001:db8:64::9", 17, &udp(token));
            change(&mut frame);
            frame
        };
        add(format!("IPv6: {name}"), Box::new(make));
    }
    for &(name, number, rest) in EXTENSIONS {
        let make =
            move |token: &[u8]| ipv6("2001:db8:64::9", number, &[&[17], &rest[..], &udp(token)].concat());
        add(format!("IPv6 with {name}"), Box::new(make));
    }
    for to in ["2001:db8:64::9", "2001:db8:66::9"] {
        for size in [1232, 1233, 1452] {
            let make = move |token: &[u8]| {
                let mut payload = token.to_vec();
                payload.resize(size, b'z');
                ipv6(to, 17, &udp(&payload))
            };
            add(format!("IPv6 to {to}: {size} bytes"), Box::new(make));
        }
    }
    // An error about a packet that was forwarded the other way, and protocols beside IP.
    let about = |token: &[u8]| {
        let inner = ipv4("10.1.0.2", 17, &udp(token));
        let mut message = [&[3, 1, 0, 0, 0, 0, 0, 0], &inner[14..]].concat();
        message.resize(message.len().next_multiple_of(2), 0);
        let check = checksum(&message).to_be_bytes();
        message[2..4].copy_from_slice(&check);
        ipv4("198.51.100.9", 1, &message)
    };
    add("an ICMP error".into(), Box::new(about));
    for (name, kind, head) in [
        ("ARP", 0x0806, &[0, 1, 8, 0, 6, 4, 0, 9][..]),
        ("MPLS", 0x8847, &[0, 1, 1, 64]),
        ("PPPoE discovery", 0x8863, &[0x11, 9, 0, 0, 0, 0]),
        ("PPPoE", 0x8864, &[0x11, 0, 0, 1, 0, 22, 0, 0x21]),
        ("LLDP", 0x88CC, &[2, 7, 4]),
        ("a length for a type", 60, &[0xAA, 0xAA, 3]),
    ] {
        add(name.into(), Box::new(move |token| ethernet(kind, &[head, token].concat())));
    }
    all
}
