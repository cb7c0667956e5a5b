//! The connections: who may have one, and how long each thing may take.

use crate::app::App;
use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::{Request, Response};
use fibula_access::TlsAcceptor;
use hyper::body::{Frame, Incoming, SizeHint};
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};

/// The most bytes of a connection that wait to be understood or sent: the greatest length of a
/// request's head, too.
const BUFFER: usize = 256 << 10;

/// How often it is looked whether a request takes too long.
const LOOK: Duration = Duration::from_millis(250);

/// A response with this extension may take as long as it likes: a stream of events.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Endless;

/// What a connection does: milliseconds since the service began, times four, and one of these.
#[derive(Debug)]
struct Activity(AtomicU64);

/// It waits for a request since then.
const IDLE: u64 = 0;
/// It answers a request since then.
const BUSY: u64 = 1;
/// It answers without end.
const ENDLESS: u64 = 2;

impl Activity {
    fn set(&self, app: &App, what: u64) {
        let now = app.started.elapsed().as_millis() as u64;
        self.0.store(now << 2 | what, Ordering::Relaxed);
    }

    fn get(&self) -> (u64, u64) {
        let word = self.0.load(Ordering::Relaxed);
        (word >> 2, word & 3)
    }
}

/// A connection that may have ended.
struct Connection {
    task: AbortHandle,
    activity: Arc<Activity>,
}

/// Serves connections until the service is to stop, and then until their requests are answered, but
/// no longer than a request may take.
pub(crate) async fn serve(app: &Arc<App>, router: Router, listener: TcpListener, tls: Option<TlsAcceptor>) {
    let mut stop = app.stop.subscribe();
    let mut tasks = JoinSet::new();
    let mut all: Vec<Connection> = Vec::new();
    let mut look = tokio::time::interval(LOOK);
    let most = app.settings.limits.connections;
    loop {
        let is_full = tasks.len() >= most;
        tokio::select! {
            _ = stop.wait_for(|&stop| stop) => break,
            Some(_) = tasks.join_next() => count(app, &tasks),
            _ = look.tick() => end_overdue(app, &mut all),
            accepted = listener.accept(), if !is_full || all.iter().any(Connection::is_idle) => {
                let Ok((stream, _)) = accepted else {
                    // No file descriptor is free.
                    tokio::time::sleep(LOOK).await;
                    continue;
                };
                // As rarely as may be: it looks at all of them.
                if all.len() >= most {
                    all.retain(|connection| !connection.task.is_finished());
                }
                if all.len() >= most {
                    end_idlest(app, &mut all);
                }
                let activity = Arc::new(Activity(AtomicU64::new(0)));
                activity.set(app, IDLE);
                let (tls, router) = (tls.clone(), router.clone());
                let connection = connection(Arc::clone(app), stream, tls, router, Arc::clone(&activity));
                all.push(Connection { task: tasks.spawn(connection), activity });
                count(app, &tasks);
            }
        }
    }
    // New connections are refused from here on.
    drop(listener);
    let deadline = Instant::now() + app.settings.limits.time;
    while !tasks.is_empty() {
        let ended = tokio::time::timeout_at(deadline.into(), tasks.join_next()).await;
        if ended.is_err() {
            return tasks.shutdown().await;
        }
    }
}

impl Connection {
    fn is_idle(&self) -> bool {
        self.activity.get().1 == IDLE
    }
}

/// Tells how many connections there are.
fn count(app: &App, tasks: &JoinSet<()>) {
    app.metrics.connections.set(i64::try_from(tasks.len()).unwrap_or(i64::MAX));
}

/// Ends the connections whose request takes too long, and forgets those that have ended.
fn end_overdue(app: &App, all: &mut Vec<Connection>) {
    all.retain(|connection| !connection.task.is_finished());
    let now = app.started.elapsed().as_millis() as u64;
    let most = app.settings.limits.time.as_millis() as u64;
    for connection in all {
        let (since, what) = connection.activity.get();
        if what == BUSY && now.saturating_sub(since) > most && !connection.task.is_finished() {
            connection.task.abort();
            app.metrics.overdue.inc();
        }
    }
}

/// Ends the connection that has been idle longest.
fn end_idlest(app: &App, all: &mut Vec<Connection>) {
    let idle = all.iter().enumerate().filter(|(_, connection)| connection.is_idle());
    if let Some((at, _)) = idle.min_by_key(|(_, connection)| connection.activity.get().0) {
        all.swap_remove(at).task.abort();
        app.metrics.displaced.inc();
    }
}

/// Serves one connection.
async fn connection(
    app: Arc<App>,
    stream: TcpStream,
    tls: Option<TlsAcceptor>,
    router: Router,
    activity: Arc<Activity>,
) {
    // An answer goes out when it is complete.
    let _ = stream.set_nodelay(true);
    let Some(tls) = tls else {
        return talk(app, stream, router, activity).await;
    };
    // Who does not speak TLS, or not in time, has no connection.
    if let Ok(Ok(stream)) = tokio::time::timeout(app.settings.limits.head_time, tls.accept(stream)).await {
        talk(app, stream, router, activity).await;
    }
}

async fn talk(
    app: Arc<App>,
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    router: Router,
    activity: Arc<Activity>,
) {
    let mut stop = app.stop.subscribe();
    let router = TowerToHyperService::new(router);
    let head_time = app.settings.limits.head_time;
    let answer = service_fn(move |request: Request<Incoming>| {
        activity.set(&app, BUSY);
        let busy = Busy { app: Arc::clone(&app), activity: Arc::clone(&activity) };
        let response = router.call(request);
        async move {
            let response = response.await?;
            if response.extensions().get::<Endless>().is_some() {
                busy.activity.set(&busy.app, ENDLESS);
            }
            Ok::<Response<Watched>, std::convert::Infallible>(
                response.map(|body| Watched { body, _busy: busy }),
            )
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(head_time)
        .max_buf_size(BUFFER)
        .serve_connection(TokioIo::new(stream), answer);
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

/// A request that is being answered, until this is dropped.
struct Busy {
    app: Arc<App>,
    activity: Arc<Activity>,
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.activity.set(&self.app, IDLE);
    }
}

/// A body while it is sent.
struct Watched {
    body: Body,
    _busy: Busy,
}

impl hyper::body::Body for Watched {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
