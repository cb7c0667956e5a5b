//! What whoever runs the service, or puts something between it and its clients, relies on: secrets
//! that are replaced, names, codings, validators, and clients that have said all.

mod common;

use common::{Answer, Client, Service, Tables, fixture, lines, start, try_start, until};
use fibula_serve::Settings;
use flate2::Compression;
use flate2::read::{GzDecoder, GzEncoder};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

fn serve(table: &str) -> (Tables, Service) {
    let tables = Tables::of(&[("rib", table)]);
    let service = start(tables.settings(&["rib"]));
    (tables, service)
}

fn asked(service: &Service, target: &str, headers: &[(&str, &str)]) -> Answer {
    service.client().ask("GET", target, headers, b"")
}

#[test]
fn a_token_that_is_replaced_counts_and_one_that_is_none_does_not() {
    let tables = Tables::of(&[("rib", "10.0.0.0/8 AS1\n"), ("token", "0123456789abcdef\n")]);
    let service = start(Settings { token_file: Some(tables.path("token")), ..tables.settings(&["rib"]) });
    let status = |token: &str| asked(&service, "/v1/tables", &[("Authorization", token)]).status;
    assert_eq!((status("bearer 0123456789abcdef"), status("Bearer another-of-those-16")), (200, 401));
    tables.replace("token", "another-of-those-16\n");
    until("the new token counts", || status("Bearer another-of-those-16") == 200);
    assert_eq!(status("Bearer 0123456789abcdef"), 401);
    tables.replace("token", "short\n");
    let failure = || service.get("/healthz").json()["errors"]["--token-file"].clone();
    until("it is told", || failure()["state"] == "stale");
    assert!(failure()["error"].as_str().unwrap().contains("token of 5 characters"), "{}", failure());
    assert_eq!((status("Bearer another-of-those-16"), status("Bearer short")), (200, 401));
}

#[test]
fn a_certificate_that_is_replaced_is_shown_to_those_who_connect() {
    let certificate = std::fs::read_to_string(fixture("certificate.pem")).unwrap();
    let key = std::fs::read_to_string(fixture("key.pem")).unwrap();
    let tables = Tables::of(&[("rib", "10.0.0.0/8 AS1\n"), ("chain", &certificate), ("key", &key)]);
    let tls = Some((tables.path("chain"), tables.path("key")));
    let service = start(Settings { tls, ..tables.settings(&["rib"]) });
    let connect = || {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(fixture("certificate.pem")).unwrap()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let config = Arc::new(config.unwrap().with_root_certificates(roots).with_no_client_auth());
        let connection = ClientConnection::new(config, ServerName::try_from("localhost").unwrap()).unwrap();
        Client::new(StreamOwned::new(connection, TcpStream::connect(service.address).unwrap()))
    };
    let health = || connect().ask("GET", "/healthz", &[], b"").json();
    let shown = || {
        let mut client = connect();
        client.ask("GET", "/healthz", &[], b"");
        client.stream().conn.peer_certificates().unwrap().len()
    };
    assert_eq!(shown(), 1);
    // The chain has one more, and the key is the same.
    tables.replace("chain", &certificate.repeat(2));
    until("the new chain is shown", || shown() == 2);
    // A key that is none is told, and what was there before is shown.
    tables.replace("key", "none\n");
    until("it is told", || health()["errors"]["--tls-cert"]["state"] == "stale");
    assert_eq!(shown(), 2);
    tables.replace("key", &key);
    until("it is read again", || health()["errors"]["--tls-cert"].is_null());
}

#[test]
fn a_service_on_loopback_answers_to_no_name_of_a_site() {
    let tables = Tables::of(&[("rib", "10.0.0.0/8 AS1\n"), ("token", "0123456789abcdef\n")]);
    let settings = Settings { hosts: vec!["looking.example".into()], ..tables.settings(&["rib"]) };
    let status = |service: &Service, host: &str, target: &str| {
        let mut client = service.client();
        write!(client.stream(), "GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n").unwrap();
        client.read().unwrap().status
    };
    let service = start(settings.clone());
    for target in ["/v1/tables", "/", "/healthz"] {
        assert_eq!(status(&service, "evil.example:8080", target), 421, "{target}");
        for host in ["localhost:8080", "127.0.0.1:8080", "[::1]:8080", "looking.example"] {
            assert_eq!(status(&service, host, target), 200, "{host} {target}");
        }
    }
    // Whoever has a token is no page of another site.
    let service = start(Settings { token_file: Some(tables.path("token")), ..settings });
    assert_eq!(status(&service, "evil.example", "/healthz"), 200);
}

#[test]
fn bodies_are_read_and_answered_in_the_codings_of_the_client() {
    let routes = lines((0..2_000).map(|at| format!("10.{}.{}.0/24 AS1", at >> 8, at & 255)));
    let (_tables, service) = serve(&routes);
    let (mut packed, mut zstd) = (Vec::new(), Vec::new());
    GzEncoder::new(&b"10.0.1.7\n10.9.9.9\n"[..], Compression::fast()).read_to_end(&mut packed).unwrap();
    zstd::stream::copy_encode(&b"10.0.1.7\n10.9.9.9\n"[..], &mut zstd, 1).unwrap();
    for (coding, body) in [("gzip", &packed), ("zstd", &zstd)] {
        let answer = service.post("/v1/lookup", &[("Content-Encoding", coding)], body);
        assert_eq!(answer.text(), "10.0.1.0/24\tAS1\n-\t-\n", "{coding}");
    }
    let cut = service.post("/v1/lookup", &[("Content-Encoding", "gzip")], &packed[..packed.len() / 2]);
    assert_eq!(cut.status, 400);
    for coding in ["br", "compress", "gzip, br"] {
        let answer = service.post("/v1/lookup", &[("Content-Encoding", coding)], b"x");
        assert_eq!(answer.status, 415, "{coding}");
        assert_eq!(answer.error(), "Content-Encoding: expected gzip, zstd or identity");
    }
    let plain = service.get("/v1/routes").body;
    let answer = asked(&service, "/v1/routes", &[("Accept-Encoding", "br, gzip")]);
    assert_eq!(answer.header("content-encoding"), Some("gzip"));
    let mut unpacked = Vec::new();
    GzDecoder::new(&answer.body[..]).read_to_end(&mut unpacked).unwrap();
    assert!(unpacked == plain && answer.body.len() < plain.len() / 4);
    let answer = asked(&service, "/v1/routes", &[("Accept-Encoding", "gzip;q=0.5, zstd")]);
    assert_eq!(answer.header("content-encoding"), Some("zstd"));
    assert!(zstd::decode_all(&answer.body[..]).unwrap() == plain);
    for coding in ["identity", "gzip;q=0", "br"] {
        let answer = asked(&service, "/v1/routes", &[("Accept-Encoding", coding)]);
        assert!(answer.header("content-encoding").is_none() && answer.body == plain, "{coding}");
    }
    // What is short, a picture, or awaited meanwhile is sent as it is.
    for target in ["/v1/lookup?addr=10.0.1.7", "/v1/tile"] {
        let answer = asked(&service, target, &[("Accept-Encoding", "gzip, zstd")]);
        assert!(answer.status == 200 && answer.header("content-encoding").is_none(), "{target}");
    }
    let body = "10.0.1.7\n".repeat(1000);
    let answer = service.post("/v1/lookup", &[("Accept-Encoding", "gzip")], body.as_bytes());
    assert_eq!(answer.text().lines().count(), 1000);
}

#[test]
fn what_has_not_changed_is_not_sent_again() {
    const TARGETS: [&str; 6] = [
        "/v1/lookup?addr=10.0.0.1",
        "/v1/routes",
        "/v1/diff?from=rib&to=rib",
        "/v1/figures",
        "/v1/legend",
        "/v1/tile",
    ];
    let (tables, service) = serve("10.0.0.0/8 AS1\n");
    let tags = || TARGETS.map(|target| service.get(target).header("etag").unwrap().to_owned());
    let before = tags();
    for (target, tag) in TARGETS.iter().zip(&before) {
        let again = |known: &str| asked(&service, target, &[("If-None-Match", known)]);
        let answer = again(&format!("W/\"x\", {tag}"));
        assert_eq!((answer.status, answer.body.len(), answer.header("etag")), (304, 0, Some(&tag[..])));
        assert_eq!(answer.header("cache-control"), Some("private, no-cache"));
        assert_eq!(again("W/\"x\"").status, 200, "{target}");
    }
    let json = service.get("/v1/routes").header("etag").unwrap().to_owned();
    let lines =
        asked(&service, "/v1/routes", &[("Accept", "application/x-ndjson"), ("If-None-Match", &json)]);
    assert_eq!(lines.status, 200);
    tables.replace("rib", "10.0.0.0/8 AS2\n");
    until("it is read again", || service.get("/v1/tables").json()[0]["generation"] == 2);
    for (one, other) in before.iter().zip(tags()) {
        assert_ne!(*one, other);
    }
    let page = service.get("/page/main.js");
    let known = page.header("etag").unwrap();
    assert_eq!(asked(&service, "/page/main.js", &[("If-None-Match", known)]).status, 304);
    assert_eq!(service.get("/healthz").header("cache-control"), Some("no-store"));
}

#[test]
fn pages_of_others_may_ask_where_they_are_named() {
    let tables = Tables::of(&[("rib", "10.0.0.0/8 AS1\n"), ("token", "0123456789abcdef\n")]);
    let (origins, token_file) = (vec!["https://looking.example".into()], Some(tables.path("token")));
    let service = start(Settings { origins, token_file, ..tables.settings(&["rib"]) });
    let allowed = |origin: &str, method: &str| {
        let headers = [("Origin", origin), ("Access-Control-Request-Method", "GET")];
        let answer = service.client().ask(method, "/v1/tables", &headers, b"");
        answer.header("access-control-allow-origin").map(str::to_owned)
    };
    // The browser asks beforehand, without the token.
    for method in ["OPTIONS", "GET"] {
        assert_eq!(allowed("https://looking.example", method).as_deref(), Some("https://looking.example"));
        assert_eq!(allowed("https://evil.example", method), None);
    }
    let (_tables, service) = serve("10.0.0.0/8 AS1\n");
    let answer = asked(&service, "/v1/tables", &[("Origin", "https://looking.example")]);
    assert_eq!(answer.header("access-control-allow-origin"), None);
    let wrong = try_start(Settings { origins: vec!["looking.example".into()], ..tables.settings(&["rib"]) });
    assert!(wrong.is_err_and(|what| what.contains("is no origin")));
}

#[test]
fn a_client_that_sends_no_more_is_answered() {
    let routes = lines((0..30_000).map(|at| format!("10.{}.{}.0/24 AS1", at >> 8, at & 255)));
    let (_tables, service) = serve(&routes);
    let body = "10.0.0.1\n".repeat(50_000);
    let length = body.len();
    let post = format!("POST /v1/lookup HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n{body}");
    for (request, rows) in [("GET /v1/routes HTTP/1.1\r\nHost: a\r\n\r\n", 30_001), (&post, 50_000)] {
        let mut client = service.client();
        let stream = client.stream().try_clone().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                (&stream).write_all(request.as_bytes()).unwrap();
                stream.shutdown(Shutdown::Write).unwrap();
            });
            let answer = client.read().unwrap();
            assert!(answer.is_whole && answer.text().lines().count() == rows);
        });
        // And the connection ends.
        assert_eq!(client.stream().read(&mut [0; 8]).unwrap(), 0);
    }
    // A body that ends early is none.
    let mut stream = TcpStream::connect(service.address).unwrap();
    stream
        .write_all(b"POST /v1/lookup HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n10.0.0.1\n")
        .unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    assert!(!answer.contains("\r\n0\r\n"), "{answer}");
}

#[test]
fn the_unit_leaves_little_to_whoever_breaks_in() {
    let unit = Path::new(env!("CARGO_MANIFEST_DIR")).join("systemd/fibula-serve.service");
    let judged = Command::new("systemd-analyze")
        // 2.0 of 10 at most.
        .args(["security", "--offline=true", "--no-pager", "--threshold=20"])
        .arg(&unit)
        .output();
    let Ok(judged) = judged else {
        eprintln!("skipped: there is no systemd-analyze");
        return;
    };
    let text = String::from_utf8_lossy(&judged.stdout);
    assert!(judged.status.success(), "{text}{}", String::from_utf8_lossy(&judged.stderr));
}
