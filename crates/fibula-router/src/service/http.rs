//! A server of one page by HTTP/1.1, for anybody who may connect and has the token if there is one:
//! hyper, with a limit on everything that a peer can make long.
//!
//! A connection answers one request and ends. A body is never read. Where there are as many
//! connections as may be, a new one ends the oldest, so peers that say nothing keep nobody out.

use fibula_access::{TlsAcceptor, Token};
use hyper::body::Incoming;
use hyper::header::{ALLOW, CONTENT_TYPE, WWW_AUTHENTICATE};
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

/// A page that is made whenever it is asked for.
pub(super) struct Page {
    pub(super) path: &'static str,
    /// The type of the text.
    pub(super) kind: &'static str,
    /// What requests must carry.
    pub(super) token: Option<Token>,
    /// Makes the text; `None` if that cannot be done now.
    pub(super) make: Box<dyn Fn() -> Option<String> + Send + Sync>,
}

/// Serves a page in a thread of its own, as long as the process lives.
///
/// # Errors
/// If there is no thread for it.
pub(super) fn serve(listener: TcpListener, tls: Option<TlsAcceptor>, page: Page) -> io::Result<()> {
    let page = Arc::new(page);
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
            let (tls, page) = (tls.clone(), Arc::clone(&page));
            let served = async move {
                let Some(tls) = tls else { return connection(stream, page).await };
                // Who does not speak TLS, or not in time, has no connection.
                if let Ok(Ok(stream)) = tokio::time::timeout(HEAD_TIME, tls.accept(stream)).await {
                    connection(stream, page).await;
                }
            };
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
pub(super) async fn connection(stream: impl AsyncRead + AsyncWrite + Unpin, page: Arc<Page>) {
    let answer = service_fn(move |request| answer(request, Arc::clone(&page)));
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
async fn answer(request: Request<Incoming>, page: Arc<Page>) -> Result<Response<String>, hyper::http::Error> {
    let empty = |status| Response::builder().status(status).body(String::new());
    if page.token.as_ref().is_some_and(|token| !token.is_in(request.headers())) {
        let response = Response::builder().status(StatusCode::UNAUTHORIZED);
        return response.header(WWW_AUTHENTICATE, "Bearer").body(Token::EXPECTED.into());
    }
    if request.uri().path() != page.path {
        return empty(StatusCode::NOT_FOUND);
    }
    if request.method() != Method::GET && request.method() != Method::HEAD {
        let response = Response::builder().status(StatusCode::METHOD_NOT_ALLOWED);
        return response.header(ALLOW, "GET, HEAD").body(String::new());
    }
    let kind = page.kind;
    match tokio::task::spawn_blocking(move || (page.make)()).await {
        Ok(Some(text)) => Response::builder().header(CONTENT_TYPE, kind).body(text),
        Ok(None) | Err(_) => empty(StatusCode::SERVICE_UNAVAILABLE),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustls::pki_types::pem::PemObject;
    use rustls::pki_types::{CertificateDer, ServerName};
    use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
    use std::io::{Read, Write};
    use std::net::{SocketAddr, TcpStream};
    use std::path::Path;

    fn server() -> SocketAddr {
        server_with(None, None)
    }

    fn server_with(tls: Option<TlsAcceptor>, token: Option<Token>) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let make = Box::new(|| Some("it is here".into()));
        serve(listener, tls, Page { path: "/page", kind: "text/plain", token, make }).unwrap();
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

    #[test]
    fn without_the_token_nothing_is_told() {
        let path = std::env::temp_dir().join(format!("fibula-token-{}", std::process::id()));
        std::fs::write(&path, "0123456789abcdef\n").unwrap();
        let address = server_with(None, Some(Token::read(&path).unwrap()));
        std::fs::remove_file(path).unwrap();
        let ask =
            |header: &str, path| ask(address, format!("GET {path} HTTP/1.1\r\n{header}\r\n").as_bytes());
        for header in
            ["", "Authorization: Bearer 0123456789abcdeX\r\n", "Authorization: 0123456789abcdef\r\n"]
        {
            for path in ["/page", "/other"] {
                let answer = ask(header, path);
                assert!(answer.starts_with("HTTP/1.1 401") && !answer.contains("here"), "{answer}");
            }
        }
        assert!(ask("Authorization: Bearer 0123456789abcdef\r\n", "/page").ends_with("it is here"));
    }

    #[test]
    fn tls_is_spoken_and_nothing_else() {
        let of =
            |name| Path::new(env!("CARGO_MANIFEST_DIR")).join("../fibula-serve/tests/fixtures").join(name);
        let (chain, key) = (of("certificate.pem"), of("key.pem"));
        let address = server_with(Some(fibula_access::acceptor(&chain, &key).unwrap()), None);
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(chain).unwrap()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let config = config.unwrap().with_root_certificates(roots).with_no_client_auth();
        let name = ServerName::try_from("localhost").unwrap();
        let connection = ClientConnection::new(Arc::new(config), name).unwrap();
        let mut stream = StreamOwned::new(connection, TcpStream::connect(address).unwrap());
        stream.write_all(b"GET /page HTTP/1.1\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.ends_with("it is here"), "{answer}");
        let mut plain = TcpStream::connect(address).unwrap();
        plain.write_all(b"GET /page HTTP/1.1\r\n\r\n").unwrap();
        let mut answer = Vec::new();
        let _ = plain.read_to_end(&mut answer);
        assert!(!answer.starts_with(b"HTTP"), "{answer:?}");
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
