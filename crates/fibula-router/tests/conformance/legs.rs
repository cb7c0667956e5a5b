//! Which leg of a route each flow takes, by the MAC address that its packet arrives with.
//!
//! ```text
//!   client               router                server
//!   c0 ── r0   route by three neighbours   r1 ── s0: packets for 02:..:01, 02:..:02, 02:..:03
//! ```

use crate::common::lab::Lab;
use crate::{flows, lab, outcome, packets, with_plane};
use fibula_router::plane::xdp::{Ecmp, Hashed, Mode, Options, Xdp};
use std::collections::{BTreeMap, BTreeSet};

/// How many flows of each kind there are.
const FLOWS: u16 = 60;

/// The leg of each flow.
type Legs = BTreeMap<String, String>;

/// Leads the routes of both families to these neighbours.
fn route(lab: &Lab, neighbours: &[u32]) {
    let by = |net: &str| {
        let legs = neighbours.iter().map(|id| format!("nexthop via {net}{id} dev r1"));
        legs.collect::<Vec<_>>().join(" ")
    };
    lab.ip("r", &format!("route replace 198.18.9.0/24 {}", by("10.2.0.1")));
    lab.ip("r", &format!("-6 route replace 2001:db8:70::/48 {}", by("fd02::1")));
}

/// Returns the MAC address of a neighbour, as frames are described.
fn address(id: u32) -> String {
    format!("02, 00, 00, 00, 07, 0{id}")
}

/// Sends a packet of each flow.
fn legs(lab: &Lab, flows: &[packets::Packet]) -> Legs {
    let leg = |(name, arrived): (String, Vec<String>)| {
        let [frame] = &arrived[..] else { panic!("{name} arrives once: {arrived:?}") };
        (name, frame.split('[').nth(1).unwrap()[..22].to_owned())
    };
    outcome(lab, flows).into_iter().map(leg).collect()
}

/// Returns how many legs the flows of a kind take.
fn spread(legs: &Legs, kind: &str) -> usize {
    let of_kind = legs.iter().filter(|(name, _)| name.rsplit_once(' ').unwrap().0 == kind);
    of_kind.map(|(_, leg)| leg).collect::<BTreeSet<_>>().len()
}

#[test]
fn flows_keep_their_legs_when_another_goes_and_another_seed_spreads_them_otherwise() {
    let Some(lab) = lab("legs") else { return };
    lab.forward_by_plane_alone();
    for id in 1..=3 {
        for net in ["10.2.0.1", "fd02::1"] {
            let mac = address(id).replace(", ", ":");
            lab.ip("r", &format!("neigh replace {net}{id} lladdr {mac} dev r1 nud permanent"));
        }
    }
    let flows = flows::flows(FLOWS);
    let work = || {
        route(&lab, &[1, 2, 3]);
        let all = legs(&lab, &flows);
        route(&lab, &[1, 3]);
        let is_through = |legs: &Legs| legs.values().all(|leg| *leg != address(2));
        let fewer = (0..20).map(|_| legs(&lab, &flows)).find(is_through).expect("the route has changed");
        (all, fewer)
    };
    let mut found = Vec::new();
    let by = |hash, seed| Ecmp { hash, seed, ..Ecmp::default() };
    let by_label = Ecmp { flow_label: true, spi: true, ..by(Hashed::L4, 1) };
    for ecmp in [by(Hashed::L4, 0), by(Hashed::L4, 1), by(Hashed::L3, 1), by(Hashed::Inner, 1), by_label] {
        let native = || {
            let interfaces = ["r0", "r1", "r2"].map(fibula_router::plane::xdp::Attachment::of).into();
            Xdp::open(Options { ecmp, ..Options::new(lab.name(), interfaces, Mode::Native) }).unwrap()
        };
        route(&lab, &[1, 2, 3]);
        let (all, fewer) = with_plane(&lab, native, work);
        lab.inside("r", || lab.detach());
        for (flow, leg) in all.iter().filter(|(_, leg)| **leg != address(2)) {
            assert_eq!(fewer[flow], *leg, "{flow}, {ecmp:?}");
        }
        for (kind, alike) in flows::ALIKE {
            for port in 0..FLOWS {
                let [leg, other] = [kind, alike].map(|name| &all[&format!("{name} {port}")]);
                assert_eq!(other, leg, "{kind} {port} and {alike}, {ecmp:?}");
            }
        }
        let kinds = ["UDP", "UDP over IPv6", "UDP behind options", "IPIP", "GRE", "ESP", "labels"];
        let spread = kinds.map(|kind| spread(&all, kind));
        let expected = match ecmp.hash {
            Hashed::L3 => [1; 7],
            Hashed::L4 if ecmp.spi => [3, 3, 3, 1, 1, 3, 3],
            Hashed::L4 => [3, 3, 3, 1, 1, 1, 1],
            Hashed::Inner => [3, 3, 3, 3, 3, 1, 1],
        };
        assert_eq!(spread, expected, "{ecmp:?}");
        found.push(all);
    }
    let moved = found[0].iter().filter(|(flow, leg)| found[1][*flow] != **leg).count();
    assert!(moved > usize::from(FLOWS), "{moved} of {} flows take another leg", found[0].len());
}
