//! The job: records go in by parts, each part is answered and encoded by one of several threads,
//! and the parts are written in order.
//!
//! ```text
//! file ──▶ Input ──parts──▶ worker: read, look up, encode ──▶ OUT.part ──rename──▶ OUT
//!                       └─▶ worker ...                    ──┘ in order
//! ```

mod added;
mod input;
mod output;
mod tables;

use super::{Arguments, Errors};
use crate::exit::Verdict;
use crate::reading::Bar;
use crate::workers::in_order;
use crate::writing::write_text;
use added::Added;
use anyhow::Context;
use fibula_arrow::Invalid;
use input::{Input, Part};
use output::{Encoded, Encoder};
use std::io;
use std::sync::Arc;

/// Runs the command.
pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Verdict> {
    let (input_format, output_format) = arguments.formats()?;
    let bar = Bar::new();
    let input = Input::open(&arguments.input, input_format, arguments.errors, &bar)?;
    let (tables, whole) = tables::read(arguments)?;
    let invalid = match arguments.errors {
        Errors::Null => Invalid::Null,
        Errors::Raise => Invalid::Error,
    };
    let added = Added::new(input.schema(), &arguments.columns, tables, arguments.prefix, invalid)
        .context(arguments.input.clone())?;
    let (encoder, mut writer) = output::new(arguments, output_format, added.schema())?;

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
    match failure {
        Some(error) => Err(error),
        None => written.map(|()| whole),
    }
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
