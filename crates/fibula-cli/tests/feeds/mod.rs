//! What feeds say, for the tests of what follows them.
#![allow(unreachable_pub, reason = "a module of several tests")]

/// A message of RIS Live that announces a prefix, or withdraws it.
pub fn message(prefix: &str, next_hop: Option<&str>) -> String {
    let what = match next_hop {
        Some(next_hop) => {
            format!(r#""path":[64500],"announcements":[{{"next_hop":"{next_hop}","prefixes":["{prefix}"]}}]"#)
        }
        None => format!(r#""withdrawals":["{prefix}"]"#),
    };
    format!(
        "{{\"type\":\"ris_message\",\"data\":{{\"timestamp\":1,\"peer\":\"192.0.2.9\",\"peer_asn\":\"64500\",\"type\":\"UPDATE\",{what}}}}}\n"
    )
}

/// A message of BMP: a peer announces 198.51.100.0/24 by 203.0.113.1.
pub fn monitoring() -> Vec<u8> {
    let attributes = [0x40, 1, 1, 0, 0x40, 2, 6, 2, 1, 0, 0, 0xFB, 0xF4, 0x40, 3, 4, 203, 0, 113, 1];
    let mut update = vec![0, 0, 0, attributes.len() as u8];
    update.extend(attributes);
    update.extend([24, 198, 51, 100]);
    of_peer(&update)
}

/// A message of BMP: the peer has told all of its routes of IPv4.
pub fn end_of_rib() -> Vec<u8> {
    of_peer(&[0; 4])
}

fn of_peer(update: &[u8]) -> Vec<u8> {
    let mut bgp = vec![0xFF; 16];
    bgp.extend((update.len() as u16 + 19).to_be_bytes());
    bgp.push(2);
    bgp.extend(update);
    let mut peer = vec![0, 0];
    peer.extend([0; 20]);
    peer.extend([192, 0, 2, 1]);
    peer.extend(64_500_u32.to_be_bytes());
    peer.extend([0; 12]);
    let mut message = vec![3];
    message.extend((6 + peer.len() as u32 + bgp.len() as u32).to_be_bytes());
    message.push(0);
    message.extend(peer);
    message.extend(bgp);
    message
}
