//! A server of one page by HTTP/1.1, for anybody who may connect: hyper, with a limit on everything
//! that a peer can make long.
//!
//! A connection answers one request and ends. A body is never read. Where there are as many
//! connections as may be, a new one ends the oldest, so peers that say nothing keep nobody out.

use hyper::body::Incoming;
use hyper::header::{ALLOW, CONTENT_TYPE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::runtime::Builder;
use tokio::task::AbortHandle;

/// How many connections there are at most.
const CONNECTIONS: usize = 256;

/// The greatest length of a request's head, in bytes.
const HEAD: usize = 16 << 10;

/// How long the head of a request may take to come.
const HEAD_TIME: Duration = Duration::from_secs(5);

/// How long a connection may take in all.
const TIME: Duration = Duration::from_secs(30);

/// How many threads make pages.
const THREADS: usize = 2;

/// A page that is made whenever it is asked for; `None` if it cannot be made now.
pub(super) type Page = Arc<dyn Fn() -> Option<String> + Send + Sync>;

/// Serves a page of a type at a path, in a thread of its own, as long as the process lives.
///
/// # Errors
/// If there is no thread for it.
pub(super) fn serve(
    listener: TcpListener,
    path: &'static str,
    kind: &'static str,
    page: Page,
) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let runtime = Builder::new_current_thread().enable_all().max_blocking_threads(THREADS).build()?;
    let accept = async move {
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let mut connections = VecDeque::<AbortHandle>::new();
        loop {
            let Ok((stream, _)) = listener.accept().await else {
                // No file descriptor is free.
                tokio::time::sleep(Duration::from_secs(1)).await;
                continue;
            };
            connections.retain(|connection| !connection.is_finished());
            if connections.len() >= CONNECTIONS {
                connections.pop_front().inspect(AbortHandle::abort);
            }
            let served = connection(stream, path, kind, Arc::clone(&page));
            connections.push_back(tokio::spawn(served).abort_handle());
        }
    };
    let run = move || {
        let end: io::Result<Infallible> = runtime.block_on(accept);
        // It ends only so.
        let Err(error) = end;
        tracing::error!("metrics: {error}");
    };
    thread::Builder::new().name("metrics".into()).spawn(run).map(drop)
}

/// Serves a connection, to its end or for as long as it may take.
pub(super) async fn connection(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    path: &'static str,
    kind: &'static str,
    page: Page,
) {
    let answer = service_fn(move |request| answer(request, path, kind, Arc::clone(&page)));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .max_buf_size(HEAD)
        .keep_alive(false)
        // A peer that says no more still reads.
        .half_close(true)
        .serve_connection(TokioIo::new(stream), answer);
    match tokio::time::timeout(TIME, connection).await {
        Ok(Err(error)) => tracing::debug!("metrics: {error}"),
        Ok(Ok(())) => {}
        Err(_) => tracing::debug!("metrics: a connection took too long"),
    }
}

/// Answers a request.
async fn answer(
    request: Request<Incoming>,
    path: &str,
    kind: &'static str,
    page: Page,
) -> Result<Response<String>, hyper::http::Error> {
    let empty = |status| Response::builder().status(status).body(String::new());
    if request.uri().path() != path {
        return empty(StatusCode::NOT_FOUND);
    }
    if request.method() != Method::GET && request.method() != Method::HEAD {
        let response = Response::builder().status(StatusCode::METHOD_NOT_ALLOWED);
        return response.header(ALLOW, "GET, HEAD").body(String::new());
    }
    match tokio::task::spawn_blocking(move || page()).await {
        Ok(Some(text)) => Response::builder().header(CONTENT_TYPE, kind).body(text),
        Ok(None) | Err(_) => empty(StatusCode::SERVICE_UNAVAILABLE),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{SocketAddr, TcpStream};

    fn server() -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        serve(listener, "/page", "text/plain", Arc::new(|| Some("it is here".into()))).unwrap();
        address
    }

    /// Returns what comes back for some bytes; what was cut off counts too.
    fn ask(address: SocketAddr, request: &[u8]) -> String {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(request).unwrap();
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn what_cannot_be_served_is_refused() {
        let address = server();
        let long = format!("GET /page HTTP/1.1\r\nA: {}\r\n\r\n", "y".repeat(2 * HEAD));
        for (request, status) in [
            ("GET /page HTTP/1.1\r\nHost: a\r\n\r\n", "200"),
            ("GET /other HTTP/1.1\r\nHost: a\r\n\r\n", "404"),
            ("POST /page HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n", "405"),
            ("GET /page HTTP/1.1\r\nContent-Length: 99999999999999999999999\r\n\r\n", "400"),
            ("\x16\x03\x01 what is this\r\n\r\n", "400"),
            (long.as_str(), "431"),
        ] {
            let answer = ask(address, request.as_bytes());
            let first = answer.lines().next().unwrap_or_default();
            assert!(first.starts_with(&format!("HTTP/1.1 {status}")), "{request:.60}: {answer}");
        }
        assert!(ask(address, b"GET /page HTTP/1.1\r\n\r\n").ends_with("\r\n\r\nit is here"));
    }

    /// Returns the memory of this process that is resident, in bytes.
    fn resident() -> usize {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() << 10
    }

    #[test]
    fn ten_thousand_peers_that_say_nothing_keep_nobody_out() {
        use rustix::process::{Resource, getrlimit, setrlimit};
        // The peers are this process too, and their files stay open.
        let limit = getrlimit(Resource::Nofile);
        let _ = setrlimit(Resource::Nofile, rustix::process::Rlimit { current: limit.maximum, ..limit });
        let most = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX).saturating_sub(1000);
        let address = server();
        let before = resident();
        let is_served = || ask(address, b"GET /page HTTP/1.1\r\n\r\n").ends_with("it is here");
        let begun: Vec<TcpStream> = (0..most.min(10_000))
            .map(|at| {
                // More than the kernel's backlog would wait for a second each.
                assert!(at % 64 != 0 || is_served(), "beside {at}");
                let mut stream = TcpStream::connect(address).unwrap();
                // The server may have ended it already.
                let _ = stream.write_all(b"GET /page HTTP/1.1\r\nX: ");
                stream
            })
            .collect();
        assert!(begun.len() > 2 * CONNECTIONS, "few files may be open");
        assert!(is_served());
        // The oldest was ended to make room.
        assert!(matches!((&begun[0]).read(&mut [0; 64]), Ok(0) | Err(_)));
        // Other tests of this process may take some too.
        let more = resident().saturating_sub(before);
        assert!(more < 256 << 20, "{more} bytes for {CONNECTIONS} connections");
    }
}
