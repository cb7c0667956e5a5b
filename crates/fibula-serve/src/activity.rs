//! [`Activity`]: what a connection does, and since when it waits for its client.

use axum::body::{Body, Bytes};
use axum::http::Request;
use hyper::body::{Body as _, Frame, Incoming, SizeHint};
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker, ready};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// What a connection does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doing {
    /// It waits for a request.
    Idle,
    /// It answers a request.
    Busy,
    /// It answers without end.
    Endless,
}

/// What a connection does. Times are of the same clock, from the start of the service on.
#[derive(Debug)]
pub(crate) struct Activity {
    started: Instant,
    /// Milliseconds times four, and what it has done since.
    word: AtomicU64,
    /// Since when the client is to send more of a body; 0 if it is not.
    reads: Wait,
    /// Since when the client is to read more of an answer; 0 if it is not.
    writes: Wait,
    end: End,
}

/// What is known of a client that has said that it sends no more.
#[derive(Debug, Default)]
struct End {
    /// Whether it has.
    is_there: AtomicBool,
    /// Whether it has gone by that: before its body was whole, or from what only a browser asks.
    is_gone: AtomicBool,
    /// Wakes whoever is to read the end, when it is one.
    waker: Mutex<Option<Waker>>,
    /// Wakes whoever waits for more of the body.
    body: Mutex<Option<Waker>>,
}

/// Stores the waker of a context.
fn store(waker: &Mutex<Option<Waker>>, context: &Context<'_>) {
    let mut waker = waker.lock().unwrap_or_else(PoisonError::into_inner);
    if !waker.as_ref().is_some_and(|waker| waker.will_wake(context.waker())) {
        *waker = Some(context.waker().clone());
    }
}

fn wake(waker: &Mutex<Option<Waker>>) {
    let waker = waker.lock().unwrap_or_else(PoisonError::into_inner).take();
    waker.into_iter().for_each(Waker::wake);
}

impl End {
    /// Notes that the client has gone, and lets that be read.
    fn tell(&self) {
        self.is_gone.store(true, Ordering::Release);
        wake(&self.waker);
    }
}

/// Since when something is waited for, in milliseconds from 1 on; 0 if it is not.
#[derive(Debug, Default)]
struct Wait(AtomicU64);

impl Wait {
    fn end(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    fn get(&self) -> Option<u64> {
        Some(self.0.load(Ordering::Relaxed)).filter(|&since| since > 0)
    }
}

impl Activity {
    /// Returns that of a connection that waits for its first request.
    pub(crate) fn new(started: Instant) -> Self {
        let [reads, writes] = [Wait::default(), Wait::default()];
        let new = Self { started, word: AtomicU64::new(0), reads, writes, end: End::default() };
        new.end.is_gone.store(true, Ordering::Release);
        new.set(Doing::Idle);
        new
    }

    fn now(&self) -> u64 {
        self.started.elapsed().as_millis() as u64 + 1
    }

    pub(crate) fn set(&self, doing: Doing) {
        self.word.store(self.now() << 2 | doing as u64, Ordering::Relaxed);
    }

    /// Returns what it does, and for how long.
    pub(crate) fn doing(&self) -> (Doing, Duration) {
        let word = self.word.load(Ordering::Relaxed);
        let doing = match word & 3 {
            0 => Doing::Idle,
            1 => Doing::Busy,
            _ => Doing::Endless,
        };
        (doing, self.elapsed(word >> 2))
    }

    fn elapsed(&self, since: u64) -> Duration {
        Duration::from_millis(self.now().saturating_sub(since))
    }

    /// Returns for how long its client has neither sent nor read what it is to: a whole request
    /// where there is none.
    pub(crate) fn stalled(&self) -> Option<Duration> {
        let (doing, time) = self.doing();
        let waits = self.reads.get().max(self.writes.get()).map(|since| self.elapsed(since));
        match doing {
            Doing::Idle => Some(waits.map_or(time, |waits| time.min(waits))),
            Doing::Busy | Doing::Endless => waits,
        }
    }

    fn wait<T>(&self, wait: &Wait, polled: &Poll<T>) {
        match polled {
            Poll::Ready(_) => wait.end(),
            // Since the first time that it was looked at.
            Poll::Pending if wait.get().is_none() => wait.0.store(self.now(), Ordering::Relaxed),
            Poll::Pending => {}
        }
    }

    /// Begins the answer of a request. Where `is_withdrawn`, a client that sends no more has gone.
    pub(crate) fn begin(
        self: &Arc<Self>,
        request: Request<Incoming>,
        is_withdrawn: bool,
    ) -> (Request<Body>, Busy) {
        self.set(Doing::Busy);
        self.end.is_gone.store(is_withdrawn, Ordering::Release);
        let has_body = !request.body().is_end_stream();
        let received = |body| Received { body, activity: Arc::clone(self) };
        let request = request.map(|body| if has_body { Body::new(received(body)) } else { Body::empty() });
        (request, Busy(Arc::clone(self)))
    }
}

/// A request that is being answered, until this is dropped.
pub(crate) struct Busy(pub(crate) Arc<Activity>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.reads.end();
        self.0.set(Doing::Idle);
        self.0.end.tell();
    }
}

/// A request's body while it comes.
struct Received {
    body: Incoming,
    activity: Arc<Activity>,
}

impl hyper::body::Body for Received {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let mut polled = Pin::new(&mut self.body).poll_frame(context);
        if polled.is_pending() {
            store(&self.activity.end.body, context);
            if self.activity.end.is_there.load(Ordering::Acquire) {
                // What came before the end may have come since.
                polled = Pin::new(&mut self.body).poll_frame(context);
                if polled.is_pending() {
                    self.activity.end.tell();
                }
            }
        }
        self.activity.wait(&self.activity.reads, &polled);
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// An answer's body while it is sent.
pub(crate) struct Sent {
    pub(crate) body: Body,
    pub(crate) _busy: Busy,
}

impl hyper::body::Body for Sent {
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

/// A stream that notes when it waits for its client to read. A client that has sent a whole request
/// and says that it sends no more is answered before its end is read.
pub(crate) struct Metered<S> {
    stream: S,
    activity: Arc<Activity>,
}

impl<S> Metered<S> {
    pub(crate) fn new(stream: S, activity: Arc<Activity>) -> Self {
        Self { stream, activity }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Metered<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Self { stream, activity } = self.get_mut();
        let end = &activity.end;
        if !end.is_there.load(Ordering::Acquire) {
            let before = buffer.filled().len();
            ready!(Pin::new(stream).poll_read(context, buffer))?;
            if buffer.filled().len() > before || buffer.remaining() == 0 {
                return Poll::Ready(Ok(()));
            }
            end.is_there.store(true, Ordering::Release);
            // Whoever waits for more of the body knows whether it was whole.
            wake(&end.body);
        }
        store(&end.waker, context);
        // As long as it is answered it has not gone, and what was written may wait for it to read.
        let is_end = end.is_gone.load(Ordering::Acquire) && activity.writes.get().is_none();
        if is_end { Poll::Ready(Ok(())) } else { Poll::Pending }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Metered<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.activity.wait(&self.activity.writes, &polled);
        polled
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.activity.wait(&self.activity.writes, &polled);
        polled
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_flush(context);
        self.activity.wait(&self.activity.writes, &polled);
        polled
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
