//! The `fibula` command line: a thin front to the library. Every command is a short file.
#![forbid(unsafe_code)]

mod addresses;
mod cli;
mod commands;
mod exit;
mod feed;
mod following;
mod operand;
mod output;
mod plotted;
mod reading;
mod registry;
mod workers;
mod writing;

use fibula_lab::allocation::CountingAllocator;
use std::process::ExitCode;

/// Memory is reported as it was allocated, not as it was computed.
#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator::new();

fn main() -> ExitCode {
    match cli::parse() {
        Ok(cli) => exit::code(cli.command.run(&output::Output::new(cli.format))),
        Err(error) => exit::usage(&error),
    }
}
