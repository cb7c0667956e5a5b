//! `deny ip from any to any`: whatever a packet is, nothing of IP passes.

use crate::common::{Framed, can_load_programs, checksum};
use crate::{IN_10, IN_DB8, routed};
use fibula_router::acl::Acl;
use fibula_router::plane::xdp::{Attachment, Mode, Options, Verdict, Xdp};
use fibula_router::plane::{Plane, ReversePath};

/// Returns a plane whose `lo` lets no packet in, and has addresses.
fn closed(urpf: ReversePath) -> Xdp {
    let lo = Attachment { acl: Some(0), urpf, ..Attachment::of("lo") };
    let acls = vec![Acl::parse("none", "deny ip from any to any").unwrap()];
    let options = Options { acls, ..Options::new("closed", vec![lo], Mode::Unattached) };
    let mut plane = Xdp::open(options).unwrap();
    for own in [[10, 9, 9, 9], [192, 0, 2, 1]] {
        plane.set_own_address(own.into(), true);
    }
    routed(plane)
}

/// A VLAN tag's kinds.
const TAGS: [u16; 2] = [0x8100, 0x88A8];

fn kind(frame: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes([*frame.get(at)?, *frame.get(at + 1)?]))
}

/// Returns whether a frame is of no list: neither IPv4 nor IPv6, with the tag of a VLAN that no
/// interface here has, or neighbour discovery on its link.
fn is_of_no_list(frame: &[u8]) -> bool {
    let mut at = 12;
    while let Some(tag) = kind(frame, at).filter(|kind| TAGS.contains(kind)) {
        match kind(frame, at + 2) {
            Some(control) if control & 0xFFF != 0 => return true,
            Some(_) => at += 4,
            None => return tag == 0,
        }
    }
    match kind(frame, at) {
        Some(0x0800) => false,
        Some(0x86DD) => {
            let Some(packet) = frame.get(at + 2..).filter(|packet| packet.len() > 40) else { return false };
            let is_on_link = packet[24..26] == [0xFF, 2] || (packet[24], packet[25] & 0xC0) == (0xFE, 0x80);
            (packet[6], packet[7]) == (58, 255) && (133..=137).contains(&packet[40]) && is_on_link
        }
        _ => true,
    }
}

/// Puts the checksum of an IPv4 header right, whatever its length, where there is one.
fn repair(frame: &mut [u8], at: usize) {
    let length = frame.get(at).map_or(0, |first| usize::from(first & 15) * 4);
    if let Some(header) = frame.get_mut(at..at + length).filter(|header| header.len() >= 20) {
        header[10..12].fill(0);
        let check = checksum(header).to_be_bytes();
        header[10..12].copy_from_slice(&check);
    }
}

/// The first bytes of addresses that are no host's, of a link, or of the router.
const FIRST4: [[u8; 2]; 8] =
    [[10, 9], [127, 0], [0, 0], [169, 254], [224, 0], [239, 1], [240, 0], [255, 255]];
const FIRST6: [[u8; 2]; 8] =
    [[0x20, 1], [0xFE, 0x80], [0xFF, 2], [0xFF, 14], [0, 0], [0xFE, 0xC0], [0xFD, 1], [0, 0x64]];

/// Returns a frame that a router may meet, or nearly one.
fn drawn(random: &mut fastrand::Rng) -> Vec<u8> {
    let is_ipv4 = random.bool();
    let mut frame = if is_ipv4 { IN_10.frame(random.usize(..60)) } else { IN_DB8.frame(random.usize(..60)) };
    let addresses = if is_ipv4 { [(26, 4), (30, 4)] } else { [(22, 16), (38, 16)] };
    for (at, length) in addresses {
        match random.u8(..4) {
            0 => frame[at..at + length].iter_mut().for_each(|byte| *byte = random.u8(..)),
            1 | 2 => {
                let first = random.choice(if is_ipv4 { FIRST4 } else { FIRST6 }).unwrap();
                frame[at..at + 2].copy_from_slice(&first);
            }
            _ => {}
        }
    }
    let (protocol, life) = if is_ipv4 { (23, 22) } else { (20, 21) };
    if random.u8(..3) == 0 {
        frame[protocol] = random.choice([0, 1, 4, 6, 17, 41, 43, 44, 47, 50, 58, 60, 89, 255]).unwrap();
    }
    if random.u8(..3) == 0 {
        frame[life] = random.choice([0, 1, 2, 255]).unwrap();
    }
    if !is_ipv4 && random.bool() {
        frame[54] = random.u8(130..140);
    }
    if is_ipv4 {
        if random.u8(..4) == 0 {
            let words = random.u8(1..11);
            frame.splice(34..34, (0..4 * words).map(|_| random.choice([0, 1, 7, 0x83, 0x94]).unwrap()));
            frame[14] += words;
            let length = (frame.len() as u16 - 14).to_be_bytes();
            frame[16..18].copy_from_slice(&length);
        }
        if random.u8(..4) == 0 {
            let fragment = random.u16(..).to_be_bytes();
            frame[20..22].copy_from_slice(&fragment);
        }
    }
    // Some have a wrong byte anywhere, and some are cut or padded.
    if random.u8(..4) == 0 {
        let at = random.usize(..frame.len());
        frame[at] = random.u8(..);
    }
    repair(&mut frame, 14);
    for _ in 0..random.choice([0, 0, 0, 0, 1, 1, 2, 3]).unwrap() {
        let tag = [random.choice(TAGS).unwrap(), random.choice([0, 0, 0xE000, 7]).unwrap()];
        frame.splice(12..12, tag.map(u16::to_be_bytes).concat());
    }
    match random.u8(..16) {
        0 => frame.truncate(random.usize(14..frame.len())),
        1 => frame.resize(frame.len() + random.usize(..20), 0xEE),
        _ => {}
    }
    if random.u8(..6) == 0 {
        let first = random.choice([[255; 6], [1, 0, 0x5E, 0, 0, 5], [0x33, 0x33, 0, 0, 0, 1], [2; 6]]);
        frame[..6].copy_from_slice(&first.unwrap());
    }
    frame
}

#[test]
fn nothing_passes_where_everything_is_denied() {
    if !can_load_programs() {
        return;
    }
    let mut random = fastrand::Rng::with_seed(74);
    let (mut dropped, mut of_no_list) = (0, 0);
    for urpf in [ReversePath::Off, ReversePath::Strict] {
        let plane = closed(urpf);
        for _ in 0..50_000 {
            let frame = drawn(&mut random);
            let verdict = plane.probe("lo", &frame).unwrap().verdict;
            let is_left = is_of_no_list(&frame);
            of_no_list += u32::from(is_left);
            let is_right = verdict == Verdict::Drop || (is_left && verdict == Verdict::ToKernel);
            assert!(is_right, "{urpf:?}: {verdict:?}, {frame:02x?}");
            dropped += u32::from(verdict == Verdict::Drop);
        }
    }
    assert!(dropped > 50_000 && of_no_list > 5_000, "{dropped}, {of_no_list}");
}

#[test]
fn neighbours_are_discovered_where_everything_is_denied() {
    if !can_load_programs() {
        return;
    }
    let plane = closed(ReversePath::Strict);
    let discovery = |to: [u8; 2], kind, life| {
        let mut frame = IN_DB8.frame(0);
        frame[38..40].copy_from_slice(&to);
        (frame[20], frame[21], frame[54]) = (58, life, kind);
        plane.probe("lo", &frame).unwrap().verdict
    };
    for to in [[0xFF, 2], [0xFE, 0x80]] {
        assert_eq!([133, 135, 137].map(|kind| discovery(to, kind, 255)), [Verdict::ToKernel; 3]);
        assert_eq!([128, 132, 138].map(|kind| discovery(to, kind, 255)), [Verdict::Drop; 3]);
        assert_eq!(discovery(to, 135, 254), Verdict::Drop, "it may have come from afar");
    }
    assert_eq!(discovery([0x20, 1], 135, 255), Verdict::Drop, "a route would forward it");
}
