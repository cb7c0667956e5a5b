//! Compiles in the commit that the program is built from, for the evidence that it writes.

use std::process::Command;

fn main() {
    const COMMIT: &str = "FIBULA_COMMIT";
    println!("cargo::rerun-if-env-changed={COMMIT}");
    // What is not optimized measures nothing, and would be compiled again after every commit.
    let optimized = std::env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let commit = std::env::var(COMMIT).ok().or_else(|| {
        optimized.then(|| {
            for path in ["HEAD", "logs/HEAD", "index"] {
                if let Some(path) = git(&["rev-parse", "--path-format=absolute", "--git-path", path]) {
                    println!("cargo::rerun-if-changed={path}");
                }
            }
            // A change of a source after the last build makes it dirty.
            println!("cargo::rerun-if-changed=..");
            git(&["describe", "--always", "--dirty", "--exclude=*"])
        })?
    });
    println!("cargo::rustc-env={COMMIT}={}", commit.unwrap_or_default());
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
