//! The checks that do not run the code.

use crate::dependencies;
use crate::run::{PEERS, cargo, run};
use anyhow::Result;

/// Formatting, clippy, documentation, dependencies.
pub(crate) fn all() -> Result<()> {
    run(&mut cargo(&["fmt", "--all", "--check"]))?;
    run(cargo(&["clippy", "--workspace", "--all-targets", "--locked"])
        .args(PEERS)
        .args(["--", "--deny", "warnings"]))?;
    let mut documentation = cargo(&["doc", "--workspace", "--no-deps", "--locked"]);
    run(documentation.env("RUSTDOCFLAGS", "--deny warnings"))?;
    dependencies::check()
}
