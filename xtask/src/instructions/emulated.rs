//! Counts on 64-bit Arm: an emulator runs the program, and a plugin of ours counts.

use crate::aarch64::LINUX;
use crate::run::{cargo, output, program_of, root, run};
use crate::setup;
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The plugin, and what it is compiled to.
const SOURCE: &str = "xtask/src/instructions/count.c";
const PLUGIN: &str = "target/emulator/count.so";

/// Builds the plugin and the program to be counted, optimized as the tests are.
pub(super) fn program() -> Result<PathBuf> {
    setup::arm_with_plugins()?;
    std::fs::create_dir_all(root().join("target/emulator"))?;
    let mut compile = Command::new("cc");
    compile.args(["-Wall", "-Wextra", "-Werror", "-O2", "-shared", "-fPIC", "-o", PLUGIN, SOURCE]);
    run(compile.current_dir(root()))?;
    let mut build =
        cargo(&["test", "--no-run", "--test", "instructions", "--package", "fibula-engines", "--locked"]);
    build.args(["--target", LINUX, "--target-dir", "target/emulator"]);
    build.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", setup::ARM_LINKER);
    program_of(&mut build, "instructions")
}

/// Returns the command that runs the program without counting.
pub(super) fn command(program: &Path) -> Command {
    let mut command = Command::new(setup::ARM_EMULATOR_WITH_PLUGINS);
    command.args(["-L", setup::ARM_LIBRARIES]).arg(program);
    command
}

/// Returns the instructions of the counted call. `file` takes what the plugin prints.
pub(super) fn instructions(program: &Path, name: &str, file: &Path) -> Result<f64> {
    let mut command = Command::new(setup::ARM_EMULATOR_WITH_PLUGINS);
    command.args(["-L", setup::ARM_LIBRARIES, "-d", "plugin", "-D"]).arg(file);
    command.arg("-plugin").arg(root().join(PLUGIN)).arg(program).args(name.split(' '));
    output(&mut command)?;
    let printed = std::fs::read_to_string(file)?;
    printed.trim().parse().with_context(|| format!("{} has no count", file.display()))
}
