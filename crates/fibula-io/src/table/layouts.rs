//! The seam of formats: what each looks like, what reads it and what writes it.
//!
//! A format is a file with a [`Layout`], and a line in the list of the parent module.

use super::builder::Builder;
use super::{Format, LAYOUTS, ReadOptions, Tables, json, ranges};
use crate::blocks::{BYTE_ORDER_MARK, Blocks, hold};
use crate::scan::{lines, quoted};
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

/// Returns the format of some content by its first bytes, and where they tell none by its last. For
/// that it reads the rest of binary content into `head`.
pub(super) fn of_content(
    head: &mut Vec<u8>,
    content: &mut Content,
    options: &ReadOptions,
    room: u64,
) -> Result<Format, String> {
    let what = match recognised(head, options) {
        Err(what) if head.contains(&0) => what,
        other => return other,
    };
    hold(content, head, room).map_err(|damage| damage.what)?;
    let ends = |format: &Format| matches!(of(*format).looks, Looks::Ends(ends) if ends(head));
    Format::ALL.into_iter().find(ends).ok_or(what)
}

/// Returns the format of some content by its first bytes, or what was expected.
pub(super) fn recognised(head: &[u8], options: &ReadOptions) -> Result<Format, String> {
    /// The number of lines that are looked at: the first lines of a table may be headings.
    const LINES: usize = 20;
    let of = |looks: &dyn Fn(&Looks) -> bool| {
        Format::ALL.into_iter().rev().find(|&format| looks(&of(format).looks))
    };
    let names = || {
        let read = Format::ALL.into_iter().filter(|format| format.is_read());
        read.map(Format::name).collect::<Vec<_>>().join(", ")
    };
    if let Some(format) = of(&|looks| matches!(looks, Looks::Begins(begins) if begins(head))) {
        return Ok(format);
    }
    let text = head.strip_prefix(BYTE_ORDER_MARK).unwrap_or(head);
    if let Some(first @ (b'{' | b'[')) = text.trim_ascii_start().first() {
        if options.columns.are_named() {
            return Ok(if *first == b'{' { Format::Ndjson } else { Format::JsonRows });
        }
        let value = json::beginning(text);
        if let Some(format) = of(&|looks| matches!(looks, Looks::Json(is_one) if is_one(&value))) {
            return Ok(format);
        }
        return Err(format!("JSON of no known layout: {}, expected one of {}", json::shape(&value), names()));
    }
    if options.columns.are_named() {
        return Ok(Format::Csv);
    }
    let (mut first, mut is_list) = (None, false);
    for (_, line) in lines(text).take(LINES) {
        if line.trim_ascii().is_empty() || line.starts_with(b"#") {
            continue;
        }
        first.get_or_insert(line);
        match of(&|looks| matches!(looks, Looks::Line(is_line) if is_line(line))) {
            // A prefix alone may also be the first line of a route.
            Some(Format::List) => is_list = true,
            Some(Format::Text) if ranges::may_be_one(line) => {
                let found = quoted(String::from_utf8_lossy(line).trim());
                return Err(format!(
                    "{found} may be a range of addresses or an address and its next hop: name the format, ranges or text"
                ));
            }
            Some(format) => return Ok(format),
            None => {}
        }
    }
    if is_list {
        return Ok(Format::List);
    }
    // A table without routes is a table.
    let Some(line) = first else { return Ok(Format::Text) };
    let found = quoted(String::from_utf8_lossy(line).trim());
    Err(format!("the format is not recognised from {found}, expected one of {}", names()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<Format, String> {
        recognised(text.as_bytes(), &ReadOptions::default())
    }

    #[test]
    fn every_text_format_is_told_apart() {
        let of = |text: &str| of(text).unwrap();
        assert_eq!(of("# x\n10.0.0.0/8\t192.0.2.1\n"), Format::Text);
        assert_eq!(of("10.0.0.0/8 192.0.2.1 dev eth0\n"), Format::Text);
        assert_eq!(of("10.0.0.0/8 dev eth0\n"), Format::Text);
        assert_eq!(of("not a route\n10.0.0.0/8 1\n"), Format::Text);
        assert_eq!(of(""), Format::Text);
        assert_eq!(of("10.0.0.0\t8\t1_2\n"), Format::Pfx2as);
        assert_eq!(of("Prefix,ASN\n10.0.0.0/8,1\n"), Format::Csv);
        assert_eq!(of("192.0.2.0 192.0.2.9 lab 7\n"), Format::Ranges);
        assert_eq!(of("192.0.2.7 192.0.2.9 dev eth0\n"), Format::Text);
        assert_eq!(of("192.0.2.7/32 192.0.2.9\n192.0.2.9 192.0.2.1\n"), Format::Text);
        assert_eq!(of("default via 192.0.2.1 dev eth0\n"), Format::IpRoute);
        assert_eq!(of("10.0.0.0/8 dev eth0 scope link\n"), Format::IpRoute);
        assert_eq!(of("unreachable 10.0.0.0/8\n"), Format::IpRoute);
        assert_eq!(of("\u{FEFF}  {\"10.0.0.0/8\":[{\"nexthops\":[]}]}"), Format::Frr);
        assert_eq!(of("BIRD 2.0.7 ready.\nTable master4:\n"), Format::Bird);
        assert_eq!(of("10.0.0.0/8  blackhole [static1 2024-01-01] * (200)\n"), Format::Bird);
        assert_eq!(of("PAR1\u{15}\0"), Format::Parquet);
        assert_eq!(of("\0\0\0\u{1}\0\u{10}\0\u{1}\0\0\0\0"), Format::Mrt);
    }

    #[test]
    fn what_is_not_recognised_is_shown() {
        let error = of("hello world\n").unwrap_err();
        let what = "the format is not recognised from \"hello world\", expected one of text, mrt,";
        assert!(error.starts_with(what), "{error}");
        let error = of("192.0.2.0\t192.0.2.255\n").unwrap_err();
        assert!(
            error.ends_with(
                "may be a range of addresses or an address and its next hop: name the format, ranges or text"
            ),
            "{error}"
        );
        let error = of("{\"answers\":[{\"to\":\"10.0.0.0/8\"}],\"cost\":1}").unwrap_err();
        let what = "JSON of no known layout: an object with answers, cost, expected one of text, mrt,";
        assert!(error.starts_with(what), "{error}");
    }
}
