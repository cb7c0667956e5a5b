//! The OpenAPI document says what the routes do: their parameters, and the shape of their answers.

mod common;

use common::{Service, Tables, start};
use fibula_io::table::{ReadOptions, Value as Taken};
use fibula_serve::{ROUTES, Settings};
use serde_json::{Value, json};
use std::collections::BTreeSet;

const TABLE: &str = "prefix,origin_as,peer\n10.0.0.0/8,64500,192.0.2.1\n2001:db8::/32,64501,\n";

fn service() -> (Tables, Service) {
    let vrps = "ASN,IP Prefix,Max Length\nAS64500,10.0.0.0/8,8\n";
    let tables = Tables::of(&[
        ("rib", TABLE),
        ("as", "10.0.0.0/8 1\n10.1.0.0/16 2\n"),
        ("vrps.csv", vrps),
        ("names", "64500 A\n"),
    ]);
    let (vrps, as_names) = (Some(tables.path("vrps.csv")), Some(tables.path("names")));
    let settings = Settings { vrps, as_names, ..tables.settings(&["rib", "as"]) };
    let service = start(settings);
    (tables, service)
}

/// Returns what a reference of the document leads to.
fn followed<'d>(document: &'d Value, schema: &'d Value) -> &'d Value {
    match schema["$ref"].as_str() {
        Some(path) => document.pointer(&path[1..]).unwrap_or_else(|| panic!("{path} leads nowhere")),
        None => schema,
    }
}

/// Checks a value by the part of JSON Schema that the document uses.
fn check(document: &Value, schema: &Value, value: &Value) -> Result<(), String> {
    let schema = followed(document, schema);
    let fields = schema.as_object().unwrap();
    for (keyword, told) in fields {
        let kind_of = |kind: &str| match kind {
            "string" => value.is_string(),
            "number" => value.is_number(),
            "integer" => value.is_i64() || value.is_u64(),
            "boolean" => value.is_boolean(),
            "object" => value.is_object(),
            "array" => value.is_array(),
            "null" => value.is_null(),
            other => panic!("the test does not know the type {other}"),
        };
        let is_good = match keyword.as_str() {
            "type" => match told {
                Value::Array(kinds) => kinds.iter().any(|kind| kind_of(kind.as_str().unwrap())),
                kind => kind_of(kind.as_str().unwrap()),
            },
            "enum" => told.as_array().unwrap().contains(value),
            "minimum" => value.as_f64() >= told.as_f64(),
            "required" => {
                told.as_array().unwrap().iter().all(|name| value.get(name.as_str().unwrap()).is_some())
            }
            "additionalProperties" => {
                let known = &schema["properties"];
                value.as_object().unwrap().keys().all(|name| known.get(name).is_some())
            }
            "properties" => {
                for (name, schema) in told.as_object().unwrap() {
                    if let Some(value) = value.get(name) {
                        check(document, schema, value)?;
                    }
                }
                true
            }
            "items" => {
                value.as_array().unwrap().iter().try_for_each(|value| check(document, told, value))?;
                true
            }
            "description" | "format" => true,
            other => panic!("the test does not know {other}"),
        };
        if !is_good {
            return Err(format!("{value} is not as {keyword} of {schema} says"));
        }
    }
    Ok(())
}

fn document(service: &Service) -> Value {
    service.get("/openapi.json").json()
}

#[test]
fn the_document_has_the_routes_and_their_parameters() {
    let (_tables, service) = service();
    let document = document(&service);
    let mut told = BTreeSet::new();
    let mut names = BTreeSet::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            assert!(names.insert(operation["operationId"].as_str().unwrap()), "{path}");
            let parameters = operation["parameters"].as_array().unwrap();
            let of = |place: &str| -> BTreeSet<String> {
                let of_place = parameters.iter().filter(|parameter| parameter["in"] == place);
                of_place.map(|parameter| parameter["name"].as_str().unwrap().to_owned()).collect()
            };
            let in_path: BTreeSet<String> = path
                .split('/')
                .filter_map(|part| Some(part.strip_prefix('{')?.trim_end_matches('}').to_owned()))
                .collect();
            assert_eq!(of("path"), in_path, "{path}");
            told.insert((method.to_uppercase(), path.clone(), of("query")));
        }
    }
    let routes: BTreeSet<_> = ROUTES
        .iter()
        .map(|route| {
            let parameters = route.parameters.iter().map(ToString::to_string).collect();
            (route.method.to_owned(), route.path.to_owned(), parameters)
        })
        .collect();
    assert_eq!(told, routes);
    // Parameters that are said to be needed are, and the others are not.
    for (path, methods) in document["paths"].as_object().unwrap() {
        for parameter in methods["get"]["parameters"].as_array().into_iter().flatten() {
            if parameter["in"] == "query" && parameter["required"] == true {
                let what = format!("parameter {} is missing", parameter["name"].as_str().unwrap());
                let others = if path == "/v1/diff" && parameter["name"] == "to" { "?from=rib" } else { "" };
                assert_eq!(service.get(&format!("{path}{others}")).error(), what);
            }
        }
    }
}

#[test]
fn answers_have_the_shape_that_the_document_says() {
    let (_tables, service) = service();
    let document = document(&service);
    let schema = |path: &str, method: &str, status: &str, media: &str| {
        let response = &document["paths"][path][method]["responses"][status];
        let schema = &response["content"][media]["schema"];
        assert!(schema.is_object(), "{method} {path} {status} {media}");
        schema.clone()
    };
    let mut answered = BTreeSet::new();
    for (path, target) in [
        ("/v1/lookup", "/v1/lookup?addr=10.0.0.1"),
        ("/v1/lookup", "/v1/lookup?addr=11.0.0.1&all"),
        ("/v1/lookup", "/v1/lookup?addr=x"),
        ("/v1/lookup", "/v1/lookup?addr=10.0.0.1&table=none"),
        ("/v1/tables", "/v1/tables"),
        ("/v1/routes", "/v1/routes?table=rib"),
        ("/v1/routes", "/v1/routes?table=none"),
        ("/v1/diff", "/v1/diff?from=rib&to=as"),
        ("/v1/figures", "/v1/figures?table=rib"),
        ("/v1/legend", "/v1/legend?table=rib"),
        ("/v1/legend", "/v1/legend?table=rib&by=routes"),
        ("/v1/rov", "/v1/rov?table=as&prefix=10.0.0.0/8"),
        ("/v1/rov", "/v1/rov?prefix=10.0.0.0/8&origin=64500"),
        ("/healthz", "/healthz"),
        ("/readyz", "/readyz"),
        ("/openapi.json", "/openapi.json"),
        ("/status", "/status"),
        ("/protocols/bgp", "/protocols/bgp"),
        ("/protocols/short", "/protocols/short?uncached=true"),
        ("/routes/protocol/{name}", "/routes/protocol/rib"),
        ("/routes/protocol/{name}", "/routes/protocol/none"),
        ("/routes/table/{name}", "/routes/table/as"),
        ("/routes/table/{name}/filtered", "/routes/table/as/filtered"),
        ("/routes/filtered/{name}", "/routes/filtered/as"),
        ("/routes/filtered/{name}", "/routes/filtered/none"),
        ("/routes/noexport/{name}", "/routes/noexport/as"),
        ("/routes/net/{net}", "/routes/net/10.0.0.0/8"),
        ("/routes/net/{net}", "/routes/net/10.0.0.0%2F8"),
        ("/routes/prefix", "/routes/prefix?prefix=10.0.0.0/8"),
    ] {
        let answer = service.get(target);
        let schema = schema(path, "get", &answer.status.to_string(), "application/json");
        check(&document, &schema, &answer.json()).unwrap_or_else(|what| panic!("{target}: {what}"));
        if answer.status == 200 {
            answered.insert(path);
        }
    }
    // Those of other formats have tests of their own.
    let others = ["/v1/engines", "/v1/events", "/v1/router", "/v1/tile", "/metrics"];
    for route in ROUTES {
        assert!(answered.contains(route.path) || others.contains(&route.path), "{}", route.path);
    }
    let body = b"[\"10.0.0.1\",null,\"::1\"]";
    for media in ["application/json", "application/x-ndjson"] {
        let headers = [("Content-Type", "application/json"), ("Accept", media)];
        let answer = service.post("/v1/lookup?table=rib", &headers, body);
        let schema = schema("/v1/lookup", "post", "200", media);
        if media == "application/json" {
            check(&document, &schema, &answer.json()).unwrap();
        }
        for line in answer.text().lines().filter(|_| media == "application/x-ndjson") {
            check(&document, &schema, &serde_json::from_str(line).unwrap()).unwrap();
        }
    }
    // The test can fail.
    let row = json!([{ "address": 1, "prefix": null, "next_hop": null, "table": "rib", "generation": 1 }]);
    assert!(check(&document, &schema("/v1/lookup", "get", "200", "application/json"), &row).is_err());
}

#[test]
fn looking_glasses_see_routes() {
    let route = "[{\"next_hop\":\"192.0.2.1\",\"origin_as\":64501,\"peer\":\"192.0.2.9\",\"as_path\":[64500,64501],\
                 \"communities\":[\"64500:7\",\"64500:1:2\",\"no-export\"]}]";
    let text =
        format!("10.0.0.0/8 {}\n10.1.0.0/16 192.0.2.2 dev eth0\n10.2.0.0/16 7\n", &route[1..route.len() - 1]);
    let tables = Tables::of(&[("rib", &text)]);
    let options = ReadOptions { value: Taken::NextHop, ..ReadOptions::default() };
    let service = start(Settings { options, ..tables.settings(&["rib"]) });
    let protocols = service.get("/protocols/bgp").json();
    let protocol = &protocols["protocols"]["rib"];
    assert_eq!((&protocol["state"], &protocol["routes"]["imported"]), (&json!("up"), &json!(3)));
    let routes = service.get("/routes/protocol/rib").json();
    let first = &routes["routes"][0];
    let bgp = json!({ "as_path": ["64500", "64501"], "next_hop": "192.0.2.1", "communities": [[64500, 7]],
                      "large_communities": [[64500, 1, 2]] });
    assert_eq!(
        (&first["network"], &first["learnt_from"], &first["bgp"]),
        (&json!("10.0.0.0/8"), &json!("192.0.2.9"), &bgp)
    );
    let second = &routes["routes"][1];
    assert_eq!((&second["gateway"], &second["interface"]), (&json!("192.0.2.2"), &json!("eth0")));
    assert_eq!(routes["routes"][2]["bgp"]["as_path"], json!(["7"]));
    let networks = |target: &str| -> Vec<String> {
        let answer = service.get(target).json();
        let network = |route: &Value| route["network"].as_str().unwrap().to_owned();
        answer["routes"].as_array().unwrap().iter().map(network).collect()
    };
    assert_eq!(networks("/routes/net/10.1.0.0%2F16"), ["10.1.0.0/16"]);
    assert_eq!(networks("/routes/net/10.1.2.3"), ["10.1.0.0/16"]);
    assert_eq!(networks("/routes/net/10.1.2.0/24"), [""; 0]);
    assert_eq!(networks("/routes/prefix?prefix=10.9.0.1"), ["10.0.0.0/8"]);
    let generations = service.get("/status").json();
    assert!(generations["status"]["version"].as_str().unwrap().starts_with("fibula "));
}

/// The requests of Alice-LG 6 for a source of the type `single_table`, and what it reads of each
/// answer. It does without what is not here, and ends a request where a type is another.
#[test]
fn alice_finds_what_it_reads() {
    let tables = Tables::of(&[("rib", "10.0.0.0/8 192.0.2.2 dev eth0\n10.2.0.0/16 7\n")]);
    let service = start(tables.settings(&["rib"]));
    // The layout 2006-01-02T15:04:05Z07:00, which docs/serve.md has it configured with.
    let is_time = |value: &Value| {
        let text = value.as_str().unwrap_or_default();
        text.len() == 20 && text.ends_with('Z') && humantime::parse_rfc3339(text).is_ok()
    };
    let route: &[(&str, &str)] = &[
        ("/network", "string"),
        ("/from_protocol", "string"),
        ("/gateway", "string"),
        ("/learnt_from", "string"),
        ("/interface", "string"),
        ("/primary", "boolean"),
        ("/age", "time"),
        ("/type/0", "string"),
        ("/bgp/next_hop", "string"),
        ("/bgp/as_path", "strings"),
        ("/bgp/communities", "array"),
        ("/bgp/large_communities", "array"),
    ];
    for (target, of, keys) in [
        (
            "/status",
            "/status",
            &[
                ("/version", "string"),
                ("/message", "string"),
                ("/current_server", "time"),
                ("/last_reboot", "time"),
                ("/last_reconfig", "time"),
            ][..],
        ),
        (
            "/protocols/bgp",
            "/protocols/rib",
            &[
                ("/state", "up"),
                ("/state_changed", "time"),
                ("/neighbor_address", "string"),
                ("/neighbor_as", "number"),
                ("/description", "string"),
                ("/routes/imported", "number"),
                ("/routes/preferred", "number"),
            ],
        ),
        ("/protocols/short?uncached=true", "/protocols/rib", &[("/state", "up"), ("/since", "time")]),
        ("/routes/protocol/rib", "/routes/0", route),
        ("/routes/protocol/rib", "/routes/1", route),
        ("/routes/filtered/rib", "/routes", &[("", "none")]),
        ("/routes/noexport/rib", "/routes", &[("", "none")]),
        ("/routes/table/rib", "/routes/1", route),
        ("/routes/table/rib/filtered", "/routes", &[("", "none")]),
        ("/routes/prefix?prefix=10.2.0.1", "/routes/0", route),
    ] {
        let answer = service.get(target).json();
        assert!(answer["api"]["Version"].is_string() && answer["api"]["result_from_cache"].is_boolean());
        for (key, kind) in keys {
            let value = answer.pointer(&format!("{of}{key}")).unwrap_or(&Value::Null);
            let is_good = match *kind {
                "string" => value.is_string(),
                "boolean" => value.is_boolean(),
                "number" => value.is_number(),
                "array" => value.is_array(),
                "strings" => value.as_array().is_some_and(|all| all.iter().all(Value::is_string)),
                "time" => is_time(value),
                "none" => *value == json!([]),
                word => *value == json!(word),
            };
            assert!(is_good, "{target} {of}{key}: expected {kind}, found {value}");
        }
    }
    assert_eq!(service.get("/routes/filtered/none").status, 404);
}
