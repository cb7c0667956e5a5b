//! Engines on tables that grow, and on tables of other shapes.

use super::{EngineRow, EngineStudy};
use serde::Serialize;

/// One engine on one table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GrowthRow {
    /// `ipv4` or `ipv6`.
    pub family: String,
    /// The table's name.
    pub table: String,
    /// Its routes.
    pub prefixes: u64,
    /// The different next hops they have.
    pub next_hops: u64,
    /// The engine's specification.
    pub engine: String,
    /// The engine's memory in bytes.
    pub bytes: u64,
    /// The same per route.
    pub bytes_per_prefix: f64,
    /// Million lookups a second on one core, on the first trace.
    pub mlps: Option<f64>,
    /// Nanoseconds for a lookup whose address depends on the answer before.
    pub ns_dependent: f64,
    /// The build time in milliseconds.
    pub build_ms: f64,
    /// The median time of a single update, in microseconds.
    pub update_us_p50: Option<f64>,
    /// The 99th percentile.
    pub update_us_p99: Option<f64>,
}

/// Returns the rows of studies, one for each engine and table.
#[must_use]
pub fn growth_rows(studies: &[EngineStudy]) -> Vec<GrowthRow> {
    let row = |study: &EngineStudy, row: &EngineRow| GrowthRow {
        family: study.family.clone(),
        table: study.table.clone(),
        prefixes: study.prefixes as u64,
        next_hops: study.next_hops,
        engine: row.engine.clone(),
        bytes: row.bytes,
        bytes_per_prefix: row.bytes_per_prefix,
        mlps: study.traces.first().and_then(|trace| row.mlps.get(trace).copied()),
        ns_dependent: row.ns_dependent,
        build_ms: row.build_ms,
        update_us_p50: row.update_us_p50,
        update_us_p99: row.update_us_p99,
    };
    studies.iter().flat_map(|study| study.rows.iter().map(move |of| row(study, of))).collect()
}
