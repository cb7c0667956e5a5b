//! `cargo xtask router-full`: the router with FRR and a full table, compared and timed.

use crate::run::{cargo, root, run};
use crate::setup;
use anyhow::{Result, bail};

/// Tables of both families, where there are any beside the repository.
const TABLES: [&str; 2] = [
    "../shared/data/ipv4-202401-tier1-joinedasn.tsv.gz",
    "../shared/data/ipv6-20260511-ris-as3333-joinedasn.tsv.gz",
];

/// The packages whose parts run.
const PACKAGES: [&str; 4] = ["--package", "fibula-cli", "--package", "fibula-router"];

/// `cargo xtask router-full`, and with `--minutes N`.
pub(crate) fn from_arguments(arguments: &[String]) -> Result<()> {
    let minutes = match arguments {
        [] => "1",
        [option, minutes] if option == "--minutes" && minutes.parse::<u32>().is_ok() => minutes,
        _ => bail!("expected nothing or --minutes N after router-full, found {:?}", arguments.join(" ")),
    };
    setup::router()?;
    // In one build, so that both have the same library.
    let mut build = cargo(&["build", "--release", "--locked", "--features", "fibula-cli/router"]);
    run(build.args(PACKAGES).args(["--bin", "fibula", "--example", "full", "--target-dir", "target"]))?;
    let release = root().join("target/release");
    let mut full = std::process::Command::new(release.join("examples/full"));
    full.arg("--program").arg(release.join("fibula")).args(["--minutes", minutes]);
    run(full.args(TABLES.iter().map(|table| root().join(table)).filter(|table| table.exists())))
}
