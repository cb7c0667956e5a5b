//! [`Header`]: what is read of a frame in user space, and how a frame that leaves is written.
//!
//! The XDP program has read the same before (`bpf/packets.h`), and handed over only frames that a
//! route may forward. Here they are bytes from outside all the same.

use super::Neighbour;
use super::flow::flow;
use crate::plane::xdp::ecmp::Ecmp;
use crate::plane::xdp::payload::array;

const ETHERNET: usize = 14;
const TAG: usize = 4;
const ADDRESSES: usize = 12;
pub(super) const IPV4: u16 = 0x0800;
pub(super) const IPV6: u16 = 0x86DD;
const TAGS: [u16; 2] = [0x8100, 0x88A8];

/// The address that is looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Destination {
    V4(u32),
    V6(u128),
}

/// A frame's packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// Where the IP header begins, in bytes.
    at: u8,
    pub(super) destination: Destination,
    /// From the IP header on, in bytes.
    pub(super) length: usize,
    /// TTL or hop limit.
    pub(super) life: u8,
    /// Its flow, mixed.
    pub(super) flow: u64,
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    array(bytes, at).map(u16::from_be_bytes)
}

impl Header {
    /// Reads a frame; `None` if it is cut short or is of another protocol.
    pub(super) fn read(frame: &[u8], ecmp: Ecmp) -> Option<Self> {
        let mut at = ETHERNET;
        let mut protocol = u16_at(frame, ADDRESSES)?;
        for _ in 0..2 {
            if TAGS.contains(&protocol) {
                protocol = u16_at(frame, at + 2)?;
                at += TAG;
            }
        }
        let packet = frame.get(at..)?;
        match protocol {
            IPV4 => Self::ipv4(at as u8, packet, ecmp),
            IPV6 => Self::ipv6(at as u8, packet, ecmp),
            _ => None,
        }
    }

    fn ipv4(at: u8, packet: &[u8], ecmp: Ecmp) -> Option<Self> {
        let header: [u8; 20] = array(packet, 0)?;
        Some(Self {
            at,
            destination: Destination::V4(u32::from_be_bytes(array(&header, 16)?)),
            length: u16_at(&header, 2)?.into(),
            life: header[8],
            flow: flow(packet, true, ecmp),
        })
    }

    fn ipv6(at: u8, packet: &[u8], ecmp: Ecmp) -> Option<Self> {
        let header: [u8; 40] = array(packet, 0)?;
        Some(Self {
            at,
            destination: Destination::V6(u128::from_be_bytes(array(&header, 24)?)),
            length: usize::from(u16_at(&header, 4)?) + header.len(),
            life: header[7],
            flow: flow(packet, false, ecmp),
        })
    }

    /// Returns the bytes that a frame grows by at its beginning on the way to a neighbour; it
    /// shrinks if they are negative.
    pub(super) fn growth(&self, neighbour: &Neighbour) -> i32 {
        let tag = if neighbour.vlan.is_some() { TAG } else { 0 };
        i32::from((ETHERNET + tag) as u8) - i32::from(self.at)
    }

    /// Returns the bytes of a frame of `size` bytes that follow its packet: padding, which does not
    /// leave.
    pub(super) fn excess(&self, size: usize) -> i32 {
        // A frame is shorter than a page.
        let excess = size.saturating_sub(usize::from(self.at) + self.length);
        i32::try_from(excess).unwrap_or_default()
    }

    /// Writes the headers of a frame that goes to a neighbour. Its beginning has been moved by
    /// [`growth`](Self::growth). Nothing is written to a frame that is too short.
    pub(super) fn write(&self, frame: &mut [u8], neighbour: &Neighbour) {
        let is_ipv4 = matches!(self.destination, Destination::V4(_));
        let protocol = if is_ipv4 { IPV4 } else { IPV6 }.to_be_bytes();
        let mut link = [0; ETHERNET + TAG];
        link[..6].copy_from_slice(&neighbour.destination);
        link[6..ADDRESSES].copy_from_slice(&neighbour.source);
        let link = if let Some(vlan) = neighbour.vlan {
            link[ADDRESSES..ADDRESSES + 2].copy_from_slice(&TAGS[0].to_be_bytes());
            link[ETHERNET..ETHERNET + 2].copy_from_slice(&(vlan & 0xFFF).to_be_bytes());
            link[ETHERNET + 2..].copy_from_slice(&protocol);
            &link[..]
        } else {
            link[ADDRESSES..ETHERNET].copy_from_slice(&protocol);
            &link[..ETHERNET]
        };
        let Some((place, packet)) = frame.split_at_mut_checked(link.len()) else { return };
        if packet.len() < if is_ipv4 { 20 } else { 40 } {
            return;
        }
        place.copy_from_slice(link);
        if is_ipv4 {
            // The TTL is the high byte of its word: one less there is 0x100 more in the checksum
            // (RFC 1141).
            packet[8] = packet[8].wrapping_sub(1);
            let (check, carry) = u16::from_be_bytes([packet[10], packet[11]]).overflowing_add(0x0100);
            let check = check.wrapping_add(carry.into());
            let check = if check == 0xFFFF { 0 } else { check };
            packet[10..12].copy_from_slice(&check.to_be_bytes());
        } else {
            packet[7] = packet[7].wrapping_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Neighbour =
        Neighbour { interface: 7, source: [2; 6], destination: [4; 6], vlan: None, mtu: 1500 };

    fn sum(header: &[u8]) -> u32 {
        let words = header.chunks(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])));
        let sum: u32 = words.sum();
        (sum & 0xFFFF) + (sum >> 16)
    }

    /// Returns a frame to 10.1.2.3 with the tags of VLANs and a right checksum.
    fn frame(vlans: &[u16], ttl: u8) -> Vec<u8> {
        let mut frame = vec![1; ADDRESSES];
        for vlan in vlans {
            frame.extend(TAGS[0].to_be_bytes());
            frame.extend(vlan.to_be_bytes());
        }
        frame.extend(IPV4.to_be_bytes());
        let mut header = [0x45, 0, 0, 28, 0, 1, 0, 0, ttl, 17, 0, 0, 192, 0, 2, 1, 10, 1, 2, 3].to_vec();
        let check = !(sum(&header) as u16);
        header[10..12].copy_from_slice(&check.to_be_bytes());
        frame.extend(header);
        frame.extend([0x30, 0x39, 0, 53, 0, 8, 0, 0]);
        frame
    }

    #[test]
    fn a_frame_leaves_with_new_addresses_tags_and_one_hop_less() {
        for ttl in 2..=255 {
            for (vlans, vlan) in [(&[][..], None), (&[5], None), (&[5, 6], Some(9)), (&[], Some(0x0FFF))] {
                let came = frame(vlans, ttl);
                let header = Header::read(&came, Ecmp::default()).unwrap();
                assert_eq!((header.destination, header.length), (Destination::V4(0x0A01_0203), 28));
                let to = Neighbour { vlan, ..PLAIN };
                let growth = header.growth(&to);
                // Room before the frame, as a frame of a socket has it.
                let mut left = vec![0; 8];
                left.extend(&came);
                let left = &mut left[(8 - growth) as usize..];
                header.write(left, &to);
                assert_eq!(left[..12], [[4; 6], [2; 6]].concat());
                let again = Header::read(left, Ecmp::default()).unwrap();
                assert_eq!((again.life, again.flow), (ttl - 1, header.flow));
                assert_eq!(again.at, if vlan.is_some() { 18 } else { 14 });
                assert_eq!(sum(&left[again.at.into()..][..20]), 0xFFFF, "TTL {ttl}");
            }
        }
    }

    #[test]
    fn no_bytes_panic() {
        for vlans in [&[][..], &[1], &[1, 2]] {
            let whole = frame(vlans, 64);
            for length in 0..whole.len() {
                if let Some(header) = Header::read(&whole[..length], Ecmp::default()) {
                    header.write(&mut whole[..length].to_vec(), &PLAIN);
                }
            }
        }
        assert_eq!(Header::read(&[0xFF; 64], Ecmp::default()), None);
    }
}
