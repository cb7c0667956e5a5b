//! The ledger: what the papers claim, and what the rows of their exhibits say of it.
//!
//! A claim is a line of `claims/PAPER.tsv`: where the paper says it, what it says, how it is tested
//! (a [rule](rule) over the rows of the exhibits) and why it may not be testable here. The first
//! line has the conditions that a row's table must meet where a rule has none of its own, so that a
//! small table confirms and refutes nothing.
//!
//! [`judge`] reads rows, the JSON lines that a study writes, and never what was measured itself:
//! the verdicts of evidence that was written before are computed in the same way.

mod judge;
mod rule;

pub use judge::{Agreement, Judged, Tally, Verdict, agreements, judge, tallies};

use crate::Error;
use rule::{Condition, Rule};

/// A claim as the ledger has it.
#[derive(Debug)]
pub(crate) struct Claim {
    /// The paper's name.
    pub(crate) paper: &'static str,
    /// The number of the claim in its paper, from 1.
    pub(crate) number: usize,
    /// The section, table or figure, or `abstract`.
    pub(crate) place: &'static str,
    /// What the paper says, with its numbers.
    pub(crate) says: &'static str,
    /// The rule as it is written; `-` where none is.
    pub(crate) written: &'static str,
    /// How it is tested.
    pub(crate) rule: Option<Rule>,
    /// Why it is not testable here, where no row decides.
    pub(crate) reason: &'static str,
}

/// The ledgers, by paper.
const LEDGERS: [(&str, &str); 5] = [
    ("triec", include_str!("../../claims/triec.tsv")),
    ("dxr", include_str!("../../claims/dxr.tsv")),
    ("tilepro", include_str!("../../claims/tilepro.tsv")),
    ("sail", include_str!("../../claims/sail.tsv")),
    ("bloom", include_str!("../../claims/bloom.tsv")),
];

/// Reads the claims of a paper, none if there is no such paper.
///
/// # Errors
/// If a line is malformed; the error names it.
pub(crate) fn claims(paper: &str) -> Result<Vec<Claim>, Error> {
    let Some(&(paper, text)) = LEDGERS.iter().find(|(name, _)| *name == paper) else {
        return Ok(Vec::new());
    };
    let mut lines = text.lines();
    let defaults = lines.next().and_then(|line| line.strip_prefix("default: "));
    let wrong = |number: usize, why: &str| Error::wrong(format!("claims/{paper}.tsv:{}: {why}", number + 1));
    let defaults = Condition::list(defaults.ok_or_else(|| wrong(0, "expected the default conditions"))?)
        .map_err(|why| wrong(0, &why))?;
    let claim = |(at, line): (usize, &'static str)| {
        let number = at + 1;
        let fields: Vec<&str> = line.split('\t').collect();
        let (&[place, says, written], reason) = fields.split_first_chunk::<3>().unwrap_or((&[""; 3], &[]));
        let reason = reason.first().copied().unwrap_or_default();
        if says.is_empty() || (written == "-" && reason.is_empty()) {
            return Err(wrong(number, "expected place, claim, and a rule or a reason"));
        }
        let rule = (written != "-").then(|| Rule::parse(written, &defaults)).transpose();
        let rule = rule.map_err(|why| wrong(number, &why))?;
        Ok(Claim { paper, number, place, says, written, rule, reason })
    };
    lines.enumerate().map(claim).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PAPERS;

    #[test]
    fn every_claim_has_a_rule_about_an_exhibit_or_a_reason() {
        let mut all = 0;
        for paper in PAPERS {
            let claims = claims(paper.name).unwrap();
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
