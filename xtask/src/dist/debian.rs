//! Debian packages: `fibula`, `libfibula0` and `libfibula-dev`.

use super::{Dist, FEATURES, GNU, VERSION};
use crate::run::{output, root, run};
use anyhow::{Context, Result};
use std::path::Path;
use std::process::Command;

/// A package.
struct Package {
    name: &'static str,
    section: &'static str,
    depends: &'static str,
    summary: &'static str,
}

const PROGRAM: Package = Package {
    name: "fibula",
    section: "net",
    depends: "libc6 (>= 2.28)",
    summary: "longest-prefix match over routing tables, and a router",
};
const LIBRARY: Package = Package {
    name: "libfibula0",
    section: "libs",
    depends: "libc6 (>= 2.28)",
    summary: "longest-prefix match over routing tables, shared library",
};
const HEADERS: Package = Package {
    name: "libfibula-dev",
    section: "libdevel",
    depends: concat!("libfibula0 (= ", env!("CARGO_PKG_VERSION"), ")"),
    summary: "longest-prefix match over routing tables, headers and static library",
};

impl Dist {
    /// The packages of this machine's processor.
    pub(super) fn debian(&self) -> Result<()> {
        self.program_package()?;
        self.library_packages()
    }

    fn program_package(&self) -> Result<()> {
        let tree = self.staged("fibula")?;
        let program = self.program(GNU[usize::from(cfg!(target_arch = "aarch64"))], FEATURES)?;
        install(&program, &tree.join("usr/bin/fibula"), "755")?;
        let manual = tree.join("usr/share/man/man1");
        std::fs::create_dir_all(&manual)?;
        run(Command::new(&program).arg("man").arg(&manual))?;
        for page in std::fs::read_dir(&manual)? {
            run(Command::new("gzip").args(["-9n"]).arg(page?.path()))?;
        }
        let completions = [
            ("bash", "usr/share/bash-completion/completions/fibula"),
            ("zsh", "usr/share/zsh/vendor-completions/_fibula"),
            ("fish", "usr/share/fish/vendor_completions.d/fibula.fish"),
        ];
        for (shell, path) in completions {
            let script = output(Command::new(&program).args(["completions", shell]))?;
            write(&tree.join(path), &script)?;
        }
        let unit = "crates/fibula-router/systemd/fibula-router.service";
        let unit = std::fs::read_to_string(root().join(unit)).context(unit)?;
        let unit = unit.replace("/usr/local/bin/", "/usr/bin/");
        write(&tree.join("lib/systemd/system/fibula-router.service"), &unit)?;
        self.package(&tree, &PROGRAM)
    }

    fn library_packages(&self) -> Result<()> {
        let whole = self.staged("libfibula")?;
        let mut install = Command::new("cargo");
        install.args(["cinstall", "--release", "--locked", "--package", "fibula-capi", "--prefix=/usr"]);
        install.arg(format!("--libdir=/usr/lib/{}", triplet()?)).arg("--destdir").arg(&whole);
        run(self.reproducible(&mut install))?;
        let library = self.staged("libfibula0")?;
        let libraries = Path::new("usr/lib").join(triplet()?);
        std::fs::create_dir_all(library.join(&libraries))?;
        for entry in std::fs::read_dir(whole.join(&libraries))? {
            let name = entry?.file_name();
            if name.to_string_lossy().starts_with("libfibula.so.") {
                let from = whole.join(&libraries).join(&name);
                std::fs::rename(from, library.join(&libraries).join(&name))?;
            }
        }
        self.package(&library, &LIBRARY)?;
        self.package(&whole, &HEADERS)
    }

    /// Packs a tree.
    fn package(&self, tree: &Path, package: &Package) -> Result<()> {
        let Package { name, section, depends, summary } = package;
        let licence = tree.join("usr/share/doc").join(name).join("copyright");
        write(&licence, "fibula is licensed under MIT or Apache-2.0, as you choose.\n")?;
        let processor = architecture()?;
        let control = format!(
            "Package: {name}\nVersion: {VERSION}\nArchitecture: {processor}\nSection: {section}\n\
             Priority: optional\nMaintainer: the fibula developers <fibula@localhost>\n\
             Depends: {depends}\nDescription: {summary}\n"
        );
        write(&tree.join("DEBIAN/control"), &control)?;
        if *name == LIBRARY.name {
            write(&tree.join("DEBIAN/triggers"), "activate-noawait ldconfig\n")?;
        }
        run(Command::new("chmod").args(["-R", "go=rX,u+rw"]).arg(tree))?;
        let archive = self.out.join(format!("{name}_{VERSION}_{processor}.deb"));
        let mut build = Command::new("dpkg-deb");
        build.args(["--root-owner-group", "-Zxz", "--build"]).arg(tree).arg(archive);
        run(build.env("SOURCE_DATE_EPOCH", &self.epoch))
    }
}

fn architecture() -> Result<String> {
    Ok(output(Command::new("dpkg").arg("--print-architecture"))?.trim().to_owned())
}

/// The folder of this machine's libraries below `/usr/lib`.
fn triplet() -> Result<String> {
    Ok(output(Command::new("dpkg-architecture").arg("-qDEB_HOST_MULTIARCH"))?.trim().to_owned())
}

fn install(from: &Path, to: &Path, mode: &str) -> Result<()> {
    run(Command::new("install").args(["-D", "-m", mode]).arg(from).arg(to))
}

fn write(path: &Path, text: &str) -> Result<()> {
    let named = || path.display().to_string();
    path.parent().map_or(Ok(()), std::fs::create_dir_all).with_context(named)?;
    std::fs::write(path, text).with_context(named)
}
