//! What the papers claim and what was measured, as one HTML file that needs no network.

use crate::{Agreement, Error, Judged, PAPERS, Plot, Verdict, agreements, judge_all, tables_of, tallies};
use fibula_kit::plot::Chart;
use fibula_kit::{Evidence, Header, Row, distinct, short};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use serde_json::Value;

/// The style: one column, tables that scroll sideways on a phone, colours of the reader's choice.
const STYLE: &str = include_str!("report.css");

/// Returns the report of the papers of which evidence has rows: every claim with the paper's words,
/// our figure, the verdict, why, and the verdict on each table; then every exhibit with the paper's
/// values beside ours.
///
/// # Errors
/// If evidence cannot be judged ([`judge_all`]) or a plot cannot be drawn.
pub fn report(evidence: &[Evidence]) -> Result<String, Error> {
    let judged = judge_all(evidence)?;
    let tables = tables_of(evidence)?;
    let rows: Vec<Row> = evidence.iter().flat_map(|evidence| evidence.rows.iter().cloned()).collect();
    let agreements = agreements(&judged, &rows);
    let headers = distinct(evidence.iter().map(|evidence| &evidence.header));
    let mut papers = Vec::new();
    for paper in PAPERS.into_iter().filter(|paper| judged.iter().any(|judged| judged.paper == paper.name)) {
        let exhibits: Vec<Shown<'_>> =
            paper.exhibits.iter().filter_map(|exhibit| Shown::of(paper.name, exhibit.id, evidence)).collect();
        let sections: Vec<Markup> =
            exhibits.iter().map(|exhibit| exhibit.section(&agreements)).collect::<Result<_, _>>()?;
        papers.push((paper, exhibits, sections));
    }
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { "What the papers claim, measured again" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                h1 { "What the papers claim, measured again" }
                @for header in headers { (made(header)) }
                (counted(&judged))
                @for (paper, exhibits, sections) in &papers {
                    h2 id=(paper.name) { (paper.citation) }
                    p { "Machine of the paper: " (paper.machine) "." }
                    (contents(exhibits, &agreements))
                    @for claim in judged.iter().filter(|claim| claim.paper == paper.name) {
                        (entry(claim, &tables, exhibits))
                    }
                    @for section in sections { (section) }
                }
            }
        }
    };
    Ok(page.into_string())
}

/// How and where evidence was measured.
fn made(Header { command, commit, processor, load, date, .. }: &Header) -> Markup {
    let known =
        |before: &str, text: &str| if text.is_empty() { String::new() } else { format!("{before}{text}") };
    html! {
        p.small {
            code { (command) } ", " (date) (known(", commit ", commit)) (known(", load ", load)) (known(". ", processor)) "."
        }
    }
}

/// The numbers of claims by paper and verdict.
fn counted(judged: &[Judged]) -> Markup {
    html! {
        div.scroll {
            table {
                thead {
                    tr {
                        th { "paper" } th.number { "claims" }
                        @for verdict in Verdict::ALL { th.number { (verdict.to_string()) } }
                    }
                }
                tbody {
                    @for tally in tallies(judged) {
                        @let is_paper = judged.iter().any(|judged| judged.paper == tally.tally);
                        tr {
                            td { @if is_paper { a href={ "#" (tally.tally) } { (tally.tally) } } @else { (tally.tally) } }
                            td.number { (tally.claims) }
                            @for count in tally.counts() { td.number { (count) } }
                        }
                    }
                }
            }
        }
    }
}

/// A claim: what the paper says, what is measured here, the verdict and why.
fn entry(claim: &Judged, tables: &[(String, Vec<Judged>)], exhibits: &[Shown<'_>]) -> Markup {
    let Judged { paper, claim: number, place, quote, says, rule, measured, low, high, unit, basis, .. } =
        claim;
    let value = |value: Option<f64>| value.map(short).unwrap_or_default();
    let exhibit = exhibits.iter().find(|one| Some(one.id) == claim.exhibit.as_deref());
    let moves = moves(claim, tables);
    html! {
        article id={ "claim-" (paper) "-" (number) } {
            p { strong { (place) ": " (says) } " “" (quote) "”" }
            p {
                b.verdict { (claim.verdict.to_string()) }
                @if let Some(differs) = &claim.differs { " (" (differs) ")" }
                @if let Some(measured) = measured {
                    ". Here " (short(*measured))
                    @if low < high { " (" (value(*low)) " to " (value(*high)) ")" }
                    @if let Some(unit) = unit { " " (unit) }
                    @if let Some(basis) = basis { ", " (basis) }
                    @if claim.decide > 0 { "; holds in " (claim.hold) " of " (claim.decide) }
                }
                @if let Some(exhibit) = exhibit { ", " a href={ "#" (exhibit.anchor()) } { (exhibit.id) } }
                "."
                @if let Some(reason) = &claim.reason { " Why: " (text(reason)) "." }
                @if let Some(model) = claim.model { " Our model of the paper's machine " (model) "." }
            }
            @if !moves.is_empty() {
                ul { @for (table, verdict, holds) in &moves { li { (table) ": " (verdict) ", " (holds) } } }
            }
            @if *rule != "-" { p.small { code { (rule) } } }
        }
    }
}

/// Returns the verdict on each table that decides a claim, and of how many rows it holds there.
fn moves<'t>(claim: &Judged, tables: &'t [(String, Vec<Judged>)]) -> Vec<(&'t str, String, String)> {
    let same = |judged: &&Judged| judged.paper == claim.paper && judged.claim == claim.claim;
    let of = |(table, judged): &'t (String, Vec<Judged>)| Some((table.as_str(), judged.iter().find(same)?));
    // The first is of the rows without a table: they decide on every one.
    let all: Vec<_> = tables.iter().filter_map(of).collect();
    let without = all.iter().find(|(table, _)| table.is_empty()).map_or(0, |(_, judged)| judged.decide);
    let decides = |(table, judged): &&(&str, &Judged)| !table.is_empty() && judged.decide > without;
    let shown = |&(table, judged): &(&'t str, &Judged)| {
        (table, judged.verdict.to_string(), format!("{} of {}", judged.hold, judged.decide))
    };
    all.iter().filter(decides).map(shown).collect()
}

/// An exhibit, as evidence has it.
struct Shown<'e> {
    paper: &'static str,
    id: &'static str,
    about: &'e Row,
    rows: Vec<&'e Row>,
}

impl<'e> Shown<'e> {
    /// Returns the exhibit of the first evidence that has it.
    fn of(paper: &'static str, id: &'static str, evidence: &'e [Evidence]) -> Option<Self> {
        let mine = |row: &&Row| word(row, "paper") == paper && word(row, "exhibit") == id;
        evidence.iter().find_map(|evidence| {
            let mut rows: Vec<&Row> = evidence.rows.iter().filter(mine).collect();
            let about = rows.iter().position(|row| row.contains_key("title"))?;
            let about = rows.remove(about);
            rows.retain(|row| row.contains_key("series"));
            Some(Self { paper, id, about, rows })
        })
    }

    fn anchor(&self) -> String {
        format!("{}-{}", self.paper, self.id).replace(' ', "-").to_lowercase()
    }

    /// How much of the exhibit is here, and why not the rest.
    fn coverage(&self) -> Markup {
        let reason = word(self.about, "reason");
        html! { (word(self.about, "coverage")) @if !reason.is_empty() { ": " (text(reason)) } }
    }

    /// Whether the exhibit shows what the paper claims of it, in a word.
    fn agreement(&self, agreements: &[Agreement]) -> &'static str {
        let found = agreements.iter().find(|one| one.paper == self.paper && one.exhibit == self.id);
        found.map_or("open", |found| found.agreement)
    }

    fn section(&self, agreements: &[Agreement]) -> Result<Markup, Error> {
        let plots = self.charts().iter().map(Chart::svg).collect::<Result<Vec<_>, _>>()?;
        let notes = self.about.get("notes").and_then(Value::as_array);
        Ok(html! {
            section id=(self.anchor()) {
                h3 { (self.id) ": " (word(self.about, "title")) }
                p { "Coverage: " (self.coverage()) ". Agreement: " (self.agreement(agreements)) "." }
                @for plot in &plots { figure { (PreEscaped(plot)) } }
                @if !self.rows.is_empty() {
                    div.scroll {
                        table {
                            thead {
                                tr {
                                    th { "series" } th { (word(self.about, "axis")) } th { "unit" }
                                    th.number { "paper" } th.number { "here" } th.number { "here / paper" }
                                    th { "basis" } th { "table" }
                                }
                            }
                            tbody { @for row in &self.rows { (line(row)) } }
                        }
                    }
                }
                @for note in notes.into_iter().flatten().filter_map(Value::as_str) { p { (text(note)) } }
            }
        })
    }

    /// Returns the plots, the paper's values beside ours on the same axes: one for each unit with
    /// several positions, and for each table where several have the same.
    fn charts(&self) -> Vec<Chart> {
        let Some(kind) = Plot::drawn(word(self.about, "plot")) else { return Vec::new() };
        let place = |row: &Row| ["unit", "series", "at"].map(|key| word(row, key).to_owned());
        let is_repeated = distinct(self.rows.iter().map(|row| place(row))).len() < self.rows.len();
        let plot = |row: &Row| {
            (word(row, "unit").to_owned(), if is_repeated { word(row, "table") } else { "" }.to_owned())
        };
        let plots = distinct(self.rows.iter().map(|row| plot(row)));
        let charts = plots.iter().map(|of| {
            let rows: Vec<&Row> = self.rows.iter().copied().filter(|row| plot(row) == *of).collect();
            let chart = Chart::of(kind, &rows, "series", "at", &["ours", "paper_value"]);
            let (unit, table) = of;
            let x = [word(self.about, "axis"), table]
                .into_iter()
                .filter(|part| !part.is_empty())
                .collect::<Vec<_>>()
                .join(", ");
            Chart { x, y: unit.clone(), ..chart }
        });
        charts.filter(|chart| chart.positions.len() > 1).collect()
    }
}

/// The list of a paper's exhibits: how much is here, and whether it agrees.
fn contents(exhibits: &[Shown<'_>], agreements: &[Agreement]) -> Markup {
    html! {
        div.scroll {
            table {
                thead { tr { th { "exhibit" } th { "what it shows" } th { "agreement" } th { "coverage" } } }
                tbody {
                    @for each in exhibits {
                        tr {
                            td { a href={ "#" (each.anchor()) } { (each.id) } }
                            td { (word(each.about, "title")) }
                            td { (each.agreement(agreements)) }
                            td { (each.coverage()) }
                        }
                    }
                }
            }
        }
    }
}

fn line(row: &Row) -> Markup {
    let number = |key: &str| row.get(key).and_then(Value::as_f64).map(short).unwrap_or_default();
    html! {
        tr {
            @for key in ["series", "at", "unit"] { td { (word(row, key)) } }
            @for key in ["paper_value", "ours", "ratio"] { td.number { (number(key)) } }
            @for key in ["basis", "table"] { td { (word(row, key)) } }
        }
    }
}

/// Returns a row's text, empty where there is none.
fn word<'r>(row: &'r Row, key: &str) -> &'r str {
    row.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// Writes a sentence whose code is between backticks.
fn text(sentence: &str) -> Markup {
    html! {
        @for (number, part) in sentence.split('`').enumerate() {
            @if number % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}
