//! Comparisons as Markdown.

use super::Comparison;
use super::markdown::{base_name, maybe, short, table_of};
use crate::bench::BenchRow;
use std::fmt::Write;

/// Returns the page of an engine against others: every ratio, every measure that it loses, and all
/// figures.
///
/// `command` makes the page again, `machine` is where it was made, and `threads` is the number of
/// the last column.
#[must_use]
pub fn compare_page(comparisons: &[Comparison], threads: usize, command: &str, machine: &str) -> String {
    let mut page = format!(
        "# fibula beside other engines\n\n\
         Made by `{command}`; every number below was measured by that run, including the rows that are lost.\n\n\
         Machine: {machine}.\n\n\
         - **Mlps**: million lookups a second on one core, the median of passes in which all engines of a table take turns. The\n  \
           answers of each are compared with the oracle's first. An engine with wrong ones has their number instead of a speed.\n\
         - **of the limit**: the share of the rate of one random load per address from an array as large, in the same passes.\n\
         - **{threads} threads**: the speed on {threads} threads over that on one.\n\
         - **ns**: latency of a lookup whose address depends on the answer before, on the first trace.\n\
         - *near=N*: N next hops, neighbours mostly alike; *different=N*: N next hops, hashed from the whole prefix.\n\
         - `peer:` is other people's code; everything else is this project's.\n\n\
         ## Against the fastest other\n\n"
    );
    let header =
        ["family", "table", "next hops", "trace", "engine", "Mlps", "fastest other", "its Mlps", "ratio"]
            .into_iter()
            .map(String::from)
            .chain(["of the limit".into(), format!("{threads} threads")]);
    let rows = comparisons.iter().flat_map(Comparison::rows).map(|row| {
        vec![
            row.family,
            base_name(&row.table).into(),
            row.model,
            row.trace,
            row.engine,
            short(row.mlps),
            row.rival,
            short(row.rival_mlps),
            format!("{:.2}", row.ratio),
            maybe(row.limit_share),
            maybe(row.scaling),
        ]
    });
    page.push_str(&table_of(&header.collect::<Vec<_>>(), rows));
    page.push_str("\n## What is lost\n\nEvery measure in which another engine is better.\n\n");
    let header = ["family", "table", "next hops", "measure", "here", "better", "there"].map(String::from);
    let lost = comparisons.iter().flat_map(|comparison| {
        comparison.lost().into_iter().map(|(measure, own, rival, its)| {
            let Comparison { family, table, model, .. } = comparison;
            vec![
                family.clone(),
                base_name(table).into(),
                model.clone(),
                measure,
                short(own),
                rival,
                short(its),
            ]
        })
    });
    page.push_str(&table_of(&header, lost));
    for comparison in comparisons {
        figures(&mut page, comparison);
    }
    page
}

/// Writes all engines on all traces of one table.
fn figures(page: &mut String, comparison: &Comparison) {
    let Comparison { family, table, model, prefixes, races, refused, wrong, .. } = comparison;
    let Some(first) = races.first() else { return };
    let table = base_name(table);
    let next_hops = first.first().map_or(0, |row| row.next_hops);
    let _ = write!(page, "\n## {family}: {table}, {prefixes} prefixes, {next_hops} next hops ({model})\n\n");
    let traces = races.iter().filter_map(|race| race.first()).map(|row| format!("Mlps {}", row.trace));
    let header: Vec<String> = std::iter::once("engine".to_owned())
        .chain(traces)
        .chain(["ns", "bytes/prefix", "build ms"].map(String::from))
        .collect();
    let rows = first.iter().enumerate().map(|(at, row)| {
        let mut cells = vec![row.engine.clone()];
        cells.extend(races.iter().map(|race| race.get(at).map_or_else(String::new, speed)));
        let bytes_per_prefix = row.bytes as f64 / row.prefixes.max(1) as f64;
        cells.extend([maybe(row.ns_dependent), short(bytes_per_prefix), short(row.build_ms)]);
        cells
    });
    page.push_str(&table_of(&header, rows));
    for refusal in refused {
        let _ = write!(page, "\n{refusal}.\n");
    }
    for mismatch in wrong {
        let _ = write!(page, "\n{mismatch}.\n");
    }
}

fn speed(row: &BenchRow) -> String {
    row.mlps.map_or_else(|| format!("{} of {} wrong", row.mismatches, row.checked), short)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::BenchOptions;
    use crate::study::{Trace, compare};
    use fibula::{NextHop, Rib};
    use fibula_engines::all;

    #[test]
    fn the_page_tells_ratios_losses_and_wrong_answers() {
        let mut rib: Rib<u128> = Rib::new();
        rib.insert("2001:db8::/32".parse().unwrap(), NextHop(1));
        let address = 0x2001_0db8_u128 << 96;
        let traces = ["a", "b"].map(|name| Trace { name: name.into(), addresses: vec![address; 1000] });
        let options = BenchOptions { passes: 1, ..BenchOptions::default() };
        let rivals = ["radix".to_owned()];
        let names = ("x/t.tsv", "near=2", &rib);
        let mut comparison =
            compare(all(), ("mosaic6", &rivals), names, &traces, 2, &options, &mut |_| {}).unwrap();
        comparison.races[0][0].build_ms = 7.0;
        comparison.races[0][1].build_ms = 6.0;
        (comparison.races[1][1].mlps, comparison.races[1][1].mismatches) = (None, 12);
        let page = compare_page(&[comparison], 2, "fibula study compare", "a machine");
        assert!(page.contains("| ipv6 | t.tsv | near=2 | a | mosaic6 | "), "{page}");
        assert!(!page.contains("| ipv6 | t.tsv | near=2 | b | mosaic6 | "), "no rival is right on b: {page}");
        assert!(page.contains("| ipv6 | t.tsv | near=2 | build ms | 7 | radix | 6 |"), "{page}");
        assert!(page.contains("12 of 1000 wrong"), "{page}");
        assert!(page.contains("## ipv6: t.tsv, 1 prefixes, 1 next hops (near=2)"), "{page}");
    }
}
