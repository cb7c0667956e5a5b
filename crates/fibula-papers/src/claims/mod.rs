//! The ledger: what the papers claim, and what the rows of their exhibits say of it.
//!
//! A claim is a line of `claims/PAPER.tsv`: where the paper says it, in which words, what
//! it says, of which [inputs], how it is tested (a [rule] over the rows of the exhibits) and why it
//! may not be testable here. The first lines name the paper's own tables and machine, and the
//! conditions that a row's table must meet where a rule has none of its own, so that a small table
//! decides nothing.
//!
//! [`judge_all`] reads rows, the JSON lines that a study writes, and never what was measured
//! itself: the verdicts of evidence that was written before are computed in the same way.

mod inputs;
mod judge;
mod measured;
mod rule;
mod verdict;

pub use judge::{judge_all, tables_of};
pub use verdict::{Agreement, Judged, Tally, Verdict, agreements, tallies};

use crate::Error;
use inputs::{Inputs, Own};
use rule::{Condition, Pattern, Rule};

/// A claim as the ledger has it.
#[derive(Debug)]
struct Claim {
    /// The number of the claim in its paper, from 1.
    number: usize,
    /// The section, table or figure, or `abstract`.
    place: &'static str,
    /// Words of the paper, by which the claim is found.
    quote: &'static str,
    /// What it says, with its numbers.
    says: &'static str,
    /// What it says it of.
    inputs: Inputs,
    /// The rule as it is written; `-` where none is.
    written: &'static str,
    /// How it is tested.
    rule: Option<Rule>,
    /// Why it is not testable here, where no row decides; or why it fails, where it does in any
    /// case.
    reason: &'static str,
}

/// The claims of a paper, and its own inputs.
#[derive(Debug)]
struct Ledger {
    paper: &'static str,
    own: Own,
    claims: Vec<Claim>,
}

/// The lines of a ledger before its claims.
const HEAD: usize = 3;

/// The ledgers, by paper.
const LEDGERS: [(&str, &str); 8] = [
    ("triec", include_str!("../../claims/triec.tsv")),
    ("dxr", include_str!("../../claims/dxr.tsv")),
    ("tilepro", include_str!("../../claims/tilepro.tsv")),
    ("sail", include_str!("../../claims/sail.tsv")),
    ("poptrie", include_str!("../../claims/poptrie.tsv")),
    ("bloom", include_str!("../../claims/bloom.tsv")),
    ("cram", include_str!("../../claims/cram.tsv")),
    ("planb", include_str!("../../claims/planb.tsv")),
];

impl Ledger {
    /// Reads the ledger of a paper, one without claims if there is no such paper.
    ///
    /// # Errors
    /// If a line is malformed; the error names it.
    fn of(paper: &'static str) -> Result<Self, Error> {
        let text = LEDGERS.iter().find(|(name, _)| *name == paper).map_or("", |(_, text)| text);
        let wrong =
            |number: usize, why: &str| Error::wrong(format!("claims/{paper}.tsv:{}: {why}", number + 1));
        let mut lines = text.lines().enumerate();
        let mut head = |key: &str| {
            let (number, line) = lines.next().unwrap_or_default();
            let value = line.strip_prefix(key).and_then(|rest| rest.strip_prefix(": "));
            value.ok_or_else(|| wrong(number, &format!("expected {key}: and a value")))
        };
        let own = Own { tables: Pattern::new(head("tables")?), machine: head("machine")? };
        let defaults = Condition::list(head("default")?).map_err(|why| wrong(HEAD - 1, &why))?;
        let claim =
            |(line, text)| Claim::parse(text, line + 1 - HEAD, &defaults).map_err(|why| wrong(line, &why));
        Ok(Self { paper, own, claims: lines.map(claim).collect::<Result<_, _>>()? })
    }
}

impl Claim {
    fn parse(line: &'static str, number: usize, defaults: &[Condition]) -> Result<Self, String> {
        let fields: Vec<&str> = line.split('\t').collect();
        let (&[place, quote, says, inputs, written], reason) = fields
            .split_first_chunk::<5>()
            .ok_or("expected place, quote, claim, what it is of, and a rule")?;
        let reason = reason.first().copied().unwrap_or_default();
        if quote.is_empty() || says.is_empty() || (written == "-" && reason.is_empty()) {
            return Err("expected place, quote, claim, what it is of, and a rule or a reason".into());
        }
        let rule = (written != "-").then(|| Rule::parse(written, defaults)).transpose()?;
        Ok(Self { number, place, quote, says, inputs: Inputs::parse(inputs)?, written, rule, reason })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PAPERS;

    #[test]
    fn every_claim_has_a_rule_about_an_exhibit_or_a_reason() {
        let mut all = 0;
        for paper in PAPERS {
            let Ledger { claims, .. } = Ledger::of(paper.name).unwrap();
            for claim in &claims {
                let known =
                    |rule: &Rule| paper.exhibits.iter().any(|exhibit| rule.rows.exhibit.fits(exhibit.id));
                assert!(claim.rule.as_ref().is_none_or(known), "{}, {}", paper.name, claim.written);
            }
            for place in ["abstract", paper.exhibits[0].id] {
                assert!(place != "abstract" || claims.iter().any(|claim| claim.place == place), "{place}");
            }
            all += claims.len();
        }
        assert!(all >= 150, "{all} claims");
    }
}
