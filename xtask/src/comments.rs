//! Checks that no comment is wider than [`COLUMNS`].

use crate::run::{output, root};
use anyhow::{Context, Result, ensure};
use std::process::Command;

/// The most columns of a comment line. Code may be as wide as rustfmt.toml says.
const COLUMNS: usize = 100;

/// Checks every tracked file of Rust and Go.
pub(crate) fn check() -> Result<()> {
    let files = output(Command::new("git").args(["ls-files", "*.rs", "*.go"]).current_dir(root()))?;
    let mut wide = Vec::new();
    for file in files.lines() {
        // A file that was removed and not yet committed is still listed.
        let path = root().join(file);
        if path.exists() {
            let text = std::fs::read_to_string(&path).with_context(|| file.to_owned())?;
            wide.extend(wide_comments(&text).map(|line| format!("{file}:{line}")));
        }
    }
    ensure!(wide.is_empty(), "comments wider than {COLUMNS} columns: {}", wide.join(", "));
    Ok(())
}

/// Returns the numbers of the lines, from 1, that are a comment and too wide.
fn wide_comments(text: &str) -> impl Iterator<Item = usize> {
    let is_wide = |line: &str| line.trim_start().starts_with("//") && line.chars().count() > COLUMNS;
    text.lines().zip(1..).filter(move |&(line, _)| is_wide(line)).map(|(_, number)| number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_characters_and_only_of_comments() {
        let code = format!("let text = \"{}\";", "x".repeat(COLUMNS));
        let fits = format!("    /// {}", "─".repeat(COLUMNS - 8));
        let wide = [format!("{fits}─"), format!("//! {}", "x".repeat(COLUMNS - 3))];
        let text = [code.as_str(), &fits, &wide[0], "", &wide[1]].join("\n");
        assert_eq!(wide_comments(&text).collect::<Vec<_>>(), [3, 5]);
    }
}
