//! What the control makes of links, neighbours and a plane that refuses.

mod support;

use fibula::{Family, NextHop};
use fibula_router::control::{Control, Settings, Way};
use fibula_router::feed::bfd::Gateways;
use fibula_router::feed::{Batch, Feed, Mark, Session};
use fibula_router::message::{Event, Kind, Leg, Link, Neighbour, Object, Rule, Target, Vlan};
use fibula_router::plane::memory::{Flow, Memory, Verdict};
use fibula_router::plane::{Action, Adjacency, AdjacencyId, Plane, Routes, Rules};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::mpsc;
use std::time::{Duration, Instant};
use support::Router;

const MAC: [u8; 6] = [2, 0, 0, 0, 0, 9];
const KERNEL: Session = Session { feed: Feed::Kernel, number: 1 };

fn router() -> Router {
    let settings = Settings { feeds: vec![Feed::Kernel], quiet: Duration::ZERO, ..Settings::default() };
    Control::new(Memory::with_engine("oracle"), settings)
}

fn tell(router: &mut Router, session: Session, events: impl IntoIterator<Item = Event>) {
    let mut batch = Batch::default();
    events.into_iter().for_each(|event| batch.add(session, event));
    router.apply(batch, Instant::now());
}

fn link(index: u32, is_up: bool) -> Event {
    made_of(index, is_up, Kind::Device)
}

/// A link that is made of something. Its MAC address ends with its index.
fn made_of(index: u32, is_up: bool, kind: Kind) -> Event {
    let (name, mac) = (format!("eth{index}"), Some([2, 0, 0, 0, 1, index as u8]));
    let link = Link {
        name,
        mac,
        mtu: 1500,
        ipv6_mtu: Some(1400),
        is_enabled: is_up,
        is_up,
        kind,
        master: None,
        is_active: true,
    };
    Event::Link { index, link: Some(link) }
}

fn neighbour(address: &str, mac: Option<[u8; 6]>) -> Event {
    let neighbour = Some(Neighbour { mac, is_stale: false });
    Event::Neighbour { interface: 1, address: address.parse().unwrap(), neighbour }
}

fn route(prefix: &str, metric: u32, target: impl Into<Option<Target>>) -> Event {
    let target = target.into();
    Event::Route { table: 254, prefix: prefix.parse().unwrap(), metric, protocol: 2, target }
}

fn via(gateway: &str) -> Target {
    let gateway = Some(gateway.parse().unwrap());
    Target::Legs([Leg { interface: 1, gateway, weight: 1 }].into())
}

fn on_link() -> Target {
    Target::Legs([Leg { interface: 1, gateway: None, weight: 1 }].into())
}

fn verdict(router: &Router, address: &str) -> Verdict {
    router.plane().forward(254, &Flow::to(address.parse().unwrap()))
}

fn leaves(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Forward(_, Adjacency::Resolved { destination: MAC, interface: 1, .. }))
}

/// Returns by which interface and with which tag packets to 192.0.2.1 leave; `None` if they do not.
fn way_out(router: &Router) -> Option<(u32, Option<u16>, u8, u16)> {
    match verdict(router, "192.0.2.1") {
        Verdict::Forward(_, Adjacency::Resolved { interface, vlan, source, mtu, .. }) => {
            Some((interface, vlan, source[5], mtu))
        }
        _ => None,
    }
}

#[test]
fn packets_leave_by_what_carries_a_vlan_or_a_bridge() {
    let station = |bridge, port| Event::Station { bridge, mac: MAC, port };
    let vlan = |parent, id| Kind::Vlan(Vlan { parent, id });
    let bridge = Kind::Bridge { has_vlans: false };
    let mut router = router();
    let told = [link(2, true), link(3, true), neighbour("10.0.0.9", Some(MAC))];
    tell(&mut router, KERNEL, told.into_iter().chain([route("192.0.2.0/24", 0, via("10.0.0.9"))]));
    let mut out = |events: Vec<Event>| {
        tell(&mut router, KERNEL, events);
        way_out(&router)
    };
    assert_eq!(out(vec![made_of(1, true, vlan(2, 10))]), Some((2, Some(10), 1, 1500)));
    assert_eq!(out(vec![link(2, false)]), None, "what carries it is down");
    assert_eq!(out(vec![link(2, true)]), Some((2, Some(10), 1, 1500)));
    assert_eq!(out(vec![made_of(2, true, Kind::Other)]), None, "only the kernel sends by it");
    assert_eq!(out(vec![made_of(2, true, vlan(3, 20))]), None, "one tag is written");
    // A bridge sends by the port of the station.
    assert_eq!(out(vec![made_of(1, true, bridge)]), None);
    assert_eq!(out(vec![station(1, Some(3))]), Some((3, None, 1, 1500)));
    assert_eq!(out(vec![station(1, Some(2))]), Some((3, Some(20), 1, 1500)), "the port is a VLAN");
    assert_eq!(out(vec![station(1, None)]), None);
    assert_eq!(out(vec![station(4, Some(3))]), None, "of another bridge");
    assert_eq!(out(vec![station(1, Some(3)), made_of(1, true, Kind::Bridge { has_vlans: true })]), None);
    // A VLAN on a bridge, and a bridge that carries itself.
    let stack =
        vec![made_of(1, true, vlan(4, 7)), made_of(4, true, bridge), station(4, Some(2)), link(2, true)];
    assert_eq!(out(stack), Some((2, Some(7), 1, 1500)));
    assert_eq!(out(vec![station(4, Some(4))]), None);
    assert_eq!(out(vec![made_of(1, true, Kind::Bond)]), Some((1, None, 1, 1500)), "a bond sends itself");
}

#[test]
fn a_neighbour_or_a_link_that_changes_costs_no_route() {
    let mut router = router();
    tell(&mut router, KERNEL, [link(1, true), route("192.0.2.0/24", 0, via("10.0.0.9"))]);
    assert!(matches!(verdict(&router, "192.0.2.1"), Verdict::Unresolved(_)));
    let changes = router.counts().changes;
    tell(&mut router, KERNEL, [neighbour("10.0.0.9", Some(MAC))]);
    assert!(leaves(verdict(&router, "192.0.2.1")));
    tell(&mut router, KERNEL, [link(1, false)]);
    assert!(matches!(verdict(&router, "192.0.2.1"), Verdict::Unresolved(_)));
    tell(&mut router, KERNEL, [link(1, true)]);
    assert!(leaves(verdict(&router, "192.0.2.1")));
    tell(&mut router, KERNEL, [neighbour("10.0.0.9", None)]);
    assert!(matches!(verdict(&router, "192.0.2.1"), Verdict::Unresolved(_)));
    assert_eq!(router.counts().changes, changes);
}

/// Has BFD hold gateways of 10.0.0.0/24 down, on interfaces of a name or on any.
fn hold(router: &mut Router, gateways: &[(u8, Option<&str>)]) {
    let held = gateways.iter().map(|&(last, name)| ([10, 0, 0, last].into(), name.map(String::from)));
    let gateways = Gateways { connected: true, held: held.collect(), ..Gateways::default() };
    router.apply(Batch { bfd: Some(gateways), ..Batch::default() }, Instant::now());
}

#[test]
fn gateways_that_bfd_holds_down_carry_no_packets() {
    let mut router = router();
    let leg = |last: u8| Leg { interface: 1, gateway: Some([10, 0, 0, last].into()), weight: 1 };
    let neighbours = (1..4).map(|last| neighbour(&format!("10.0.0.{last}"), Some([last; 6])));
    let all = Target::Legs((1..4).map(leg).collect());
    let routes = [route("192.0.2.0/24", 0, all), route("198.51.100.0/24", 0, via("10.0.0.1"))];
    tell(&mut router, KERNEL, [link(1, true)].into_iter().chain(neighbours).chain(routes));
    // The same as an object, which zebra tells.
    let mut objects: Vec<Event> =
        (1..4).map(|id| Event::Object { id: id.into(), object: Some(Object::Leg(leg(id))) }).collect();
    objects.push(Event::Object { id: 9, object: Some(Object::Group((1..4).map(|id| (id, 1)).collect())) });
    objects.push(route("203.0.113.0/24", 0, Target::Object(9)));
    tell(&mut router, support::session(1), objects);
    let gateways = |router: &Router, net: [u8; 3]| -> Vec<u32> {
        let gateway = |last| match verdict(router, &format!("{}.{}.{}.{last}", net[0], net[1], net[2])) {
            Verdict::Forward(_, Adjacency::Resolved { destination, .. }) => destination[0].into(),
            _ => 0,
        };
        (0..=255).map(gateway).collect()
    };
    let several = [[192, 0, 2], [203, 0, 113]];
    let alone = |router: &Router| verdict(router, "198.51.100.1");
    let changes = router.counts().changes;

    for held in [(1, Some("eth1")), (1, None)] {
        let before = several.map(|net| gateways(&router, net)).concat();
        hold(&mut router, &[held]);
        let now = several.map(|net| gateways(&router, net)).concat();
        for (now, before) in now.iter().zip(&before) {
            assert!(if *before == 1 { *now > 1 } else { now == before }, "only its flows move: {now}");
        }
        assert_eq!(alone(&router), Verdict::ToKernel);
        let way = router.lookup(254, [198, 51, 100, 1].into()).route.unwrap().ways.remove(0);
        assert_eq!((way.held_down, way.resolved, router.status().held_down), (true, true, 3));
        // A route that comes meanwhile.
        tell(&mut router, KERNEL, [route("100.64.0.0/24", 0, Target::Legs([leg(1), leg(2)].into()))]);
        assert!(gateways(&router, [100, 64, 0]).into_iter().all(|gateway| gateway == 2));
        tell(&mut router, KERNEL, [route("100.64.0.0/24", 0, None)]);
        hold(&mut router, &[]);
        let again = several.map(|net| gateways(&router, net)).concat();
        let share = again.iter().filter(|gateway| **gateway == 1).count();
        assert!((100..240).contains(&share), "it has its share of 512 again: {share}");
        assert!(again.iter().zip(&now).all(|(again, now)| *again == 1 || again == now));
        assert!(matches!(alone(&router), Verdict::Forward(..)));
    }
    // Another interface, until this one has its name.
    hold(&mut router, &[(1, Some("eth2"))]);
    assert!(matches!(alone(&router), Verdict::Forward(..)));
    let Event::Link { index, link: Some(renamed) } = link(1, true) else { unreachable!() };
    let renamed = Link { name: "eth2".into(), ..renamed };
    tell(&mut router, KERNEL, [Event::Link { index, link: Some(renamed) }]);
    assert_eq!(alone(&router), Verdict::ToKernel);
    // All of them: only the kernel may know better.
    hold(&mut router, &[(1, None), (2, None), (3, Some("eth2"))]);
    assert!(several.iter().all(|net| gateways(&router, *net) == [0; 256]));
    hold(&mut router, &[(1, None), (2, None)]);
    assert!(several.iter().all(|net| gateways(&router, *net) == [3; 256]));
    assert_eq!(router.counts().changes, changes + 4, "no other route costs anything");
}

#[test]
fn a_neighbour_on_a_connected_link_has_a_host_route() {
    let mut router = router();
    tell(
        &mut router,
        KERNEL,
        [link(1, true), route("10.0.0.0/24", 0, on_link()), neighbour("10.0.0.9", Some(MAC))],
    );
    assert!(leaves(verdict(&router, "10.0.0.9")));
    assert_eq!(verdict(&router, "10.0.0.8"), Verdict::ToKernel);
    // A route between the link and the neighbour leads elsewhere, as in the kernel.
    tell(&mut router, KERNEL, [route("10.0.0.8/29", 0, Target::Blackhole)]);
    assert_eq!(verdict(&router, "10.0.0.9"), Verdict::Drop);
    tell(&mut router, KERNEL, [route("10.0.0.8/29", 0, None)]);
    assert!(leaves(verdict(&router, "10.0.0.9")));
    let gone = Event::Neighbour { interface: 1, address: "10.0.0.9".parse().unwrap(), neighbour: None };
    tell(&mut router, KERNEL, [gone]);
    assert_eq!(verdict(&router, "10.0.0.9"), Verdict::ToKernel);
}

#[test]
fn a_neighbour_that_does_not_answer_is_asked_for_once() {
    const PAUSE: Duration = Duration::from_secs(5);
    let mut router = router();
    let (sender, asked) = mpsc::channel();
    let mut now = Instant::now();
    let asker = move |_, address: IpAddr| sender.send(address.to_string()).map_err(|_| unreachable!());
    router.set_asker(Box::new(asker), now);
    // One is the gateway of a route. Scans of the link leave the other.
    let events = [
        link(1, true),
        route("10.0.0.0/24", 0, on_link()),
        route("192.0.2.0/24", 0, via("10.0.0.9")),
        neighbour("10.0.0.8", None),
    ];
    let mut after = |router: &mut Router, events: Vec<Event>| {
        let mut batch = Batch::default();
        for event in events {
            batch.add(KERNEL, event);
        }
        now += PAUSE;
        router.apply(batch, now);
        asked.try_iter().collect::<Vec<_>>()
    };
    assert_eq!(after(&mut router, events.into()), ["10.0.0.9"]);
    let failed = |address| vec![neighbour(address, None)];
    assert!(after(&mut router, failed("10.0.0.9")).is_empty());
    // It answers, and is not heard of for a while, again and again.
    let stale = Event::Neighbour {
        interface: 1,
        address: "10.0.0.9".parse().unwrap(),
        neighbour: Some(Neighbour { mac: Some(MAC), is_stale: true }),
    };
    assert_eq!(after(&mut router, vec![stale]), ["10.0.0.9"]);
    assert_eq!(after(&mut router, Vec::new()), ["10.0.0.9"]);
    assert_eq!(after(&mut router, failed("10.0.0.9")), ["10.0.0.9"]);
    assert!(after(&mut router, Vec::new()).is_empty());
}

#[test]
fn packets_that_a_rule_may_concern_are_left_to_the_kernel() {
    let named = |index: u32, name: &str| {
        let Event::Link { link: Some(link), .. } = link(index, true) else { unreachable!() };
        Event::Link { index, link: Some(Link { name: name.into(), ..link }) }
    };
    let rule = |priority, family, interface: Option<&str>, table| Rule {
        priority,
        ipv6: family == Family::Ipv6,
        interface: interface.map(Into::into),
        table,
    };
    let (ipv4, ipv6) = (Family::Ipv4, Family::Ipv6);
    let tables = BTreeMap::from([("b".to_owned(), 100)]);
    for (rules, obeys_rules, left) in [
        (vec![], true, vec![]),
        // From a source, in table 100.
        (vec![rule(5, ipv4, None, None)], true, vec![(1, ipv4), (2, ipv4)]),
        (vec![rule(5, ipv4, None, None)], false, vec![]),
        (vec![rule(5, ipv6, Some("a"), Some(100))], true, vec![(1, ipv6)]),
        // What the plane does too, and what is behind it.
        (vec![rule(5, ipv4, Some("b"), Some(100))], true, vec![]),
        (vec![rule(5, ipv4, Some("b"), Some(100)), rule(6, ipv4, None, None)], true, vec![(1, ipv4)]),
        (
            vec![rule(4, ipv4, None, None), rule(5, ipv4, Some("b"), Some(100))],
            true,
            vec![(1, ipv4), (2, ipv4)],
        ),
    ] {
        let settings = Settings { obeys_rules, tables: tables.clone(), ..Settings::default() };
        let mut router = Control::new(Ruled::default(), settings);
        let apply = |router: &mut Control<Ruled>, fill: &dyn Fn(&mut Batch<Control<Ruled>>)| {
            let mut batch = Batch::default();
            fill(&mut batch);
            router.apply(batch, Instant::now());
            router.plane().left()
        };
        let links = |batch: &mut Batch<_>| {
            for event in [named(1, "a"), named(2, "b")] {
                batch.add(KERNEL, event);
            }
        };
        // Whatever is told first.
        let told = apply(&mut router, &|batch| batch.rules = Some(rules.clone()));
        assert!(told.is_empty());
        assert_eq!(apply(&mut router, &links), left, "{rules:?}");
        assert_eq!(router.status().rules, if obeys_rules { rules } else { Vec::new() });
        assert!(apply(&mut router, &|batch| batch.rules = Some(Vec::new())).is_empty());
    }
}

/// A plane that notes what the kernel forwards.
#[derive(Default)]
struct Ruled(BTreeMap<u32, Rules>);

impl Ruled {
    /// Returns the interfaces of which packets are left to the kernel.
    fn left(&self) -> Vec<(u32, Family)> {
        let of = |(&index, rules): (&u32, &Rules)| {
            let ipv4 = (!rules.ipv4).then_some((index, Family::Ipv4));
            ipv4.into_iter().chain((!rules.ipv6).then_some((index, Family::Ipv6))).collect::<Vec<_>>()
        };
        self.0.iter().flat_map(of).collect()
    }
}

impl Plane for Ruled {
    fn set_adjacency(&mut self, _: AdjacencyId, _: Adjacency) -> Result<(), fibula_router::Error> {
        Ok(())
    }

    fn set_action(&mut self, _: NextHop, _: &Action) -> Result<(), fibula_router::Error> {
        Ok(())
    }

    fn apply(&mut self, _: u32, _: Routes<'_>) -> Result<(), fibula_router::Error> {
        Ok(())
    }

    fn set_rules(&mut self, interface: u32, rules: Rules) -> Result<(), fibula_router::Error> {
        self.0.insert(interface, rules);
        Ok(())
    }

    fn grace_period(&mut self) -> Result<(), fibula_router::Error> {
        Ok(())
    }

    fn start(&mut self) -> Result<(), fibula_router::Error> {
        Ok(())
    }
}

#[test]
fn local_addresses_go_before_every_table() {
    let mut router = router();
    let local = Event::Route {
        table: 255,
        prefix: "192.0.2.1/32".parse().unwrap(),
        metric: 0,
        protocol: 2,
        target: Some(Target::Local),
    };
    tell(&mut router, KERNEL, [local, route("192.0.2.0/24", 0, Target::Blackhole)]);
    assert_eq!(verdict(&router, "192.0.2.1"), Verdict::ToKernel);
    assert_eq!(verdict(&router, "192.0.2.2"), Verdict::Drop);
    let way = router.lookup(254, "192.0.2.1".parse().unwrap()).route.unwrap().ways[0].kind;
    assert_eq!(way, Way::Local);
}

#[test]
fn what_the_plane_refuses_is_tried_again_and_the_old_answers_stay() {
    let mut router = router();
    let host = |n: u32| route(&format!("192.0.2.{n}/32"), 0, Target::Blackhole);
    tell(&mut router, KERNEL, (0..10).map(host));
    router.plane_mut().set_limit(Some(10));
    tell(&mut router, KERNEL, (10..20).map(host));
    assert_eq!(
        (verdict(&router, "192.0.2.5"), verdict(&router, "192.0.2.15")),
        (Verdict::Drop, Verdict::ToKernel)
    );
    let error = router.status().error.unwrap();
    assert_eq!(error, "routes: 20 is more than the 10 that fit");
    assert_eq!(router.status().tables[0].ipv4, 10);
    let retry = router.deadline().unwrap();
    router.plane_mut().set_limit(None);
    router.apply(Batch::default(), retry);
    assert_eq!(verdict(&router, "192.0.2.15"), Verdict::Drop);
    assert_eq!(router.status().error, None);
}

#[test]
fn the_end_of_a_session_leaves_the_next_one_alone() {
    let settings = Settings { feeds: vec![Feed::Fpm], ..Settings::default() };
    let (now, time) = (Instant::now(), settings.quiet + settings.hold);
    let mut router = Control::new(Memory::with_engine("oracle"), settings);
    let [first, second] = [1, 2].map(|number| Session { feed: Feed::Fpm, number });
    let marks = vec![Mark::Begun(first), Mark::Complete(first), Mark::Begun(second)];
    let mut batch = Batch { marks, ..Batch::default() };
    batch.add(first, route("192.0.2.0/24", 0, Target::Blackhole));
    batch.add(second, route("198.51.100.0/24", 0, Target::Blackhole));
    router.apply(batch, now);
    router.apply(Batch::default(), now + time);
    assert_eq!(router.status().tables[0].ipv4, 1);
}

#[test]
fn a_second_dump_removes_what_was_lost() {
    let mut router = router();
    tell(
        &mut router,
        KERNEL,
        [link(1, true), route("10.0.0.0/24", 0, on_link()), neighbour("10.0.0.9", Some(MAC))],
    );
    let again = Session { number: 2, ..KERNEL };
    let mut batch = Batch::default();
    batch.marks.push(Mark::Begun(again));
    batch.add(again, link(1, true));
    batch.add(again, route("10.0.1.0/24", 0, on_link()));
    batch.marks.push(Mark::Complete(again));
    router.apply(batch, Instant::now());
    let routes = router.routes(254, fibula::Family::Ipv4, None).map(|row| row.prefix);
    assert_eq!(routes.collect::<Vec<_>>(), ["10.0.1.0/24"]);
    assert_eq!((router.status().neighbours, router.counts().swept), (0, 1));
}

/// A route of a model: its prefix, its metric, and the last byte of its gateway or none.
type Step = (u8, u8, u32, Option<u8>);

proptest! {
    /// Routes of several metrics come and go, in batches of any size: the lowest metric answers.
    #[test]
    fn the_lowest_metric_answers(
        batches in prop::collection::vec(
            prop::collection::vec((0_u8..8, 28_u8..=32, 0_u32..3, prop::option::of(1_u8..6)), 1..12),
            1..20,
        ),
    ) {
        let mut router = router();
        let mut model = BTreeMap::<(u32, u8, u32), u8>::new();
        let prefix = |net: u8, len: u8| {
            let address = u32::from(Ipv4Addr::new(10, 0, 0, net * 4));
            (address & (u32::MAX << (32 - len)), len)
        };
        for batch in batches {
            let event = |&(net, len, metric, gateway): &Step| {
                let (address, len) = prefix(net, len);
                let text = format!("{}/{len}", Ipv4Addr::from(address));
                route(&text, metric, gateway.map(|gateway| via(&format!("10.9.0.{gateway}"))))
            };
            tell(&mut router, KERNEL, batch.iter().map(event));
            for (net, len, metric, gateway) in batch {
                let (address, len) = prefix(net, len);
                match gateway {
                    Some(gateway) => model.insert((address, len, metric), gateway),
                    None => model.remove(&(address, len, metric)),
                };
            }
            for last in 0..40_u8 {
                let address = u32::from(Ipv4Addr::new(10, 0, 0, last));
                let covers = |&&(first, len, _): &&(u32, u8, u32)| address & (u32::MAX << (32 - len)) == first;
                let best = model.keys().filter(covers).max_by_key(|key| (key.1, std::cmp::Reverse(key.2)));
                let expected = best.map(|key| IpAddr::from(Ipv4Addr::new(10, 9, 0, model[key])));
                let found = router.lookup(254, Ipv4Addr::from(address).into()).route;
                prop_assert_eq!(found.and_then(|route| route.ways[0].gateway), expected);
                let in_plane = router.plane().next_hop(254, Ipv4Addr::from(address).into());
                prop_assert_eq!(router.answer(254, Ipv4Addr::from(address).into()).map_or(fibula::NextHop::NONE, |answer| answer.1), in_plane);
            }
        }
        // Every next hop is released with its last route.
        let all: Vec<(u32, u8, u32)> = model.into_keys().collect();
        tell(&mut router, KERNEL, all.into_iter().map(|(address, len, metric)| route(&format!("{}/{len}", Ipv4Addr::from(address)), metric, None)));
        prop_assert_eq!((router.status().next_hops, router.status().adjacencies), (0, 0));
    }
}
