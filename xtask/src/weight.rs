//! `cargo xtask weight`: what a short program with a table costs to compile and to ship, by the
//! features of the library, beside one with the crate `prefix-trie`.

use crate::run::{cargo, root, run};
use crate::timings::cpu_seconds;
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::Path;
use std::process::Command;

/// The page whose table this command makes.
const PAGE: &str = "crates/fibula/README.md";

/// How the header of that table begins.
const HEADER: &str = "| compiled |";

/// The folder of the programs.
const FOLDER: &str = "target/weight";

const WITH_TABLE: &str = r#"
fn main() {
    let mut table = fibula::Table::new();
    for (prefix, city) in [("198.51.100.0/24", "Antwerp"), ("2001:db8::/32", "Ghent")] {
        table.insert(prefix.parse::<fibula::IpPrefix>().unwrap(), city);
    }
    let address: std::net::IpAddr = std::env::args().nth(1).unwrap().parse().unwrap();
    println!("{:?}", table.lookup(address));
}
"#;

const WITH_TRIE: &str = r#"
fn main() {
    let mut trie = prefix_trie::PrefixMap::new();
    for (prefix, city) in [("198.51.100.0/24", "Antwerp"), ("192.0.2.0/24", "Ghent")] {
        trie.insert(prefix.parse::<ipnet::Ipv4Net>().unwrap(), city);
    }
    let address: std::net::Ipv4Addr = std::env::args().nth(1).unwrap().parse().unwrap();
    println!("{:?}", trie.get_lpm(&address.into()));
}
"#;

/// What is compiled: the name of its row, its dependencies, and the program.
fn programs() -> Vec<(&'static str, String, &'static str)> {
    let library = root().join("crates/fibula").display().to_string();
    let fibula = |features: &str| format!("fibula = {{ path = {library:?}, features = [{features}] }}\n");
    vec![
        ("without features", fibula(""), WITH_TABLE),
        ("`narrow`", fibula(r#""narrow""#), WITH_TABLE),
        ("`mmap`", fibula(r#""mmap""#), WITH_TABLE),
        ("`engines`, `mmap`", fibula(r#""engines", "mmap""#), WITH_TABLE),
        ("the crate `prefix-trie`", "prefix-trie = \"0.10\"\nipnet = \"2\"\n".to_owned(), WITH_TRIE),
    ]
}

pub(crate) fn from_arguments(arguments: &[String]) -> Result<()> {
    let is_recorded = match arguments {
        [] => false,
        [how] if how == "--record" => true,
        _ => bail!("weight has one option, --record"),
    };
    let rows = programs()
        .iter()
        .map(|(name, dependencies, program)| {
            let (seconds, bytes) = weigh(dependencies, program)?;
            Ok(format!("| {name} | {seconds:.0} | {:.2} |\n", bytes as f64 / 1e6))
        })
        .collect::<Result<String>>()?;
    println!("\n{rows}");
    if is_recorded {
        let page = root().join(PAGE);
        let text = fs::read_to_string(&page).context(PAGE)?;
        fs::write(&page, with_rows(&text, &rows)?).context(PAGE)?;
    }
    Ok(())
}

/// Compiles a program from nothing. Returns the seconds of all processors, and the bytes of the
/// program without symbols.
fn weigh(dependencies: &str, program: &str) -> Result<(f64, u64)> {
    let folder = root().join(FOLDER);
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| FOLDER.to_owned())?;
    }
    fs::create_dir_all(folder.join("src")).with_context(|| FOLDER.to_owned())?;
    fs::write(folder.join("src/main.rs"), program)?;
    let package = "[package]\nname = \"weighed\"\nversion = \"0.0.0\"\nedition = \"2024\"\n[workspace]\n";
    let profile = "[profile.release]\nstrip = true\n";
    fs::write(folder.join("Cargo.toml"), format!("{package}{profile}[dependencies]\n{dependencies}"))?;
    run(&mut in_folder(&["fetch"], &folder))?;
    let before = cpu_seconds();
    run(&mut in_folder(&["build", "--release"], &folder))?;
    let seconds = cpu_seconds() - before;
    Ok((seconds, fs::metadata(folder.join("target/release/weighed")).context("the program")?.len()))
}

/// Returns a command of cargo that compiles into the folder itself, whatever the caller's does.
fn in_folder(command: &[&str], folder: &Path) -> Command {
    let mut cargo = cargo(command);
    cargo.current_dir(folder).env_remove("CARGO_TARGET_DIR");
    cargo
}

/// Returns the page with these rows in its table.
fn with_rows(page: &str, rows: &str) -> Result<String> {
    let start = page.find(HEADER).with_context(|| format!("{PAGE} has no {HEADER:?}"))?;
    let (before, table) = page.split_at(start);
    let (table, after) = table.split_at(table.find("\n\n").map_or(table.len(), |end| end + 1));
    let header: String = table.split_inclusive('\n').take(2).collect();
    Ok(format!("{before}{header}{rows}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_a_page_gets_its_rows() {
        let page = "before\n\n| compiled | seconds |\n| --- | --- |\n| old | 1 |\n\nafter\n";
        let right = "before\n\n| compiled | seconds |\n| --- | --- |\n| new | 2 |\n\nafter\n";
        assert_eq!(with_rows(page, "| new | 2 |\n").unwrap(), right);
        assert!(with_rows("no table", "").is_err());
    }
}
