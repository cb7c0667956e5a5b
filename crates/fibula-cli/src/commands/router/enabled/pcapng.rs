//! Files of the format pcapng (draft-ietf-opsawg-pcapng): one section, a description of each
//! interface before its first packet, and an enhanced packet block for each packet.

use std::io::{self, Write};

/// The types of blocks.
const SECTION: u32 = 0x0A0D_0D0A;
const INTERFACE: u32 = 1;
const PACKET: u32 = 6;

/// What tells the order of bytes, and version 1.0.
const MAGIC: u32 = 0x1A2B_3C4D;
const VERSION: [u16; 2] = [1, 0];

/// Frames of Ethernet.
const ETHERNET: u16 = 1;

/// Options: a comment of any block; the program of a section; name and unit of time of an
/// interface; and in which direction a packet went.
const COMMENT: u16 = 1;
const PROGRAM: u16 = 4;
const NAME: u16 = 2;
const RESOLUTION: u16 = 9;
const FLAGS: u16 = 2;

/// Times in nanoseconds.
const NANOSECONDS: u8 = 9;
const INBOUND: u32 = 1;

/// A packet that came in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packet<'p> {
    /// The name of the interface.
    pub(super) interface: &'p str,
    /// Since 1970, nanoseconds.
    pub(super) time_ns: u64,
    /// The length of the frame, in bytes.
    pub(super) bytes: u32,
    /// Its first bytes.
    pub(super) frame: &'p [u8],
    pub(super) comment: &'p str,
}

/// Writes a file.
#[derive(Debug)]
pub(super) struct Writer<W> {
    out: W,
    /// The longest frame that is written, in bytes.
    longest: u32,
    interfaces: Vec<String>,
}

/// Adds bytes, up to a multiple of four.
fn pad(block: &mut Vec<u8>, bytes: &[u8]) {
    block.extend(bytes);
    block.resize(block.len().next_multiple_of(4), 0);
}

/// Adds options, and their end.
fn options(block: &mut Vec<u8>, options: &[(u16, &[u8])]) {
    for (code, value) in options {
        // None is longer than a comment, which is a few words.
        block.extend([*code, value.len() as u16].map(u16::to_ne_bytes).concat());
        pad(block, value);
    }
    block.extend([0; 4]);
}

impl<W: Write> Writer<W> {
    /// Begins a file.
    pub(super) fn new(out: W, longest: u32) -> io::Result<Self> {
        let mut writer = Self { out, longest, interfaces: Vec::new() };
        let mut block = MAGIC.to_ne_bytes().to_vec();
        block.extend(VERSION.map(u16::to_ne_bytes).concat());
        // Where the section ends is not known.
        block.extend(u64::MAX.to_ne_bytes());
        options(&mut block, &[(PROGRAM, b"fibula")]);
        writer.block(SECTION, &block)?;
        Ok(writer)
    }

    /// Writes the description of an interface. Returns its number.
    fn describe(&mut self, name: &str) -> io::Result<usize> {
        let mut block = [ETHERNET, 0].map(u16::to_ne_bytes).concat();
        block.extend(self.longest.to_ne_bytes());
        options(&mut block, &[(NAME, name.as_bytes()), (RESOLUTION, &[NANOSECONDS])]);
        self.block(INTERFACE, &block)?;
        self.interfaces.push(name.to_owned());
        Ok(self.interfaces.len() - 1)
    }

    /// Writes a packet.
    pub(super) fn packet(&mut self, packet: &Packet<'_>) -> io::Result<()> {
        let known = self.interfaces.iter().position(|name| name == packet.interface);
        let interface = known.map_or_else(|| self.describe(packet.interface), Ok)?;
        let (high, low) = ((packet.time_ns >> 32) as u32, packet.time_ns as u32);
        let words = [interface as u32, high, low, packet.frame.len() as u32, packet.bytes];
        let mut block = words.map(u32::to_ne_bytes).concat();
        pad(&mut block, packet.frame);
        options(&mut block, &[(COMMENT, packet.comment.as_bytes()), (FLAGS, &INBOUND.to_ne_bytes())]);
        self.block(PACKET, &block)
    }

    /// Has all that was written in the file.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    fn block(&mut self, kind: u32, body: &[u8]) -> io::Result<()> {
        let length = (12 + body.len() as u32).to_ne_bytes();
        self.out.write_all(&[&kind.to_ne_bytes()[..], &length, body, &length].concat())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pcap_parser::parse_block_le;
    use pcap_parser::pcapng::Block;
    use pcap_parser::traits::PcapNGPacketBlock;

    #[test]
    fn another_reader_finds_the_packets_and_what_is_said_of_them() {
        let mut file = Vec::new();
        let mut writer = Writer::new(&mut file, 256).unwrap();
        let packets = [
            ("eth0", 1, &[1, 2, 3][..], "denied"),
            ("eth1", 2, &[4; 256], "spoofed"),
            ("eth0", 3, &[5; 60], "malformed"),
        ];
        for (interface, second, frame, comment) in packets {
            let time_ns = second * 1_000_000_000 + 7;
            writer.packet(&Packet { interface, time_ns, bytes: 1000, frame, comment }).unwrap();
        }
        let (mut rest, mut names, mut found) = (&file[..], Vec::new(), Vec::new());
        while !rest.is_empty() {
            let (next, block) = parse_block_le(rest).unwrap();
            rest = next;
            match block {
                Block::SectionHeader(block) => assert_eq!(block.major_version, 1),
                Block::InterfaceDescription(block) => {
                    assert_eq!((block.linktype.0, block.snaplen, block.if_tsresol), (1, 256, 9));
                    names.push(block.if_name().unwrap().unwrap().to_owned());
                }
                Block::EnhancedPacket(block) => {
                    let time = u64::from(block.ts_high) << 32 | u64::from(block.ts_low);
                    let frame = block.packet_data()[..block.caplen as usize].to_vec();
                    let comment = &block.options[0];
                    let comment = comment.value[..comment.len as usize].to_vec();
                    found.push((names[block.if_id as usize].clone(), time, block.origlen, frame, comment));
                }
                other => panic!("{other:?}"),
            }
        }
        let expected = packets.map(|(interface, second, frame, comment)| {
            let time = second * 1_000_000_000 + 7;
            (interface.to_owned(), time, 1000, frame.to_vec(), comment.as_bytes().to_vec())
        });
        assert_eq!(found, expected);
    }
}
