//! `fibula_lookup`, `fibula_prefix`, `fibula_contains` and `fibula_address`.

use crate::addresses::{self, Addresses};
use crate::duckdb::{Database, Output, Type, Vector};
use crate::function::Scalar;
use crate::tables::{Named, NextHops};
use fibula::InternedTable;
use fibula_arrow::{How, Invalid, Texts, contains, lookup, prefixes};
use std::cell::RefCell;
use std::ffi::CStr;
use std::ops::Range;

/// Registers the functions.
pub(crate) fn register(database: &Database) -> Result<(), String> {
    database.add_scalar::<Asked<Lookup>>()?;
    database.add_scalar::<Asked<Prefix>>()?;
    database.add_scalar::<Asked<Contains>>()?;
    database.add_scalar::<Asked<Address>>()
}

/// What is asked about addresses.
trait Question: 'static {
    const NAME: &'static CStr;
    const RETURNS: Type;
    /// Whom it is asked: a table, mostly.
    type Of: Named;

    /// Sets some rows to what is answered for their addresses.
    fn answer(
        of: &Self::Of,
        addresses: &Addresses<'_>,
        rows: Range<usize>,
        output: &mut Output<'_>,
    ) -> Result<(), String>;
}

/// The function of a question: of a name, such as a table's path, and an address.
struct Asked<Q>(Q);

impl<Q: Question> Scalar for Asked<Q> {
    const NAME: &'static CStr = Q::NAME;
    const FIRST: Type = Type::Varchar;
    const SECOND: &'static [Type] = addresses::TYPES;
    const RETURNS: Type = Q::RETURNS;

    fn call(columns: &[Vector<'_>], output: &mut Output<'_>) -> Result<(), String> {
        let addresses = Addresses::new(&columns[1]);
        each_named(&columns[0], output, |of, rows, output| Q::answer(of, &addresses, rows, output))
    }
}

/// Calls `answer` for each run of rows with one name, with what has it. Rows without one are null.
pub(crate) fn each_named<N: Named>(
    names: &Vector<'_>,
    output: &mut Output<'_>,
    mut answer: impl FnMut(&N, Range<usize>, &mut Output<'_>) -> Result<(), String>,
) -> Result<(), String> {
    names.each_run(|first, rows, name| {
        let Some(name) = name else {
            (first..first + rows).for_each(|row| output.set_null(row));
            return Ok(());
        };
        let name = str::from_utf8(name).map_err(|error| error.to_string())?;
        answer(&*N::at(name)?, first..first + rows, output)
    })
}

/// Sets a row for each answer, from row `first` on; without an answer it is null.
pub(crate) fn set_rows<'o, T>(
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
    type Of = NextHops;

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
    type Of = InternedTable<()>;

    fn answer(
        table: &InternedTable<()>,
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
    type Of = NextHops;

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

/// The address itself, as it is written usually.
struct Address;

impl Question for Address {
    const NAME: &'static CStr = c"fibula_address";
    const RETURNS: Type = Type::Varchar;
    type Of = How;

    fn answer(
        how: &How,
        addresses: &Addresses<'_>,
        rows: Range<usize>,
        output: &mut Output<'_>,
    ) -> Result<(), String> {
        let first = rows.start;
        let texts = fibula_arrow::addresses(&addresses.array(rows)?, how);
        let texts = texts.map_err(|error| error.to_string())?;
        set_rows(output, first, texts.iter(), Output::set_text);
        Ok(())
    }
}
