//! What zebra sends, captured or made, ends in the tables that a plain model has: whole, cut at any
//! byte, told again, and with bytes changed.

mod support;

use fibula::{IpPrefix, Prefix};
use fibula_router::control::{Control, Settings};
use fibula_router::feed::Feed;
use fibula_router::feed::writer;
use fibula_router::message::{Event, Leg, Object, Target};
use fibula_router::plane::Plane as _;
use fibula_router::plane::memory::{Flow, Memory, Verdict};
use std::collections::BTreeMap;
use std::time::Instant;
use support::{Leads, Model, QUIET, capture, damage, pass, play, router, routes, setting, tell, tell_more};

fn leg(interface: u32, gateway: &str, weight: u16) -> Leg {
    Leg { interface, gateway: Some(gateway.parse().unwrap()), weight }
}

fn add(prefix: &str, target: Target) -> Event {
    Event::Route {
        table: 254,
        prefix: prefix.parse().unwrap(),
        metric: 20,
        protocol: 186,
        target: Some(target),
    }
}

fn delete(prefix: &str) -> Event {
    Event::Route { table: 254, prefix: prefix.parse().unwrap(), metric: 20, protocol: 0, target: None }
}

fn object(id: u32, object: Object) -> Event {
    Event::Object { id, object: Some(object) }
}

/// A small stream of every kind of route, with objects and without.
fn made() -> Vec<Vec<u8>> {
    let legs = |legs: &[Leg]| Target::Legs(legs.into());
    let events: Vec<Vec<Event>> = vec![
        vec![add("10.99.0.0/16", legs(&[Leg { interface: 2, gateway: None, weight: 1 }]))],
        vec![add("0.0.0.0/0", legs(&[leg(2, "10.99.1.9", 1)]))],
        vec![add("203.0.113.0/24", legs(&[leg(2, "10.99.1.1", 3), leg(3, "10.98.1.2", 1)]))],
        vec![add("198.51.100.0/24", Target::Blackhole), add("198.51.101.0/24", Target::Unreachable)],
        vec![add("192.0.2.0/24", legs(&[leg(2, "fe80::1", 1)]))],
        vec![object(7, Object::Leg(leg(2, "10.99.1.7", 1)))],
        vec![object(8, Object::Leg(leg(3, "fd99::8", 1)))],
        vec![object(9, Object::Group([(7, 1), (8, 2)].into()))],
        vec![add("100.64.0.0/10", Target::Object(9)), add("2001:db8::/32", Target::Object(8))],
        vec![delete("0.0.0.0/0"), add("0.0.0.0/0", Target::Object(7))],
        vec![delete("198.51.100.0/24"), delete("172.16.0.0/12")],
        vec![object(9, Object::Group([(8, 1)].into()))],
        vec![add("10.200.0.0/16", Target::Prohibit)],
    ];
    events.iter().map(|events| writer::frame(events)).collect()
}

/// Returns the frames of a stream.
fn cut(bytes: &[u8]) -> Vec<&[u8]> {
    let (mut frames, mut rest) = (Vec::new(), bytes);
    while rest.len() >= 4 {
        let (frame, more) = rest.split_at(usize::from(u16::from_be_bytes([rest[2], rest[3]])));
        frames.push(frame);
        rest = more;
    }
    frames
}

fn expected(bytes: &[u8]) -> BTreeMap<(u32, IpPrefix), Leads> {
    let mut model = Model::default();
    model.play(bytes);
    model.routes()
}

#[test]
fn events_survive_the_wire() {
    use fibula_router::feed::fpm::Frames;
    let (mut frames, mut events) = (Frames::default(), Vec::new());
    let all = [
        add("192.0.2.0/24", Target::Legs([leg(2, "fe80::1", 1)].into())),
        add("2001:db8::/48", Target::Legs([leg(2, "fd99::1", 200), leg(300, "fd99::2", 1)].into())),
        object(4_000_000_000, Object::Group([(1, 300), (2, 1)].into())),
        Event::Object { id: 3, object: None },
        delete("::/0"),
    ];
    frames.push(&writer::frame(&all));
    assert!(frames.take(&mut events).unwrap());
    // A delete says no protocol.
    assert_eq!(events, all);
    assert!(!frames.take(&mut events).unwrap());
}

#[test]
fn a_made_stream_ends_in_the_tables_of_the_model() {
    let bytes = made().concat();
    let mut router = router();
    assert_eq!(play(&mut router, 1, &bytes, Instant::now()).unwrap(), 0);
    let found = routes(&router);
    assert_eq!(found.len(), 8);
    assert_eq!(found, expected(&bytes));
}

#[test]
fn captures_end_in_the_tables_of_the_model() {
    for name in ["sample-nhg.fpm", "sample-nonhg.fpm"] {
        let Some(bytes) = capture(name) else { continue };
        // At moments in the middle too: at its end a capture has few routes left.
        let frames = cut(&bytes);
        for end in [frames.len() / 4, frames.len() / 2, frames.len() * 3 / 4, frames.len()] {
            let bytes = frames[..end].concat();
            assert_eq!(routes(&router_of(&bytes)), expected(&bytes), "{name}, {end} frames");
        }
    }
}

fn router_of(bytes: &[u8]) -> support::Router {
    let mut router = router();
    play(&mut router, 1, bytes, Instant::now()).unwrap();
    router
}

#[test]
fn a_stream_cut_at_any_byte_is_taken_up_by_the_next_session() {
    let frames = made();
    let bytes = frames.concat();
    let expected = expected(&bytes);
    let start = Instant::now();
    for cut in 0..bytes.len() {
        let mut router = router();
        let rest = play(&mut router, 1, &bytes[..cut], start).unwrap();
        let ends = frames.iter().scan(0, |end, frame| {
            *end += frame.len();
            Some(*end)
        });
        let whole = ends.take_while(|&end| end <= cut).last().unwrap_or(0);
        assert_eq!(rest, cut - whole, "what is not a whole frame is left");
        assert_eq!(routes(&router), self::expected(&bytes[..whole]), "cut at byte {cut}");
        play(&mut router, 2, &bytes, start).unwrap();
        assert_eq!(routes(&router), expected, "cut at byte {cut}");
    }
}

#[test]
fn what_a_new_session_does_not_tell_again_goes_after_a_quiet_time() {
    let start = Instant::now();
    let frames = made();
    let mut router = router_of(&frames.concat());
    let before = routes(&router);
    let changes = router.counts().changes;
    // The new session leaves out the route of a frame.
    let told: Vec<u8> =
        frames.iter().enumerate().filter(|(at, _)| *at != 2).flat_map(|(_, frame)| frame.clone()).collect();
    tell(&mut router, 2, &told, start);
    assert_eq!(routes(&router), before, "all routes stay at first");
    assert_eq!(router.counts().changes, changes, "what is told again is no change");
    pass(&mut router, start + QUIET / 2);
    assert_eq!(routes(&router), before);
    pass(&mut router, start + QUIET);
    let mut expected = before;
    expected.remove(&(254, "203.0.113.0/24".parse().unwrap()));
    assert_eq!(routes(&router), expected);
    assert_eq!(router.counts().swept, 1);
}

#[test]
fn routes_told_again_after_a_session_that_told_nothing_are_no_change() {
    let start = Instant::now();
    let bytes = made().concat();
    let mut router = router_of(&bytes);
    let (before, changes) = (routes(&router), router.counts().changes);
    play(&mut router, 2, &[], start).unwrap();
    tell(&mut router, 3, &bytes, start);
    assert_eq!(routes(&router), before);
    assert_eq!(router.counts().changes, changes);
}

#[test]
fn a_first_session_is_complete_when_the_table_grows_no_more() {
    let start = Instant::now();
    let routes = |from: u32, to: u32, target: Option<&Target>| -> Vec<u8> {
        let event = |n: u32| Event::Route {
            table: 254,
            prefix: Prefix::containing((100 << 24) + (n << 8), 24).into(),
            metric: 20,
            protocol: 186,
            target: target.cloned(),
        };
        (from..to).flat_map(|n| writer::frame(&[event(n)])).collect()
    };
    let mut router = router();
    tell(&mut router, 1, &[], start);
    let mut at = start;
    for part in 0..4 {
        let more = routes(part * 1000, part * 1000 + 1000, Some(&Target::Blackhole));
        tell_more(&mut router, 1, &more, at);
        at += QUIET * 9 / 10;
        pass(&mut router, at);
        assert!(!router.plane().has_started(), "after {} routes", (part + 1) * 1000);
    }
    // Routes that come and go are no growth.
    tell_more(&mut router, 1, &routes(0, 50, None), at);
    tell_more(&mut router, 1, &routes(0, 50, Some(&Target::Blackhole)), at);
    pass(&mut router, at + QUIET / 10);
    assert!(router.plane().has_started());
    assert_eq!(router.status().tables[0].ipv4, 4000);
}

/// A stream of routes to hosts, from the first one on.
fn hosts(count: u8) -> Vec<u8> {
    (0..count).flat_map(|n| writer::frame(&[add(&format!("192.0.2.{n}/32"), Target::Blackhole)])).collect()
}

#[test]
fn a_session_that_tells_little_removes_nothing_until_it_was_waited_for() {
    let start = Instant::now();
    let mut router = router_of(&hosts(100));
    pass(&mut router, start + QUIET);
    // Half of them are enough, and ten are not.
    for (session, told, left) in [(2, 10, 100), (3, 50, 50)] {
        tell(&mut router, session, &hosts(told), start + QUIET);
        pass(&mut router, start + 20 * QUIET);
        assert_eq!(routes(&router).len(), left, "{told} are told again");
    }
    let now = start + 20 * QUIET;
    play(&mut router, 4, &hosts(10), now).unwrap();
    assert_eq!(routes(&router).len(), 50);
    tell(&mut router, 5, &hosts(9), now);
    let until = router.deadline().unwrap();
    assert!(until > now + QUIET, "it waits for more than a quiet time");
    pass(&mut router, until);
    assert_eq!(routes(&router).len(), 9);
    assert_eq!(router.deadline(), None);
}

#[test]
fn a_process_that_takes_over_waits_for_as_many_routes_as_there_were() {
    let mut plane = Memory::with_engine("oracle");
    plane.remember(100);
    let settings = Settings { feeds: vec![Feed::Fpm], quiet: QUIET, ..Settings::default() };
    let mut router = Control::new(plane, settings);
    let start = Instant::now();
    tell(&mut router, 1, &hosts(10), start);
    assert_eq!(router.deadline(), None, "ten routes are never enough");
    pass(&mut router, start + 1000 * QUIET);
    assert!(!router.status().forwarding);
    tell_more(&mut router, 1, &hosts(60), start + 1000 * QUIET);
    pass(&mut router, start + 1001 * QUIET);
    assert!(router.status().forwarding);
}

#[test]
fn fewer_routes_than_the_operator_named_are_never_all() {
    let settings = Settings { feeds: vec![Feed::Fpm], quiet: QUIET, least: 20, ..Settings::default() };
    let mut router = Control::new(Memory::with_engine("oracle"), settings);
    let start = Instant::now();
    // zebra and the router were restarted, and nothing says what was there before.
    tell(&mut router, 1, &hosts(10), start);
    pass(&mut router, start + 1000 * QUIET);
    assert!(!router.status().forwarding, "ten routes");
    tell_more(&mut router, 1, &hosts(20), start + 1000 * QUIET);
    pass(&mut router, start + 1001 * QUIET);
    assert!(router.status().forwarding, "twenty");
    // Nor do ten take the place of twenty, however long nothing more comes.
    let now = start + 1002 * QUIET;
    tell(&mut router, 2, &hosts(10), now);
    pass(&mut router, now + 1000 * QUIET);
    assert_eq!((routes(&router).len(), router.deadline()), (20, None));
    assert_eq!((router.status().feeds[0].heard, router.status().feeds[0].wanted), (10, 20));
}

#[test]
fn an_id_that_means_something_else_in_a_new_session_moves_no_old_route() {
    let start = Instant::now();
    let mut router = router();
    let first = [
        object(7, Object::Leg(leg(2, "10.0.0.1", 1))),
        add("192.0.2.0/24", Target::Object(7)),
        add("198.51.100.0/24", Target::Object(7)),
    ];
    play(&mut router, 1, &writer::frame(&first), start).unwrap();
    let second = [object(7, Object::Leg(leg(3, "10.1.0.1", 1))), add("198.51.100.0/24", Target::Object(7))];
    play(&mut router, 2, &writer::frame(&second), start).unwrap();
    let found = routes(&router);
    let of = |prefix: &str| found[&(254, prefix.parse().unwrap())].clone();
    assert_eq!(of("192.0.2.0/24"), Leads::Legs(vec![(Some("10.0.0.1".parse().unwrap()), 2, 1)]));
    assert_eq!(of("198.51.100.0/24"), Leads::Legs(vec![(Some("10.1.0.1".parse().unwrap()), 3, 1)]));
}

#[test]
fn a_group_whose_members_change_costs_no_route() {
    let mut router = router();
    let events = [
        object(1, Object::Leg(leg(2, "10.0.0.1", 1))),
        object(2, Object::Leg(leg(2, "10.0.0.2", 1))),
        object(3, Object::Group([(1, 1), (2, 1)].into())),
        add("192.0.2.0/24", Target::Object(3)),
    ];
    play(&mut router, 1, &writer::frame(&events), Instant::now()).unwrap();
    let changes = router.counts().changes;
    let before = verdicts(&router, "192.0.2.9");
    // The neighbours are not known, so the verdicts name adjacencies.
    let first = before[0];
    let share = before.iter().filter(|verdict| **verdict == first).count();
    assert!((450..=550).contains(&share), "{share} of 1000 flows take one of two legs");
    let frame = writer::frame(&[object(3, Object::Group([(1, 1)].into()))]);
    tell(&mut router, 1, &frame, Instant::now());
    let after = verdicts(&router, "192.0.2.9");
    let left = after[0];
    for (before, after) in before.iter().zip(&after) {
        assert_eq!(*after, left, "one leg is left");
        assert!(*before == left || *before != *after);
    }
    assert_eq!(router.counts().changes, changes);
}

/// Returns the verdict on each of 1,000 flows to an address.
fn verdicts(router: &support::Router, address: &str) -> Vec<Verdict> {
    let to = Flow::to(address.parse().unwrap());
    let flow = |n: u32| Flow { source: std::net::Ipv4Addr::from(n).into(), ..to };
    (0..1000).map(|n| router.plane().forward(254, &flow(n))).collect()
}

#[test]
fn a_route_that_changes_to_fewer_legs_keeps_the_flows_of_those_that_stay() {
    let legs = ["10.0.0.1", "10.0.0.2", "10.0.0.3"].map(|gateway| leg(2, gateway, 1));
    let objects = legs.iter().zip(1..).map(|(&leg, id)| object(id, Object::Leg(leg)));
    let group = |id, members: &[u32]| object(id, Object::Group(members.iter().map(|&id| (id, 1)).collect()));
    let objects: Vec<Event> = objects.chain([group(7, &[1, 2, 3]), group(8, &[1, 3])]).collect();
    let lists = [legs.to_vec(), vec![legs[0], legs[2]]].map(|legs| Target::Legs(legs.into()));
    for [all, fewer] in [lists, [7, 8].map(Target::Object)] {
        let mut router = router();
        tell(&mut router, 1, &writer::frame(&objects), Instant::now());
        tell_more(&mut router, 1, &writer::frame(&[add("192.0.2.0/24", all)]), Instant::now());
        let before = verdicts(&router, "192.0.2.9");
        tell_more(&mut router, 1, &writer::frame(&[add("192.0.2.0/24", fewer)]), Instant::now());
        let after = verdicts(&router, "192.0.2.9");
        let moved = before.iter().zip(&after).filter(|(before, after)| before != after);
        let left: Vec<&Verdict> = moved.map(|(before, _)| before).collect();
        assert!((250..450).contains(&left.len()), "{} flows of one of three legs", left.len());
        assert!(left.iter().all(|verdict| *verdict == left[0]), "only those of the leg that went");
    }
}

/// Changes a frame.
type Damage = fn(&mut Vec<u8>);

#[test]
fn a_malformed_frame_ends_the_connection_and_names_its_place() {
    let frames = made();
    let cases: [(Damage, &str); 5] = [
        (|frame| frame[0] = 2, "FPM frame 2: it begins with 0x02 0x01, not with version 1, type 1"),
        (|frame| frame[1] = 2, "FPM frame 2: it is protobuf; load zebra's module `dplane_fpm_nl`"),
        (|frame| frame[3] = 3, "FPM frame 2: its length is 3"),
        // The length of the prefix.
        (
            |frame| frame[4 + 16 + 1] = 33,
            "FPM frame 2: netlink message at byte 0: route: prefix length 33 is past the 32 bits of the family",
        ),
        // The length of the message.
        (|frame| frame[4] = 200, "FPM frame 2: netlink message at byte 0:"),
    ];
    for (damage, says) in cases {
        let mut stream = frames[0].clone();
        let mut second = frames[1].clone();
        damage(&mut second);
        stream.extend(second);
        stream.extend(&frames[2]);
        let mut router = router();
        let error = play(&mut router, 1, &stream, Instant::now()).unwrap_err().to_string();
        assert!(error.starts_with(says), "{error}");
        assert!(!error.contains('\n'));
        assert_eq!(routes(&router), expected(&frames[0]), "only the frame before was taken");
    }
}

/// `FIBULA_CASES` is the number of changed frames (100,000), `FIBULA_SEED` (22) another choice.
#[test]
fn changed_bytes_neither_panic_nor_stay() {
    let cases = setting("FIBULA_CASES", 100_000) as u32;
    let frames = made();
    let bytes = frames.concat();
    let expected = expected(&bytes);
    let mut random = fastrand::Rng::with_seed(setting("FIBULA_SEED", 22));
    let mut router = router();
    let start = Instant::now();
    let mut refused = 0;
    for number in 0..cases {
        let mut changed = random.choice(&frames).unwrap().clone();
        damage(&mut changed, &mut random);
        refused += u32::from(play(&mut router, 2 * number + 1, &changed, start).is_err());
        if number % 1000 == 0 {
            // The next session tells everything again, and time passes.
            tell(&mut router, 2 * number + 2, &bytes, start);
            pass(&mut router, start + 100 * QUIET);
            assert_eq!(routes(&router), expected, "after {number} changed frames");
        }
    }
    println!("{refused} of {cases} changed frames were refused");
    assert!(refused > cases / 10, "{refused} frames were refused");
}
