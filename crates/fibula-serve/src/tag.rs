//! [`Tag`]: which states of tables an answer is of, so that a client asks for nothing twice.

use crate::served::Served;
use axum::body::Body;
use axum::http::header::{ETAG, IF_NONE_MATCH};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;
use std::fmt::Write as _;
use std::sync::{Arc, LazyLock};
use std::time::{SystemTime, UNIX_EPOCH};

/// A number that another start of the service does not have.
static START: LazyLock<u128> =
    LazyLock::new(|| SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos());

/// A weak validator: of the same question, answers of one tag say the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tag(String);

impl Tag {
    /// Returns that of an answer from some tables and the generations of what is beside them, in a
    /// format.
    pub(crate) fn of(tables: &[Arc<Served>], beside: &[u64], format: &str) -> Self {
        let mut text = format!("W/\"{:x}", *START);
        for served in tables {
            // Text can always be written.
            let _ = write!(text, "-{:x}", served.id());
        }
        for generation in beside {
            let _ = write!(text, "-{generation:x}");
        }
        // One URL has several formats.
        let _ = write!(text, "-{}\"", format.rsplit('/').next().unwrap_or_default());
        Self(text)
    }

    /// Returns the answer for a client that has this one already.
    pub(crate) fn unchanged(&self, headers: &HeaderMap) -> Option<Response> {
        let known = headers.get_all(IF_NONE_MATCH).iter().filter_map(|known| known.to_str().ok());
        let mut tags = known.flat_map(|known| known.split(','));
        let is_known = tags.any(|tag| matches!(tag.trim(), "*") || tag.trim() == self.0);
        is_known.then(|| {
            let mut response = Response::new(Body::empty());
            *response.status_mut() = StatusCode::NOT_MODIFIED;
            self.tagged(response)
        })
    }

    /// Returns an answer with this tag.
    pub(crate) fn tagged(&self, mut response: Response) -> Response {
        if let Ok(tag) = HeaderValue::from_str(&self.0) {
            response.headers_mut().insert(ETAG, tag);
        }
        response
    }
}
