//! Everything that is checked without running the code.

use crate::dependencies;
use crate::run::{cargo, run};
use anyhow::Result;

/// Formatting, clippy, documentation, dependencies.
pub(crate) fn all() -> Result<()> {
    run(&mut cargo(&["fmt", "--all", "--check"]))?;
    run(&mut cargo(&["clippy", "--workspace", "--all-targets", "--locked", "--", "--deny", "warnings"]))?;
    // Other people's engines, as far as they come as crates: the rest takes what only `setup peers` installs.
    let peers = ["clippy", "--package", "fibula-peers", "--features", "crates", "--all-targets", "--locked"];
    run(cargo(&peers).args(["--", "--deny", "warnings"]))?;
    let mut documentation = cargo(&["doc", "--workspace", "--no-deps", "--locked"]);
    run(documentation.env("RUSTDOCFLAGS", "--deny warnings"))?;
    dependencies::check()
}
