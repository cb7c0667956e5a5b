//! `fibula study claims`: verdicts on the papers' claims, from evidence that was written before.

use super::papers::{only_verdicts, tell_tallies, write};
use crate::commands::measuring::base_name;
use crate::exit::Verdict;
use crate::output::Output;
use anyhow::Context;
use clap::Args;
use fibula_kit::Evidence;
use fibula_papers::judge_all;
use std::path::PathBuf;

/// Judge the papers' claims by what was measured: confirmed, refuted or not testable here
///
/// The evidence is what `-o` of the papers' studies writes. Nothing is measured again.
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
        let (mut all, mut judged) = (Evidence::default(), Vec::new());
        for path in &self.evidence {
            let name = path.display();
            let text = std::fs::read_to_string(path).with_context(|| format!("{name}: cannot be read"))?;
            let evidence = Evidence::read(&text).with_context(|| name.to_string())?;
            judged.extend(judge_all(&evidence)?);
            all.header = evidence.header;
            all.rows.extend(evidence.rows);
        }
        let mut printer = output.printer();
        judged.iter().try_for_each(|row| printer.row(row))?;
        printer.finish()?;
        tell_tallies(&judged);
        let Some(path) = &self.output else { return Ok(Verdict::Good) };
        let files: Vec<&str> = self.evidence.iter().filter_map(|path| path.to_str()).map(base_name).collect();
        all.header.command = format!("fibula study claims {}", files.join(" "));
        only_verdicts(&mut all, &judged)?;
        write(path, &all)?;
        Ok(Verdict::Good)
    }
}
