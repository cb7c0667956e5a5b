//! [`Verdict`]: what can be said of a claim, and the counts of it by paper and by exhibit.

use crate::PAPERS;
use fibula_kit::Row;
use serde::Serialize;
use serde_json::Value;
use std::fmt;

/// What the rows say of a claim. Which of the last five it is follows from the rows that fail: from
/// their basis, and from the inputs that they do not share with the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The rows hold.
    Reproduced,
    /// They fail on another table, machine or protocol than the paper's: [`Judged::differs`] names
    /// which. The claim may be true of its own.
    DiffersOnOtherInputs,
    /// A model of the paper's machine fails. Nothing is said of the paper.
    OurModelFails,
    /// The paper's own numbers contradict it, by arithmetic alone.
    InconsistentWithinThePaper,
    /// The same quantity under the same conditions fails.
    Refuted,
    /// No row decides.
    NotTestableHere,
}

impl Verdict {
    /// All verdicts, in the order of the tallies.
    pub const ALL: [Self; 6] = [
        Self::Reproduced,
        Self::DiffersOnOtherInputs,
        Self::OurModelFails,
        Self::InconsistentWithinThePaper,
        Self::Refuted,
        Self::NotTestableHere,
    ];

    /// Returns whether rows that decide fail.
    #[must_use]
    pub fn fails(self) -> bool {
        !matches!(self, Self::Reproduced | Self::NotTestableHere)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Reproduced => "reproduced",
            Self::DiffersOnOtherInputs => "differs on other inputs",
            Self::OurModelFails => "our model fails",
            Self::InconsistentWithinThePaper => "inconsistent within the paper",
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
    /// Words of the paper, by which the claim is found.
    pub quote: &'static str,
    /// What it says.
    pub says: &'static str,
    /// How it is tested.
    pub rule: &'static str,
    /// Whether it holds by more than three times, so that it tells little.
    pub by_far: bool,
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
    /// The inputs that the rows do not share with the paper's, where they fail for one of them.
    pub differs: Option<String>,
    /// Whether a model of the paper's machine `agrees` with the claim or `fails`; none where the
    /// rows are no model's.
    pub model: Option<&'static str>,
    /// Why it is not testable here, or why it fails under the paper's own conditions.
    pub reason: Option<String>,
}

/// The verdicts of a paper, counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// The paper's name, or `all`.
    pub tally: String,
    /// All claims.
    pub claims: usize,
    /// Those whose rows hold.
    pub reproduced: usize,
    /// Those that fail on another table, machine or protocol.
    pub differs: usize,
    /// Those that a model of ours fails.
    pub model_fails: usize,
    /// Those that the paper's own numbers contradict.
    pub inconsistent: usize,
    /// Those that fail under the paper's conditions.
    pub refuted: usize,
    /// Those that no row decides.
    pub not_testable: usize,
}

impl Tally {
    /// Returns the counts, in the order of [`Verdict::ALL`].
    #[must_use]
    pub fn counts(&self) -> [usize; Verdict::ALL.len()] {
        [self.reproduced, self.differs, self.model_fails, self.inconsistent, self.refuted, self.not_testable]
    }

    fn of<'j>(name: &str, judged: impl Iterator<Item = &'j Judged>) -> Self {
        let mut tally = Self { tally: name.into(), ..Self::default() };
        for Judged { verdict, .. } in judged {
            tally.claims += 1;
            *match verdict {
                Verdict::Reproduced => &mut tally.reproduced,
                Verdict::DiffersOnOtherInputs => &mut tally.differs,
                Verdict::OurModelFails => &mut tally.model_fails,
                Verdict::InconsistentWithinThePaper => &mut tally.inconsistent,
                Verdict::Refuted => &mut tally.refuted,
                Verdict::NotTestableHere => &mut tally.not_testable,
            } += 1;
        }
        tally
    }
}

/// Counts the verdicts of each paper, and of all.
#[must_use]
pub fn tallies(judged: &[Judged]) -> Vec<Tally> {
    let papers = fibula_kit::distinct(judged.iter().map(|judged| judged.paper));
    let each = |paper: &str| Tally::of(paper, judged.iter().filter(|judged| judged.paper == paper));
    papers.into_iter().map(each).chain([Tally::of("all", judged.iter())]).collect()
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
    /// The claims about it that are reproduced.
    pub reproduced: usize,
    /// Those that fail, for whichever reason.
    pub fail: usize,
}

/// Returns both words on the exhibits of which some rows say what they are ([`About`]), each once
/// and in the papers' order.
///
/// [`About`]: crate::About
#[must_use]
pub fn agreements(judged: &[Judged], rows: &[Row]) -> Vec<Agreement> {
    let agreement = |row: &Row| {
        let text = |key: &str| row.get(key).and_then(Value::as_str).map(String::from);
        let (coverage, paper, exhibit) = (text("coverage")?, text("paper")?, text("exhibit")?);
        let mine = judged.iter().filter(|one| one.paper == paper && one.exhibit.as_ref() == Some(&exhibit));
        let count = |is: fn(Verdict) -> bool| mine.clone().filter(|judged| is(judged.verdict)).count();
        let (reproduced, fail) = (count(|verdict| verdict == Verdict::Reproduced), count(Verdict::fails));
        let agreement = match (reproduced, fail) {
            (0, 0) => "open",
            (_, 0) => "agrees",
            (0, _) => "differs",
            _ => "in part",
        };
        Some(Agreement { paper, exhibit, coverage, agreement, reproduced, fail })
    };
    let of =
        |paper: &'static str| rows.iter().filter(move |row| row.get("paper").is_some_and(|of| of == paper));
    let about = PAPERS.into_iter().flat_map(|paper| of(paper.name)).filter(|row| row.contains_key("title"));
    fibula_kit::distinct(about).into_iter().filter_map(agreement).collect()
}
