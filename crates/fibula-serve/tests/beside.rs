//! What is told of a route beside its value: the names of its ASes, and what RPKI says of its
//! origin.

mod common;

use common::{Service, Tables, start, until};
use fibula_serve::Settings;
use serde_json::{Value, json};

const RIB: &str = "prefix,origin_as,as_path\n192.0.2.0/24,64500,64499 64500\n192.0.2.0/25,64501,64501\n\
                   198.51.100.0/24,,64499 {64500}\n203.0.113.0/24,64502,\n";

const VRPS: &str = "ASN,IP Prefix,Max Length\nAS64500,192.0.2.0/24,24\nAS64501,192.0.2.0/24,24\n";

const NAMES: &str =
    "asn,name,class,cc\nAS64499,\"Transit, Inc.\",Carrier,BE\nAS64500,Büro \\ \"A\",Content,NL\n";

fn service() -> (Tables, Service) {
    let tables =
        Tables::of(&[("rib", RIB), ("plain", "192.0.2.0/24 64500\n"), ("vrps.csv", VRPS), ("names", NAMES)]);
    let settings = Settings {
        vrps: Some(tables.path("vrps.csv")),
        as_names: Some(tables.path("names")),
        ..tables.settings(&["rib", "plain"])
    };
    let service = start(settings);
    (tables, service)
}

/// Returns what is told of routes beside their values.
fn beside(rows: &Value) -> Vec<(Value, Value, Value)> {
    let row = |row: &Value| (row["prefix"].clone(), row["as_names"].clone(), row["rov"].clone());
    rows.as_array().unwrap().iter().map(row).collect()
}

#[test]
fn routes_have_the_names_of_their_systems_and_the_state_of_their_origin() {
    let (_tables, service) = service();
    let (transit, office) = ("Transit, Inc.", "Büro \\ \"A\"");
    let rows = [
        (json!("192.0.2.0/24"), json!({ "64500": office, "64499": transit }), json!("valid")),
        (json!("192.0.2.0/25"), json!({}), json!("invalid-length")),
        // Nothing says what the origin is.
        (json!("198.51.100.0/24"), json!({ "64499": transit, "64500": office }), Value::Null),
        (json!("203.0.113.0/24"), json!({}), json!("not-found")),
    ];
    let routes = service.get("/v1/routes?table=rib");
    assert_eq!(beside(&routes.json()), rows);
    let lookup = |addr: &str| beside(&service.get(&format!("/v1/lookup?table=rib&addr={addr}&all")).json());
    assert_eq!(lookup("192.0.2.7"), [rows[1].clone(), rows[0].clone()]);
    assert_eq!(lookup("198.51.100.7"), [rows[2].clone()]);
    assert_eq!(lookup("10.0.0.1"), [(Value::Null, json!({}), Value::Null)]);
    let lines = service.client().ask(
        "GET",
        "/v1/lookup?table=plain&addr=192.0.2.7",
        &[("Accept", "application/x-ndjson")],
        b"",
    );
    let line: Value = serde_json::from_str(lines.text()).unwrap();
    assert_eq!((&line["next_hop"], &line["as_names"]), (&json!(64_500), &json!({ "64500": office })));
    // Who looks at what covers a route sees it with its own length.
    let covering = service.get("/v1/routes?table=plain&covering=192.0.2.0/25").json();
    assert_eq!(beside(&covering), [(json!("192.0.2.0/24"), json!({ "64500": office }), json!("valid"))]);
}

#[test]
fn a_service_without_these_files_says_nothing_of_it() {
    let tables = Tables::of(&[("rib", "192.0.2.0/24 64500\n")]);
    let service = start(tables.settings(&["rib"]));
    let row = json!([{ "prefix": "192.0.2.0/24", "next_hop": 64_500 }]);
    assert_eq!(service.get("/v1/routes").json(), row);
}

#[test]
fn files_are_read_again_and_answers_change_with_them() {
    let (tables, service) = service();
    let ask = |tag: &str| {
        let target = "/v1/lookup?table=plain&addr=192.0.2.7";
        service.client().ask("GET", target, &[("If-None-Match", tag)], b"")
    };
    let tag = |answer: &common::Answer| answer.header("etag").unwrap().to_owned();
    let first = ask("none");
    assert_eq!(ask(&tag(&first)).status, 304);
    tables.replace("names", "64500 EXAMPLE, NL\n64501 OTHER, NL\n");
    until("the names are read", || ask(&tag(&first)).status == 200);
    let second = ask("none");
    assert_eq!(second.json()[0]["as_names"], json!({ "64500": "EXAMPLE, NL" }));
    tables.replace("vrps.csv", "ASN,IP Prefix,Max Length\nAS64502,192.0.2.0/24,24\n");
    until("the payloads are read", || ask(&tag(&second)).status == 200);
    assert_eq!(ask("none").json()[0]["rov"], "invalid-as");
    // What has no number is refused, and the names of before stay.
    tables.replace("names", "64500 EXAMPLE, NL\nnobody\n");
    until("the refusal is told", || {
        service.get("/healthz").json()["errors"]["--as-names"]["state"] == "stale"
    });
    let what = service.get("/healthz").json()["errors"]["--as-names"]["error"].to_string();
    assert!(what.contains("names, line 2: \\\"nobody\\\" is no AS number"), "{what}");
    assert_eq!(ask("none").json()[0]["as_names"], json!({ "64500": "EXAMPLE, NL" }));
    // So is one that has lost most.
    tables.replace("names", "");
    until("the loss is told", || {
        let what = service.get("/healthz").json()["errors"]["--as-names"]["error"].to_string();
        what.contains("holds no names of ASes; --shrink 100% takes such a file")
    });
    tables.replace("names", "64500 AGAIN, NL\n64501 OTHER, NL\n");
    until("the names are good", || service.get("/healthz").json()["status"] == "ok");
    assert_eq!(ask("none").json()[0]["as_names"], json!({ "64500": "AGAIN, NL" }));
}

#[test]
fn what_holds_nothing_yet_is_not_told_of_routes() {
    let tables = Tables::of(&[("rib", "192.0.2.0/24 64500\n"), ("names", "# none yet\n")]);
    let settings = Settings { as_names: Some(tables.path("names")), ..tables.settings(&["rib"]) };
    let service = start(settings);
    let row = || service.get("/v1/lookup?addr=192.0.2.7").json()[0].clone();
    assert!(row().get("as_names").is_none());
    assert_eq!(service.get("/readyz").status, 503);
    tables.replace("names", "64500\tEXAMPLE\n");
    until("the names are read", || row()["as_names"] == json!({ "64500": "EXAMPLE" }));
    assert_eq!(service.get("/readyz").status, 200);
}
