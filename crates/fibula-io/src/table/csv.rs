//! Separated values with a header line that names the columns.
//!
//! A field may be in double quotes, with `""` for a quote; a line break inside quotes is not
//! supported. Comment lines may precede the header. A column that is named as a value is
//! (`value`, `next_hop`, `gateway`) is the value. Otherwise all columns but the addresses are: one
//! of them is the value itself, several are the fields of an object.

use super::builder::Builder;
use super::columns::{self, Chosen};
use super::layouts::{Layout, Lines, Looks, Reader, Writer};
use super::locations::Locations;
use super::{Columns, ReadOptions};
use crate::Damage;
use crate::scan::{lines, utf8};
use std::borrow::Cow;

pub(super) const LAYOUT: Layout = Layout {
    looks: Looks::Line(is_header),
    reader: Reader::Lines(read),
    writer: Some(Writer::Lines {
        header: "prefix,value\n",
        has_comments: false,
        name: |name| quote(name, ',').into_owned(),
        line: |prefix, name, out| writeln!(out, "{prefix},{name}"),
    }),
    endings: &["csv"],
};

pub(super) const TSV: Layout = Layout {
    // What is between the columns of CSV is told by its header.
    looks: Looks::Line(|_| false),
    reader: Reader::Lines(|blocks, options, builder| {
        if let Some(names) = zeek(blocks.peek()) {
            let names = names.split('\t').map(str::to_owned).collect();
            let chosen = columns::choose(names, &options.columns).map_err(|what| Damage::line(1, what))?;
            let chosen = || Chosen { delimiter: b'\t', ..chosen.clone() };
            return columns::read(blocks, options, builder, |_| Ok((chosen(), true)));
        }
        let delimiter = options.columns.delimiter.or(Some(b'\t'));
        read_columns(blocks, options, &Columns { delimiter, ..options.columns.clone() }, builder)
    }),
    writer: Some(Writer::Lines {
        header: "prefix\tvalue\n",
        has_comments: false,
        name: str::to_owned,
        line: |prefix, name, out| writeln!(out, "{prefix}\t{name}"),
    }),
    endings: &["tsv"],
};

fn read(blocks: &mut Lines<'_>, options: &ReadOptions, builder: &mut Builder) -> Result<(), Damage> {
    read_columns(blocks, options, &options.columns, builder)
}

fn read_columns(
    blocks: &mut Lines<'_>,
    options: &ReadOptions,
    wanted: &Columns,
    builder: &mut Builder,
) -> Result<(), Damage> {
    let Some(locations) = Locations::of(blocks, options, builder)? else {
        return columns::read(blocks, options, builder, |line| begin(line, wanted));
    };
    let own = locations.wanted(wanted);
    columns::read(blocks, options, builder, |line| {
        begin(line, &own).map(|(chosen, is_row)| (Chosen { is_object: true, ..chosen }, is_row))
    })?;
    let names = locations.names().to_vec();
    let join = locations.join(&builder.columns, wanted).map_err(|what| Damage::line(1, what))?;
    builder.columns = join.columns(&builder.columns, &names);
    builder.join(&join)
}

/// Returns the columns, and whether the line that tells them is a row.
fn begin(line: &[u8], wanted: &Columns) -> Result<(Chosen, bool), String> {
    if !wanted.has_no_header {
        return Ok((columns::header(line, wanted)?, false));
    }
    let numbered = |delimiter| {
        let names = (1..=columns::fields(line, delimiter)?.len()).map(|number| format!("column{number}"));
        let chosen = columns::choose(names.collect(), wanted)?;
        Ok::<_, String>(Chosen { delimiter, ..chosen })
    };
    let likely = columns::DELIMITERS.into_iter().find(|&delimiter| numbered(delimiter).is_ok());
    Ok((numbered(wanted.delimiter.or(likely).unwrap_or(b','))?, true))
}

/// Returns whether the first line of a text has these columns.
pub(super) fn has_columns(text: &[u8], wanted: &Columns) -> bool {
    let first = lines(text).map(|(_, line)| line).find(|line| !columns::is_skipped(line));
    first.is_some_and(|line| begin(line, wanted).is_ok())
}

/// Returns the names of the columns in a table of Zeek, which are in a comment.
pub(super) fn zeek(text: &[u8]) -> Option<&str> {
    let names = lines(text).find_map(|(_, line)| line.strip_prefix(b"#fields\t"))?;
    utf8(names).ok()
}

/// Returns whether a line names the columns of a table.
fn is_header(line: &[u8]) -> bool {
    utf8(line).is_ok()
        && columns::header(line, &Columns::default()).is_ok_and(|chosen| chosen.names.len() > 1)
}

/// Writes a field, in quotes where it needs them.
pub(super) fn quote(text: &str, delimiter: char) -> Cow<'_, str> {
    if text.contains([delimiter, '"']) || text.trim() != text {
        Cow::Owned(format!("\"{}\"", text.replace('"', "\"\"")))
    } else {
        Cow::Borrowed(text)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{self, routes, values};
    use super::super::{Format, ReadOptions, parse};

    #[test]
    fn columns_are_found_by_name() {
        let loaded = parse(
            b"# made\nid,Next_Hop,PREFIX\n1,192.0.2.1,10.0.0.0/8\n\n2,\"a \"\"b\"\", c\",\"2001:db8::/32\"\n",
            &ReadOptions::default(),
        )
        .unwrap();
        assert_eq!(loaded.format, Format::Csv);
        assert_eq!(values(&loaded), ["192.0.2.1", "a \"b\", c"]);
    }

    #[test]
    fn netmasks_and_lengths_are_beside_their_addresses() {
        let of = |text: &str| routes(&parse(text.as_bytes(), &ReadOptions::default()).unwrap());
        let both = ["10.0.0.0/8 a", "192.168.0.0/16 b"];
        assert_eq!(of("network,netmask,site\n10.0.0.0,255.0.0.0,a\n192.168.0.0,/16,b\n"), both);
        assert_eq!(of("site;address;prefix_length\na;10.0.0.0;8\nb;192.168.0.0;16\n"), both);
        assert_eq!(of("10.0.0.0/255.0.0.0\n"), ["10.0.0.0/8 listed"]);
        // A prefix stands for itself, and so does an address without a mask.
        let rest = ["10.0.0.0/8 a", "10.0.0.1/32 b"];
        assert_eq!(of("network,mask,site\n10.0.0.0/8,255.0.0.0,a\n10.0.0.1,,b\n"), rest);
        let error = testing::error(Format::Csv, "network,mask,site\n10.0.0.0,255.0.255.0,a\n");
        assert_eq!(error, "memory, line 2: 255.0.255.0 is no netmask of 10.0.0.0");
    }

    #[test]
    fn the_columns_of_zeek_are_named_in_a_comment() {
        let text = b"#separator \\x09\n#fields\tnetwork\tsite\tas\n#types\tsubnet\tstring\tcount\n\
            10.0.0.0/8\tlab\t01\n192.0.2.0/24\t-\t2\n#close\t2024\n";
        let loaded = parse(text, &ReadOptions::default()).unwrap();
        assert_eq!(loaded.format, Format::Tsv);
        let rows = [r#"10.0.0.0/8 {"site":"lab","as":"01"}"#, r#"192.0.2.0/24 {"site":"-","as":"2"}"#];
        assert_eq!(routes(&loaded), rows);
        let log = b"#fields\tts\tid.orig_h\n1.5\t10.1.2.3\n";
        let error = parse(log, &ReadOptions::default()).unwrap_err().to_string();
        assert!(error.contains("expected a header with a column of prefixes"), "{error}");
    }

    #[test]
    fn what_is_wrong_is_said() {
        let error = |text: &str| testing::error(Format::Csv, text);
        assert_eq!(
            error("10.0.0.0/8,1\n"),
            "memory, line 1: expected a header with a column of prefixes (such as prefix or network), found \
             \"10.0.0.0/8,1\""
        );
        assert_eq!(
            error("#\nprefix,value\n\n10.0.0.0/8\n"),
            "memory, line 4: 1 columns, expected at least 2"
        );
        assert_eq!(
            error("prefix,value\n10.0.0.0/8,\n"),
            "memory, line 2: the value is empty, expected a next hop or AS"
        );
        assert_eq!(error("prefix,value\n\"x,1\n"), "memory, line 2: a quote is not closed on its line");
        assert_eq!(
            error("prefix,value\n\"x\"y,1\n"),
            "memory, line 2: expected a comma after the closing quote"
        );
    }
}
