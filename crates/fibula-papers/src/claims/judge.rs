//! [`judge_all`]: verdicts from rows.

use super::inputs::Input;
use super::measured::Measured;
use super::rule::{Quantifier, Rule, Scale, Test};
use super::{Claim, Judged, Ledger, Verdict};
use crate::{Error, PAPERS, Span};
use fibula_kit::{Evidence, Header, Row, distinct};
use serde_json::Value;

/// The relative distance that rounding of binary fractions makes.
const ROUNDING: f64 = 1e-9;

/// Judges the claims of all papers of which evidence has rows, in the papers' order. What evidence
/// is in which file, and how often, changes nothing.
///
/// # Errors
/// If no evidence has rows of a paper, if two have different rows of one exhibit, or if a ledger is
/// malformed.
pub fn judge_all(evidence: &[Evidence]) -> Result<Vec<Judged>, Error> {
    let parts: Vec<Parts<'_>> = evidence.iter().map(Parts::of).collect();
    let rows: Vec<Measured<'_>> = parts.iter().flat_map(measured).collect();
    let mut all = Vec::new();
    for paper in PAPERS {
        let mine = rows.iter().filter(|row| row.text("paper") == paper.name);
        let mut mine = once(paper.name, mine.copied())?;
        if mine.is_empty() {
            continue;
        }
        mine.retain(Measured::decides);
        let ledger = Ledger::of(paper.name)?;
        all.extend(ledger.claims.iter().map(|claim| judged(&ledger, claim, &mine)));
    }
    if all.is_empty() {
        return Err(Error::wrong("no rows of a paper's exhibit: expected what -o of a paper's study writes"));
    }
    Ok(all)
}

/// Judges the claims on each table by itself: on the rows of that table, and on those of none. The
/// first, with an empty name, is of the rows of none alone.
///
/// # Errors
/// See [`judge_all`].
pub fn tables_of(evidence: &[Evidence]) -> Result<Vec<(String, Vec<Judged>)>, Error> {
    let table = |row: &Row| row.get("table").and_then(Value::as_str).unwrap_or_default().to_owned();
    let is_value = |row: &&Row| row.contains_key("ours");
    let all = evidence.iter().flat_map(|evidence| evidence.rows.iter()).filter(is_value).map(table);
    let names = distinct([String::new()].into_iter().chain(all));
    let judged = names.into_iter().map(|name| {
        let mut evidence = evidence.to_vec();
        for Evidence { rows, .. } in &mut evidence {
            rows.retain(|row| [String::new(), name.clone()].contains(&table(row)));
        }
        Ok((name, judge_all(&evidence)?))
    });
    judged.collect()
}

/// Returns the rows of each exhibit once, of the first file that has them.
fn once<'r>(paper: &str, rows: impl Iterator<Item = Measured<'r>>) -> Result<Vec<Measured<'r>>, Error> {
    let mut files: Vec<(&str, &Header, Vec<Measured<'r>>)> = Vec::new();
    for row in rows {
        let (exhibit, header) = (row.text("exhibit"), row.header);
        match files.iter_mut().find(|file| file.0 == exhibit && std::ptr::eq(file.1, header)) {
            Some(file) => file.2.push(row),
            None => files.push((exhibit, header, vec![row])),
        }
    }
    let mut first: Vec<(&str, Vec<Measured<'r>>)> = Vec::new();
    for (exhibit, Header { commit, date, .. }, rows) in files {
        let is_same =
            |known: &[Measured<'_>]| known.iter().map(|row| row.row).eq(rows.iter().map(|row| row.row));
        match first.iter().find(|(known, _)| *known == exhibit) {
            None => first.push((exhibit, rows)),
            Some((_, known)) if is_same(known) => {}
            Some(_) => {
                return Err(Error::wrong(format!(
                    "{paper}, {exhibit}: two files have different rows of it, one of commit {commit}, {date}"
                )));
            }
        }
    }
    Ok(first.into_iter().flat_map(|(_, rows)| rows).collect())
}

/// Evidence, and the headers of exhibits that were measured another time than the rest.
struct Parts<'e> {
    evidence: &'e Evidence,
    headers: Vec<([Option<&'e Value>; 2], Header)>,
}

impl<'e> Parts<'e> {
    fn of(evidence: &'e Evidence) -> Self {
        let headers = evidence.rows.iter().filter_map(|row| Some((exhibit(row), Header::of_part(row)?)));
        Self { evidence, headers: headers.collect() }
    }

    fn header(&self, row: &Row) -> &Header {
        let part = self.headers.iter().find(|(of, _)| *of == exhibit(row));
        part.map_or(&self.evidence.header, |(_, header)| header)
    }
}

/// Returns the paper and the exhibit of a row.
fn exhibit(row: &Row) -> [Option<&Value>; 2] {
    ["paper", "exhibit"].map(|key| row.get(key))
}

/// Returns the rows of exhibits; verdicts on them are none.
fn measured<'p>(parts: &'p Parts<'_>) -> impl Iterator<Item = Measured<'p>> {
    parts.evidence.rows.iter().filter_map(|row| Measured::of(row, parts.header(row)))
}

/// What a row says: it holds, it fails, or its spread reaches over the bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Says {
    Holds,
    Fails,
    Spans,
}

/// Compares a value with bounds that are multiples of another.
fn compare(value: Span, least: f64, most: f64, open: bool, scale: Span) -> Says {
    let near = |bound: f64| if open { 0.0 } else { bound.abs() * ROUNDING };
    // A factor is a bound of its own: that of an unbounded side has no spread.
    let bound = |factor: f64, scale: f64| if factor.is_infinite() { factor } else { factor * scale };
    let holds = |value: f64, lower: f64, upper: f64| {
        let (above, below) = (value - lower + near(lower), upper + near(upper) - value);
        if open { above > 0.0 && below > 0.0 } else { above >= 0.0 && below >= 0.0 }
    };
    let all = |value| holds(value, bound(least, scale.high), bound(most, scale.low));
    let some = [scale.low, scale.high].into_iter().any(|scale| {
        let (lower, upper) = (bound(least, scale), bound(most, scale));
        holds(value.low, lower, upper)
            || holds(value.high, lower, upper)
            || (value.low <= lower && value.high >= upper)
    });
    if all(value.low) && all(value.high) {
        Says::Holds
    } else if some {
        Says::Spans
    } else {
        Says::Fails
    }
}

const ONE: Span = Span { low: 1.0, value: 1.0, high: 1.0 };

/// What one row, or one series, says; and the rows that it is of.
struct Said<'r> {
    says: Says,
    row: Measured<'r>,
}

/// Tests the rows. Returns what each says, or each series where a test is about series.
fn said<'r>(rule: &Rule, rows: &[Measured<'r>], all: &[Measured<'r>]) -> Vec<Said<'r>> {
    match &rule.test {
        Test::Told => Vec::new(),
        Test::Within { least, most, open, scale } => {
            let pairs = rows.iter().flat_map(|row| scales(scale, row, all).map(move |by| (*row, by)));
            if rule.quantifier == Quantifier::OnAverage {
                let pairs: Vec<_> = pairs.collect();
                let Some(&(row, _)) = pairs.first() else { return Vec::new() };
                let mean = |of: fn(Span) -> f64| {
                    pairs.iter().map(|&(row, by)| of(quotient(row.value, by))).sum::<f64>()
                        / pairs.len() as f64
                };
                let mean = Span {
                    low: mean(|span| span.low),
                    value: mean(|span| span.value),
                    high: mean(|span| span.high),
                };
                return vec![Said { says: compare(mean, *least, *most, *open, ONE), row }];
            }
            let said = |(row, by): (Measured<'r>, Span)| {
                let says = compare(row.value, *least, *most, *open, by);
                Said { says, row }
            };
            pairs.map(said).collect()
        }
        test @ (Test::Rises | Test::Falls | Test::Flat(_)) => {
            let series = distinct(rows.iter().map(Measured::line));
            let of = |name| rows.iter().filter(move |row| row.line() == name);
            let said = |name| -> Option<Said<'r>> {
                let values: Vec<Span> = of(name).map(|row| row.value).collect();
                let row = *of(name).next()?;
                (values.len() > 1).then(|| Said { says: shape(test, values), row })
            };
            series.into_iter().filter_map(said).collect()
        }
    }
}

/// Returns what a row is compared with: nothing, the paper's value, or other rows.
fn scales<'r>(
    scale: &Scale,
    row: &Measured<'r>,
    all: &[Measured<'r>],
) -> impl Iterator<Item = Span> + use<'r> {
    let scales: Vec<Span> = match scale {
        Scale::One => vec![ONE],
        Scale::Paper => row.paper.map(Span::from).into_iter().collect(),
        Scale::Rows(other) => {
            all.iter().filter(|one| row.is_compared_with(other, one)).map(|one| one.value).collect()
        }
    };
    scales.into_iter()
}

/// Returns a quotient with the widest spread that both allow.
fn quotient(value: Span, by: Span) -> Span {
    Span { low: value.low / by.high, value: value.value / by.value, high: value.high / by.low }
}

/// Tests the values of one series.
fn shape(test: &Test, mut values: Vec<Span>) -> Says {
    if let Test::Flat(share) = test {
        values.sort_by(|a, b| a.value.total_cmp(&b.value));
        let (least, most) = (values[0], values[values.len() - 1]);
        return compare(most, f64::NEG_INFINITY, 1.0 + share, false, least);
    }
    if matches!(test, Test::Falls) {
        values.reverse();
    }
    let goes_back = values.windows(2).any(|pair| pair[1].high < pair[0].low);
    let (first, last) = (values[0], values[values.len() - 1]);
    match (goes_back, last.low > first.high) {
        (true, _) => Says::Fails,
        (false, true) => Says::Holds,
        (false, false) => Says::Spans,
    }
}

fn judged(ledger: &Ledger, claim: &Claim, all: &[Measured<'_>]) -> Judged {
    let Claim { number, place, quote, says, written, reason, .. } = *claim;
    let blank = Judged {
        paper: ledger.paper,
        claim: number,
        place,
        quote,
        says,
        rule: written,
        by_far: claim.rule.as_ref().is_some_and(|rule| rule.by_far),
        exhibit: None,
        measured: None,
        low: None,
        high: None,
        unit: None,
        basis: None,
        hold: 0,
        fail: 0,
        decide: 0,
        rows: 0,
        load: String::new(),
        verdict: Verdict::NotTestableHere,
        differs: None,
        model: None,
        reason: Some(reason.to_owned()).filter(|reason| !reason.is_empty()),
    };
    let Some(rule) = &claim.rule else { return blank };
    let (rows, unmet) = chosen(rule, all);
    let told = told(&rows, ratios(&rule.test, &rows, all), blank);
    let loud = rows.first().and_then(|row| loud(row.header)).filter(|_| rule.quietly);
    let said = if loud.is_some() { Vec::new() } else { said(rule, &rows, all) };
    let count = |what| said.iter().filter(|said| said.says == what).count();
    let (hold, fail) = (count(Says::Holds), count(Says::Fails));
    let holds = match rule.quantifier {
        _ if hold + fail == 0 => None,
        Quantifier::All | Quantifier::OnAverage => Some(fail == 0),
        Quantifier::Most => Some(hold > fail),
        Quantifier::Some => Some(hold > 0),
    };
    let failing: Vec<Measured<'_>> =
        said.iter().filter(|said| said.says == Says::Fails).map(|said| said.row).collect();
    let is_model = told.basis.as_deref() == Some("model");
    let (verdict, differs) = match (holds, is_model) {
        (None, _) | (Some(true), true) => (Verdict::NotTestableHere, None),
        (Some(true), false) => (Verdict::Reproduced, None),
        (Some(false), true) => (Verdict::OurModelFails, None),
        (Some(false), false) => failed(&failing, ledger, claim),
    };
    let model = holds.filter(|_| is_model).map(|holds| if holds { "agrees" } else { "fails" });
    let why = || {
        if model.is_some() {
            "the model of the paper's machine agrees, and only that machine decides".into()
        } else if !reason.is_empty() {
            reason.to_owned()
        } else if let Some(unmet) = unmet {
            format!("no table with {unmet}")
        } else if rows.is_empty() {
            "no such row was measured".into()
        } else if let Some(loud) = loud {
            loud
        } else if said.is_empty() {
            "nothing to compare with was measured".into()
        } else {
            "the spread of the measurement reaches over the bound".into()
        }
    };
    let reason = match verdict {
        Verdict::NotTestableHere => Some(why()),
        Verdict::Refuted | Verdict::InconsistentWithinThePaper => told.reason.clone(),
        _ => None,
    };
    Judged { hold, fail, decide: hold + fail, verdict, differs, model, reason, ..told }
}

/// Returns the verdict on a claim whose measured or computed rows fail, and the inputs that they do
/// not share with the paper's.
fn failed(failing: &[Measured<'_>], ledger: &Ledger, claim: &Claim) -> (Verdict, Option<String>) {
    if failing.iter().all(Measured::is_arithmetic) {
        return (Verdict::InconsistentWithinThePaper, None);
    }
    let differing = failing.iter().flat_map(|row| claim.inputs.differing(&ledger.own, &row.inputs()));
    let mut differing: Vec<Input> = differing.collect();
    differing.sort_unstable();
    differing.dedup();
    let names: Vec<String> = differing.iter().map(ToString::to_string).collect();
    if names.is_empty() {
        (Verdict::Refuted, None)
    } else {
        (Verdict::DiffersOnOtherInputs, Some(names.join(", ")))
    }
}

/// Says how loaded the machine was, where other work than the study's took part of it: where the
/// load was more than its cores.
fn loud(header: &Header) -> Option<String> {
    let load: f64 = header.load.parse().ok()?;
    let cores =
        header.processor.split(", ").find_map(|part| part.strip_suffix(" cores")?.parse::<f64>().ok())?;
    (load > cores).then(|| format!("the machine had a load of {load} on its {cores} cores"))
}

/// Returns the rows of a rule that meet its conditions, and the condition that left none.
fn chosen<'r>(rule: &Rule, all: &[Measured<'r>]) -> (Vec<Measured<'r>>, Option<String>) {
    let mut rows: Vec<Measured<'r>> = all.iter().filter(|row| row.is_of(&rule.rows)).copied().collect();
    let had = !rows.is_empty();
    rows.retain(|row| rule.conditions.iter().all(|condition| row.meets(condition)));
    // A model decides nothing where something was measured.
    if rows.iter().any(|row| row.text("basis") != "model") {
        rows.retain(|row| row.text("basis") != "model");
    }
    let written: Vec<&str> = rule.conditions.iter().map(|condition| condition.written.as_str()).collect();
    let unmet = (had && rows.is_empty()).then(|| written.join(", "));
    (rows, unmet)
}

/// Returns how many times those that it is compared with each row is, where a test compares rows.
fn ratios(test: &Test, rows: &[Measured<'_>], all: &[Measured<'_>]) -> Vec<Span> {
    let Test::Within { scale: scale @ Scale::Rows(_), .. } = test else { return Vec::new() };
    let pairs = rows.iter().flat_map(|row| scales(scale, row, all).map(|by| quotient(row.value, by)));
    pairs.filter(|ratio| ratio.high.is_finite()).collect()
}

/// Fills in what was measured: the rows' values, or their ratios to other rows if there are some.
fn told(rows: &[Measured<'_>], ratios: Vec<Span>, blank: Judged) -> Judged {
    let Some(first) = rows.first() else { return blank };
    let text = |key| Some(first.text(key).to_owned());
    let (spans, unit) = if ratios.is_empty() {
        (rows.iter().map(|row| row.value).collect(), text("unit"))
    } else {
        (ratios, Some("times".into()))
    };
    let mut values: Vec<f64> = spans.iter().map(|span| span.value).collect();
    Judged {
        exhibit: text("exhibit"),
        measured: Some(crate::lab::median(&mut values)),
        low: spans.iter().map(|span| span.low).min_by(f64::total_cmp),
        high: spans.iter().map(|span| span.high).max_by(f64::total_cmp),
        unit,
        basis: text("basis"),
        rows: rows.len(),
        load: if first.text("basis") == "measured" { first.header.load.clone() } else { String::new() },
        ..blank
    }
}

#[cfg(test)]
mod mutations;
#[cfg(test)]
mod tests;
