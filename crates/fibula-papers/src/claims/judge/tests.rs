//! The judge on made rows.

use super::*;
use crate::claims::inputs::{Inputs, Own};
use crate::claims::rule::{Condition, Pattern};
use serde_json::json;

fn row(series: &str, at: &str, ours: f64, routes: u32) -> Value {
    json!({"paper": "p", "exhibit": "Figure 1", "series": series, "at": at, "unit": "Mlps", "ours": ours,
           "paper_value": 2.0, "basis": "measured", "table": "t", "routes": routes})
}

fn of(said_of: &'static str, rule: &str, rows: &[Value]) -> Judged {
    let mut evidence = Evidence::default();
    evidence.add(rows).unwrap();
    evidence.header = Header { load: "0.5".into(), processor: "a Xeon".into(), ..Header::default() };
    let parts = Parts::of(&evidence);
    let values: Vec<_> = measured(&parts).filter(Measured::decides).collect();
    let defaults = Condition::list("routes >= 1000").unwrap();
    let rule = Some(Rule::parse(rule, &defaults).unwrap());
    let inputs = Inputs::parse(said_of).unwrap();
    let claim = Claim { number: 1, place: "1", quote: "", says: "", inputs, written: "", rule, reason: "" };
    let own = Own { tables: Pattern::new("own"), machine: "FX" };
    judged(&Ledger { paper: "p", own, claims: Vec::new() }, &claim, &values)
}

fn verdict(rule: &str, rows: &[Value]) -> Judged {
    of("any", rule, rows)
}

#[test]
fn verdicts_follow_from_rows() {
    use Verdict::{NotTestableHere, Refuted, Reproduced};
    let rows = [row("a", "1", 2.0, 5000), row("a", "2", 4.0, 5000), row("b", "1", 1.0, 5000)];
    for (rule, expected) in [
        ("Figure 1: a @ 1 [Mlps] >= 2", Reproduced),
        ("Figure 1: a @ 1 [Mlps] > 2", Refuted),
        ("Figure 1: a @ * [Mlps] >= 3", Refuted),
        ("Figure 1: a @ * [Mlps] >= 3 for some", Reproduced),
        ("Figure 1: a @ * [Mlps] >= 5 for some", Refuted),
        ("Figure 1: * @ * [Mlps] >= 2 for most", Reproduced),
        ("Figure 1: * @ * [Mlps] >= 3 for most", Refuted),
        ("Figure 1: a @ * [Mlps] >= 3 on average", Reproduced),
        ("Figure 1: a @ * [Mlps] >= 3 * {b @ 1} on average", Reproduced),
        ("Figure 1: a @ * [Mlps] >= 3.1 * {b @ 1} on average", Refuted),
        ("Figure 1: a @ 1 [Mlps] in 1..3", Reproduced),
        ("Figure 1: a @ 2 [Mlps] = 3.9 +- 5 %", Reproduced),
        ("Figure 1: a @ 2 [Mlps] = paper +- 5 %", Refuted),
        ("Figure 1: a @ 1 [Mlps] = paper +- 0 %", Reproduced),
        ("Figure 1: a @ 1 [Mlps] >= 2 * {b}", Reproduced),
        ("Figure 1: a @ 1 [Mlps] >= 2.1 * {b}", Refuted),
        ("Figure 1: a @ 2 [Mlps] >= 2 * {= @ 1}", Reproduced),
        ("Figure *: a @ 2 [Mlps] >= 1 * {b}", NotTestableHere),
        ("Figure 1: a @ * [Mlps] rises", Reproduced),
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

/// The same row that fails, with other facts.
#[test]
fn what_a_row_that_fails_says_follows_from_its_facts() {
    let with = |key: &str, value: Value| {
        let mut row = row("a", "1", 2.0, 5000);
        row[key] = value;
        row
    };
    let told = |said_of, row: Value| {
        let judged = of(said_of, "Figure 1: a @ 1 [Mlps] >= 3 where any", &[row]);
        (judged.verdict, judged.differs.unwrap_or_default(), judged.model)
    };
    let none = String::new;
    let (differs, refuted) = (Verdict::DiffersOnOtherInputs, Verdict::Refuted);
    assert_eq!(told("", with("unit", json!("Mlps"))), (differs, "table, machine".into(), None));
    assert_eq!(told("", with("table", json!("own"))), (differs, "machine".into(), None));
    assert_eq!(told("any machine", with("table", json!("own"))), (refuted, none(), None));
    assert_eq!(
        told("any; protocol 2 cores for 8", with("table", json!("own"))),
        (differs, "protocol (2 cores for 8)".into(), None)
    );
    assert_eq!(told("", with("basis", json!("model"))), (Verdict::OurModelFails, none(), Some("fails")));
    assert_eq!(told("any", with("basis", json!("fitted"))), (Verdict::NotTestableHere, none(), None));
    let mut arithmetic = with("basis", json!("computed"));
    arithmetic["table"] = Value::Null;
    assert_eq!(told("", arithmetic), (Verdict::InconsistentWithinThePaper, none(), None));
    let agrees = of("", "Figure 1: a @ 1 [Mlps] >= 1", &[with("basis", json!("model"))]);
    assert_eq!((agrees.verdict, agrees.model), (Verdict::NotTestableHere, Some("agrees")));
}

#[test]
fn what_is_in_which_file_changes_nothing() {
    let mut mine = row("SAIL_L", "a lookup, most", 5.0, 500_000);
    for (key, value) in [("paper", "sail"), ("exhibit", "Section 4"), ("unit", "loads")] {
        mine[key] = json!(value);
    }
    let evidence = |rows: &[&Value]| {
        let mut evidence = Evidence::default();
        evidence.add(rows).unwrap();
        evidence
    };
    let [once, other] = [evidence(&[&mine]), evidence(&[&json!({"paper": "dxr", "claim": 1})])];
    let judged = judge_all(std::slice::from_ref(&once)).unwrap();
    assert!(judged.iter().any(|judged| judged.verdict == Verdict::Refuted), "nothing is decided");
    assert_eq!(judge_all(&[other.clone(), once.clone(), once.clone()]).unwrap(), judged);
    assert!(judge_all(&[other]).unwrap_err().to_string().contains("no rows of a paper's exhibit"));
    mine["ours"] = json!(6.0);
    let error = judge_all(&[once, evidence(&[&mine])]).unwrap_err().to_string();
    assert!(error.contains("sail, Section 4: two files"), "{error}");
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
    assert_eq!(verdict("Figure 1: a @ 1 [Mlps] >= 0.5", &[wide.clone()]).verdict, Verdict::Reproduced);
    assert_eq!(verdict("Figure 1: a @ 1 [Mlps] in 1.9..2.1", &[wide]).verdict, Verdict::NotTestableHere);
}
