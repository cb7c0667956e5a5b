//! [`fill`]: writes what the comments of a page ask for.

use crate::directive::Directive;
use crate::distinct;
use crate::{Error, Evidence, Header};
use std::collections::HashMap;

/// The most columns of a line, tables aside, and of a sentence, which may be in a README.
const COLUMNS: usize = 120;
const SENTENCE_COLUMNS: usize = 110;

/// The last line of what is written.
const END: &str = "<!-- end -->";

/// A page with its tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filled {
    /// The page.
    pub text: String,
    /// The plots: the files that the page shows, and the drawings.
    pub plots: Vec<(String, String)>,
}

/// Writes what the comments of a page ask for between each and the next `<!-- end -->`. All other
/// text stays.
///
/// `name` is the page's own file, which it names in the command. `read` returns the text of a file
/// of evidence, by the path that the page has for it.
///
/// # Errors
/// If a comment is wrong, has no end, or leaves no row; or if `read` fails. The error names the
/// page's line.
pub fn fill(
    page: &str,
    name: &str,
    mut read: impl FnMut(&str) -> Result<String, Error>,
) -> Result<Filled, Error> {
    let mut known: HashMap<String, Evidence> = HashMap::new();
    let mut filled = Filled { text: String::new(), plots: Vec::new() };
    let mut lines = page.lines().enumerate();
    while let Some((at, line)) = lines.next() {
        filled.text += line;
        filled.text.push('\n');
        let what = line.strip_prefix("<!-- ").and_then(|rest| rest.split(' ').next()).unwrap_or_default();
        if !["made", "table", "plot", "say"].contains(&what) {
            continue;
        }
        let here = |error: Error| error.at(format_args!("line {}", at + 1));
        let mut comment = line.to_owned();
        while !comment.ends_with("-->") {
            let (_, line) = lines.next().ok_or_else(|| here(Error::new("expected -->")))?;
            filled.text += line;
            filled.text.push('\n');
            comment += "\n";
            comment += line.trim_end();
        }
        let comment = comment.trim_start_matches("<!--").trim_end_matches("-->");
        let directive = Directive::parse(comment).map_err(here)?;
        if !lines.any(|(_, line)| line == END) {
            return Err(here(Error::new(format!("expected {END} below"))));
        }
        let file = &directive.file;
        if !known.contains_key(file) {
            let evidence = read(file).and_then(|text| Evidence::read(&text).map_err(|error| error.at(file)));
            known.insert(file.clone(), evidence.map_err(here)?);
        }
        let written = write(&directive, &known[file], name, &mut filled.plots).map_err(here)?;
        filled.text.extend(["\n", &written, "\n", END, "\n"]);
    }
    Ok(filled)
}

fn write(
    directive: &Directive,
    evidence: &Evidence,
    name: &str,
    plots: &mut Vec<(String, String)>,
) -> Result<String, Error> {
    Ok(match directive.what.as_str() {
        "made" => wrapped(&made(evidence, &directive.file, name), COLUMNS),
        "say" => wrapped(&directive.text(evidence)?, SENTENCE_COLUMNS),
        "table" => directive.table(evidence)?,
        _ => {
            let (title, drawing) = directive.plot(evidence)?;
            let folder = directive.file.rfind('/').map_or("", |at| &directive.file[..=at]);
            let path = format!("{folder}{}", directive.to);
            let shown = format!("![{title}]({path})\n");
            plots.push((path, drawing));
            shown
        }
    })
}

/// Says how and where evidence was measured, and what of it another time. Of the processor it says
/// the name and the cores.
fn made(evidence: &Evidence, file: &str, name: &str) -> String {
    let Header { command, date, .. } = &evidence.header;
    let mut text = format!("Measured by `{command}`{}, {date}.", state(&evidence.header));
    let parts: Vec<(Header, &str)> = evidence
        .rows
        .iter()
        .filter_map(|row| Some((Header::of_part(row)?, row.get("exhibit")?.as_str()?)))
        .collect();
    for header in distinct(parts.iter().map(|(header, _)| header)) {
        let of = |(of, exhibit): &(Header, &str)| (of == header).then(|| (*exhibit).to_owned());
        let exhibits = distinct(parts.iter().filter_map(of)).join(", ");
        let Header { date, .. } = header;
        text.extend([" Measured again", &state(header), ", ", date, ": ", &exhibits, "."]);
    }
    text + &format!(" `fibula study page {name}` makes the tables from [{file}]({file}).")
}

/// Says on what was measured, with which load, and of which commit: what is known of it.
fn state(header: &Header) -> String {
    let Header { commit, processor, device, load, .. } = header;
    let processor = processor.splitn(3, ", ").take(2).collect::<Vec<_>>().join(", ");
    let known =
        |before: &str, text: &str| if text.is_empty() { String::new() } else { format!("{before}{text}") };
    [(" on ", processor.as_str()), (", ", device), (", load ", load), (", commit ", commit)]
        .map(|(before, text)| known(before, text))
        .concat()
}

/// Breaks a text at spaces.
fn wrapped(text: &str, columns: usize) -> String {
    let (mut all, mut line) = (String::new(), String::new());
    for word in text.split_whitespace() {
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > columns {
            all += &line;
            all.push('\n');
            line = word.into();
        } else {
            if !line.is_empty() {
                line.push(' ');
            }
            line += word;
        }
    }
    all + &line + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVIDENCE: &str = r#"{"study": "x", "command": "fibula study x -t a b", "processor": "a machine, 2 cores, much memory", "load": "0.5", "date": "2026-01-01"}
{"engine": "dxr", "trace": "prefix", "size": 10, "mlps": 100.5}
{"engine": "dxr", "trace": "random", "size": 20, "mlps": 200}
{"engine": "radix", "trace": "prefix", "size": 10, "mlps": 8.25}
{"engine": "lulea", "refused": "too many routes"}
"#;

    fn filled(page: &str) -> Result<Filled, Error> {
        fill(page, "docs/x.md", |_| Ok(EVIDENCE.into()))
    }

    fn body(directive: &str) -> String {
        let page = format!("Before.\n\n<!-- {directive}\n-->\n\nold\n\n<!-- end -->\nAfter.\n");
        let text = filled(&page).unwrap().text;
        assert_eq!(filled(&text).unwrap().text, text, "a filled page stays as it is");
        let inside = text.split_once("-->\n\n").unwrap().1.split_once("\n<!-- end -->\nAfter.\n").unwrap().0;
        inside.into()
    }

    #[test]
    fn a_page_says_how_it_was_made() {
        let made = body("made evidence/x.jsonl");
        assert!(
            made.starts_with(
                "Measured by `fibula study x -t a b` on a machine, 2 cores, load 0.5, 2026-01-01."
            ),
            "{made}"
        );
        assert!(made.contains("`fibula study page docs/x.md`"), "{made}");
        assert!(made.lines().all(|line| line.chars().count() <= COLUMNS), "{made}");
    }

    #[test]
    fn a_page_says_what_was_measured_another_time() {
        let later =
            Header { commit: "abc".into(), load: "3".into(), date: "2026-02-02".into(), ..Header::default() };
        let mut evidence = Evidence::default();
        let rows = ["Figure 4", "Figure 9", "Table 1"].map(|exhibit| serde_json::json!({"exhibit": exhibit}));
        evidence.add(rows).unwrap();
        evidence.part(&later, |row| row["exhibit"] != "Table 1");
        let made = made(&evidence, "x.jsonl", "x.md");
        assert!(
            made.contains(" Measured again, load 3, commit abc, 2026-02-02: Figure 4, Figure 9."),
            "{made}"
        );
    }

    #[test]
    fn rows_are_chosen_and_grouped() {
        assert_eq!(
            body(
                "table x.jsonl\nwhere mlps\nwhere mlps > 8.25\nsort -mlps\nshow engine | trace | Mlps = {mlps}"
            ),
            "| engine | trace | Mlps |\n| --- | --- | ---: |\n| dxr | random | 200 |\n| dxr | prefix | 100 |\n"
        );
        assert_eq!(
            body("table x.jsonl\nwhere mlps\nby engine\nshow engine\nacross trace = {mlps} M/s"),
            "| engine | prefix | random |\n| --- | --- | --- |\n| dxr | 100 M/s | 200 M/s |\n| radix | 8.25 M/s | |\n"
        );
        assert_eq!(
            body("table x.jsonl\nsort -mlps\nwhere engine = dxr | lulea\nby engine\nshow trace | refused"),
            "| trace | refused |\n| --- | --- |\n| random | |\n| | too many routes |\n"
        );
        assert_eq!(
            body("table x.jsonl\nwhere size != 10\nwhere engine !~ ulea\nshow size"),
            "| size |\n| ---: |\n| 20 |\n"
        );
        assert_eq!(
            body("table x.jsonl\nwhere mlps > {size}\nwhere trace ~ pre\nby engine\nshow engine"),
            "| engine |\n| --- |\n| dxr |\n"
        );
    }

    #[test]
    fn a_plot_is_a_file_beside_the_evidence() {
        let page = "<!-- plot evidence/x.jsonl\nwhere mlps\nlines engine\nx size\ny mlps\nto x.svg\n-->\n<!-- end -->\n";
        let Filled { text, plots } = filled(page).unwrap();
        assert!(text.contains("![mlps by size](evidence/x.svg)"), "{text}");
        assert!(plots[0].0 == "evidence/x.svg" && plots[0].1.contains("radix"));
    }

    #[test]
    fn a_sentence_is_made_of_its_columns() {
        let page = "A.\n<!-- say x.jsonl\nwhere engine = radix\nshow a = {engine} does\nshow b = {mlps}.\n-->\n<!-- end -->\n";
        assert!(filled(page).unwrap().text.contains("\n-->\n\nradix does 8.25.\n\n<!-- end -->\n"));
    }

    #[test]
    fn a_wrong_comment_is_named_by_its_line() {
        let wrong = |directive: &str| {
            filled(&format!("A.\n<!-- {directive}\n-->\n<!-- end -->\n")).unwrap_err().to_string()
        };
        assert_eq!(wrong("table x.jsonl\nwhen a"), "line 2: unknown word \"when\"");
        assert_eq!(wrong("table x.jsonl\nwhere engine = nobody"), "line 2: no row of the evidence is left");
        assert!(wrong("table x.jsonl\nwhere a ? b").contains("expected = != < > ~ or !~"));
        assert!(wrong("plot x.jsonl\nx size").contains("expected lines or bars"));
        assert!(
            filled("<!-- table x.jsonl\n-->\n").unwrap_err().to_string().contains("expected <!-- end -->")
        );
        assert!(filled("<!-- table x.jsonl\n").unwrap_err().to_string().contains("expected -->"));
    }
}
