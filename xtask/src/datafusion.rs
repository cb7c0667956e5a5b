//! `fibula-datafusion`: a workspace of its own, because DataFusion takes longer to compile than all
//! that the other crates need.

use crate::run::{cargo, run};
use anyhow::Result;

const MANIFEST: &str = "crates/fibula-datafusion/Cargo.toml";

/// Checks and tests the crate. What it compiles is kept under target/datafusion.
pub(crate) fn test() -> Result<()> {
    run(&mut cargo(&["fmt", "--manifest-path", MANIFEST, "--check"]))?;
    let place = ["--manifest-path", MANIFEST, "--target-dir", "target/datafusion", "--locked"];
    let clippy = ["--all-targets", "--", "--deny", "warnings"];
    run(cargo(&["clippy"]).args(place).args(clippy))?;
    run(cargo(&["test"]).args(place))
}
