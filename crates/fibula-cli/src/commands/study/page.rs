//! `fibula study page`: makes the tables and plots of pages from what was measured.

use crate::exit::{Verdict, tell};
use crate::writing::write_text;
use anyhow::Context;
use clap::Args;
use std::path::{Path, PathBuf};

/// Make the tables and plots of Markdown pages from evidence, the files that `-o` of the studies
/// writes
///
/// A comment in the page names the file and says which rows and columns stand below it. All other
/// text stays. docs/*.md has pages to copy from.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The pages
    #[arg(required = true, value_name = "PAGE")]
    pages: Vec<PathBuf>,
    /// Take this file for all evidence that the pages name
    #[arg(long, value_name = "FILE")]
    evidence: Option<PathBuf>,
    /// Write one page to this file instead, by a temporary file that is renamed
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl Arguments {
    pub(crate) fn run(self) -> anyhow::Result<Verdict> {
        anyhow::ensure!(self.output.is_none() || self.pages.len() == 1, "--output takes one page");
        for page in &self.pages {
            let text = read(page)?;
            let output = self.output.as_ref().unwrap_or(page);
            let folder = page.parent().unwrap_or(Path::new(""));
            let filled = fibula_kit::fill(&text, &output.to_string_lossy(), |file| {
                let path = self.evidence.clone().unwrap_or_else(|| folder.join(file));
                read(&path).map_err(|error| fibula_kit::Error::new(format!("{error:#}")))
            })
            .with_context(|| page.display().to_string())?;
            let folder = output.parent().unwrap_or(Path::new(""));
            for (file, drawing) in &filled.plots {
                write_text(&folder.join(file), |out| out.write_all(drawing.as_bytes()))?;
            }
            write_text(output, |out| out.write_all(filled.text.as_bytes()))?;
            tell(format_args!("wrote {}", output.display()));
        }
        Ok(Verdict::Good)
    }
}

fn read(path: &Path) -> anyhow::Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("{}: cannot be read", path.display()))
}
