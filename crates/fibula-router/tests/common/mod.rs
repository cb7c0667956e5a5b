//! What the tests in namespaces share: when they are skipped, frames, and actions that can be told
//! apart.
#![allow(dead_code, reason = "each test takes what it needs")]

pub(crate) mod lab;

use fibula::{Address, Delta, NextHop, Rib, Route};
use fibula_router::plane::xdp::{Attachment, Mode, Options, Probe, Verdict, Xdp};
use fibula_router::plane::{Action, Adjacency, AdjacencyId, Plane};

/// Returns whether this process can load programs; says so if it cannot.
pub(crate) fn can_load_programs() -> bool {
    let options = Options::new("check", Vec::new(), Mode::Unattached);
    let wrong: Vec<String> = fibula_router::plane::xdp::check(&options)
        .into_iter()
        .filter_map(|finding| finding.wrong.map(|wrong| format!("{}: {wrong}", finding.what)))
        .collect();
    if !wrong.is_empty() {
        eprintln!("skipped: {}", wrong.join(", "));
    }
    wrong.is_empty()
}

/// Returns a plane that only probes meet. Its packets come in by `lo`, for table 254.
pub(crate) fn unattached() -> Xdp {
    let interfaces = vec![Attachment::of("lo")];
    Xdp::open(Options::new("probed", interfaces, Mode::Unattached)).unwrap()
}

/// Returns the MAC address that says which adjacency sent a frame.
pub(crate) fn address_of(id: u32) -> [u8; 6] {
    let [a, b, c, d] = id.to_be_bytes();
    [2, 0, a, b, c, d]
}

/// Returns the adjacency of that MAC address, by `lo`.
pub(crate) fn adjacency(id: u32) -> Adjacency {
    let destination = address_of(id);
    Adjacency::Resolved { interface: 1, routed: 1, source: [2; 6], destination, vlan: None, mtu: 1500 }
}

/// Gives each next hop up to `last` an adjacency of its own index.
pub(crate) fn one_adjacency_each(plane: &mut Xdp, last: NextHop) {
    for id in 1..=last.0 {
        plane.set_adjacency(AdjacencyId(id), adjacency(id)).unwrap();
        plane.set_action(NextHop(id), &Action::Forward(vec![AdjacencyId(id)])).unwrap();
    }
}

/// Returns the changes that make a table out of an empty one.
pub(crate) fn all_of<A: Address>(rib: &Rib<A>) -> Vec<Delta<A>> {
    let delta =
        |route: Route<A>| Delta { prefix: route.prefix, before: NextHop::NONE, after: route.next_hop };
    rib.iter().map(delta).collect()
}

/// An address that frames are made for.
pub(crate) trait Framed: Address {
    /// Returns a frame of a UDP packet to this address, with a payload of `payload` bytes.
    fn frame(self, payload: usize) -> Vec<u8>;
}

/// The Ethernet header of what comes in by `lo`.
fn ethernet(protocol: u16) -> Vec<u8> {
    let mut frame = vec![0; 12];
    frame.extend(protocol.to_be_bytes());
    frame
}

impl Framed for u32 {
    fn frame(self, payload: usize) -> Vec<u8> {
        let mut frame = ethernet(0x0800);
        let mut header = vec![0x45, 0];
        header.extend((28 + payload as u16).to_be_bytes());
        header.extend([0, 1, 0, 0, 64, 17, 0, 0, 192, 0, 2, 1]);
        header.extend(self.to_be_bytes());
        let check = checksum(&header);
        header[10..12].copy_from_slice(&check.to_be_bytes());
        frame.extend(header);
        frame.extend([0x30, 0x39, 0x00, 0x35, 0, 8, 0, 0]);
        frame.resize(frame.len() + payload, 0xA5);
        frame
    }
}

impl Framed for u128 {
    fn frame(self, payload: usize) -> Vec<u8> {
        let mut frame = ethernet(0x86DD);
        frame.extend([0x60, 0, 0, 0]);
        frame.extend((8 + payload as u16).to_be_bytes());
        frame.extend([17, 64, 0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
        frame.extend(self.to_be_bytes());
        frame.extend([0x30, 0x39, 0x00, 0x35, 0, 8, 0, 0]);
        frame.resize(frame.len() + payload, 0xA5);
        frame
    }
}

/// Writes the right checksum into the header of an untagged IPv4 packet, where there is one without
/// options.
pub(crate) fn repair(frame: &mut [u8]) {
    if frame.get(12..15) == Some(&[8, 0, 0x45]) && frame.len() >= 34 {
        frame[24..26].fill(0);
        let check = checksum(&frame[14..34]).to_be_bytes();
        frame[24..26].copy_from_slice(&check);
    }
}

/// Returns the checksum of an IPv4 header; 0 for one that is right.
pub(crate) fn checksum(header: &[u8]) -> u16 {
    let words = header.chunks_exact(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])));
    let sum = words.sum::<u32>();
    let sum = (sum & 0xFFFF) + (sum >> 16);
    !((sum & 0xFFFF) + (sum >> 16)) as u16
}

/// Returns the adjacency that sent a frame, if one did: 0 for a packet that the kernel gets.
pub(crate) fn sent_by(probe: &Probe) -> u32 {
    match probe.verdict {
        Verdict::Redirect => u32::from_be_bytes(probe.frame[2..6].try_into().unwrap()),
        _ => 0,
    }
}

/// The addresses where lookups go wrong: the first and last of each route, and their neighbours.
pub(crate) fn edges<A: Address>(rib: &Rib<A>) -> Vec<A> {
    let around = rib.iter().flat_map(|route| {
        let (first, last) = (route.prefix.first(), route.prefix.last());
        [first.previous(), Some(first), Some(last), last.next()].into_iter().flatten()
    });
    around.collect()
}
