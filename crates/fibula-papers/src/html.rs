//! Exhibits as one HTML file that needs no network.

use crate::{
    Agreement, Error, Finding, Judged, Plot, Reproduction, Row, Verdict, agreements, evidence, tallies,
};
use fibula_kit::plot::{Chart, Kind};
use fibula_kit::{Evidence, distinct, short};
use maud::{DOCTYPE, Markup, PreEscaped, html};

/// The style: one column, tables that scroll sideways on a phone, colours of the reader's choice.
const STYLE: &str = include_str!("report.css");

/// Returns the report of some papers, with the verdicts on their claims. `command` makes it again,
/// `machine` is where and `date` when it was made.
///
/// # Errors
/// If a plot cannot be drawn.
pub fn report(
    reproductions: &[Reproduction],
    judged: &[Judged],
    command: &str,
    machine: &str,
    date: &str,
) -> Result<String, Error> {
    let agreements = agreements(judged, &evidence(reproductions, None)?.rows);
    let papers = distinct(reproductions.iter().map(|each| each.paper.name));
    let mut sections = Vec::new();
    for reproduction in reproductions {
        sections.push((reproduction.paper.name, section(reproduction, &agreements)?));
    }
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { "The papers' tables and figures, measured again" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                h1 { "The papers' tables and figures, measured again" }
                p { "Made by " code { (command) } " on " (date) ". Machine: " (machine) "." }
                (counted(judged))
                (contents(reproductions, &agreements))
                @for name in papers {
                    @let paper = reproductions.iter().map(|each| each.paper).find(|paper| paper.name == name);
                    @if let Some(paper) = paper {
                        h2 id=(name) { (paper.citation) }
                        p { "Machine of the paper: " (paper.machine) "." }
                    }
                    (ledger(judged, name))
                    @for (_, section) in sections.iter().filter(|(of, _)| *of == name) { (section) }
                }
            }
        }
    };
    Ok(page.into_string())
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
                        tr {
                            td { (tally.tally) } td.number { (tally.claims) }
                            @for count in tally.counts() { td.number { (count) } }
                        }
                    }
                }
            }
        }
    }
}

/// The claims of a paper and the verdicts.
fn ledger(judged: &[Judged], paper: &str) -> Markup {
    let value = |value: Option<f64>| value.map(short).unwrap_or_default();
    html! {
        div.scroll {
            table {
                thead {
                    tr {
                        th { "where" } th { "the paper's claim" } th { "verdict" } th { "exhibit" }
                        th.number { "here" } th { "unit" } th { "basis" }
                    }
                }
                tbody {
                    @for claim in judged.iter().filter(|claim| claim.paper == paper) {
                        tr {
                            td { (claim.place) }
                            td title={ "“" (claim.quote) "” " (claim.rule) } { (claim.says) }
                            td {
                                (claim.verdict.to_string())
                                @if let Some(differs) = &claim.differs { " (" (differs) ")" }
                                @if claim.hold > 0 && claim.fail > 0 { ", holds in " (claim.hold) " of " (claim.decide) }
                                @if let Some(reason) = &claim.reason { ": " (text(reason)) }
                            }
                            td { (claim.exhibit.as_deref().unwrap_or_default()) }
                            td.number {
                                (value(claim.measured))
                                @if claim.low < claim.high { " (" (value(claim.low)) " to " (value(claim.high)) ")" }
                            }
                            td { (claim.unit.as_deref().unwrap_or_default()) }
                            td { (claim.basis.as_deref().unwrap_or_default()) }
                        }
                    }
                }
            }
        }
    }
}

/// The list of all exhibits: how much is here, and whether it agrees.
fn contents(reproductions: &[Reproduction], agreements: &[Agreement]) -> Markup {
    html! {
        div.scroll {
            table {
                thead { tr { th { "paper" } th { "exhibit" } th { "what it shows" } th { "agreement" } th { "coverage" } } }
                tbody {
                    @for each in reproductions {
                        tr {
                            td { (each.paper.name) }
                            td { a href={ "#" (anchor(each)) } { (each.exhibit.id) } }
                            td { (each.exhibit.title) }
                            td { (agreement(each, agreements)) }
                            td {
                                (each.finding.coverage.name())
                                @if let Some(reason) = each.finding.coverage.reason() { ": " (text(reason)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Returns in a word whether the exhibit shows what the paper claims of it.
fn agreement(of: &Reproduction, agreements: &[Agreement]) -> &'static str {
    let found = agreements.iter().find(|one| one.paper == of.paper.name && one.exhibit == of.exhibit.id);
    found.map_or("open", |found| found.agreement)
}

fn section(reproduction: &Reproduction, agreements: &[Agreement]) -> Result<Markup, Error> {
    let Reproduction { exhibit, finding, took, .. } = reproduction;
    let mut plots = Vec::new();
    for chart in charts(reproduction)? {
        plots.push(chart.svg()?);
    }
    Ok(html! {
        section id=(anchor(reproduction)) {
            h3 { (exhibit.id) ": " (exhibit.title) }
            p {
                "Coverage: " (finding.coverage.name())
                @if let Some(reason) = finding.coverage.reason() { ", " (text(reason)) }
                ". Agreement: " (agreement(reproduction, agreements)) "."
            }
            @for plot in &plots { figure { (PreEscaped(plot)) } }
            @if !finding.points.is_empty() {
                div.scroll {
                    table {
                        thead {
                            tr {
                                th { "series" } th { (finding.axis) } th { "unit" }
                                th.number { "paper" } th.number { "here" } th.number { "here / paper" } th { "basis" }
                            }
                        }
                        tbody { @for row in reproduction.rows() { (line(&row)) } }
                    }
                }
            }
            @for note in &finding.notes { p { (text(note)) } }
            p.small { "Took " (format!("{:.1}", took.as_secs_f64())) " s." }
        }
    })
}

/// Returns the plots, the paper's values beside ours: one for each unit with several positions.
fn charts(reproduction: &Reproduction) -> Result<Vec<Chart>, Error> {
    let Finding { plot, axis, points, .. } = &reproduction.finding;
    let kind = match plot {
        Plot::None => return Ok(Vec::new()),
        Plot::Lines => Kind::Lines,
        Plot::Bars => Kind::Bars,
    };
    let mut evidence = Evidence::default();
    evidence.add(reproduction.rows())?;
    let charts = distinct(points.iter().map(|point| point.unit)).into_iter().map(|unit| {
        let rows: Vec<_> = evidence.rows.iter().filter(|row| row["unit"] == unit).collect();
        let chart = Chart::of(kind, &rows, "series", "at", &["ours", "paper_value"]);
        Chart { x: (*axis).into(), y: unit.into(), ..chart }
    });
    Ok(charts.filter(|chart| chart.positions.len() > 1).collect())
}

fn line(row: &Row<'_>) -> Markup {
    html! {
        tr {
            td { (row.series) } td { (row.at) } td { (row.unit) }
            @for value in [row.paper_value, row.ours, row.ratio] { td.number { (value.map(short).unwrap_or_default()) } }
            td { (row.basis.unwrap_or_default()) }
        }
    }
}

/// Writes a sentence whose code is between backticks.
fn text(sentence: &str) -> Markup {
    html! {
        @for (number, part) in sentence.split('`').enumerate() {
            @if number % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}

fn anchor(reproduction: &Reproduction) -> String {
    format!("{}-{}", reproduction.paper.name, reproduction.exhibit.id).replace(' ', "-").to_lowercase()
}
