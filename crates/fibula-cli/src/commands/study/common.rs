//! Options that several studies share.

use super::super::measuring::{INTERNET, base_name, one_of_tables};
use crate::exit::Verdict;
use crate::reading::Reading;
use crate::writing::write_text;
use clap::Args;
use fibula_io::table::Tables;
use fibula_io::trace::TraceKind;
use fibula_kit::{Evidence, Header};
use fibula_lab::machine::Machine;
use std::path::{Path, PathBuf};

/// The tables and traces of a study.
#[derive(Debug, Args)]
pub(super) struct OnTables {
    /// The tables, files or `internet` for the made one; one or more
    #[arg(short, long, default_value = INTERNET, value_name = "TABLE")]
    pub(super) table: Vec<String>,
    /// The traces. Those that a family does not have are skipped
    #[arg(long, value_delimiter = ',', default_value = "prefix,random,zipf")]
    pub(super) trace: Vec<TraceKind>,
    #[command(flatten)]
    pub(super) reading: Reading,
}

/// Reads tables one after the other, and calls `with` with the name of each, without its folder,
/// and the table. Returns whether all were complete.
pub(super) fn each_table(
    names: &[String],
    reading: &Reading,
    mut with: impl FnMut(&str, Tables) -> anyhow::Result<()>,
) -> anyhow::Result<Verdict> {
    let mut whole = Verdict::Good;
    reading.of_tables(names.iter().filter(|name| *name != INTERNET).count())?;
    for name in names {
        let (tables, complete) = one_of_tables(name, reading)?;
        if complete == Verdict::Bad {
            whole = Verdict::Bad;
        }
        with(base_name(name), tables)?;
    }
    Ok(whole)
}

/// The number of addresses, and the file to write.
#[derive(Debug, Args)]
pub(super) struct ToFile {
    /// How many addresses
    #[arg(long, default_value_t = 1 << 22, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) addresses: u32,
    #[command(flatten)]
    pub(super) evidence: EvidenceFile,
}

/// The file to write.
#[derive(Debug, Args)]
pub(super) struct EvidenceFile {
    /// Write how it was measured and all rows to this file, as JSON lines that `fibula study page`
    /// makes pages from; by a temporary file that is renamed
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl EvidenceFile {
    /// Writes what `add` adds, if a file was asked for.
    pub(super) fn write(
        &self,
        study: &str,
        add: impl FnOnce(&mut Evidence) -> Result<(), fibula_kit::Error>,
    ) -> anyhow::Result<()> {
        self.output.as_deref().map_or(Ok(()), |path| write_evidence(path, study, add))
    }
}

/// Writes evidence with how and where it was measured.
pub(super) fn write_evidence(
    path: &Path,
    study: &str,
    add: impl FnOnce(&mut Evidence) -> Result<(), fibula_kit::Error>,
) -> anyhow::Result<()> {
    let mut evidence = Evidence { header: header(study), rows: Vec::new() };
    add(&mut evidence)?;
    let text = evidence.text()?;
    write_text(path, |out| out.write_all(text.as_bytes()))
}

/// Returns how and where this process measures.
pub(super) fn header(study: &str) -> Header {
    let command = command(std::env::args().skip(1));
    Header::here(study, command, env!("FIBULA_COMMIT"), Machine::here().to_string())
}

/// Returns the command that measures again: files without their folders, and without `-o`.
fn command(arguments: impl Iterator<Item = String>) -> String {
    let mut command = String::from("fibula");
    let mut is_output = false;
    for argument in arguments {
        if std::mem::replace(&mut is_output, argument == "-o" || argument == "--output") || is_output {
            continue;
        }
        if argument.starts_with("--output=") {
            continue;
        }
        let is_file = Path::new(&argument).exists();
        let shown = if is_file { base_name(&argument) } else { argument.as_str() };
        let quote = if shown.contains(' ') { "'" } else { "" };
        command.extend([" ", quote, shown, quote]);
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_told_without_folders_and_output() {
        let told = |arguments: &[&str]| command(arguments.iter().map(ToString::to_string));
        assert_eq!(
            told(&["study", "best", "-t", "src/main.rs", "-o", "a/b"]),
            "fibula study best -t main.rs"
        );
        assert_eq!(told(&["x", "--output=a", "-e", "dxr/k=20", "a b"]), "fibula x -e dxr/k=20 'a b'");
    }
}
