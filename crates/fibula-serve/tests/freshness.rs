//! Files that fail while they are served: what answers then, and what is told.
//!
//! ```text
//!  a file ──emptied, cut, replaced by a pipe──▶ the service ──▶ lookups: as before, or refused
//!  another ──replaced by a good one───────────▶      │     └──▶ tables, health, readiness, metrics
//!                                                    └──▶ reads it at once, whatever the first is
//! ```

mod common;

use common::{Service, Tables, start, try_start, until};
use fibula_serve::Settings;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

/// Ten IPv4 routes and two IPv6 routes.
fn ten(value: u32) -> String {
    let ipv4 = (0..10).map(|n| format!("10.{n}.0.0/16 {value}\n"));
    let ipv6 = (0..2).map(|n| format!("2001:db8:{n}::/48 {value}\n"));
    ipv4.chain(ipv6).collect()
}

fn about(service: &Service, table: &str) -> Value {
    let all = service.get("/v1/tables").json();
    all.as_array().unwrap().iter().find(|about| about["table"] == table).unwrap().clone()
}

fn next_hop(service: &Service, table: &str) -> Value {
    service.get(&format!("/v1/lookup?addr=10.1.2.3&table={table}")).json()[0]["next_hop"].clone()
}

/// Waits until a table is in a state for a reason that has `what` in it.
fn is(service: &Service, table: &str, state: &str, what: &str) {
    until(&format!("{table} {state}: {what}"), || {
        let about = about(service, table);
        about["state"] == state && about["error"].as_str().unwrap_or_default().contains(what)
    });
}

fn has_metric(service: &Service, line: &str) -> bool {
    service.get("/metrics").text().lines().any(|other| other.starts_with(line))
}

fn pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// Replaces a file by what `make` makes in its place.
fn replace_by(tables: &Tables, name: &str, make: impl FnOnce(&Path)) {
    let path = tables.path(name);
    make(&tables.path("beside"));
    // No directory takes the place of a file by a rename.
    if path.is_dir() { fs::remove_dir(&path) } else { fs::remove_file(&path) }.unwrap();
    fs::rename(tables.path("beside"), path).unwrap();
}

/// What makes a file that is no regular one.
type Make = fn(&Path);

#[test]
fn a_file_that_lost_too_much_is_refused_and_its_table_is_stale() {
    let tables = Tables::of(&[("rib", &ten(1)), ("other", &ten(2))]);
    let service = start(tables.settings(&["rib", "other"]));
    assert_eq!(
        (&about(&service, "rib")["state"], &about(&service, "rib")["error_since"]),
        (&json!("ok"), &Value::Null)
    );
    let loaded = about(&service, "rib")["loaded"].clone();
    assert!(has_metric(&service, "fibula_serve_last_good_read_timestamp_seconds{table=\"rib\"} 1"));
    tables.replace("rib", "");
    is(
        &service,
        "rib",
        "stale",
        "rib: holds no IPv4 routes and no IPv6 routes; --shrink 100% takes such a file",
    );
    let since = about(&service, "rib")["error_since"].clone();
    assert!(since.as_str().unwrap() >= loaded.as_str().unwrap());
    assert_eq!((next_hop(&service, "rib"), &about(&service, "rib")["loaded"]), (json!(1), &loaded));
    for path in ["/healthz", "/readyz"] {
        let health = service.get(path);
        assert_eq!((health.status, &health.json()["status"]), (200, &json!("stale")), "{path}");
        let error = &health.json()["errors"]["rib"];
        assert_eq!((&error["state"], &error["since"]), (&json!("stale"), &since));
        assert!(error["error"].as_str().unwrap().contains("holds no IPv4 routes"));
        let counts = |ipv4, ipv6| json!({ "ipv4": ipv4, "ipv6": ipv6 });
        assert_eq!((&error["refused"], &error["served"]), (&counts(0, 0), &counts(10, 2)));
        assert!(health.json()["errors"]["other"].is_null());
    }
    assert!(has_metric(&service, "fibula_serve_stale{table=\"rib\"} 1"));
    assert!(has_metric(&service, "fibula_serve_stale{table=\"other\"} 0"));
    // What fails next does not make it younger. Times are told in seconds.
    thread::sleep(Duration::from_millis(1100));
    tables.replace("rib", &ten(3).lines().take(4).collect::<Vec<_>>().join("\n"));
    is(&service, "rib", "stale", "holds 4 IPv4 routes where 10 are served: a reload may lose 50% (--shrink)");
    let ipv4 = ten(3).lines().take(10).collect::<Vec<_>>().join("\n");
    tables.replace("rib", &ipv4);
    is(&service, "rib", "stale", "holds 0 IPv6 routes where 2 are served: a reload may lose 50% (--shrink)");
    assert_eq!((next_hop(&service, "rib"), &about(&service, "rib")["error_since"]), (json!(1), &since));
    // Half of them may go.
    let half = ten(4).lines().skip(1).step_by(2).collect::<Vec<_>>().join("\n");
    tables.replace("rib", &half);
    is(&service, "rib", "ok", "");
    assert_eq!((next_hop(&service, "rib"), &about(&service, "rib")["generation"]), (json!(4), &json!(2)));
    assert_eq!(service.get("/healthz").json()["status"], "ok");
    assert_eq!(about(&service, "rib")["routes_before"], json!({ "ipv4": 10, "ipv6": 2 }));
    assert_eq!(about(&service, "rib")["last_good"], about(&service, "rib")["loaded"]);
    assert!(has_metric(&service, "fibula_serve_failed_reads_total{table=\"rib\"} 3"));
}

#[test]
fn all_may_be_lost_where_that_is_accepted() {
    let tables = Tables::of(&[("rib", &ten(1)), ("none", "")]);
    let service = start(Settings { shrink: 100, ..tables.settings(&["rib", "none"]) });
    assert_eq!((next_hop(&service, "none"), service.get("/readyz").status), (Value::Null, 200));
    tables.replace("rib", "");
    until("the empty file is read", || about(&service, "rib")["generation"] == 2);
    assert_eq!((next_hop(&service, "rib"), &about(&service, "rib")["state"]), (Value::Null, &json!("ok")));
}

#[test]
fn what_is_no_regular_file_is_refused_by_its_name_and_holds_up_nothing() {
    let tables = Tables::of(&[("rib", &ten(1)), ("other", &ten(1))]);
    let service = start(tables.settings(&["rib", "other"]));
    let kinds: [(&str, Make); 4] = [
        ("is a named pipe, expected a regular file", pipe),
        ("is a device, expected a regular file", |path| symlink("/dev/zero", path).unwrap()),
        ("is a socket, expected a regular file", |path| drop(UnixListener::bind(path).unwrap())),
        ("is a directory, expected a regular file", |path| fs::create_dir(path).unwrap()),
    ];
    for (value, (what, make)) in [2, 3, 4, 5].into_iter().zip(kinds) {
        replace_by(&tables, "rib", make);
        is(&service, "rib", "stale", what);
        // The next look at a pipe, and a signal, do not wait for it.
        service.handle.reload();
        tables.replace("other", &ten(value));
        until("the other table is read", || next_hop(&service, "other") == value);
        assert_eq!(next_hop(&service, "rib"), 1);
        let refused = try_start(tables.settings(&["other", "rib"])).err().unwrap();
        assert!(refused.ends_with(what), "{refused}");
    }
    replace_by(&tables, "rib", |path| fs::write(path, ten(9)).unwrap());
    is(&service, "rib", "ok", "");
    assert_eq!(next_hop(&service, "rib"), 9);
}

#[test]
fn a_file_that_is_written_in_place_is_read_again_whatever_its_time_says() {
    let tables = Tables::of(&[("rib", &ten(1))]);
    // So long that no look falls between the write and the time that is set back.
    let service = start(Settings { poll: Duration::from_millis(500), ..tables.settings(&["rib"]) });
    let modified = fs::metadata(tables.path("rib")).unwrap().modified().unwrap();
    fs::write(tables.path("rib"), ten(2)).unwrap();
    fs::File::options().write(true).open(tables.path("rib")).unwrap().set_modified(modified).unwrap();
    until("it is read again", || next_hop(&service, "rib") == 2);
}

#[test]
fn a_table_that_was_never_read_refuses_to_answer() {
    let tables = Tables::of(&[
        ("rib", &ten(1)),
        ("empty", "# not written yet\n"),
        ("vrps.csv", "ASN,IP Prefix,Max Length\n"),
    ]);
    let settings = Settings { vrps: Some(tables.path("vrps.csv")), ..tables.settings(&["rib", "empty"]) };
    let service = start(settings);
    let what = "empty: holds no IPv4 routes and no IPv6 routes; --shrink 100% takes such a file";
    for target in [
        "/v1/lookup?addr=10.0.0.1",
        "/v1/lookup?addr=10.0.0.1&table=empty",
        "/v1/routes?table=empty",
        "/v1/diff?from=rib&to=empty",
        "/routes/net/10.0.0.1",
        "/routes/table/empty",
    ] {
        let answer = service.get(target);
        assert_eq!(answer.status, 503, "{target}: {}", answer.text());
        let error = answer.error();
        assert!(error.starts_with("empty is unread: /") && error.ends_with(what), "{target}: {error}");
    }
    let answer = service.post("/v1/lookup?table=empty", &[], b"10.0.0.1\n");
    assert_eq!((answer.status, answer.error().ends_with(what)), (503, true));
    let payloads = service.get("/v1/rov?prefix=10.0.0.0/8&origin=1");
    assert_eq!(payloads.status, 503);
    assert!(payloads.error().contains("holds no prefixes with RPKI payloads"), "{}", payloads.error());
    // The others answer.
    assert_eq!(next_hop(&service, "rib"), 1);
    let states = |path: &str| {
        let health = service.get(path);
        let health = (health.status, health.json());
        (health.0, health.1["status"].clone(), health.1["errors"]["empty"]["state"].clone())
    };
    assert_eq!(states("/healthz"), (200, json!("unread"), json!("unread")));
    assert_eq!(states("/readyz"), (503, json!("unread"), json!("unread")));
    let empty = about(&service, "empty");
    assert_eq!((&empty["state"], &empty["loaded"]), (&json!("unread"), &Value::Null));
    let protocols = service.get("/protocols/short").json()["protocols"].clone();
    assert_eq!((&protocols["empty"]["state"], &protocols["rib"]["state"]), (&json!("down"), &json!("up")));
    assert!(has_metric(&service, "fibula_serve_stale{table=\"empty\"} 1"));
    assert!(!has_metric(&service, "fibula_serve_last_good_read_timestamp_seconds{table=\"empty\"}"));
    // Another one that holds nothing does not make it stale.
    tables.replace("empty", "# not yet\n# not yet\n");
    until("it is read again", || has_metric(&service, "fibula_serve_failed_reads_total{table=\"empty\"} 2"));
    assert_eq!(states("/readyz"), (503, json!("unread"), json!("unread")));
    tables.replace("empty", "10.0.0.0/8 5\n");
    tables.replace("vrps.csv", "ASN,IP Prefix,Max Length\nAS1,10.0.0.0/8,8\n");
    until("both are read", || states("/readyz") == (200, json!("ok"), Value::Null));
    assert_eq!(next_hop(&service, "empty"), 5);
    assert_eq!(service.get("/v1/rov?prefix=10.0.0.0/8&origin=1").json()[0]["rov"], "valid");
}
