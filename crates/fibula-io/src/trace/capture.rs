//! Reads the destinations of pcap and pcapng captures.

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

/// Returns the destinations of all IP packets in order. Other packets are skipped, and so are
/// packets cut off before their destination.
pub(super) fn destinations(bytes: &[u8]) -> Result<Vec<IpAddr>, Broken> {
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

fn of_pcap(bytes: &[u8]) -> Result<Vec<IpAddr>, Broken> {
    let (mut rest, header) = step(bytes, bytes, parse_pcap_header(bytes))?;
    let frame = if header.is_modified_format() {
        parse_pcap_frame_modified
    } else if header.is_bigendian() {
        parse_pcap_frame_be
    } else {
        parse_pcap_frame
    };
    let mut all = Vec::new();
    while !rest.is_empty() {
        let (after, packet) = step(bytes, rest, frame(rest))?;
        all.extend(destination(header.network, packet.data));
        rest = after;
    }
    Ok(all)
}

fn of_pcapng(bytes: &[u8]) -> Result<Vec<IpAddr>, Broken> {
    let mut all = Vec::new();
    let mut links = Vec::new();
    let mut block: fn(&[u8]) -> Parsed<'_, Block<'_>> = parse_block_le;
    let mut rest = bytes;
    while !rest.is_empty() {
        let (after, parsed) = step(bytes, rest, block(rest))?;
        match parsed {
            Block::SectionHeader(section) => {
                block = if section.big_endian() { parse_block_be } else { parse_block_le };
                links.clear();
            }
            Block::InterfaceDescription(interface) => links.push(interface.linktype),
            Block::EnhancedPacket(packet) => {
                let link = links.get(packet.if_id as usize);
                all.extend(link.and_then(|&link| destination(link, packet.packet_data())));
            }
            Block::SimplePacket(packet) => {
                all.extend(links.first().and_then(|&link| destination(link, packet.packet_data())));
            }
            _ => {}
        }
        rest = after;
    }
    Ok(all)
}

/// EtherType of IPv4; the next constants are those of IPv6 and of the VLAN tags.
const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86DD;
/// 802.1Q, 802.1ad, and the tag that was used before there was a standard.
const VLAN: [u16; 3] = [0x8100, 0x88A8, 0x9100];

/// Returns the destination of a packet as captured on a link.
fn destination(link: Linktype, packet: &[u8]) -> Option<IpAddr> {
    let (protocol_at, payload_at) = match link {
        Linktype::ETHERNET => (12, 14),
        Linktype::LINUX_SLL => (14, 16),
        // Linux "cooked" v2, whose number the crate does not name.
        Linktype(276) => (0, 20),
        // A protocol family of four bytes in some machine's byte order: the IP header has the
        // version too.
        Linktype::NULL | Linktype::LOOP => return of_ip(packet.get(4..)?),
        Linktype::RAW | Linktype::IPV4 | Linktype::IPV6 | Linktype(12) => return of_ip(packet),
        _ => return None,
    };
    let word = |at: usize| Some(u16::from_be_bytes(*packet.get(at..)?.first_chunk()?));
    let mut protocol = word(protocol_at)?;
    let mut payload_at = payload_at;
    while VLAN.contains(&protocol) {
        protocol = word(payload_at + 2)?;
        payload_at += 4;
    }
    let payload = packet.get(payload_at..)?;
    if protocol == IPV4 || protocol == IPV6 { of_ip(payload) } else { None }
}

fn of_ip(packet: &[u8]) -> Option<IpAddr> {
    match packet.first()? >> 4 {
        4 => Some(IpAddr::from(*packet.get(16..)?.first_chunk::<4>()?)),
        6 => Some(IpAddr::from(*packet.get(24..)?.first_chunk::<16>()?)),
        _ => None,
    }
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
                assert_eq!(destinations(&file).unwrap(), expected());
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
            assert_eq!(destinations(&file).unwrap(), [ip.parse::<IpAddr>().unwrap()]);
        }
        // IEEE 802.11
        assert!(destinations(&pcap(false, 105, &[ipv4(1)])).unwrap().is_empty());
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
