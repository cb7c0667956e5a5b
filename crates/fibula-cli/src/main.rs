//! The `fibula` command line: a thin front to the library, every command a short file.
#![forbid(unsafe_code)]

mod cli;
mod commands;
mod exit;
mod family;
mod output;
mod reading;
mod writing;

use std::process::ExitCode;

fn main() -> ExitCode {
    match cli::parse() {
        Ok(cli) => exit::code(cli.command.run(&output::Output::new(cli.format))),
        Err(error) => exit::usage(&error),
    }
}
