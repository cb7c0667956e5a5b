//! `fibula study claims`: verdicts on the papers' claims, from evidence that was written before.

use super::papers::{only_verdicts, tell_tallies, write};
use crate::commands::measuring::base_name;
use crate::exit::Verdict;
use crate::output::Output;
use anyhow::Context;
use clap::Args;
use fibula_kit::{Evidence, Header, Row};
use fibula_papers::judge_all;
use std::path::PathBuf;

/// Judge the papers' claims by what was measured
///
/// The evidence is what `-o` of the papers' studies writes. Nothing is measured again. Rows of
/// other studies, and verdicts, are passed over; the order of the files changes nothing.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The evidence: files of JSON lines
    #[arg(required = true, value_name = "EVIDENCE")]
    evidence: Vec<PathBuf>,
    /// Write the verdicts to this file, as JSON lines that `fibula study page` makes pages from; by
    /// a temporary file that is renamed
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl Arguments {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Verdict> {
        let mut evidence = Vec::new();
        for path in &self.evidence {
            let name = path.display();
            let text = std::fs::read_to_string(path).with_context(|| format!("{name}: cannot be read"))?;
            evidence.push(Evidence::read(&text).with_context(|| name.to_string())?);
        }
        let judged = judge_all(&evidence)?;
        let mut printer = output.printer();
        judged.iter().try_for_each(|row| printer.row(row))?;
        printer.finish()?;
        tell_tallies(&judged);
        let Some(path) = &self.output else { return Ok(Verdict::Good) };
        let of_papers = || evidence.iter().filter(|evidence| evidence.rows.iter().any(is_of_an_exhibit));
        let mut header = of_papers().next().map(|first| first.header.clone()).unwrap_or_default();
        if of_papers().any(|one| one.header != header) {
            let files = self.evidence.iter().filter_map(|path| path.to_str()).map(base_name);
            let command = ["fibula study claims"].into_iter().chain(files).collect::<Vec<_>>().join(" ");
            header = Header { command, ..header };
        }
        let rows = evidence.into_iter().flat_map(|evidence| evidence.rows).collect();
        let mut all = Evidence { header, rows };
        only_verdicts(&mut all, &judged)?;
        write(path, &all)?;
        Ok(Verdict::Good)
    }
}

/// Whether a row says what an exhibit of a paper is.
fn is_of_an_exhibit(row: &Row) -> bool {
    row.contains_key("paper") && row.contains_key("title")
}
