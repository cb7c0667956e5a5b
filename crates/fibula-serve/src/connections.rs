//! The connections: who may have one, and how long each thing may take.
//!
//! ```text
//!  accept ──▶ room? ──▶ a connection
//!               └── none, or not for this client: one that waits for its client ends for it
//!                       └── none waits: a reserved one, which asks for health and metrics alone
//! ```

use crate::Limits;
use crate::activity::{Activity, Doing, Metered, Sent};
use crate::app::App;
use crate::refusal::Refusal;
use crate::routes::{RESERVED, WITHDRAWN};
use crate::shares::{Share, client_of};
use axum::Router;
use axum::http::header::{CONNECTION, RETRY_AFTER};
use axum::http::{HeaderValue, Request, Response, StatusCode};
use axum::response::IntoResponse;
use fibula_access::TlsAcceptor;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::collections::{HashMap, VecDeque};
use std::convert::Infallible;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, Id, JoinSet};

/// The most bytes of a connection that wait to be understood or sent: the greatest length of a
/// request's head, too.
const BUFFER: usize = 64 << 10;

/// The most bytes that the system holds unsent for a client.
#[cfg(target_os = "linux")]
const UNSENT: u32 = 128 << 10;

/// How often it is looked whether a request takes too long.
const LOOK: Duration = Duration::from_millis(250);

/// How long a client does nothing until its connection may end for another one.
const STALLED: Duration = Duration::from_secs(1);

/// The connections that are reserved for health and metrics, beside the others.
pub(crate) const RESERVE: usize = 32;

/// How long one of these may take.
const RESERVED_TIME: Duration = Duration::from_secs(5);

/// The connections that are found at once to end for others, and how long none may be found until
/// it is looked again.
const AT_ONCE: usize = 64;
const AGAIN: Duration = Duration::from_millis(20);

/// The connections that may be about to end, beside the others.
pub(crate) const ENDING: usize = 64;

/// A response with this extension may take as long as it likes: a stream of events.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Endless;

/// A connection that may have ended.
struct Connection {
    task: AbortHandle,
    activity: Arc<Activity>,
    client: IpAddr,
    /// Since when it is a reserved one, if it is.
    reserved: Option<Instant>,
}

/// What one client has.
struct Client {
    share: Arc<Share>,
    connections: usize,
    reserved: usize,
}

impl Connection {
    /// Returns whether it may end for another one.
    fn waits(&self) -> bool {
        let stalled = self.activity.stalled().filter(|_| self.reserved.is_none());
        let is_idle = self.activity.doing().0 == Doing::Idle;
        stalled.is_some_and(|time| is_idle || time >= STALLED)
    }
}

impl Client {
    fn count(&mut self, is_reserved: bool) -> &mut usize {
        if is_reserved { &mut self.reserved } else { &mut self.connections }
    }
}

/// All connections.
struct Connections<'a> {
    app: &'a Arc<App>,
    tasks: JoinSet<()>,
    all: HashMap<Id, Connection>,
    clients: HashMap<IpAddr, Client>,
    /// The reserved ones, the oldest first.
    reserved: VecDeque<Id>,
    waiting: Waiting,
}

/// The connections that may end for others, as they were a moment ago.
#[derive(Default)]
struct Waiting {
    /// Those of a client, if not all were looked at.
    client: Option<IpAddr>,
    /// The first to end last.
    ids: Vec<Id>,
    /// When they were looked at.
    at: Option<Instant>,
}

/// Serves connections until the service is to stop, and then until their requests are answered, but
/// no longer than a request may take.
pub(crate) async fn serve(app: &Arc<App>, router: Router, listener: TcpListener) {
    let mut stop = app.stop.subscribe();
    let mut look = tokio::time::interval(LOOK);
    let mut connections = Connections {
        app,
        tasks: JoinSet::new(),
        all: HashMap::new(),
        clients: HashMap::new(),
        reserved: VecDeque::new(),
        waiting: Waiting::default(),
    };
    let most = app.settings.limits.connections + Limits::SPARE;
    loop {
        let may_accept = connections.tasks.len() < most;
        tokio::select! {
            _ = stop.wait_for(|&stop| stop) => break,
            Some(ended) = connections.tasks.join_next_with_id() => {
                connections.forget(ended.map_or_else(|error| error.id(), |(id, ())| id));
            }
            _ = look.tick() => connections.end_overdue(),
            accepted = listener.accept(), if may_accept => {
                if let Ok((stream, address)) = accepted {
                    connections.begin(stream, address.ip(), &router);
                    continue;
                }
                // No file descriptor is free, or a client has gone before.
                connections.end_waiting(None);
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
    }
    // New connections are refused from here on.
    drop(listener);
    let deadline = Instant::now() + app.settings.limits.time;
    let mut tasks = connections.tasks;
    while !tasks.is_empty() {
        let ended = tokio::time::timeout_at(deadline.into(), tasks.join_next()).await;
        if ended.is_err() {
            return tasks.shutdown().await;
        }
    }
}

impl Connections<'_> {
    /// Begins a connection, a reserved one where there is no room for another.
    fn begin(&mut self, stream: TcpStream, address: IpAddr, router: &Router) {
        let (app, limits) = (self.app, self.app.settings.limits);
        let client = client_of(address);
        let new = || Client { share: Arc::new(Share::new(limits.per_client)), connections: 0, reserved: 0 };
        let of_client = self.clients.entry(client).or_insert_with(new).connections;
        let has_room = if of_client >= limits.per_client {
            self.end_waiting(Some(client))
        } else {
            self.all.len() - self.reserved.len() < limits.connections || self.end_waiting(None)
        };
        if !has_room && self.reserved.len() >= RESERVE {
            self.end_reserved();
        }
        let reserved = (!has_room).then(Instant::now);
        // The end of another one may have ended what this client had.
        let mine = self.clients.entry(client).or_insert_with(new);
        *mine.count(reserved.is_some()) += 1;
        let activity = Arc::new(Activity::new(app.started));
        let talk = Talk {
            app: Arc::clone(app),
            router: router.clone(),
            activity: Arc::clone(&activity),
            share: Arc::clone(&mine.share),
            is_reserved: reserved.is_some(),
        };
        // The certificate that is there now.
        let tls = app.tls.as_ref().map(|tls| TlsAcceptor::clone(&tls.get()));
        let task = self.tasks.spawn(talk.all(stream, tls));
        if reserved.is_some() {
            self.reserved.push_back(task.id());
        }
        self.all.insert(task.id(), Connection { task, activity, client, reserved });
        self.count();
    }

    /// Forgets a connection that has ended.
    fn forget(&mut self, id: Id) -> Option<Connection> {
        let connection = self.all.remove(&id);
        if let Some(Connection { client, reserved, .. }) = &connection
            && let Some(mine) = self.clients.get_mut(client)
        {
            *mine.count(reserved.is_some()) -= 1;
            if reserved.is_some() {
                self.reserved.retain(|&other| other != id);
            }
            if mine.connections + mine.reserved == 0 {
                self.clients.remove(client);
            }
        }
        self.count();
        connection
    }

    /// Tells how many connections there are.
    fn count(&self) {
        self.app.metrics.connections.set(i64::try_from(self.all.len()).unwrap_or(i64::MAX));
    }

    fn end(&mut self, id: Id) {
        if let Some(connection) = self.forget(id) {
            connection.task.abort();
        }
    }

    /// Ends the connections that take too long.
    fn end_overdue(&mut self) {
        let limits = self.app.settings.limits;
        let is_overdue = |connection: &Connection| {
            let (doing, time) = connection.activity.doing();
            // One that waits for a head ends by itself, unless what it sent last is not read.
            let idle = limits.head_time + 4 * LOOK;
            connection.reserved.is_some_and(|since| since.elapsed() > RESERVED_TIME)
                || doing == Doing::Busy && time > limits.time
                || doing == Doing::Idle && connection.activity.stalled().is_some_and(|time| time > idle)
        };
        let overdue = self.all.iter().filter(|(_, connection)| is_overdue(connection));
        let overdue: Vec<Id> = overdue.map(|(&id, _)| id).collect();
        for id in overdue {
            self.end(id);
            self.app.metrics.overdue.inc();
        }
    }

    /// Ends the connection that has waited longest for its client: of a client if one is given, or
    /// else of the one with most connections that has such a connection. One between requests ends
    /// before one that stalls. Returns whether there was one.
    fn end_waiting(&mut self, client: Option<IpAddr>) -> bool {
        if self.waiting.client != client {
            self.waiting = Waiting { client, ..Waiting::default() };
        }
        loop {
            while let Some(id) = self.waiting.ids.pop() {
                if self.all.get(&id).is_some_and(Connection::waits) {
                    return self.displace(Some(id));
                }
            }
            // Who connects again and again does not make all be looked at each time.
            if self.waiting.at.is_some_and(|at| at.elapsed() < AGAIN) {
                return false;
            }
            self.look_for_waiting();
            if self.waiting.ids.is_empty() {
                return false;
            }
        }
    }

    /// Finds the connections that end first.
    fn look_for_waiting(&mut self) {
        let of = self.waiting.client;
        let is_one = |connection: &Connection| {
            of.is_none_or(|client| client == connection.client) && connection.waits()
        };
        let mut ranked: Vec<_> = self
            .all
            .iter()
            .filter(|(_, connection)| is_one(connection))
            .filter_map(|(&id, connection)| {
                let connections = self.clients.get(&connection.client)?.connections;
                let is_idle = connection.activity.doing().0 == Doing::Idle;
                Some(((connections, is_idle, connection.activity.stalled()?), id))
            })
            .collect();
        ranked.sort_unstable_by_key(|&(rank, _)| rank);
        let first = ranked.len().saturating_sub(AT_ONCE);
        self.waiting.ids = ranked.drain(first..).map(|(_, id)| id).collect();
        // Where there are more, the next look is soon.
        self.waiting.at = (first == 0).then(Instant::now);
    }

    /// Ends the oldest reserved connection of the client that has most of these.
    fn end_reserved(&mut self) {
        let of = |id: &Id| self.clients.get(&self.all.get(id)?.client).map(|client| client.reserved);
        let most = self.reserved.iter().map(of).max().flatten();
        let oldest = self.reserved.iter().copied().find(|id| of(id) == most);
        self.displace(oldest);
    }

    fn displace(&mut self, id: Option<Id>) -> bool {
        if let Some(id) = id {
            self.end(id);
            self.app.metrics.displaced.inc();
        }
        id.is_some()
    }
}

/// What one connection needs.
struct Talk {
    app: Arc<App>,
    router: Router,
    activity: Arc<Activity>,
    share: Arc<Share>,
    is_reserved: bool,
}

impl Talk {
    /// Serves one connection.
    async fn all(self, stream: TcpStream, tls: Option<TlsAcceptor>) {
        // An answer goes out when it is complete.
        let _ = stream.set_nodelay(true);
        // The system would else hold megabytes that a slow client does not read.
        #[cfg(target_os = "linux")]
        let _ = socket2::SockRef::from(&stream).set_tcp_notsent_lowat(UNSENT);
        let Some(tls) = tls else {
            return self.plain(stream).await;
        };
        // Who does not speak TLS, or not in time, has no connection.
        let accepted = tokio::time::timeout(self.app.settings.limits.head_time, tls.accept(stream)).await;
        if let Ok(Ok(stream)) = accepted {
            self.plain(stream).await;
        }
    }

    async fn plain(self, stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) {
        let mut stop = self.app.stop.subscribe();
        let head_time = self.app.settings.limits.head_time;
        let stream = TokioIo::new(Metered::new(stream, Arc::clone(&self.activity)));
        let router = TowerToHyperService::new(self.router.clone());
        let answer = service_fn(move |request| self.answer(&router, request));
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(head_time)
            .max_buf_size(BUFFER)
            .serve_connection(stream, answer);
        let mut connection = pin!(connection);
        // What a peer does wrong ends its connection, and is no news.
        let stopped = tokio::select! {
            _ = connection.as_mut() => false,
            _ = stop.wait_for(|&stop| stop) => true,
        };
        if stopped {
            connection.as_mut().graceful_shutdown();
            let _ = connection.await;
        }
    }

    /// Answers a request.
    fn answer(
        &self,
        router: &TowerToHyperService<Router>,
        request: Request<Incoming>,
    ) -> impl Future<Output = Result<Response<Sent>, Infallible>> + use<> {
        let path = request.uri().path();
        let is_crowded = self.is_reserved && !RESERVED.contains(&path);
        let refusal = self.app.hosts.refusal(&request);
        let refused = refusal.map(Refusal::into_response).or_else(|| is_crowded.then(crowded));
        let is_withdrawn = WITHDRAWN.contains(&path);
        let (mut request, busy) = self.activity.begin(request, is_withdrawn);
        request.extensions_mut().insert(Arc::clone(&self.share));
        let answer = match refused {
            Some(refused) => Err(refused),
            None => Ok(router.call(request)),
        };
        let is_reserved = self.is_reserved;
        if is_crowded {
            self.app.metrics.crowded.inc();
        }
        async move {
            let mut response = match answer {
                Ok(answer) => answer.await?,
                Err(refused) => refused,
            };
            if is_reserved {
                response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            }
            if response.extensions().get::<Endless>().is_some() {
                busy.0.set(Doing::Endless);
            }
            Ok(response.map(|body| Sent { body, _busy: busy }))
        }
    }
}

/// Refuses what is asked by a reserved connection.
fn crowded() -> axum::response::Response {
    let what = "there are too many connections: only /healthz, /readyz and /metrics are answered";
    let mut response = Refusal::new(StatusCode::SERVICE_UNAVAILABLE, what).into_response();
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    response
}
