//! [`Mismatch`] and [`Refusal`]: a wrong answer, and an engine that refuses a table.

use crate::Error;
use crate::error::is_refusal;
use fibula::{Address, NextHop};
use serde::{Serialize, Serializer};

/// One wrong answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Mismatch {
    /// The engine's specification.
    pub engine: String,
    /// `lookup`, or the instruction set of the batch path.
    pub path: &'static str,
    /// The address, as text.
    pub address: String,
    /// The right answer, as a next-hop index; 0 is "no route".
    pub expected: u32,
    /// The engine's answer.
    pub got: u32,
}

impl std::fmt::Display for Mismatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { engine, path, address, expected, got } = self;
        write!(f, "{engine} ({path}) answers {got} for {address}, expected {expected}")
    }
}

/// Writes the first wrong answers as one text, so that a row of results stays flat: `address:
/// expected 1, got 2; ...`.
pub(crate) fn in_one_line<S: Serializer>(mismatches: &[Mismatch], serializer: S) -> Result<S::Ok, S::Error> {
    let text = |Mismatch { path, address, expected, got, .. }: &Mismatch| {
        format!("{address} ({path}): expected {expected}, got {got}")
    };
    serializer.collect_str(&mismatches.iter().map(text).collect::<Vec<_>>().join("; "))
}

/// An engine that refuses a table. That is no wrong answer, and the other engines go on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Refusal {
    /// The engine's specification.
    pub engine: String,
    /// `ipv4` or `ipv6`.
    pub family: String,
    /// Why the engine could not be built. Results have its text under the key `refused`.
    #[serde(rename = "refused", serialize_with = "as_text")]
    pub error: fibula::Error,
}

impl Refusal {
    /// Makes a refusal of the error with which an engine was not built.
    ///
    /// # Errors
    /// Returns `error` if it is not about the table: the specification names no engine, or has a
    /// wrong parameter.
    pub fn of<A: Address>(engine: &str, error: fibula::Error) -> Result<Self, Error> {
        if is_refusal(&error) {
            Ok(Self { engine: engine.into(), family: A::FAMILY.to_string(), error })
        } else {
            Err(error.into())
        }
    }

    /// Adds the refusal to `refusals` unless it is there already.
    pub(crate) fn add_to(self, refusals: &mut Vec<Self>) {
        if !refusals.contains(&self) {
            refusals.push(self);
        }
    }
}

fn as_text<S: Serializer>(error: &fibula::Error, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(error)
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} does not hold this table: {}", self.engine, self.error)
    }
}

/// The count of wrong answers, and the first few.
#[derive(Clone, Debug)]
pub(crate) struct Tally<A> {
    pub(crate) probes: u64,
    pub(crate) mismatches: u64,
    first: Vec<(A, NextHop, NextHop)>,
}

impl<A: Address> Tally<A> {
    /// The number of wrong answers that are kept to be shown.
    const SHOWN: usize = 8;

    pub(crate) fn new() -> Self {
        Self { probes: 0, mismatches: 0, first: Vec::new() }
    }

    /// A tally of `count` right answers.
    pub(crate) fn of_right(count: usize) -> Self {
        Self { probes: count as u64, ..Self::new() }
    }

    pub(crate) fn compare(&mut self, address: A, expected: NextHop, got: NextHop) {
        self.probes += 1;
        if expected != got {
            self.mismatches += 1;
            if self.first.len() < Self::SHOWN {
                self.first.push((address, expected, got));
            }
        }
    }

    /// Adds two tallies. The lowest addresses are shown, so that a result does not depend on
    /// threads.
    pub(crate) fn merge(mut self, other: Self) -> Self {
        self.probes += other.probes;
        self.mismatches += other.mismatches;
        self.first.extend(other.first);
        self.first.sort_unstable();
        self.first.truncate(Self::SHOWN);
        self
    }

    pub(crate) fn shown(&self, engine: &str, path: &'static str) -> Vec<Mismatch> {
        let mismatch = |&(address, expected, got): &(A, NextHop, NextHop)| Mismatch {
            engine: engine.into(),
            path,
            address: address.to_ip().to_string(),
            expected: expected.0,
            got: got.0,
        };
        self.first.iter().map(mismatch).collect()
    }
}
