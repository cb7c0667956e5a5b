//! Reads the destinations of pcap and pcapng captures.

use crate::Place;
use crate::report::{Kind, Report};
use pcap_parser::nom::{Err as Stop, IResult, Needed};
use pcap_parser::pcapng::Block;
use pcap_parser::traits::PcapNGPacketBlock;
use pcap_parser::{Linktype, PcapError, parse_block_be, parse_block_le, parse_pcap_header};
use pcap_parser::{parse_pcap_frame, parse_pcap_frame_be, parse_pcap_frame_modified};
use std::net::IpAddr;

/// Why a capture ends early: a byte of it, and what is wrong there.
pub(super) type Broken = (u64, String);

/// pcapng's first block type, the same in both byte orders.
const SECTION_HEADER: [u8; 4] = [0x0A, 0x0D, 0x0D, 0x0A];
/// pcap's magic numbers in little-endian order: microseconds, nanoseconds, modified.
const PCAP: [u32; 3] = [0xA1B2_C3D4, 0xA1B2_3C4D, 0xA1B2_CD34];

/// Returns whether a file is a capture, by its first bytes.
pub(super) fn is_capture(bytes: &[u8]) -> bool {
    let Some(magic) = bytes.first_chunk::<4>() else { return false };
    *magic == SECTION_HEADER
        || PCAP.contains(&u32::from_le_bytes(*magic))
        || PCAP[..2].contains(&u32::from_be_bytes(*magic))
}

/// The destinations of the IP packets of a capture, in order, and why others have none.
#[derive(Debug, Default)]
pub(super) struct Destinations {
    pub(super) all: Vec<IpAddr>,
    pub(super) report: Report,
}

impl Destinations {
    fn push(&mut self, byte: u64, found: Result<IpAddr, &'static str>) {
        match found {
            Ok(address) => self.all.push(address),
            Err(why) => self.report.note(Kind::LeftOut, why, Place::Byte(byte)),
        }
    }
}

/// Returns the destinations of all IP packets. Other packets are counted, and so are packets cut
/// off before their destination.
pub(super) fn destinations(bytes: &[u8]) -> Result<Destinations, Broken> {
    if bytes.starts_with(&SECTION_HEADER) { of_pcapng(bytes) } else { of_pcap(bytes) }
}

type Parsed<'a, T> = IResult<&'a [u8], T, PcapError<&'a [u8]>>;

/// The parsed block and the rest, or where and why there is none.
fn step<'a, T>(all: &[u8], rest: &'a [u8], parsed: Parsed<'a, T>) -> Result<(&'a [u8], T), Broken> {
    let byte = (all.len() - rest.len()) as u64;
    parsed.map_err(|stop| match stop {
        Stop::Incomplete(Needed::Size(more)) => {
            (byte, format!("the capture is cut off in a packet that begins here, {more} bytes are missing"))
        }
        Stop::Incomplete(Needed::Unknown) => {
            (byte, "the capture is cut off in a packet that begins here".to_string())
        }
        Stop::Error(error) | Stop::Failure(error) => match error {
            PcapError::NomError(_, kind) => (byte, format!("no packet or block of a capture ({kind:?})")),
            other => (byte, format!("no packet or block of a capture ({other})")),
        },
    })
}

fn of_pcap(bytes: &[u8]) -> Result<Destinations, Broken> {
    let (mut rest, header) = step(bytes, bytes, parse_pcap_header(bytes))?;
    let frame = if header.is_modified_format() {
        parse_pcap_frame_modified
    } else if header.is_bigendian() {
        parse_pcap_frame_be
    } else {
        parse_pcap_frame
    };
    let mut found = Destinations::default();
    while !rest.is_empty() {
        let byte = (bytes.len() - rest.len()) as u64;
        let (after, packet) = step(bytes, rest, frame(rest))?;
        found.push(byte, destination(header.network, packet.data));
        rest = after;
    }
    Ok(found)
}

fn of_pcapng(bytes: &[u8]) -> Result<Destinations, Broken> {
    let mut found = Destinations::default();
    let mut links = Vec::new();
    let mut is_big_endian = false;
    let mut rest = bytes;
    while !rest.is_empty() {
        let byte = (bytes.len() - rest.len()) as u64;
        let block = if is_big_endian { parse_block_be } else { parse_block_le };
        let (after, parsed) = step(bytes, rest, block(rest))?;
        let mut of_interface = |number: usize, packet: &[u8]| {
            let link = links.get(number).ok_or("packet of an interface that is not described");
            found.push(byte, link.and_then(|&link| destination(link, packet)));
        };
        match parsed {
            Block::SectionHeader(section) => {
                is_big_endian = section.big_endian();
                links.clear();
            }
            Block::InterfaceDescription(interface) => links.push(interface.linktype),
            Block::EnhancedPacket(packet) => of_interface(packet.if_id as usize, packet.packet_data()),
            Block::SimplePacket(packet) => of_interface(0, packet.packet_data()),
            // The crate reads the type of a block that it does not know as little-endian always.
            Block::Unknown(block) if block_type(block.block_type, is_big_endian) == PACKET_BLOCK => {
                match old_packet(block.data, is_big_endian) {
                    Some((interface, packet)) => of_interface(interface, packet),
                    None => found.push(byte, Err(CUT)),
                }
            }
            _ => {}
        }
        rest = after;
    }
    Ok(found)
}

fn block_type(little_endian: u32, is_big_endian: bool) -> u32 {
    if is_big_endian { little_endian.swap_bytes() } else { little_endian }
}

/// The obsolete Packet Block of pcapng, which the crate does not read.
const PACKET_BLOCK: u32 = 2;

/// Returns the interface and the bytes of an obsolete Packet Block.
fn old_packet(body: &[u8], is_big_endian: bool) -> Option<(usize, &[u8])> {
    const HEADER: usize = 20;
    let interface = *body.first_chunk::<2>()?;
    let length = *body.get(12..)?.first_chunk::<4>()?;
    let (interface, length) = if is_big_endian {
        (u16::from_be_bytes(interface), u32::from_be_bytes(length))
    } else {
        (u16::from_le_bytes(interface), u32::from_le_bytes(length))
    };
    let packet = body.get(HEADER..)?;
    Some((interface.into(), packet.get(..length as usize)?))
}

/// EtherType of IPv4; the next constants are those of IPv6, of the VLAN tags, of MPLS and of
/// sessions of PPPoE.
const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86DD;
/// 802.1Q, 802.1ad, and the tag that was used before there was a standard.
const VLAN: [u16; 3] = [0x8100, 0x88A8, 0x9100];
const MPLS: [u16; 2] = [0x8847, 0x8848];
const PPPOE: u16 = 0x8864;

/// Why a packet has no destination.
const CUT: &str = "packet that is cut off before its destination";
const OTHER: &str = "packet that is not IP";
const OTHER_LINK: &str = "packet of a link that is not read";

/// Returns the destination of a packet as captured on a link.
fn destination(link: Linktype, packet: &[u8]) -> Result<IpAddr, &'static str> {
    let (protocol_at, payload_at) = match link {
        Linktype::ETHERNET => (12, 14),
        Linktype::LINUX_SLL => (14, 16),
        // Linux "cooked" v2, whose number the crate does not name.
        Linktype(276) => (0, 20),
        // A protocol family of four bytes in some machine's byte order: the IP header has the
        // version too.
        Linktype::NULL | Linktype::LOOP => return of_ip(packet.get(4..).ok_or(CUT)?),
        Linktype::RAW | Linktype::IPV4 | Linktype::IPV6 | Linktype(12) => return of_ip(packet),
        // PPP, PPP with the framing of HDLC, and with a direction before it.
        Linktype(9 | 50) => return of_ppp(packet),
        Linktype(204) => return of_ppp(packet.get(1..).ok_or(CUT)?),
        _ => return Err(OTHER_LINK),
    };
    let word = |at: usize| {
        let octets = packet.get(at..).and_then(|rest| rest.first_chunk::<2>());
        octets.map(|octets| u16::from_be_bytes(*octets)).ok_or(CUT)
    };
    let mut protocol = word(protocol_at)?;
    let mut payload_at = payload_at;
    while VLAN.contains(&protocol) {
        protocol = word(payload_at + 2)?;
        payload_at += 4;
    }
    let payload = packet.get(payload_at..).ok_or(CUT)?;
    match protocol {
        IPV4 | IPV6 => of_ip(payload),
        PPPOE => of_ppp(payload.get(6..).ok_or(CUT)?),
        protocol if MPLS.contains(&protocol) => of_mpls(payload),
        _ => Err(OTHER),
    }
}

/// A frame of PPP (RFC 1661, RFC 1662): its protocol may be of one byte, and an address and a
/// control byte may be before it.
fn of_ppp(frame: &[u8]) -> Result<IpAddr, &'static str> {
    match frame {
        [0xFF, 0x03, rest @ ..] => of_ppp(rest),
        [0x00, 0x21 | 0x57, packet @ ..] | [0x21 | 0x57, packet @ ..] => of_ip(packet),
        [0x02, 0x81 | 0x83, labels @ ..] => of_mpls(labels),
        [] => Err(CUT),
        _ => Err(OTHER),
    }
}

/// What is under labels is IP where it begins as such: the labels do not say (RFC 3032).
fn of_mpls(mut labels: &[u8]) -> Result<IpAddr, &'static str> {
    loop {
        let (label, rest) = labels.split_first_chunk::<4>().ok_or(CUT)?;
        if label[2] & 1 == 1 {
            return of_ip(rest);
        }
        labels = rest;
    }
}

fn of_ip(packet: &[u8]) -> Result<IpAddr, &'static str> {
    let address = match packet.first().ok_or(CUT)? >> 4 {
        4 => packet.get(16..).and_then(|rest| rest.first_chunk::<4>()).map(|octets| IpAddr::from(*octets)),
        6 => packet.get(24..).and_then(|rest| rest.first_chunk::<16>()).map(|octets| IpAddr::from(*octets)),
        _ => return Err(OTHER),
    };
    address.ok_or(CUT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ipv4(last: u8) -> Vec<u8> {
        let mut packet = vec![0x45; 20];
        packet[16..].copy_from_slice(&[192, 0, 2, last]);
        packet
    }

    fn ipv6(last: u8) -> Vec<u8> {
        let mut packet = vec![0x60; 40];
        packet[24..].copy_from_slice(&[0x20, 1, 0xD, 0xB8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last]);
        packet
    }

    fn ethernet(tags: &[u16], protocol: u16, payload: &[u8]) -> Vec<u8> {
        let mut frame = vec![2; 12];
        for tag in tags {
            frame.extend(tag.to_be_bytes());
            frame.extend([0, 7]);
        }
        frame.extend(protocol.to_be_bytes());
        frame.extend(payload);
        frame
    }

    fn pcap(big_endian: bool, link: u32, packets: &[Vec<u8>]) -> Vec<u8> {
        let word = |n: u32| if big_endian { n.to_be_bytes() } else { n.to_le_bytes() };
        let version = if big_endian { [0, 2, 0, 4] } else { [2, 0, 4, 0] };
        let mut file = Vec::from(word(PCAP[0]));
        file.extend(version);
        file.extend([0, 0, 65_535, link].map(word).concat());
        for packet in packets {
            let len = packet.len() as u32;
            file.extend([1, 2, len, len].map(word).concat());
            file.extend(packet);
        }
        file
    }

    fn pcapng(big_endian: bool, packets: &[Vec<u8>]) -> Vec<u8> {
        let word = |n: u32| if big_endian { n.to_be_bytes() } else { n.to_le_bytes() };
        let half = |n: u16| if big_endian { n.to_be_bytes() } else { n.to_le_bytes() };
        let mut file = Vec::new();
        let mut block = |kind: u32, body: &[u8]| {
            let padding = vec![0; body.len().next_multiple_of(4) - body.len()];
            let len = (12 + body.len() + padding.len()) as u32;
            file.extend([&word(kind)[..], &word(len), body, &padding, &word(len)].concat());
        };
        let section = [&word(0x1A2B_3C4D)[..], &half(1), &half(0), &[0xFF; 8]].concat();
        block(0x0A0D_0D0A, &section);
        block(1, &[&half(1)[..], &half(0), &word(0)].concat());
        for (i, packet) in packets.iter().enumerate() {
            let len = word(packet.len() as u32);
            if i % 2 == 0 {
                block(6, &[&word(0)[..], &word(0), &word(0), &len, &len, packet].concat());
            } else {
                block(3, &[&len[..], packet].concat());
            }
        }
        file
    }

    fn packets() -> Vec<Vec<u8>> {
        vec![
            ethernet(&[], IPV4, &ipv4(1)),
            ethernet(&[], 0x0806, &ipv4(99)), // ARP
            ethernet(&[0x8100], IPV6, &ipv6(2)),
            ethernet(&[0x88A8, 0x8100], IPV4, &ipv4(3)),
            ethernet(&[], IPV4, &ipv4(4)[..18]), // cut off by the capture's snap length
            ethernet(&[], IPV6, &ipv6(5)),
        ]
    }

    fn expected() -> Vec<IpAddr> {
        ["192.0.2.1", "2001:db8::2", "192.0.2.3", "2001:db8::5"].map(|ip| ip.parse().unwrap()).into()
    }

    #[test]
    fn both_formats_in_both_byte_orders() {
        for big_endian in [false, true] {
            for file in [pcap(big_endian, 1, &packets()), pcapng(big_endian, &packets())] {
                assert!(is_capture(&file));
                let found = destinations(&file).unwrap();
                assert_eq!(found.all, expected());
                let told: Vec<_> =
                    found.report.notes.iter().map(|note| (note.what.as_ref(), note.count)).collect();
                assert_eq!(told, [(OTHER, 1), (CUT, 1)]);
            }
        }
    }

    #[test]
    fn other_links() {
        let with = |head: &[u8], packet: Vec<u8>| [head, &packet].concat();
        let sll = [&[0; 14][..], &IPV4.to_be_bytes()].concat();
        let sll2 = [&IPV6.to_be_bytes()[..], &[0; 18]].concat();
        let files = [
            (pcap(false, 101, &[ipv4(1)]), "192.0.2.1"),
            (pcap(false, 0, &[with(&[2, 0, 0, 0], ipv4(2))]), "192.0.2.2"),
            (pcap(false, 113, &[with(&sll, ipv4(3))]), "192.0.2.3"),
            (pcap(true, 276, &[with(&sll2, ipv6(4))]), "2001:db8::4"),
        ];
        for (file, ip) in files {
            assert_eq!(destinations(&file).unwrap().all, [ip.parse::<IpAddr>().unwrap()]);
        }
        // IEEE 802.11
        let found = destinations(&pcap(false, 105, &[ipv4(1)])).unwrap();
        assert_eq!((found.all.len(), found.report.notes[0].what.as_ref()), (0, OTHER_LINK));
    }

    #[test]
    fn what_is_under_labels_and_sessions_is_read() {
        let labels = |packet: Vec<u8>| [&[0, 1, 0, 255, 0, 2, 1, 255][..], &packet].concat();
        let session =
            |protocol: [u8; 2], packet: Vec<u8>| [&[0x11, 0, 0, 1, 0, 22][..], &protocol, &packet].concat();
        let packets = [
            ethernet(&[], PPPOE, &session([0, 0x21], ipv4(1))),
            ethernet(&[0x8100], PPPOE, &session([0, 0x57], ipv6(2))),
            ethernet(&[], PPPOE, &session([0xC0, 0x21], vec![1; 8])), // LCP
            ethernet(&[], MPLS[0], &labels(ipv4(3))),
            ethernet(&[], MPLS[1], &labels(ipv6(4))),
            ethernet(&[], MPLS[0], &labels(vec![0; 40])), // a pseudowire
        ];
        let found = destinations(&pcap(false, 1, &packets)).unwrap();
        let expected = ["192.0.2.1", "2001:db8::2", "192.0.2.3", "2001:db8::4"];
        assert_eq!(found.all, expected.map(|ip| ip.parse::<IpAddr>().unwrap()));
        assert_eq!((found.report.notes[0].what.as_ref(), found.report.notes[0].count), (OTHER, 2));
        let framed = [&[0xFF, 3, 0, 0x21][..], &ipv4(5)].concat();
        let short = [&[0x57][..], &ipv6(6)].concat();
        for (link, packet, ip) in
            [(9, &framed, "192.0.2.5"), (50, &framed, "192.0.2.5"), (9, &short, "2001:db8::6")]
        {
            let found = destinations(&pcap(false, link, std::slice::from_ref(packet))).unwrap();
            assert_eq!(found.all, [ip.parse::<IpAddr>().unwrap()]);
        }
    }

    #[test]
    fn the_obsolete_packet_block_is_read() {
        for big_endian in [false, true] {
            let word = |n: u32| if big_endian { n.to_be_bytes() } else { n.to_le_bytes() };
            let packet = ethernet(&[], IPV4, &ipv4(7));
            let padding = vec![0; packet.len().next_multiple_of(4) - packet.len()];
            let len = word(packet.len() as u32);
            let body = [&[0; 4][..], &word(0), &word(0), &len, &len, &packet, &padding].concat();
            let whole = word(12 + body.len() as u32);
            let block = [&word(PACKET_BLOCK)[..], &whole, &body, &whole].concat();
            let file = [pcapng(big_endian, &[]), block].concat();
            assert_eq!(destinations(&file).unwrap().all, ["192.0.2.7".parse::<IpAddr>().unwrap()]);
        }
    }

    #[test]
    fn a_cut_capture_says_where() {
        let whole = pcap(false, 1, &packets());
        let (byte, what) = destinations(&whole[..whole.len() - 1]).unwrap_err();
        let last = packets().last().unwrap().len() + 16;
        assert_eq!(byte, (whole.len() - last) as u64);
        assert!(what.contains("cut off") && what.contains("1 bytes are missing"), "{what}");
        let whole = pcapng(false, &packets());
        assert!(destinations(&whole[..whole.len() - 1]).is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_panic(
            big_endian: bool,
            ng: bool,
            at in 0_usize..600,
            byte: u8,
            bytes in prop::collection::vec(any::<u8>(), 0..80),
            link in 0..300_i32,
        ) {
            let mut file = if ng { pcapng(big_endian, &packets()) } else { pcap(big_endian, link.cast_unsigned(), &packets()) };
            let at = at % file.len();
            file[at] = byte;
            let _ = destinations(&file);
            let _ = destination(Linktype(link), &bytes);
        }
    }
}
