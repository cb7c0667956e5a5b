//! Checks that no Markdown page is wider than [`COLUMNS`].

use crate::run::{output, root};
use anyhow::{Context, Result, ensure};
use std::process::Command;

/// The most columns of a line of prose.
const COLUMNS: usize = 120;

/// The most columns of a line of prose in the README, which people also read in terminals.
const README_COLUMNS: usize = 110;

/// Checks every tracked page.
pub(crate) fn check() -> Result<()> {
    let files = output(Command::new("git").args(["ls-files", "*.md"]).current_dir(root()))?;
    let mut wide = Vec::new();
    for file in files.lines() {
        // A file that was removed and not yet committed is still listed.
        let path = root().join(file);
        if path.exists() {
            let text = std::fs::read_to_string(&path).with_context(|| file.to_owned())?;
            let columns = if file == "README.md" { README_COLUMNS } else { COLUMNS };
            wide.extend(wide_lines(&text, columns).map(|line| format!("{file}:{line}")));
        }
    }
    ensure!(
        wide.is_empty(),
        "lines of pages wider than {COLUMNS} columns (README {README_COLUMNS}): {}",
        wide.join(", ")
    );
    Ok(())
}

/// Returns the numbers of the lines, from 1, that are prose and wider than `columns`. Rows of
/// tables, code blocks, comments and lines that are one link or badge cannot be wrapped.
fn wide_lines(text: &str, columns: usize) -> impl Iterator<Item = usize> {
    let mut fence = None;
    let mut is_wide = move |line: &str| {
        let content = line.trim_start();
        if let Some(open) = fence {
            if content.starts_with(open) {
                fence = None;
            }
            return false;
        }
        fence = ["```", "~~~"].into_iter().find(|mark| content.starts_with(mark));
        // How a table is made is a comment of several lines.
        if content.starts_with("<!--") && !content.contains("-->") {
            fence = Some("-->");
        }
        fence.is_none()
            && !content.starts_with('|')
            && !is_one_link(content)
            && line.chars().count() > columns
    };
    text.lines().zip(1..).filter(move |&(line, _)| is_wide(line)).map(|(_, number)| number)
}

/// Returns whether a line is one link, image, definition or address, alone or as an item of a list.
fn is_one_link(line: &str) -> bool {
    let item = line.trim_start_matches(['-', '*', ' ']);
    let marks = item.starts_with(['[', '!']).then_some(["](", "]: "]);
    let target = marks.and_then(|marks| marks.into_iter().find_map(|mark| item.split_once(mark)));
    let address = target.map_or(item, |(_, target)| target);
    (target.is_some() || ["http", "<http"].iter().any(|scheme| address.starts_with(scheme)))
        && !address.contains(' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_prose_has_a_width() {
        let wide = "x".repeat(COLUMNS + 1);
        let fits = "ü".repeat(COLUMNS);
        let cases = [
            (wide.clone(), vec![1]),
            (fits, vec![]),
            (format!("- {wide}"), vec![1]),
            (format!("| {wide} |"), vec![]),
            (format!("```text\n{wide}\n```\n{wide}"), vec![4]),
            (format!("~~~\n{wide}\n```\n{wide}\n~~~\n{wide}"), vec![6]),
            (format!("<!-- table\n{wide}\n-->\n{wide}"), vec![4]),
            (format!("  ```sh\n  {wide}\n  ```\n"), vec![]),
            (format!("[page]({wide})"), vec![]),
            (format!("- [page]({wide})"), vec![]),
            (format!("![badge]({wide})"), vec![]),
            (format!("[![badge]({wide})]({wide})"), vec![]),
            (format!("[page]: {wide}"), vec![]),
            (format!("https://example.org/{wide}"), vec![]),
            (format!("[page]({wide}) and more"), vec![1]),
            (format!("[one]({wide}) [two](page)"), vec![1]),
            (format!("see [page]({wide})"), vec![1]),
        ];
        for (text, lines) in cases {
            assert_eq!(wide_lines(&text, COLUMNS).collect::<Vec<_>>(), lines, "{text}");
        }
    }
}
