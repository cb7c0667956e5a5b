//! [`Named`]: a table that was given on the command line.

use super::super::Arguments;
use crate::exit::Verdict;
use anyhow::{Context, ensure};
use arrow_array::{ArrayRef, StringArray, UInt32Array};
use fibula::snapshot::Snapshot;
use fibula::{Address, InternedTable, IpPrefix, NextHop, NextHops, Prefix, Rib};
use fibula_arrow::{Compiled, Counts, Error, How, TableValues, Values, lookup_counted, prefixes};
use fibula_io::table::{Format, Tables};
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
}

enum Answers {
    NextHops(Compiled),
    /// A table that knows the prefixes, too. Its values are indices of `values`.
    Routes {
        table: Box<InternedTable<NextHop>>,
        values: Values,
    },
}

/// Reads the tables. `lists` says whether lists are answered as such, not as text. Also returns
/// whether all were read without damage.
pub(super) fn read(arguments: &Arguments, lists: bool) -> anyhow::Result<(Vec<Named>, Verdict)> {
    let mut named: Vec<Named> = Vec::new();
    let mut all_whole = Verdict::Good;
    arguments.reading.of_tables(arguments.named().count())?;
    for (name, path) in arguments.named() {
        ensure!(named.iter().all(|named| named.name != name), "{path}: two tables of the name {name:?}");
        let (answers, fields, whole) = Answers::read(path, arguments, lists)?;
        if whole == Verdict::Bad {
            all_whole = whole;
        }
        named.push(Named { name, answers, fields });
    }
    Ok((named, all_whole))
}

impl Answers {
    /// Also returns the fields of the values, and whether the table was read without damage.
    fn read(path: &str, arguments: &Arguments, lists: bool) -> anyhow::Result<(Self, Fields, Verdict)> {
        let is_snapshot = arguments.reading.input_format.is_none() && snapshot::is_one(Path::new(path));
        if is_snapshot && !arguments.prefix {
            arguments.reading.was_in(Format::Snapshot)?;
            let opened = Snapshot::open(path)?;
            let compiled = Compiled::of_snapshot(&opened).with_context(|| path.to_owned())?;
            let fields = fields(compiled.next_hops(), lists);
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
        Ok((answers, fields(&loaded.tables.next_hops, lists), whole))
    }
}

/// Returns the fields of values that have several; a list is the only field of its own, without a
/// name.
fn fields(next_hops: &NextHops, lists: bool) -> Fields {
    match Values::lists(next_hops).filter(|_| lists) {
        Some(lists) => vec![(String::new(), lists)],
        None => Values::fields(next_hops, lists),
    }
}

/// Returns a table of both families, whose values are next hops.
fn routes(tables: &Tables) -> InternedTable<NextHop> {
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
        let name = |field: &String| match field.as_str() {
            "" => self.name.clone(),
            field => format!("{}_{field}", self.name),
        };
        self.fields.iter().map(|(field, values)| (name(field), values)).collect()
    }

    /// Returns the index of each row's answer, and what the rows were.
    pub(super) fn indices(&self, column: &ArrayRef, how: &How) -> Result<(UInt32Array, Counts), Error> {
        match &self.answers {
            Answers::NextHops(compiled) => lookup_counted(column, compiled, how),
            Answers::Routes { table, .. } => {
                lookup_counted(column, &TableValues::new(table, |&next_hop| next_hop), how)
            }
        }
    }

    /// Returns the matching prefix of each row; `None` where the table does not know it.
    pub(super) fn prefixes(&self, column: &ArrayRef, how: &How) -> Result<Option<Arc<StringArray>>, Error> {
        match &self.answers {
            Answers::NextHops(_) => Ok(None),
            Answers::Routes { table, .. } => Ok(Some(Arc::new(prefixes(column, table, how)?))),
        }
    }
}
