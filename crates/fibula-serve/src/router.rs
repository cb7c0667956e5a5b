//! `/v1/router`: what a router on this machine says of itself.

use crate::app::App;
use crate::channel::respond;
use crate::refusal::Refusal;
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::response::Response;
use fibula_page::Query;
use serde_json::{Map, Value};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;

/// The parameters of `/v1/router`.
pub(crate) const PARAMETERS: &[&str] = &[];

/// What its socket is asked, a line each: each answer is an object with that one key.
const QUESTIONS: [&str; 2] = ["status", "counters"];

/// How long it may take.
const PATIENCE: Duration = Duration::from_secs(2);

/// The most bytes of an answer.
const MOST: u64 = 16 << 20;

/// Answers `/v1/router`: what `fibula router status` and `counters` print, as one object.
pub(crate) async fn router(State(app): State<Arc<App>>, uri: Uri) -> Result<Response, Refusal> {
    Query::of(uri.query(), PARAMETERS)?;
    let Some(path) = &app.settings.router else {
        return Err(Refusal::absent("no router: the service was started without --router"));
    };
    let answer = match tokio::time::timeout(PATIENCE, ask(path)).await {
        Ok(answer) => answer.map_err(|error| error.to_string()),
        Err(_) => Err("it does not answer".to_owned()),
    };
    let answer = answer.map_err(|what| {
        Refusal::new(StatusCode::BAD_GATEWAY, format_args!("the router at {}: {what}", path.display()))
    })?;
    Ok(respond(Value::from(answer).to_string(), "application/json"))
}

/// Asks a router at its socket.
async fn ask(path: &Path) -> io::Result<Map<String, Value>> {
    let mut stream = BufReader::new(UnixStream::connect(path).await?);
    let mut all = Map::new();
    for question in QUESTIONS {
        stream.write_all(format!("\"{question}\"\n").as_bytes()).await?;
        let mut line = Vec::new();
        (&mut stream).take(MOST).read_until(b'\n', &mut line).await?;
        let mut answer: Map<String, Value> = serde_json::from_slice(&line)?;
        let Some(told) = answer.remove(question) else {
            return Err(io::Error::other(Value::from(answer).to_string()));
        };
        all.insert(question.to_owned(), told);
    }
    Ok(all)
}
