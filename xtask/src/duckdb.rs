//! DuckDB's extension: built as a shared library, with what DuckDB wants to know of it at its end.

use crate::run::{cargo, host, root, run};
use anyhow::{Context, Result, bail};
use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::path::Path;

/// The extension. DuckDB takes the name of the function that it calls from that of the file.
pub(crate) const EXTENSION: &str = "target/duckdb/fibula.duckdb_extension";

/// The version of DuckDB's functions that `fibula-duckdb` asks for.
const FUNCTIONS: &str = "v1.2.0";

/// Builds the extension, with the profile of the Python package: what they share is compiled once.
pub(crate) fn build() -> Result<()> {
    let mut build = cargo(&["build", "--profile", "wheel", "--locked", "--package", "fibula-duckdb"]);
    // Wherever else the user has things compiled, the library is looked for there.
    run(build.args(["--target-dir", "target"]))?;
    let library = format!("target/wheel/{DLL_PREFIX}fibula_duckdb{DLL_SUFFIX}");
    pack(&root().join(library), EXTENSION)?;
    println!("{EXTENSION}");
    Ok(())
}

/// Makes the extension of the library that was built.
pub(crate) fn pack(library: &Path, extension: &str) -> Result<()> {
    let mut bytes = std::fs::read(library).with_context(|| library.display().to_string())?;
    bytes.extend(footer(&platform(&host()?)?));
    let path = root().join(extension);
    path.parent().map_or(Ok(()), std::fs::create_dir_all).with_context(|| extension.to_owned())?;
    // A DuckDB that runs has the old file mapped: it is replaced, not overwritten.
    let whole = path.with_extension("new");
    let packed = std::fs::write(&whole, bytes).and_then(|()| std::fs::rename(&whole, &path));
    packed.with_context(|| extension.to_owned())
}

/// Returns DuckDB's name of a platform.
fn platform(host: &str) -> Result<String> {
    let system = match host {
        host if host.contains("linux-gnu") => "linux",
        host if host.contains("apple-darwin") => "osx",
        host => bail!("no extension is made for {host}"),
    };
    let processor = if host.starts_with("x86_64") { "amd64" } else { "arm64" };
    Ok(format!("{system}_{processor}"))
}

/// Returns what follows the library: the head of a section, and 512 bytes. These are eight fields,
/// the last first, and a signature; without one, DuckDB loads the extension where it may load
/// unsigned ones.
fn footer(platform: &str) -> Vec<u8> {
    const FIELD_BYTES: usize = 32;
    const SIGNATURE_BYTES: usize = 256;
    // A custom section of WebAssembly, with the lengths of what follows and of its name.
    let mut bytes = vec![0, 0x93, 0x04, 0x10];
    bytes.extend(b"duckdb_signature");
    bytes.extend([0x80, 0x04]);
    let version = concat!("v", env!("CARGO_PKG_VERSION"));
    for field in ["", "", "", "C_STRUCT", version, FUNCTIONS, platform, "4"] {
        let start = bytes.len();
        bytes.extend(field.as_bytes());
        bytes.resize(start + FIELD_BYTES, 0);
    }
    bytes.resize(bytes.len() + SIGNATURE_BYTES, 0);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_footer_is_a_section_whose_last_512_bytes_are_fields() {
        let footer = footer("linux_amd64");
        let (head, fields) = footer.split_at(footer.len() - 512);
        assert_eq!(head.len() + 512, 4 + 0x10 + 2 + 512);
        assert!(head.ends_with(b"duckdb_signature\x80\x04"));
        for (at, field) in [(3, "C_STRUCT\0"), (5, "v1.2.0\0"), (6, "linux_amd64\0"), (7, "4\0")] {
            assert!(fields[at * 32..].starts_with(field.as_bytes()), "field {at}");
        }
    }

    #[test]
    fn platforms_have_the_names_of_duckdb() {
        assert_eq!(platform("x86_64-unknown-linux-gnu").unwrap(), "linux_amd64");
        assert_eq!(platform("aarch64-apple-darwin").unwrap(), "osx_arm64");
        assert!(platform("x86_64-pc-windows-msvc").is_err());
    }
}
