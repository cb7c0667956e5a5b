//! `/metrics` for Prometheus.

use crate::app::App;
use crate::channel::respond;
use crate::files::Condition;
use crate::listing::last_good;
use crate::refusal::Refusal;
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::response::Response;
use fibula_page::Query;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};
use std::sync::Arc;
use std::sync::atomic::AtomicI64;
use std::time::{Duration, UNIX_EPOCH};

/// The type of the text.
const TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The classes of statuses, from 2xx on.
const CLASSES: [&str; 4] = ["2xx", "3xx", "4xx", "5xx"];

/// The upper bounds of the times that are told apart, in seconds.
const SECONDS: [f64; 12] = [1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1, 3e-1, 1.0, 10.0];

/// A metric by the name of a table.
type PerTable<M> = Family<[(&'static str, String); 1], M>;

/// How long requests to a path took.
type Seconds = Family<[(&'static str, &'static str); 1], Histogram, fn() -> Histogram>;

/// What is counted while requests are answered.
pub(crate) struct Metrics {
    requests: Family<[(&'static str, &'static str); 2], Counter>,
    seconds: Seconds,
    /// The addresses and prefixes that were looked up.
    pub(crate) lookups: Counter,
    /// The connections there are.
    pub(crate) connections: Gauge<i64, AtomicI64>,
    /// Connections that were ended because there were too many, or because they took too long.
    pub(crate) displaced: Counter,
    pub(crate) overdue: Counter,
    /// Requests that were refused because there were too many connections.
    pub(crate) crowded: Counter,
}

/// What is counted of one path.
pub(crate) struct PerRoute {
    classes: [Counter; CLASSES.len()],
    seconds: Histogram,
}

impl PerRoute {
    /// Counts a response, and how long it took until its body began.
    pub(crate) fn count(&self, status: StatusCode, time: Duration) {
        let class = usize::from(status.as_u16() / 100).saturating_sub(2);
        self.classes[class.min(CLASSES.len() - 1)].inc();
        self.seconds.observe(time.as_secs_f64());
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self {
            requests: Family::default(),
            seconds: Family::new_with_constructor(|| Histogram::new(SECONDS)),
            lookups: Counter::default(),
            connections: Gauge::default(),
            displaced: Counter::default(),
            overdue: Counter::default(),
            crowded: Counter::default(),
        }
    }
}

impl Metrics {
    /// Returns what is counted of a path.
    pub(crate) fn route(&self, path: &'static str) -> PerRoute {
        let class = |status| self.requests.get_or_create(&[("path", path), ("status", status)]).clone();
        PerRoute {
            classes: CLASSES.map(class),
            seconds: self.seconds.get_or_create(&[("path", path)]).clone(),
        }
    }
}

/// Answers `/metrics`.
pub(crate) async fn metrics(State(app): State<Arc<App>>, uri: Uri) -> Result<Response, Refusal> {
    Query::of(uri.query(), crate::listing::PARAMETERS)?;
    let mut text = String::new();
    encode(&mut text, &registry(&app))
        .map_err(|error| Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, error))?;
    Ok(respond(text, TYPE))
}

fn registry(app: &App) -> Registry {
    let mut all = Registry::default();
    let registry = all.sub_registry_with_prefix("fibula_serve");
    let metrics = &app.metrics;
    registry.register("requests", "Requests by path and status", metrics.requests.clone());
    let help = "From the head of a request until its answer begins";
    registry.register_with_unit("request", help, Unit::Seconds, metrics.seconds.clone());
    registry.register("lookups", "Addresses and prefixes that were looked up", metrics.lookups.clone());
    registry.register("connections", "Connections at the moment", metrics.connections.clone());
    let help = "Connections that waited for their client and were ended because there were too many";
    registry.register("displaced_connections", help, metrics.displaced.clone());
    let help = "Connections that were ended because a request took too long";
    registry.register("overdue_connections", help, metrics.overdue.clone());
    let help = "Requests that were refused because there were too many connections";
    registry.register("crowded_requests", help, metrics.crowded.clone());
    let routes = Family::<[(&str, String); 2], Gauge>::default();
    let (generations, stale, bytes) =
        (PerTable::<Gauge>::default(), PerTable::<Gauge>::default(), PerTable::<Gauge>::default());
    let loading = PerTable::<Gauge>::default();
    let (failures, good) = (PerTable::<Counter>::default(), PerTable::<Gauge>::default());
    let ended = app.failures();
    for served in &app.tables() {
        let name = &served.name;
        let label = [("table", name.clone())];
        for (family, count) in [("ipv4", served.table.len_ipv4()), ("ipv6", served.table.len_ipv6())] {
            routes.get_or_create(&[("table", name.clone()), ("family", family.into())]).set(gauge(count));
        }
        generations.get_or_create(&label).set(served.generation.cast_signed());
        let failure = ended.get(name);
        stale
            .get_or_create(&label)
            .set(failure.is_some_and(|failure| failure.state != Condition::Loading).into());
        loading
            .get_or_create(&label)
            .set(failure.is_some_and(|failure| failure.state == Condition::Loading).into());
        if let Some(time) = last_good(served, failure) {
            let time = time.duration_since(UNIX_EPOCH).unwrap_or_default();
            good.get_or_create(&label).set(time.as_secs().cast_signed());
        }
        bytes.get_or_create(&label).set(gauge(served.table.memory().total()));
    }
    for (name, file) in &app.files {
        failures.get_or_create(&[("table", name.clone())]).inc_by(file.failures());
    }
    let bad = PerTable::<Counter>::default();
    for (name, count) in app.feeds.all_bad() {
        bad.get_or_create(&[("table", name)]).inc_by(count);
    }
    registry.register("bad_messages", "Messages of a table's feed that could not be read", bad);
    registry.register("routes", "Routes of a table", routes);
    registry.register("generation", "Times that a table was read or changed", generations);
    registry.register(
        "stale",
        "Whether a table is unread, older than its file, which is refused, or not fed any more",
        stale,
    );
    registry.register("loading", "Whether a table's feed has not told all yet", loading);
    registry.register_with_unit("table", "Memory of a table", Unit::Bytes, bytes);
    registry.register("failed_reads", "Times that a table's file was refused", failures);
    let help = "When a table was last what its source had: of a file, when it was read";
    registry.register_with_unit("last_good_read_timestamp", help, Unit::Seconds, good);
    let uptime = ConstGauge::new(app.started.elapsed().as_secs_f64());
    registry.register_with_unit("uptime", "How long the service runs", Unit::Seconds, uptime);
    all
}

fn gauge(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
