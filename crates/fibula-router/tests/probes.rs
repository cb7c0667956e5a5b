//! The program, run by the kernel on single frames: nothing is attached and nothing is sent.
//!
//! ```text
//!   frame ──▶ the program, as if by lo ──▶ verdict and frame
//! ```

#[path = "probes/acls.rs"]
mod acls;
mod common;
#[path = "probes/denied.rs"]
mod denied;
#[path = "probes/samples.rs"]
mod samples;
#[path = "probes/traces.rs"]
mod traces;
#[path = "probes/tunnels.rs"]
mod tunnels;
#[path = "probes/verdicts.rs"]
mod verdicts;

use common::{
    Framed, adjacency, all_of, can_load_programs, checksum, edges, one_adjacency_each, repair, sent_by,
    unattached,
};
use fibula::{Address, Change, Delta, NextHop, Prefix, Rib, Route};
use fibula_io::generate::{NextHopModel, Size, internet};
use fibula_router::plane::xdp::Verdict;
use fibula_router::plane::xdp::{Attachment, Mode, Options, Reason, Xdp};
use fibula_router::plane::{Action, AdjacencyId, Plane, Routes};
use std::net::IpAddr;

/// Compares what the program does with what a table says, for these addresses. Some it leaves to
/// the kernel, whatever the table says.
fn compare<A: Framed>(plane: &Xdp, rib: &Rib<A>, addresses: impl IntoIterator<Item = A>) -> usize {
    let mut compared = 0;
    for address in addresses {
        let ip = address.to_ip();
        let is_left = match ip {
            IpAddr::V4(ip) => ip.octets()[0] >= 224 || ip.is_link_local(),
            IpAddr::V6(ip) => ip.is_multicast() || ip.is_unicast_link_local(),
        };
        let expected = rib.longest_match(address).filter(|_| !is_left).map_or(0, |route| route.next_hop.0);
        let probe = plane.probe("lo", &address.frame(0)).unwrap();
        assert_eq!(sent_by(&probe), expected, "{ip}");
        compared += 1;
    }
    compared
}

/// Returns addresses spread over the whole space.
fn spread<A: Address>(count: u64) -> impl Iterator<Item = A> {
    let bits = A::BITS.min(64);
    (1..=count).map(move |i| A::from_bits(i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - bits), 0, bits))
}

#[test]
fn every_edge_of_a_table_leads_where_its_routes_say() {
    if !can_load_programs() {
        return;
    }
    for next_hops in [200, 3000] {
        let tables = internet(Size { ipv4: 20_000, ipv6: 20_000 }, NextHopModel::Near(next_hops), 5).unwrap();
        let mut plane = unattached();
        one_adjacency_each(&mut plane, NextHop(next_hops));
        plane.apply(254, Routes::V4(&tables.ipv4, &all_of(&tables.ipv4))).unwrap();
        plane.apply(254, Routes::V6(&tables.ipv6, &all_of(&tables.ipv6))).unwrap();
        plane.start().unwrap();
        let compared = compare(&plane, &tables.ipv4, edges(&tables.ipv4))
            + compare(&plane, &tables.ipv4, spread(50_000))
            + compare(&plane, &tables.ipv6, edges(&tables.ipv6))
            + compare(&plane, &tables.ipv6, spread(50_000));
        assert!(compared > 200_000, "{compared}");
    }
}

/// A table that is changed, and told to a plane.
struct Told<A: Address> {
    rib: Rib<A>,
    deltas: Vec<Delta<A>>,
}

impl<A: Address> Told<A> {
    fn new() -> Self {
        Self { rib: Rib::new(), deltas: Vec::new() }
    }

    fn announce(&mut self, prefix: Prefix<A>, next_hop: u32) {
        self.deltas.extend(self.rib.apply(Change::Announce(Route { prefix, next_hop: NextHop(next_hop) })));
    }

    fn withdraw(&mut self, prefix: Prefix<A>) {
        self.deltas.extend(self.rib.apply(Change::Withdraw(prefix)));
    }
}

/// An address of either family, for a plane.
trait Family: Framed {
    fn routes<'r>(rib: &'r Rib<Self>, deltas: &'r [Delta<Self>]) -> Routes<'r>;
}

impl Family for u32 {
    fn routes<'r>(rib: &'r Rib<Self>, deltas: &'r [Delta<Self>]) -> Routes<'r> {
        Routes::V4(rib, deltas)
    }
}

impl Family for u128 {
    fn routes<'r>(rib: &'r Rib<Self>, deltas: &'r [Delta<Self>]) -> Routes<'r> {
        Routes::V6(rib, deltas)
    }
}

fn tell<A: Family>(plane: &mut Xdp, table: u32, told: &mut Told<A>) {
    let deltas = std::mem::take(&mut told.deltas);
    plane.apply(table, A::routes(&told.rib, &deltas)).unwrap();
}

/// Returns a plane with a route for each family, by adjacency 1.
fn plain() -> Xdp {
    routed(unattached())
}

/// Gives a plane a route for each family, by adjacency 1, and starts it.
fn routed(mut plane: Xdp) -> Xdp {
    one_adjacency_each(&mut plane, NextHop(1));
    let (mut ipv4, mut ipv6) = (Told::<u32>::new(), Told::<u128>::new());
    ipv4.announce("10.0.0.0/8".parse().unwrap(), 1);
    ipv6.announce("2001:db8::/32".parse().unwrap(), 1);
    tell(&mut plane, 254, &mut ipv4);
    tell(&mut plane, 254, &mut ipv6);
    plane.start().unwrap();
    plane
}

const IN_10: u32 = 0x0A01_0203;
const IN_DB8: u128 = 0x2001_0db8_0001 << 80 | 7;

#[test]
fn a_packet_that_leaves_has_new_addresses_and_one_hop_less() {
    if !can_load_programs() {
        return;
    }
    let plane = plain();
    for (came, family) in [(IN_10.frame(10), 4), (IN_DB8.frame(10), 6)] {
        let left = plane.probe("lo", &came).unwrap();
        let mut expected = came;
        expected[..6].copy_from_slice(&common::address_of(1));
        expected[6..12].copy_from_slice(&[2; 6]);
        if family == 4 {
            expected[14 + 8] -= 1;
            expected[24..26].fill(0);
            let check = checksum(&expected[14..34]).to_be_bytes();
            expected[24..26].copy_from_slice(&check);
        } else {
            expected[14 + 7] -= 1;
        }
        assert_eq!((left.verdict, left.frame), (Verdict::Redirect, expected));
    }
    // Every checksum stays right, the ones that wrap around too.
    for address in (0..70_000).map(|i| IN_10 & 0xFF00_0000 | i) {
        let left = plane.probe("lo", &address.frame(0)).unwrap();
        assert_eq!(checksum(&left.frame[14..34]), 0, "{address:#x}");
    }
}

/// Adds tags to a frame.
fn tag(frame: &mut Vec<u8>, tags: &[u16]) {
    let tags = tags.iter().flat_map(|tag| [[0x81, 0], tag.to_be_bytes()].concat());
    frame.splice(12..12, tags);
}

#[test]
fn each_vlan_of_a_trunk_is_looked_up_in_its_own_table() {
    if !can_load_programs() {
        return;
    }
    let vlans: [(u32, &[u16]); 3] = [(100, &[10]), (200, &[20]), (300, &[20, 30])];
    let attachment =
        |&(table, tags): &(u32, &[u16])| Attachment { table, tags: tags.into(), ..Attachment::of("lo") };
    let interfaces = vlans.iter().map(attachment).collect();
    let mut plane = Xdp::open(Options::new("trunk", interfaces, Mode::Unattached)).unwrap();
    one_adjacency_each(&mut plane, NextHop(3));
    for ((table, _), next_hop) in vlans.into_iter().zip(1..) {
        let mut told = Told::<u32>::new();
        told.announce("10.0.0.0/8".parse().unwrap(), next_hop);
        tell(&mut plane, table, &mut told);
    }
    plane.start().unwrap();
    let by = |tags: &[u16]| {
        let mut frame = IN_10.frame(0);
        tag(&mut frame, tags);
        sent_by(&plane.probe("lo", &frame).unwrap())
    };
    for ((_, tags), next_hop) in vlans.into_iter().zip(1..) {
        assert_eq!(by(tags), next_hop, "{tags:?}");
    }
    // Priorities, but no other tags.
    assert_eq!((by(&[0xA00A]), by(&[0xA014, 0x301E])), (1, 3));
    assert_eq!((by(&[0, 10]), by(&[20, 0]), by(&[0, 20, 30])), (1, 2, 3));
    for tags in [&[][..], &[0], &[11], &[30], &[10, 20], &[0, 0], &[20, 30, 10], &[30, 20]] {
        assert_eq!(by(tags), 0, "{tags:?}");
    }
    // Tags of 802.1ad are other VLANs, whichever of two they are. A priority is one all the same.
    let of_802_1ad = |tags: &[u16], which: usize| {
        let mut frame = IN_10.frame(0);
        tag(&mut frame, tags);
        frame[12 + 4 * which..14 + 4 * which].copy_from_slice(&[0x88, 0xA8]);
        sent_by(&plane.probe("lo", &frame).unwrap())
    };
    assert_eq!([of_802_1ad(&[10], 0), of_802_1ad(&[20, 30], 0), of_802_1ad(&[20, 30], 1)], [0; 3]);
    assert_eq!((of_802_1ad(&[0, 10], 0), of_802_1ad(&[20, 0, 30], 1)), (1, 3));
    let mut deep = IN_10.frame(0);
    tag(&mut deep, &[0, 0, 0, 10]);
    assert_eq!(plane.probe("lo", &deep).unwrap().verdict, Verdict::Drop, "the kernel would find VLAN 10");
    let counts = plane.interface_counts().unwrap();
    let forwarded = counts.iter().map(|(name, of)| (name.as_str(), of.of(Reason::Forwarded).packets));
    assert!(forwarded.eq([("lo.10", 4), ("lo.20", 2), ("lo.20.30", 4)]), "{counts:?}");
}

/// Returns the frame of a packet whose ports are `flow`.
fn of_flow(mut frame: Vec<u8>, flow: u16) -> Vec<u8> {
    let ports = if frame[12] == 8 { 34 } else { 54 };
    frame[ports..ports + 2].copy_from_slice(&flow.to_be_bytes());
    frame
}

#[test]
fn flows_share_the_legs_and_stay_when_one_goes() {
    if !can_load_programs() {
        return;
    }
    let mut plane = plain();
    (1..=4).for_each(|id| plane.set_adjacency(AdjacencyId(id), adjacency(id)).unwrap());
    let legs = |leg: &dyn Fn(u32) -> u32| Action::Forward((0..256).map(|i| AdjacencyId(leg(i))).collect());
    for frame in [IN_10.frame(0), IN_DB8.frame(0)] {
        let leg_of = |plane: &Xdp, flow| sent_by(&plane.probe("lo", &of_flow(frame.clone(), flow)).unwrap());
        plane.set_action(NextHop(1), &legs(&|i| 1 + i % 4)).unwrap();
        let before: Vec<u32> = (0..20_000).map(|flow| leg_of(&plane, flow)).collect();
        for leg in 1..=4 {
            let share = before.iter().filter(|&&each| each == leg).count();
            assert!(share.abs_diff(5000) <= 250, "leg {leg} has {share} of 20000 flows");
        }
        // The buckets of leg 4 go to the others.
        plane.set_action(NextHop(1), &legs(&|i| if i % 4 == 3 { 1 + i / 4 % 3 } else { 1 + i % 4 })).unwrap();
        for (flow, before) in (0..20_000).zip(before) {
            let after = leg_of(&plane, flow);
            assert!(
                if before == 4 { after != 4 } else { after == before },
                "flow {flow}: {before} to {after}"
            );
        }
    }
    // Fragments after the first have no ports: all of a packet go the same way.
    let mut fragment = IN_10.frame(0);
    fragment[20..22].copy_from_slice(&[0x20, 0x10]);
    repair(&mut fragment);
    let legs: Vec<u32> =
        (0..100).map(|flow| sent_by(&plane.probe("lo", &of_flow(fragment.clone(), flow)).unwrap())).collect();
    assert!(legs[0] != 0 && legs.iter().all(|leg| *leg == legs[0]), "{legs:?}");
}

/// Changes a table at random and compares what the program does after each step.
fn follow<A: Family>(within: Prefix<A>, next: fn(&mut u64, Prefix<A>) -> Prefix<A>) {
    let (mut plane, mut told) = (unattached(), Told::<A>::new());
    plane.start().unwrap();
    let mut seed = 7;
    for round in 0..300_u32 {
        // At first few next hops, then more than a byte can tell apart.
        let next_hops = if round < 150 { 100 } else { 700 };
        let mut around = Vec::new();
        for _ in 0..=draw(&mut seed) % 8 {
            let prefix = next(&mut seed, within);
            if draw(&mut seed).is_multiple_of(3) {
                told.withdraw(prefix);
            } else {
                let next_hop = 1 + (draw(&mut seed) % next_hops) as u32;
                plane.set_adjacency(AdjacencyId(next_hop), adjacency(next_hop)).unwrap();
                plane.set_action(NextHop(next_hop), &Action::Forward(vec![AdjacencyId(next_hop)])).unwrap();
                told.announce(prefix, next_hop);
            }
            around.extend([prefix.first(), prefix.last()]);
            around.extend([prefix.first().previous(), prefix.last().next()].into_iter().flatten());
        }
        tell(&mut plane, 254, &mut told);
        if round % 50 == 49 {
            plane.grace_period().unwrap();
        }
        compare(&plane, &told.rib, around);
    }
    compare(&plane, &told.rib, edges(&told.rib));
}

fn draw(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *seed >> 33
}

#[test]
fn a_table_that_changes_under_the_program_is_the_same_table() {
    if !can_load_programs() {
        return;
    }
    follow::<u32>("10.0.0.0/12".parse().unwrap(), |seed, within| {
        let (len, address) = (12 + draw(seed) % 21, draw(seed));
        Prefix::containing(within.first() | (address as u32 & 0xF_FFFF), len as u8)
    });
    follow::<u128>("2001:db8::/32".parse().unwrap(), |seed, within| {
        let (len, bits) = (32 + draw(seed) % 97, u128::from(draw(seed)));
        // Few different addresses, so that prefixes cover each other.
        let address = (bits & 0xFF) << 84 | (bits >> 8 & 0xFF) << 40 | bits >> 20;
        Prefix::containing(within.first() | address, len as u8)
    });
}

#[test]
fn interfaces_look_up_in_their_own_tables() {
    if !can_load_programs() {
        return;
    }
    let mut plane = plain();
    one_adjacency_each(&mut plane, NextHop(2));
    let mut other = Told::<u32>::new();
    other.announce("10.0.0.0/8".parse().unwrap(), 2);
    tell(&mut plane, 100, &mut other);
    assert_eq!(sent_by(&plane.probe("lo", &IN_10.frame(0)).unwrap()), 1);
    let error = plane.probe("eth-none", &IN_10.frame(0)).unwrap_err().to_string();
    assert_eq!(error, "probe eth-none: packets do not come in by it");
    let interfaces = vec![Attachment { table: 100, ..Attachment::of("lo") }];
    let mut plane = Xdp::open(Options::new("other", interfaces, Mode::Unattached)).unwrap();
    one_adjacency_each(&mut plane, NextHop(2));
    let mut main = Told::<u32>::new();
    main.announce("10.0.0.0/8".parse().unwrap(), 1);
    tell(&mut plane, 254, &mut main);
    other.deltas = all_of(&other.rib);
    tell(&mut plane, 100, &mut other);
    let error = plane.probe("lo", &IN_10.frame(0)).unwrap_err().to_string();
    assert_eq!(error, "the plane: it was not started");
    plane.start().unwrap();
    assert_eq!(sent_by(&plane.probe("lo", &IN_10.frame(0)).unwrap()), 2);
}
