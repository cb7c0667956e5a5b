//! Peers that are many, slow or hostile; the token, TLS, and the end of the service.

mod common;

use common::{Answer, Client, Service, Tables, fixture, resident, start, until};
use fibula_serve::{Limits, Settings};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

fn serve(limits: Limits) -> (Tables, Service) {
    let tables = Tables::of(&[("rib", "10.0.0.0/8 1\n")]);
    let service = start(Settings { limits, ..tables.settings(&["rib"]) });
    (tables, service)
}

fn is_served(service: &Service) -> bool {
    service.get("/v1/lookup?addr=10.0.0.1").json()[0]["next_hop"] == 1
}

#[test]
fn two_thousand_idle_connections_keep_nobody_out() {
    const CAP: usize = 100;
    let (_tables, service) = serve(Limits { connections: CAP, ..Limits::default() });
    assert!(is_served(&service));
    let before = resident();
    let idle: Vec<TcpStream> = (0..2000)
        .map(|at| {
            assert!(at % 64 != 0 || is_served(&service), "beside {at}");
            let mut stream = TcpStream::connect(service.address).unwrap();
            // It may have been ended already.
            let _ = stream.write_all(b"GET /v1/lookup HTTP/1.1\r\nX: ");
            stream
        })
        .collect();
    assert!(is_served(&service));
    let more = resident().saturating_sub(before);
    assert!(more < 64 << 20, "{more} bytes for {CAP} connections");
    // The oldest was ended to make room.
    assert!(matches!((&idle[0]).read(&mut [0; 64]), Ok(0) | Err(_)));
    let figure = |name: &str| -> usize {
        let metrics = service.get("/metrics").text().to_owned();
        let line = metrics.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim().parse().unwrap()
    };
    // One that makes room may still be ending.
    until("no more connections than the limit", || figure("fibula_serve_connections ") <= CAP);
    assert!(figure("fibula_serve_displaced_connections_total ") >= 2000 - CAP);
}

/// Connects from an address of loopback, and sends something.
fn from(address: &str, service: &Service, bytes: &[u8]) -> TcpStream {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    let stream = runtime.block_on(async {
        socket.bind(format!("{address}:0").parse().unwrap()).unwrap();
        socket.connect(service.address).await.unwrap().into_std().unwrap()
    });
    stream.set_nonblocking(false).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    // It may have been ended already.
    let _ = (&stream).write_all(bytes);
    stream
}

/// Asks by a connection from an address of loopback. Returns the answer.
fn asked(address: &str, service: &Service, target: &str) -> Answer {
    let request = format!("GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n");
    Client::new(from(address, service, request.as_bytes())).read().unwrap()
}

#[test]
fn one_client_takes_neither_the_share_of_another_nor_health() {
    const EVENTS: &[u8] = b"GET /v1/events HTTP/1.1\r\nHost: a\r\n\r\n";
    const POST: &[u8] = b"POST /v1/lookup HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n10.";
    // What stalls would last longer than a test has patience.
    let limits =
        Limits { connections: 48, per_client: 24, time: Duration::from_mins(5), ..Limits::default() };
    let (_tables, service) = serve(limits);
    let mine: Vec<Client> = (0..8).map(|_| Client::new(from("127.0.0.1", &service, EVENTS))).collect();
    let heads = mine.into_iter().map(|mut client| (client.head().unwrap().status, client));
    let (streams, refused): (Vec<_>, Vec<_>) = heads.partition(|(status, _)| *status == 200);
    assert_eq!((streams.len(), refused.len()), (6, 2), "a quarter of a client's connections");
    assert!(refused.iter().all(|(status, _)| *status == 429));
    for payload in [EVENTS, POST, b"GET /v1/lookup HTTP/1.1\r\nX: "] {
        let taken: Vec<TcpStream> = (0..200).map(|_| from("127.0.0.2", &service, payload)).collect();
        // The client that takes all it gets is told of its health, too.
        for client in ["127.0.0.1", "127.0.0.2"] {
            for target in ["/healthz", "/readyz", "/metrics"] {
                assert_eq!(asked(client, &service, target).status, 200, "{client} {target}");
            }
        }
        let answer = asked("127.0.0.1", &service, "/v1/lookup?addr=10.0.0.1");
        assert_eq!(answer.json()[0]["next_hop"], 1);
        // It has more than its share, and gets it when what it has begun stalls.
        until("its oldest request is ended for a new one", || {
            asked("127.0.0.2", &service, "/v1/lookup?addr=10.0.0.1").status == 200
        });
        drop(taken);
    }
    // What the other has begun before goes on.
    for (_, mut stream) in streams {
        assert!(!stream.chunk().unwrap().unwrap().is_empty());
    }
}

#[test]
fn slow_readers_cost_no_threads_and_keep_nobody_out() {
    const READERS: usize = 300;
    // More than the buffers of two sockets.
    let routes =
        common::lines((0..100_000).map(|at| format!("2001:db8:{:x}:{:x}::/64 AS1", at >> 16, at & 0xFFFF)));
    let tables = Tables::of(&[("rib", &routes)]);
    let service = start(tables.settings(&["rib"]));
    let threads = || {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("Threads:")).unwrap();
        line.trim().parse::<usize>().unwrap()
    };
    assert_eq!(service.get("/v1/routes").json().as_array().unwrap().len(), 100_000);
    let (before, memory) = (threads(), resident());
    let request = b"GET /v1/routes HTTP/1.1\r\nHost: a\r\n\r\n";
    let mut readers: Vec<Client> =
        (0..READERS).map(|_| Client::new(from("127.0.0.2", &service, request))).collect();
    for reader in &mut readers {
        assert_eq!(reader.head().unwrap().status, 200);
    }
    assert_eq!(service.get("/v1/figures").status, 200);
    // Other tests of this process have some.
    assert!(threads() < before + READERS / 2, "{} threads, {before} before", threads());
    let more = resident().saturating_sub(memory);
    assert!(more < READERS * (640 << 10), "{more} bytes for {READERS} readers");
    // Who reads at last reads all.
    let mut body = Vec::new();
    while let Some(part) = readers[READERS - 1].chunk().unwrap().filter(|part| !part.is_empty()) {
        body.extend_from_slice(&part);
    }
    assert_eq!(serde_json::from_slice::<Vec<serde_json::Value>>(&body).unwrap().len(), 100_000);
}

#[test]
fn who_is_slow_loses_the_connection() {
    let limits = Limits {
        head_time: Duration::from_millis(300),
        time: Duration::from_millis(600),
        ..Limits::default()
    };
    let (_tables, service) = serve(limits);
    for begin in [
        "".as_bytes(),
        b"GET /v1/lookup?addr=10.0.0.1 HTTP/1.1\r\nX: ",
        b"POST /v1/lookup HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n10.0",
    ] {
        let mut stream = TcpStream::connect(service.address).unwrap();
        stream.write_all(begin).unwrap();
        let before = Instant::now();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let mut answer = Vec::new();
        // A byte now and then changes nothing.
        let mut slow = stream.try_clone().unwrap();
        let trickle = thread::spawn(move || {
            while slow.peer_addr().is_ok()
                && slow.write_all(b"1").is_ok()
                && before.elapsed() < Duration::from_secs(5)
            {
                thread::sleep(Duration::from_millis(50));
            }
        });
        let _ = stream.read_to_end(&mut answer);
        assert!(before.elapsed() < Duration::from_secs(4), "{begin:?} took {:?}", before.elapsed());
        drop(stream);
        trickle.join().unwrap();
    }
    assert!(is_served(&service));
}

#[test]
fn hostile_bytes_are_refused_and_pipelined_requests_answered() {
    let (_tables, service) = serve(Limits::default());
    let long = format!("GET /?{} HTTP/1.1\r\nHost: a\r\n\r\n", "y".repeat(1 << 20));
    let heads = format!("GET / HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(1000));
    for request in [
        "\x16\x03\x01 what is this\r\n\r\n",
        "GET /v1/lookup?addr=\x00 HTTP/1.1\r\n\r\n",
        "POST /v1/lookup HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        "POST /v1/lookup HTTP/1.1\r\nContent-Length: 99999999999999999999999\r\n\r\n",
        "POST /v1/lookup HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        &long,
        &heads,
    ] {
        let mut stream = TcpStream::connect(service.address).unwrap();
        let _ = stream.write_all(request.as_bytes());
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let answer = String::from_utf8_lossy(&answer);
        // An answer may be lost with the connection, but a wrong request is never answered.
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 4"), "{request:.60}: {answer}");
    }
    let mut client = service.client();
    let request = "GET /v1/lookup?addr=10.0.0.1 HTTP/1.1\r\nHost: a\r\n\r\n".repeat(100);
    client.stream().write_all(request.as_bytes()).unwrap();
    for _ in 0..100 {
        assert_eq!(client.read().unwrap().json()[0]["next_hop"], 1);
    }
    // A body that is cut off.
    for _ in 0..20 {
        let mut stream = TcpStream::connect(service.address).unwrap();
        stream
            .write_all(b"POST /v1/lookup HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n10.0.0.1\n")
            .unwrap();
    }
    assert!(is_served(&service));
}

#[test]
fn without_the_token_nothing_is_told() {
    let tables = Tables::of(&[("rib", "10.0.0.0/8 1\n"), ("token", "0123456789abcdef\n")]);
    let service = start(Settings { token_file: Some(tables.path("token")), ..tables.settings(&["rib"]) });
    for header in [
        "",
        "Bearer 0123456789abcdeX",
        "Bearer 0123456789abcde",
        "Basic 0123456789abcdef",
        "0123456789abcdef",
    ] {
        for target in ["/v1/lookup?addr=10.0.0.1", "/v1/tables", "/metrics", "/nowhere", "/v1/lookup"] {
            let answer = service.client().ask("GET", target, &[("Authorization", header)], b"");
            assert_eq!(answer.status, 401, "{header:?} {target}");
            assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
            assert_eq!(answer.error(), "expected `Authorization: Bearer` and the token");
        }
    }
    let right = [("Authorization", "Bearer 0123456789abcdef")];
    assert_eq!(service.client().ask("GET", "/v1/lookup?addr=10.0.0.1", &right, b"").status, 200);
    assert_eq!(service.get("/healthz").status, 200);
}

#[test]
fn tls_is_spoken_and_nothing_else() {
    let tables = Tables::of(&[("rib", "10.0.0.0/8 1\n")]);
    let tls = Some((fixture("certificate.pem"), fixture("key.pem")));
    let service = start(Settings { tls, ..tables.settings(&["rib"]) });
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(fixture("certificate.pem")).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = Arc::new(config.with_root_certificates(roots).with_no_client_auth());
    let connection = ClientConnection::new(config, ServerName::try_from("localhost").unwrap()).unwrap();
    let mut client = Client::new(StreamOwned::new(connection, TcpStream::connect(service.address).unwrap()));
    for _ in 0..2 {
        let answer = client.ask("GET", "/v1/lookup?addr=10.0.0.1", &[], b"");
        assert_eq!(answer.json()[0]["next_hop"], 1);
    }
    let body = "10.0.0.1\n".repeat(100_000);
    assert_eq!(client.ask("POST", "/v1/lookup", &[], body.as_bytes()).text().lines().count(), 100_000);
    let mut plain = TcpStream::connect(service.address).unwrap();
    plain.write_all(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    let _ = plain.read_to_end(&mut answer);
    assert!(!answer.starts_with(b"HTTP"), "{answer:?}");
}

#[test]
fn a_stop_lets_begun_requests_end_and_takes_no_new_ones() {
    let (_tables, mut service) = serve(Limits { time: Duration::from_secs(5), ..Limits::default() });
    let mut idle = service.client();
    assert_eq!(idle.ask("GET", "/healthz", &[], b"").status, 200);
    let mut begun = service.client();
    begun
        .stream()
        .write_all(b"POST /v1/lookup HTTP/1.1\r\nHost: a\r\nContent-Length: 18\r\n\r\n10.0.0.1\n")
        .unwrap();
    assert_eq!(begun.head().unwrap().status, 200);
    service.handle.stop();
    until("new connections are refused", || TcpStream::connect(service.address).is_err());
    begun.stream().write_all(b"10.0.0.2\n").unwrap();
    let mut answer = Vec::new();
    while let Some(part) = begun.chunk().unwrap().filter(|part| !part.is_empty()) {
        answer.extend_from_slice(&part);
    }
    assert_eq!(answer, b"10.0.0.0/8\t1\n10.0.0.0/8\t1\n");
    // The idle one is closed, and all has ended.
    assert_eq!(idle.stream().read(&mut [0; 8]).unwrap(), 0);
    let before = Instant::now();
    service.join();
    assert!(before.elapsed() < Duration::from_secs(3));
}
