//! An interface with a policy: each packet of the list comes again, and what passes is what the
//! policy's text lets pass, whether the plane forwards it or leaves it to the kernel.

use crate::common::lab::Lab;
use crate::{Arrived, counted_with_plane, differences, lab, outcome, packets};
use fibula_router::acl::Acl;
use fibula_router::plane::xdp::{Attachment, Mode, Options, Xdp};
use fibula_router::plane::{Counter, ReversePath};

/// The sources of packets of IPv6 that may come by r0: of the client's network, and what only a
/// link has.
const EXPECTED6: &[&str] = &["fd01::99", "::", "fe80::ff:fe00:102"];

/// Opens the plane with a policy for r0.
fn open(lab: &Lab, mode: Mode, acl: Option<&str>, urpf: ReversePath) -> Xdp {
    let acls: Vec<Acl> = acl.iter().map(|text| Acl::parse("in", text).unwrap()).collect();
    let judged = Attachment { acl: acl.map(|_| 0), urpf, ..Attachment::of("r0") };
    let interfaces = vec![judged, Attachment::of("r1"), Attachment::of("r2")];
    Xdp::open(Options { acls, ..Options::new(lab.name(), interfaces, mode) }).unwrap()
}

/// Sends all packets to a plane with a policy for r0. Returns what it counted too.
fn judged(
    lab: &Lab,
    packets: &[packets::Packet],
    mode: Mode,
    acl: Option<&str>,
    urpf: ReversePath,
) -> (Arrived, Vec<Counter>) {
    let found = counted_with_plane(lab, || open(lab, mode, acl, urpf), || outcome(lab, packets));
    lab.inside("r", || lab.detach());
    found
}

/// Returns how many packets were counted by a name.
fn sum(counters: &[Counter], name: &str) -> u64 {
    counters.iter().filter(|counter| counter.name == name).map(|counter| counter.packets).sum()
}

#[test]
fn nothing_passes_but_what_a_policy_lets_pass() {
    let Some(lab) = lab("policy") else { return };
    let packets = packets::packets();
    let kernel = outcome(&lab, &packets);
    // The kernel's own check is what IPv4 is compared with. It has none of IPv6.
    lab.set("r", "net.ipv4.conf.r0.rp_filter=1");
    let mut strict = outcome(&lab, &packets);
    lab.set("r", "net.ipv4.conf.r0.rp_filter=0");
    for (name, list) in &mut strict {
        let source = name.strip_prefix("IPv6 from ").and_then(|rest| rest.split_once(": ")).map(|it| it.0);
        if source.is_some_and(|source| !EXPECTED6.contains(&source)) {
            list.clear();
        }
    }
    let passed = |arrived: &Arrived| arrived.values().filter(|list| !list.is_empty()).count();
    assert!(passed(&strict) > 100 && passed(&strict) + 20 < passed(&kernel), "{}", passed(&strict));
    let none = "deny ip from any to any";
    let mut wrong = Vec::new();
    for mode in [Mode::Native, Mode::Generic] {
        let (arrived, counters) = judged(&lab, &packets, mode, None, ReversePath::Strict);
        wrong.extend(differences(&format!("{mode}, strict"), &strict, &arrived));
        assert!(sum(&counters, "spoofed") > 50, "{}", sum(&counters, "spoofed"));
        for urpf in [ReversePath::Off, ReversePath::Strict] {
            let (arrived, counters) = judged(&lab, &packets, mode, Some(none), urpf);
            let passes = arrived.into_iter().filter(|(_, list)| !list.is_empty());
            wrong.extend(passes.map(|(name, list)| format!("{mode}, denied, {urpf:?}, {name}: {list:?}")));
            assert!(sum(&counters, "denied") > 400, "{}", sum(&counters, "denied"));
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
    // The router's own address answers by a line that says so.
    let acl = format!("permit icmp from any to 10.1.0.1\npermit icmp6 from any to fd01::1\n{none}");
    let (arrived, _) = judged(&lab, &packets, Mode::Native, Some(&acl), ReversePath::Strict);
    let passes = arrived.iter().filter(|(_, list)| !list.is_empty()).map(|(name, _)| name.as_str());
    assert_eq!(passes.collect::<Vec<_>>(), ["echo to 10.1.0.1", "echo to fd01::1"]);
}
