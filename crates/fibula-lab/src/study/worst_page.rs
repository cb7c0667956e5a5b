//! The study of the worst changes as Markdown.

use super::markdown::{base_name, short, table_of};
use super::{WorstRow, WorstStudy};
use fibula::engine::BEST;
use std::fmt::Write;

/// Returns the page of the worst changes: what `best` took beside the bound, then every engine.
///
/// `command` makes the page again, and `machine` is where it was made.
#[must_use]
pub fn worst_page(studies: &[WorstStudy], command: &str, machine: &str) -> String {
    let mut page = format!(
        "# The worst change of one route\n\n\
         Made by `{command}`; every number below was measured or counted by that run.\n\n\
         Machine: {machine}.\n\n\
         Each change is of one route, and the next begins when the engine has followed it. The time is the engine's\n\
         alone, without the routing table's part: that of all processors together, so that other processes on the\n\
         machine do not count. Each route that comes goes again, and each that goes comes again.\n\n\
         - **short covers**: a prefix of each length up to /8 (IPv6: /19), where no route was, which covers the most routes.\n\
         - **long covers**: the same of each greater length.\n\
         - **default route**: it comes and goes.\n\
         - **densest**: routes in the /24 (IPv6: /48) with the most longer routes.\n\
         - **random**: any routes of the table that are longer than short covers.\n\
         - **built**: the number of changes for which the engine was built again.\n\
         - **bytes**: before the changes, and after all were taken back.\n\n\
         ## What `best` takes\n\n\
         The bound is 50 ms for short covers and the default route, and 1 ms for any other change. Every answer that a\n\
         change has another next hop for is written. So a long cover is past the bound where it has another answer\n\
         in most /24s of a table, as one over an office does.\n\n"
    );
    let rows = || studies.iter().flat_map(|study| &study.rows);
    let is_best = |row: &&WorstRow| row.engine.starts_with(BEST);
    let header = ["engine", "family", "table", "prefixes", "changes", "number", "built", "p50 us", "p99 us"];
    let header = header.iter().chain(&["worst us", "which", "bytes", "within the bound"]);
    let header: Vec<String> = header.map(ToString::to_string).collect();
    page.push_str(&table_of(&header, rows().filter(is_best).map(cells)));
    page.push_str(
        "\n## Every engine\n\n\
         The worst of all these changes, and the times of the random ones. Where the engine is built again for each\n\
         change, few changes are made: see **number**.\n\n",
    );
    let header =
        ["engine", "family", "table", "number", "built", "worst us", "which", "random p50 us", "p99 us"];
    let of_engines = studies.iter().flat_map(|study| study.rows.chunk_by(|a, b| a.engine == b.engine));
    let others = of_engines.filter(|rows| !is_best(&&rows[0])).filter_map(worst_of);
    page.push_str(&table_of(&header.map(String::from), others));
    for refusal in studies.iter().flat_map(|study| &study.refused) {
        let _ = write!(page, "\n{refusal}.\n");
    }
    page
}

/// Returns the cells of an engine's worst change on one table.
fn worst_of(rows: &[WorstRow]) -> Option<Vec<String>> {
    let worst = rows.iter().max_by(|a, b| a.us_worst.total_cmp(&b.us_worst))?;
    let last = rows.last()?;
    let sum = |number: fn(&WorstRow) -> u64| rows.iter().map(number).sum::<u64>().to_string();
    Some(vec![
        worst.engine.clone(),
        worst.family.clone(),
        base_name(&worst.table).into(),
        sum(|row| row.count),
        sum(|row| row.rebuilt),
        short(worst.us_worst),
        format!("{}: {}", worst.changes, worst.worst),
        short(last.us_p50),
        short(last.us_p99),
    ])
}

fn cells(row: &WorstRow) -> Vec<String> {
    vec![
        row.engine.clone(),
        row.family.clone(),
        base_name(&row.table).into(),
        row.prefixes.to_string(),
        row.changes.into(),
        row.count.to_string(),
        row.rebuilt.to_string(),
        short(row.us_p50),
        short(row.us_p99),
        short(row.us_worst),
        row.worst.clone(),
        format!("{}, {}", row.bytes_before, row.bytes_after),
        if row.us_worst <= row.us_bound { "yes" } else { "no" }.into(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::{WorstOptions, study_worst};
    use fibula::{NextHop, Prefix, Rib};
    use fibula_engines::all;

    #[test]
    fn every_engine_has_a_row_for_each_kind_of_changes() {
        let mut rib: Rib<u32> = Rib::new();
        for at in 0..100 {
            rib.insert(Prefix::host(0x0A00_0000 + at), NextHop(1 + at % 7));
        }
        let engines = ["best", "lulea"].map(String::from);
        let options = WorstOptions { sample: 10, ..WorstOptions::default() };
        let study = study_worst(all(), &engines, ("x/hosts.txt", &rib), &options, &mut |_| {}).unwrap();
        assert!(study.wrong.is_empty() && study.refused.is_empty());
        let numbers: Vec<u64> = study.rows.iter().map(|row| row.count).collect();
        assert_eq!(numbers, [18, 46, 10, 20, 20, 18, 46, 10, 20, 20]);
        let lulea = &study.rows[5..];
        assert!(lulea.iter().all(|row| row.rebuilt == row.count && row.us_worst >= row.us_p50));
        let page = worst_page(&[study], "fibula study worst", "a machine");
        assert!(
            page.contains("| best (mosaic-deep) | ipv4 | hosts.txt | 100 | short covers | 18 | 0 | "),
            "{page}"
        );
        assert!(page.contains("| lulea | ipv4 | hosts.txt | 114 | 114 | "), "{page}");
    }
}
