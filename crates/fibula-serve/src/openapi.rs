//! `/openapi.json`: what all of this is, for programs.

use crate::channel::respond;
use crate::refusal::Refusal;
use axum::http::Uri;
use axum::response::Response;
use fibula_page::Query;

/// Its parameters: none.
pub(crate) const PARAMETERS: &[&str] = &[];

/// The document. A test compares it with what the routes do.
const DOCUMENT: &str = include_str!("openapi.json");

/// Answers `/openapi.json`.
pub(crate) async fn openapi(uri: Uri) -> Result<Response, Refusal> {
    Query::of(uri.query(), PARAMETERS)?;
    Ok(respond(DOCUMENT, "application/json"))
}
