//! `fibula_lookup`, `fibula_prefix` and `fibula_contains`.

use crate::addresses::{self, Addresses};
use crate::duckdb::{Database, Output, Type, Vector};
use crate::function::Scalar;
use crate::tables::{NextHops, Open};
use fibula::Table;
use fibula_arrow::{Invalid, Texts, contains, lookup, prefixes};
use std::cell::RefCell;
use std::ffi::CStr;
use std::ops::Range;

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

    /// Sets some rows to what is answered for their addresses.
    fn answer(
        table: &Self::Table,
        addresses: &Addresses<'_>,
        rows: Range<usize>,
        output: &mut Output<'_>,
    ) -> Result<(), String>;
}

/// The function of a question: of a table's path and an address.
struct Asked<Q>(Q);

impl<Q: Question> Scalar for Asked<Q> {
    const NAME: &'static CStr = Q::NAME;
    const FIRST: Type = Type::Varchar;
    const SECOND: &'static [Type] = addresses::TYPES;
    const RETURNS: Type = Q::RETURNS;

    fn call(paths: &Vector<'_>, addresses: &Vector<'_>, output: &mut Output<'_>) -> Result<(), String> {
        let addresses = Addresses::new(addresses);
        paths.each_run(|first, rows, path| {
            let Some(path) = path else {
                (first..first + rows).for_each(|row| output.set_null(row));
                return Ok(());
            };
            let path = str::from_utf8(path).map_err(|error| error.to_string())?;
            Q::answer(&*Q::Table::at(path)?, &addresses, first..first + rows, output)
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

thread_local! {
    /// What the texts of a chunk are read into.
    static TEXTS: RefCell<Texts> = RefCell::new(Texts::new());
}

struct Lookup;

impl Question for Lookup {
    const NAME: &'static CStr = c"fibula_lookup";
    const RETURNS: Type = Type::Varchar;
    type Table = NextHops;

    fn answer(
        table: &NextHops,
        addresses: &Addresses<'_>,
        rows: Range<usize>,
        output: &mut Output<'_>,
    ) -> Result<(), String> {
        let mut first = rows.start;
        if let Some(texts) = addresses.texts(rows.clone()) {
            TEXTS.with_borrow_mut(|chunk| {
                chunk.look_up(texts, &table.compiled, |indices| {
                    output.set_texts(first, indices.iter().map(|index| index.0 as usize), &table.names);
                    first += indices.len();
                });
            });
            return Ok(());
        }
        let indices = lookup(&addresses.array(rows)?, &table.compiled, Invalid::Null);
        let indices = indices.map_err(|error| error.to_string())?;
        output.set_texts(first, indices.iter().map(|index| index.unwrap_or(0) as usize), &table.names);
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
        addresses: &Addresses<'_>,
        rows: Range<usize>,
        output: &mut Output<'_>,
    ) -> Result<(), String> {
        let first = rows.start;
        let prefixes = prefixes(&addresses.array(rows)?, table, &Invalid::Null.into());
        let prefixes = prefixes.map_err(|error| error.to_string())?;
        set_rows(output, first, prefixes.iter(), Output::set_text);
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
        addresses: &Addresses<'_>,
        rows: Range<usize>,
        output: &mut Output<'_>,
    ) -> Result<(), String> {
        let first = rows.start;
        let found = contains(&addresses.array(rows)?, &table.compiled, Invalid::Null);
        let found = found.map_err(|error| error.to_string())?;
        set_rows(output, first, found.iter(), Output::set_boolean);
        Ok(())
    }
}
