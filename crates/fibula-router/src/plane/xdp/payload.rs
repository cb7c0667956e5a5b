//! [`Payload`]: what follows the headers of a packet, as the programs read it (`bpf/packets.h`).

/// Protocols with ports: TCP, UDP, DCCP, SCTP, UDP-Lite.
const WITH_PORTS: [u8; 5] = [6, 17, 33, 132, 136];

/// Extension headers of IPv6, and how many of them are read.
const OPTIONS: [u8; 3] = [0, 43, 60];
const AUTHENTICATION: u8 = 51;
const FRAGMENT: u8 = 44;
const EXTENSIONS: usize = 4;

/// Returns `N` bytes from an index on, where there are as many.
pub(super) fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

/// What a packet carries.
#[derive(Clone, Copy, Debug)]
pub(super) struct Payload<'p> {
    /// The protocol behind the extension headers of IPv6.
    pub(super) protocol: u8,
    /// `None` in a part after the first.
    bytes: Option<&'p [u8]>,
}

impl<'p> Payload<'p> {
    /// Reads a packet from its IP header on; `None` if that is cut short.
    pub(super) fn of(packet: &'p [u8], is_ipv4: bool) -> Option<Self> {
        if !is_ipv4 {
            let header: [u8; 40] = array(packet, 0)?;
            return Some(extended(header[6], &packet[header.len()..]));
        }
        let header: [u8; 20] = array(packet, 0)?;
        let cut = u16::from_be_bytes([header[6], header[7]]);
        let bytes = packet.get(usize::from(header[0] & 15) * 4..).unwrap_or_default();
        // The upper three bits are flags.
        let bytes = (cut << 3 == 0).then_some(bytes);
        Some(Self { protocol: header[9], bytes })
    }

    /// Returns the ports of source and destination as the packet has them, if it has some.
    pub(super) fn ports(&self) -> Option<[u8; 4]> {
        self.bytes.filter(|_| WITH_PORTS.contains(&self.protocol)).and_then(|bytes| array(bytes, 0))
    }
}

/// Returns what follows the extension headers of an IPv6 packet.
fn extended(mut protocol: u8, mut bytes: &[u8]) -> Payload<'_> {
    for _ in 0..EXTENSIONS {
        let Some(&[next, length, offset, flags, ..]) = bytes.first_chunk::<8>() else { break };
        let size = match protocol {
            FRAGMENT => {
                if offset != 0 || flags & 0xF8 != 0 {
                    return Payload { protocol: next, bytes: None };
                }
                8
            }
            AUTHENTICATION => (usize::from(length) + 2) * 4,
            _ if OPTIONS.contains(&protocol) => (usize::from(length) + 1) * 8,
            _ => break,
        };
        (protocol, bytes) = (next, bytes.get(size..).unwrap_or_default());
    }
    Payload { protocol, bytes: Some(bytes) }
}
