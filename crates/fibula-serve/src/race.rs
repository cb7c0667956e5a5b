//! `/v1/engines`: the library's engines side by side on a table, measured while one looks on.

use crate::app::App;
use crate::channel::{Channel, Parts};
use crate::connections::Endless;
use crate::refusal::Refusal;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri};
use axum::response::Response;
use fibula::engine::ENGINES;
use fibula::{Address, Family, Fib, NextHop, Rib};
use fibula_io::trace::{TraceKind, generate};
use fibula_page::{Query, family};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;

/// The parameters of `/v1/engines`.
pub(crate) const PARAMETERS: &[&str] = &["table", "family"];

/// The addresses that are looked up: drawn from the prefixes, as those of packets are.
const ADDRESSES: usize = 1 << 18;

/// The passes over them, of which the fastest counts: what else the machine does makes one slower.
const PASSES: usize = 7;

/// One race at a time: two would measure each other.
static RACE: Semaphore = Semaphore::const_new(1);

/// Answers `/v1/engines`: an event for each engine, then the end.
pub(crate) async fn engines(
    State(app): State<Arc<App>>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let query = Query::of(uri.query(), PARAMETERS)?;
    let (served, family) = (app.table(&query, "table")?, family(&query)?);
    // Any page that a browser shows can make it ask, and this is work.
    let from = headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
    if from.is_some_and(|from| from != b"same-origin" && from != b"none") {
        return Err(Refusal::new(StatusCode::FORBIDDEN, "engines are measured for the page of this service"));
    }
    let Ok(turn) = RACE.try_acquire() else {
        return Err(Refusal::new(StatusCode::CONFLICT, "engines are being measured for somebody else"));
    };
    // All events have room, so that whoever does not read keeps nobody from measuring.
    let (parts, channel) = Channel::of_parts(ENGINES.len() + 1);
    tokio::task::spawn_blocking(move || {
        let _turn = turn;
        match family {
            Family::Ipv4 => race(&served.ipv4(Some), family, &parts),
            Family::Ipv6 => race(&served.ipv6(Some), family, &parts),
        }
    });
    let mut response = channel.respond("text/event-stream");
    response.extensions_mut().insert(Endless);
    Ok(response)
}

/// Measures one engine after the other, as long as somebody listens.
fn race<A: Address>(rib: &Rib<A>, family: Family, parts: &Parts) {
    let tell = |event: &str, data: Value| {
        parts.blocking_send(Ok(format!("event: {event}\ndata: {data}\n\n").into())).is_ok()
    };
    let engines: Vec<_> = ENGINES.iter().filter(|engine| engine.does(family)).collect();
    let Ok(addresses) = generate(&TraceKind::Prefix, rib, ADDRESSES, 1) else {
        tell("end", json!({ "error": "the table has no routes of this family" }));
        return;
    };
    let expected: Vec<NextHop> = addresses
        .iter()
        .map(|&address| rib.longest_match(address).map_or(NextHop::NONE, |route| route.next_hop))
        .collect();
    for (at, engine) in engines.iter().enumerate() {
        let name = engine.about.name;
        let measured = measured(name, rib, &addresses, &expected);
        let progress = json!({ "engine": name, "at": at + 1, "of": engines.len(), "measured": measured });
        if !tell("engine", progress) {
            return;
        }
    }
    tell("end", json!({ "addresses": ADDRESSES, "passes": PASSES }));
}

/// Builds an engine, looks the addresses up, and compares the answers. An engine that refuses the
/// table says why.
fn measured<A: Address>(name: &str, rib: &Rib<A>, addresses: &[A], expected: &[NextHop]) -> Value {
    let start = Instant::now();
    let fib = match Fib::build(name, rib) {
        Ok(fib) => fib,
        Err(error) => return json!({ "error": error.to_string() }),
    };
    let build = start.elapsed();
    let mut next_hops = vec![NextHop::NONE; addresses.len()];
    let mut least = Duration::MAX;
    for _ in 0..PASSES {
        let start = Instant::now();
        fib.lookup_batch(addresses, &mut next_hops);
        least = least.min(start.elapsed());
    }
    let wrong = next_hops.iter().zip(expected).filter(|(one, other)| one != other).count();
    json!({
        "build_ms": build.as_secs_f64() * 1e3,
        "bytes": fib.memory().total(),
        "million_lookups_per_second": addresses.len() as f64 / least.as_secs_f64() / 1e6,
        "wrong": wrong,
    })
}
