//! Finds the real data, and makes data.
#![allow(dead_code, reason = "every test file is a program of its own and takes what it needs")]

use std::path::PathBuf;

/// Returns a path in the folder of real routing data: `FIBULA_DATA`, else `shared/data` beside the
/// workspace or beside the folder it is in. Returns `None`, and says so in a line, where it does
/// not exist: then only the tests on made data run.
pub(crate) fn data(path: &str) -> Option<PathBuf> {
    let crate_folder = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let folders = match std::env::var_os("FIBULA_DATA") {
        Some(folder) => vec![PathBuf::from(folder)],
        None => ["../../../shared/data", "../../../../shared/data"].map(|f| crate_folder.join(f)).to_vec(),
    };
    found(&folders, path)
}

/// Returns a path in another folder of `shared`, beside the workspace or beside the folder it is
/// in.
pub(crate) fn beside(folder: &str, path: &str) -> Option<PathBuf> {
    let crate_folder = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let folders = ["../../../shared", "../../../../shared"].map(|f| crate_folder.join(f).join(folder));
    found(&folders, path)
}

fn found(folders: &[PathBuf], path: &str) -> Option<PathBuf> {
    let found = folders.iter().map(|folder| folder.join(path)).find(|path| path.exists());
    if found.is_none() {
        println!("skipped: {path} is not among the real data");
    }
    found
}

/// MRT made here, so that reading is tested without the real data.
pub(crate) mod made {
    /// A record of a type and subtype.
    pub(crate) fn record(seconds: u32, kind: u16, subtype: u16, body: &[u8]) -> Vec<u8> {
        let mut bytes = seconds.to_be_bytes().to_vec();
        bytes.extend(kind.to_be_bytes());
        bytes.extend(subtype.to_be_bytes());
        bytes.extend((body.len() as u32).to_be_bytes());
        bytes.extend(body);
        bytes
    }

    /// ORIGIN, AS_PATH of 4-byte numbers, NEXT_HOP.
    fn attributes(path: &[u32], next_hop: [u8; 4]) -> Vec<u8> {
        let mut bytes = vec![0x40, 1, 1, 0, 0x40, 2, 2 + 4 * path.len() as u8, 2, path.len() as u8];
        bytes.extend(path.iter().flat_map(|number| number.to_be_bytes()));
        bytes.extend([0x40, 3, 4]);
        bytes.extend(next_hop);
        bytes
    }

    /// PEER_INDEX_TABLE: peers 192.0.2.1 (AS64501), 192.0.2.2 (AS64502), ...
    pub(crate) fn peer_index(peers: u8) -> Vec<u8> {
        let mut body = vec![0, 0, 0, 0, 0, 0, 0, peers];
        for peer in 1..=peers {
            body.extend([2, 10, 0, 0, peer, 192, 0, 2, peer]);
            body.extend((64_500 + u32::from(peer)).to_be_bytes());
        }
        record(1_000, 13, 1, &body)
    }

    /// RIB_IPV4_UNICAST of a /16: the peer's index and AS path of each entry.
    pub(crate) fn rib(prefix: [u8; 2], entries: &[(u16, &[u32])]) -> Vec<u8> {
        let mut body = vec![0, 0, 0, 0, 16, prefix[0], prefix[1], 0, entries.len() as u8];
        for (peer, path) in entries {
            let attributes = attributes(path, [203, 0, 113, *peer as u8]);
            body.extend(peer.to_be_bytes());
            body.extend([0, 0, 0, 0, 0, attributes.len() as u8]);
            body.extend(attributes);
        }
        record(1_000, 13, 2, &body)
    }

    /// A BGP4MP_MESSAGE_AS4 of peer 192.0.2.`peer` that withdraws and announces /16s.
    pub(crate) fn update(
        seconds: u32,
        peer: u8,
        withdrawn: &[[u8; 2]],
        path: &[u32],
        announced: &[[u8; 2]],
    ) -> Vec<u8> {
        let list = |prefixes: &[[u8; 2]]| prefixes.iter().flat_map(|p| [16, p[0], p[1]]).collect::<Vec<u8>>();
        let (withdrawn, announced) = (list(withdrawn), list(announced));
        let attributes =
            if announced.is_empty() { Vec::new() } else { attributes(path, [203, 0, 113, peer]) };
        message(seconds, peer, &withdrawn, &attributes, &announced)
    }

    fn message(seconds: u32, peer: u8, withdrawn: &[u8], attributes: &[u8], announced: &[u8]) -> Vec<u8> {
        let mut message = vec![0xFF; 16];
        message.extend(((23 + withdrawn.len() + attributes.len() + announced.len()) as u16).to_be_bytes());
        message.push(2);
        message.extend((withdrawn.len() as u16).to_be_bytes());
        message.extend(withdrawn);
        message.extend((attributes.len() as u16).to_be_bytes());
        message.extend(attributes);
        message.extend(announced);
        let mut body = (64_500 + u32::from(peer)).to_be_bytes().to_vec();
        body.extend([0, 0, 0xFD, 0xE8, 0, 0, 0, 1, 192, 0, 2, peer, 192, 0, 2, 254]);
        body.extend(message);
        record(seconds, 16, 4, &body)
    }

    /// A BGP4MP_MESSAGE_AS4 of peer 192.0.2.`peer` that announces a list of prefixes, as it is.
    pub(crate) fn update_of(seconds: u32, peer: u8, path: &[u32], announced: &[u8]) -> Vec<u8> {
        let attributes = attributes(path, [203, 0, 113, peer]);
        message(seconds, peer, &[], &attributes, announced)
    }

    /// A session of 192.0.2.`peer` that leaves Established.
    pub(crate) fn down(seconds: u32, peer: u8) -> Vec<u8> {
        let mut body = (64_500 + u32::from(peer)).to_be_bytes().to_vec();
        body.extend([0, 0, 0xFD, 0xE8, 0, 0, 0, 1, 192, 0, 2, peer, 192, 0, 2, 254, 0, 6, 0, 1]);
        record(seconds, 16, 5, &body)
    }
}
