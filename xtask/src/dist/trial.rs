//! `cargo xtask dist --try`: each thing that is handed out, in a root that has nothing else. Needs
//! root, and Debian's mirrors.

use super::{Dist, GLIBC, MUSL, VERSION};
use crate::run::{output, root, run, works};
use crate::setup::{self, ARM_EMULATOR};
use anyhow::{Context, Result, ensure};
use std::env::consts::ARCH;
use std::fs;
use std::path::PathBuf;

use std::process::Command;

/// The Debian in which packages are installed, and what they are tried with.
const SUITE: &str = "bookworm";
const WITH: &str = "--include=bash-completion,gcc,libc6-dev,man-db,pkg-config,python3-pip,systemd";

/// What is run in it. `/dist` has the packages, the wheel, and `api.c`, which calls all of
/// libfibula.
const IN_DEBIAN: &str = r#"
set -ex
export DEBIAN_FRONTEND=noninteractive
apt-get -qq install -y --no-install-recommends /dist/*.deb < /dev/null
fibula --version
fibula lookup -t /dist/table 10.1.2.3
man fibula | grep NAME
bash -c '. /usr/share/bash-completion/completions/fibula && complete -p fibula'
systemd-analyze verify fibula-router.service fibula-serve.service
getent passwd fibula
cc -o shared /dist/api.c $(pkg-config --cflags --libs fibula)
cc -o static -static /dist/api.c $(pkg-config --static --cflags --libs fibula)
./shared
./static
pip install --quiet --break-system-packages --no-index /dist/*.whl
python3 -c "import fibula; print(fibula.read('/dist/table')['10.1.2.3'])"
apt-get -qq purge -y fibula libfibula-dev libfibula0
! ./shared
./static
"#;

/// A table, and an address that is in it.
const TABLE: &str = "10.0.0.0/8 192.0.2.1\n";

impl Dist {
    /// Tries what is in `target/dist`.
    pub(super) fn try_all(&self) -> Result<()> {
        for triple in MUSL {
            self.try_program(triple)?;
        }
        self.try_source()?;
        self.try_packages()
    }

    fn unpacked(&self, archive: &str) -> Result<PathBuf> {
        let folder = self.staged("try")?;
        let archive = self.out.join(format!("{archive}.tar.xz"));
        run(Command::new("tar").arg("-xf").arg(archive).arg("--strip-components=1").arg("-C").arg(&folder))?;
        Ok(folder)
    }

    /// Runs a program where there is no library, no other program and no `/proc`.
    fn try_program(&self, triple: &str) -> Result<()> {
        let folder = self.unpacked(&format!("fibula-{VERSION}-{triple}"))?;
        fs::write(folder.join("table"), TABLE)?;
        let mut lookup = Command::new("chroot");
        lookup.arg(&folder);
        if !triple.starts_with(ARCH) {
            let emulator = output(Command::new("which").arg(ARM_EMULATOR))?;
            fs::copy(emulator.trim(), folder.join("emulator"))?;
            lookup.arg("/emulator");
        }
        let found = output(lookup.args(["/fibula", "lookup", "-t", "/table", "10.1.2.3"]))?;
        print!("{triple}: {found}");
        ensure!(found == "10.1.2.3 via 192.0.2.1 prefix 10.0.0.0/8\n", "{triple} answers {found:?}");
        Ok(())
    }

    /// Checks the program's source with an empty registry, where there is no network.
    fn try_source(&self) -> Result<()> {
        let folder = self.unpacked(&format!("fibula-{VERSION}"))?;
        let mut check = Command::new("unshare");
        check.args(["--net", "cargo", "check", "--locked", "--package", "fibula-cli"]);
        run(check.env("CARGO_HOME", folder.join("home")).current_dir(folder))
    }

    /// Installs and uses the packages and the wheel of this machine, and removes the packages.
    fn try_packages(&self) -> Result<()> {
        if !works("mmdebstrap", &["--version"]) {
            setup::debian("what makes a minimal Debian", &["mmdebstrap"])?;
        }
        let debian = self.staged("debian")?;
        run(Command::new("mmdebstrap").args(["--variant=apt", WITH, SUITE]).arg(&debian))?;
        let dist = debian.join("dist");
        fs::create_dir(&dist)?;
        fs::write(dist.join("table"), TABLE)?;
        fs::copy(root().join("crates/fibula-capi/tests/programs/api.c"), dist.join("api.c"))?;
        for entry in fs::read_dir(&self.out).context("target/dist")? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let wheel = format!("manylinux_{}_{ARCH}.whl", GLIBC.replace('.', "_"));
            if name.ends_with(".deb") || name.ends_with(&wheel) {
                fs::copy(&path, dist.join(&*name))?;
            }
        }
        run(Command::new("chroot").arg(&debian).args(["sh", "-c", IN_DEBIAN]))
    }
}
