//! Tables that a feed changes while they are asked.
//!
//! ```text
//!   a feed, 1,000 changes a second, each with a number as its value ──▶ the service
//!           └──▶ what each prefix had after each change                    │ 100,000 addresses
//!                      └──▶ every answer is that after one of the changes ◀┘ and more
//! ```

mod common;

use common::{Service, lines, start, until};
use fibula::{IpPrefix, NextHopInfo, Prefix};
use fibula_serve::Settings;
use serde_json::Value;
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The /24s that change, below a /8 that stays.
const CHANGING: u32 = 64;

/// The changes of a second.
const RATE: u32 = 1_000;

fn service() -> Service {
    start(Settings::new(Vec::new()))
}

fn prefix(at: u32) -> IpPrefix {
    Prefix::masked(10 << 24 | at << 8, 24).unwrap().into()
}

/// What the prefixes have had: the numbers of the changes of each, and whether it then had a route.
/// Its value is the number.
struct History(Vec<Vec<(u32, bool)>>);

impl History {
    /// Returns the value of a prefix after a change.
    fn after(&self, change: u32, at: u32) -> Option<u32> {
        let all = &self.0[at as usize];
        let (number, is_there) = all[..all.partition_point(|&(number, _)| number <= change)].last()?;
        is_there.then_some(*number)
    }

    /// Returns the number of a change after which all of these were the values, if there is one
    /// among the first `most`.
    fn when(&self, values: &[(u32, Option<u32>)], most: u32) -> Option<u32> {
        // Not before the latest value, and not after the first that has replaced one.
        let from = values.iter().filter_map(|&(_, value)| value).max().unwrap_or(0);
        (from..=most).find(|&change| values.iter().all(|&(at, value)| self.after(change, at) == value))
    }
}

#[test]
fn answers_are_those_after_one_of_the_changes() {
    const ASKED: usize = 100_000;
    const SAID: u32 = 2_000;
    let service = service();
    let cover = "10.0.0.0/8".parse::<IpPrefix>().unwrap();
    service.handle.change("fed", cover, Some(&NextHopInfo::AutonomousSystem(0)));
    until("the table is there", || service.get("/v1/lookup?addr=10.9.9.9").json()[0]["next_hop"] == 0);
    let (is_over, checked, said) = (AtomicBool::new(false), AtomicUsize::new(0), AtomicU32::new(0));
    let (history, answers) = thread::scope(|scope| {
        let feed = scope.spawn(|| {
            let mut random = fastrand::Rng::with_seed(1);
            let mut history = History(vec![Vec::new(); CHANGING as usize]);
            let start = Instant::now();
            for number in 1_u32.. {
                let (at, is_there) = (random.u32(..CHANGING), random.u8(..4) > 0);
                history.0[at as usize].push((number, is_there));
                said.store(number, Ordering::SeqCst);
                let value = NextHopInfo::AutonomousSystem(number);
                service.handle.change("fed", prefix(at), is_there.then_some(&value));
                if is_over.load(Ordering::Relaxed) {
                    break;
                }
                thread::sleep(
                    (start + Duration::from_secs(1) * number / RATE).duration_since(Instant::now()),
                );
            }
            history
        });
        let clients: Vec<_> = (0..3)
            .map(|seed| {
                let (service, is_over, checked, said) = (&service, &is_over, &checked, &said);
                scope.spawn(move || {
                    let mut random = fastrand::Rng::with_seed(seed);
                    let mut client = service.client();
                    let mut answers = Vec::new();
                    while checked.load(Ordering::Relaxed) < ASKED || said.load(Ordering::Relaxed) < SAID {
                        let asked: Vec<u32> =
                            (0..200).map(|_| 10 << 24 | random.u32(..CHANGING << 8)).collect();
                        let body = lines(asked.iter().map(|&address| Ipv4Addr::from_bits(address)));
                        let accept = [("Accept", "application/x-ndjson")];
                        let answer = client.ask("POST", "/v1/lookup?table=fed", &accept, body.as_bytes());
                        let values =
                            answer.text().lines().zip(&asked).map(|(row, address)| value(row, *address));
                        answers.push((values.collect::<Vec<_>>(), said.load(Ordering::SeqCst)));
                        assert_eq!(answers.last().unwrap().0.len(), asked.len());
                        checked.fetch_add(asked.len(), Ordering::Relaxed);
                    }
                    is_over.store(true, Ordering::Relaxed);
                    answers
                })
            })
            .collect();
        let answers: Vec<_> = clients.into_iter().flat_map(|client| client.join().unwrap()).collect();
        (feed.join().unwrap(), answers)
    });
    for (values, most) in &answers {
        assert!(history.when(values, *most).is_some(), "no state had these: {values:?}");
    }
    // The check can fail: values of two states.
    let last = said.into_inner();
    let at = history.0.iter().position(|all| all.len() > 2 && all[0].1 && all.last().unwrap().1).unwrap();
    let both = [history.0[at][0].0, history.0[at].last().unwrap().0].map(|value| (at as u32, Some(value)));
    assert_eq!((history.when(&both[..1], last).is_some(), history.when(&both, last)), (true, None));
    // What was said last is what is there.
    let expected: BTreeMap<u32, u32> =
        (0..CHANGING).filter_map(|at| Some((at, history.after(last, at)?))).collect();
    until("the last state is there", || {
        let rows = service.get("/v1/routes?table=fed&covered-by=10.0.0.0/8").json();
        let rows = rows.as_array().unwrap().iter().filter(|row| row["prefix"] != "10.0.0.0/8");
        let route = |row: &Value| {
            let prefix: Prefix<u32> = row["prefix"].as_str().unwrap().parse().unwrap();
            (prefix.first() >> 8 & 0xFFFF, row["next_hop"].as_u64().unwrap() as u32)
        };
        rows.map(route).collect::<BTreeMap<u32, u32>>() == expected
    });
    eprintln!("{} addresses, {last} changes", checked.into_inner());
}

/// Returns which prefix a row is about, and its value; none if the cover answers.
fn value(row: &str, address: u32) -> (u32, Option<u32>) {
    let row: Value = serde_json::from_str(row).unwrap();
    let at = address >> 8 & 0xFFFF;
    if row["prefix"] == "10.0.0.0/8" {
        return (at, None);
    }
    assert_eq!(row["prefix"], prefix(at).to_string());
    (at, Some(row["next_hop"].as_u64().unwrap() as u32))
}

#[test]
fn who_reads_slowly_does_not_hold_a_feed_up() {
    let mut settings = Settings::new(Vec::new());
    settings.limits.rows = 1_000_000;
    let service = start(settings);
    let value = |number| NextHopInfo::AutonomousSystem(number);
    // More rows than the buffers between the service and its reader hold.
    for at in 0..400_000 {
        let prefix = Prefix::masked(11 << 24 | at << 4, 28).unwrap();
        service.handle.change("fed", prefix.into(), Some(&value(at)));
    }
    until("the table is there", || service.get("/v1/tables").json()[0]["routes"]["ipv4"] == 400_000);
    let mut slow = service.client();
    let ask = b"GET /v1/routes?table=fed HTTP/1.1\r\nHost: a\r\n\r\n";
    std::io::Write::write_all(slow.stream(), ask).unwrap();
    assert_eq!(slow.head().unwrap().status, 200);
    for number in 1..5 {
        service.handle.change("fed", prefix(1), Some(&value(number)));
        let text = format!("\"next_hop\":{number},");
        until("the change is seen", || service.get("/v1/lookup?addr=10.0.1.7").text().contains(&text));
    }
    // The reader has the rows of the table as it was, and waits for some of them still.
    let mut rows = Vec::new();
    while let Some(part) = slow.chunk().unwrap().filter(|part| !part.is_empty()) {
        rows.extend(part);
    }
    let rows: Value = serde_json::from_slice(&rows).unwrap();
    assert_eq!(rows.as_array().unwrap().len(), 400_000);
}

#[test]
fn tables_of_feeds_come_and_go_and_changes_are_events() {
    let service = service();
    assert_eq!(service.get("/v1/tables").json(), serde_json::json!([]));
    assert_eq!(service.get("/v1/routes").error(), "parameter table is missing: expected none yet");
    let mut events = service.client();
    std::io::Write::write_all(events.stream(), b"GET /v1/events HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    assert_eq!(events.head().unwrap().status, 200);
    let value = NextHopInfo::AutonomousSystem(7);
    service.handle.change("2001:db8::1", prefix(1), Some(&value));
    until("the table is there", || {
        service.get("/v1/lookup?addr=10.0.1.7").text().contains("\"next_hop\":7,")
    });
    let about = service.get("/v1/tables").json()[0].clone();
    assert_eq!((&about["table"], &about["file"]), (&"2001-db8--1".into(), &"feed".into()));
    let mut heard = String::new();
    while !heard.contains("event: change\n") {
        heard += &String::from_utf8(events.chunk().unwrap().unwrap()).unwrap();
    }
    assert!(heard.contains(r#""change":"added","prefix":"10.0.1.0/24","before":null,"after":7"#), "{heard}");
    service.handle.forget("2001:db8::1");
    let gone = String::from_utf8(events.chunk().unwrap().unwrap()).unwrap();
    assert!(gone.starts_with("event: gone\ndata: {") && gone.contains("2001-db8--1"), "{gone}");
    assert_eq!(service.get("/v1/tables").json(), serde_json::json!([]));
}
