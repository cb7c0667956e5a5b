//! `fibula_covering`, `fibula_covered`, `fibula_overlaps` and `fibula_rov`: questions about columns
//! of prefixes, which are text. An address is its host prefix.

use crate::duckdb::{Database, Output, Type, Vector};
use crate::function::Scalar;
use crate::lookup::{each_named, set_rows};
use fibula::{InternedTable, IpPrefix};
use fibula_io::rov::Vrps;
use std::ffi::CStr;
use std::marker::PhantomData;
use std::ops::Range;

/// Registers the functions.
pub(crate) fn register(database: &Database) -> Result<(), String> {
    database.add_scalar::<Covering>()?;
    database.add_scalar::<Whether<Covered>>()?;
    database.add_scalar::<Whether<Overlaps>>()?;
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
        each_named(&columns[0], output, |table: &InternedTable<()>, rows, output| {
            let first = rows.start;
            let covers = prefixes(&columns[1], rows).map(|prefix| table.get_lpm(prefix?));
            set_rows(output, first, covers, |output, row, (cover, ())| {
                output.set_text(row, &cover.to_string());
            });
            Ok(())
        })
    }
}

/// A question that a table answers with yes or no.
trait Question: 'static {
    const NAME: &'static CStr;

    fn answer(table: &InternedTable<()>, prefix: IpPrefix) -> bool;
}

struct Covered;

impl Question for Covered {
    const NAME: &'static CStr = c"fibula_covered";

    fn answer(table: &InternedTable<()>, prefix: IpPrefix) -> bool {
        table.is_covered(prefix)
    }
}

struct Overlaps;

impl Question for Overlaps {
    const NAME: &'static CStr = c"fibula_overlaps";

    fn answer(table: &InternedTable<()>, prefix: IpPrefix) -> bool {
        table.overlaps_prefix(prefix)
    }
}

struct Whether<Q>(PhantomData<Q>);

impl<Q: Question> Scalar for Whether<Q> {
    const NAME: &'static CStr = Q::NAME;
    const FIRST: Type = Type::Varchar;
    const SECOND: &'static [Type] = &[Type::Varchar];
    const RETURNS: Type = Type::Boolean;

    fn call(columns: &[Vector<'_>], output: &mut Output<'_>) -> Result<(), String> {
        each_named(&columns[0], output, |table: &InternedTable<()>, rows, output| {
            let first = rows.start;
            let answers = prefixes(&columns[1], rows).map(|prefix| Some(Q::answer(table, prefix?)));
            set_rows(output, first, answers, Output::set_boolean);
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
