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

/// The values of each field, with its name.
type Fields = Vec<(String, Values)>;

/// A table and how its answers are called.
pub(super) struct Named {
    pub(super) name: String,
    answers: Answers,
    /// The fields of values that have several, each with its name; none where a value is one.
    fields: Fields,
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
        let (answers, fields, whole) = Answers::read(path, arguments)?;
        if whole == Verdict::Bad {
            all_whole = whole;
        }
        ensure!(
            !(arguments.map_ipv4 && arguments.prefix),
            "--map-ipv4 does not tell prefixes: give it without --prefix"
        );
        named.push(Named { name: name.to_owned(), answers, fields, map_ipv4: arguments.map_ipv4 });
    }
    Ok((named, all_whole))
}

impl Answers {
    /// Also returns the fields of the values, and whether the table was read without damage.
    fn read(path: &str, arguments: &Arguments) -> anyhow::Result<(Self, Fields, Verdict)> {
        let is_snapshot = arguments.reading.input_format.is_none() && snapshot::is_one(Path::new(path));
        if is_snapshot && !arguments.prefix {
            let opened = Snapshot::open(path)?;
            let compiled = Compiled::of_snapshot(&opened).with_context(|| path.to_owned())?;
            let fields = Values::fields(compiled.next_hops());
            return Ok((Self::NextHops(compiled), fields, Verdict::Good));
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
        Ok((answers, Values::fields(&loaded.tables.next_hops), whole))
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
    /// Returns the values that answers have: one, or one for each field, with what their columns
    /// are called after the table.
    pub(super) fn values(&self) -> Vec<(String, &Values)> {
        let values = match &self.answers {
            Answers::NextHops(compiled) => compiled.values(),
            Answers::Routes { values, .. } => values,
        };
        if self.fields.is_empty() {
            return vec![(self.name.clone(), values)];
        }
        self.fields.iter().map(|(field, values)| (format!("{}_{field}", self.name), values)).collect()
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
