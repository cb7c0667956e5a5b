//! `fibula study report`: the papers' claims and what was measured, as one page.

use crate::exit::{Verdict, tell};
use crate::writing::write_text;
use anyhow::{Context, ensure};
use clap::Args;
use fibula_kit::Evidence;
use fibula_papers::{PAPERS, html};
use std::path::PathBuf;

/// Write what the papers claim, what is measured here, the verdicts and why, as one HTML file
///
/// Each claim has the paper's words, our figure, and the verdict on each table that decides it.
/// Plots have the paper's values on the same axes as ours. The file needs no network.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The file to write, by a temporary file that is renamed
    #[arg(long, value_name = "FILE")]
    into: PathBuf,
    /// The folder of evidence; of it the files of the papers are read, as far as they are there
    #[arg(long, value_name = "FOLDER", default_value = "docs/evidence")]
    evidence: PathBuf,
}

impl Arguments {
    pub(crate) fn run(self) -> anyhow::Result<Verdict> {
        let mut all = Vec::new();
        for paper in PAPERS {
            let path = self.evidence.join(format!("{}.jsonl", paper.name));
            if !path.exists() {
                tell(format_args!("{} is left out: there is no {}", paper.name, path.display()));
                continue;
            }
            let name = path.display();
            let text = std::fs::read_to_string(&path).with_context(|| format!("{name}: cannot be read"))?;
            all.push(Evidence::read(&text).with_context(|| name.to_string())?);
        }
        ensure!(!all.is_empty(), "{}: expected evidence of papers", self.evidence.display());
        let report = html::report(&all)?;
        write_text(&self.into, |out| out.write_all(report.as_bytes()))?;
        tell(format_args!("wrote {}", self.into.display()));
        Ok(Verdict::Good)
    }
}
