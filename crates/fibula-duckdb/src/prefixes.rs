//! `fibula_covering`, `fibula_covered` and `fibula_rov`: questions about columns of prefixes, which
//! are text. An address is its host prefix.

use crate::duckdb::{Database, Output, Type, Vector};
use crate::function::Scalar;
use crate::lookup::{each_named, set_rows};
use fibula::{IpPrefix, Table};
use fibula_io::rov::Vrps;
use std::ffi::CStr;
use std::ops::Range;

/// Registers the functions.
pub(crate) fn register(database: &Database) -> Result<(), String> {
    database.add_scalar::<Covering>()?;
    database.add_scalar::<Covered>()?;
    database.add_scalar::<Rov>()
}

/// Returns the prefixes of some rows; `None` where there is none.
fn prefixes(column: &Vector<'_>, rows: Range<usize>) -> impl Iterator<Item = Option<IpPrefix>> {
    column.bytes(rows).map(|text| str::from_utf8(text?).ok()?.parse().ok())
}

struct Covering;

impl Scalar for Covering {
    const NAME: &'static CStr = c"fibula_covering";
    const FIRST: Type = Type::Varchar;
    const SECOND: &'static [Type] = &[Type::Varchar];
    const RETURNS: Type = Type::Varchar;

    fn call(columns: &[Vector<'_>], output: &mut Output<'_>) -> Result<(), String> {
        each_named(&columns[0], output, |table: &Table<()>, rows, output| {
            let first = rows.start;
            let covers = prefixes(&columns[1], rows).map(|prefix| table.get_lpm(prefix?));
            set_rows(output, first, covers, |output, row, (cover, ())| {
                output.set_text(row, &cover.to_string());
            });
            Ok(())
        })
    }
}

struct Covered;

impl Scalar for Covered {
    const NAME: &'static CStr = c"fibula_covered";
    const FIRST: Type = Type::Varchar;
    const SECOND: &'static [Type] = &[Type::Varchar];
    const RETURNS: Type = Type::Boolean;

    fn call(columns: &[Vector<'_>], output: &mut Output<'_>) -> Result<(), String> {
        each_named(&columns[0], output, |table: &Table<()>, rows, output| {
            let first = rows.start;
            let covered = prefixes(&columns[1], rows).map(|prefix| Some(table.is_covered(prefix?)));
            set_rows(output, first, covered, Output::set_boolean);
            Ok(())
        })
    }
}

struct Rov;

impl Scalar for Rov {
    const NAME: &'static CStr = c"fibula_rov";
    const FIRST: Type = Type::Varchar;
    const SECOND: &'static [Type] = &[Type::Varchar];
    const THIRD: Option<Type> = Some(Type::BigInt);
    const RETURNS: Type = Type::Varchar;

    fn call(columns: &[Vector<'_>], output: &mut Output<'_>) -> Result<(), String> {
        let origins = &columns[2];
        let numbers = origins.numbers::<i64>();
        each_named(&columns[0], output, |vrps: &Vrps, rows, output| {
            let first = rows.start;
            let judged = prefixes(&columns[1], rows.clone()).zip(rows).map(|(prefix, row)| {
                let origin = origins.is_valid(row).then(|| u32::try_from(numbers[row]).ok())??;
                Some(vrps.validity(prefix?, Some(origin)).name())
            });
            set_rows(output, first, judged, Output::set_text);
            Ok(())
        })
    }
}
