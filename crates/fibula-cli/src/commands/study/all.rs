//! `fibula study all`: every file of evidence, one after the other.

use crate::exit::{Verdict, tell};
use crate::output::Output;
use crate::writing::write_text;
use anyhow::{Context, bail};
use clap::Args;
use fibula_io::generate::{NextHopModel, Size, internet};
use fibula_io::table::{Format, write};
use fibula_kit::steps::{Needs, SMALL, STEPS, Step, TABLE, Way};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::available_parallelism;
use std::time::Instant;

/// Make every file of evidence that this machine can make, and name those that it cannot, and why
///
/// Each file is written by a study of its own, whose command is in the file's header. One row is
/// printed for each file. The status is 1 if a file is lacking that every machine can make.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The folder to write to; without it nothing is made
    #[arg(long, value_name = "FOLDER", required_unless_present = "list")]
    into: Option<PathBuf>,
    /// Folders with the tables, changes and traffic that --list names; the first that has a file
    #[arg(long, value_name = "FOLDER")]
    tables: Vec<PathBuf>,
    /// Only these files, without their endings
    #[arg(long, value_delimiter = ',', value_name = "FILE")]
    only: Vec<String>,
    /// Measure a small made table alone, at the smallest size: it tells whether all studies run
    #[arg(long)]
    quick: bool,
    /// Print the files, what makes each and about how long, and make none
    #[arg(long)]
    list: bool,
}

/// A file that could be made.
#[derive(Debug, Serialize)]
struct Listed {
    file: &'static str,
    minutes: u32,
    needs: String,
    command: String,
}

/// What became of a file.
#[derive(Debug, Serialize)]
struct Row {
    file: &'static str,
    made: bool,
    seconds: f64,
    reason: Option<String>,
}

/// Whether a file was written, and what there is to say of it: why it was not, or what is wrong
/// with it.
struct Made {
    made: bool,
    reason: Option<String>,
}

impl Made {
    fn not(reason: impl Into<String>) -> Self {
        Self { made: false, reason: Some(reason.into()) }
    }
}

impl Arguments {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Verdict> {
        if let Some(unknown) = self.only.iter().find(|name| !STEPS.iter().any(|step| step.name() == *name)) {
            let names: Vec<&str> = STEPS.iter().map(Step::name).collect();
            bail!("--only {unknown}: expected {}", names.join(", "));
        }
        let wanted = |step: &&Step| self.only.is_empty() || self.only.iter().any(|name| name == step.name());
        let steps: Vec<&Step> = STEPS.iter().filter(wanted).collect();
        match &self.into {
            Some(into) if !self.list => self.make(into, &steps, output),
            _ => {
                output.rows(steps.iter().map(|step| self.listed(step)))?;
                Ok(Verdict::Good)
            }
        }
    }

    fn listed(&self, &Step { file, way, ref needs, minutes, .. }: &Step) -> Listed {
        let command = match way {
            Way::Study { .. } => format!("fibula study {} -o {file}", self.words(way).replace(TABLE, "")),
            Way::Claims(papers) => {
                let files = papers.iter().map(|paper| format!("{paper}.jsonl "));
                format!("fibula study claims {}-o {file}", files.collect::<String>())
            }
            Way::Command(command) => command.into(),
            Way::Page(page) => format!("fibula study page {page}"),
        };
        Listed { file, minutes, needs: needs.to_string(), command }
    }

    /// Returns what follows `fibula study`.
    fn words(&self, way: Way) -> &'static str {
        match way {
            Way::Study { full, quick } => {
                if self.quick {
                    quick
                } else {
                    full
                }
            }
            Way::Claims(_) | Way::Command(_) | Way::Page(_) => "",
        }
    }

    fn make(&self, into: &Path, steps: &[&Step], output: &Output) -> anyhow::Result<Verdict> {
        let commit = env!("FIBULA_COMMIT");
        if !self.quick && (commit.is_empty() || commit.ends_with("-dirty")) {
            bail!("the evidence would name no commit: build with --release, of sources without changes");
        }
        std::fs::create_dir_all(into).with_context(|| format!("{}: cannot be made", into.display()))?;
        let small = into.join(SMALL);
        if self.quick {
            let tables = internet(Size { ipv4: 2000, ipv6: 500 }, NextHopModel::Near(20), 1)?;
            write_text(&small, |out| write(&tables, Format::Text, out))?;
        }
        let mut printer = output.printer();
        let mut whole = Verdict::Good;
        for (number, step) in (1..).zip(steps) {
            let start = Instant::now();
            let Made { made, reason } = self.step(step, into)?;
            let seconds = (start.elapsed().as_secs_f64() * 10.0).round() / 10.0;
            let said = if made { "made" } else { "not made" };
            let why = reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default();
            tell(format_args!("{number}/{}: {} {said} in {seconds} s{why}", steps.len(), step.file));
            // A file that not every machine can make may be lacking, and none may be wrong.
            let is_expected = !made && (step.needs != Needs::Nothing || matches!(step.way, Way::Page(_)));
            if reason.is_some() && !is_expected {
                whole = Verdict::Bad;
            }
            printer.row(&Row { file: step.file, made, seconds, reason })?;
        }
        printer.finish()?;
        if self.quick {
            std::fs::remove_file(&small)
                .with_context(|| format!("{}: cannot be removed", small.display()))?;
        }
        Ok(whole)
    }

    /// Makes a file.
    fn step(&self, step: &Step, into: &Path) -> anyhow::Result<Made> {
        let mut command = Command::new(std::env::current_exe().context("this program has no path")?);
        command.arg("study");
        match step.way {
            Way::Study { .. } => {
                let cores = available_parallelism().map_or(1, usize::from);
                if let Needs::Cores(needed) = step.needs
                    && cores < needed
                    && !self.quick
                {
                    return Ok(Made::not(format!("it takes {needed} cores, and here are {cores}")));
                }
                for word in self.words(step.way).split_whitespace() {
                    match word.strip_prefix(TABLE) {
                        None => command.arg(word),
                        Some(file) => match self.found(file, into) {
                            Some(path) => command.arg(path),
                            None => return Ok(Made::not(format!("no folder of --tables has {file}"))),
                        },
                    };
                }
            }
            Way::Claims(papers) => {
                command.arg("claims");
                for paper in papers {
                    let path = into.join(format!("{paper}.jsonl"));
                    if !path.exists() {
                        return Ok(Made::not(format!("there is no {}", path.display())));
                    }
                    command.arg(path);
                }
            }
            Way::Command(command) => {
                let Needs::Others(needs) = step.needs else { return Ok(Made::not(command)) };
                return Ok(Made::not(format!("`{command}` makes it in a checkout, with {needs}")));
            }
            Way::Page(page) => return Ok(Made::not(format!("`fibula study page {page}` draws it"))),
        }
        command.arg("-o").arg(into.join(step.file)).stdin(Stdio::null()).stdout(Stdio::null());
        let ended = command.output().context("a study cannot be started")?;
        let told = String::from_utf8_lossy(&ended.stderr);
        let last = told.lines().last().unwrap_or_default().trim_start_matches("fibula: ");
        Ok(match (ended.status.code(), step.needs) {
            (Some(0), _) => Made { made: true, reason: None },
            (Some(1), _) => Made { made: true, reason: Some(format!("answers or tables are bad: {last}")) },
            (Some(_), Needs::Others(needs)) => Made::not(format!("it takes {needs}: {last}")),
            (Some(_), _) => Made::not(last),
            (None, _) => Made::not(ended.status.to_string()),
        })
    }

    /// Returns the path of a file of tables.
    fn found(&self, file: &str, into: &Path) -> Option<PathBuf> {
        if self.quick {
            return Some(into.join(file));
        }
        self.tables.iter().map(|folder| folder.join(file)).find(|path| path.exists())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[test]
    fn every_step_is_a_command() {
        for Step { file, way, .. } in STEPS {
            let Way::Study { full, quick } = way else { continue };
            for words in [full, quick] {
                let words = words.replace(TABLE, "");
                let words = ["fibula", "study"].into_iter().chain(words.split_whitespace());
                let parsed = crate::cli::Cli::try_parse_from(words.chain(["-o", file]));
                assert!(parsed.is_ok(), "{file}: {}", parsed.err().unwrap());
            }
        }
    }
}
