//! Commands that write those routes of a table for which something holds.

mod expression;

use crate::exit::Verdict;
use crate::operand::{Operand, check_standard_input, sources};
use crate::output::Output;
use crate::reading::{Reading, verdict};
use crate::writing::Writing;
use anyhow::Context;
use clap::Args;
use expression::Expression;
use fibula::{Address, IpPrefix, NextHop, Prefix, Rib, Route};
use fibula_io::rov::Origins;
use fibula_io::table::{Tables, Value};
use fibula_io::{Source, bogons};

/// The table whose routes are kept or left out.
#[derive(Debug, Args)]
pub(super) struct Filter {
    /// The table to read, a file or `-`
    #[arg(short, long, default_value = "-", value_name = "TABLE")]
    input: String,
    #[command(flatten)]
    writing: Writing,
    #[command(flatten)]
    reading: Reading,
}

/// Write the routes that cover one of the prefixes: those that match all of its addresses
///
/// A range is covered by a route that matches all addresses of the range.
#[derive(Debug, Args)]
pub(crate) struct Covering {
    #[command(flatten)]
    relation: Related,
}

/// Write the routes that one of the prefixes covers: those that are as specific or more
#[derive(Debug, Args)]
pub(crate) struct Covered {
    #[command(flatten)]
    relation: Related,
}

/// Write the routes that match an address of one of the prefixes
#[derive(Debug, Args)]
pub(crate) struct Overlaps {
    #[command(flatten)]
    relation: Related,
}

/// The prefixes that routes are compared with.
#[derive(Debug, Args)]
struct Related {
    /// The prefixes: tables, files or `-`; or a prefix, an address or a range such as
    /// 192.0.2.1-192.0.2.9
    #[arg(required = true, value_name = "SET")]
    sets: Vec<Operand>,
    #[command(flatten)]
    filter: Filter,
}

/// Write the routes of addresses that are not for the Internet: private, reserved, multicast
///
/// `fibula table covered LIST` does the same for a list of your own.
#[derive(Debug, Args)]
pub(crate) struct Bogons {
    #[command(flatten)]
    filter: Filter,
}

/// Write the routes of prefixes with more than one origin AS
///
/// The value is the list of origins, of all routes and not of the best alone. Tables of formats
/// that do not tell the routes of BGP must have such lists as their values (--value next-hop).
#[derive(Debug, Args)]
pub(crate) struct Moas {
    #[command(flatten)]
    filter: Filter,
}

/// Write the routes for which an expression holds
///
/// An expression compares `prefix`, `length`, `family` (4 or 6), `value`, or a field of the value
/// such as `origin_as` or `country.iso_code`, by =, !=, <, <=, > and >=. A name that no route of
/// the table has is an error. `prefix in 10.0.0.0/8` holds for what the prefix covers, `as_path has
/// 64500` for a list that has the element, also in a set within it, or a text that has the text
/// within. Prefixes are compared by address, then length, IPv4 before IPv6.
/// `and`, `or`, `not` and parentheses join them: 'length > 24 and not prefix in 192.0.2.0/24'.
#[derive(Debug, Args)]
pub(crate) struct Select {
    /// The expression
    #[arg(value_name = "EXPRESSION")]
    expression: Expression,
    #[command(flatten)]
    filter: Filter,
}

/// Returns whether a route is kept.
type Keep = Box<dyn Fn(IpPrefix, NextHop) -> bool>;

impl Filter {
    /// Writes the routes that `kept` keeps of the tables.
    fn run(
        &self,
        default: Value,
        output: &Output,
        kept: impl FnOnce(&Tables) -> anyhow::Result<(Rib<u32>, Rib<u128>)>,
    ) -> anyhow::Result<Verdict> {
        let loaded = self.reading.read_for(&Source::from(self.input.as_str()), default)?;
        let verdict = verdict(&loaded);
        let (ipv4, ipv6) = kept(&loaded.tables)?;
        self.writing.write(&Tables { ipv4, ipv6, next_hops: loaded.tables.next_hops }, output)?;
        Ok(verdict)
    }

    /// Writes the routes for which `keep` returns true.
    fn by_route(
        &self,
        default: Value,
        output: &Output,
        keep: impl FnOnce(&Tables) -> anyhow::Result<Keep>,
    ) -> anyhow::Result<Verdict> {
        self.run(default, output, |tables| {
            let keep = keep(tables)?;
            Ok((of(&tables.ipv4, &*keep), of(&tables.ipv6, &*keep)))
        })
    }
}

fn of<A: Address>(rib: &Rib<A>, keep: &dyn Fn(IpPrefix, NextHop) -> bool) -> Rib<A>
where
    IpPrefix: From<Prefix<A>>,
{
    rib.iter().filter(|route| keep(route.prefix.into(), route.next_hop)).collect()
}

/// How a route is to a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Relation {
    Covers,
    IsCovered,
    Overlaps,
}

impl Relation {
    /// Returns the routes that are so to one of the others.
    fn of<A: Address>(self, rib: &Rib<A>, others: &Rib<A>) -> Rib<A> {
        let covers = |prefix| others.covered(prefix).next().is_some();
        let mut kept: Vec<Route<A>> = Vec::new();
        rib.each_with_covers(others, |route, around| {
            let holds = match self {
                Self::Covers => covers(route.prefix),
                Self::IsCovered => !around.is_empty(),
                Self::Overlaps => !around.is_empty() || covers(route.prefix),
            };
            kept.extend(holds.then_some(route));
        });
        kept.into_iter().collect()
    }
}

impl Related {
    fn run(&self, relation: Relation, output: &Output) -> anyhow::Result<Verdict> {
        let input = Source::from(self.filter.input.as_str());
        check_standard_input(sources(&self.sets).chain([&input]))?;
        self.filter.reading.of_tables(1 + sources(&self.sets).count())?;
        let mut others = Vec::new();
        let mut whole = true;
        for set in &self.sets {
            let (tables, verdict) = match relation {
                Relation::Covers => set.read_whole(&self.filter.reading)?,
                Relation::IsCovered | Relation::Overlaps => set.read(&self.filter.reading)?,
            };
            whole &= verdict == Verdict::Good;
            others.push(tables);
        }
        let others = (
            others.iter().flat_map(|tables| &tables.ipv4).collect(),
            others.iter().flat_map(|tables| &tables.ipv6).collect(),
        );
        let read = self.filter.run(Value::NextHop, output, |tables| {
            Ok((relation.of(&tables.ipv4, &others.0), relation.of(&tables.ipv6, &others.1)))
        })?;
        Ok(if whole { read } else { Verdict::Bad })
    }
}

impl Covering {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Verdict> {
        self.relation.run(Relation::Covers, output)
    }
}

impl Covered {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Verdict> {
        self.relation.run(Relation::IsCovered, output)
    }
}

impl Overlaps {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Verdict> {
        self.relation.run(Relation::Overlaps, output)
    }
}

impl Bogons {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Verdict> {
        let bogons = bogons();
        // A route that several blocks cover together is of none of them alone.
        let (ipv4, ipv6) = (bogons.ipv4.addresses(), bogons.ipv6.addresses());
        self.filter.by_route(Value::NextHop, output, |_| {
            Ok(Box::new(move |prefix, _| match prefix {
                IpPrefix::V4(prefix) => ipv4.covers(prefix),
                IpPrefix::V6(prefix) => ipv6.covers(prefix),
            }))
        })
    }
}

impl Moas {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Verdict> {
        self.filter.by_route(Value::Origins, output, |tables| {
            let several = tables.next_hops.iter();
            let several =
                several.map(|(_, info)| matches!(Origins::of(info), Origins::Several(all) if all.len() > 1));
            let several: Vec<bool> = std::iter::once(false).chain(several).collect();
            Ok(Box::new(move |_, next_hop| several[next_hop.0 as usize]))
        })
    }
}

impl Select {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Verdict> {
        self.filter.by_route(Value::NextHop, output, |tables| {
            let values = expression::values(&tables.next_hops);
            self.expression.check(&values).with_context(|| self.filter.input.clone())?;
            let expression = self.expression;
            Ok(Box::new(move |prefix, next_hop| expression.holds(prefix, &values[next_hop.0 as usize])))
        })
    }
}
