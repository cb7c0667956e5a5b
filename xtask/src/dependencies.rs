//! Checks the dependencies: only licences that the project may be shipped with, and one version of
//! each package.

use crate::run::{host, root};
use anyhow::{Context, Result, bail};
use cargo_metadata::{CargoOpt, MetadataCommand};
use spdx::{Expression, LicenseReq, ParseMode};
use std::collections::BTreeMap;

/// Licences of dependencies that a project under MIT or Apache-2.0 may use.
const LICENCES: [&str; 12] = [
    "0BSD",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
    "bzip2-1.0.6",
];

/// Packages of which two versions are allowed, each with the reason. An entry that is no longer
/// needed is an error.
const TWO_VERSIONS: [(&str, &str); 6] = [
    ("getrandom", "ahash, below arrow, still takes two older ones"),
    ("miniz_oxide", "png still takes version 0.8"),
    ("shlex", "trycmd, which only tests use, still splits words with version 1"),
    ("syn", "num_enum, below bgpkit-parser, still derives with version 2"),
    ("zstd", "parquet still takes version 0.13"),
    ("zstd-safe", "parquet still takes version 0.13 of zstd"),
];

/// Checks the licences and duplicate versions of everything in the lock file that is built on this
/// host.
pub(crate) fn check() -> Result<()> {
    let options = ["--locked".to_owned(), "--filter-platform".to_owned(), host()?];
    let metadata = MetadataCommand::new()
        .manifest_path(root().join("Cargo.toml"))
        .features(CargoOpt::AllFeatures)
        .other_options(options)
        .exec()?;
    let resolved = metadata.resolve.context("cargo metadata resolved nothing")?;
    let used: Vec<_> =
        metadata.packages.iter().filter(|p| resolved.nodes.iter().any(|n| n.id == p.id)).collect();

    let mut complaints = Vec::new();
    let mut versions: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for package in &used {
        versions.entry(&package.name).or_default().push(package.version.to_string());
        let licence = package.license.as_deref().unwrap_or("none stated");
        // Some packages still write MIT/Apache-2.0.
        let allowed = Expression::parse_mode(licence, ParseMode::LAX)
            .is_ok_and(|expression| expression.evaluate(is_allowed));
        if !allowed {
            complaints.push(format!("{} {}: licence {licence}", package.name, package.version));
        }
    }
    for (name, versions) in &versions {
        let excused = TWO_VERSIONS.iter().any(|(excused, _)| excused == name);
        match (versions.len() > 1, excused) {
            (true, false) => complaints.push(format!("{name}: versions {}", versions.join(" and "))),
            (false, true) => complaints.push(format!("{name}: excused for two versions, but has one")),
            _ => {}
        }
    }
    if !complaints.is_empty() {
        bail!("dependencies:\n  {}", complaints.join("\n  "));
    }
    println!("dependencies: {} packages, licences and versions good", used.len());
    Ok(())
}

fn is_allowed(requirement: &LicenseReq) -> bool {
    requirement.license.id().is_some_and(|id| LICENCES.contains(&id.name))
}
