//! Tables that are replaced while they are asked.
//!
//! ```text
//!   a file, replaced 100 times ──▶ the service ◀── four clients, 100,000 addresses and more
//!            each version ──▶ an oracle ──────────▶ each answer is that of its generation
//! ```

mod common;

use common::{Answer, Tables, lines, start, until};
use fibula::{Fib, NextHop, Rib, Route};
use fibula_serve::Settings;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// The versions that follow one another.
const VERSIONS: usize = 4;

/// How often the table is replaced.
const REPLACED: u64 = 100;

/// Some routes, and who knows their answers.
struct Version {
    text: String,
    routes: Vec<Route<u32>>,
    oracle: Fib<u32>,
}

impl Version {
    /// Makes nested routes at random, each with a value of its own.
    fn new(seed: usize) -> Self {
        let mut random = fastrand::Rng::with_seed(seed as u64);
        let mut prefix =
            || fibula::Prefix::masked(10 << 24 | random.u32(..1 << 24), random.u8(8..=32)).unwrap();
        let rib: Rib<u32> = (0..2000).map(|_| Route { prefix: prefix(), next_hop: NextHop(1) }).collect();
        let routes: Vec<Route<u32>> =
            rib.iter().zip(1..).map(|(route, number)| Route { next_hop: NextHop(number), ..route }).collect();
        let mut text = String::new();
        for route in &routes {
            writeln!(text, "{} {}", route.prefix, Self::value(seed, route.next_hop)).unwrap();
        }
        let oracle = Fib::build("oracle", &routes.iter().copied().collect()).unwrap();
        Self { text, routes, oracle }
    }

    fn value(seed: usize, next_hop: NextHop) -> u32 {
        next_hop.0 * 10 + seed as u32
    }

    /// Returns the row of an address without its address.
    fn row(&self, seed: usize, address: u32) -> (Value, Value) {
        let next_hop = self.oracle.lookup_index(address);
        let Some(route) = (next_hop.0 as usize).checked_sub(1).map(|at| self.routes[at]) else {
            return (Value::Null, Value::Null);
        };
        (route.prefix.to_string().into(), Self::value(seed, next_hop).into())
    }
}

#[test]
fn each_answer_is_right_for_its_generation_while_the_table_is_replaced() {
    let versions: Vec<Version> = (0..VERSIONS).map(Version::new).collect();
    let tables = Tables::of(&[("rib", &versions[0].text)]);
    let service = start(tables.settings(&["rib"]));
    let (is_over, checked) = (AtomicBool::new(false), AtomicUsize::new(0));
    let generation = || service.get("/v1/tables").json()[0]["generation"].as_u64().unwrap();
    let version = |generation: u64| ((generation - 1) % VERSIONS as u64) as usize;
    let check = |generation: u64, address: u32, row: &Value| {
        let seed = version(generation);
        let (prefix, next_hop) = versions[seed].row(seed, address);
        let ip = Ipv4Addr::from_bits(address);
        assert_eq!(row["address"], ip.to_string());
        assert_eq!(
            (&row["prefix"], &row["next_hop"]),
            (&prefix, &next_hop),
            "{ip} of generation {generation}"
        );
    };
    thread::scope(|scope| {
        for client in 0..4 {
            let (check, is_over, checked, service) = (&check, &is_over, &checked, &service);
            scope.spawn(move || {
                let mut random = fastrand::Rng::with_seed(1000 + client);
                let mut connection = service.client();
                while !is_over.load(Ordering::Relaxed) || checked.load(Ordering::Relaxed) < 100_000 {
                    let addresses: Vec<u32> = (0..500).map(|_| 10 << 24 | random.u32(..1 << 24)).collect();
                    let body: String = lines(addresses.iter().map(|&it| Ipv4Addr::from_bits(it)));
                    let accept = [("Accept", "application/json")];
                    let answer = connection.ask("POST", "/v1/lookup", &accept, body.as_bytes());
                    assert_eq!(answer.status, 200);
                    let rows = answer.json();
                    assert_eq!(rows.as_array().unwrap().len(), addresses.len());
                    for (&address, row) in addresses.iter().zip(rows.as_array().unwrap()) {
                        check(answer.generation(), address, row);
                    }
                    for &address in &addresses[..20] {
                        let target = format!("/v1/lookup?addr={}", Ipv4Addr::from_bits(address));
                        let one = connection.ask("GET", &target, &[], b"");
                        assert_eq!(one.status, 200);
                        let row = one.json()[0].clone();
                        check(row["generation"].as_u64().unwrap(), address, &row);
                    }
                    checked.fetch_add(addresses.len() + 20, Ordering::Relaxed);
                }
            });
        }
        for replaced in 1..=REPLACED {
            tables.replace("rib", &versions[version(replaced + 1)].text);
            until("the next generation", || generation() == replaced + 1);
        }
        is_over.store(true, Ordering::Relaxed);
    });
    assert!(checked.load(Ordering::Relaxed) >= 100_000);
    assert_eq!(generation(), REPLACED + 1);
}

#[test]
fn a_broken_replacement_is_told_and_not_taken() {
    let tables = Tables::of(&[("rib", "10.0.0.0/8 1\n")]);
    let service = start(tables.settings(&["rib"]));
    let about = || service.get("/v1/tables").json()[0].clone();
    tables.replace("rib", "10.0.0.0/8 2\n10.0.0.0/33 2\n");
    until("the failure is told", || !about()["error"].is_null());
    assert!(
        about()["error"]
            .as_str()
            .unwrap()
            .ends_with("line 2: prefix length 33 is past the 32 bits of the family")
    );
    assert!(about()["error_since"].as_str().unwrap().starts_with("20"));
    assert_eq!(about()["generation"], 1);
    let health = service.get("/healthz");
    assert_eq!((health.status, &health.json()["status"]), (200, &json!("stale")));
    assert!(health.json()["errors"]["rib"]["error"].is_string());
    let next_hop = |answer: Answer| answer.json()[0]["next_hop"].clone();
    assert_eq!(next_hop(service.get("/v1/lookup?addr=10.0.0.1")), 1);
    let metrics = service.get("/metrics");
    for line in ["fibula_serve_stale{table=\"rib\"} 1", "fibula_serve_failed_reads_total{table=\"rib\"} 1"] {
        assert!(metrics.text().lines().any(|other| other == line), "{line} in {}", metrics.text());
    }
    // A file that is gone, and one that is good again.
    std::fs::remove_file(tables.path("rib")).unwrap();
    until("the file is missed", || about()["error"].as_str().unwrap().contains("No such file"));
    assert_eq!(next_hop(service.get("/v1/lookup?addr=10.0.0.1")), 1);
    tables.replace(
        "rib",
        "10.0.0.0/8 3
",
    );
    until("the file is read", || about()["error"].is_null());
    assert_eq!(about()["generation"], 2);
    assert_eq!(next_hop(service.get("/v1/lookup?addr=10.0.0.1")), 3);
    assert_eq!(service.get("/healthz").json()["status"], "ok");
}

#[test]
fn a_reload_that_is_asked_for_reads_a_file_that_looks_the_same() {
    let tables = Tables::of(&[
        ("rib", "10.0.0.0/8 1\n"),
        ("vrps.csv", "ASN,IP Prefix,Max Length\nAS1,10.0.0.0/8,8\n"),
    ]);
    let settings = Settings {
        poll: Duration::from_hours(1),
        vrps: Some(tables.path("vrps.csv")),
        ..tables.settings(&["rib"])
    };
    let service = start(settings);
    let rov = || service.get("/v1/rov?prefix=10.0.0.0/8&origin=1").json()[0]["rov"].clone();
    assert_eq!(rov(), "valid");
    tables.replace("rib", "10.0.0.0/8 2\n");
    tables.replace("vrps.csv", "ASN,IP Prefix,Max Length\nAS2,10.0.0.0/8,8\n");
    thread::sleep(Duration::from_millis(50));
    let row = || service.get("/v1/lookup?addr=10.0.0.1").json()[0].clone();
    assert_eq!((&row()["next_hop"], &row()["generation"]), (&json!(1), &json!(1)));
    service.handle.reload();
    until("the table is read again", || row()["generation"] == 2);
    assert_eq!(row()["next_hop"], 2);
    until("the payloads are read again", || rov() == "invalid-as");
}

#[test]
fn listeners_are_told_what_changed() {
    let tables = Tables::of(&[("rib", "10.0.0.0/8 1\n10.1.0.0/16 1\n")]);
    let service = start(tables.settings(&["rib"]));
    let mut client = service.client();
    std::io::Write::write_all(client.stream(), b"GET /v1/events HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    assert_eq!(client.head().unwrap().header("content-type"), Some("text/event-stream"));
    let mut next = || String::from_utf8(client.chunk().unwrap().unwrap()).unwrap();
    assert_eq!(next(), "event: table\ndata: {\"table\":\"rib\",\"generation\":1}\n\n");
    tables.replace("rib", "10.0.0.0/8 2\n2001:db8::/32 1\n");
    let told = next();
    let data = |kind: &str| -> Vec<Value> {
        let blocks =
            told.split("\n\n").filter_map(|block| block.strip_prefix(&format!("event: {kind}\ndata: ")));
        blocks.map(|data| serde_json::from_str(data).unwrap()).collect()
    };
    let expected = json!({ "table": "rib", "generation": 2, "ipv4": 1, "ipv6": 1,
                           "added": 1, "removed": 1, "changed": 1, "told": 3 });
    assert_eq!(data("reload"), [expected]);
    let change = |change: &str, prefix: &str, before: Value, after: Value| json!({ "change": change, "prefix": prefix, "before": before, "after": after });
    let changes = [
        change("changed", "10.0.0.0/8", json!(1), json!(2)),
        change("removed", "10.1.0.0/16", json!(1), Value::Null),
        change("added", "2001:db8::/32", Value::Null, json!(1)),
    ];
    assert_eq!(data("change"), changes);
    // More changes than are told.
    let many = lines((0..5000_u32).map(|n| format!("10.{}.{}.0/24 3", n >> 8, n & 255)));
    tables.replace("rib", &format!("2001:db8::/32 1\n{many}"));
    let told = next();
    assert!(told.contains("\"added\":5000,\"removed\":1,\"changed\":0,\"told\":1000"), "{}", &told[..200]);
    assert_eq!(told.matches("event: change").count(), 1000);
    // The end of the service is the end of the stream.
    service.handle.stop();
    assert!(client.chunk().unwrap().is_none_or(|last| last.is_empty()));
}
