//! The layouts: what each format looks like, what reads it and what writes it.

use super::builder::Builder;
use super::{
    Format, ReadOptions, Tables, bird, csv, frr, ip_route, mrt, parquet, pfx2as, rows, snapshot, text,
};
use crate::blocks::{BYTE_ORDER_MARK, Blocks, hold};
use crate::scan::{lines, quoted};
use crate::{Content, Damage};
use fibula::IpPrefix;
use std::io::{self, Read, Write};

/// One format.
pub(super) struct Layout {
    pub(super) format: Format,
    looks: Looks,
    reader: Reader,
    pub(super) writer: Option<Writer>,
}

/// How a format is recognised.
enum Looks {
    /// By its first bytes.
    Begins(fn(&[u8]) -> bool),
    /// By one of its first lines.
    Line(fn(&[u8]) -> bool),
}

/// What reads a format. MRT and lines are read as a stream, since a collector's dump has gigabytes
/// and a small compressed file may expand to that.
enum Reader {
    Stream(fn(&mut dyn Read, &ReadOptions, &mut Builder) -> Result<(), Damage>),
    Lines(fn(&mut Lines<'_>, &ReadOptions, &mut Builder) -> Result<(), Damage>),
    /// Reads what is held in memory as a whole.
    Held(fn(Vec<u8>, &ReadOptions, &mut Builder) -> Result<(), Damage>),
}

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

/// All formats, in the order of [`Format::ALL`]. Of several that take a line the last is meant.
static LAYOUTS: [Layout; Format::ALL.len()] = [
    Layout {
        format: Format::Text,
        looks: Looks::Line(|line| matches!(text::row(line, true), Ok(Some(_)))),
        reader: Reader::Lines(|lines, options, builder| rows::read(lines, options, builder, text::row)),
        writer: Some(Writer::Lines {
            header: "",
            has_comments: true,
            name: str::to_owned,
            line: |prefix, name, out| writeln!(out, "{prefix}\t{name}"),
        }),
    },
    Layout {
        format: Format::Mrt,
        looks: Looks::Begins(crate::mrt::looks_like),
        reader: Reader::Stream(mrt::read),
        writer: None,
    },
    Layout {
        format: Format::Pfx2as,
        looks: Looks::Line(|line| matches!(pfx2as::row(line, true), Ok(Some(_)))),
        reader: Reader::Lines(|lines, options, builder| rows::read(lines, options, builder, pfx2as::row)),
        writer: Some(Writer::Lines {
            header: "",
            has_comments: true,
            name: str::to_owned,
            line: |prefix, name, out| writeln!(out, "{}\t{name}", prefix.to_string().replace('/', "\t")),
        }),
    },
    Layout {
        format: Format::IpRoute,
        looks: Looks::Line(|line| ip_route::is_line(&String::from_utf8_lossy(line))),
        reader: Reader::Lines(ip_route::read),
        writer: None,
    },
    Layout {
        format: Format::Frr,
        looks: Looks::Begins(|head| without_mark(head).trim_ascii_start().starts_with(b"{")),
        reader: Reader::Held(|bytes, options, builder| frr::read(without_mark(&bytes), options, builder)),
        writer: None,
    },
    Layout {
        format: Format::Csv,
        looks: Looks::Line(csv::is_header),
        reader: Reader::Lines(csv::read),
        writer: Some(Writer::Lines {
            header: "prefix,value\n",
            has_comments: false,
            name: |name| csv::quote(name).into_owned(),
            line: |prefix, name, out| writeln!(out, "{prefix},{name}"),
        }),
    },
    Layout {
        format: Format::Bird,
        looks: Looks::Line(|line| bird::is_line(&String::from_utf8_lossy(line))),
        reader: Reader::Lines(bird::read),
        writer: None,
    },
    Layout {
        format: Format::Snapshot,
        looks: Looks::Begins(|head| head.starts_with(&fibula::snapshot::MAGIC)),
        reader: Reader::Held(|bytes, _, builder| snapshot::read(&bytes, builder)),
        writer: None,
    },
    Layout {
        format: Format::Parquet,
        looks: Looks::Begins(|head| head.starts_with(parquet::MAGIC)),
        reader: Reader::Held(parquet::read),
        writer: Some(Writer::Whole(parquet::write)),
    },
];

/// Returns the names of the formats that have a writer.
pub(super) fn written() -> String {
    let written = LAYOUTS.iter().filter(|layout| layout.writer.is_some());
    written.map(|layout| layout.format.name()).collect::<Vec<_>>().join(", ")
}

/// Returns the layout of a format.
pub(super) fn of(format: Format) -> &'static Layout {
    &LAYOUTS[format as usize]
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
            Reader::Stream(read) => read(&mut head.as_slice().chain(content), options, builder),
            Reader::Lines(read) => {
                let mut input = head.as_slice().chain(content);
                read(&mut Blocks::new(&mut input, options.keep_going), options, builder)
            }
            Reader::Held(read) => {
                let held = hold(content, &mut head);
                match content.damage() {
                    // The text ends in the middle of a route, which is not one.
                    Some(cut) if !options.keep_going => Err(cut.clone()),
                    _ => held.and_then(|()| read(head, options, builder)),
                }
            }
        }
    }
}

fn without_mark(text: &[u8]) -> &[u8] {
    text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text)
}

/// Returns the format of some content by its first bytes, or what was expected.
pub(super) fn recognised(head: &[u8]) -> Result<Format, String> {
    /// The number of lines that are looked at: the first lines of a table may be headings.
    const LINES: usize = 20;
    let of = |looks: &dyn Fn(&Looks) -> bool| {
        LAYOUTS.iter().rev().find(|layout| looks(&layout.looks)).map(|layout| layout.format)
    };
    if let Some(format) = of(&|looks| matches!(looks, Looks::Begins(begins) if begins(head))) {
        return Ok(format);
    }
    let mut first = None;
    for (_, line) in lines(without_mark(head)).take(LINES) {
        if line.trim_ascii().is_empty() || line.starts_with(b"#") {
            continue;
        }
        first.get_or_insert(line);
        if let Some(format) = of(&|looks| matches!(looks, Looks::Line(is_line) if is_line(line))) {
            return Ok(format);
        }
    }
    // A table without routes is a table.
    let Some(line) = first else { return Ok(Format::Text) };
    let found = quoted(String::from_utf8_lossy(line).trim());
    let names = Format::ALL.map(Format::name).join(", ");
    Err(format!("the format is not recognised from {found}, expected one of {names}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_format_is_told_apart() {
        let of = |text: &str| recognised(text.as_bytes()).unwrap();
        assert_eq!(of("# x\n10.0.0.0/8\t192.0.2.1\n"), Format::Text);
        assert_eq!(of("10.0.0.0/8 192.0.2.1 dev eth0\n"), Format::Text);
        assert_eq!(of("10.0.0.0/8 dev eth0\n"), Format::Text);
        assert_eq!(of("not a route\n10.0.0.0/8 1\n"), Format::Text);
        assert_eq!(of(""), Format::Text);
        assert_eq!(of("10.0.0.0\t8\t1_2\n"), Format::Pfx2as);
        assert_eq!(of("Prefix,ASN\n10.0.0.0/8,1\n"), Format::Csv);
        assert_eq!(of("default via 192.0.2.1 dev eth0\n"), Format::IpRoute);
        assert_eq!(of("10.0.0.0/8 dev eth0 scope link\n"), Format::IpRoute);
        assert_eq!(of("unreachable 10.0.0.0/8\n"), Format::IpRoute);
        assert_eq!(of("\u{FEFF}  {\"10.0.0.0/8\":[]}"), Format::Frr);
        assert_eq!(of("BIRD 2.0.7 ready.\nTable master4:\n"), Format::Bird);
        assert_eq!(of("10.0.0.0/8  blackhole [static1 2024-01-01] * (200)\n"), Format::Bird);
        assert_eq!(of("PAR1\u{15}\0"), Format::Parquet);
        assert_eq!(of("\0\0\0\u{1}\0\u{10}\0\u{1}\0\0\0\0"), Format::Mrt);
    }

    #[test]
    fn every_format_has_its_layout() {
        assert!(Format::ALL.into_iter().all(|format| of(format).format == format));
    }

    #[test]
    fn what_is_not_recognised_is_shown() {
        let error = recognised(b"hello world\n").unwrap_err();
        assert!(
            error
                .starts_with("the format is not recognised from \"hello world\", expected one of text, mrt,")
        );
    }
}
