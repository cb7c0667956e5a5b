//! `fibula study claims`: verdicts on the papers' claims, from evidence that was written before.

use super::papers::{add_verdicts, tell_tallies};
use crate::commands::measuring::base_name;
use crate::exit::Verdict;
use crate::output::Output;
use crate::writing::write_text;
use anyhow::Context;
use clap::Args;
use fibula_kit::{Evidence, distinct};
use fibula_papers::judge;
use std::path::PathBuf;

/// Judge the papers' claims by what was measured: confirmed, refuted or not testable here
///
/// The evidence is what `-o` of the papers' studies writes. Nothing is measured again.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The evidence: files of JSON lines
    #[arg(required = true, value_name = "EVIDENCE")]
    evidence: Vec<PathBuf>,
    /// Write the verdicts to this file, as JSON lines that `fibula study page` makes pages from; by a
    /// temporary file that is renamed
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl Arguments {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Verdict> {
        let mut all = Evidence::default();
        let mut judged = Vec::new();
        for path in &self.evidence {
            let name = path.display();
            let text = std::fs::read_to_string(path).with_context(|| format!("{name}: cannot be read"))?;
            let evidence = Evidence::read(&text).with_context(|| name.to_string())?;
            let papers = evidence.rows.iter().filter_map(|row| row.get("paper")?.as_str());
            for paper in distinct(papers) {
                judged.extend(judge(paper, &evidence)?);
            }
            all.header = evidence.header;
        }
        let mut printer = output.printer();
        judged.iter().try_for_each(|row| printer.row(row))?;
        printer.finish()?;
        tell_tallies(&judged);
        let Some(path) = &self.output else { return Ok(Verdict::Good) };
        let files: Vec<&str> = self.evidence.iter().filter_map(|path| path.to_str()).map(base_name).collect();
        all.header.command = format!("fibula study claims {}", files.join(" "));
        add_verdicts(&mut all, &judged)?;
        let text = all.text()?;
        write_text(path, |out| out.write_all(text.as_bytes()))?;
        Ok(Verdict::Good)
    }
}
