//! What each path answers, on loopback.

mod common;

use common::{Service, Tables, lines, start, try_start};
use fibula_io::table::{ReadOptions, Value as Taken};
use fibula_serve::{ROUTES, Settings};
use serde_json::{Value, json};

const TABLE: &str = "0.0.0.0/0 192.0.2.254\n10.0.0.0/8 192.0.2.1\n10.1.0.0/16 192.0.2.2 dev eth0\n\
                     2001:db8::/32 64500\n";

const OTHER: &str = "10.0.0.0/8 192.0.2.1\n10.1.0.0/16 192.0.2.9\n10.2.0.0/16 192.0.2.2\n";

const FIELDS: &str = "prefix,country,asn\n192.0.2.0/24,BE,64500\n198.51.100.0/24,,64501\n";

fn tables() -> Tables {
    Tables::of(&[("rib", TABLE), ("other", OTHER), ("sites", FIELDS)])
}

fn service() -> (Tables, Service) {
    let tables = tables();
    let service = start(tables.settings(&["rib", "other", "sites"]));
    (tables, service)
}

#[test]
fn one_address_is_looked_up_in_all_tables_or_in_one() {
    let (_tables, service) = service();
    let row = |table: &str, prefix: Value, next_hop: Value| {
        json!({ "address": "10.1.2.3", "prefix": prefix, "next_hop": next_hop, "table": table,
                "generation": 1 })
    };
    let rib = row("rib", "10.1.0.0/16".into(), "192.0.2.2 dev eth0".into());
    let answer = service.get("/v1/lookup?addr=10.1.2.3");
    let others =
        [row("other", "10.1.0.0/16".into(), "192.0.2.9".into()), row("sites", Value::Null, Value::Null)];
    assert_eq!(answer.json(), json!([rib, others[0], others[1]]));
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert_eq!(service.get("/v1/lookup?addr=10.1.2.3&table=rib").json(), json!([rib]));
    let all = [
        rib,
        row("rib", "10.0.0.0/8".into(), "192.0.2.1".into()),
        row("rib", "0.0.0.0/0".into(), "192.0.2.254".into()),
    ];
    assert_eq!(service.get("/v1/lookup?addr=10.1.2.3&table=rib&all").json(), json!(all));
    // Prefixes, the other family, and values with fields.
    let first = |target: &str| service.get(target).json()[0].clone();
    assert_eq!(first("/v1/lookup?addr=10.0.0.0%2F12&table=rib")["prefix"], "10.0.0.0/8");
    assert_eq!(first("/v1/lookup?addr=2001:db8::7&table=rib")["next_hop"], 64500);
    assert_eq!(first("/v1/lookup?addr=2001:db9::7&table=rib&all=1")["prefix"], Value::Null);
    let fields = json!({ "country": "BE", "asn": 64500 });
    assert_eq!(first("/v1/lookup?addr=192.0.2.7&table=sites")["next_hop"], fields);
    // A line each.
    let ndjson = [("Accept", "application/x-ndjson")];
    let lines = service.client().ask("GET", "/v1/lookup?addr=10.1.2.3&table=rib&all", &ndjson, b"");
    let lines: Vec<Value> = lines.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines, all);
}

#[test]
fn what_cannot_be_answered_is_refused_with_a_sentence() {
    let (_tables, service) = service();
    for (target, status, what) in [
        ("/v1/lookup", 400, "parameter addr is missing"),
        ("/v1/lookup?addr=", 400, "addr: \"\": expected an IPv4 or IPv6 address or prefix"),
        ("/v1/lookup?addr=10.0.0.0/33", 400, "addr: \"10.0.0.0/33\": prefix length 33 is past the 32 bits"),
        ("/v1/lookup?addr=10.0.0.1/8", 400, "addr: \"10.0.0.1/8\": "),
        ("/v1/lookup?addr=%FF%FE", 400, "addr: "),
        ("/v1/lookup?addr=1.2.3.4&table=none", 404, "no table \"none\": expected rib, other, sites"),
        ("/v1/lookup?addr=1.2.3.4&tabel=rib", 400, "no parameter \"tabel\": expected addr, table, all"),
        ("/v1/lookup?addr=1.2.3.4&addr=1.2.3.5", 400, "parameter addr is given twice"),
        ("/v1/lookup?addr=1.2.3.4&all=7", 400, "all: \"7\" is neither true nor false"),
        ("/v1/tables?x", 400, "no parameter \"x\": expected none"),
        ("/v1/routes", 400, "parameter table is missing: expected rib, other, sites"),
        ("/v1/routes?table=rib&limit=1000000000", 400, "limit: 1000000000 is more than the 100000 rows"),
        ("/v1/routes?table=rib&limit=x", 400, "limit: \"x\" is no number"),
        ("/v1/routes?table=rib&covering=::/0&covered-by=::/0", 400, "covered-by and covering are given both"),
        ("/v1/diff?from=rib", 400, "parameter to is missing"),
        ("/v1/rov?prefix=10.0.0.0/8", 404, "no RPKI payloads"),
        ("/v2/lookup", 404, "nothing is at this path"),
        ("/../../etc/passwd", 404, "nothing is at this path"),
    ] {
        let answer = service.get(target);
        assert_eq!(answer.status, status, "{target}: {}", answer.text());
        assert!(answer.error().starts_with(what), "{target}: {}", answer.text());
        assert_eq!(answer.header("content-type"), Some("application/json"), "{target}");
    }
    let long = format!("/v1/lookup?addr={}", "1".repeat(10_000));
    assert!(service.get(&long).error().len() < 200);
    assert_eq!(service.client().ask("DELETE", "/v1/lookup?addr=1.2.3.4", &[], b"").status, 405);
    let accept = service.client().ask("GET", "/v1/lookup?addr=1.2.3.4", &[("Accept", "image/png")], b"");
    assert_eq!(
        (accept.status, accept.error().as_str()),
        (406, "Accept: expected application/json, application/x-ndjson")
    );
}

#[test]
fn the_tables_tell_what_they_are() {
    let tables = Tables::of(&[(
        "rib",
        "10.0.0.0/8 via 192.0.2.1 dev eth0\n10.0.0.0/8 tos 0x10 via 192.0.2.9 dev eth1\n",
    )]);
    let service = start(tables.settings(&["rib"]));
    let about = service.get("/v1/tables").json()[0].clone();
    let loaded = about["loaded"].as_str().unwrap();
    assert!(loaded.starts_with("20") && loaded.ends_with('Z') && loaded.len() == 20, "{loaded}");
    assert!(about["bytes"].as_u64().unwrap() > 0);
    assert_eq!(about["routes"], json!({ "ipv4": 1, "ipv6": 0 }));
    assert_eq!(about["report"], json!(["left out: conditional route, 1 time, first at line 2"]));
    assert_eq!(about["file"], tables.path("rib").to_str().unwrap());
    assert!(about["engine"]["ipv4"].is_string() && about["engine"]["ipv6"].is_null());
    for (key, value) in [
        ("table", json!("rib")),
        ("format", json!("ip-route")),
        ("generation", json!(1)),
        ("values", json!(1)),
        ("error", Value::Null),
        ("error_since", Value::Null),
    ] {
        assert_eq!(about[key], value, "{key}");
    }
    let health = service.get("/healthz").json();
    assert_eq!((&health["status"], &health["errors"]), (&json!("ok"), &json!({})));
}

#[test]
fn routes_and_differences_are_rows() {
    let (_tables, service) = service();
    let prefixes = |target: &str| -> Vec<String> {
        let answer = service.get(target);
        assert_eq!(answer.status, 200, "{}", answer.text());
        let prefix = |row: &Value| row["prefix"].as_str().unwrap().to_owned();
        answer.json().as_array().unwrap().iter().map(prefix).collect()
    };
    assert_eq!(prefixes("/v1/routes?table=rib"), ["0.0.0.0/0", "10.0.0.0/8", "10.1.0.0/16", "2001:db8::/32"]);
    assert_eq!(prefixes("/v1/routes?table=rib&covered-by=10.0.0.0/7"), ["10.0.0.0/8", "10.1.0.0/16"]);
    assert_eq!(
        prefixes("/v1/routes?table=rib&covering=10.1.2.3"),
        ["10.1.0.0/16", "10.0.0.0/8", "0.0.0.0/0"]
    );
    assert_eq!(prefixes("/v1/routes?table=rib&covered-by=11.0.0.0/8"), [""; 0]);
    let cut = service.get("/v1/routes?table=rib&limit=2");
    assert_eq!(cut.header("fibula-truncated"), Some("true"));
    assert_eq!(cut.json().as_array().unwrap().len(), 2);
    assert_eq!(service.get("/v1/routes?table=rib&limit=4").header("fibula-truncated"), None);
    let difference = service.get("/v1/diff?from=rib&to=other");
    assert_eq!(difference.header("fibula-generation"), Some("1, 1"));
    let row = |change: &str, prefix: &str, before: Value, after: Value| json!({ "change": change, "prefix": prefix, "before": before, "after": after });
    let expected = json!([
        row("removed", "0.0.0.0/0", json!("192.0.2.254"), Value::Null),
        row("changed", "10.1.0.0/16", json!("192.0.2.2 dev eth0"), json!("192.0.2.9")),
        row("added", "10.2.0.0/16", Value::Null, json!("192.0.2.2")),
        row("removed", "2001:db8::/32", json!(64500), Value::Null),
    ]);
    assert_eq!(difference.json(), expected);
    assert_eq!(service.get("/v1/diff?from=rib&to=rib").json(), json!([]));
    // More than what waits for a client, in parts.
    let many = lines((0..60_000_u32).map(|n| format!("10.{}.{}.0/24 {n}", n >> 8, n & 255)));
    let tables = Tables::of(&[("many", &many)]);
    let service = start(tables.settings(&["many"]));
    assert_eq!(service.get("/v1/routes").json().as_array().unwrap().len(), 60_000);
}

#[test]
fn origins_are_validated() {
    let vrps = "ASN,IP Prefix,Max Length\nAS64500,192.0.2.0/24,25\n";
    let tables = Tables::of(&[
        ("rib", "192.0.2.0/24 64500\n192.0.2.0/26 64500\n198.51.100.0/24 192.0.2.1\n"),
        ("vrps.csv", vrps),
    ]);
    let options = ReadOptions { value: Taken::OriginAs, ..ReadOptions::default() };
    let settings = Settings { vrps: Some(tables.path("vrps.csv")), options, ..tables.settings(&["rib"]) };
    let service = start(settings);
    for (target, prefix, origin, rov) in [
        ("prefix=192.0.2.0/25&origin=64500", "192.0.2.0/25", 64500, "valid"),
        ("prefix=192.0.2.0/25&origin=AS64501", "192.0.2.0/25", 64501, "invalid-as"),
        ("prefix=192.0.2.1", "192.0.2.0/26", 64500, "invalid-length"),
        ("prefix=192.0.2.128/25", "192.0.2.0/24", 64500, "valid"),
        ("prefix=203.0.113.0/24&origin=1", "203.0.113.0/24", 1, "not-found"),
    ] {
        let row = json!([{ "prefix": prefix, "origin_as": origin, "rov": rov }]);
        assert_eq!(service.get(&format!("/v1/rov?{target}")).json(), row, "{target}");
    }
    assert_eq!(service.get("/v1/rov?prefix=203.0.113.0/24").status, 404);
    assert!(service.get("/v1/rov?prefix=198.51.100.0/24").error().contains("names no origin"));
    assert!(service.get("/v1/rov?prefix=192.0.2.0/25&origin=x").error().starts_with("origin: "));
}

#[test]
fn metrics_count_requests() {
    let (_tables, service) = service();
    service.get("/v1/lookup?addr=10.1.2.3");
    service.get("/v1/lookup?addr=x");
    service.get("/nowhere");
    let text = service.get("/metrics").text().to_owned();
    for line in [
        "fibula_serve_requests_total{path=\"/v1/lookup\",status=\"2xx\"} 1",
        "fibula_serve_requests_total{path=\"/v1/lookup\",status=\"4xx\"} 1",
        "fibula_serve_requests_total{path=\"other\",status=\"4xx\"} 1",
        "fibula_serve_lookups_total 1",
        "fibula_serve_routes{table=\"rib\",family=\"ipv4\"} 3",
        "fibula_serve_generation{table=\"rib\"} 1",
        "fibula_serve_stale{table=\"rib\"} 0",
        "fibula_serve_request_seconds_count{path=\"/v1/lookup\"} 2",
        "# EOF",
    ] {
        assert_eq!(text.lines().filter(|other| *other == line).count(), 1, "{line} in\n{text}");
    }
}

#[test]
fn what_cannot_be_served_is_told_at_the_start() {
    let tables = tables();
    let refused = |settings: Settings| try_start(settings).err().unwrap();
    assert_eq!(refused(tables.settings(&["rib", "rib"])), "two tables are called rib");
    for name in ["", "a\"b", "a b", "ä"] {
        let named = Settings::new(vec![(name.to_owned(), tables.path("rib"))]);
        assert!(refused(named).ends_with("of a table: expected letters, digits, _, - and ."));
    }
    assert!(refused(tables.settings(&["absent"])).contains("absent"));
    tables.replace("bad", "10.0.0.0/8 1\n10.0.0.0/33 1\n");
    assert!(refused(tables.settings(&["bad"])).contains("line 2: prefix length 33"));
    tables.replace("token", "short\n");
    let settings = Settings { token_file: Some(tables.path("token")), ..tables.settings(&["rib"]) };
    assert!(refused(settings).ends_with("a token of 5 characters: expected at least 16"));
    let tls = Some((tables.path("rib"), tables.path("rib")));
    assert!(try_start(Settings { tls, ..tables.settings(&["rib"]) }).is_err());
}

#[test]
fn each_route_refuses_parameters_it_does_not_have() {
    let (_tables, service) = service();
    for route in ROUTES {
        let target =
            format!("{}?hostile=1", route.path.replace("{name}", "rib").replace("{net}", "10.0.0.0/8"));
        let answer = service.client().ask(route.method, &target, &[], b"");
        let is_named = answer.error().starts_with("no parameter \"hostile\"");
        assert_eq!((answer.status, is_named), (400, true), "{target}");
    }
}
