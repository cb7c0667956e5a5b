//! The project's own tasks, for people and for continuous integration.
//!
//! `cargo xtask test` runs all of them but `dist`, DataFusion's, `miri`, `router-full`, `weight`
//! and the whole of `hdl`. Each step can be run alone.

#![forbid(unsafe_code)]

mod aarch64;
mod abi;
mod api;
mod bpf;
mod comments;
mod datafusion;
mod dependencies;
mod disk;
mod dist;
mod duckdb;
mod fuzz;
mod hdl;
mod instructions;
mod lint;
mod miri;
mod packages;
mod page;
mod pages;
mod python;
mod router;
mod run;
mod setup;
mod test;
mod timings;
mod weight;

use anyhow::{Result, bail};
use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask COMMAND

  test    everything below but dist, datafusion, miri, router-full, weight and the whole of hdl, then all tests, both
          sanitizers, and every fuzz target for 3 seconds
          --quick: formatting, clippy and the unit tests
          CRATE...: what concerns these crates: clippy, their tests, and such stages as sanitizers or the page
          --timings: all, and what took how long: stages, crates by how often they are compiled, the slowest tests;
          --record writes the stages into the table of CONTRIBUTING.md
          --beside: both sanitizers, the emulated 64-bit Arm, every fuzz target, the hardware pipelines and the Python package
  lint    formatting, the width of comments and pages, clippy, documentation, licences and duplicate versions
  instructions  the instructions of a lookup of every engine, against docs/instructions.tsv; --record writes the counts there;
          --arm: those of 64-bit Arm, in an emulator, which no other command counts
  api     the public items of the published crates and libfibula's interface, against docs/public-api; --record writes them there
  bpf     the XDP programs, compiled by clang, against the objects that are committed; --record writes them there
  page    the module with which the page of `fibula serve` reads files in a browser; `page test`: the page in a browser
  python  the Python package: its code checked, its module built as the tests are and tested, with DuckDB's extension
          --sanitized: both extensions tested with every memory access checked, which no other command does
  router-full  the router with FRR and a full table, compared and timed, in namespaces (root); --minutes N of changes (1)
  duckdb  DuckDB's extension, as target/duckdb/fibula.duckdb_extension
  dist    what is handed out, under target/dist: programs, Debian packages, wheels, the source; or those named
          --try: installs and runs what is there, each in a root of its own (root, Debian's mirrors)
  datafusion  the functions of DataFusion, which no other command compiles: checked and tested
  fuzz    every fuzz target, or those named; --seconds N each (3)
  miri    the tests of the memory of tables and of what readers share, interpreted with every access checked
  hdl     the hardware pipelines: lint, simulation with 1,000,000 addresses each, defects, synthesis, place and route; writes docs/hdl.md
          --quick: lint, simulation of a small table, defects
  weight  what a short program with a table costs to compile, by the features of the library; --record writes the rows
          into crates/fibula/README.md
  setup   install what the tests need and the machine lacks; `setup peers`: what the feature `peers` needs, too";

fn main() -> ExitCode {
    if let Some(ended) = timings::stand_in() {
        return ended.unwrap_or_else(|error| {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        });
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match command(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn command(arguments: &[String]) -> Result<()> {
    let (command, rest) =
        arguments.split_first().map_or(("", &[][..]), |(first, rest)| (first.as_str(), rest));
    match (command, rest) {
        ("test", []) => test::all(),
        ("test", [what]) if what == "--quick" => test::quick(),
        ("test", [what]) if what == "--beside" => test::beside(),
        ("test", [what]) if what == "--timings" => timings::test(),
        ("test", [what, how]) if what == "--timings" && how == "--record" => timings::record(),
        ("test", crates) if crates.iter().all(|name| !name.starts_with('-')) => {
            test::of(&crates.iter().map(String::as_str).collect::<Vec<_>>())
        }
        ("lint", []) => lint::all(),
        ("instructions", rest) => instructions::from_arguments(rest),
        ("api", rest) => api::from_arguments(rest),
        ("bpf", rest) => bpf::from_arguments(rest),
        ("page", []) => page::build(),
        ("page", [what]) if what == "test" => page::test_shipped(),
        ("python", []) => python::set_up().and_then(|()| python::test()),
        ("python", [how]) if how == "--sanitized" => python::set_up().and_then(|()| python::sanitized()),
        ("router-full", rest) => router::from_arguments(rest),
        ("duckdb", []) => duckdb::build(),
        ("dist", rest) => dist::from_arguments(rest),
        ("datafusion", []) => datafusion::test(),
        ("fuzz", rest) => fuzz::from_arguments(rest),
        ("miri", []) => miri::test(),
        ("hdl", rest) => hdl::from_arguments(rest),
        ("weight", rest) => weight::from_arguments(rest),
        ("setup", []) => setup::all(),
        ("setup", [what]) if what == "peers" => setup::peers(),
        ("" | "help" | "--help" | "-h", _) => {
            println!("{USAGE}");
            Ok(())
        }
        _ => bail!("{:?} is no command\n{USAGE}", arguments.join(" ")),
    }
}
