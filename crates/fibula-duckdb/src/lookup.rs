//! `fibula_lookup`, `fibula_prefix` and `fibula_contains`.

use crate::addresses;
use crate::duckdb::{Database, Output, Type, Vector};
use crate::function::Scalar;
use crate::tables::{NextHops, Open};
use arrow_array::Array;
use fibula::Table;
use fibula_arrow::{Error, Invalid, contains, lookup, prefixes};
use std::ffi::CStr;

/// Registers the functions.
pub(crate) fn register(database: &Database) -> Result<(), String> {
    database.add_scalar::<Asked<Lookup>>()?;
    database.add_scalar::<Asked<Prefix>>()?;
    database.add_scalar::<Asked<Contains>>()
}

/// What is asked of a table about addresses.
trait Question: 'static {
    const NAME: &'static CStr;
    const RETURNS: Type;
    type Table: Open;

    /// Sets the row of each address, the first of which is `first`.
    fn answer(
        table: &Self::Table,
        addresses: &dyn Array,
        first: usize,
        output: &mut Output<'_>,
    ) -> Result<(), Error>;
}

/// The function of a question: of a table's path and an address.
struct Asked<Q>(Q);

impl<Q: Question> Scalar for Asked<Q> {
    const NAME: &'static CStr = Q::NAME;
    const FIRST: Type = Type::Varchar;
    const SECOND: &'static [Type] = addresses::TYPES;
    const RETURNS: Type = Q::RETURNS;

    fn call(paths: &Vector<'_>, addresses: &Vector<'_>, output: &mut Output<'_>) -> Result<(), String> {
        let addresses = addresses::read(addresses)?;
        paths.each_run(|first, rows, path| {
            let Some(path) = path else {
                (first..first + rows).for_each(|row| output.set_null(row));
                return Ok(());
            };
            let path = str::from_utf8(path).map_err(|error| error.to_string())?;
            Q::answer(&*Q::Table::at(path)?, &addresses.slice(first, rows), first, output)
                .map_err(|error| error.to_string())
        })
    }
}

/// Sets a row for each answer, from row `first` on; without an answer it is null.
fn set_rows<'o, T>(
    output: &mut Output<'o>,
    first: usize,
    answers: impl Iterator<Item = Option<T>>,
    set: impl Fn(&mut Output<'o>, usize, T),
) {
    for (row, answer) in (first..).zip(answers) {
        match answer {
            Some(answer) => set(output, row, answer),
            None => output.set_null(row),
        }
    }
}

struct Lookup;

impl Question for Lookup {
    const NAME: &'static CStr = c"fibula_lookup";
    const RETURNS: Type = Type::Varchar;
    type Table = NextHops;

    fn answer(
        table: &NextHops,
        addresses: &dyn Array,
        first: usize,
        output: &mut Output<'_>,
    ) -> Result<(), Error> {
        let indices = lookup(addresses, &table.compiled, Invalid::Null)?;
        set_rows(output, first, indices.iter(), |output, row, index| {
            output.set_text(row, &table.names[index as usize]);
        });
        Ok(())
    }
}

struct Prefix;

impl Question for Prefix {
    const NAME: &'static CStr = c"fibula_prefix";
    const RETURNS: Type = Type::Varchar;
    type Table = Table<()>;

    fn answer(
        table: &Table<()>,
        addresses: &dyn Array,
        first: usize,
        output: &mut Output<'_>,
    ) -> Result<(), Error> {
        set_rows(output, first, prefixes(addresses, table, Invalid::Null)?.iter(), Output::set_text);
        Ok(())
    }
}

struct Contains;

impl Question for Contains {
    const NAME: &'static CStr = c"fibula_contains";
    const RETURNS: Type = Type::Boolean;
    type Table = NextHops;

    fn answer(
        table: &NextHops,
        addresses: &dyn Array,
        first: usize,
        output: &mut Output<'_>,
    ) -> Result<(), Error> {
        let found = contains(addresses, &table.compiled, Invalid::Null)?;
        set_rows(output, first, found.iter(), Output::set_boolean);
        Ok(())
    }
}
