//! What becomes of a packet, and of its frame.

use crate::common::{Framed, adjacency, can_load_programs, checksum, repair};
use crate::{IN_10, IN_DB8, Told, plain, tag, tell};
use fibula::NextHop;
use fibula_router::plane::xdp::Verdict::{self, Drop, Redirect, ToKernel};
use fibula_router::plane::xdp::{Attachment, Mode, Options, Reason, Xdp};
use fibula_router::plane::{Action, Adjacency, AdjacencyId, Plane, ReversePath, Rules};

/// Changes a frame.
type Change = fn(&mut Vec<u8>);

/// Changes a frame, and says where it must go and for which reason.
type Case = (&'static str, Change, Verdict, Reason);

/// Changes the destination of an IPv4 packet.
fn to(frame: &mut [u8], address: [u8; 4]) {
    frame[30..34].copy_from_slice(&address);
}

/// Changes the source of an IPv4 packet.
fn from(frame: &mut [u8], address: [u8; 4]) {
    frame[26..30].copy_from_slice(&address);
}

/// An address of the router.
const OURS: [u8; 4] = [10, 9, 9, 9];

/// What becomes of an IPv4 packet.
const IPV4: &[Case] = &[
    ("as it is", |_| {}, Redirect, Reason::Forwarded),
    ("local", |frame| to(frame, [10, 2, 0, 1]), ToKernel, Reason::Local),
    ("blackhole", |frame| to(frame, [10, 3, 0, 1]), Drop, Reason::Blackhole),
    ("unresolved", |frame| to(frame, [10, 4, 0, 1]), ToKernel, Reason::Unresolved),
    ("no route", |frame| to(frame, [11, 0, 0, 1]), ToKernel, Reason::NoRoute),
    ("multicast", |frame| to(frame, [224, 0, 0, 1]), ToKernel, Reason::Multicast),
    ("broadcast", |frame| to(frame, [255; 4]), ToKernel, Reason::Multicast),
    ("link-local", |frame| to(frame, [169, 254, 0, 1]), ToKernel, Reason::LinkLocal),
    ("last hop", |frame| frame[22] = 1, ToKernel, Reason::Expired),
    ("no hop", |frame| frame[22] = 0, ToKernel, Reason::Expired),
    ("ARP", |frame| frame[12..14].copy_from_slice(&[8, 6]), ToKernel, Reason::NotIp),
    ("a frame for another host", |frame| frame[5] = 1, ToKernel, Reason::OtherHost),
    ("a frame for all", |frame| frame[..6].fill(255), ToKernel, Reason::Multicast),
    ("from a loopback address", |frame| from(frame, [127, 0, 0, 1]), ToKernel, Reason::Martian),
    ("from nobody", |frame| from(frame, [0; 4]), ToKernel, Reason::Martian),
    ("from multicast", |frame| from(frame, [224, 0, 0, 5]), ToKernel, Reason::Martian),
    ("from broadcast", |frame| from(frame, [255; 4]), ToKernel, Reason::Martian),
    ("from this router", |frame| from(frame, OURS), ToKernel, Reason::Martian),
    ("to nobody", |frame| to(frame, [0; 4]), ToKernel, Reason::Martian),
    ("to a loopback address", |frame| to(frame, [127, 9, 9, 9]), ToKernel, Reason::Martian),
    ("a wrong checksum", |frame| frame[24] ^= 1, Drop, Reason::Malformed),
    ("a VLAN", |frame| tag(frame, &[7]), ToKernel, Reason::UnknownVlan),
    ("two VLANs", |frame| tag(frame, &[7, 8]), ToKernel, Reason::UnknownVlan),
    ("no VLAN in a VLAN", |frame| tag(frame, &[0, 8]), ToKernel, Reason::UnknownVlan),
    ("a priority", |frame| tag(frame, &[0xA000]), Redirect, Reason::Forwarded),
    ("options", |frame| frame[14] = 0x46, ToKernel, Reason::Options),
    ("another version", |frame| frame[14] = 0x65, Drop, Reason::Malformed),
    ("a header that is too short", |frame| frame[14] = 0x44, Drop, Reason::Malformed),
    ("longer than the frame", |frame| frame[16] = 1, Drop, Reason::Malformed),
    ("shorter than its header", |frame| frame[16..18].copy_from_slice(&[0, 19]), Drop, Reason::Malformed),
    ("cut in the header", |frame| frame.truncate(33), Drop, Reason::Malformed),
    ("nothing but Ethernet", |frame| frame.truncate(14), Drop, Reason::Malformed),
    (
        "cut in a tag",
        |frame| {
            frame.truncate(16);
            frame[12..14].copy_from_slice(&[0x81, 0]);
        },
        Drop,
        Reason::Malformed,
    ),
    (
        "the longest",
        |frame| {
            *frame = IN_10.frame(1500 - 28);
        },
        Redirect,
        Reason::Forwarded,
    ),
    (
        "too big",
        |frame| {
            *frame = IN_10.frame(1500 - 27);
        },
        ToKernel,
        Reason::TooBig,
    ),
];

/// What becomes of an IPv6 packet.
const IPV6: &[Case] = &[
    ("as it is", |_| {}, Redirect, Reason::Forwarded),
    ("no route", |frame| frame[39] = 9, ToKernel, Reason::NoRoute),
    ("multicast", |frame| frame[38] = 0xFF, ToKernel, Reason::Multicast),
    ("link-local", |frame| frame[38..40].copy_from_slice(&[0xFE, 0x80]), ToKernel, Reason::LinkLocal),
    ("from link-local", |frame| frame[22..24].copy_from_slice(&[0xFE, 0x80]), ToKernel, Reason::LinkLocal),
    ("from nobody", |frame| frame[22..38].fill(0), ToKernel, Reason::Martian),
    (
        "from the loopback address",
        |frame| frame[22..38].copy_from_slice(&1_u128.to_be_bytes()),
        ToKernel,
        Reason::Martian,
    ),
    ("from multicast", |frame| frame[22] = 0xFF, ToKernel, Reason::Martian),
    ("to nobody", |frame| frame[38..54].fill(0), ToKernel, Reason::Martian),
    ("a VLAN", |frame| tag(frame, &[7]), ToKernel, Reason::UnknownVlan),
    ("hop by hop", |frame| frame[20] = 0, ToKernel, Reason::Options),
    ("last hop", |frame| frame[21] = 1, ToKernel, Reason::Expired),
    (
        "too big",
        |frame| {
            *frame = IN_DB8.frame(1500 - 47);
        },
        ToKernel,
        Reason::TooBig,
    ),
    ("longer than the frame", |frame| frame[18] = 1, Drop, Reason::Malformed),
    ("cut in the header", |frame| frame.truncate(53), Drop, Reason::Malformed),
    ("another version", |frame| frame[14] = 0x40, Drop, Reason::Malformed),
];

#[test]
fn what_is_not_forwarded_goes_up_as_it_came_or_is_dropped_and_is_counted() {
    if !can_load_programs() {
        return;
    }
    let mut plane = plain();
    let set =
        |plane: &mut Xdp, next_hop, action: &Action| plane.set_action(NextHop(next_hop), action).unwrap();
    set(&mut plane, 2, &Action::ToKernel);
    set(&mut plane, 3, &Action::Drop);
    set(&mut plane, 4, &Action::Forward(vec![AdjacencyId(4)])); // never set
    let mut told = Told::<u32>::new();
    for (prefix, next_hop) in [("10.0.0.0/8", 1), ("10.2.0.0/16", 2), ("10.3.0.0/16", 3), ("10.4.0.0/16", 4)]
    {
        told.announce(prefix.parse().unwrap(), next_hop);
    }
    tell(&mut plane, 254, &mut told);
    plane.set_own_address(OURS.into(), true);
    let cases =
        IPV4.iter().map(|case| (IN_10.frame(0), case)).chain(IPV6.iter().map(|case| (IN_DB8.frame(0), case)));
    for (mut frame, (name, change, verdict, reason)) in cases {
        change(&mut frame);
        if *name != "a wrong checksum" {
            repair(&mut frame);
        }
        let counted =
            |plane: &Xdp| Reason::ALL.map(|reason| plane.interface_counts().unwrap()[0].1.of(reason));
        let before = counted(&plane);
        let probe = plane.probe("lo", &frame).unwrap();
        assert_eq!(probe.verdict, *verdict, "{name}");
        if *verdict != Redirect {
            assert_eq!(probe.frame, frame, "{name}: nothing is written to it");
        }
        for ((before, after), each) in before.into_iter().zip(counted(&plane)).zip(Reason::ALL) {
            let (packets, bytes) = if each == *reason { (1, frame.len() as u64) } else { (0, 0) };
            let counted = (after.packets - before.packets, after.bytes - before.bytes);
            assert_eq!(counted, (packets, bytes), "{name}: {}", each.name());
        }
    }
    assert_eq!(plane.next_hop_count(NextHop(1)).unwrap().unwrap().packets, 4);
    // An address that is ours no more may send again.
    let mut frame = IN_10.frame(0);
    from(&mut frame, OURS);
    repair(&mut frame);
    plane.set_own_address(OURS.into(), false);
    assert_eq!(plane.probe("lo", &frame).unwrap().verdict, Redirect);
    assert_eq!(plane.next_hop_count(NextHop(1 << 16)).unwrap(), None);
}

#[test]
fn tags_come_off_and_go_on_and_padding_goes() {
    if !can_load_programs() {
        return;
    }
    let mut plane = plain();
    for (frame, protocol) in [(IN_10.frame(3), [8, 0]), (IN_DB8.frame(3), [0x86, 0xDD])] {
        for (has_priority, padding) in [(false, 0), (true, 0), (false, 1), (true, 40)] {
            let mut came = frame.clone();
            if has_priority {
                tag(&mut came, &[0xE000]);
            }
            came.resize(came.len() + padding, 0xEE);
            for vlan in [None, Some(100)] {
                let Adjacency::Resolved { interface, source, destination, mtu, .. } = adjacency(1) else {
                    unreachable!("it is resolved");
                };
                let with_tag =
                    Adjacency::Resolved { interface, routed: interface, source, destination, vlan, mtu };
                plane.set_adjacency(AdjacencyId(1), with_tag).unwrap();
                let left = plane.probe("lo", &came).unwrap();
                assert_eq!(left.verdict, Verdict::Redirect);
                let mut expected = destination.to_vec();
                expected.extend(source);
                expected.extend(vlan.into_iter().flat_map(|vlan| [0x81, 0, 0, vlan as u8]));
                expected.extend(protocol);
                let (link, packet) = left.frame.split_at(expected.len());
                let what = format!("{has_priority} to {vlan:?} with {padding} bytes");
                assert_eq!(link, expected, "{what}");
                assert_eq!((packet.len(), &packet[12..]), (frame.len() - 14, &frame[26..]), "{what}");
            }
        }
    }
}

#[test]
fn what_the_kernel_does_not_forward_goes_to_it() {
    if !can_load_programs() {
        return;
    }
    let mut plane = plain();
    let index = 1; // of lo
    for (ipv4, ipv6) in [(false, true), (true, false), (false, false), (true, true)] {
        plane.set_rules(index, Rules { ipv4, ipv6, ..Rules::default() }).unwrap();
        for (frame, is_on) in [(IN_10.frame(0), ipv4), (IN_DB8.frame(0), ipv6)] {
            let expected = if is_on { Redirect } else { ToKernel };
            assert_eq!(plane.probe("lo", &frame).unwrap().verdict, expected, "{ipv4} {ipv6}");
        }
    }
    let off = plane.interface_counts().unwrap()[0].1.of(Reason::ForwardingOff);
    assert_eq!(off.packets, 4);
    plane.set_rules(index + 1, Rules { ipv4: false, ..Rules::default() }).unwrap();
    assert_eq!(plane.probe("lo", &IN_10.frame(0)).unwrap().verdict, Redirect, "of another interface");
}

#[test]
fn a_frame_of_several_buffers_is_one_packet() {
    if !can_load_programs() {
        return;
    }
    let mut plane = plain();
    let with = |mtu| {
        let Adjacency::Resolved { interface, source, destination, vlan, .. } = adjacency(1) else {
            unreachable!("it is resolved");
        };
        Adjacency::Resolved { interface, routed: interface, source, destination, vlan, mtu }
    };
    for (came, header) in [(IN_10.frame(8972), 20), (IN_DB8.frame(8952), 40)] {
        assert_eq!(came.len(), 9014);
        plane.set_adjacency(AdjacencyId(1), with(8999)).unwrap();
        assert_eq!(plane.probe("lo", &came).unwrap().verdict, ToKernel);
        plane.set_adjacency(AdjacencyId(1), with(9000)).unwrap();
        for padding in [0, 30] {
            let mut came = came.clone();
            came.resize(came.len() + padding, 0xEE);
            let left = plane.probe("lo", &came).unwrap();
            assert_eq!(left.verdict, Redirect, "{padding} bytes of padding");
            assert_eq!(left.frame.len(), 9014);
            assert!(left.frame[14 + header..] == came[14 + header..9014], "the payload is as it was");
        }
    }
    let counts = &plane.interface_counts().unwrap()[0].1;
    assert_eq!(counts.of(Reason::TooBig).bytes, 2 * 9014);
    assert_eq!(counts.of(Reason::Forwarded).bytes, 4 * 9014 + 60);
}

/// Sources by their first byte, and what the strictest check is that lets them in. Packets come in
/// by `lo`.
const SOURCES: [(&str, u8, ReversePath); 11] = [
    ("by lo", 10, ReversePath::Strict),
    ("by another interface", 12, ReversePath::Loose),
    ("by both", 13, ReversePath::Strict),
    ("a blackhole", 14, ReversePath::Off),
    ("the kernel's own", 15, ReversePath::Off),
    ("by lo, not resolved", 16, ReversePath::Strict),
    ("by another, not resolved", 18, ReversePath::Loose),
    ("sent by the kernel by lo", 19, ReversePath::Strict),
    ("sent by the kernel by another", 20, ReversePath::Loose),
    ("sent by the kernel by both", 21, ReversePath::Strict),
    ("no route", 17, ReversePath::Off),
];

/// What a packet is that no route forwards: whatever its source, the kernel gets it.
const LEFT4: [Change; 4] = [
    |frame| {
        frame[14] = 0x46;
        frame.splice(34..34, [1; 4]);
        frame[17] += 4;
        let check = checksum(&[&frame[14..24], &[0, 0], &frame[26..38]].concat()).to_be_bytes();
        frame[24..26].copy_from_slice(&check);
    },
    |frame| to(frame, [169, 254, 0, 1]),
    |frame| to(frame, [224, 0, 0, 1]),
    |frame| frame[..6].fill(255),
];

const LEFT6: [Change; 4] = [
    |frame| frame[20] = 0,
    |frame| frame[38..40].copy_from_slice(&[0xFE, 0x80]),
    |frame| frame[38] = 0xFF,
    |frame| frame[5] = 1,
];

/// Returns a plane with routes to those sources.
fn with_sources(urpf: ReversePath) -> Xdp {
    let interfaces = vec![Attachment { urpf, ..Attachment::of("lo") }];
    let mut plane = Xdp::open(Options::new("sources", interfaces, Mode::Unattached)).unwrap();
    let Adjacency::Resolved { interface, source, destination, vlan, mtu, .. } = adjacency(2) else {
        unreachable!("it is resolved");
    };
    let by_another = Adjacency::Resolved { interface, routed: 9, source, destination, vlan, mtu };
    let unresolved = |routed| Adjacency::Unresolved { routed };
    for (id, adjacency) in [(1, adjacency(1)), (2, by_another), (3, unresolved(1)), (4, unresolved(9))] {
        plane.set_adjacency(AdjacencyId(id), adjacency).unwrap();
    }
    let ids = |ids: &[u32]| ids.iter().copied().map(AdjacencyId).collect::<Vec<_>>();
    let (legs, by_kernel) = (|it| Action::Forward(ids(it)), |it| Action::ByKernel(ids(it)));
    let actions = [
        legs(&[1]),
        legs(&[2]),
        legs(&[2, 2, 2, 1]),
        Action::Drop,
        Action::ToKernel,
        legs(&[3]),
        legs(&[4]),
        by_kernel(&[3]),
        by_kernel(&[4]),
        by_kernel(&[4, 3]),
    ];
    let (mut ipv4, mut ipv6) = (Told::<u32>::new(), Told::<u128>::new());
    for ((action, next_hop), (_, first, _)) in actions.into_iter().zip(1..).zip(SOURCES) {
        plane.set_action(NextHop(next_hop), &action).unwrap();
        ipv4.announce(format!("{first}.0.0.0/8").parse().unwrap(), next_hop);
        ipv6.announce(format!("20{first}::/16").parse().unwrap(), next_hop);
    }
    ipv6.announce("2001:db8::/32".parse().unwrap(), 1);
    tell(&mut plane, 254, &mut ipv4);
    tell(&mut plane, 254, &mut ipv6);
    plane.start().unwrap();
    plane
}

#[test]
fn sources_are_those_that_routes_lead_to() {
    use ReversePath::{Loose, Off, Strict};
    if !can_load_programs() {
        return;
    }
    for (ours, kernel) in
        [(Off, Off), (Loose, Off), (Strict, Off), (Off, Loose), (Off, Strict), (Loose, Strict)]
    {
        let mut plane = with_sources(ours);
        plane.set_rules(1, Rules { reverse_path: kernel, ..Rules::default() }).unwrap();
        for (name, first, strictest) in SOURCES {
            let mut ipv4 = IN_10.frame(0);
            from(&mut ipv4, [first, 0, 0, 1]);
            let mut ipv6 = IN_DB8.frame(0);
            ipv6[22..24].copy_from_slice(&[0x20, first / 10 * 16 + first % 10]);
            // The kernel judges by its own check, of IPv4 alone.
            let goes = |others| if ours > strictest { Drop } else { others };
            let forwarded4 = if kernel > strictest { ToKernel } else { Redirect };
            let cases = LEFT4.map(|change| (&ipv4, change, ToKernel));
            let cases = cases.into_iter().chain(LEFT6.map(|change| (&ipv6, change, ToKernel)));
            let plain: [(_, Change, _); 2] = [(&ipv4, |_| {}, forwarded4), (&ipv6, |_| {}, Redirect)];
            for (at, (frame, change, verdict)) in plain.into_iter().chain(cases).enumerate() {
                let mut frame = frame.clone();
                change(&mut frame);
                repair(&mut frame);
                let found = plane.probe("lo", &frame).unwrap().verdict;
                assert_eq!(found, goes(verdict), "{name}, {at}: ours {ours:?}, the kernel's {kernel:?}");
            }
        }
    }
}

#[test]
fn once_there_are_local_routes_the_kernel_gets_what_comes_from_no_unicast_route() {
    if !can_load_programs() {
        return;
    }
    let mut plane = with_sources(ReversePath::Off);
    plane.set_rules(1, Rules { unicast_sources: true, ..Rules::default() }).unwrap();
    for (name, first, _) in SOURCES {
        let mut ipv4 = IN_10.frame(0);
        from(&mut ipv4, [first, 0, 0, 1]);
        repair(&mut ipv4);
        let is_other = ["a blackhole", "the kernel's own"].contains(&name);
        let goes = if is_other { ToKernel } else { Redirect };
        assert_eq!(plane.probe("lo", &ipv4).unwrap().verdict, goes, "{name}");
    }
}

#[test]
fn sources_that_only_a_link_has_are_let_in() {
    if !can_load_programs() {
        return;
    }
    let plane = with_sources(ReversePath::Strict);
    let mut ipv4 = IN_10.frame(0);
    from(&mut ipv4, [0; 4]);
    to(&mut ipv4, [255; 4]);
    let (mut unspecified, mut link_local) = (IN_DB8.frame(0), IN_DB8.frame(0));
    unspecified[22..38].fill(0);
    link_local[22..24].copy_from_slice(&[0xFE, 0x80]);
    for mut frame in [ipv4, unspecified, link_local] {
        repair(&mut frame);
        assert_eq!(plane.probe("lo", &frame).unwrap().verdict, ToKernel, "no router forwards it");
    }
}
