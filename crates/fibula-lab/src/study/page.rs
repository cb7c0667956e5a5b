//! The study of all engines as Markdown.

use super::markdown::{base_name, maybe, short, table_of};
use super::{EngineRow, EngineStudy};
use std::fmt::Write;

/// Returns the page of all engines: one section per family, with all engines side by side and then
/// each engine's parts and figures.
///
/// `command` makes the page again, and `machine` is where it was made.
#[must_use]
pub fn engines_page(studies: &[EngineStudy], command: &str, machine: &str) -> String {
    let mut page = format!(
        "# The engines, side by side\n\n\
         Made by `{command}`; every number below was measured or counted by that run.\n\n\
         Machine: {machine}.\n\n\
         - **Mlps**: million lookups a second on one core in batches of 16,384, the median of passes in which all engines take turns.\n  \
           The answers are checked against the oracle before and after. **ns**: latency of one lookup whose address depends on\n  \
           the answer before.\n\
         - **loads**, **lines**, **hashes**: elements and different 64-byte lines that the scalar lookup reads of its table, and\n  \
           hashes that it computes. They are counted on the first trace: the mean, and the most of any address. **on chip loads**: those of\n  \
           what the paper keeps on chip. `-` stands where the tables are the standard library's, which shows no accesses.\n\
         - **on chip**: the bytes of the parts that the engine's paper keeps in on-chip memory, apart from others. It is 0 where the\n  \
           paper makes no such division.\n\
         - **next hops**: the different values of the table's last column. In tables named `...asn` these are origin ASes.\n\
         - **updates/s**: single updates, one after the other, without the routing table's own part. An engine that cannot be\n  \
           updated is rebuilt for each. **rebuilds**: for how many of the updates applied in that time the engine was rebuilt.\n",
    );
    for study in studies {
        section(&mut page, study);
    }
    page
}

fn section(page: &mut String, study: &EngineStudy) {
    let EngineStudy { family, table, prefixes, next_hops, traces, rows, .. } = study;
    let table = base_name(table);
    let _ = write!(page, "\n## {family}: {table}, {prefixes} prefixes, {next_hops} next hops\n\n");
    let mut header: Vec<String> = [
        "engine",
        "year",
        "bytes/prefix",
        "on chip KiB",
        "loads",
        "on chip loads",
        "most",
        "lines",
        "hashes",
    ]
    .map(String::from)
    .into();
    header.extend(traces.iter().map(|trace| format!("Mlps {trace}")));
    let rest = ["ns", "build ms", "updates/s", "rebuilds", "update us p50", "p99", "updates", "limits"];
    header.extend(rest.map(String::from));
    page.push_str(&table_of(&header, rows.iter().map(|row| cells(row, traces))));
    for refusal in &study.refused {
        let _ = write!(page, "\n{refusal}.\n");
    }
    let _ = write!(page, "\n### {family}: parts and figures\n\n");
    for row in rows {
        let part = |part: &fibula::memory::Part| {
            let place = if part.on_chip { " (on chip)" } else { "" };
            format!("{}{place} {}", part.name, part.bytes)
        };
        let parts: Vec<String> = row.memory.parts.iter().map(part).collect();
        let _ = write!(page, "- **{}**, bytes: {}.", row.engine, parts.join(", "));
        let figures: Vec<String> =
            row.figures.iter().map(|figure| format!("{} {}", figure.name, short(figure.value))).collect();
        if !figures.is_empty() {
            let _ = write!(page, " Figures: {}.", figures.join("; "));
        }
        page.push('\n');
    }
}

fn cells(row: &EngineRow, traces: &[String]) -> Vec<String> {
    let accesses = &row.accesses;
    let seen = |number: String| if accesses.loads_most == 0 { "-".into() } else { number };
    let rebuilds = row.updates_rebuilt.zip(row.updates_applied);
    let mut cells = vec![
        row.engine.clone(),
        row.year.to_string(),
        short(row.bytes_per_prefix),
        (row.on_chip_bytes >> 10).to_string(),
        seen(short(accesses.loads)),
        seen(short(accesses.loads_on_chip)),
        seen(accesses.loads_most.to_string()),
        seen(short(accesses.lines)),
        short(accesses.hashes),
    ];
    cells.extend(traces.iter().map(|trace| row.mlps.get(trace).copied().map_or(String::new(), short)));
    let limits: Vec<String> = row.limits.iter().map(|(what, max)| format!("{max} {what}")).collect();
    cells.extend([
        short(row.ns_dependent),
        short(row.build_ms),
        maybe(row.updates_per_s),
        rebuilds.map_or(String::new(), |(rebuilt, applied)| format!("{rebuilt} of {applied}")),
        maybe(row.update_us_p50),
        maybe(row.update_us_p99),
        row.updates.clone(),
        if limits.is_empty() { "none".into() } else { limits.join(", ") },
    ]);
    cells
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::BenchOptions;
    use crate::study::{StudyOptions, Trace, study_engines};
    use fibula::{Change, NextHop, Rib, Route};
    use fibula_engines::all;
    use std::time::Duration;

    #[test]
    fn the_page_has_a_line_an_engine_and_its_parts() {
        let mut rib: Rib<u32> = Rib::new();
        let route = Route { prefix: "192.0.2.0/25".parse().unwrap(), next_hop: NextHop(1) };
        rib.insert(route.prefix, route.next_hop);
        let trace = Trace { name: "one".into(), addresses: vec![0xC000_0201; 1000] };
        let options = StudyOptions {
            bench: BenchOptions { passes: 1, ..BenchOptions::default() },
            updating: Duration::from_millis(1),
            ..StudyOptions::default()
        };
        let engines = ["dir24-8", "sail-l", "best", "lulea", "oracle"].map(String::from);
        let changes = [Change::Withdraw(route.prefix), Change::Announce(route)];
        let study =
            study_engines(all(), &engines, ("folder/t.tsv", &rib), &[trace], &changes, &options, &mut |_| {})
                .unwrap();
        assert_eq!(study.rows.len(), 5);
        assert_eq!(study.rows[2].engine, "best (mosaic-deep)");
        assert_eq!(study.rows[0].accesses.loads_most, 2, "TBL24, then TBLlong");
        assert!(study.rows.iter().all(|row| row.updates_per_s.is_some()));
        let rebuilt = |row: &EngineRow| (row.updates_rebuilt.unwrap(), row.updates_applied.unwrap());
        assert_eq!((rebuilt(&study.rows[0]).0, rebuilt(&study.rows[3])), (0, (2, 2)));
        let page = engines_page(&[study], "fibula study engines", "a machine");
        assert!(page.contains("## ipv4: t.tsv, 1 prefixes, 1 next hops"), "{page}");
        assert!(page.contains("| dir24-8 | 1998 | 67"), "{page}");
        let row = |name: &str| page.lines().find(|line| line.starts_with(&format!("| {name} |"))).unwrap();
        assert!(row("lulea").contains(" | 2 of 2 | "), "{page}");
        assert!(row("oracle").contains(" | 0 | - | - | - | - | 1 | "), "{page}");
        assert!(page.contains("- **sail-l**, bytes: BCN16 (on chip) 262144"), "{page}");
    }
}
