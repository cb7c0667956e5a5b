//! [`Inputs`]: what a claim is bound to, and which of it rows do not share.
//!
//! What the paper measured is of its tables, its machine and its protocol. A row that fails on
//! other ones says nothing of the claim, unless the paper says it of any. The ledger states for a
//! claim what it is said of:
//!
//! - nothing: the paper's own inputs. A quantity of time is bound to table and machine, every other
//!   one to the table, and a count of wrong answers to nothing ([`bound_to`]).
//! - `any`: every table and machine, as bounds and properties of an algorithm are.
//! - `any table`, `any machine`: the other one alone.
//! - `; protocol HERE for PAPER'S`: what is measured here is done otherwise, and how.

use super::rule::Pattern;
use std::fmt;

/// The paper's own inputs, as the head of a ledger names them.
#[derive(Clone, Debug)]
pub(super) struct Own {
    /// Names of its tables.
    pub(super) tables: Pattern,
    /// A part of its processors' names.
    pub(super) machine: &'static str,
}

/// An input that a row does not share with the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Input {
    Table,
    Machine,
    /// How it is measured here, for how the paper does.
    Protocol(&'static str),
}

impl fmt::Display for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Table => f.write_str("table"),
            Self::Machine => f.write_str("machine"),
            Self::Protocol(how) => write!(f, "protocol ({how})"),
        }
    }
}

/// What a claim is said of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Inputs {
    any_table: bool,
    any_machine: bool,
    protocol: &'static str,
}

impl Inputs {
    /// Reads what a claim is said of.
    pub(super) fn parse(text: &'static str) -> Result<Self, String> {
        let mut inputs = Self { any_table: false, any_machine: false, protocol: "" };
        for part in text.split("; ").filter(|part| !part.is_empty()) {
            match part {
                "any" => (inputs.any_table, inputs.any_machine) = (true, true),
                "any table" => inputs.any_table = true,
                "any machine" => inputs.any_machine = true,
                _ => {
                    inputs.protocol = part.strip_prefix("protocol ").ok_or_else(|| {
                        format!("expected any, any table, any machine or protocol, and not {part:?}")
                    })?;
                }
            }
        }
        Ok(inputs)
    }

    /// Returns the inputs of a measured or computed row that the claim is bound to and that are not
    /// the paper's.
    pub(super) fn differing(self, own: &Own, row: &Of<'_>) -> impl Iterator<Item = Input> + use<> {
        let [table, machine] = bound_to(row.unit);
        let other_table = !row.table.is_empty() && !own.tables.fits(row.table);
        let other_machine = row.is_measured && !row.processor.contains(own.machine);
        let table = (table && !self.any_table && other_table).then_some(Input::Table);
        let machine = (machine && !self.any_machine && other_machine).then_some(Input::Machine);
        let protocol = (!self.protocol.is_empty()).then_some(Input::Protocol(self.protocol));
        [table, machine, protocol].into_iter().flatten()
    }
}

/// What of a row its inputs depend on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Of<'r> {
    pub(super) unit: &'r str,
    pub(super) table: &'r str,
    pub(super) processor: &'r str,
    pub(super) is_measured: bool,
}

/// Units of time: rates, durations, and ratios of them.
const OF_TIME: [&str; 21] = [
    "Mlps",
    "Mlps, all threads",
    "Mlps, the table's own answers",
    "Gbit/s",
    "ns",
    "ns, IPv6",
    "ns, batches",
    "ns, one after the other",
    "ns saved",
    "ns a load",
    "us",
    "ms",
    "ms a buffer",
    "cycles",
    "times",
    "times the time",
    "times one core",
    "times one thread",
    "times the device",
    "of linear",
    "%",
];

/// Returns whether a quantity of this unit depends on the table, and on the machine.
fn bound_to(unit: &str) -> [bool; 2] {
    if unit == "answers" { [false, false] } else { [true, OF_TIME.contains(&unit)] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_differ_in_what_the_claim_is_bound_to() {
        let own = Own { tables: Pattern::new("LINX"), machine: "FX-8150" };
        let differing = |said_of: &'static str, unit: &str, table: &str| {
            let row = Of { unit, table, processor: "AMD EPYC, 2 cores", is_measured: true };
            let differing = Inputs::parse(said_of).unwrap().differing(&own, &row);
            differing.map(|input| input.to_string()).collect::<Vec<_>>().join(", ")
        };
        assert_eq!(differing("", "Mlps", "a table"), "table, machine");
        assert_eq!(differing("", "Mlps", "LINX"), "machine");
        assert_eq!(differing("", "MB", "a table"), "table");
        assert_eq!(differing("any machine", "Mlps", "a table"), "table");
        assert_eq!(differing("any table", "Mlps", "a table"), "machine");
        assert_eq!(differing("any", "Mlps", "a table"), "");
        assert_eq!(differing("", "answers", "a table"), "");
        assert_eq!(differing("any; protocol 2 threads for 8", "Mlps", "x"), "protocol (2 threads for 8)");
        assert!(Inputs::parse("some").unwrap_err().contains("expected any"));
    }
}
