//! The checks that do not run the code.

use crate::run::{DEFAULT_FEATURES, FEATURES, cargo, run};
use crate::{aarch64, comments, dependencies};
use anyhow::Result;

/// Checks formatting, the width of comments, clippy, documentation, dependencies, and that the
/// library compiles for another architecture.
pub(crate) fn all() -> Result<()> {
    code()?;
    let mut documentation = cargo(&["doc", "--workspace", "--no-deps", "--locked"]);
    run(documentation.args(FEATURES).env("RUSTDOCFLAGS", "--deny warnings"))?;
    dependencies::check()?;
    aarch64::check()
}

/// Checks formatting, the width of comments and clippy.
pub(crate) fn code() -> Result<()> {
    run(&mut cargo(&["fmt", "--all", "--check"]))?;
    comments::check()?;
    for features in [FEATURES, DEFAULT_FEATURES] {
        run(cargo(&["clippy", "--workspace", "--all-targets", "--locked"])
            .args(features)
            .args(["--", "--deny", "warnings"]))?;
    }
    // What someone gets who wants the library and as little else as possible.
    let small = ["clippy", "--package", "fibula", "--no-default-features", "--locked"];
    run(cargo(&small).args(["--", "--deny", "warnings"]))
}
