use super::super::Origin;
use super::*;

const PREFIX: &str = "10.0.0.0/8";

/// What is announced: by which peer, and of which attributes.
#[derive(Clone, Copy)]
struct Said {
    peer: u8,
    origin: u32,
    length: u32,
    preference: Preference,
    dumped: Option<u64>,
    path_id: Option<u32>,
}

fn said(peer: u8, length: u32) -> Said {
    let origin = 64_500 + u32::from(peer);
    Said { peer, origin, length, preference: Preference::default(), dumped: None, path_id: None }
}

fn event(peer: u8, seconds: u64, what: What) -> Event {
    let peer = Peer { address: [192, 0, 2, peer].into(), asn: 64_500 + u32::from(peer) };
    let (time, speaker) = (Duration::from_secs(seconds), Speaker::default());
    Event { offset: 0, time, peer, speaker, multicast: false, what }
}

/// Announces a path whose next hop is the peer, at second 100 or in a record of a dump.
fn announce(said: Said) -> Event {
    let Said { peer, origin, length, preference, dumped, path_id } = said;
    let next_hop = Some([192, 0, 2, peer].into());
    let path = Path { next_hop, origin: Origin::As(origin), length, preference, details: None };
    let dump = dumped.map(Duration::from_secs);
    let what = What::Announce { prefix: PREFIX.parse().unwrap(), path_id, path, dumped: dump };
    event(peer, dumped.unwrap_or(100), what)
}

fn withdraw(peer: u8) -> Event {
    event(peer, 100, What::Withdraw { prefix: PREFIX.parse().unwrap(), path_id: None })
}

fn paths(choice: PeerChoice, value: Value, events: &[Event]) -> Paths {
    let mut paths = Paths::new(choice, value);
    for event in events {
        paths.apply(event);
    }
    paths
}

/// Returns the value of the prefix after some events, `-` if it has none.
fn answer(value: Value, events: &[Event]) -> String {
    let mut paths = paths(PeerChoice::All, value, events);
    let answers = paths.answers();
    answers.first().map_or_else(|| "-".into(), |&(_, value)| paths.value(value).to_string())
}

/// Returns what each event did, with `=` before what is no change.
fn play(choice: PeerChoice, events: &[Event]) -> Vec<String> {
    let mut paths = Paths::new(choice, Value::NextHop);
    let mut outcomes = Vec::new();
    for event in events {
        paths.play(event, |_, outcome| outcomes.push(outcome));
    }
    let name = |outcome: Outcome| {
        let value = outcome.value.map_or_else(|| "-".to_owned(), |value| paths.value(value).to_string());
        if outcome.is_change { value } else { format!("={value}") }
    };
    outcomes.into_iter().map(name).collect()
}

#[test]
fn the_decision_process_has_an_order() {
    let local = |local| Preference { local: Some(local), ..Preference::default() };
    let exit = |neighbour, exit| Preference { exit, neighbour, ..Preference::default() };
    let with = |peer, length, preference| announce(Said { preference, ..said(peer, length) });
    let best = |events: &[Event]| {
        // The order of events means nothing.
        let mut backwards = events.to_vec();
        backwards.reverse();
        let best = answer(Value::NextHop, events);
        assert_eq!(answer(Value::NextHop, &backwards), best);
        best.strip_prefix("192.0.2.").unwrap().parse::<u8>().unwrap()
    };
    assert_eq!(best(&[with(1, 1, local(50)), with(2, 9, local(200)), with(3, 2, Preference::default())]), 2);
    assert_eq!(best(&[with(1, 3, local(100)), with(2, 2, Preference::default())]), 2);
    let incomplete = Preference { origin: 2, ..exit(64_501, 0) };
    assert_eq!(best(&[with(1, 2, incomplete), with(2, 2, exit(64_501, 9))]), 2);
    // Discriminators are compared among the paths of one neighbour: 1 loses to 3, not to 2.
    assert_eq!(
        best(&[with(1, 2, exit(64_501, 9)), with(3, 2, exit(64_501, 5)), with(2, 2, exit(64_502, 7))]),
        2
    );
    assert_eq!(
        best(&[with(1, 2, exit(64_501, 5)), with(3, 2, exit(64_501, 9)), with(2, 2, exit(64_502, 0))]),
        1
    );
    let known = |peer, is_internal, router_id| Event {
        speaker: Speaker { is_internal: Some(is_internal), router_id: Some(router_id) },
        ..announce(said(peer, 2))
    };
    assert_eq!(best(&[known(1, true, 1), known(2, false, 9), known(3, false, 8)]), 3);
    assert_eq!(best(&[known(2, false, 9), known(1, false, 9)]), 1);
}

#[test]
fn changes_are_told_apart_from_what_changes_nothing() {
    let all = PeerChoice::All;
    let short = |peer, length| announce(said(peer, length));
    let events = [short(3, 4), short(2, 4), short(1, 5), withdraw(2), withdraw(3)];
    assert_eq!(play(all, &events), ["192.0.2.3", "192.0.2.2", "192.0.2.3", "192.0.2.1"]);
    let events = [short(1, 1), short(2, 2), withdraw(2), withdraw(1), withdraw(1)];
    assert_eq!(play(all, &events), ["192.0.2.1", "-", "=-"]);
    // A path that grows longer loses to the next.
    let events = [short(1, 1), short(2, 2), short(1, 3), short(2, 2)];
    assert_eq!(play(all, &events), ["192.0.2.1", "192.0.2.2", "=192.0.2.2"]);
}

#[test]
fn what_is_told_of_a_peer_later_ranks_its_paths_again() {
    let told = |is_internal, router_id| Event {
        speaker: Speaker { router_id, is_internal },
        ..event(1, 100, What::State { from: 3, to: 1 })
    };
    let paths = [announce(said(1, 2)), announce(said(2, 2))];
    let after = |events: &[Event]| play(PeerChoice::All, &[&paths[..], events].concat())[1..].to_vec();
    assert_eq!(after(&[told(Some(true), None), told(Some(true), None)]), ["192.0.2.2"]);
    assert_eq!(after(&[told(None, Some(7)), told(None, None)]), ["192.0.2.2"]);
    // A session may be begun by another router.
    assert_eq!(after(&[told(None, Some(7)), told(None, Some(0))]), ["192.0.2.2", "192.0.2.1"]);
}

#[test]
fn a_session_begins_and_ends_without_routes() {
    let state = |peer, from, to| event(peer, 100, What::State { from, to });
    let events = [announce(said(1, 1)), announce(said(2, 2)), state(2, 3, 1), state(1, 6, 1), state(2, 5, 6)];
    assert_eq!(play(PeerChoice::All, &events), ["192.0.2.1", "192.0.2.2", "-"]);
}

#[test]
fn a_named_peer_is_heard_alone() {
    let events = [announce(said(1, 1)), announce(said(2, 2)), withdraw(1)];
    let of = |peer| play(PeerChoice::parse(Some(peer)).unwrap(), &events);
    assert_eq!(of("192.0.2.2"), ["192.0.2.2"]);
    for asn in ["AS64501", "64501", "0.64501"] {
        assert_eq!(of(asn), ["192.0.2.1", "-"]);
    }
    assert!(PeerChoice::parse(Some("x")).is_err());
    let paths = paths(PeerChoice::As(1), Value::NextHop, &events[..1]);
    assert_eq!(paths.unmatched().unwrap(), "no route of peer AS1 (there are 192.0.2.1 (AS64501))");
}

#[test]
fn a_withdrawal_after_a_dump_leaves_the_paths_of_other_peers() {
    let dumped = |peer, length| announce(Said { dumped: Some(90), ..said(peer, length) });
    let dump = [dumped(3, 4), dumped(2, 3), dumped(1, 5)];
    assert_eq!(answer(Value::NextHop, &dump), "192.0.2.2");
    let events = [&dump[..], &[withdraw(2)]].concat();
    assert_eq!(answer(Value::NextHop, &events), "192.0.2.3");
}

#[test]
fn a_dumped_record_holds_from_its_time_on() {
    let dump = announce(Said { dumped: Some(100), ..said(1, 1) });
    let gone = |seconds| Event { time: Duration::from_secs(seconds), ..withdraw(1) };
    let down = |seconds| event(1, seconds, What::State { from: 6, to: 1 });
    let after = |event: &Event| answer(Value::NextHop, &[dump.clone(), event.clone()]);
    assert_eq!((after(&gone(99)).as_str(), after(&gone(100)).as_str()), ("192.0.2.1", "-"));
    assert_eq!((after(&down(99)).as_str(), after(&down(100)).as_str()), ("192.0.2.1", "-"));
    assert!(!paths(PeerChoice::All, Value::NextHop, &[dump]).apply(&gone(99)));
}

#[test]
fn a_record_without_path_identifiers_has_several_paths_of_a_peer() {
    let dumped =
        |seconds, origin, length| announce(Said { dumped: Some(seconds), origin, ..said(1, length) });
    let twice = [dumped(90, 64_700, 2), dumped(90, 64_701, 4)];
    assert_eq!(answer(Value::OriginAs, &twice), "64700");
    assert_eq!(answer(Value::Origins, &twice), "[64700,64701]");
    // The next dump has what is there then, and a withdrawal takes all.
    let again = [&twice[..], &[dumped(95, 64_702, 4)]].concat();
    assert_eq!(answer(Value::Origins, &again), "[64702]");
    assert_eq!(answer(Value::Origins, &[&twice[..], &[withdraw(1)]].concat()), "-");
}

#[test]
fn the_origins_of_all_paths_are_told() {
    for dumped in [None, Some(90)] {
        let of = |peer, origin, length| announce(Said { origin, dumped, ..said(peer, length) });
        // The first path of 64601 goes, and 64602, which 2 had, stays.
        let shared = [of(1, 64_601, 3), of(2, 64_602, 5), of(3, 64_601, 2)];
        assert_eq!(answer(Value::Origins, &shared), "[64601,64602]");
        assert_eq!(answer(Value::Origins, &[&shared[..], &[withdraw(1)]].concat()), "[64601,64602]");
        let gone = [&shared[..], &[withdraw(1), withdraw(3)]].concat();
        assert_eq!(answer(Value::Origins, &gone), "[64602]");
    }
}
