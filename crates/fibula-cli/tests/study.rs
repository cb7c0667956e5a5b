//! From a study to its page: the study writes evidence, and the page is made from it.

use fibula_kit::{Evidence, Header, Row};
use std::fs;
use std::path::Path;
use std::process::Command;

fn fibula(folder: &Path, arguments: &[&str]) {
    let output =
        Command::new(env!("CARGO_BIN_EXE_fibula")).args(arguments).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_page_is_made_from_what_a_study_wrote() {
    let folder = tempfile::tempdir().unwrap();
    let here = |file: &str| folder.path().join(file);
    let table = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/edge.txt");
    let table = table.to_str().unwrap();
    let run = |arguments: &[&str]| fibula(folder.path(), arguments);
    run(&["study", "worst", "-t", table, "-e", "radix", "--sample", "5", "-o", "worst.jsonl"]);
    let page = "<!-- made worst.jsonl -->\n<!-- end -->\n<!-- table worst.jsonl\nby engine family\n\
        show engine | family | worst = {max us_worst}\n-->\n<!-- end -->\n";
    std::fs::write(here("page.md"), page).unwrap();
    run(&["study", "page", "page.md"]);
    let page = std::fs::read_to_string(here("page.md")).unwrap();
    let made = page.replace('\n', " ");
    assert!(made.contains("Measured by `fibula study worst -t edge.txt -e radix --sample 5` on "), "{page}");
    assert!(page.contains("\n| radix | ipv6 | "), "{page}");

    run(&["study", "page", "page.md", "--evidence", "worst.jsonl", "-o", "other.md"]);
    let other = std::fs::read_to_string(here("other.md")).unwrap();
    assert_eq!(other.replace("other.md", "page.md"), page);
}

#[test]
fn a_papers_study_writes_a_report_beside_its_rows() {
    let folder = tempfile::tempdir().unwrap();
    let small = ["--smaller", "1000", "--addresses", "500", "--passes", "1"];
    let table = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/edge.txt");
    let study = ["study", "triec", "-t", table.to_str().unwrap(), "-o", "report"];
    fibula(folder.path(), &[&study[..], &small].concat());
    let read = |file: &str| std::fs::read_to_string(folder.path().join("report").join(file)).unwrap();
    assert!(read("report.html").contains("<svg"));
    let rows = read("triec.jsonl");
    assert!(
        rows.contains(r#""exhibit":"Table 1","title":"#) && rows.contains(r#""series":"group A""#),
        "{rows}"
    );
    // The verdicts are those of the rows, now and later.
    fibula(folder.path(), &["study", "claims", "report/triec.jsonl", "-o", "claims.jsonl"]);
    let later = std::fs::read_to_string(folder.path().join("claims.jsonl")).unwrap();
    // A number that was written and read may differ in its last bit.
    let verdict = |line: &str| line.split(r#""verdict""#).last().map(String::from);
    let verdicts = |text: &str| text.lines().skip(1).map(verdict).collect::<Vec<_>>();
    assert_eq!(verdicts(&later), verdicts(&read("claims.jsonl")));
    assert!(later.contains(r#"{"tally":"triec","claims":"#), "{later}");
    // One exhibit alone takes its own place, and says when it was measured.
    let one = ["--exhibit", "Figure 2", "--smaller", "1000", "--addresses", "400", "--passes", "1"];
    fibula(folder.path(), &[&study[..], &one].concat());
    let again = read("triec.jsonl");
    let keys = |text: &str| -> Vec<String> {
        text.lines().skip(1).filter_map(|line| Some(line.split(r#""unit""#).next()?.to_owned())).collect()
    };
    let about = |line: &&String| !line.contains(r#""title""#);
    let series = |text: &str| keys(text).iter().filter(about).cloned().collect::<Vec<_>>();
    assert_eq!(series(&again), series(&rows));
    assert_eq!(again.lines().next(), rows.lines().next());
    assert_eq!(again.matches(r#""measured_by":{"#).count(), 1, "{again}");
    assert!(again.contains("--exhibit"), "{again}");
}

#[test]
fn rows_are_drawn_too() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("plot.svg");
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fibula"));
        command.args(arguments).args(["-t", "tests/fixtures/edge.txt", "--addresses", "4096", "--plot"]);
        let output = command.arg(&file).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        fs::read_to_string(&file).unwrap()
    };
    let drawn = run(&["bench", "--family", "ipv4", "-e", "poptrie,dir24-8", "--passes", "5"]);
    for text in ["<svg", "</svg>", "poptrie", "dir24-8", "16384", "mlps"] {
        assert!(drawn.contains(text), "{text} in {drawn}");
    }
    let drawn = run(&["replay", "--family", "ipv4", "-e", "poptrie,dir24-8", "-u", "made=100"]);
    for text in ["ipv4", "mlps during", "poptrie"] {
        assert!(drawn.contains(text), "{text} in {drawn}");
    }
}

/// Every file of the tree's evidence is made, or named with the reason, by the list that names it.
#[test]
fn all_files_of_evidence_are_made_or_named() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_fibula"));
    command.args(["study", "all", "--quick", "--into", "made", "--format", "ndjson"]);
    let output = command.current_dir(folder.path()).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}");
    let rows = String::from_utf8(output.stdout).unwrap();
    let rows: Vec<Row> = rows.lines().map(|row| serde_json::from_str(row).unwrap()).collect();
    assert_eq!(told.lines().count(), rows.len(), "a line for each step: {told}");
    let tree = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/evidence");
    for file in fs::read_dir(tree).unwrap().map(|file| file.unwrap().file_name()) {
        let row = rows.iter().find(|row| row["file"] == *file.to_string_lossy());
        let row = row.unwrap_or_else(|| panic!("{} is of no step of `study all`", file.display()));
        let path = folder.path().join("made").join(&file);
        if row["made"] == true {
            let evidence = Evidence::read(&fs::read_to_string(path).unwrap()).unwrap();
            let Header { command, processor, load, .. } = evidence.header;
            assert!(command.starts_with("fibula study ") && !processor.is_empty(), "{command} {processor}");
            assert!(!cfg!(target_os = "linux") || !load.is_empty(), "{file:?} tells no load");
            assert!(!evidence.rows.is_empty(), "{file:?} has no rows");
        } else {
            assert!(row["reason"].as_str().is_some_and(|reason| !reason.is_empty()), "{row:?}");
            assert!(!path.exists(), "{file:?} is there and not made");
        }
    }
    let made = rows.iter().filter(|row| row["made"] == true).count();
    assert!(made >= 13, "{made} made: {told}");
    fibula(folder.path(), &["study", "report", "--evidence", "made", "--into", "report.html"]);
    let report = fs::read_to_string(folder.path().join("report.html")).unwrap();
    for text in ["<svg", "id=\"claim-sail-1\"", "id=\"claim-planb-1\""] {
        assert!(report.contains(text), "{text} is not in the report");
    }
}
