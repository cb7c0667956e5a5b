//! 64-bit Arm on a machine of another kind: the library is checked for Apple's, and the engines'
//! suite runs for Linux's in an emulator.

use crate::run::{cargo, run};
use crate::setup;
use anyhow::Result;

/// The target whose programs the emulator runs.
pub(crate) const LINUX: &str = "aarch64-unknown-linux-gnu";

/// The target that is only checked: nothing here links for it.
pub(crate) const APPLE: &str = "aarch64-apple-darwin";

/// The tests that run: those of the instruction sets; and of the suite, made and random tables at
/// one width, for the library's engines that compare lines by vectors and for one that only
/// prefetches. The others would take many minutes.
const TESTS: [&str; 4] = ["arch::", "mosaic6::ipv6::w16::", "terrace::ipv6::w16::", "poptrie::ipv6::w16::"];

/// Runs [`TESTS`] in the emulator, with one case of each random test.
pub(crate) fn test() -> Result<()> {
    if cfg!(target_arch = "aarch64") {
        println!("64-bit Arm: the tests have run on the machine itself");
        return Ok(());
    }
    let mut tests = cargo(&["test", "--package", "fibula", "--lib", "--test", "suite", "--locked"]);
    // Not optimized: compiling three widths of every engine takes longer than these tests.
    tests
        .args(["--target", LINUX, "--target-dir", "target/emulator", "--profile", "quick", "--"])
        .args(TESTS);
    tests.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", setup::ARM_LINKER);
    tests.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER", setup::ARM_RUNNER);
    run(tests.env("PROPTEST_CASES", "1"))
}

/// Checks that the library compiles for Apple's processors.
pub(crate) fn check() -> Result<()> {
    setup::rust_target(APPLE)?;
    run(&mut cargo(&["check", "--package", "fibula", "--locked", "--target", APPLE]))
}
