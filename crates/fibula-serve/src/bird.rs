//! The part of birdwatcher's interface that a table can answer, for looking glasses that speak it.
//!
//! A table is a protocol and a table of the same name, which is also what its neighbour's address
//! is. A route is as old as its table, and none is filtered or not exported. Attributes of BGP are
//! those of values with the fields that `--value route` gives.

use crate::app::App;
use crate::channel::respond;
use crate::refusal::Refusal;
use crate::rows::{Frame, Listing, list};
use crate::served::Served;
use crate::shares::Share;
use axum::Extension;
use axum::extract::{Path, State};
use axum::http::Uri;
use axum::response::Response;
use fibula::{IpPrefix, NextHop, NextHopInfo};
use fibula_io::table::json_of;
use fibula_page::{Query, host, prefix_of};
use humantime::format_rfc3339_seconds;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::time::SystemTime;

/// The parameters of all but one: none.
pub(crate) const PARAMETERS: &[&str] = &[];

/// The parameters of `/protocols/short`, of which no answer depends: none is kept for later.
pub(crate) const SHORT: &[&str] = &["uncached"];

/// The parameters of `/routes/prefix`.
pub(crate) const PREFIX: &[&str] = &["prefix"];

/// What every answer begins with.
fn api() -> Value {
    json!({ "Version": concat!("fibula ", env!("CARGO_PKG_VERSION")), "result_from_cache": false })
}

fn time(time: SystemTime) -> String {
    format_rfc3339_seconds(time).to_string()
}

fn answer(key: &str, value: Value) -> Response {
    let mut all = Map::from_iter([("api".to_owned(), api())]);
    all.insert(key.to_owned(), value);
    respond(Value::from(all).to_string(), "application/json")
}

/// Answers `/status`.
pub(crate) async fn status(State(app): State<Arc<App>>, uri: Uri) -> Result<Response, Refusal> {
    Query::of(uri.query(), PARAMETERS)?;
    let now = SystemTime::now();
    let begin = now.checked_sub(app.started.elapsed()).unwrap_or(now);
    let loaded = app.tables().iter().map(|served| served.loaded).max().unwrap_or(begin);
    let status = json!({
        "version": concat!("fibula ", env!("CARGO_PKG_VERSION")),
        "message": "tables of fibula",
        "current_server": time(now),
        "last_reboot": time(begin),
        "last_reconfig": time(loaded),
    });
    Ok(answer("status", status))
}

/// Returns what BIRD says of a protocol whose routes are there, or not yet.
fn state(app: &App, table: &str) -> &'static str {
    let is_unread = app.files.iter().any(|(name, file)| name == table && file.is_unread());
    if is_unread { "down" } else { "up" }
}

/// Answers `/protocols/bgp`: a protocol for each table.
pub(crate) async fn protocols(State(app): State<Arc<App>>, uri: Uri) -> Result<Response, Refusal> {
    Query::of(uri.query(), PARAMETERS)?;
    let about = |served: &Arc<Served>| {
        let (name, routes) = (&served.name, served.table.len());
        let about = json!({
            "protocol": name,
            "bird_protocol": "BGP",
            "table": name,
            "neighbor_address": name,
            "neighbor_as": 0,
            "state": state(&app, name),
            "state_changed": time(served.loaded),
            "description": served.origin,
            "routes": { "imported": routes, "preferred": routes },
        });
        (name.clone(), about)
    };
    Ok(answer("protocols", Value::Object(app.tables().iter().map(about).collect())))
}

/// Answers `/protocols/short`: of each table whether it is up, and since when.
pub(crate) async fn protocols_short(State(app): State<Arc<App>>, uri: Uri) -> Result<Response, Refusal> {
    Query::of(uri.query(), SHORT)?;
    let about = |served: &Arc<Served>| {
        let name = &served.name;
        let about = json!({ "proto": "BGP", "table": name, "state": state(&app, name), "since": time(served.loaded) });
        (name.clone(), about)
    };
    Ok(answer("protocols", Value::Object(app.tables().iter().map(about).collect())))
}

/// Answers `/routes/filtered/{name}`, `/routes/noexport/{name}` and
/// `/routes/table/{name}/filtered`: no route of a table.
pub(crate) async fn no_routes(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
    uri: Uri,
) -> Result<Response, Refusal> {
    Query::of(uri.query(), PARAMETERS)?;
    app.named(&name)?;
    Ok(answer("routes", json!([])))
}

/// Answers `/routes/protocol/{name}` and `/routes/table/{name}`: as many routes as an answer has at
/// most.
pub(crate) async fn routes(
    State(app): State<Arc<App>>,
    Extension(share): Extension<Arc<Share>>,
    Path(name): Path<String>,
    uri: Uri,
) -> Result<Response, Refusal> {
    Query::of(uri.query(), PARAMETERS)?;
    let routes = Arc::new(Routes(app.named(&name)?));
    let limit = app.settings.limits.rows;
    let open = format!("{{\"api\":{},\"routes\":[", api());
    let frame = Frame { open, between: ",", after_each: "", close: "]}" };
    Ok(list(&app, &share, routes, (0, limit), frame, "application/json"))
}

/// The routes of a table.
struct Routes(Arc<Served>);

impl Listing for Routes {
    type Row = (IpPrefix, NextHop);

    fn rows(&self) -> Box<dyn Iterator<Item = Self::Row> + Send + '_> {
        Box::new(self.0.table.iter().map(|(prefix, &next_hop)| (prefix, next_hop)))
    }

    fn write(&self, (prefix, next_hop): Self::Row, out: &mut Vec<u8>) {
        out.extend_from_slice(route(&self.0, prefix, next_hop).to_string().as_bytes());
    }
}

/// Answers `/routes/net/{prefix}`: the route of this prefix in each table, or the longest match of
/// an address.
pub(crate) async fn net(
    State(app): State<Arc<App>>,
    Path(net): Path<String>,
    uri: Uri,
) -> Result<Response, Refusal> {
    Query::of(uri.query(), PARAMETERS)?;
    found(&app, prefix_of("net", &net)?)
}

/// Answers `/routes/prefix`, as `/routes/net` does.
pub(crate) async fn prefix(State(app): State<Arc<App>>, uri: Uri) -> Result<Response, Refusal> {
    let query = Query::of(uri.query(), PREFIX)?;
    found(&app, prefix_of("prefix", query.needed("prefix")?)?)
}

fn found(app: &App, asked: IpPrefix) -> Result<Response, Refusal> {
    let of = |served: &Arc<Served>| {
        let found = served.best(asked);
        // As BIRD's `show route for`: a prefix is that prefix or none.
        let found = found.filter(|&(prefix, _)| prefix == asked || host(asked).is_some());
        found.map(|(prefix, next_hop)| route(served, prefix, next_hop))
    };
    let routes: Vec<Value> = app.answering()?.iter().filter_map(of).collect();
    Ok(answer("routes", routes.into()))
}

/// Returns a route as birdwatcher tells it.
fn route(served: &Served, prefix: IpPrefix, next_hop: NextHop) -> Value {
    let info = served.next_hops.get(next_hop);
    let fields: Map<String, Value> =
        info.and_then(json_of).and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default();
    let text = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (gateway, interface, origin) = match info {
        Some(NextHopInfo::Gateway { address, interface }) => (
            address.map(|address| address.to_string()).unwrap_or_default(),
            interface.as_deref().unwrap_or_default().to_owned(),
            None,
        ),
        Some(NextHopInfo::AutonomousSystem(number)) => (String::new(), String::new(), Some(*number)),
        _ => (text("next_hop"), String::new(), None),
    };
    let as_path: Vec<String> = match fields.get("as_path") {
        Some(Value::Array(path)) => path.iter().map(plain).collect(),
        Some(other) => plain(other).split_whitespace().map(str::to_owned).collect(),
        None => origin.iter().map(ToString::to_string).collect(),
    };
    let (mut communities, mut large) = (Vec::new(), Vec::new());
    for community in fields.get("communities").and_then(Value::as_array).into_iter().flatten() {
        let numbers: Option<Vec<u32>> = plain(community).split(':').map(|part| part.parse().ok()).collect();
        match numbers {
            Some(numbers) if numbers.len() == 2 => communities.push(numbers),
            Some(numbers) if numbers.len() == 3 => large.push(numbers),
            _ => {}
        }
    }
    let bgp = json!({
        "as_path": as_path, "next_hop": gateway, "communities": communities, "large_communities": large,
    });
    json!({
        "network": prefix.to_string(),
        "from_protocol": served.name,
        "learnt_from": text("peer"),
        "gateway": gateway,
        "interface": interface,
        "age": time(served.loaded),
        "primary": true,
        "type": ["BGP", "unicast"],
        "bgp": bgp,
    })
}

/// Returns a value as text without quotes.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
