//! Engines on tables that grow, and on tables of other shapes.

use super::markdown::{maybe, short, table_of};
use super::{EngineRow, EngineStudy};
use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt::Write;

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

/// Returns the page of growth: for each family all tables in one table, and plots over those called
/// `growing`.
///
/// `command` makes the page again, and `machine` is where it was made.
#[must_use]
pub fn growth_page(studies: &[EngineStudy], growing: &str, command: &str, machine: &str) -> String {
    let mut page = format!(
        "# How the engines grow\n\n\
         Made by `{command}`; every number below was measured by that run.\n\n\
         Machine: {machine}.\n\n\
         - **Mlps**: million lookups a second on one core on the first trace, the median of passes in which all engines of a\n  \
           table take turns. The answers are checked against the oracle. **ns**: latency of one lookup whose address depends\n  \
           on the answer before.\n\
         - **update us**: the time of a single update without the routing table's own part. The updates are made as real days\n  \
           bring them.\n"
    );
    let rows = growth_rows(studies);
    let families: BTreeSet<&str> = rows.iter().map(|row| row.family.as_str()).collect();
    for family in families {
        let rows: Vec<&GrowthRow> = rows.iter().filter(|row| row.family == family).collect();
        let _ = write!(page, "\n## {family}\n\n");
        let header = [
            "table",
            "prefixes",
            "next hops",
            "engine",
            "MiB",
            "bytes/prefix",
            "Mlps",
            "ns",
            "build ms",
            "update us p50",
            "p99",
        ];
        page.push_str(&table_of(&header.map(String::from), rows.iter().map(|row| cells(row))));
        let grown: Vec<&GrowthRow> = rows.into_iter().filter(|row| row.table.starts_with(growing)).collect();
        plot(&mut page, &format!("{family}: Mlps by prefixes"), &grown, |row| row.mlps);
        plot(&mut page, &format!("{family}: bytes a prefix by prefixes"), &grown, |row| {
            Some(row.bytes_per_prefix)
        });
        plot(&mut page, &format!("{family}: build ms by prefixes"), &grown, |row| Some(row.build_ms));
    }
    for refusal in studies.iter().flat_map(|study| &study.refused) {
        let _ = write!(page, "\n{refusal}.\n");
    }
    page
}

fn cells(row: &GrowthRow) -> Vec<String> {
    vec![
        row.table.clone(),
        row.prefixes.to_string(),
        row.next_hops.to_string(),
        row.engine.clone(),
        short(row.bytes as f64 / f64::from(1 << 20)),
        short(row.bytes_per_prefix),
        maybe(row.mlps),
        short(row.ns_dependent),
        short(row.build_ms),
        maybe(row.update_us_p50),
        maybe(row.update_us_p99),
    ]
}

/// Writes a plot that Markdown viewers draw: one line per engine, named under it in the order of
/// the lines.
fn plot(page: &mut String, title: &str, rows: &[&GrowthRow], value: impl Fn(&GrowthRow) -> Option<f64>) {
    let sizes: BTreeSet<u64> = rows.iter().map(|row| row.prefixes).collect();
    let engines: BTreeSet<&str> = rows.iter().map(|row| row.engine.as_str()).collect();
    // An engine that refuses one of the sizes has no line.
    let line = |engine: &&str| {
        let at = |&size: &u64| rows.iter().find(|row| row.engine == *engine && row.prefixes == size);
        sizes.iter().map(|size| at(size).and_then(|row| value(row))).collect::<Option<Vec<f64>>>()
    };
    let lines: Vec<(&str, Vec<f64>)> =
        engines.iter().filter_map(|engine| Some((*engine, line(engine)?))).collect();
    if sizes.len() < 2 || lines.is_empty() {
        return;
    }
    let joined = |values: Vec<String>| values.join(", ");
    let axis = joined(sizes.iter().map(|&size| format!("\"{}K\"", size / 1000)).collect());
    let _ = write!(page, "\n```mermaid\nxychart-beta\n  title \"{title}\"\n  x-axis [{axis}]\n");
    for (_, values) in &lines {
        let values = joined(values.iter().map(|value| format!("{value:.2}")).collect());
        let _ = writeln!(page, "  line [{values}]");
    }
    let names = joined(lines.iter().map(|(engine, _)| format!("`{engine}`")).collect());
    let _ = write!(page, "```\n\nLines, in order: {names}.\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use fibula::memory::Memory;

    fn study(table: &str, prefixes: usize, engines: &[(&str, f64)]) -> EngineStudy {
        let row = |&(engine, mlps): &(&str, f64)| EngineRow {
            engine: engine.into(),
            year: 2026,
            updates: "in-place".into(),
            bytes: 1 << 20,
            bytes_per_prefix: 4.5,
            on_chip_bytes: 0,
            accesses: crate::study::AccessCount::default(),
            mlps: [("prefix".to_owned(), mlps)].into(),
            ns_dependent: 20.0,
            build_ms: 3.0,
            updates_per_s: None,
            update_us_p50: None,
            update_us_p99: None,
            updates_applied: None,
            updates_rebuilt: None,
            limits: [].into(),
            memory: Memory::new(),
            figures: Vec::new(),
        };
        EngineStudy {
            family: "ipv4".into(),
            table: table.into(),
            prefixes,
            next_hops: 2,
            traces: vec!["prefix".into()],
            rows: engines.iter().map(row).collect(),
            wrong: Vec::new(),
            refused: Vec::new(),
        }
    }

    #[test]
    fn only_what_grows_is_plotted_and_everything_is_in_the_table() {
        let studies = [
            study("internet", 1000, &[("a", 5.0), ("b", 7.0)]),
            study("internet", 2000, &[("a", 4.0)]),
            study("hosts", 500, &[("a", 9.0)]),
        ];
        let page = growth_page(&studies, "internet", "fibula study growth", "a machine");
        assert_eq!(growth_rows(&studies).len(), 4);
        assert!(page.contains("| hosts | 500 | 2 | a | 1 | 4.50 | 9 | 20 | 3 | - | - |"), "{page}");
        assert!(page.contains("x-axis [\"1K\", \"2K\"]\n  line [5.00, 4.00]\n```"), "{page}");
        assert!(page.contains("Lines, in order: `a`."), "b is not on every size: {page}");
    }
}
