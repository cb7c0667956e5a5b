//! Tables of fibula as a service by HTTP/1.1: lookups of one address and of streams of them,
//! routes, differences, metrics and events.
//!
//! ```text
//!  files ──▶ Followed<Served> ◀── a thread each reads a file again when it is replaced
//!  feeds ──▶ Feeds: two copies ◀── a thread publishes changes
//!                 │ Arc: an answer is of one generation, whatever happens meanwhile
//!  connections ──▶ routes ──▶ lookup, stream, listing, routes, differences, rov, events ...
//! ```
//!
//! The connections bound what a peer can make long: the head of a request, its body, its time, and
//! the number of connections, of all and of each client. Answers without a known length are written
//! while they are sent, and the writer waits for the reader, but not a thread.
#![forbid(unsafe_code)]

mod activity;
mod app;
mod bird;
mod channel;
mod connections;
mod error;
mod events;
mod feed;
mod files;
mod host;
mod listed;
mod listing;
mod lookup;
mod media;
mod metrics;
mod openapi;
mod page;
mod race;
mod refusal;
mod router;
mod routes;
mod rov;
mod rows;
mod served;
mod shares;
mod stream;
mod tag;

pub use error::Error;
pub use routes::{ROUTES, Route};

use app::App;
use axum::Router;
use fibula::{IpPrefix, NextHopInfo};
use fibula_io::table::ReadOptions;
use fibula_page::plain_name;
use files::Condition;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpSocket};

/// Prints a line for whoever runs the service.
pub type Tell = fn(std::fmt::Arguments<'_>);

/// What is served, and how.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The tables of files, each with its name: letters, digits, `_`, `-` and `.`. Others come by
    /// [`Handle::change`].
    pub tables: Vec<(String, PathBuf)>,
    /// How tables are read.
    pub options: ReadOptions,
    /// RPKI payloads, as rpki-client and Routinator write them.
    pub vrps: Option<PathBuf>,
    /// Names of ASes, as RIPE's `asn.txt` and the CSV of bgp.tools have them.
    pub as_names: Option<PathBuf>,
    /// The socket of a router on this machine, whose status is shown.
    pub router: Option<PathBuf>,
    /// How often the files are looked at.
    pub poll: Duration,
    /// The percentage of its routes that a table may lose by a reload, in each family. A reload
    /// that loses more is refused; with less than 100, also a file without routes.
    pub shrink: u8,
    /// How long a newer file may be there until its table is called stale.
    pub read_time: Duration,
    /// What requests may take.
    pub limits: Limits,
    /// A file whose first line is the token that requests must carry.
    pub token_file: Option<PathBuf>,
    /// Files with a certificate's chain and its key, in PEM.
    pub tls: Option<(PathBuf, PathBuf)>,
    /// The origins whose pages may ask, as `https://looking.example`; `*` for all.
    pub origins: Vec<String>,
    /// The names that a service on loopback without a token is called by, beside addresses and
    /// names without dots.
    pub hosts: Vec<String>,
    /// Tells what happens, a line at a time.
    pub tell: Tell,
}

impl Settings {
    /// Serves tables with safe limits, and tells nothing.
    #[must_use]
    pub fn new(tables: Vec<(String, PathBuf)>) -> Self {
        Self {
            tables,
            options: ReadOptions::default(),
            vrps: None,
            as_names: None,
            router: None,
            poll: Duration::from_secs(1),
            shrink: 50,
            read_time: Duration::from_mins(5),
            limits: Limits::default(),
            token_file: None,
            tls: None,
            origins: Vec::new(),
            hosts: Vec::new(),
            tell: |_| (),
        }
    }
}

/// What requests may take.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The bytes of a request's body.
    pub body: usize,
    /// The rows of an answer about a table. Answers to addresses have a row for each address.
    pub rows: usize,
    /// How long a request may take, from its head to the last part of its answer.
    pub time: Duration,
    /// How long the head of a request may take to come, which is also how long a connection may be
    /// idle.
    pub head_time: Duration,
    /// The connections at a time. One more ends the one that has waited longest for its client, of
    /// the client that has most. Where none waits, it may ask for health and metrics alone.
    pub connections: usize,
    /// The connections of one client: of an IPv4 address, or the /64 of an IPv6 address. A quarter
    /// of its connections, and of all, may be streams of events.
    pub per_client: usize,
}

impl Limits {
    /// The connections that there may be for a moment beside [`connections`](Self::connections):
    /// those that ask for health and metrics, and those that end.
    pub const SPARE: usize = connections::RESERVE + connections::ENDING;
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body: 1 << 30,
            rows: 100_000,
            time: Duration::from_mins(1),
            head_time: Duration::from_secs(30),
            connections: 1024,
            per_client: 512,
        }
    }
}

/// A service that listens.
pub struct Server {
    app: Arc<App>,
    router: Router,
    listener: TcpListener,
}

/// Asks a running service for something. It may be cloned, and used from any thread.
#[derive(Clone)]
pub struct Handle {
    app: Arc<App>,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").field("listener", &self.listener).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Handle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Handle")
    }
}

impl Server {
    /// Reads the tables and listens at an address.
    ///
    /// # Errors
    /// If a file cannot be read, a name is none, or the address cannot be listened at.
    ///
    /// # Panics
    /// Outside of a runtime of tokio with several threads.
    pub fn bind(settings: Settings, address: SocketAddr) -> Result<Self, Error> {
        // Before the tables are read, which may take long: a port that is taken is told at once.
        let listener = listen(address);
        let listener = listener.map_err(|error| Error::new(format_args!("{address}: {error}")))?;
        let app = App::start(settings, address)?;
        let router = routes::all(&app)?;
        Ok(Self { app, router, listener })
    }

    /// Returns the address that it listens at.
    ///
    /// # Errors
    /// If the system does not tell.
    pub fn address(&self) -> Result<SocketAddr, Error> {
        self.listener.local_addr().map_err(Error::new)
    }

    /// Returns whether it speaks TLS.
    #[must_use]
    pub fn is_tls(&self) -> bool {
        self.app.tls.is_some()
    }

    /// Returns what asks this service for something.
    #[must_use]
    pub fn handle(&self) -> Handle {
        Handle { app: Arc::clone(&self.app) }
    }

    /// Serves until [`Handle::stop`]. Requests that have begun are answered then, within the time
    /// that a request may take.
    pub async fn run(self) {
        let Self { app, router, listener } = self;
        connections::serve(&app, router, listener).await;
    }
}

/// Listens at an address. Many may connect at once: who finds the queue full waits for a second.
fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    const QUEUE: u32 = 4096;
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(QUEUE)
}

impl Handle {
    /// Reads all files again, the token and the certificate too, each in its own thread.
    pub fn reload(&self) {
        self.app.reload();
    }

    /// Takes in what a feed tells: another value of a prefix, or none any more. It is seen within
    /// some 20 ms. A table that there is not yet begins empty; what its name may not have is a
    /// dash. A table of a file of that name stays as it is, and hides this one.
    pub fn change(&self, table: &str, prefix: IpPrefix, value: Option<&NextHopInfo>) {
        self.app.feeds.change(&plain_name(table), prefix, value, &self.app.events);
    }

    /// Notes that a feed has ended by an error, which `/healthz` and `/v1/tables` tell. Its table
    /// stays as it is.
    pub fn fail(&self, table: &str, what: impl std::fmt::Display) {
        self.app.feeds.fail(&plain_name(table), Condition::Stale, what.to_string());
    }

    /// Notes that a feed has begun to tell what its source has, which `/healthz` and `/v1/tables`
    /// tell until [`recover`](Self::recover) or [`fail`](Self::fail).
    pub fn load(&self, table: &str, what: impl std::fmt::Display) {
        self.app.feeds.fail(&plain_name(table), Condition::Loading, what.to_string());
    }

    /// Notes that what a table of a feed has is what its source has, after [`load`](Self::load) or
    /// [`fail`](Self::fail).
    pub fn recover(&self, table: &str) {
        self.app.feeds.recover(&plain_name(table));
    }

    /// Counts a message of a feed that could not be read, which `/v1/tables` and `/metrics` tell.
    /// Returns how many there were.
    #[must_use]
    pub fn bad(&self, table: &str) -> u64 {
        self.app.feeds.bad(&plain_name(table))
    }

    /// Drops all routes of a table of a feed. The table stays.
    pub fn clear(&self, table: &str) {
        self.app.feeds.clear(&plain_name(table), &self.app.events);
    }

    /// Forgets a table of a feed.
    pub fn forget(&self, table: &str) {
        self.app.feeds.forget(&plain_name(table), &self.app.events);
    }

    /// Ends the service.
    pub fn stop(&self) {
        self.app.stop.send_replace(true);
    }
}
