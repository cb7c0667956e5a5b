//! What a fuzzer calls: the bytes of a peer go to the servers of a router with a few routes.

use super::{Shared, http, socket};
use crate::config::Config;
use crate::control::{Control, Settings, run};
use crate::feed::{Feed, Session};
use crate::message::{Event, Target};
use crate::plane::memory::Memory;
use fibula::{IpPrefix, Prefix};
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, LazyLock};
use std::thread;
use std::time::Instant;
use tokio::runtime::{Builder, Runtime};

/// The routes of the table 254, of each family.
const ROUTES: u32 = 3;

/// A router that lives as long as the process.
static ROUTER: LazyLock<Shared<Memory>> = LazyLock::new(|| {
    let queue: Shared<Memory> = Arc::default();
    let event = |prefix: IpPrefix| Event::Route {
        table: 254,
        prefix,
        metric: 0,
        protocol: 4,
        target: Some(Target::Blackhole),
    };
    let ipv4 = (0..ROUTES).map(|at| Prefix::<u32>::containing(at << 24, 8).into());
    let ipv6 = (0..ROUTES).map(|at| Prefix::<u128>::containing(u128::from(at) << 96, 32).into());
    let session = Session { feed: Feed::Table, number: 1 };
    queue.add(session, Instant::now(), 0, ipv4.chain(ipv6).map(event));
    let shared = Arc::clone(&queue);
    thread::spawn(move || run(Control::new(Memory::with_engine("oracle"), Settings::default()), &shared));
    queue
});

static RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| Builder::new_current_thread().enable_all().build().expect("a runtime of this thread"));

static PAGE: LazyLock<Arc<http::Page>> = LazyLock::new(|| {
    let make = Box::new(|| Some("it is here".into()));
    Arc::new(http::Page { path: "/page", kind: "text/plain", token: None, make })
});

/// Returns the answers to the questions of a peer of the socket: a line for each.
///
/// # Panics
/// If the server fails, which it may only for its peer's sake.
#[must_use]
pub fn socket(questions: &[u8]) -> Vec<u8> {
    let mut answers = Vec::new();
    socket::answer_all(questions, &mut answers, &Config::default(), &ROUTER)
        .expect("a peer in memory has no errors");
    answers
}

/// Returns the answers to the requests of a peer by HTTP, of at most a socket's buffer.
///
/// # Panics
/// If the system has no sockets.
#[must_use]
pub fn http(requests: &[u8]) -> Vec<u8> {
    let (mut peer, server) = UnixStream::pair().expect("a pair of sockets");
    peer.write_all(requests).expect("the buffer has room");
    peer.shutdown(Shutdown::Write).expect("the peer says no more");
    server.set_nonblocking(true).expect("a socket that never waits");
    RUNTIME.block_on(async {
        let server = tokio::net::UnixStream::from_std(server).expect("a runtime with sockets");
        http::connection(server, Arc::clone(&PAGE)).await;
    });
    let mut answers = Vec::new();
    // What the server did not read is an error here, after its answer.
    let _ = peer.read_to_end(&mut answers);
    answers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_is_answered() {
        let answers = socket(b"\"status\"\n{\"lookup\":{\"table\":254,\"address\":\"1.2.3.4\"}}\nx");
        let lines: Vec<String> = String::from_utf8(answers).unwrap().lines().map(str::to_owned).collect();
        assert_eq!(lines.len(), 3);
        assert!(lines[1].contains("1.0.0.0/8") && lines[2].starts_with("{\"error\""), "{lines:?}");
        assert!(http(b"GET /page HTTP/1.1\r\n\r\n").ends_with(b"it is here"));
    }
}
