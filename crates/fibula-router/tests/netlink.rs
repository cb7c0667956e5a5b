//! Changed bytes in what the kernel says: nothing panics, and what the kernel says again holds.

mod support;

use fibula::{Family, IpPrefix};
use fibula_router::feed::{Batch, Feed, Mark, Session, writer};
use fibula_router::message::{Conf, Event, Kind, Leg, Link, Message, Messages, Neighbour, Object, Target};
use std::collections::BTreeMap;
use std::time::Instant;
use support::{Leads, Router, damage, router_of, routes, setting};

/// How many changed messages are applied as one batch.
const BATCH: u64 = 100;

/// Links, neighbours, next-hop objects and routes of every kind. The name of a link is its index.
fn events() -> Vec<Event> {
    let leg =
        |interface, gateway: &str| Leg { interface, gateway: Some(gateway.parse().unwrap()), weight: 1 };
    let link = |index: u32, is_up| Event::Link {
        index,
        link: Some(Link {
            name: index.to_string(),
            mac: Some([2, 0, 0, 0, 0, 1]),
            mtu: 1500,
            ipv6_mtu: Some(1500),
            is_enabled: is_up,
            is_up,
            kind: Kind::Device,
            master: None,
            is_active: true,
        }),
    };
    let neighbour = |interface, address: &str, is_stale| Event::Neighbour {
        interface,
        address: address.parse().unwrap(),
        neighbour: Some(Neighbour { mac: Some([2, 0, 0, 0, 0, 9]), is_stale }),
    };
    let route = |table, prefix: &str, metric, target| Event::Route {
        table,
        prefix: prefix.parse().unwrap(),
        metric,
        protocol: 4,
        target: Some(target),
    };
    let on_link = Leg { interface: 2, gateway: None, weight: 1 };
    vec![
        link(2, true),
        link(3, false),
        neighbour(2, "10.99.1.1", false),
        neighbour(2, "fd99::1", true),
        Event::Station { bridge: 3, mac: [2, 0, 0, 0, 0, 9], port: Some(2) },
        Event::Conf {
            interface: Some(2),
            family: Family::Ipv4,
            conf: Conf { forwarding: Some(true), ..Conf::default() },
        },
        Event::Object { id: 7, object: Some(Object::Leg(leg(2, "10.99.1.7"))) },
        Event::Object { id: 8, object: Some(Object::Leg(leg(3, "10.98.1.8"))) },
        Event::Object { id: 9, object: Some(Object::Group([(7, 1), (8, 3)].into())) },
        route(255, "10.99.255.254/32", 0, Target::Local),
        route(254, "10.99.0.0/16", 0, Target::Legs([on_link].into())),
        route(254, "192.0.2.0/24", 20, Target::Legs([leg(2, "10.99.1.1")].into())),
        route(254, "192.0.2.0/24", 30, Target::Blackhole),
        route(254, "198.51.100.0/24", 20, Target::Object(9)),
        route(254, "203.0.113.0/24", 0, Target::Legs([leg(2, "10.99.1.1"), leg(3, "10.98.1.2")].into())),
        route(254, "2001:db8::/32", 1024, Target::Legs([leg(2, "fd99::1")].into())),
        route(1000, "::/0", 1024, Target::Prohibit),
    ]
}

/// Applies what a session of the kernel says, from its beginning; to its end if it is complete.
/// Returns the number of messages that could not be read.
fn apply<'a>(
    router: &mut Router,
    number: u32,
    messages: impl Iterator<Item = &'a [u8]>,
    is_complete: bool,
) -> u64 {
    let session = Session { feed: Feed::Kernel, number };
    let (mut batch, mut refused) = (Batch::default(), 0);
    batch.marks.push(Mark::Begun(session));
    for message in messages.flat_map(Messages::new) {
        match message {
            Ok(Message::Event(event)) => batch.add(session, event),
            Ok(_) => {}
            Err(_) => refused += 1,
        }
    }
    if is_complete {
        batch.marks.push(Mark::Complete(session));
    }
    router.apply(batch, Instant::now());
    refused
}

/// Returns the routes of the tables that [`events`] names. A table that a changed message named
/// stays, and has the addresses of this machine.
fn told(router: &Router) -> BTreeMap<(u32, IpPrefix), Leads> {
    let mut all = routes(router);
    all.retain(|(table, _), leads| [254, 1000].contains(table) || *leads != Leads::Word("local".into()));
    all
}

/// `FIBULA_CASES` is the number of changed messages (100,000), `FIBULA_SEED` (22) another choice.
#[test]
fn changed_bytes_neither_panic_nor_stay() {
    let cases = setting("FIBULA_CASES", 100_000);
    let mut random = fastrand::Rng::with_seed(setting("FIBULA_SEED", 22));
    let messages: Vec<Vec<u8>> = events().iter().map(writer::message).collect();
    let whole = || messages.iter().map(Vec::as_slice);
    let mut router = router_of(Feed::Kernel);
    assert_eq!(apply(&mut router, 1, whole(), true), 0);
    let (expected, links) = (told(&router), router.status().links);
    assert_eq!((expected.len(), links.len()), (9, 2), "{expected:?}");
    let mut refused = 0;
    for number in 1..=(cases / BATCH) as u32 {
        let changed = || {
            let mut changed = random.choice(&messages).unwrap().clone();
            damage(&mut changed, &mut random);
            changed
        };
        let changed: Vec<Vec<u8>> = std::iter::repeat_with(changed).take(BATCH as usize).collect();
        refused += apply(&mut router, 2 * number, changed.iter().map(Vec::as_slice), false);
        if number % 10 == 0 {
            // The kernel is asked for everything again.
            apply(&mut router, 2 * number + 1, whole(), true);
            assert_eq!(told(&router), expected, "after {number} batches");
            assert_eq!(router.status().links, links, "after {number} batches");
        }
    }
    println!("{refused} of {cases} changed messages were refused");
    assert!(refused > cases / 20, "{refused} messages were refused");
}
