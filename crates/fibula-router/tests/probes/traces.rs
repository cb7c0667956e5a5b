//! Traces: the program tells of the packets that are looked for what it decided of them.

use crate::acls::{Between, frame};
use crate::common::{Framed, adjacency, can_load_programs, repair};
use crate::{IN_10, IN_DB8, plain, routed, tag};
use fibula::NextHop;
use fibula_router::acl::{Acl, Line, samples};
use fibula_router::plane::xdp::{Attachment, Mode, Options, Xdp};
use fibula_router::plane::{Adjacency, AdjacencyId, Outcome, Plane, ReversePath, Trace, Wanted};

fn probe(plane: &Xdp, frame: &[u8]) {
    drop(plane.probe("lo", frame).unwrap());
}

fn probe_all(plane: &Xdp, frames: &[Vec<u8>]) {
    for frame in frames {
        probe(plane, frame);
    }
}

#[test]
fn a_filter_finds_the_packets_that_its_line_matches() {
    if !can_load_programs() {
        return;
    }
    let mut plane = plain();
    let mut random = fastrand::Rng::with_seed(74);
    let mut draw = |below| random.usize(..below);
    let mut found = 0;
    for _ in 0..200 {
        let text = samples::line(&mut draw);
        let line = Line::about(text.split_once(' ').unwrap().1).unwrap();
        plane.look_for(Some(&Wanted { line: Some(line.clone()), ..Wanted::default() })).unwrap();
        let mut expected = Vec::new();
        for _ in 0..60 {
            let mut packet = samples::packet(&mut draw);
            let between =
                [Between::Nothing, Between::Options, Between::Fragment, Between::Extensions][draw(4)];
            if between != Between::Nothing && packet.length < 64 {
                packet.length += 40;
            }
            let bytes = frame(&packet, between);
            if between == Between::Fragment {
                packet.ports = None;
            }
            probe(&plane, &bytes);
            if line.matches(&packet) {
                expected.push((Some(packet), bytes));
            }
        }
        let (traces, lost) = plane.traces().unwrap();
        let told: Vec<_> = traces.into_iter().map(|trace| (trace.packet, trace.frame)).collect();
        assert_eq!((told, lost), (expected.clone(), 0), "{text}");
        found += expected.len();
    }
    assert!(found > 250, "{found}");
}

/// Returns a plane with a policy for packets without a tag, and another for VLAN 8.
fn judging() -> Xdp {
    let lo = || Attachment::of("lo");
    let interfaces = vec![
        Attachment { acl: Some(0), ..lo() },
        Attachment { tags: vec![7], ..lo() },
        Attachment { tags: vec![8], urpf: ReversePath::Strict, ..lo() },
    ];
    let text = "\ndeny udp from any to any port 53\npermit ip from 2001:db8::/32 to any";
    let acls = vec![Acl::parse("edge", text).unwrap()];
    routed(Xdp::open(Options { acls, ..Options::new("judging", interfaces, Mode::Unattached) }).unwrap())
}

/// Label, line of the ACL and whether it permits, next hops of source and destination, leg, reason.
type Told = (String, Option<(Option<usize>, bool)>, Option<u32>, Option<u32>, Option<Adjacency>, String);

#[test]
fn each_decision_is_told_with_its_line_or_route() {
    if !can_load_programs() {
        return;
    }
    let mut plane = judging();
    plane.look_for(Some(&Wanted::default())).unwrap();
    let with_tag = |vlan: u16, mut frame: Vec<u8>| {
        tag(&mut frame, &[vlan]);
        frame
    };
    let mut arp = IN_10.frame(20);
    arp[12..14].copy_from_slice(&[8, 6]);
    let mut elsewhere = IN_10.frame(0);
    elsewhere[30] = 11;
    repair(&mut elsewhere);
    let frames = [
        IN_10.frame(400),
        with_tag(8, IN_10.frame(0)),
        with_tag(7, IN_10.frame(0)),
        with_tag(7, IN_DB8.frame(300)),
        arp,
        with_tag(7, elsewhere),
    ];
    probe_all(&plane, &frames);
    let (traces, lost) = plane.traces().unwrap();
    assert_eq!((traces.len(), lost), (6, 0));
    for (trace, frame) in traces.iter().zip(&frames) {
        assert_eq!((trace.bytes as usize, &trace.frame[..]), (frame.len(), &frame[..frame.len().min(256)]));
        assert_eq!((trace.interface, trace.table), (1, 254));
    }
    let told = |trace: &Trace| -> Told {
        let acl = trace.acl.as_ref().map(|acl| (acl.number, acl.permits));
        let (source, next_hop) = (trace.source.map(|it| it.0), trace.next_hop.map(|it| it.0));
        (trace.label.clone(), acl, source, next_hop, trace.leg, trace.reason.to_string())
    };
    let row = |label: &str, acl, source, next_hop, leg, reason: &str| -> Told {
        (label.to_owned(), acl, source, next_hop, leg, reason.to_owned())
    };
    let sent = Some(adjacency(1));
    let expected = [
        row("lo", Some((Some(2), false)), None, None, None, "denied"),
        row("lo.8", None, Some(0), None, None, "spoofed"),
        row("lo.7", None, None, Some(1), sent, "forwarded"),
        row("lo.7", None, None, Some(1), sent, "forwarded"),
        row("lo", None, None, None, None, "not_ip"),
        row("lo.7", None, None, Some(0), None, "no_route"),
    ];
    assert_eq!(traces.iter().map(told).collect::<Vec<_>>(), expected);
    let line = traces[0].acl.as_ref().unwrap().line.as_deref();
    assert_eq!(line, Some("deny udp from any to any port 53-53"));
    let outcomes = [Outcome::Dropped, Outcome::Forwarded, Outcome::ToKernel];
    assert_eq!([0, 2, 4].map(|at| traces[at].outcome), outcomes);
    assert!(traces.windows(2).all(|pair| pair[0].time_ns <= pair[1].time_ns));

    // Nothing is told of packets that nobody looks for, or any more.
    let wanted = Wanted { reasons: vec!["spoofed".into()], ..Wanted::default() };
    plane.look_for(Some(&wanted)).unwrap();
    probe_all(&plane, &frames);
    let (traces, _) = plane.traces().unwrap();
    assert_eq!(traces.iter().map(|trace| &*trace.reason).collect::<Vec<_>>(), ["spoofed"]);
    plane.look_for(Some(&Wanted { interface: Some(2), ..Wanted::default() })).unwrap();
    probe_all(&plane, &frames);
    assert_eq!(plane.traces().unwrap(), (Vec::new(), 0));
    plane.look_for(None).unwrap();
    probe_all(&plane, &frames);
    assert_eq!(plane.traces().unwrap(), (Vec::new(), 0));
    let unknown = Wanted { reasons: vec!["bored".into()], ..Wanted::default() };
    let error = plane.look_for(Some(&unknown)).unwrap_err().to_string();
    assert!(error.starts_with("there is no reason bored: expected one of forwarded, local, "), "{error}");
}

#[test]
fn what_finds_no_room_is_counted_and_a_new_generation_goes_on() {
    if !can_load_programs() {
        return;
    }
    let mut plane = plain();
    plane.look_for(Some(&Wanted::default())).unwrap();
    (0..10_000).for_each(|_| probe(&plane, &IN_10.frame(400)));
    let (traces, lost) = plane.traces().unwrap();
    assert!(lost > 0 && traces.len() as u64 + lost == 10_000, "{lost}");
    for round in [1, 2] {
        probe(&plane, &IN_10.frame(0));
        // An adjacency that there is no room for.
        plane.set_adjacency(AdjacencyId(2000 * round), adjacency(1)).unwrap();
        probe(&plane, &IN_DB8.frame(0));
        let (traces, same) = plane.traces().unwrap();
        let next_hops: Vec<_> = traces.iter().map(|trace| trace.next_hop).collect();
        assert_eq!((next_hops, same), (vec![Some(NextHop(1)); 2], lost));
    }
    // Who looks next begins again.
    plane.look_for(Some(&Wanted::default())).unwrap();
    probe(&plane, &IN_10.frame(0));
    let (traces, lost) = plane.traces().unwrap();
    assert_eq!((traces.len(), lost), (1, 0));
}
