//! A rule that nothing can change is no test: the rows of the tree's evidence are made smaller and
//! greater, and taken away, and every verdict must follow.

use super::*;
use fibula_kit::Evidence;
use std::path::Path;

/// The factors by which rows are multiplied.
const FACTORS: [f64; 8] = [1.0 / 3.0, 0.5, 0.8, 0.95, 1.05, 1.25, 2.0, 3.0];

/// Those of a rule that holds by far.
const FAR: [f64; 6] = [1e-4, 1e-2, 0.1, 10.0, 1e2, 1e4];

fn evidence(paper: &str) -> Evidence {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../docs/evidence/{paper}.jsonl"));
    Evidence::read(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// Returns a row with a value that is a multiple of it; a count of zero becomes one.
fn scaled<'r>(row: &Measured<'r>, factor: f64) -> Measured<'r> {
    let scaled = |value: f64| if value == 0.0 { factor.max(1.0).floor() } else { value * factor };
    let Span { low, value, high } = row.value;
    let (low, high) = (scaled(low), scaled(high));
    Measured { value: Span { low: low.min(high), value: scaled(value), high: low.max(high) }, ..*row }
}

/// Whether a mutation of the rows that a rule selects, each alone or all together, passes a test.
fn any_mutation<'r>(
    all: &[Measured<'r>],
    mine: &[usize],
    factors: &[f64],
    passes: impl Fn(&[Measured<'r>]) -> bool,
) -> bool {
    let alone = mine.iter().map(std::slice::from_ref);
    let mut sets = [mine].into_iter().chain(alone);
    sets.any(|set| {
        factors.iter().any(|&factor| {
            let mut all = all.to_vec();
            for &at in set {
                all[at] = scaled(&all[at], factor);
            }
            passes(&all)
        })
    })
}

/// Returns the rows with values that a rule is made for: inside its bounds, or in its order.
fn made_for<'r>(rule: &Rule, all: &[Measured<'r>], mine: &[usize]) -> Vec<Measured<'r>> {
    let inside = |least: f64, most: f64| match (least.is_finite(), most.is_finite()) {
        (true, true) => f64::midpoint(least, most),
        (true, false) => least * 1.1 + 1e-9,
        (false, _) => most * 0.9 - if most > 0.0 { 0.0 } else { 1e-9 },
    };
    let mut made = all.to_vec();
    for (number, &at) in mine.iter().enumerate() {
        let value = match &rule.test {
            Test::Told => continue,
            Test::Within { least, most, scale, .. } => {
                let by = scales(scale, &all[at], all).map(|by| by.value);
                // Beside several, the hardest to meet.
                let by = if least.is_finite() { by.reduce(f64::max) } else { by.reduce(f64::min) };
                inside(*least, *most) * by.unwrap_or(1.0)
            }
            Test::Flat(_) => 1.0,
            Test::Rises => 1.1_f64.powf(number as f64),
            Test::Falls => 0.9_f64.powf(number as f64),
        };
        made[at].value = Span::from(value);
    }
    made
}

/// A claim that holds must fail on some rows, and one that fails must hold on some.
#[test]
fn every_rule_can_hold_and_can_fail() {
    let mut never = Vec::new();
    for paper in PAPERS {
        let evidence = evidence(paper.name);
        let parts = Parts::of(&evidence);
        let all: Vec<_> = measured(&parts).filter(Measured::decides).collect();
        let ledger = Ledger::of(paper.name).unwrap();
        for claim in &ledger.claims {
            let Some(rule) = &claim.rule else { continue };
            let base = judged(&ledger, claim, &all);
            if base.decide == 0 {
                continue;
            }
            let (rows, _) = chosen(rule, &all);
            let is_mine = |at: &usize| rows.iter().any(|row| std::ptr::eq(row.row, all[*at].row));
            let mine: Vec<usize> = (0..all.len()).filter(is_mine).collect();
            let fails = |all: &[Measured<'_>]| judged(&ledger, claim, all).verdict.fails();
            let holds = |all: &[Measured<'_>]| {
                let judged = judged(&ledger, claim, all);
                judged.decide > 0 && !judged.verdict.fails()
            };
            let name = format!("{} {}: {} ({})", paper.name, claim.number, claim.written, base.verdict);
            let is_right = if base.verdict.fails() {
                holds(&made_for(rule, &all, &mine))
            } else {
                let within = any_mutation(&all, &mine, &FACTORS, fails);
                within != rule.by_far && (within || any_mutation(&all, &mine, &FAR, fails))
            };
            if !is_right {
                never.push(name);
            }
            let mut without = all.clone();
            for &at in mine.iter().rev() {
                without.remove(at);
                let judged = judged(&ledger, claim, &without);
                assert!(judged.rows < base.rows, "{}: a row that was taken away is there", claim.written);
            }
            assert_eq!(judged(&ledger, claim, &without).decide, 0, "{}", claim.written);
        }
    }
    assert!(never.is_empty(), "{} rules never change their verdict:\n{}", never.len(), never.join("\n"));
}
