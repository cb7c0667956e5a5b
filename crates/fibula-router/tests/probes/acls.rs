//! ACLs: the program finds the line that a plain list finds, whatever is between the addresses and
//! the ports, and counts it.

use crate::common::{Framed, adjacency, can_load_programs, checksum};
use crate::{IN_10, routed, tag};
use fibula_router::acl::{Acl, Packet, samples};
use fibula_router::plane::xdp::{Attachment, Ecmp, Hashed, Mode, Options, Reason, Tunnel, Verdict, Xdp};
use fibula_router::plane::{AdjacencyId, Plane, ReversePath};
use std::collections::BTreeMap;
use std::net::IpAddr;

/// Returns a plane whose `lo` has the second ACL, and VLAN 7 of it the first. Its program looks at
/// everything that it can look at, so that the kernel's verifier sees all of that at once.
fn with_acls(acls: Vec<Acl>) -> Xdp {
    let lo = || Attachment::of("lo");
    let interfaces = vec![
        Attachment { acl: Some(1), ..lo() },
        Attachment { acl: Some(0), tags: vec![7], ..lo() },
        Attachment { tags: vec![8], ..lo() },
        Attachment { tags: vec![9, 10], urpf: ReversePath::Strict, ..lo() },
    ];
    let ecmp = Ecmp { hash: Hashed::Inner, flow_label: true, spi: true, seed: 1 };
    let tunnels = vec![Tunnel { local: [192, 0, 2, 9].into(), remote: [192, 0, 2, 1].into() }];
    let plain = Options::new("acls", interfaces, Mode::Unattached);
    let options = Options { acls, sample_rate: 1000, ecmp, tunnels, ..plain };
    routed(Xdp::open(options).unwrap())
}

/// What is between a packet's addresses and its ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Between {
    Nothing,
    /// IPv4 options, or hop-by-hop options: the kernel gets the packet.
    Options,
    /// It is a fragment after the first, so it has no ports.
    Fragment,
    /// Two extension headers.
    Extensions,
}

/// Returns the frame of a packet.
pub(crate) fn frame(packet: &Packet, between: Between) -> Vec<u8> {
    let mut payload = packet.ports.map_or_else(Vec::new, |ports| ports.map(u16::to_be_bytes).concat());
    match packet.addresses {
        [IpAddr::V4(source), IpAddr::V4(destination)] => {
            let options: &[u8] = if between == Between::Options { &[1; 8] } else { &[] };
            let mut header = vec![0x45 + options.len() as u8 / 4, 0];
            header.extend(packet.length.to_be_bytes());
            header.extend([0, 1, 0, if between == Between::Fragment { 9 } else { 0 }]);
            header.extend([64, packet.protocol, 0, 0]);
            header.extend(source.octets().into_iter().chain(destination.octets()));
            header.extend(options);
            let check = checksum(&header).to_be_bytes();
            header[10..12].copy_from_slice(&check);
            payload.resize(usize::from(packet.length) - header.len(), 0);
            [&[0; 12][..], &[8, 0], &header, &payload].concat()
        }
        [IpAddr::V6(source), IpAddr::V6(destination)] => {
            let (next, extensions): (u8, Vec<u8>) = match between {
                Between::Nothing => (packet.protocol, Vec::new()),
                Between::Options => (0, vec![packet.protocol, 0, 1, 4, 0, 0, 0, 0]),
                Between::Fragment => (44, vec![packet.protocol, 0, 0, 8, 0, 0, 0, 1]),
                Between::Extensions => {
                    (60, [[43, 0, 1, 4, 0, 0, 0, 0], [packet.protocol, 0, 1, 4, 0, 0, 0, 0]].concat())
                }
            };
            payload.splice(0..0, extensions);
            payload.resize(usize::from(packet.length) - 40, 0);
            let mut header = vec![0x60, 0, 0, 0];
            header.extend((payload.len() as u16).to_be_bytes());
            header.extend([next, 64]);
            header.extend(source.octets().into_iter().chain(destination.octets()));
            [&[0; 12][..], &[0x86, 0xDD], &header, &payload].concat()
        }
        _ => unreachable!("the addresses are of one family"),
    }
}

#[test]
fn the_program_finds_the_line_that_a_plain_list_finds() {
    if !can_load_programs() {
        return;
    }
    let mut random = fastrand::Rng::with_seed(50);
    let mut draw = |below| random.usize(..below);
    let mut acl = |name: &str, lines| {
        let text: String = (0..lines).map(|_| samples::line(&mut draw) + "\n").collect();
        Acl::parse(name, &text).unwrap()
    };
    let acls = vec![acl("few", 20), acl("many", 1100)];
    let plane = with_acls(acls.clone());
    let mut expected = BTreeMap::<String, u64>::new();
    let (mut denied, mut dropped) = (0, 0);
    for round in 0..12_000 {
        let mut packet = samples::packet(&mut draw);
        let between = [Between::Nothing, Between::Options, Between::Fragment, Between::Extensions][draw(4)];
        if between == Between::Extensions && packet.length < 64 {
            packet.length += 40;
        }
        let mut bytes = frame(&packet, between);
        if between == Between::Fragment {
            packet.ports = None;
        }
        let acl = &acls[round % 2];
        if round % 2 == 0 {
            tag(&mut bytes, &[7]);
        }
        let line = acl.first(&packet);
        let label =
            line.map_or_else(|| format!("{} none", acl.name), |line| format!("{} {}", acl.name, line.number));
        *expected.entry(label).or_default() += 1;
        let is_permitted = line.is_none_or(|line| line.is_permit);
        denied += u64::from(!is_permitted);
        let verdict = plane.probe("lo", &bytes).unwrap().verdict;
        let goes = match between {
            _ if !is_permitted => Verdict::Drop,
            Between::Options => Verdict::ToKernel,
            _ => Verdict::Redirect,
        };
        assert_eq!(verdict, goes, "{packet:?} with {between:?}: {line:?}");
        dropped += u64::from(verdict == Verdict::Drop);
    }
    assert!(denied > 2000 && denied == dropped, "{denied}");
    let counters = plane.counters().unwrap();
    let counted = counters.iter().filter(|counter| counter.name == "acl");
    let counted: BTreeMap<String, u64> =
        counted.map(|counter| (counter.label.clone().unwrap(), counter.packets)).collect();
    assert_eq!(counted, expected);
    let counts = plane.interface_counts().unwrap();
    assert_eq!(counts.iter().map(|(_, of)| of.of(Reason::Denied).packets).sum::<u64>(), denied);
}

/// Returns how many packets a line of an ACL matched.
fn counted(plane: &Xdp, label: &str) -> u64 {
    let counters = plane.counters().unwrap();
    counters.into_iter().find(|it| it.label.as_deref() == Some(label)).map_or(0, |it| it.packets)
}

fn acl(name: &str, text: &str) -> Acl {
    Acl::parse(name, text).unwrap()
}

#[test]
fn what_lines_counted_goes_on_in_a_new_generation() {
    if !can_load_programs() {
        return;
    }
    let mut plane = with_acls(vec![acl("a", ""), acl("b", "deny udp from any to any port 53")]);
    let mut others = IN_10.frame(0);
    tag(&mut others, &[8]);
    for round in [1, 2] {
        assert_eq!(plane.probe("lo", &IN_10.frame(0)).unwrap().verdict, Verdict::Drop);
        assert_eq!(plane.probe("lo", &others).unwrap().verdict, Verdict::Redirect, "it has no ACL");
        assert_eq!(counted(&plane, "b 1"), round);
        // An adjacency that there is no room for.
        plane.set_adjacency(AdjacencyId(2000 * round as u32), adjacency(1)).unwrap();
    }
}

#[test]
fn lists_take_the_place_of_others_and_lines_that_stay_count_on() {
    if !can_load_programs() {
        return;
    }
    let dns = "deny udp from any to any port 53\n";
    let mut plane = with_acls(vec![acl("a", ""), acl("b", dns)]);
    let goes = |plane: &Xdp| plane.probe("lo", &IN_10.frame(0)).unwrap().verdict;
    assert_eq!(goes(&plane), Verdict::Drop);
    // It is the third now, behind one that permits.
    let longer = format!("deny tcp from any to any\npermit udp from any to any length 1500\n{dns}");
    plane.set_acls(vec![acl("a", ""), acl("b", &longer)]).unwrap();
    assert_eq!((goes(&plane), counted(&plane, "b 3"), counted(&plane, "b 1")), (Verdict::Drop, 2, 0));
    plane.set_acls(vec![acl("a", dns), acl("b", &format!("permit ip from any to any\n{dns}"))]).unwrap();
    assert_eq!((goes(&plane), counted(&plane, "b 2"), counted(&plane, "b 1")), (Verdict::Redirect, 2, 1));
    let mut tagged = IN_10.frame(0);
    tag(&mut tagged, &[7]);
    assert_eq!(plane.probe("lo", &tagged).unwrap().verdict, Verdict::Drop, "the other list");
    // Lists of other names are refused, and these hold.
    let error = plane.set_acls(vec![acl("a", "")]).unwrap_err().to_string();
    assert!(error.contains("the names of the ACLs are others"), "{error}");
    assert_eq!((goes(&plane), counted(&plane, "b 1")), (Verdict::Redirect, 2));
}
