//! [`Named`]: a table that was given on the command line.

use super::super::Arguments;
use crate::exit::Verdict;
use anyhow::{Context, ensure};
use arrow_array::{ArrayRef, StringArray, UInt32Array};
use fibula::snapshot::Snapshot;
use fibula::{Address, IpPrefix, NextHop, Prefix, Rib, Table};
use fibula_arrow::{Compiled, Error, Invalid, TableValues, Unmapped, Values, lookup, prefixes};
use fibula_io::table::Tables;
use fibula_io::{Source, snapshot};
use std::path::Path;
use std::sync::Arc;

/// A table and how its answers are called.
pub(super) struct Named {
    pub(super) name: String,
    answers: Answers,
    /// Whether v4-mapped IPv6 addresses are looked up as IPv4 ones.
    map_ipv4: bool,
}

enum Answers {
    NextHops(Compiled),
    /// A table that knows the prefixes, too. Its values are indices of `values`.
    Routes {
        table: Box<Table<NextHop>>,
        values: Values,
    },
}

/// Reads the tables. Also returns whether all were read without damage.
pub(super) fn read(arguments: &Arguments) -> anyhow::Result<(Vec<Named>, Verdict)> {
    let mut named: Vec<Named> = Vec::new();
    let mut all_whole = Verdict::Good;
    for (name, path) in arguments.named() {
        ensure!(named.iter().all(|named| named.name != name), "{path}: two tables of the name {name:?}");
        let (answers, whole) = Answers::read(path, arguments)?;
        if whole == Verdict::Bad {
            all_whole = whole;
        }
        ensure!(
            !(arguments.map_ipv4 && arguments.prefix),
            "--map-ipv4 does not tell prefixes: give it without --prefix"
        );
        named.push(Named { name: name.to_owned(), answers, map_ipv4: arguments.map_ipv4 });
    }
    Ok((named, all_whole))
}

impl Answers {
    fn read(path: &str, arguments: &Arguments) -> anyhow::Result<(Self, Verdict)> {
        let is_snapshot = arguments.reading.input_format.is_none() && snapshot::is_one(Path::new(path));
        if is_snapshot && !arguments.prefix {
            let opened = Snapshot::open(path)?;
            let compiled = Compiled::of_snapshot(&opened).with_context(|| path.to_owned())?;
            return Ok((Self::NextHops(compiled), Verdict::Good));
        }
        ensure!(
            path != "-" || arguments.input != "-",
            "table and records cannot both come from standard input"
        );
        let loaded = arguments.reading.read(&Source::from(path))?;
        let whole = crate::reading::verdict(&loaded);
        let answers = if arguments.prefix {
            Self::Routes {
                table: Box::new(routes(&loaded.tables)),
                values: Values::of(&loaded.tables.next_hops),
            }
        } else {
            Self::NextHops(Compiled::of_tables(&loaded.tables).with_context(|| path.to_owned())?)
        };
        Ok((answers, whole))
    }
}

/// Returns a table of both families, whose values are next hops.
fn routes(tables: &Tables) -> Table<NextHop> {
    fn of<A: Address>(rib: &Rib<A>) -> impl Iterator<Item = (IpPrefix, NextHop)>
    where
        Prefix<A>: Into<IpPrefix>,
    {
        rib.iter().map(|route| (route.prefix.into(), route.next_hop))
    }
    of(&tables.ipv4).chain(of(&tables.ipv6)).collect()
}

impl Named {
    /// Returns the values that answers have.
    pub(super) fn values(&self) -> &Values {
        match &self.answers {
            Answers::NextHops(compiled) => compiled.values(),
            Answers::Routes { values, .. } => values,
        }
    }

    /// Returns the index of each row's answer.
    pub(super) fn indices(&self, column: &ArrayRef, invalid: Invalid) -> Result<UInt32Array, Error> {
        match &self.answers {
            Answers::NextHops(compiled) if self.map_ipv4 => lookup(column, &Unmapped(compiled), invalid),
            Answers::NextHops(compiled) => lookup(column, compiled, invalid),
            Answers::Routes { table, .. } => {
                lookup(column, &TableValues::new(table, |&next_hop| next_hop), invalid)
            }
        }
    }

    /// Returns the matching prefix of each row; `None` where the table does not know it.
    pub(super) fn prefixes(
        &self,
        column: &ArrayRef,
        invalid: Invalid,
    ) -> Result<Option<Arc<StringArray>>, Error> {
        match &self.answers {
            Answers::NextHops(_) => Ok(None),
            Answers::Routes { table, .. } => Ok(Some(Arc::new(prefixes(column, table, invalid)?))),
        }
    }
}
