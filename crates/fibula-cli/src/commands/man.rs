//! `fibula man`: writes the manual pages.

use crate::cli::Cli;
use crate::exit::Verdict;
use anyhow::Context;
use clap::{Args, CommandFactory};
use clap_mangen::{Man, generate_to};
use std::io::{self, Write};
use std::path::PathBuf;

/// Print the manual page, or write one page per command into a folder
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The folder for fibula.1, fibula-lookup.1 and so on; it is made if it does not exist
    dir: Option<PathBuf>,
}

impl Arguments {
    pub(crate) fn run(self) -> anyhow::Result<Verdict> {
        if let Some(dir) = self.dir {
            let named = || format!("{}: cannot write manual pages", dir.display());
            std::fs::create_dir_all(&dir).with_context(named)?;
            generate_to(Cli::command(), &dir).with_context(named)?;
        } else {
            let mut page = Vec::new();
            Man::new(Cli::command()).render(&mut page)?;
            io::stdout().lock().write_all(&page)?;
        }
        Ok(Verdict::Good)
    }
}
