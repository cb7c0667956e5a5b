//! Without the feature `parquet` a file is recognised, and not read.

use super::super::builder::Builder;
use super::super::{ReadOptions, Tables};
use crate::Damage;
use std::io::{self, Write};

const WITHOUT: &str =
    "Parquet needs the feature `parquet` of fibula-io, which the command line has with `enrich`";

pub(in super::super) fn read(_: Vec<u8>, _: &ReadOptions, _: &mut Builder) -> Result<(), Damage> {
    Err(Damage::byte(0, WITHOUT))
}

pub(in super::super) fn write(_: &Tables, _: &[String], _: &mut dyn Write) -> io::Result<()> {
    Err(io::Error::new(io::ErrorKind::Unsupported, WITHOUT))
}
