//! Lines and packets for tests, near each other: few prefixes, few ports, few lengths. `draw` draws
//! a number below another.

use super::Packet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const PROTOCOLS: [(&str, u8); 5] = [("tcp", 6), ("udp", 17), ("icmp", 1), ("47", 47), ("sctp", 132)];

fn range(first: usize, more: usize) -> String {
    format!("{first}-{}", first + more)
}

/// Returns the text of a line.
pub fn line(draw: &mut impl FnMut(usize) -> usize) -> String {
    let is_ipv4 = draw(2) == 0;
    let protocol = if draw(3) == 0 { "ip" } else { PROTOCOLS[draw(5)].0 };
    let has_ports = ["tcp", "udp", "sctp"].contains(&protocol);
    let mut text = format!("{} {protocol}", ["permit", "deny"][draw(2)]);
    for word in ["from", "to"] {
        let (a, b, c) = (draw(4), draw(4), draw(4));
        let prefix: String = match (draw(6), is_ipv4) {
            (0, _) => "any".into(),
            (1, true) => "10.0.0.0/8".into(),
            (2, true) => format!("10.{a}.0.0/16"),
            (3 | 4, true) => format!("10.{a}.{b}.0/24"),
            (_, true) => format!("10.{a}.{b}.{c}"),
            (1, false) => "2001:db8::/32".into(),
            (2, false) => format!("2001:db8:{a}::/48"),
            (3 | 4, false) => format!("2001:db8:{a}:{b}::/64"),
            (_, false) => format!("2001:db8:{a}:{b}::{c}"),
        };
        text.extend([" ", word, " ", &prefix]);
        if has_ports && draw(3) == 0 {
            let first = draw(40);
            text.extend([" port ", &range(first, draw(20))]);
        }
    }
    if draw(6) == 0 {
        let first = 40 + draw(40);
        text.extend([" length ", &range(first, draw(30))]);
    }
    text
}

/// Returns a packet that such lines may match. Its length is from 48 bytes on.
pub fn packet(draw: &mut impl FnMut(usize) -> usize) -> Packet {
    let is_ipv4 = draw(2) == 0;
    let mut address = || {
        let [a, b, c] = [0; 3].map(|_| draw(5) as u8);
        if is_ipv4 {
            IpAddr::from(Ipv4Addr::new(10, a, b, c))
        } else {
            Ipv6Addr::new(0x2001, 0xdb8, a.into(), b.into(), 0, 0, 0, c.into()).into()
        }
    };
    let addresses = [address(), address()];
    let protocol = PROTOCOLS[draw(5)].1;
    let ports = [6, 17, 132].contains(&protocol).then(|| [draw(70) as u16, draw(70) as u16]);
    Packet { addresses, protocol, ports, length: 48 + draw(80) as u16 }
}
