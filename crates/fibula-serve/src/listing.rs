//! `/v1/tables`, `/healthz` and `/readyz`: what is served, and how it is.

use crate::app::App;
use crate::channel::respond;
use crate::files::{Condition, Counts, Failure};
use crate::refusal::Refusal;
use crate::served::Served;
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::response::Response;
use fibula_page::Query;
use humantime::format_rfc3339_seconds;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::time::SystemTime;

/// The parameters of all: none.
pub(crate) const PARAMETERS: &[&str] = &[];

/// Answers `/v1/tables`.
pub(crate) async fn tables(State(app): State<Arc<App>>, uri: Uri) -> Result<Response, Refusal> {
    Query::of(uri.query(), PARAMETERS)?;
    let failures = app.failures();
    let rows: Vec<Value> =
        app.tables().iter().map(|served| about(&app, served, failures.get(&served.name))).collect();
    Ok(respond(Value::from(rows).to_string(), "application/json"))
}

fn about(app: &App, served: &Served, failure: Option<&Failure>) -> Value {
    let mut about = served.about();
    let is_read = failure.is_none_or(|failure| !failure.is_unread());
    about["file"] = served.origin.clone().into();
    about["state"] = Failure::state(failure).into();
    about["loaded"] = is_read.then(|| format_rfc3339_seconds(served.loaded).to_string()).into();
    about["last_good"] =
        last_good(served, failure).map(|time| format_rfc3339_seconds(time).to_string()).into();
    let file = app.files.iter().find(|(name, _)| *name == served.name);
    about["routes_before"] = file.and_then(|(_, file)| file.before()).map(|before| routes(&before)).into();
    about["bad_messages"] =
        served.is_fed().then(|| app.feeds.all_bad().get(&served.name).copied().unwrap_or(0)).into();
    about["error"] = failure.map(|failure| failure.what.clone()).into();
    about["error_since"] = failure.map(|failure| format_rfc3339_seconds(failure.since).to_string()).into();
    about
}

/// Returns when what is served was last what its source had; `None` if it never was. Of a file that
/// is when it was read.
pub(crate) fn last_good(served: &Served, failure: Option<&Failure>) -> Option<SystemTime> {
    match failure {
        Some(failure) if failure.state != Condition::Stale => None,
        Some(failure) if served.is_fed() => Some(failure.since),
        None if served.is_fed() => Some(SystemTime::now()),
        _ => Some(served.loaded),
    }
}

/// Returns how much something holds, by family as `routes` of a table has it.
fn routes(counts: &Counts) -> Value {
    counts
        .iter()
        .map(|&(what, count)| (what.to_lowercase().replace(" routes", ""), Value::from(count)))
        .collect()
}

/// Answers `/healthz`: the process answers, whatever its data is. So a supervisor that restarts the
/// service where this fails does not lose the tables that still answer.
pub(crate) async fn health(State(app): State<Arc<App>>, uri: Uri) -> Result<Response, Refusal> {
    Query::of(uri.query(), PARAMETERS)?;
    Ok(state(&app).1)
}

/// Answers `/readyz`, which fails where a file is unread. What is stale is ready: where all
/// instances read one file, none would be left to answer.
pub(crate) async fn ready(State(app): State<Arc<App>>, uri: Uri) -> Result<Response, Refusal> {
    Query::of(uri.query(), PARAMETERS)?;
    let (is_ready, mut response) = state(&app);
    if !is_ready {
        *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    }
    Ok(response)
}

/// Returns whether all files have been read once, and the states of what has failed. The first is
/// the worst of them.
fn state(app: &App) -> (bool, Response) {
    let failures = app.failures();
    let worst = failures.values().max_by_key(|failure| failure.state);
    let is_ready = worst.is_none_or(|failure| !failure.is_unread());
    let errors: Map<String, Value> = failures
        .iter()
        .map(|(name, failure)| {
            let since = format_rfc3339_seconds(failure.since).to_string();
            let mut about = json!({
                "state": Failure::state(Some(failure)), "since": since, "error": failure.what,
            });
            if let Some((refused, served)) = &failure.counts {
                (about["refused"], about["served"]) = (routes(refused), routes(served));
            }
            (name.clone(), about)
        })
        .collect();
    let health = json!({
        "status": Failure::state(worst), "uptime_s": app.started.elapsed().as_secs(), "errors": errors,
        "router": app.settings.router.is_some(),
    });
    (is_ready, respond(health.to_string(), "application/json"))
}
