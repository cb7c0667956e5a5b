//! The job: records go in by parts, each part is answered and encoded by one of several threads,
//! and the parts are written in order.
//!
//! ```text
//! file ──▶ Input ──parts──▶ worker: read, look up, encode ──▶ OUT.part ──rename──▶ OUT
//!                       └─▶ worker ...                    ──┘ in order
//! ```

mod added;
#[cfg(test)]
mod damaged;
mod followed;
mod input;
mod nested;
mod output;
mod tables;

use super::{Arguments, Errors};
use crate::exit::{Verdict, tell};
use crate::output::Output;
use crate::reading::Bar;
use crate::workers::in_order;
use crate::writing::write_text;
use added::{Added, Asked};
use anyhow::{Context, ensure};
use arrow_schema::Schema;
use fibula_arrow::{How, Invalid, is_mostly_mapped};
use fibula_io::table::Format;
use input::{Input, Part};
use output::{Encoded, Encoder};
use std::io;
use std::sync::Arc;

/// Runs the command.
pub(super) fn run(arguments: &Arguments, output: &Output) -> anyhow::Result<Verdict> {
    let (input_format, output_format) = arguments.formats()?;
    ensure!(
        output.asked().is_none() || arguments.output.as_os_str() != "-",
        "records and the report of --format cannot both go to standard output"
    );
    if !arguments.follow.is_empty() {
        return followed::run(arguments, (input_format, output_format));
    }
    let bar = Bar::new();
    let input = Input::open(arguments, input_format, output_format, &bar)?;
    let (tables, whole) = tables::read(arguments, matches!(output_format, Format::Parquet | Format::Ndjson))?;
    let columns = asked(arguments, input_format, input.schema()).context(arguments.input.clone())?;
    let added =
        Added::new(input.schema(), columns, tables, arguments.prefix).context(arguments.input.clone())?;
    let rows = input.names().map(|names| added.beside(names)).transpose()?;
    let (encoder, mut writer) =
        output::new(arguments, output_format, &added, rows.map(|rows| (rows, input.header())))?;

    let job = Arc::new((added, encoder));
    let worker = || {
        let (job, name) = (Arc::clone(&job), arguments.input.clone());
        move |part: Part| answer(part, &job.0, &job.1).with_context(|| name.clone())
    };
    let mut failure = None;
    let written = write_text(&arguments.output, |out| {
        let write = || {
            writer.begin(out)?;
            in_order(arguments.threads(), 0, input.parts(), worker, |part| writer.write(part, out))?;
            writer.finish(out)
        };
        // An error of the file that is written is told with its name, any other with the input's.
        write().map_err(|error| {
            error.downcast::<io::Error>().unwrap_or_else(|error| {
                failure = Some(error);
                io::Error::other("the input cannot be used")
            })
        })
    });
    drop(bar);
    if let Some(error) = failure {
        return Err(error);
    }
    written?;
    let added = &job.0;
    added.told().iter().for_each(|line| tell(format_args!("{}: {line}", arguments.input)));
    if output.asked().is_some() {
        output.rows(added.reports())?;
    }
    Ok(whole)
}

/// Returns the columns of addresses, and how each is read.
fn asked(arguments: &Arguments, format: Format, records: &Schema) -> anyhow::Result<Vec<Asked>> {
    let invalid = match arguments.errors {
        Errors::Null => Invalid::Null,
        Errors::Raise => Invalid::Error,
    };
    let column = |name: &String| {
        let place = added::find(records, name)?;
        let asked = arguments.addresses.asked();
        if asked.is_none()
            && format == Format::Parquet
            && place.data_type.is_binary()
            && input::sample(&arguments.input, &place)?.iter().any(|it| is_mostly_mapped(it))
        {
            let what = "most addresses are written ::ffff:a.b.c.d and looked up as IPv6";
            tell(format_args!("{}: column {name}: {what} (--map-ipv4, --embedded none)", arguments.input));
        }
        let embedded = asked.unwrap_or_default();
        let how = How { invalid, clean: arguments.addresses.clean, embedded };
        Ok(Asked { name: name.clone(), place, how })
    };
    arguments.columns.iter().map(column).collect()
}

/// Reads a part, adds its answers and encodes it.
fn answer(part: Part, added: &Added, encoder: &Encoder) -> anyhow::Result<Encoded> {
    let mut row = part.first_row;
    let mut encoding = encoder.begin(part.number)?;
    for batch in part.read()? {
        let batch = batch?;
        encoding.write(&added.to(&batch, row)?)?;
        row += batch.num_rows() as u64;
    }
    encoding.finish()
}
