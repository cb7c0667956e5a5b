//! `fibula set`: sets of addresses together.

use crate::exit::Verdict;
use crate::operand::{Operand, check_standard_input, sources};
use crate::output::Output;
use crate::reading::{FamilyName, Reading};
use crate::writing::Writing;
use anyhow::ensure;
use clap::{Args, Subcommand};
use fibula::rib::AddressSet;
use fibula::{Address, IpPrefix};
use fibula_io::table::Tables;

/// Combine sets of addresses: unite, intersect, exclude, invert, aggregate, compare
///
/// A set is all addresses that the routes of a table match, whatever their values. It is a file of
/// any table format, `-`, or a prefix, an address or a range itself. The result is the fewest
/// prefixes, one a line; --to writes them in any format of tables, with the value `listed`.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Write the addresses that are in any of the sets
    Union(Arguments),
    /// Write the addresses that are in all of the sets
    Intersect(Arguments),
    /// Write the addresses of the first set that are in none of the others
    Exclude(Arguments),
    /// Write the addresses of both families that are in none of the sets
    Invert(Arguments),
    /// Write the addresses of the sets as the fewest prefixes
    Aggregate(Arguments),
    /// Write the addresses that are in one of two sets alone
    ///
    /// The exit status is 0 if the sets have the same addresses, 1 if not.
    Diff(Arguments),
}

/// The sets, and where the result goes.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The sets: tables, files or `-`; or a prefix, an address or a range such as
    /// 192.0.2.1-192.0.2.9
    #[arg(required = true, value_name = "SET")]
    sets: Vec<Operand>,
    /// Only addresses of this family; both if not given
    #[arg(long, value_enum)]
    family: Option<FamilyName>,
    #[command(flatten)]
    writing: Writing,
    #[command(flatten)]
    reading: Reading,
}

/// What becomes of the sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Union,
    Intersection,
    Difference,
    Complement,
    SymmetricDifference,
}

impl Command {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Verdict> {
        let (kind, arguments) = match self {
            Self::Union(arguments) | Self::Aggregate(arguments) => (Kind::Union, arguments),
            Self::Intersect(arguments) => (Kind::Intersection, arguments),
            Self::Exclude(arguments) => (Kind::Difference, arguments),
            Self::Invert(arguments) => (Kind::Complement, arguments),
            Self::Diff(arguments) => (Kind::SymmetricDifference, arguments),
        };
        arguments.run(kind, output)
    }
}

impl Arguments {
    fn run(&self, kind: Kind, output: &Output) -> anyhow::Result<Verdict> {
        let count = self.sets.len();
        match kind {
            Kind::Union | Kind::Complement => {}
            Kind::Intersection | Kind::Difference => ensure!(count > 1, "one set, expected two or more"),
            Kind::SymmetricDifference => ensure!(count == 2, "{count} sets, expected two"),
        }
        check_standard_input(sources(&self.sets))?;
        self.reading.of_tables(sources(&self.sets).count())?;
        let (mut ipv4, mut ipv6) = (Vec::new(), Vec::new());
        let mut whole = true;
        for set in &self.sets {
            let (tables, verdict) = set.read(&self.reading)?;
            whole &= verdict == Verdict::Good;
            ipv4.push(tables.ipv4.addresses());
            ipv6.push(tables.ipv6.addresses());
        }
        let has = |family| self.family.is_none_or(|wanted| wanted == family);
        let ipv4 = if has(FamilyName::Ipv4) { together(kind, &ipv4) } else { AddressSet::default() };
        let ipv6 = if has(FamilyName::Ipv6) { together(kind, &ipv6) } else { AddressSet::default() };
        let prefixes = ipv4.prefixes().map(IpPrefix::from).chain(ipv6.prefixes().map(IpPrefix::from));
        self.writing.write_set(&Tables::of_prefixes(prefixes), output)?;
        let differs = kind == Kind::SymmetricDifference && !(ipv4.is_empty() && ipv6.is_empty());
        Ok(Verdict::good_if(whole && !differs))
    }
}

/// Returns what becomes of the sets of one family, of which there is at least one.
fn together<A: Address>(kind: Kind, sets: &[AddressSet<A>]) -> AddressSet<A> {
    let (first, others) = sets.split_first().expect("there is a set");
    let all = |operation: fn(&AddressSet<A>, &AddressSet<A>) -> AddressSet<A>| {
        others.iter().fold(first.clone(), |all, set| operation(&all, set))
    };
    match kind {
        Kind::Union => all(AddressSet::union),
        Kind::Intersection => all(AddressSet::intersection),
        Kind::Difference => all(AddressSet::difference),
        Kind::Complement => all(AddressSet::union).complement(),
        Kind::SymmetricDifference => all(AddressSet::symmetric_difference),
    }
}
