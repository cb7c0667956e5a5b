//! Exhibits as a Markdown page.

use crate::{Paper, Reproduction, Row};
use std::fmt::Write;

/// Returns the page of a paper. `command` makes it again, and `machine` is where it was made.
#[must_use]
pub fn page(paper: &Paper, reproductions: &[&Reproduction], command: &str, machine: &str) -> String {
    let mut page = format!(
        "# {}\n\nMade by `{command}`; every number under *here* was measured or counted by that run.\n\n\
         Machine here: {machine}.\n\nMachine of the paper: {}.\n\n\
         | exhibit | what it shows | class |\n| --- | --- | --- |\n",
        paper.citation, paper.machine
    );
    for Reproduction { exhibit, finding, .. } in reproductions {
        let reason = finding.class.reason().map(|reason| format!(": {reason}")).unwrap_or_default();
        let _ = writeln!(page, "| {} | {} | {}{reason} |", exhibit.id, exhibit.title, finding.class.name());
    }
    for reproduction in reproductions.iter().filter(|each| !each.finding.points.is_empty()) {
        let Reproduction { exhibit, finding, .. } = reproduction;
        let _ = write!(
            page,
            "\n## {}: {}\n\n| series | {} | unit | paper | here | here / paper |\n| --- | --- | --- | ---: | ---: | ---: |\n",
            exhibit.id, exhibit.title, finding.axis
        );
        for Row { series, at, unit, paper_value, ours, ratio, .. } in reproduction.rows() {
            let cells = [paper_value, ours, ratio].map(number);
            let _ = writeln!(page, "| {series} | {at} | {unit} | {} |", cells.join(" | "));
        }
        for note in &finding.notes {
            let _ = write!(page, "\n{note}\n");
        }
    }
    page
}

/// Writes a number with four significant digits; nothing where there is none.
pub(crate) fn number(value: Option<f64>) -> String {
    let Some(value) = value else { return String::new() };
    let size = value.abs();
    if value.fract() == 0.0 || size >= 1000.0 {
        format!("{value:.0}")
    } else if size >= 100.0 {
        format!("{value:.1}")
    } else if size >= 10.0 {
        format!("{value:.2}")
    } else {
        format!("{value:.3}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_four_digits() {
        let texts =
            [0.0, 800_672.0, 12_345.6, 123.45, 12.345, 1.2345, 0.01234].map(|value| number(Some(value)));
        assert_eq!(texts, ["0", "800672", "12346", "123.5", "12.35", "1.234", "0.012"]);
        assert_eq!(number(None), "");
    }
}
