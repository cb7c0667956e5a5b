//! The command line as clap sees it: the global options and the list of commands.

use crate::commands::{
    bench, build, completions, demo, devices, engines, enrich, inspect, lookup, man, replay, router, serve,
    set, study, table, trace, verify,
};
use crate::exit::Verdict;
use crate::output::{Format, Output};
use clap::{Parser, Subcommand};

/// Longest-prefix match over Internet routing tables.
///
/// Exit status: 0 good; 1 the answer is bad (a mismatch, or damage or unreadable lines skipped by
/// --keep-going); 2 wrong usage or unreadable input, with one line on standard error.
#[derive(Debug, Parser)]
#[command(
    name = "fibula",
    version,
    subcommand_required = true,
    arg_required_else_help = false,
    max_term_width = 100
)]
pub(crate) struct Cli {
    /// How rows are printed [default: table]
    #[arg(long, value_enum, global = true, value_name = "FORMAT")]
    pub(crate) format: Option<Format>,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// One variant per command. Each is a file or folder under `commands/`.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Lookup(lookup::Arguments),
    Enrich(Box<enrich::Arguments>),
    #[command(subcommand, arg_required_else_help = false)]
    Table(table::Command),
    #[command(subcommand, arg_required_else_help = false)]
    Set(set::Command),
    #[command(subcommand, arg_required_else_help = false)]
    Trace(trace::Command),
    Engines(engines::Arguments),
    Devices(devices::Arguments),
    Inspect(inspect::Arguments),
    Build(build::Arguments),
    Verify(verify::Arguments),
    Bench(bench::Arguments),
    Replay(replay::Arguments),
    #[command(subcommand, arg_required_else_help = false)]
    Router(router::Command),
    Serve(Box<serve::Arguments>),
    #[command(subcommand, arg_required_else_help = false)]
    Study(study::Command),
    Demo(demo::Arguments),
    Completions(completions::Arguments),
    Man(man::Arguments),
}

impl Command {
    /// Runs the command.
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Verdict> {
        match self {
            Self::Lookup(arguments) => arguments.run(output),
            Self::Enrich(arguments) => arguments.run(output),
            Self::Table(command) => command.run(output),
            Self::Set(command) => command.run(output),
            Self::Trace(command) => command.run(),
            Self::Engines(arguments) => arguments.run(output),
            Self::Devices(arguments) => arguments.run(output),
            Self::Inspect(arguments) => arguments.run(output),
            Self::Build(arguments) => arguments.run(output),
            Self::Verify(arguments) => arguments.run(output),
            Self::Bench(arguments) => arguments.run(output),
            Self::Replay(arguments) => arguments.run(output),
            Self::Router(command) => command.run(output),
            Self::Serve(arguments) => arguments.run(),
            Self::Study(command) => command.run(output),
            Self::Demo(arguments) => arguments.run(output),
            Self::Completions(arguments) => arguments.run(),
            Self::Man(arguments) => arguments.run(),
        }
    }
}

/// Reads the command line.
pub(crate) fn parse() -> Result<Cli, clap::Error> {
    Cli::try_parse()
}
