//! Programs that run beside a test, in a folder of their own.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use tempfile::TempDir;

/// A folder of files, and the processes that write them, which end when this is dropped.
#[derive(Debug)]
pub(crate) struct Running {
    folder: TempDir,
    processes: Vec<Child>,
}

impl Running {
    /// Returns `None` where a program is not installed, which is said.
    pub(crate) fn new(program: &str, argument: &str) -> Option<Self> {
        if Command::new(program).arg(argument).output().is_err() {
            println!("skipped: no {program} (`cargo xtask setup` installs it)");
            return None;
        }
        Some(Self { folder: tempfile::tempdir().unwrap(), processes: Vec::new() })
    }

    #[allow(dead_code, reason = "not each test asks for it")]
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn start(&mut self, command: &mut Command) {
        let log = File::create(self.at("log")).unwrap();
        let process = command.stdout(log.try_clone().unwrap()).stderr(log).spawn();
        self.processes.push(process.unwrap());
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        for process in &mut self.processes {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

/// Returns what a command prints.
pub(crate) fn printed(command: &mut Command) -> Vec<u8> {
    command.output().unwrap().stdout
}

/// Writes texts into files under their names. Returns the folder.
pub(crate) fn kept<'t>(texts: impl IntoIterator<Item = &'t (String, Vec<u8>)>) -> String {
    let folder = tempfile::tempdir().unwrap().keep();
    for (name, text) in texts {
        fs::write(folder.join(name), text).unwrap();
    }
    folder.display().to_string()
}
