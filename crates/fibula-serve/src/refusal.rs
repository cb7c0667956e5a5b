//! [`Refusal`]: an answer that says why there is none.

use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use std::fmt::Display;

/// A status, and one sentence that names what is wrong and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    pub(crate) what: String,
}

impl Refusal {
    pub(crate) fn new(status: StatusCode, what: impl Display) -> Self {
        Self { status, what: what.to_string() }
    }

    /// What the client sent is wrong.
    pub(crate) fn bad(what: impl Display) -> Self {
        Self::new(StatusCode::BAD_REQUEST, what)
    }

    /// There is nothing of that name.
    pub(crate) fn absent(what: impl Display) -> Self {
        Self::new(StatusCode::NOT_FOUND, what)
    }

    /// A handler has failed in a way that nobody has thought of.
    pub(crate) fn bug() -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "this request is a bug of fibula")
    }

    /// Returns `{"error": "..."}`.
    pub(crate) fn json(&self) -> String {
        serde_json::json!({ "error": self.what }).to_string()
    }
}

/// What is said of a question is that it is wrong.
impl From<String> for Refusal {
    fn from(what: String) -> Self {
        Self::bad(what)
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::from(self.json()));
        *response.status_mut() = self.status;
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        response
    }
}
