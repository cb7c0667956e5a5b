//! Packets of flows that a router divides among the legs of a route.

use super::packets::{Make, Packet, ipv4, ipv6, udp};
use crate::common::repair;
use std::net::Ipv6Addr;

/// Kinds of flows whose packets are of one flow with those of another kind: errors about it, and
/// the same behind extension headers.
pub(crate) const ALIKE: [(&str, &str); 5] = [
    ("UDP", "ICMP about UDP"),
    ("UDP over IPv6", "ICMPv6 about UDP"),
    ("UDP over IPv6", "UDP behind options"),
    ("IPIP", "ICMP in IPIP"),
    ("IPIP", "ICMP about IPIP"),
];

/// Returns a packet from another source.
fn from(source: &[u8], mut frame: Vec<u8>) -> Vec<u8> {
    let at = if source.len() == 4 { 26 } else { 22 };
    frame[at..at + source.len()].copy_from_slice(source);
    repair(&mut frame);
    frame
}

/// Returns flows of each kind, `count` of each: to one address, told apart by ports, which are
/// those of packets in tunnels, behind extension headers and in what errors quote; by the SPI; and
/// by the flow label.
pub(crate) fn flows(count: u16) -> Vec<Packet> {
    let datagram = |ports: [u16; 2], token: &[u8]| {
        [&ports.map(u16::to_be_bytes).concat()[..], &udp(token)[4..]].concat()
    };
    let forth = move |port: u16, token: &[u8]| datagram([port, 2222], token);
    let back = move |port: u16, token: &[u8]| datagram([2222, port], token);
    let (to, to6) = ("198.18.9.9", "2001:db8:70::9");
    let far: [u8; 16] = to6.parse::<Ipv6Addr>().unwrap().octets();
    (0..count)
        .flat_map(|port| {
            let flow = |kind: &str, make: Make| (format!("{kind} {port}"), make);
            let in_gre = move |token: &[u8]| {
                let inner = ipv6("2001:db8::7", 17, &forth(port, token));
                ipv4(to, 47, &[&[0x20, 0, 0x86, 0xDD, 0, 0, 0, 1], &inner[14..]].concat())
            };
            let in_ip = move |token: &[u8]| ipv4(to, 4, &ipv4("192.0.2.7", 17, &forth(port, token))[14..]);
            // Each error is of another router.
            let [high, low] = port.to_be_bytes();
            let error = move |to: &str, about: &[u8]| {
                from(&[192, 0, 2, low], ipv4(to, 1, &[&[3, 4, 0, 0, 0, 0, 5, 0], &about[14..]].concat()))
            };
            let about = move |token: &[u8]| {
                error(to, &from(&[198, 18, 9, 9], ipv4("10.1.0.2", 17, &back(port, token))))
            };
            let back_in_ip =
                move |token: &[u8]| from(&[192, 0, 2, 7], ipv4("10.1.0.2", 17, &back(port, token)));
            let error_in_ip = move |token: &[u8]| ipv4(to, 4, &error("192.0.2.7", &back_in_ip(token))[14..]);
            let about_ip = move |token: &[u8]| {
                error(to, &from(&[198, 18, 9, 9], ipv4("10.1.0.2", 4, &back_in_ip(token)[14..])))
            };
            let about6 = move |token: &[u8]| {
                let quoted = from(&far, ipv6("fd01::2", 17, &back(port, token)));
                let mut router = "2001:db8::".parse::<Ipv6Addr>().unwrap().octets();
                router[14..].copy_from_slice(&[high, low]);
                from(&router, ipv6(to6, 58, &[&[2, 0, 0, 0, 0, 0, 5, 0], &quoted[14..]].concat()))
            };
            let behind = move |token: &[u8]| {
                ipv6(to6, 60, &[&[17, 0, 1, 4, 0, 0, 0, 0], &forth(port, token)[..]].concat())
            };
            let labelled = move |token: &[u8]| {
                let mut frame = ipv6(to6, 17, &forth(7, token));
                frame[16..18].copy_from_slice(&(port + 1).to_be_bytes());
                frame
            };
            let esp = move |token: &[u8]| ipv4(to, 50, &[&[0, 0, high, low, 0, 0, 0, 1], token].concat());
            [
                flow("UDP", Box::new(move |token| ipv4(to, 17, &forth(port, token)))),
                flow("UDP over IPv6", Box::new(move |token| ipv6(to6, 17, &forth(port, token)))),
                flow("IPIP", Box::new(in_ip)),
                flow("GRE", Box::new(in_gre)),
                flow("ICMP about UDP", Box::new(about)),
                flow("ICMP in IPIP", Box::new(error_in_ip)),
                flow("ICMP about IPIP", Box::new(about_ip)),
                flow("ICMPv6 about UDP", Box::new(about6)),
                flow("UDP behind options", Box::new(behind)),
                flow("labels", Box::new(labelled)),
                flow("ESP", Box::new(esp)),
            ]
        })
        .collect()
}
