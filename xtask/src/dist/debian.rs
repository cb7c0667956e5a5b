//! Debian packages: `fibula`, `libfibula0` and `libfibula-dev`.

use super::{Dist, FEATURES, HERE, VERSION};
use crate::run::{output, root, run};
use anyhow::{Context, Result, ensure};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What is in a package.
struct Package {
    name: &'static str,
    section: &'static str,
    summary: &'static str,
    description: &'static str,
}

const PROGRAM: Package = Package {
    name: "fibula",
    section: "net",
    summary: "longest-prefix match over routing tables",
    description: "The command fibula reads routing tables, looks addresses up in them, compares\n \
                  and measures them. It serves them by HTTP, and forwards packets by them with XDP.",
};
const LIBRARY: Package = Package {
    name: "libfibula0",
    section: "libs",
    summary: "longest-prefix match, shared library",
    description: "libfibula maps IPv4 and IPv6 prefixes to values of 64 bits, and\n \
                  looks addresses up.",
};
const HEADERS: Package = Package {
    name: "libfibula-dev",
    section: "libdevel",
    summary: "longest-prefix match, development files",
    description: "The headers of libfibula for C and C++, the static library, and fibula.pc.",
};

/// The name by which programs find the shared library. Its number is that of [`LIBRARY`]'s name.
const SONAME: &str = "libfibula.so.0";

impl Dist {
    /// The packages of this machine's processor.
    pub(super) fn debian(&self) -> Result<()> {
        self.library_packages()?;
        self.program_package()
    }

    fn program_package(&self) -> Result<()> {
        let tree = self.staged("fibula")?;
        let program = self.program(HERE, FEATURES)?;
        install(&program, &tree.join("usr/bin/fibula"), "755")?;
        let manual = tree.join("usr/share/man/man1");
        std::fs::create_dir_all(&manual)?;
        run(Command::new(&program).arg("man").arg(&manual))?;
        run(Command::new("gzip").arg("-9nr").arg(&manual))?;
        let completions = [
            ("bash", "usr/share/bash-completion/completions/fibula"),
            ("zsh", "usr/share/zsh/vendor-completions/_fibula"),
            ("fish", "usr/share/fish/vendor_completions.d/fibula.fish"),
        ];
        for (shell, path) in completions {
            let script = output(Command::new(&program).args(["completions", shell]))?;
            write(&tree.join(path), &script)?;
        }
        let units = root().join("crates/fibula-router/systemd");
        for unit in ["router", "serve"] {
            let name = format!("fibula-{unit}.service");
            let path = root().join(format!("crates/fibula-{unit}/systemd")).join(&name);
            let text = std::fs::read_to_string(path).with_context(|| format!("the unit {name}"))?;
            let text = text.replace("/usr/local/bin/", "/usr/bin/");
            write(&tree.join("usr/lib/systemd/system").join(&name), &text)?;
        }
        let user = units.join("fibula-router.sysusers.conf");
        install(&user, &tree.join("usr/lib/sysusers.d/fibula-router.conf"), "644")?;
        let make_user = units.join("postinst");
        install(&make_user, &tree.join("DEBIAN/postinst"), "755")?;
        self.package(&tree, &PROGRAM, &depends(&program)?)
    }

    /// The library, and what programs are compiled and linked with.
    fn library_packages(&self) -> Result<()> {
        let mut build = self.zig(HERE)?;
        build.args(["--package", "fibula-capi", "--lib", "--"]);
        run(build.arg(format!("-Clink-arg=-Wl,-soname,{SONAME}")))?;
        let built = self.built(HERE);
        let folder = libraries();
        let shared = built.join("libfibula_capi.so");

        let library = self.staged(LIBRARY.name)?;
        install(&shared, &library.join(&folder).join(SONAME), "644")?;
        let name = LIBRARY.name;
        write(&library.join("DEBIAN/shlibs"), &format!("libfibula 0 {name} (>= {VERSION})\n"))?;
        write(&library.join("DEBIAN/triggers"), "activate-noawait ldconfig\n")?;
        self.package(&library, &LIBRARY, &depends(&shared)?)?;

        let headers = self.staged(HEADERS.name)?;
        let libraries = headers.join(&folder);
        install(&built.join("libfibula_capi.a"), &libraries.join("libfibula.a"), "644")?;
        run(Command::new("strip")
            .args(["--strip-debug", "--enable-deterministic-archives"])
            .arg(libraries.join("libfibula.a")))?;
        symlink(SONAME, libraries.join("libfibula.so"))?;
        for header in std::fs::read_dir(root().join("crates/fibula-capi/include"))? {
            let header = header?;
            install(&header.path(), &headers.join("usr/include").join(header.file_name()), "644")?;
        }
        let found_by = format!(
            "Name: fibula\nDescription: {}\nVersion: {VERSION}\nLibs: -lfibula\n\
             Libs.private: -lpthread -ldl -lm\n",
            LIBRARY.summary
        );
        write(&libraries.join("pkgconfig/fibula.pc"), &found_by)?;
        self.package(&headers, &HEADERS, &format!("{name} (= {VERSION})"))
    }

    /// Packs a tree.
    fn package(&self, tree: &Path, package: &Package, depends: &str) -> Result<()> {
        let Package { name, section, summary, description } = package;
        let notes = tree.join("usr/share/doc").join(name);
        let licence = std::fs::read_to_string(root().join("LICENSE-MIT")).context("LICENSE-MIT")?;
        let apache = "or, as you choose, /usr/share/common-licenses/Apache-2.0";
        write(&notes.join("copyright"), &format!("{licence}\n{apache}\n"))?;
        install(&root().join("CHANGELOG.md"), &notes.join("changelog"), "644")?;
        run(Command::new("gzip").arg("-9n").arg(notes.join("changelog")))?;
        let processor = architecture()?;
        // A variable of Debian's tools.
        let address = std::env::var("DEBEMAIL").unwrap_or_else(|_| "fibula@localhost".into());
        let control = format!(
            "Package: {name}\nVersion: {VERSION}\nArchitecture: {processor}\nSection: {section}\n\
             Priority: optional\nMaintainer: the fibula authors <{address}>\n\
             Depends: {depends}\nDescription: {summary}\n {description}\n"
        );
        write(&tree.join("DEBIAN/control"), &control)?;
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

/// The packages of the libraries that a program or library is linked with: glibc's alone, since a
/// version. (`dpkg-shlibdeps` would name the version that this machine has.)
fn depends(file: &Path) -> Result<String> {
    let needs = output(Command::new("readelf").args(["--dynamic", "--version-info", "--wide"]).arg(file))?;
    let libraries =
        needs.lines().filter_map(|line| line.split_once("Shared library: [")).map(|(_, name)| name);
    for library in libraries {
        let is_of_glibc = ["libc.", "libm.", "libdl.", "libpthread.", "librt.", "ld-linux"]
            .iter()
            .any(|name| library.starts_with(name));
        ensure!(is_of_glibc, "{} is linked with {library}", file.display());
    }
    let versions = needs.split("GLIBC_2.").skip(1);
    let minor =
        versions.filter_map(|rest| rest.split(|c: char| !c.is_ascii_digit()).next()?.parse::<u32>().ok());
    let newest = minor.max().with_context(|| format!("{} needs no glibc", file.display()))?;
    Ok(format!("libc6 (>= 2.{newest})"))
}

/// The folder of this machine's libraries below the root.
fn libraries() -> PathBuf {
    format!("usr/lib/{}-linux-gnu", std::env::consts::ARCH).into()
}

fn install(from: &Path, to: &Path, mode: &str) -> Result<()> {
    run(Command::new("install").args(["-D", "-m", mode]).arg(from).arg(to))
}

fn write(path: &Path, text: &str) -> Result<()> {
    let named = || path.display().to_string();
    path.parent().map_or(Ok(()), std::fs::create_dir_all).with_context(named)?;
    std::fs::write(path, text).with_context(named)
}
