//! `/v1/tables` and `/healthz`: what is served, and how it is.

use crate::app::App;
use crate::channel::respond;
use crate::files::Failure;
use crate::refusal::Refusal;
use crate::served::Served;
use axum::extract::State;
use axum::http::Uri;
use axum::response::Response;
use fibula_page::Query;
use humantime::format_rfc3339_seconds;
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// The parameters of both: none.
pub(crate) const PARAMETERS: &[&str] = &[];

/// Answers `/v1/tables`.
pub(crate) async fn tables(State(app): State<Arc<App>>, uri: Uri) -> Result<Response, Refusal> {
    Query::of(uri.query(), PARAMETERS)?;
    let failures = app.failures();
    let rows: Vec<Value> =
        app.tables().iter().map(|served| about(served, failures.get(&served.name))).collect();
    Ok(respond(Value::from(rows).to_string(), "application/json"))
}

fn about(served: &Served, failure: Option<&Failure>) -> Value {
    let mut about = served.about();
    about["file"] = served.origin.clone().into();
    about["loaded"] = format_rfc3339_seconds(served.loaded).to_string().into();
    about["error"] = failure.map(|failure| failure.what.clone()).into();
    about["error_since"] = failure.map(|failure| format_rfc3339_seconds(failure.since).to_string()).into();
    about
}

/// Answers `/healthz`: all tables answer as soon as anything does. It says `stale` where a file
/// could not be read, so that what answers is older than the file, or where a feed has ended by an
/// error.
pub(crate) async fn health(State(app): State<Arc<App>>, uri: Uri) -> Result<Response, Refusal> {
    Query::of(uri.query(), PARAMETERS)?;
    let payloads = app.vrps.iter().filter_map(|vrps| Some(("--vrps".to_owned(), vrps.failure()?)));
    let errors: Map<String, Value> = app
        .failures()
        .into_iter()
        .chain(payloads)
        .map(|(name, failure)| (name, failure.what.into()))
        .collect();
    let status = if errors.is_empty() { "ok" } else { "stale" };
    let uptime = app.started.elapsed().as_secs();
    let health = json!({
        "status": status, "uptime_s": uptime, "errors": errors, "router": app.settings.router.is_some(),
    });
    Ok(respond(health.to_string(), "application/json"))
}
