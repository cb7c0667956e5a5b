//! [`flow`]: which packets are one flow, told as the XDP program tells it (`bpf/flow.h`). A flow
//! takes the same leg in both planes.

use super::header::{IPV4, IPV6};
use crate::plane::xdp::ecmp::{Ecmp, Hashed, mixed};
use crate::plane::xdp::payload::{FRAGMENT, Payload, array};

/// Protocols of tunnels: IPv4 and IPv6 in IP, and GRE.
const IPIP: u8 = 4;
const IPV6_IN_IP: u8 = 41;
const GRE: u8 = 47;

const ESP: u8 = 50;
const ICMP: u8 = 1;
const ICMPV6: u8 = 58;

/// The types of ICMP that are errors, and the bytes before the packet that one quotes.
const ERRORS: [u8; 5] = [3, 4, 5, 11, 12];
const ERRORS6: [u8; 4] = [1, 2, 3, 4];
const QUOTED: usize = 8;

/// How many packets are looked at: a tunnel's, the error in that, and what this quotes.
const TOLD_MAX: usize = 3;

/// A packet that may tell its flow, from its IP header on.
#[derive(Clone, Copy)]
struct Told<'p> {
    bytes: &'p [u8],
    is_ipv4: bool,
    /// It goes the other way: an error quotes it.
    is_back: bool,
}

/// Returns the flow of a packet, mixed; 0 if its header is cut short.
pub(super) fn flow(bytes: &[u8], is_ipv4: bool, ecmp: Ecmp) -> u64 {
    let (mut told, mut found) = (Told { bytes, is_ipv4, is_back: false }, 0);
    for _ in 0..TOLD_MAX {
        let Some((flow, payload)) = told.flow(ecmp) else { return 0 };
        found = flow;
        let Some(inside) = told.inside(&payload, ecmp.hash) else { break };
        told = inside;
    }
    found
}

/// Returns both ports, or the SPI, at the beginning of a payload; 0 where there are none.
fn ports(payload: &Payload<'_>, hashes_spi: bool) -> u32 {
    let spi = payload.bytes.filter(|_| hashes_spi && payload.protocol == ESP);
    let ports = payload.ports().or_else(|| array(spi?, 0));
    ports.map_or(0, u32::from_le_bytes)
}

impl<'p> Told<'p> {
    /// Returns the flow by the packet's own headers, and what it carries.
    fn flow(self, ecmp: Ecmp) -> Option<(u64, Payload<'p>)> {
        let Self { bytes, is_ipv4, is_back } = self;
        let mut payload = Payload::of(bytes, is_ipv4)?;
        // What comes back may be whole although what is quoted is not: its first part has ports.
        payload.is_cut &= !is_back || payload.bytes.is_none();
        if payload.is_cut {
            payload.bytes = None;
            payload.protocol = if is_ipv4 { payload.protocol } else { FRAGMENT };
        }
        let ports = ports(&payload, ecmp.spi);
        let ports = u64::from(if is_back { ports.rotate_left(16) } else { ports });
        let protocol = u64::from(payload.protocol);
        let (addresses, flow) = if is_ipv4 {
            let [source, destination] = [12, 16].map(|at| array(bytes, at).map(u32::from_le_bytes));
            let (from, to) = turned(is_back, source?, destination?);
            let addresses = u64::from(from) << 32 | u64::from(to);
            let flow = if payload.is_cut { addresses } else { mixed(addresses) ^ ports };
            (addresses, flow.wrapping_add(protocol))
        } else {
            let word = |at: usize| array(bytes, at).map(u64::from_le_bytes);
            let (from, to) = turned(is_back, [word(8)?, word(16)?], [word(24)?, word(32)?]);
            let mut addresses =
                mixed(from[0] ^ mixed(from[1])) ^ mixed(to[0].wrapping_add(mixed(to[1].wrapping_add(1))));
            if ecmp.flow_label {
                let label = u32::from_le_bytes([0, bytes[1] & 15, bytes[2], bytes[3]]);
                addresses ^= mixed(label.into());
            }
            (addresses, addresses.wrapping_add(ports << 8 | protocol))
        };
        Some((if ecmp.hash == Hashed::L3 { addresses } else { flow }, payload))
    }

    /// Returns the packet that this one quotes or carries, if that tells the flow.
    fn inside(self, payload: &Payload<'p>, hashed: Hashed) -> Option<Self> {
        let bytes = payload.bytes?;
        let (icmp, errors) = if self.is_ipv4 { (ICMP, &ERRORS[..]) } else { (ICMPV6, &ERRORS6[..]) };
        let inside = if payload.protocol == icmp {
            let quoted = bytes.get(QUOTED..).filter(|_| errors.contains(&bytes[0]))?;
            Self { bytes: quoted, is_back: !self.is_back, ..self }
        } else if hashed == Hashed::Inner {
            let (bytes, is_ipv4) = carried(payload.protocol, bytes)?;
            Self { bytes, is_ipv4, ..self }
        } else {
            return None;
        };
        let (version, least) = if inside.is_ipv4 { (0x45..=0x4F, 20) } else { (0x60..=0x6F, 40) };
        (inside.bytes.len() >= least && version.contains(&inside.bytes[0])).then_some(inside)
    }
}

/// Returns the packet of a tunnel's, and whether it is of IPv4.
fn carried(protocol: u8, payload: &[u8]) -> Option<(&[u8], bool)> {
    match protocol {
        IPIP => Some((payload, true)),
        IPV6_IN_IP => Some((payload, false)),
        GRE => {
            let [flags, version, kind @ ..] = *payload.first_chunk::<4>()?;
            // One with a source route, or of PPTP.
            if flags & 0x40 != 0 || version & 7 != 0 {
                return None;
            }
            let fields = (flags >> 7) + (flags >> 5 & 1) + (flags >> 4 & 1);
            let packet = payload.get(4 + 4 * usize::from(fields)..)?;
            match u16::from_be_bytes(kind) {
                IPV4 => Some((packet, true)),
                IPV6 => Some((packet, false)),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Returns two ends, the other way round if a packet goes back.
fn turned<T>(is_back: bool, source: T, destination: T) -> (T, T) {
    if is_back { (destination, source) } else { (source, destination) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a packet of a protocol.
    fn packet(is_ipv4: bool, addresses: [u8; 2], protocol: u8, payload: &[u8]) -> Vec<u8> {
        let [source, destination] = addresses;
        let mut packet = vec![0; if is_ipv4 { 20 } else { 40 }];
        if is_ipv4 {
            (packet[0], packet[9], packet[15], packet[19]) = (0x45, protocol, source, destination);
        } else {
            (packet[0], packet[6], packet[23], packet[39]) = (0x60, protocol, source, destination);
        }
        packet.extend(payload);
        packet
    }

    /// Returns an error about a packet, from an address.
    fn error(is_ipv4: bool, from: u8, to: u8, about: &[u8]) -> Vec<u8> {
        let (icmp, kind) = if is_ipv4 { (ICMP, 3) } else { (ICMPV6, 2) };
        packet(is_ipv4, [from, to], icmp, &[&[kind, 4, 0, 0, 0, 0, 0, 0], about].concat())
    }

    const UDP: u8 = 17;
    const FORTH: [u8; 8] = [0, 53, 0x30, 0x39, 0, 8, 0, 0];
    const BACK: [u8; 8] = [0x30, 0x39, 0, 53, 0, 8, 0, 0];

    #[test]
    fn an_error_is_of_the_flow_that_it_is_about() {
        for is_ipv4 in [true, false] {
            let forth = packet(is_ipv4, [1, 2], UDP, &FORTH);
            let back = packet(is_ipv4, [2, 1], UDP, &BACK);
            for hash in [Hashed::L3, Hashed::L4, Hashed::Inner] {
                let ecmp = Ecmp { hash, ..Ecmp::default() };
                let of = |packet: &[u8]| flow(packet, is_ipv4, ecmp);
                let about = error(is_ipv4, 9, 2, &[&back[..], &[0xA5; 30]].concat());
                assert_eq!(of(&about), of(&forth), "{hash:?}");
                // Of the least that a router must quote.
                let least = if is_ipv4 { 20 + 8 + 28 } else { 40 + 8 + 48 };
                assert_eq!(of(&about[..least]), of(&forth));
                assert_ne!(of(&error(is_ipv4, 9, 2, &forth)), of(&forth), "it is about the other way");
                // What quotes nothing that can be read is a flow of its own.
                let bare = of(&error(is_ipv4, 9, 2, &[]));
                assert_eq!(of(&about[..least - 10]), bare);
                assert_ne!(bare, of(&forth));
            }
        }
    }

    #[test]
    fn errors_in_tunnels_and_about_tunnels_are_of_the_flow_inside() {
        let ecmp = Ecmp { hash: Hashed::Inner, ..Ecmp::default() };
        let forth = packet(false, [1, 2], UDP, &FORTH);
        let back = packet(false, [2, 1], UDP, &BACK);
        let tunnel = |inner: &[u8], ends| packet(true, ends, IPV6_IN_IP, inner);
        let expected = flow(&forth, false, ecmp);
        assert_eq!(flow(&tunnel(&forth, [7, 8]), true, ecmp), expected);
        assert_eq!(flow(&error(true, 9, 7, &tunnel(&back, [8, 7])), true, ecmp), expected);
        assert_eq!(flow(&tunnel(&error(false, 9, 2, &back), [7, 8]), true, ecmp), expected);
    }

    #[test]
    fn extension_headers_labels_and_spis_tell_flows_where_they_are_asked_to() {
        let options = [UDP, 0, 1, 4, 0, 0, 0, 0];
        let plain = packet(false, [1, 2], UDP, &FORTH);
        let behind = packet(false, [1, 2], 60, &[&options[..], &FORTH].concat());
        let l4 = Ecmp::default();
        assert_eq!(flow(&behind, false, l4), flow(&plain, false, l4));
        // All parts of a packet are one flow, also where the first has more headers.
        let part = |offset: u8, payload: &[u8]| {
            packet(false, [1, 2], FRAGMENT, &[&[60, 0, 0, offset | 1, 0, 0, 0, 7], payload].concat())
        };
        let first = part(0, &[&options[..], &FORTH].concat());
        assert_eq!(flow(&first, false, l4), flow(&part(8, &[9; 16]), false, l4));
        let mut labelled = plain.clone();
        labelled[3] = 1;
        assert_eq!(flow(&labelled, false, l4), flow(&plain, false, l4));
        let by_label = Ecmp { flow_label: true, ..l4 };
        assert_eq!(flow(&plain, false, by_label), flow(&plain, false, l4));
        assert_ne!(flow(&labelled, false, by_label), flow(&plain, false, by_label));
        let [one, other] = [1, 2].map(|spi| packet(true, [1, 2], ESP, &[0, 0, 0, spi, 0, 0, 0, 1]));
        assert_eq!(flow(&one, true, l4), flow(&other, true, l4));
        let by_spi = Ecmp { spi: true, ..l4 };
        assert_ne!(flow(&one, true, by_spi), flow(&other, true, by_spi));
    }

    #[test]
    fn no_bytes_panic() {
        let ecmp = Ecmp { hash: Hashed::Inner, flow_label: true, spi: true, ..Ecmp::default() };
        let inner = error(false, 9, 2, &packet(false, [2, 1], 60, &[UDP, 255, 0, 0, 0, 0, 0, 0]));
        let gre = packet(true, [1, 2], GRE, &[&[0xB0, 0, 0x86, 0xDD], &[0; 12][..], &inner].concat());
        for length in 0..gre.len() {
            let _ = flow(&gre[..length], true, ecmp);
            let _ = flow(&gre[..length], false, ecmp);
        }
    }
}
