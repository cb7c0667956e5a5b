//! What a function in SQL is to the rest of the crate; [`duckdb`](crate::duckdb) calls it.

use crate::duckdb::{Output, Type, Vector};
use std::ffi::CStr;

/// A function of two or three columns.
pub(crate) trait Scalar: 'static {
    /// Its name in SQL.
    const NAME: &'static CStr;
    /// The type of the first argument.
    const FIRST: Type;
    /// The types of the second, each a function of its own.
    const SECOND: &'static [Type];
    /// The type of the third, if there is one.
    const THIRD: Option<Type> = None;
    /// What it returns.
    const RETURNS: Type;
    /// Sets each row of `output`, by as many columns as there are arguments.
    fn call(columns: &[Vector<'_>], output: &mut Output<'_>) -> Result<(), String>;
}

/// A function that returns rows.
pub(crate) trait Table: 'static {
    /// Its name in SQL.
    const NAME: &'static CStr;
    /// The name of its optional second argument.
    const OPTION: &'static CStr;
    /// What a query asks for.
    type Asked: Send + Sync;
    /// How far a query has come.
    type Rows: Send;

    /// Takes the arguments, which are text.
    fn bind(argument: Option<String>, option: Option<String>) -> Result<Self::Asked, String>;

    /// Returns the names and types of the columns.
    fn columns(asked: &Self::Asked) -> Vec<(&str, Type)>;

    /// Begins a query.
    fn begin(asked: &Self::Asked) -> Self::Rows;

    /// Writes the next `most` rows at most, and returns their number: 0 at the end.
    fn fill(
        asked: &Self::Asked,
        rows: &mut Self::Rows,
        most: usize,
        columns: &mut [Output<'_>],
    ) -> Result<usize, String>;
}
