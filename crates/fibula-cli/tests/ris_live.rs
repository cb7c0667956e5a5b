//! The client of RIS Live, with a server that sends what the test says.
//!
//! ```text
//!   fibula serve ──wss, ris_subscribe──▶ the test: confirms, sends routes, cuts, fails, comes back
//!        ▲
//!        └── /v1/lookup, /healthz, /v1/tables, /metrics: the routes, and how fresh they are
//! ```
#![cfg(all(feature = "serve", target_os = "linux"))]

#[allow(dead_code, reason = "BMP has tests of its own")]
mod feeds;
mod service;

use feeds::message;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::{Value, json};
use service::{Service, until};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use tungstenite::handshake::server::{Request, Response};
use tungstenite::protocol::frame::{CloseFrame, coding::CloseCode};
use tungstenite::{Message, WebSocket, accept, accept_hdr};

const LOOKUP: &str = "/v1/lookup?table=live&addr=10.1.2.3";
const ROW: &str = r#""prefix":"10.0.0.0/8","next_hop":"192.0.2.1""#;

fn confirmation(kind: &str) -> Message {
    let data = json!({ "subscription": { "type": kind }, "socketOptions": { "acknowledge": true } });
    Message::text(json!({ "type": "ris_subscribe_ok", "data": data }).to_string())
}

/// Returns what a client asks for at first.
fn requests<S: Read + Write>(socket: &mut WebSocket<S>) -> [Value; 2] {
    [(); 2].map(|()| serde_json::from_str(socket.read().unwrap().to_text().unwrap()).unwrap())
}

/// Accepts a client, and confirms what it asks for.
fn subscribed(listener: &TcpListener) -> WebSocket<TcpStream> {
    let mut socket = accept(listener.accept().unwrap().0).unwrap();
    requests(&mut socket);
    socket.send(confirmation("UPDATE")).unwrap();
    socket
}

fn listener() -> (TcpListener, u16) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    (listener, port)
}

#[test]
fn it_subscribes_and_tells_each_state() {
    let (listener, port) = listener();
    let feed = format!(
        "live=ris-live:ws://127.0.0.1:{port}/v1/ws/?host=rrc00&prefix=10.0.0.0/8&prefix=2001:db8::/32\
         &moreSpecific=true&path=^64500"
    );
    let mut service = Service::start(&["--follow", &feed]);
    until(&service, "/healthz", r#""live":{"state":"loading""#);
    let mut path = String::new();
    #[allow(clippy::result_large_err, reason = "it is the library's")]
    let note = |request: &Request, response: Response| {
        path = request.uri().to_string();
        Ok(response)
    };
    let mut socket = accept_hdr(listener.accept().unwrap().0, note).unwrap();
    assert_eq!(path, "/v1/ws/?client=fibula");
    let acknowledged = json!({ "acknowledge": true });
    let states = json!({ "type": "ris_subscribe", "data":
        { "host": "rrc00", "type": "RIS_PEER_STATE", "socketOptions": acknowledged } });
    let updates = json!({ "type": "ris_subscribe", "data": {
        "host": "rrc00", "prefix": ["10.0.0.0/8", "2001:db8::/32"], "moreSpecific": true, "path": "^64500",
        "type": "UPDATE", "socketOptions": acknowledged } });
    assert_eq!(requests(&mut socket), [states, updates]);
    // Until updates are confirmed it is loading, whatever comes before.
    socket.send(confirmation("RIS_PEER_STATE")).unwrap();
    socket.send(Message::text(r#"{"type":"ris_rrc_list","data":["rrc00"]}"#)).unwrap();
    socket.send(Message::text(message("10.0.0.0/8", Some("192.0.2.1")))).unwrap();
    until(&service, LOOKUP, ROW);
    assert!(service.get("/healthz").contains(r#""live":{"state":"loading""#));
    socket.send(confirmation("UPDATE")).unwrap();
    until(&service, "/healthz", r#""status":"ok""#);
    assert_eq!(service.line(), "fibula: live: the server has confirmed the subscription\n");
    // A bad message is counted, and the next one is read.
    for bad in [Message::text(r#"{"type":7}"#), Message::binary(vec![0xFF])] {
        socket.send(bad).unwrap();
    }
    socket.send(Message::text(message("10.1.0.0/16", Some("192.0.2.2")))).unwrap();
    until(&service, LOOKUP, r#""prefix":"10.1.0.0/16","next_hop":"192.0.2.2""#);
    socket.send(Message::text(message("10.1.0.0/16", None))).unwrap();
    until(&service, LOOKUP, ROW);
    until(&service, "/v1/tables", r#""bad_messages":2"#);
    until(&service, "/metrics", "fibula_serve_bad_messages_total{table=\"live\"} 2\n");
    until(&service, "/healthz", r#""status":"ok""#);
    for (number, count) in [(5, 1), (6, 2)] {
        let line = service.line();
        assert!(
            line.starts_with(&format!("fibula: live: message {number}: no message of RIS Live: ")),
            "{line}"
        );
        assert!(line.ends_with(&format!(" (passed over, {count} so far)\n")), "{line}");
    }
    // A connection that is cut leaves what it has told, as stale.
    drop(socket);
    until(&service, "/healthz", r#""live":{"state":"stale""#);
    until(&service, LOOKUP, ROW);
    assert!(service.line().ends_with("; it is opened again in 1s\n"));
    // It subscribes again, and what was told before is stale until it is dropped: here with the
    // session of its peer.
    let mut socket = subscribed(&listener);
    until(&service, "/v1/tables", "what was told before the connection was lost, and not again since");
    socket.send(Message::text(message("10.1.0.0/16", Some("192.0.2.3")))).unwrap();
    until(&service, LOOKUP, r#""prefix":"10.1.0.0/16","next_hop":"192.0.2.3""#);
    assert!(service.get("/healthz").contains(r#""live":{"state":"stale""#));
    let session = message("10.0.0.0/8", None).replace(r#""UPDATE""#, r#""RIS_PEER_STATE","state":"down""#);
    socket.send(Message::text(session)).unwrap();
    until(&service, LOOKUP, r#""prefix":null"#);
    until(&service, "/healthz", r#""status":"ok""#);
    service.line();
    // What the server says of an error is told, and it is asked again.
    socket.send(Message::text(r#"{"type":"ris_error","data":{"message":"too slow"}}"#)).unwrap();
    until(&service, "/healthz", r#""error":"the server says: \"too slow\"""#);
    assert!(service.line().ends_with("the server says: \"too slow\"; it is opened again in 1s\n"));
    let mut socket = subscribed(&listener);
    until(&service, "/healthz", r#""status":"ok""#);
    service.line();
    socket.close(Some(CloseFrame { code: CloseCode::Away, reason: "restart".into() })).unwrap();
    until(&service, "/healthz", "the server has closed the connection: 1001 \\\"restart\\\"");
    // It has told no route, so it is tried later, and ever later where nobody listens any more.
    assert!(service.line().ends_with("; it is opened again in 2s\n"));
    drop((listener, socket));
    assert!(service.line().ends_with("; it is opened again in 4s\n"));
    until(&service, "/healthz", &format!("cannot connect to 127.0.0.1:{port}"));
}

#[test]
fn what_is_dropped_while_the_server_is_away_leaves_a_stale_table() {
    let (listener, port) = listener();
    let feed = format!("live=ris-live:ws://127.0.0.1:{port}");
    let mut service = Service::start(&["--follow", &feed, "--max-stale", "1s"]);
    let mut socket = subscribed(&listener);
    socket.send(Message::text(message("10.0.0.0/8", Some("192.0.2.1")))).unwrap();
    until(&service, LOOKUP, ROW);
    until(&service, "/healthz", r#""status":"ok""#);
    drop((listener, socket));
    until(&service, LOOKUP, r#""prefix":null"#);
    until(&service, "/v1/tables", r#""state":"stale""#);
    let lines: Vec<String> = std::iter::repeat_with(|| service.line())
        .take_while(|line| line != "fibula: live: 1 prefixes were stale for 1s and are dropped\n")
        .collect();
    assert!(lines.len() < 10, "{lines:?}");
    assert!(service.get("/healthz").contains(r#""live":{"state":"stale""#));
}

#[test]
fn it_speaks_tls_to_a_server_that_the_system_trusts() {
    const CERTIFICATE: &str = "../fibula-serve/tests/fixtures/certificate.pem";
    let (listener, port) = listener();
    let feed = format!("live=ris-live:wss://localhost:{port}/");
    let certificate = CertificateDer::from_pem_file(CERTIFICATE).unwrap();
    let key = PrivateKeyDer::from_pem_file("../fibula-serve/tests/fixtures/key.pem").unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(vec![certificate], key));
    let config = Arc::new(config.unwrap());
    let accept_tls = || {
        let connection = ServerConnection::new(Arc::clone(&config)).unwrap();
        accept(StreamOwned::new(connection, listener.accept().unwrap().0)).ok()
    };
    let trusting = format!("SSL_CERT_FILE={CERTIFICATE} exec \"$0\" \"$@\"");
    let service = Service::start_by(&trusting, &["--follow", &feed]);
    let mut socket = accept_tls().unwrap();
    requests(&mut socket);
    socket.send(confirmation("UPDATE")).unwrap();
    socket.send(Message::text(message("10.0.0.0/8", Some("192.0.2.1")))).unwrap();
    until(&service, LOOKUP, ROW);
    until(&service, "/healthz", r#""status":"ok""#);
    drop((service, socket));
    // Who does not trust it hears nothing of it.
    let mut service = Service::start(&["--follow", &feed]);
    assert!(accept_tls().is_none());
    let line = service.line();
    assert!(line.contains("certificate"), "{line}");
    assert!(service.get("/healthz").contains(r#""live":{"state":"stale""#));
}
