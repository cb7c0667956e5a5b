//! What is handed out: programs, Debian packages, wheels and the source, under `target/dist`, with
//! their sums and a bill of materials.
//!
//! Programs are linked by zig against an old glibc, or against musl, so that no container is
//! needed. Nothing depends on the clock or on where the checkout is: two runs make the same bytes.

mod debian;
mod tools;
mod trial;

use crate::page;
use crate::run::{cargo, output, root, run};
use anyhow::{Context, Result};
use cargo_metadata::MetadataCommand;
use std::path::{Path, PathBuf};
use std::process::Command;
use tools::Tools;

/// The oldest glibc that programs run with: Debian 10's, RHEL 8's.
const GLIBC: &str = "2.28";

/// The triples that something is built for; `HERE` is this machine's.
const GNU: [&str; 2] = ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"];
const HERE: &str = GNU[cfg!(target_arch = "aarch64") as usize];
const MUSL: [&str; 2] = ["x86_64-unknown-linux-musl", "aarch64-unknown-linux-musl"];

/// What a program on a glibc has, and one that is linked statically: that cannot load CUDA.
const FEATURES: &str = "enrich,gpu,map,router,serve";
const STATIC_FEATURES: &str = "enrich,map,router,serve";

/// The version of everything.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Where it is built, and where it goes.
struct Dist {
    tools: Tools,
    /// The time of the commit, for files that have one.
    epoch: String,
    /// Where cargo builds. What was built otherwise is not here.
    build: PathBuf,
    /// What is handed out.
    out: PathBuf,
}

type Make = fn(&Dist) -> Result<()>;

/// Makes everything, or what is named: `source`, `programs`, `debian`, `wheels`. `--try` tries what
/// was made.
pub(crate) fn from_arguments(parts: &[String]) -> Result<()> {
    const PARTS: [(&str, Make); 4] = [
        ("source", Dist::source),
        ("programs", Dist::programs),
        ("debian", Dist::debian),
        ("wheels", Dist::wheels),
    ];
    let is_trial = parts == ["--try"];
    if let Some(part) = parts.iter().find(|part| !is_trial && PARTS.iter().all(|(name, _)| name != part)) {
        anyhow::bail!("{part:?} is nothing that is handed out: source, programs, debian, wheels");
    }
    let epoch = output(Command::new("git").args(["log", "-1", "--format=%ct"]).current_dir(root()))?;
    let dist = Dist {
        tools: Tools::set_up()?,
        epoch: epoch.trim().to_owned(),
        build: root().join("target/dist-build"),
        out: root().join("target/dist"),
    };
    if is_trial {
        return dist.try_all();
    }
    if dist.out.exists() {
        std::fs::remove_dir_all(&dist.out).context("target/dist")?;
    }
    std::fs::create_dir_all(&dist.out).context("target/dist")?;
    for (name, make) in PARTS {
        if parts.is_empty() || parts.iter().any(|part| part == name) {
            make(&dist).with_context(|| format!("making {name}"))?;
        }
    }
    dist.bill()?;
    dist.sums()
}

impl Dist {
    /// A command that builds the same bytes wherever the checkout and the registry are.
    fn reproducible<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        let home = std::env::var_os("CARGO_HOME").map_or_else(home_of_cargo, PathBuf::from);
        let remap = |from: &Path, to: &str| format!("--remap-path-prefix={}={to}", from.display());
        let flags = [remap(&home, "/cargo"), remap(&root(), "/fibula")].join("\u{1f}");
        command
            .env("CARGO_ENCODED_RUSTFLAGS", flags)
            .env("CARGO_TARGET_DIR", &self.build)
            .env("CARGO_PROFILE_RELEASE_DEBUG", "false")
            .env("CARGO_PROFILE_RELEASE_STRIP", "true")
            .env("SOURCE_DATE_EPOCH", &self.epoch)
            .env("PATH", self.tools.path())
            .current_dir(root())
    }

    /// A command that compiles for a triple and links by zig, into the folder that [`Self::built`]
    /// names.
    fn zig(&self, triple: &str) -> Result<Command> {
        tools::target(triple)?;
        // The version of glibc is a suffix for zig, and no part of the folder's name.
        let target = if triple.ends_with("gnu") { format!("{triple}.{GLIBC}") } else { triple.to_owned() };
        let mut build = Command::new("cargo-zigbuild");
        build.args(["rustc", "--release", "--locked", "--target", &target]);
        self.reproducible(&mut build);
        Ok(build)
    }

    fn built(&self, triple: &str) -> PathBuf {
        self.build.join(triple).join("release")
    }

    /// Builds the program for a triple. Returns where it is.
    fn program(&self, triple: &str, features: &str) -> Result<PathBuf> {
        let mut build = self.zig(triple)?;
        build.args(["--package", "fibula-cli", "--bin", "fibula", "--features", features]);
        run(build.env(page::VARIABLE, page::module_by(|build| self.reproducible(build))?))?;
        Ok(self.built(triple).join("fibula"))
    }

    /// Packs a folder below another, so that the same files make the same bytes.
    fn pack(&self, parent: &Path, folder: &str) -> Result<()> {
        let archive = self.out.join(format!("{folder}.tar.xz"));
        let mut tar = Command::new("tar");
        tar.args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--mode=go=rX,u+rw"]);
        tar.arg(format!("--mtime=@{}", self.epoch)).args(["--use-compress-program=xz -3 -T1", "-cf"]);
        run(tar.arg(archive).arg("-C").arg(parent).arg(folder))
    }

    /// Returns an empty folder to lay files out in.
    fn staged(&self, name: &str) -> Result<PathBuf> {
        let folder = self.build.join("staged").join(name);
        if folder.exists() {
            std::fs::remove_dir_all(&folder).with_context(|| folder.display().to_string())?;
        }
        std::fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
        Ok(folder)
    }

    /// The source, with every crate that it needs: it builds without a network.
    fn source(&self) -> Result<()> {
        let name = format!("fibula-{VERSION}");
        let parent = self.staged("source")?;
        let archive = parent.join("source.tar");
        let mut git = Command::new("git");
        git.args(["archive", "--format=tar", &format!("--prefix={name}/"), "--output"]);
        run(git.arg(&archive).arg("HEAD").current_dir(root()))?;
        run(Command::new("tar").arg("-xf").arg(&archive).arg("-C").arg(&parent))?;
        let folder = parent.join(&name);
        let vendored = output(cargo(&["vendor", "--locked", "vendor"]).current_dir(&folder))?;
        let config = folder.join(".cargo/config.toml");
        let before = std::fs::read_to_string(&config).unwrap_or_default();
        std::fs::write(&config, format!("{before}\n{vendored}"))?;
        self.pack(&parent, &name)
    }

    /// Static programs, each in an archive. They write manual pages and completions themselves.
    fn programs(&self) -> Result<()> {
        for triple in MUSL {
            let name = format!("fibula-{VERSION}-{triple}");
            let parent = self.staged(triple)?;
            let folder = parent.join(&name);
            std::fs::create_dir(&folder)?;
            std::fs::copy(self.program(triple, STATIC_FEATURES)?, folder.join("fibula"))?;
            for file in ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"] {
                std::fs::copy(root().join(file), folder.join(file)).with_context(|| file.to_owned())?;
            }
            self.pack(&parent, &name)?;
        }
        Ok(())
    }

    /// Wheels for glibc and for musl, and the source distribution.
    fn wheels(&self) -> Result<()> {
        let maturin = |arguments: &[&str]| -> Result<()> {
            let mut build = Command::new("maturin");
            build.args(arguments).arg("--out").arg(&self.out);
            run(self.reproducible(&mut build).current_dir(root().join("python")))
        };
        let glibc = format!("manylinux_{}", GLIBC.replace('.', "_"));
        let for_glibc = GNU.map(|triple| (triple, glibc.as_str()));
        let for_musl = MUSL.map(|triple| (triple, "musllinux_1_2"));
        for (triple, tag) in for_glibc.into_iter().chain(for_musl) {
            tools::target(triple)?;
            maturin(&["build", "--locked", "--zig", "--target", triple, "--compatibility", tag])?;
        }
        maturin(&["sdist"])
    }

    /// What the programs and the wheels are made of, as CycloneDX: every crate, with its version
    /// and licence.
    fn bill(&self) -> Result<()> {
        for (folder, package, name) in
            [("crates/fibula-cli", "fibula-cli", "fibula"), ("python", "fibula-python", "fibula-python")]
        {
            let folder = root().join(folder);
            let mut cyclonedx = Command::new("cargo");
            cyclonedx.args(["cyclonedx", "--format", "json", "--all-features"]);
            cyclonedx.args(["--override-filename", "bill"]).arg("--manifest-path");
            run(self.reproducible(cyclonedx.arg(folder.join("Cargo.toml"))))?;
            // One is written beside each manifest of the workspace.
            for found in MetadataCommand::new().current_dir(folder).no_deps().exec()?.packages {
                let bill = found.manifest_path.with_file_name("bill.json");
                if *found.name == package {
                    // It names our crates by their folders.
                    let text = std::fs::read_to_string(&bill).with_context(|| bill.to_string())?;
                    let text = text.replace(&root().display().to_string(), "/fibula");
                    std::fs::write(self.out.join(format!("{name}-{VERSION}.cdx.json")), text)?;
                }
                std::fs::remove_file(&bill).with_context(|| bill.to_string())?;
            }
        }
        Ok(())
    }

    /// The sums of all files, by name.
    fn sums(&self) -> Result<()> {
        let mut names: Vec<_> =
            std::fs::read_dir(&self.out)?.map(|entry| Ok(entry?.file_name())).collect::<Result<_>>()?;
        names.sort();
        let sums = output(Command::new("sha256sum").args(&names).current_dir(&self.out))?;
        print!("{sums}");
        std::fs::write(self.out.join("SHA256SUMS"), sums).context("SHA256SUMS")
    }
}

/// Where cargo keeps the registry unless told otherwise.
fn home_of_cargo() -> PathBuf {
    PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".cargo")
}
