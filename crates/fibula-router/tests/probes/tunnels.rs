//! Tunnels: what they carry leaves as if it had come without them.

use crate::common::{Framed, can_load_programs, checksum, repair};
use crate::{IN_10, IN_DB8, routed, tag};
use fibula_router::plane::xdp::{Attachment, Mode, Options, Reason, Tunnel, Verdict, Xdp};
use std::net::Ipv4Addr;

const LOCAL: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 1);
const REMOTE: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 9);

/// Returns the frame of a packet of the tunnel, with `head` before the packet of another frame.
fn carried(protocol: u8, head: &[u8], frame: &[u8]) -> Vec<u8> {
    let length = (20 + head.len() + frame.len() - 14) as u16;
    let mut outer = [&[0x45, 0], &length.to_be_bytes()[..], &[0, 1, 0, 0, 64, protocol, 0, 0]].concat();
    outer.extend(REMOTE.octets());
    outer.extend(LOCAL.octets());
    let check = checksum(&outer).to_be_bytes();
    outer[10..12].copy_from_slice(&check);
    [&frame[..12], &[8, 0], &outer, head, &frame[14..]].concat()
}

/// Returns a plane with the tunnel and routes to what it carries, but none to its ends.
fn plane() -> Xdp {
    let tunnels = vec![Tunnel { local: LOCAL, remote: REMOTE }];
    let plain = Options::new("tunnels", vec![Attachment::of("lo")], Mode::Unattached);
    routed(Xdp::open(Options { tunnels, ..plain }).unwrap())
}

#[test]
fn what_a_tunnel_carries_leaves_as_if_it_had_come_without_it() {
    if !can_load_programs() {
        return;
    }
    let plane = plane();
    let (v4, v6) = (IN_10.frame(10), IN_DB8.frame(10));
    let (gre4, gre6) = ([0, 0, 8, 0], [0, 0, 0x86, 0xDD]);
    let ways: [(u8, &[u8], &[u8]); 4] = [(4, &[], &v4), (41, &[], &v6), (47, &gre4, &v4), (47, &gre6, &v6)];
    for (protocol, head, frame) in ways {
        let expected = plane.probe("lo", frame).unwrap();
        assert_eq!(expected.verdict, Verdict::Redirect);
        let mut came = carried(protocol, head, frame);
        let left = plane.probe("lo", &came).unwrap();
        assert_eq!((left.verdict, &left.frame), (Verdict::Redirect, &expected.frame), "{protocol}");
        // Padding and a priority go too.
        came.extend([0; 9]);
        tag(&mut came, &[0xE000]);
        let left = plane.probe("lo", &came).unwrap();
        assert_eq!((left.verdict, left.frame), (Verdict::Redirect, expected.frame), "{protocol}");
    }
}

#[test]
fn what_the_plane_does_not_take_out_of_a_tunnel_stays_in_it() {
    if !can_load_programs() {
        return;
    }
    let plane = plane();
    let last_hop = |mut frame: Vec<u8>| {
        frame[22] = 1;
        repair(&mut frame);
        frame
    };
    let changed = |at: usize, byte: u8| {
        let mut frame = carried(4, &[], &IN_10.frame(10));
        frame[at] = byte;
        repair(&mut frame);
        frame
    };
    let key = [0x20, 0, 8, 0, 0, 0, 0, 7];
    let cut = |bytes: usize| carried(4, &[], &IN_10.frame(10)[..14 + bytes]);
    for (what, frame, verdict, reason) in [
        ("of another end", changed(29, 8), Verdict::ToKernel, Reason::NoRoute),
        ("to another end", changed(33, 8), Verdict::ToKernel, Reason::NoRoute),
        ("a part", changed(20, 0x20), Verdict::ToKernel, Reason::NoRoute),
        ("congested", changed(15, 3), Verdict::ToKernel, Reason::NoRoute),
        ("another protocol", changed(23, 99), Verdict::ToKernel, Reason::NoRoute),
        ("GRE with a key", carried(47, &key, &IN_10.frame(10)), Verdict::ToKernel, Reason::NoRoute),
        (
            "GRE of another kind",
            carried(47, &[0, 0, 0x65, 0x58], &IN_10.frame(10)),
            Verdict::ToKernel,
            Reason::NoRoute,
        ),
        ("no route inside", carried(4, &[], &0x0B00_0001_u32.frame(0)), Verdict::ToKernel, Reason::NoRoute),
        ("a last hop inside", carried(4, &[], &last_hop(IN_10.frame(0))), Verdict::ToKernel, Reason::Expired),
        ("nothing inside", cut(0), Verdict::Drop, Reason::Malformed),
        ("a cut header inside", cut(19), Verdict::Drop, Reason::Malformed),
        ("a cut packet inside", cut(30), Verdict::Drop, Reason::Malformed),
    ] {
        let counted = || plane.interface_counts().unwrap()[0].1.of(reason).packets;
        let before = counted();
        let probe = plane.probe("lo", &frame).unwrap();
        assert_eq!((probe.verdict, counted() - before), (verdict, 1), "{what}");
        assert_eq!(probe.frame, frame, "{what}");
    }
}
