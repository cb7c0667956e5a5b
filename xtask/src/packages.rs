//! Checks that the published crates can be packaged for the registry.
//!
//! A crate is published unless its manifest says `publish = false`.

use crate::run::{cargo, root, run};
use anyhow::{Result, ensure};
use cargo_metadata::{MetadataCommand, Package};

/// The registry's limits of keywords: how many, and how many bytes each.
const KEYWORDS: (usize, usize) = (5, 20);

/// Returns the published crates of the workspace, by name.
pub(crate) fn published() -> Result<Vec<Package>> {
    let mut command = MetadataCommand::new();
    command.manifest_path(root().join("Cargo.toml")).no_deps().other_options(["--locked".to_owned()]);
    let mut packages = command.exec()?.packages;
    packages.retain(|package| package.publish.as_ref().is_none_or(|registries| !registries.is_empty()));
    packages.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    Ok(packages)
}

/// Packages the published crates, and checks what their manifests tell the registry.
///
/// They are packaged together, because none of them is in the registry before the first release.
/// They are not built from the packages: that takes minutes. `cargo publish --dry-run` does it.
pub(crate) fn check() -> Result<()> {
    let packages = published()?;
    let complaints: Vec<String> = packages.iter().flat_map(complaints).collect();
    ensure!(complaints.is_empty(), "packages:\n  {}", complaints.join("\n  "));
    let mut package = cargo(&["package", "--locked", "--no-verify", "--allow-dirty"]);
    for each in &packages {
        package.args(["--package", each.name.as_str()]);
    }
    run(&mut package)
}

/// Returns what a manifest lacks.
fn complaints(package: &Package) -> Vec<String> {
    let (count, length) = KEYWORDS;
    let keywords = &package.keywords;
    let folder = package.manifest_path.parent();
    let has_file = |name: &str| folder.is_some_and(|folder| folder.join(name).exists());
    let wrong = [
        (package.description.is_none(), "no description"),
        (package.license.is_none(), "no license"),
        (package.documentation.is_none(), "no documentation"),
        (package.readme.as_ref().is_none_or(|file| !has_file(file.as_str())), "no readme"),
        (!has_file("LICENSE-MIT") || !has_file("LICENSE-APACHE"), "no LICENSE-MIT or LICENSE-APACHE"),
        (package.categories.is_empty(), "no categories"),
        (keywords.is_empty() || keywords.len() > count, "no keywords, or too many"),
        (keywords.iter().any(|keyword| keyword.len() > length), "a keyword is too long"),
    ];
    let wrong = wrong.iter().filter(|(is_wrong, _)| *is_wrong);
    wrong.map(|(_, what)| format!("{}: {what}", package.name)).collect()
}
