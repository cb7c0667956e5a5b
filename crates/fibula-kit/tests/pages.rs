//! The project's pages: each is what its evidence makes of it, and is easy to read.

use fibula_kit::{Error, fill};
use std::path::{Path, PathBuf};

/// Whether a page has a comment that writes this.
fn has(path: &Path, what: &str) -> bool {
    std::fs::read_to_string(path).unwrap().contains(&format!("\n<!-- {what} "))
}

/// Returns the pages that have evidence, by their paths below the root.
fn pages(root: &Path) -> Vec<PathBuf> {
    let folders = ["", "docs", "docs/papers"];
    let files = folders.iter().flat_map(|folder| std::fs::read_dir(root.join(folder)).unwrap());
    let files = files.map(|file| file.unwrap().path());
    let has_evidence = |path: &PathBuf| {
        path.extension().is_some_and(|extension| extension == "md")
            && ["made", "say"].iter().any(|what| has(path, what))
    };
    files.filter(has_evidence).map(|path| path.strip_prefix(root).unwrap().into()).collect()
}

#[test]
fn every_page_is_what_its_evidence_makes_of_it() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let pages = pages(&root);
    assert!(pages.len() >= 12, "{pages:?}");
    for page in pages {
        let name = page.display().to_string();
        let path = root.join(&page);
        let read = |file: &str| std::fs::read_to_string(path.parent().unwrap().join(file));
        let text = std::fs::read_to_string(&path).unwrap();
        let filled = fill(&text, &name, |file| read(file).map_err(|error| Error::new(error.to_string())));
        let filled = filled.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(filled.text == text, "{name} is old: fibula study page {name}");
        for (file, drawing) in filled.plots {
            assert!(read(&file).is_ok_and(|old| old == drawing), "{file} is old: fibula study page {name}");
        }
        // Neither tables nor the columns of one can be broken.
        let long = text.lines().find(|line| {
            line.chars().count() > 120 && !line.starts_with(['|']) && !line.starts_with("show ")
        });
        assert_eq!(long, None, "{name} has a line of more than 120 columns");
    }
}
