//! `fibula completions`: a shell's completion script.

use crate::cli::Cli;
use crate::exit::Verdict;
use clap::{Args, CommandFactory};
use clap_complete::{Shell, generate};
use std::io::{self, Write};

/// Print a shell's completion script
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The shell it is for
    shell: Shell,
}

impl Arguments {
    pub(crate) fn run(self) -> anyhow::Result<Verdict> {
        // Written to memory first: the generator panics where writing fails.
        let mut script = Vec::new();
        generate(self.shell, &mut Cli::command(), "fibula", &mut script);
        io::stdout().lock().write_all(&script)?;
        Ok(Verdict::Good)
    }
}
