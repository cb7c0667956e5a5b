//! The seam of formats: what each looks like, what reads it and what writes it. Which one some
//! content is in, [`recognise`](super::recognise) says.
//!
//! A format is a file with a [`Layout`], and a line in the list of the parent module.

use super::builder::Builder;
use super::{Format, LAYOUTS, ReadOptions, Tables};
use crate::blocks::{BYTE_ORDER_MARK, Blocks, hold};
use crate::{Content, Damage, Place};
use fibula::IpPrefix;
use std::io::{self, Read, Write};

/// One format.
pub(super) struct Layout {
    pub(super) looks: Looks,
    pub(super) reader: Reader,
    pub(super) writer: Option<Writer>,
    /// The endings of the names of its files.
    pub(super) endings: &'static [&'static str],
}

/// How a format is recognised.
pub(super) enum Looks {
    /// By its first bytes.
    Begins(fn(&[u8]) -> bool),
    /// By one of its first lines.
    Line(fn(&[u8]) -> bool),
    /// The text of a router: by one of its lines, and by how many its reader accounts for.
    Router(fn(&[u8]) -> bool),
    /// By the beginning of its first JSON value: what is after it may be missing.
    Json(fn(&serde_json::Value) -> bool),
    /// By its last bytes.
    Ends(fn(&[u8]) -> bool),
}

/// What reads a format. MRT and lines are read as a stream, since a collector's dump has gigabytes
/// and a small compressed file may expand to that.
pub(super) enum Reader {
    Stream(fn(&mut dyn Read, &ReadOptions, &mut Builder) -> Result<(), Damage>),
    Lines(fn(&mut Lines<'_>, &ReadOptions, &mut Builder) -> Result<(), Damage>),
    /// The format is only written.
    Never,
    /// Reads what is held in memory as a whole, without a byte order mark.
    Held(fn(Vec<u8>, &ReadOptions, &mut Builder) -> Result<(), Damage>),
}

/// The memory of a JSON document and what is made of it, in times its text.
const PARSED: u64 = 4;

/// A table's lines.
pub(super) type Lines<'i> = Blocks<&'i mut dyn Read>;

/// What writes a format.
pub(super) enum Writer {
    /// One route a line.
    Lines {
        header: &'static str,
        /// Whether ` #` begins a comment, so that no next hop may have it.
        has_comments: bool,
        name: fn(&str) -> String,
        line: fn(IpPrefix, &str, &mut dyn Write) -> io::Result<()>,
    },
    /// All routes, whose next hops have these names.
    Whole(fn(&Tables, &[String], &mut dyn Write) -> io::Result<()>),
}

/// Returns the names of the formats that have a writer.
pub(super) fn written() -> String {
    let written = Format::ALL.into_iter().filter(|format| format.is_written());
    written.map(Format::name).collect::<Vec<_>>().join(", ")
}

/// Returns the layout of a format.
pub(super) fn of(format: Format) -> &'static Layout {
    LAYOUTS[format as usize]
}

impl Layout {
    /// Reads content whose first bytes have been read.
    pub(super) fn read(
        &self,
        mut head: Vec<u8>,
        content: &mut Content,
        options: &ReadOptions,
        builder: &mut Builder,
    ) -> Result<(), Damage> {
        match self.reader {
            Reader::Never => builder.damaged(Damage::byte(0, "tables of this format are only written")),
            Reader::Stream(read) => read(&mut head.as_slice().chain(content), options, builder),
            Reader::Lines(read) => {
                let mut input = head.as_slice().chain(content);
                read(&mut Blocks::new(&mut input, options.keep_going), options, builder)
            }
            Reader::Held(read) => {
                let held = hold(content, &mut head, builder.room());
                if head.starts_with(BYTE_ORDER_MARK) {
                    head.drain(..BYTE_ORDER_MARK.len());
                }
                match content.damage() {
                    // The text ends in the middle of a route, which is not one.
                    Some(cut) if !options.keep_going => Err(cut.clone()),
                    _ => {
                        held?;
                        let times = if matches!(self.looks, Looks::Json(_)) { PARSED } else { 1 };
                        builder.hold(Place::Byte(0), times * head.len() as u64)?;
                        read(head, options, builder)
                    }
                }
            }
        }
    }
}
