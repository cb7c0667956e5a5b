//! [`Channel`]: the body of an answer that is written while it is sent.

use axum::body::{Body, Bytes};
use axum::http::HeaderValue;
use axum::http::header::CONTENT_TYPE;
use axum::response::Response;
use hyper::body::Frame;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::sync::mpsc;

/// The bytes after which a part of an answer is sent.
pub(crate) const PART: usize = 64 << 10;

/// The most parts that wait for a slow reader. A writer that has more waits.
const PARTS: usize = 4;

/// An answer ended before it was complete.
#[derive(Debug, thiserror::Error)]
#[error("the answer ended before it was complete")]
pub(crate) struct Cut;

/// The parts of a body, as somebody else sends them.
pub(crate) struct Channel(mpsc::Receiver<Result<Bytes, Cut>>);

/// Where the parts go; fails when nobody reads any more.
pub(crate) type Parts = mpsc::Sender<Result<Bytes, Cut>>;

impl Channel {
    pub(crate) fn new() -> (Parts, Self) {
        Self::of_parts(PARTS)
    }

    /// Returns a channel that holds at most `parts` parts for its reader.
    pub(crate) fn of_parts(parts: usize) -> (Parts, Self) {
        let (sender, receiver) = mpsc::channel(parts);
        (sender, Self(receiver))
    }

    /// Returns a successful response with this body.
    pub(crate) fn respond(self, media: &'static str) -> Response {
        respond(Body::new(self), media)
    }
}

/// Returns a successful response.
pub(crate) fn respond(body: impl Into<Body>, media: &'static str) -> Response {
    let mut response = Response::new(body.into());
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media));
    response
}

impl hyper::body::Body for Channel {
    type Data = Bytes;
    type Error = Cut;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Cut>>> {
        self.0.poll_recv(context).map(|part| part.map(|part| part.map(Frame::data)))
    }
}
