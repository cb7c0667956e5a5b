//! A judge that shares no code with the crate's: it reads the ledgers and the evidence of the tree
//! by itself, decides in its own order, and must come to the same verdict on every claim.

use serde_json::{Map, Value};
use std::path::Path;

type Row = Map<String, Value>;

/// The file with this path from the root of the tree.
fn read(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)).unwrap()
}

fn rows(file: &str) -> Vec<Row> {
    let text = read(&format!("docs/evidence/{file}.jsonl"));
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn text<'r>(row: &'r Row, key: &str) -> &'r str {
    row.get(key).and_then(Value::as_str).unwrap_or("")
}

fn number(row: &Row, key: &str) -> Option<f64> {
    row.get(key).and_then(Value::as_f64)
}

/// Matches names by dynamic programming over both, where the judge backtracks.
fn matches(patterns: &str, name: &str) -> bool {
    patterns.split('|').any(|pattern| {
        let name: Vec<char> = name.chars().collect();
        let mut reached = vec![false; name.len() + 1];
        reached[0] = true;
        for wanted in pattern.chars() {
            if wanted == '*' {
                let first = reached.iter().position(|&is| is).unwrap_or(name.len() + 1);
                reached.iter_mut().skip(first).for_each(|is| *is = true);
            } else {
                for at in (0..name.len()).rev() {
                    reached[at + 1] = reached[at] && name[at] == wanted;
                }
                reached[0] = false;
            }
        }
        reached[name.len()]
    })
}

/// The ends of a value: least, middle and greatest.
type Ends = [f64; 3];

fn ends(row: &Row) -> Ends {
    let middle = number(row, "ours").unwrap();
    [number(row, "low").unwrap_or(middle), middle, number(row, "high").unwrap_or(middle)]
}

/// A comparison: both factors, whether their ends are outside, and what they are multiplied by.
struct Bounds<'t> {
    least: Option<f64>,
    most: Option<f64>,
    outside: bool,
    by: By<'t>,
}

#[derive(Clone, Copy)]
enum By<'t> {
    Nothing,
    Paper,
    Others(&'t str),
}

fn bounds(test: &str) -> Bounds<'_> {
    let (test, others) = test.split_once(" * {").map_or((test, None), |(test, rest)| (test, Some(rest)));
    let mut by = others.map_or(By::Nothing, |rest| By::Others(rest.strip_suffix('}').unwrap()));
    let (op, rest) = test.split_once(' ').unwrap();
    let parsed = |text: &str| text.trim().parse::<f64>().unwrap();
    let (least, most) = match op {
        ">" | ">=" => (Some(parsed(rest)), None),
        "<" | "<=" => (None, Some(parsed(rest))),
        "in" => rest.split_once("..").map(|(least, most)| (Some(parsed(least)), Some(parsed(most)))).unwrap(),
        "=" => {
            let (value, share) = rest.split_once(" +- ").unwrap();
            let share = parsed(share.trim_end_matches('%')) / 100.0;
            let value = if value == "paper" { 1.0 } else { parsed(value) };
            if rest.starts_with("paper") {
                by = By::Paper;
            }
            (Some(value * (1.0 - share)), Some(value * (1.0 + share)))
        }
        _ => panic!("unknown comparison {test:?}"),
    };
    Bounds { least, most, outside: matches!(op, "<" | ">"), by }
}

/// 1 if all of a value is within bounds, -1 if nothing of it is, else 0.
fn side(value: Ends, bounds: &Bounds<'_>, by: Ends) -> i32 {
    let slack = |bound: f64| if bounds.outside { 0.0 } else { bound.abs() * 1e-9 };
    let inside = |value: f64, least_by: f64, most_by: f64| {
        let above = bounds.least.is_none_or(|factor| {
            let bound = factor * least_by;
            value > bound - slack(bound) || (!bounds.outside && value >= bound)
        });
        let below = bounds.most.is_none_or(|factor| {
            let bound = factor * most_by;
            value < bound + slack(bound) || (!bounds.outside && value <= bound)
        });
        above && below
    };
    if [value[0], value[2]].into_iter().all(|value| inside(value, by[2], by[0])) {
        return 1;
    }
    let crosses = |by: f64| {
        let least = bounds.least.map_or(f64::NEG_INFINITY, |factor| factor * by);
        let most = bounds.most.map_or(f64::INFINITY, |factor| factor * by);
        inside(value[0], by, by) || inside(value[2], by, by) || (value[0] <= least && value[2] >= most)
    };
    if crosses(by[0]) || crosses(by[2]) { 0 } else { -1 }
}

/// 1 if a series goes the way that a word says, -1 if it does not, 0 if its spread hides it.
fn way(word: &str, mut series: Vec<Ends>) -> i32 {
    if let Some(share) = word.strip_prefix("flat ") {
        let share: f64 = share.trim_end_matches('%').trim().parse().unwrap();
        series.sort_by(|one, other| one[1].total_cmp(&other[1]));
        let most = Some(1.0 + share / 100.0);
        let bounds = Bounds { least: None, most, outside: false, by: By::Nothing };
        return side(*series.last().unwrap(), &bounds, series[0]);
    }
    if word == "falls" {
        series.reverse();
    }
    let back = (1..series.len()).any(|at| series[at][2] < series[at - 1][0]);
    let grown = series.last().unwrap()[0] > series[0][2];
    if back { -1 } else { i32::from(grown) }
}

/// What a line of a ledger asks for.
struct Asked<'t> {
    of: &'t str,
    names: [&'t str; 4],
    test: &'t str,
    quantifier: &'t str,
    quietly: bool,
    conditions: Vec<&'t str>,
}

const KEYS: [&str; 4] = ["exhibit", "series", "at", "unit"];

fn asked<'t>(of: &'t str, rule: &'t str, default: &'t str) -> Asked<'t> {
    let (rule, conditions) = rule.split_once(" where ").unwrap_or((rule, default));
    let conditions = conditions.split(',').map(str::trim).filter(|condition| *condition != "any").collect();
    let (rule, quietly) = rule.strip_suffix(" quietly").map_or((rule, false), |rule| (rule, true));
    let rule = rule.strip_suffix(" by far").unwrap_or(rule);
    let found = ["for most", "for some", "on average"].into_iter().find(|word| rule.ends_with(word));
    let quantifier = found.unwrap_or("for all");
    let rule = rule.strip_suffix(quantifier).unwrap_or(rule).trim_end();
    let (exhibit, rest) = rule.split_once(": ").unwrap();
    let (series, rest) = rest.split_once(" @ ").unwrap();
    let (at, rest) = rest.split_once(" [").unwrap();
    let (unit, test) = rest.split_once("] ").unwrap();
    Asked { of, names: [exhibit, series, at, unit], test, quantifier, quietly, conditions }
}

/// Whether two rows are of one table, or one of them of none.
fn of_one_table(one: &Row, other: &Row) -> bool {
    let [one, other] = [text(one, "table"), text(other, "table")];
    one.is_empty() || other.is_empty() || one == other
}

/// Returns the rows that a row is compared with.
fn others<'r>(row: &'r Row, names: &str, all: &'r [Row]) -> Vec<&'r Row> {
    let (exhibit, rest) =
        names.split_once(": ").map_or((None, names), |(exhibit, rest)| (Some(exhibit), rest));
    let (series, at) = rest.split_once(" @ ").map_or((rest, None), |(series, at)| (series, Some(at)));
    let series = Some(series).filter(|series| *series != "=");
    let wanted = [("exhibit", exhibit), ("series", series), ("at", at), ("unit", None)];
    let fits = |other: &&Row| {
        wanted.iter().all(|(key, pattern)| match pattern {
            Some(pattern) => matches(pattern, text(other, key)),
            None => text(other, key) == text(row, key),
        }) && of_one_table(row, other)
            && !std::ptr::eq(row, *other)
    };
    all.iter().filter(fits).collect()
}

/// What a row, a series, or the mean of rows says, and the row by whose facts it fails.
fn said<'r>(asked: &Asked<'_>, chosen: &[&'r Row], all: &'r [Row]) -> Vec<(i32, &'r Row)> {
    let word = asked.test;
    if word == "told" {
        return Vec::new();
    }
    if word == "rises" || word == "falls" || word.starts_with("flat ") {
        let mut series: Vec<Vec<&Row>> = Vec::new();
        for &row in chosen {
            let same = |of: &&mut Vec<&Row>| {
                ["exhibit", "series", "unit"].iter().all(|key| text(of[0], key) == text(row, key))
            };
            match series.iter_mut().find(same) {
                Some(of) => of.push(row),
                None => series.push(vec![row]),
            }
        }
        series.retain(|of| of.len() > 1);
        return series
            .iter()
            .map(|of| (way(word, of.iter().map(|row| ends(row)).collect()), of[0]))
            .collect();
    }
    let bounds = bounds(word);
    let mut pairs: Vec<(&Row, Ends)> = Vec::new();
    for &row in chosen {
        match bounds.by {
            By::Nothing => pairs.push((row, [1.0; 3])),
            By::Paper => pairs.extend(number(row, "paper_value").map(|paper| (row, [paper; 3]))),
            By::Others(names) => {
                pairs.extend(others(row, names, all).into_iter().map(|other| (row, ends(other))));
            }
        }
    }
    if asked.quantifier == "on average" && !pairs.is_empty() {
        let mut mean = [0.0; 3];
        for (row, by) in &pairs {
            let value = ends(row);
            for (at, sum) in mean.iter_mut().enumerate() {
                *sum += value[at] / by[2 - at] / pairs.len() as f64;
            }
        }
        return vec![(side(mean, &bounds, [1.0; 3]), pairs[0].0)];
    }
    pairs.into_iter().map(|(row, by)| (side(ends(row), &bounds, by), row)).collect()
}

/// Whether a row's table meets a condition, as `routes >= 300000`.
fn meets(row: &Row, condition: &str) -> bool {
    if text(row, "table").is_empty() && text(row, "basis") != "measured" {
        return true;
    }
    let (key, test) = condition.split_once(' ').unwrap();
    number(row, key).is_some_and(|value| {
        let Bounds { least, most, .. } = bounds(test);
        least.is_none_or(|least| value >= least) && most.is_none_or(|most| value <= most)
    })
}

/// The paper's own inputs, and those of the rows.
struct Inputs<'t> {
    tables: &'t str,
    machine: &'t str,
    processor: String,
}

/// Names the inputs that a row does not share with the paper, by which order they are told in.
fn differing(row: &Row, of: &str, inputs: &Inputs<'_>) -> Vec<(u8, String)> {
    const NOT_OF_TIME: [&str; 25] = [
        "MB",
        "entries",
        "prefixes",
        "bytes",
        "bytes a prefix",
        "bits a prefix",
        "% of all",
        "% of addresses",
        "% of prefixes",
        "% of the prefixes",
        "% ExtraNHIA",
        "ranges",
        "ranges a prefix",
        "loads",
        "accesses",
        "accesses at most",
        "hashes",
        "hashes at most",
        "writes",
        "writes an update",
        "probes",
        "an update",
        "bytes copied",
        "times after expansion",
        "times the prefixes",
    ];
    let unit = text(row, "unit");
    let parts: Vec<&str> = of.split("; ").collect();
    let any = |word: &str| parts.contains(&"any") || parts.contains(&word);
    let mut differing = Vec::new();
    let table = text(row, "table");
    if unit != "answers" && !any("any table") && !table.is_empty() && !matches(inputs.tables, table) {
        differing.push((0, "table".to_owned()));
    }
    let of_time = unit != "answers" && !NOT_OF_TIME.contains(&unit);
    let measured = text(row, "basis") == "measured";
    if of_time && measured && !any("any machine") && !inputs.processor.contains(inputs.machine) {
        differing.push((1, "machine".to_owned()));
    }
    let how = parts.iter().find_map(|part| part.strip_prefix("protocol "));
    differing.extend(how.map(|how| (2, format!("protocol ({how})"))));
    differing
}

/// The verdict, how many rows hold and fail, what differs, and the word on a model.
type Outcome = (&'static str, u64, u64, Option<String>, Option<&'static str>);

fn outcome(asked: &Asked<'_>, all: &[Row], inputs: &Inputs<'_>, loud: impl Fn(&Row) -> bool) -> Outcome {
    let fits =
        |row: &&Row| asked.names.iter().zip(KEYS).all(|(pattern, key)| matches(pattern, text(row, key)));
    let mut chosen: Vec<&Row> = all.iter().filter(fits).collect();
    chosen.retain(|row| asked.conditions.iter().all(|condition| meets(row, condition)));
    let only_models = chosen.iter().all(|row| text(row, "basis") == "model");
    if !only_models {
        chosen.retain(|row| text(row, "basis") != "model");
    }
    let is_loud = asked.quietly && chosen.first().is_some_and(|row| loud(row));
    let said = if is_loud { Vec::new() } else { said(asked, &chosen, all) };
    let count = |what| said.iter().filter(|(one, _)| *one == what).count() as u64;
    let (hold, fail) = (count(1), count(-1));
    let holds = match asked.quantifier {
        "for most" => hold > fail,
        "for some" => hold > 0,
        _ => fail == 0,
    };
    let failing: Vec<&Row> = said.iter().filter(|(one, _)| *one == -1).map(|(_, row)| *row).collect();
    let arithmetic = |row: &&Row| text(row, "table").is_empty() && text(row, "basis") == "computed";
    let mut why: Vec<(u8, String)> =
        failing.iter().flat_map(|row| differing(row, asked.of, inputs)).collect();
    why.sort();
    why.dedup();
    let why = why.into_iter().map(|(_, what)| what).collect::<Vec<_>>().join(", ");
    match (hold + fail > 0, only_models, holds) {
        (false, ..) => ("not-testable-here", hold, fail, None, None),
        (_, true, true) => ("not-testable-here", hold, fail, None, Some("agrees")),
        (_, true, false) => ("our-model-fails", hold, fail, None, Some("fails")),
        (_, _, true) => ("reproduced", hold, fail, None, None),
        _ if failing.iter().all(arithmetic) => ("inconsistent-within-the-paper", hold, fail, None, None),
        _ if why.is_empty() => ("refuted", hold, fail, None, None),
        _ => ("differs-on-other-inputs", hold, fail, Some(why), None),
    }
}

/// Whether a load is more than the cores of a machine.
fn is_loud(header: &Row) -> bool {
    let cores = text(header, "processor").split(", ").find_map(|part| part.strip_suffix(" cores"));
    let cores: Option<f64> = cores.and_then(|cores| cores.parse().ok());
    let load: Option<f64> = text(header, "load").parse().ok();
    load.zip(cores).is_some_and(|(load, cores)| load > cores)
}

#[test]
fn both_judges_come_to_the_same_verdicts() {
    let written = rows("claims");
    let mut claims = 0;
    for paper in ["triec", "dxr", "tilepro", "sail", "poptrie", "bloom", "cram", "planb"] {
        let all = rows(paper);
        let header = &all[0];
        let part = |row: &Row| {
            let about = all.iter().find(|about| {
                about.contains_key("measured_by") && text(about, "exhibit") == text(row, "exhibit")
            });
            about.and_then(|about| about["measured_by"].as_object()).unwrap_or(header)
        };
        let decides = |row: &&Row| number(row, "ours").is_some() && text(row, "basis") != "fitted";
        let deciding: Vec<Row> = all.iter().filter(decides).cloned().collect();
        let ledger = read(&format!("crates/fibula-papers/claims/{paper}.tsv"));
        let mut lines = ledger.lines();
        let mut head = |key: &str| lines.next().and_then(|line| line.strip_prefix(key)).unwrap();
        let (tables, machine, default) = (head("tables: "), head("machine: "), head("default: "));
        let processor = text(header, "processor").to_owned();
        let inputs = Inputs { tables, machine, processor };
        let verdicts = written.iter().filter(|row| text(row, "paper") == paper && row.contains_key("claim"));
        let mut verdicts = verdicts.collect::<Vec<_>>().into_iter();
        for line in lines {
            let fields: Vec<&str> = line.split('\t').collect();
            let verdict = verdicts.next().unwrap_or_else(|| panic!("{paper}: no verdict on {line}"));
            assert_eq!(text(verdict, "quote"), fields[1], "{paper}: another claim");
            let loud = |row: &Row| is_loud(part(row));
            let (word, hold, fail, differs, model) = if fields[4] == "-" {
                ("not-testable-here", 0, 0, None, None)
            } else {
                outcome(&asked(fields[3], fields[4], default), &deciding, &inputs, loud)
            };
            let counts = ["hold", "fail"].map(|key| verdict[key].as_u64().unwrap());
            let known = |key: &str| verdict[key].as_str();
            let theirs = (text(verdict, "verdict"), counts, known("differs"), known("model"));
            assert_eq!(theirs, (word, [hold, fail], differs.as_deref(), model), "{paper}: {line}");
            claims += 1;
        }
        assert!(verdicts.next().is_none(), "{paper}: more verdicts than claims");
    }
    assert!(claims > 400, "{claims}");
}
