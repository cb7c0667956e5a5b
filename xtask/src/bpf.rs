//! The router's XDP programs: compiled by clang, and compared with the objects that are committed.
//!
//! The crate includes the objects, so that a machine without clang builds it. Another version of
//! clang makes other objects. So an object names the compiler that made it, and is only compared
//! with what the same one makes.

use crate::run::{output, root, run, works};
use crate::setup;
use anyhow::{Context, Result, bail, ensure};
use std::fs;
use std::path::Path;
use std::process::Command;

/// The folder of the programs and of their objects.
const FOLDER: &str = "crates/fibula-router/bpf";

/// The folder of the lookups.
const LOOKUPS: &str = "../../fibula-image/kernels";

/// The programs, without their endings.
const PROGRAMS: [&str; 2] = ["router", "study"];

/// `cargo xtask bpf`, and `cargo xtask bpf --record`.
pub(crate) fn from_arguments(arguments: &[String]) -> Result<()> {
    match arguments {
        [] => check(),
        [record] if record == "--record" => compile(&root().join(FOLDER)),
        _ => bail!("expected nothing or --record after bpf, found {:?}", arguments.join(" ")),
    }
}

/// Clang for BPF, and what strips its objects.
pub(crate) fn set_up() -> Result<()> {
    if works("clang", &["--version"]) && works("llvm-strip", &["--version"]) {
        return Ok(());
    }
    setup::debian("clang and llvm-strip", &["clang", "llvm", "linux-libc-dev"])
}

/// Compiles the programs and compares each with the object that is committed.
pub(crate) fn check() -> Result<()> {
    let fresh = root().join("target/bpf");
    compile(&fresh)?;
    let version = output(Command::new("clang").arg("--version"))?;
    let version = version.lines().next().unwrap_or_default();
    for program in PROGRAMS {
        let name = format!("{program}.o");
        let read =
            |folder: &Path| fs::read(folder.join(&name)).with_context(|| format!("cannot read {name}"));
        let (fresh, committed) = (read(&fresh)?, read(&root().join(FOLDER))?);
        let compilers = [compiler(&fresh), compiler(&committed)];
        ensure!(compilers.iter().all(Option::is_some), "{name} does not name the compiler that made it");
        if compilers[0] != compilers[1] {
            println!("{name} is not compared: another compiler than {version} made it");
            continue;
        }
        ensure!(fresh == committed, "{FOLDER}/{name} is not what its source makes: cargo xtask bpf --record");
    }
    Ok(())
}

/// Compiles the programs into a folder.
fn compile(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    for program in PROGRAMS {
        let object = folder.join(format!("{program}.o"));
        let mut clang = Command::new("clang");
        clang.current_dir(root().join(FOLDER)).args([
            "-target",
            "bpf",
            "-mcpu=v3",
            "-O2",
            "-g",
            "-std=gnu11",
        ]);
        // No path of this machine in the object.
        clang.args(["-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror", "-fdebug-compilation-dir=."]);
        clang.arg(format!("-I{LOOKUPS}")).arg(format!("-I/usr/include/{}-linux-gnu", std::env::consts::ARCH));
        run(clang.arg("-c").arg(format!("{program}.c")).arg("-o").arg(&object))?;
        // Keeps the type information, which the loader needs.
        run(Command::new("llvm-strip").arg("--strip-debug").arg(&object))?;
    }
    Ok(())
}

/// Returns the version of the compiler that made an object.
fn compiler(object: &[u8]) -> Option<String> {
    let at = object.windows(6).position(|window| window.eq_ignore_ascii_case(b"clang "))?;
    let end = object[at..].iter().position(|&byte| byte == 0)?;
    Some(String::from_utf8_lossy(&object[at..at + end]).into_owned())
}
