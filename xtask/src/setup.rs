//! Installs what the tests need and the machine lacks, and prints it.

use crate::run::{output, root, run, works};
use crate::{aarch64, bpf, page, python};
use anyhow::{Context, Result, bail};
use cargo_metadata::MetadataCommand;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The version that the fuzz step is known to work with.
const CARGO_FUZZ: &str = "0.13.2";

/// Old enough for every driver of today's cards, new enough for the cards.
const NVRTC: &str = "nvidia-cuda-nvrtc-cu12==12.1.105";

/// Installs everything that the tests need.
pub(crate) fn all() -> Result<()> {
    toolchains()?;
    compilers()?;
    clang()?;
    go()?;
    arm()?;
    valgrind()?;
    verilator()?;
    bpf::set_up()?;
    mount_bpf();
    router()?;
    takers()?;
    cargo_fuzz()?;
    nvrtc()?;
    python::set_up()?;
    page::set_up()
}

/// A target whose processors have 32 bits.
pub(crate) const WITH_32_BITS: &str = "i686-unknown-linux-musl";

/// Installs the toolchain and the standard libraries that the tests and lint need.
pub(crate) fn toolchains() -> Result<()> {
    if !cfg!(target_arch = "aarch64") {
        rust_target(aarch64::LINUX)?;
    }
    rust_target(aarch64::APPLE)?;
    rust_target(WITH_32_BITS)?;
    toolchain("nightly", "for sanitizers and fuzzing")?;
    least_rust()?;
    component("rust-src", "the thread sanitizer needs the standard library built with it")
}

/// Installs everything that other people's engines need.
pub(crate) fn peers() -> Result<()> {
    compilers()?;
    go()?;
    if works("pkg-config", &["--atleast-version=22.11", "libdpdk"]) {
        return Ok(());
    }
    debian("DPDK 22.11", &["libdpdk-dev"])
}

/// Go and what it finds C libraries by, for the Go module and for `bart`. From version 1.21 on it
/// fetches the version that the module names.
fn go() -> Result<()> {
    const LEAST: (u32, u32) = (1, 24);
    if !works("pkg-config", &["--version"]) {
        debian("pkg-config", &["pkg-config"])?;
    }
    if !works("go", &["version"]) {
        debian("Go", &["golang-go"])?;
    }
    let version = output(Command::new("go").args(["env", "GOVERSION"]).current_dir(root().join("go")));
    let version = version.unwrap_or_else(|_| "no go".into());
    let mut numbers = version.trim().trim_start_matches("go").split('.').map(str::parse);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) if (major, minor) >= LEAST => Ok(()),
        _ => bail!(
            "Go {}.{} or newer is needed (https://go.dev/dl), found {}",
            LEAST.0,
            LEAST.1,
            version.trim()
        ),
    }
}

/// The C and C++ compilers, for the compression and fuzzing libraries.
fn compilers() -> Result<()> {
    if works("cc", &["--version"]) && works("c++", &["--version"]) {
        return Ok(());
    }
    debian("a C and a C++ compiler (cc, c++)", &["build-essential"])
}

/// What else the tests of libfibula compile with, and what compares its interface with its record.
pub(crate) fn clang() -> Result<()> {
    if ["clang++", "nm", "abidw"].iter().all(|program| works(program, &["--version"])) {
        return Ok(());
    }
    debian("clang++, nm or abidw", &["clang", "binutils", "abigail-tools"])
}

/// The compiler that links for 64-bit Arm.
pub(crate) const ARM_LINKER: &str = "aarch64-linux-gnu-gcc";

/// The emulator that runs programs for 64-bit Arm.
pub(crate) const ARM_EMULATOR: &str = "qemu-aarch64-static";

/// The command that runs a program for 64-bit Arm, with the libraries that the linker took.
pub(crate) const ARM_RUNNER: &str = "qemu-aarch64-static -L /usr/aarch64-linux-gnu";

/// Where those libraries are.
pub(crate) const ARM_LIBRARIES: &str = "/usr/aarch64-linux-gnu";

/// The emulator that loads plugins: a program that is linked statically cannot.
pub(crate) const ARM_EMULATOR_WITH_PLUGINS: &str = "qemu-aarch64";

/// What compiles, links and runs programs for 64-bit Arm. A machine of that kind needs none of it.
fn arm() -> Result<()> {
    if cfg!(target_arch = "aarch64") {
        return Ok(());
    }
    if works(ARM_LINKER, &["--version"]) && works(ARM_EMULATOR, &["--version"]) {
        return Ok(());
    }
    let packages = ["gcc-aarch64-linux-gnu", "libc6-dev-arm64-cross", "qemu-user-static"];
    debian("a linker and an emulator for 64-bit Arm", &packages)
}

/// What counts the instructions of programs for 64-bit Arm.
pub(crate) fn arm_with_plugins() -> Result<()> {
    arm()?;
    rust_target(aarch64::LINUX)?;
    if works(ARM_EMULATOR_WITH_PLUGINS, &["--version"]) {
        return Ok(());
    }
    debian("an emulator for 64-bit Arm that loads plugins", &["qemu-user"])
}

/// The standard library for another target.
pub(crate) fn rust_target(target: &str) -> Result<()> {
    let installed = output(Command::new("rustup").args(["target", "list", "--installed"]))?;
    if installed.lines().any(|line| line == target) {
        return Ok(());
    }
    println!("installing the standard library for {target}");
    run(Command::new("rustup").args(["target", "add", target]))
}

/// valgrind, which counts instructions.
fn valgrind() -> Result<()> {
    if works("valgrind", &["--version"]) {
        return Ok(());
    }
    debian("valgrind", &["valgrind"])
}

/// Verilator, which checks and simulates the hardware pipelines.
pub(crate) fn verilator() -> Result<()> {
    if works("verilator", &["--version"]) {
        return Ok(());
    }
    debian("Verilator", &["verilator"])
}

/// What the router's tests need.
pub(crate) fn router() -> Result<()> {
    frr()?;
    namespaces()
}

/// FRR, whose routes the router follows. Elsewhere its test is skipped.
fn frr() -> Result<()> {
    if !cfg!(target_os = "linux") || works("/usr/lib/frr/zebra", &["--version"]) {
        return Ok(());
    }
    debian("FRR", &["frr"])
}

/// The programs that tests give what `fibula table convert` writes, and those that what is read of
/// BGP is compared with. Elsewhere those tests are skipped.
fn takers() -> Result<()> {
    const PROGRAMS: [(&str, &str); 7] = [
        ("nft", "nftables"),
        ("ipset", "ipset"),
        ("iptables-restore", "iptables"),
        ("bird", "bird2"),
        ("mmdblookup", "mmdb-bin"),
        ("bgpdump", "bgpdump"),
        ("gobgpd", "gobgpd"),
    ];
    let is_missing = |program: &str| !works("sh", &["-c", "command -v \"$0\"", program]);
    let missing: Vec<_> = PROGRAMS.into_iter().filter(|(program, _)| is_missing(program)).collect();
    if !cfg!(target_os = "linux") || missing.is_empty() {
        return Ok(());
    }
    let (programs, packages): (Vec<_>, Vec<_>) = missing.into_iter().unzip();
    debian(&programs.join(", "), &packages)
}

/// What makes network namespaces and their interfaces.
fn namespaces() -> Result<()> {
    if works("ip", &["-V"]) && works("ethtool", &["--version"]) {
        return Ok(());
    }
    debian("ip and ethtool", &["iproute2", "ethtool"])
}

/// Installs the missing Debian packages.
pub(crate) fn debian(missing: &str, packages: &[&str]) -> Result<()> {
    let list = packages.join(" ");
    if !works("apt-get", &["--version"]) || !is_root() {
        bail!("{missing} is needed; installing {list} takes root on Debian");
    }
    println!("installing {list} ({missing} not found)");
    run(Command::new("apt-get").arg("update"))?;
    run(Command::new("apt-get").args(["install", "--yes", "--no-install-recommends"]).args(packages))
}

/// Installs NVIDIA's run-time compiler from its Python package, under target/. It compiles the
/// kernels where there is no card.
fn nvrtc() -> Result<()> {
    let folder = root().join("target/tools/nvrtc");
    if folder.join("nvidia/cuda_nvrtc/lib/libnvrtc.so.12").exists() {
        return Ok(());
    }
    if !works("python3", &["-m", "pip", "--version"]) {
        debian("pip for Python 3", &["python3-pip"])?;
    }
    println!("installing {NVRTC} under target/tools/nvrtc");
    let mut install = Command::new("python3");
    install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--target"]);
    run(install.arg(&folder).arg(NVRTC)).with_context(|| {
        format!("{NVRTC} could not be installed: is the registry of Python packages reachable?")
    })
}

/// Installs a toolchain.
fn toolchain(name: &str, why: &str) -> Result<()> {
    if works("rustup", &["run", name, "rustc", "--version"]) {
        return Ok(());
    }
    println!("installing the toolchain {name} ({why})");
    run(Command::new("rustup").args(["toolchain", "install", name, "--profile", "minimal"]))
}

/// The toolchain of the least version of Rust that the library compiles with. Returns its name.
pub(crate) fn least_rust() -> Result<String> {
    let metadata = MetadataCommand::new().current_dir(root()).no_deps().exec()?;
    let library = metadata.packages.iter().find(|package| package.name == "fibula");
    let version = library.and_then(|library| library.rust_version.as_ref());
    let name = version.context("fibula names no rust-version")?.to_string();
    toolchain(&name, "the least that fibula compiles with")?;
    Ok(name)
}

/// A component of the nightly toolchain.
pub(crate) fn component(name: &str, why: &str) -> Result<()> {
    let components = ["component", "list", "--installed", "--toolchain", "nightly"];
    let installed = output(Command::new("rustup").args(components))?;
    if installed.lines().any(|component| component.starts_with(name)) {
        return Ok(());
    }
    println!("installing {name} for the nightly toolchain ({why})");
    run(Command::new("rustup").args(["component", "add", name, "--toolchain", "nightly"]))
}

/// Installs the fuzzer under target/, so that nothing outside the tree changes. Returns the
/// program.
pub(crate) fn cargo_fuzz() -> Result<PathBuf> {
    let tools = root().join("target/tools");
    let program = tools.join("bin/cargo-fuzz");
    if !works(&program.to_string_lossy(), &["--version"]) {
        println!("installing cargo-fuzz {CARGO_FUZZ} under target/tools");
        let mut install = Command::new("cargo");
        install
            .args(["install", "cargo-fuzz", "--debug", "--locked", "--version", CARGO_FUZZ, "--root"])
            .arg(&tools);
        run(&mut install)?;
    }
    Ok(program)
}

fn is_root() -> bool {
    let output = Command::new("id").arg("-u").output();
    output.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

/// Mounts the file system in which the router pins its programs, where nothing has. Who may not
/// mount is told by the tests that need it.
fn mount_bpf() {
    const PLACE: &str = "/sys/fs/bpf";
    let mounts = std::fs::read_to_string("/proc/mounts").unwrap_or_default();
    if Path::new(PLACE).exists() && !mounts.lines().any(|line| line.contains(" /sys/fs/bpf bpf ")) {
        println!("mounting {PLACE}");
        let _ = Command::new("mount").args(["-t", "bpf", "bpf", PLACE]).status();
    }
}
