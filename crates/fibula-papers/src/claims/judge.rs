//! [`judge`]: verdicts from rows.

use super::rule::{Condition, Other, Pattern, Rule, Scale, Selector, Test};
use super::{Claim, claims};
use crate::{Error, Span};
use fibula_kit::{Evidence, Header, Row};
use serde::Serialize;
use serde_json::Value;
use std::fmt;

/// The relative distance that rounding of binary fractions makes.
const ROUNDING: f64 = 1e-9;

/// What the rows say of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Every row that decides holds.
    Confirmed,
    /// A row fails.
    Refuted,
    /// No row decides.
    NotTestableHere,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Confirmed => "confirmed",
            Self::Refuted => "refuted",
            Self::NotTestableHere => "not testable here",
        })
    }
}

/// A claim and its verdict, as scripts read it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Judged {
    /// The paper's name.
    pub paper: &'static str,
    /// The number of the claim in its paper.
    pub claim: usize,
    /// Where the paper says it.
    pub place: &'static str,
    /// What it says.
    pub says: &'static str,
    /// How it is tested.
    pub rule: &'static str,
    /// The exhibit of the rows, where there are some.
    pub exhibit: Option<String>,
    /// The median of the rows' values, or of their ratios to the rows that they are compared with.
    pub measured: Option<f64>,
    /// The least of them, or of their passes.
    pub low: Option<f64>,
    /// The greatest.
    pub high: Option<f64>,
    /// The unit.
    pub unit: Option<String>,
    /// `measured`, `computed` or `model`.
    pub basis: Option<String>,
    /// How many rows hold.
    pub hold: usize,
    /// How many rows fail.
    pub fail: usize,
    /// How many decide: those that hold and those that fail.
    pub decide: usize,
    /// How many rows there were, those that decide nothing among them.
    pub rows: usize,
    /// The load of the machine, where the rows were measured.
    pub load: String,
    /// The verdict.
    pub verdict: Verdict,
    /// Why it is not testable here.
    pub reason: Option<String>,
}

/// The verdicts of a paper, counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// The paper's name, or `all`.
    pub tally: String,
    /// All claims.
    pub claims: usize,
    /// Those of each verdict.
    pub confirmed: usize,
    /// Those that a row refutes.
    pub refuted: usize,
    /// Those that no row decides.
    pub not_testable: usize,
}

/// Counts the verdicts of each paper, and of all.
#[must_use]
pub fn tallies(judged: &[Judged]) -> Vec<Tally> {
    let papers = fibula_kit::distinct(judged.iter().map(|judged| judged.paper));
    let tally = |name: &str, of: &mut dyn Iterator<Item = &Judged>| {
        let mut tally = Tally { tally: name.into(), ..Tally::default() };
        for judged in of {
            tally.claims += 1;
            match judged.verdict {
                Verdict::Confirmed => tally.confirmed += 1,
                Verdict::Refuted => tally.refuted += 1,
                Verdict::NotTestableHere => tally.not_testable += 1,
            }
        }
        tally
    };
    let each = |paper| tally(paper, &mut judged.iter().filter(|judged| judged.paper == paper));
    papers.into_iter().map(each).chain([tally("all", &mut judged.iter())]).collect()
}

/// Both words on an exhibit: how much of it is here, and whether it shows what the paper claims.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Agreement {
    /// The paper's name.
    pub paper: String,
    /// The exhibit.
    pub exhibit: String,
    /// `whole`, `part` or `none`.
    pub coverage: String,
    /// `agrees`, `in part`, `differs`, or `open` where no claim about it is decided.
    pub agreement: &'static str,
    /// The claims about it that are confirmed.
    pub confirmed: usize,
    /// Those that are refuted.
    pub refuted: usize,
}

/// Returns both words on the exhibits of which some rows say what they are ([`About`]).
///
/// [`About`]: crate::About
#[must_use]
pub fn agreements(judged: &[Judged], rows: &[Row]) -> Vec<Agreement> {
    let agreement = |row: &Row| {
        let text = |key: &str| row.get(key).and_then(Value::as_str).map(String::from);
        let (coverage, paper, exhibit) = (text("coverage")?, text("paper")?, text("exhibit")?);
        let mine = judged.iter().filter(|one| one.paper == paper && one.exhibit.as_ref() == Some(&exhibit));
        let count = |verdict| mine.clone().filter(|judged| judged.verdict == verdict).count();
        let (confirmed, refuted) = (count(Verdict::Confirmed), count(Verdict::Refuted));
        let agreement = match (confirmed, refuted) {
            (0, 0) => "open",
            (_, 0) => "agrees",
            (0, _) => "differs",
            _ => "in part",
        };
        Some(Agreement { paper, exhibit, coverage, agreement, confirmed, refuted })
    };
    rows.iter().filter_map(agreement).collect()
}

/// Judges all claims of a paper by the rows that a study wrote.
///
/// # Errors
/// If the ledger is malformed.
pub fn judge(paper: &str, evidence: &Evidence) -> Result<Vec<Judged>, Error> {
    let values: Vec<Measured<'_>> = evidence.rows.iter().filter_map(|row| Measured::of(paper, row)).collect();
    Ok(claims(paper)?.iter().map(|claim| judged(claim, &values, &evidence.header)).collect())
}

/// A row that has a value.
#[derive(Clone, Copy, Debug)]
struct Measured<'r> {
    row: &'r Row,
    value: Span,
    paper: Option<f64>,
}

impl<'r> Measured<'r> {
    fn of(paper: &str, row: &'r Row) -> Option<Self> {
        if row.get("paper").and_then(Value::as_str) != Some(paper) {
            return None;
        }
        let number = |key: &str| row.get(key).and_then(Value::as_f64);
        let value = number("ours")?;
        let span = Span { low: number("low").unwrap_or(value), value, high: number("high").unwrap_or(value) };
        Some(Self { row, value: span, paper: number("paper_value") })
    }

    fn text(&self, key: &str) -> &'r str {
        self.row.get(key).and_then(Value::as_str).unwrap_or_default()
    }

    /// What the rows of one line of an exhibit have in common.
    fn line(&self) -> [&'r str; 3] {
        ["exhibit", "series", "unit"].map(|key| self.text(key))
    }

    fn is_of(&self, rows: &Selector) -> bool {
        let parts =
            [("exhibit", &rows.exhibit), ("series", &rows.series), ("at", &rows.at), ("unit", &rows.unit)];
        parts.into_iter().all(|(key, pattern)| pattern.fits(self.text(key)))
    }

    /// Whether `other` is of the rows that this row is compared with.
    fn is_compared_with(&self, rows: &Other, other: &Self) -> bool {
        let same = |key: &str, pattern: &Option<Pattern>| match pattern {
            Some(pattern) => pattern.fits(other.text(key)),
            None => self.text(key) == other.text(key),
        };
        let tables = [self.text("table"), other.text("table")];
        let other_table = tables.iter().all(|table| !table.is_empty()) && tables[0] != tables[1];
        same("exhibit", &rows.exhibit)
            && same("series", &rows.series)
            && same("at", &rows.at)
            && self.text("unit") == other.text("unit")
            && !other_table
            && !std::ptr::eq(self.row, other.row)
    }

    /// Whether the row's table meets a condition. What was measured without a table meets none;
    /// what was computed without one depends on none.
    fn meets(&self, condition: &Condition) -> bool {
        if self.text("table").is_empty() && self.text("basis") != "measured" {
            return true;
        }
        let value = self.row.get(&condition.key).and_then(Value::as_f64);
        value.is_some_and(|value| (condition.least..=condition.most).contains(&value))
    }
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

/// Tests the rows. Returns what each says, or each series where a test is about series.
fn says(test: &Test, rows: &[Measured<'_>], all: &[Measured<'_>]) -> Vec<Says> {
    match test {
        Test::Told => Vec::new(),
        Test::Within { least, most, open, scale } => {
            let says = |row: &Measured<'_>| {
                let compare = |scale| compare(row.value, *least, *most, *open, scale);
                match scale {
                    Scale::One => vec![compare(ONE)],
                    Scale::Paper => {
                        let paper = row.paper.map(|value| Span { low: value, value, high: value });
                        paper.map(compare).into_iter().collect()
                    }
                    Scale::Rows(other) => {
                        let others = all.iter().filter(|one| row.is_compared_with(other, one));
                        others.map(|other| compare(other.value)).collect()
                    }
                }
            };
            rows.iter().flat_map(says).collect()
        }
        Test::Rises | Test::Falls | Test::Flat(_) => {
            let series = fibula_kit::distinct(rows.iter().map(Measured::line));
            let values = series.into_iter().map(|name| {
                rows.iter().filter(|row| row.line() == name).map(|row| row.value).collect::<Vec<_>>()
            });
            values.filter(|values| values.len() > 1).map(|values| shape(test, values)).collect()
        }
    }
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

fn judged(claim: &Claim, all: &[Measured<'_>], header: &Header) -> Judged {
    let Claim { paper, number, place, says, written, reason, .. } = *claim;
    let blank = Judged {
        paper,
        claim: number,
        place,
        says,
        rule: written,
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
        reason: Some(reason.to_owned()).filter(|reason| !reason.is_empty()),
    };
    let Some(rule) = &claim.rule else { return blank };
    let (rows, unmet) = chosen(rule, all);
    let told = told(&rows, ratios(&rule.test, &rows, all), &header.load, blank);
    let loud = loud(header).filter(|_| rule.quietly);
    let said = if loud.is_some() { Vec::new() } else { self::says(&rule.test, &rows, all) };
    let count = |what| said.iter().filter(|&&says| says == what).count();
    let (hold, fail) = (count(Says::Holds), count(Says::Fails));
    let verdict = match (hold, fail, rule.at_best) {
        (0, 0, _) => Verdict::NotTestableHere,
        (0, _, true) | (_, 1.., false) => Verdict::Refuted,
        _ => Verdict::Confirmed,
    };
    let why = || {
        if !reason.is_empty() {
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
    let reason = (verdict == Verdict::NotTestableHere).then(why);
    Judged { hold, fail, decide: hold + fail, verdict, reason, ..told }
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
    let written: Vec<&str> = rule.conditions.iter().map(|condition| condition.written.as_str()).collect();
    let unmet = (had && rows.is_empty()).then(|| written.join(", "));
    (rows, unmet)
}

/// Returns how many times those that it is compared with each row is, where a test compares rows.
fn ratios(test: &Test, rows: &[Measured<'_>], all: &[Measured<'_>]) -> Vec<Span> {
    let Test::Within { scale: Scale::Rows(other), .. } = test else { return Vec::new() };
    let ratio = |row: &Measured<'_>, other: &Measured<'_>| Span {
        low: row.value.low / other.value.high,
        value: row.value.value / other.value.value,
        high: row.value.high / other.value.low,
    };
    let mut ratios = Vec::new();
    for row in rows {
        let others = all.iter().filter(|one| row.is_compared_with(other, one));
        ratios.extend(others.map(|other| ratio(row, other)).filter(|ratio| ratio.high.is_finite()));
    }
    ratios
}

/// Fills in what was measured: the rows' values, or their ratios to other rows if there are some.
fn told(rows: &[Measured<'_>], ratios: Vec<Span>, load: &str, blank: Judged) -> Judged {
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
        load: if first.text("basis") == "measured" { load.to_owned() } else { String::new() },
        ..blank
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn row(series: &str, at: &str, ours: f64, routes: u32) -> Value {
        json!({"paper": "p", "exhibit": "Figure 1", "series": series, "at": at, "unit": "Mlps", "ours": ours,
               "paper_value": 2.0, "basis": "measured", "table": "t", "routes": routes})
    }

    fn verdict(rule: &str, rows: &[Value]) -> Judged {
        let mut evidence = Evidence::default();
        evidence.add(rows).unwrap();
        let values: Vec<_> = evidence.rows.iter().filter_map(|row| Measured::of("p", row)).collect();
        let defaults = Condition::list("routes >= 1000").unwrap();
        let rule = Some(Rule::parse(rule, &defaults).unwrap());
        let claim = Claim { paper: "p", number: 1, place: "1", says: "", written: "", rule, reason: "" };
        let header = Header { load: "0.5".into(), ..Header::default() };
        judged(&claim, &values, &header)
    }

    #[test]
    fn verdicts_follow_from_rows() {
        use Verdict::{Confirmed, NotTestableHere, Refuted};
        let rows = [row("a", "1", 2.0, 5000), row("a", "2", 4.0, 5000), row("b", "1", 1.0, 5000)];
        for (rule, expected) in [
            ("Figure 1: a @ 1 [Mlps] >= 2", Confirmed),
            ("Figure 1: a @ 1 [Mlps] > 2", Refuted),
            ("Figure 1: a @ * [Mlps] >= 3", Refuted),
            ("Figure 1: a @ * [Mlps] >= 3 at best", Confirmed),
            ("Figure 1: a @ * [Mlps] >= 5 at best", Refuted),
            ("Figure 1: a @ 1 [Mlps] in 1..3", Confirmed),
            ("Figure 1: a @ 2 [Mlps] = 3.9 +- 5 %", Confirmed),
            ("Figure 1: a @ 2 [Mlps] = paper +- 5 %", Refuted),
            ("Figure 1: a @ 1 [Mlps] = paper +- 0 %", Confirmed),
            ("Figure 1: a @ 1 [Mlps] >= 2 * {b}", Confirmed),
            ("Figure 1: a @ 1 [Mlps] >= 2.1 * {b}", Refuted),
            ("Figure 1: a @ 2 [Mlps] >= 2 * {= @ 1}", Confirmed),
            ("Figure *: a @ 2 [Mlps] >= 1 * {b}", NotTestableHere),
            ("Figure 1: a @ * [Mlps] rises", Confirmed),
            ("Figure 1: a @ * [Mlps] falls", Refuted),
            ("Figure 1: a @ * [Mlps] flat 50 %", Refuted),
            ("Figure 1: a @ * [Mlps] told", NotTestableHere),
            ("Figure 1: c @ * [Mlps] >= 0", NotTestableHere),
            ("Figure 1: a @ * [Mlps] >= 0 where routes >= 9000", NotTestableHere),
        ] {
            assert_eq!(verdict(rule, &rows).verdict, expected, "{rule}");
        }
        let judged = verdict("Figure 1: a @ * [Mlps] >= 3", &rows);
        assert_eq!((judged.hold, judged.fail, judged.rows, judged.measured), (1, 1, 2, Some(4.0)));
        assert_eq!((judged.low, judged.high, judged.load.as_str()), (Some(2.0), Some(4.0), "0.5"));
    }

    #[test]
    fn a_machine_is_loud_where_its_load_is_more_than_its_cores() {
        let header = |load: &str| Header {
            load: load.into(),
            processor: "a machine, 2 cores, much memory".into(),
            ..Header::default()
        };
        assert_eq!([loud(&header("1.9")), loud(&header("")), loud(&Header::default())], [None, None, None]);
        assert_eq!(loud(&header("3.5")).unwrap(), "the machine had a load of 3.5 on its 2 cores");
    }

    #[test]
    fn a_small_table_and_a_wide_spread_decide_nothing() {
        let small = verdict("Figure 1: a @ 1 [Mlps] >= 2", &[row("a", "1", 2.0, 3)]);
        assert_eq!(small.reason.as_deref(), Some("no table with routes >= 1000"));
        let mut wide = row("a", "1", 2.0, 5000);
        wide["low"] = json!(1.0);
        wide["high"] = json!(3.0);
        let judged = verdict("Figure 1: a @ 1 [Mlps] >= 1.5", &[wide.clone()]);
        assert_eq!(judged.verdict, Verdict::NotTestableHere);
        assert!(judged.reason.unwrap().contains("spread"));
        assert_eq!(verdict("Figure 1: a @ 1 [Mlps] >= 0.5", &[wide.clone()]).verdict, Verdict::Confirmed);
        assert_eq!(verdict("Figure 1: a @ 1 [Mlps] in 1.9..2.1", &[wide]).verdict, Verdict::NotTestableHere);
    }
}
