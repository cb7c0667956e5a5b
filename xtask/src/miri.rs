//! Miri: the memory of tables and what readers share, interpreted with every access checked.

use crate::run::{nightly, run};
use crate::setup;
use anyhow::Result;

/// What has `unsafe` code that is not for an instruction set, which Miri does not know.
const TESTS: [&str; 2] = ["parts::memory", "live::tests"];

/// Those that build engines with large arrays, for each of which Miri takes minutes.
const SLOW: [&str; 5] = ["a_replaced", "a_table", "what_one", "what_cannot", "who_may"];

/// Runs the tests. They may use the clock.
pub(crate) fn test() -> Result<()> {
    setup::component("miri", "checks every access to memory")?;
    let mut tests = nightly(&["miri", "test", "--package", "fibula", "--lib", "--locked"]);
    tests.args(["--target-dir", "target/miri", "--"]).args(TESTS);
    for slow in SLOW {
        tests.args(["--skip", slow]);
    }
    run(tests.env("MIRIFLAGS", "-Zmiri-disable-isolation"))
}
