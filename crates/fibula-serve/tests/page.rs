//! The page, and what only it asks: as a service answers, and as a browser does for a dropped file.

mod common;

use common::{Answer, Service, Tables, start};
use fibula::{NextHop, Prefix, Rib};
use fibula_io::table::{ReadOptions, parse};
use fibula_map::{Map, View};
use fibula_page::{FILES, Pictures, Shown, answer};
use fibula_serve::Settings;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixListener;
use std::thread;

const TABLE: &str = "0.0.0.0/0 1\n10.0.0.0/8 64501\n10.1.0.0/16 64502\n10.1.0.0/24 64501\n\
                     2001:db8::/32 64501\n";

const OTHER: &str = "10.0.0.0/8 64501\n10.1.0.0/16 9\n2001:db8::/32 64501\n2001:db8:1::/48 7\n";

fn service() -> (Tables, Service) {
    let tables = Tables::of(&[("rib", TABLE), ("other", OTHER)]);
    let service = start(tables.settings(&["rib", "other"]));
    (tables, service)
}

#[test]
fn a_browser_answers_as_a_service_does() {
    let (_tables, service) = service();
    let shown = |name: &str, text: &str| {
        Shown::new(name, 1, parse(text.as_bytes(), &ReadOptions::default()).unwrap())
    };
    let (tables, pictures) = ([shown("rib", TABLE), shown("other", OTHER)], Pictures::default());
    for question in [
        "/v1/lookup?addr=10.1.0.7",
        "/v1/lookup?addr=10.1.0.7&table=rib&all",
        "/v1/lookup?addr=2001:db8:1::%2F64&table=other",
        "/v1/lookup?addr=11.0.0.0&table=other",
        "/v1/routes?table=rib",
        "/v1/routes?table=rib&limit=2",
        "/v1/routes?table=rib&covered-by=10.0.0.0/8",
        "/v1/routes?table=rib&covering=10.1.0.0/24",
        "/v1/routes?table=rib&value=64501",
        "/v1/routes?table=rib&value=6450",
        "/v1/diff?from=rib&to=other",
        "/v1/routes?table=rib&limit=2&offset=1&total",
        "/v1/routes?table=rib&offset=9&total=true",
        "/v1/diff?from=rib&to=other&offset=1&limit=1&total",
        "/v1/tile?table=rib&family=6&block=2000::/12",
        "/v1/tile?table=rib&family=6&block=2400::/12",
        "/v1/figures?table=rib",
        "/v1/legend?table=rib",
        "/v1/legend?table=rib&family=6&by=value",
        "/v1/legend?table=other&against=rib",
        "/v1/tile?table=rib&by=routes",
        "/v1/tile?table=rib&family=6&by=length&zoom=3&x=1&y=2",
        "/v1/tile?table=other&against=rib&family=6",
        // What both refuse, with the same words.
        "/v1/lookup?addr=x",
        "/v1/lookup",
        "/v1/lookup?addr=::&adr=::",
        "/v1/routes?table=rib&covered-by=::/0&covering=::/0",
        "/v1/tile?table=rib&zoom=3&x=8",
        "/v1/tile?table=rib&zoom=13",
        "/v1/tile?table=rib&by=colour",
        "/v1/legend?table=rib&family=5",
        "/v1/legend?table=rib&zoom=1",
        "/v1/diff?from=rib",
    ] {
        let Answer { status, headers, body, .. } = service.get(question);
        match answer(&tables, &pictures, question) {
            Ok(found) => {
                assert_eq!(status, 200, "{question}");
                let is_truncated = headers.iter().any(|(name, _)| name == "fibula-truncated");
                assert_eq!(found.is_truncated, is_truncated, "{question}");
                let total = headers.iter().find(|(name, _)| name == "fibula-total");
                let total = total.map(|(_, total)| total.parse().unwrap());
                assert_eq!(found.total, total, "{question}");
                if question.starts_with("/v1/tile") {
                    assert_eq!(found.body, body, "{question}");
                } else {
                    let json = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).unwrap();
                    assert_eq!(json(&found.body), json(&body), "{question}");
                }
            }
            Err(what) => {
                assert_eq!(status, 400, "{question}");
                assert_eq!(serde_json::from_slice::<Value>(&body).unwrap()["error"], what, "{question}");
            }
        }
    }
}

#[test]
fn figures_and_values_are_those_of_the_table() {
    let (_tables, service) = service();
    let figures = service.get("/v1/figures?table=rib").json();
    let expected = json!({
        "routes": 4, "values": 3, "ranges": 5, "default_route": "1",
        "lengths": [[0, 1], [8, 1], [16, 1], [24, 1]], "depths": [1, 1, 1, 1],
        "top": [["64501", 2], ["1", 1], ["64502", 1]],
    });
    assert_eq!(figures["ipv4"], expected);
    assert_eq!(figures["ipv6"]["depths"], json!([1]));
    let prefixes = |target: &str| -> Vec<String> {
        let rows = service.get(target).json();
        rows.as_array().unwrap().iter().map(|row| row["prefix"].as_str().unwrap().to_owned()).collect()
    };
    let found = prefixes("/v1/routes?table=rib&value=as64501");
    assert_eq!(found, ["10.0.0.0/8", "10.1.0.0/24", "2001:db8::/32"]);
    assert_eq!(prefixes("/v1/routes?table=rib&value=6450"), [""; 0]);
}

#[test]
fn tiles_are_parts_of_the_map() {
    let (_tables, service) = service();
    let mut rib: Rib<u32> = Rib::new();
    for (at, line) in TABLE.lines().take(4).enumerate() {
        rib.insert(line.split(' ').next().unwrap().parse().unwrap(), NextHop(at as u32 + 1));
    }
    let map = Map::lengths(&rib, Prefix::ALL);
    for (zoom, x, y) in [(0, 0, 0), (4, 0, 3), (12, 1, 2)] {
        let view = View::new(Prefix::ALL, 256).unwrap().tile(zoom, x, y).unwrap();
        let mut png = Vec::new();
        map.draw(&view).unwrap().write_png(map.palette(), &mut png).unwrap();
        let tile = service.get(&format!("/v1/tile?table=rib&zoom={zoom}&x={x}&y={y}"));
        assert_eq!(tile.header("content-type"), Some("image/png"));
        assert_eq!(tile.body, png, "{zoom} {x} {y}");
    }
}

#[test]
fn engines_are_measured_one_by_one_and_agree() {
    let (_tables, service) = service();
    let mut client = service.client();
    let answer = client.ask("GET", "/v1/engines?table=rib&family=6", &[], b"");
    let events: Vec<(&str, Value)> = answer
        .text()
        .split_terminator("\n\n")
        .map(|event| {
            let (name, data) = event.split_once('\n').unwrap();
            let data = data.strip_prefix("data: ").unwrap();
            (name.strip_prefix("event: ").unwrap(), serde_json::from_str(data).unwrap())
        })
        .collect();
    let (end, engines) = events.split_last().unwrap();
    assert_eq!(end.0, "end");
    assert_eq!(engines.len() as u64, engines[0].1["of"].as_u64().unwrap());
    for (name, data) in engines {
        assert_eq!(*name, "engine");
        let measured = &data["measured"];
        assert!(measured["error"].is_string() || measured["wrong"] == 0, "{data}");
    }
    let none = Tables::of(&[("rib", "10.0.0.0/8 a\n")]);
    let none = start(none.settings(&["rib"]));
    let answer = none.get("/v1/engines?family=6");
    assert!(answer.text().contains("no routes of this family"), "{}", answer.text());
}

#[test]
fn a_router_is_asked_at_its_socket() {
    let tables = Tables::of(&[("rib", TABLE)]);
    let none = start(tables.settings(&["rib"]));
    assert_eq!(none.get("/v1/router").status, 404);
    assert_eq!(none.get("/healthz").json()["router"], false);
    let path = tables.path("router.sock");
    let service = start(Settings { router: Some(path.clone()), ..tables.settings(&["rib"]) });
    let absent = service.get("/v1/router");
    assert_eq!(absent.status, 502);
    assert!(absent.error().contains("router.sock: No such file"), "{}", absent.error());
    let listener = UnixListener::bind(&path).unwrap();
    let router = thread::spawn(move || {
        // A router that answers, one that refuses, and one that says nothing.
        let answers = [
            &["{\"status\":{\"forwarding\":true}}\n", "{\"counters\":[{\"name\":\"forwarded\"}]}\n"][..],
            &["{\"error\":\"the router ends\"}\n"],
            &[],
        ];
        for answers in answers {
            let (stream, _) = listener.accept().unwrap();
            let mut reader = BufReader::new(stream);
            for answer in answers {
                reader.read_line(&mut String::new()).unwrap();
                reader.get_mut().write_all(answer.as_bytes()).unwrap();
            }
            // Until the service goes.
            let _ = reader.read_to_end(&mut Vec::new());
        }
    });
    let told = json!({ "status": { "forwarding": true }, "counters": [{ "name": "forwarded" }] });
    assert_eq!(service.get("/v1/router").json(), told);
    assert_eq!(service.get("/healthz").json()["router"], true);
    assert!(service.get("/v1/router").error().ends_with("{\"error\":\"the router ends\"}"));
    assert!(service.get("/v1/router").error().ends_with("it does not answer"));
    router.join().unwrap();
}

#[test]
fn the_page_needs_no_token_and_runs_nothing_of_others() {
    let tables = Tables::of(&[("rib", TABLE), ("token", "a-token-of-some-length\n")]);
    let settings = Settings { token_file: Some(tables.path("token")), ..tables.settings(&["rib"]) };
    let service = start(settings);
    assert_eq!(service.get("/v1/tables").status, 401);
    for file in FILES {
        let answer = service.get(file.path);
        assert_eq!((answer.status, answer.text()), (200, file.text), "{}", file.path);
        assert_eq!(answer.header("content-type"), Some(file.media));
        let policy = answer.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'; script-src 'self'"), "{policy}");
    }
    let all: String = FILES.iter().map(|file| file.text).collect();
    let [page, ..] = FILES else { panic!("there is no page") };
    assert!(!page.text.contains("<style") && !page.text.contains(" style="), "styles stand in their file");
    assert_eq!(
        page.text.matches("<script").count(),
        page.text.matches("<script type=\"module\" src=").count()
    );
    assert!(
        !all.contains("https://") && !all.contains("innerHTML"),
        "nothing from elsewhere, no text as HTML"
    );
    // Every file that another names is there.
    for name in all.split('"').filter(|text| text.starts_with("./") || text.starts_with("/page/")) {
        let name = name.trim_start_matches("./").trim_start_matches("/page/");
        let is_made = matches!(name, "module.wasm" | "parts.json");
        let is_there = FILES.iter().any(|file| file.path.ends_with(name)) || is_made;
        assert!(is_there, "{name}");
    }
}
