//! [`Locations`]: rows that are joined to those of a table of columns.
//!
//! ```text
//! GeoLite2-City-Blocks-IPv4.csv     network,geoname_id,accuracy_radius
//! GeoLite2-City-Locations-en.csv    geoname_id,country_iso_code,city_name
//! ```
//!
//! The first column of the locations that the table has too joins them. A value has the fields of
//! both, the table's first.

use super::ReadOptions;
use super::builder::Builder;
use super::columns::{self, Columns, DELIMITERS};
use super::fields::{Column, SEPARATOR};
use super::layouts::Lines;
use crate::blocks::Blocks;
use crate::report::Kind;
use crate::scan::{lines, utf8};
use crate::{Damage, Error, Place, Source};
use fibula::{NextHop, NextHopInfo, NextHops};
use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The rows of a file, by its first column that the table has.
#[derive(Debug)]
pub(super) struct Locations {
    /// The name of the file, as it is told.
    file: String,
    names: Vec<String>,
    rows: Vec<Vec<String>>,
}

/// How the rows of a table and of its locations become values.
#[derive(Debug)]
pub(super) struct Join {
    file: String,
    /// The column of the table that names a location.
    key: usize,
    /// The locations by that name.
    rows: HashMap<String, Vec<String>>,
    /// The fields of a value: a column of the table or of the locations.
    picks: Vec<Result<usize, usize>>,
}

impl Locations {
    /// Reads the locations that are named or, for the blocks of GeoLite2, are beside the table.
    pub(super) fn of(
        blocks: &mut Lines<'_>,
        options: &ReadOptions,
        builder: &mut Builder,
    ) -> Result<Option<Self>, Damage> {
        let path = match &options.locations {
            Some(path) => path.clone(),
            None => match builder.source.as_deref().and_then(beside) {
                Some(path) if names_locations(blocks.peek()) => {
                    let what = format!("the locations are those of {}, beside it", shown(&path));
                    builder.guessed(Place::Line(1), what)?;
                    path
                }
                _ => return Ok(None),
            },
        };
        Self::read(&path, options).map(Some).map_err(|error| Damage::line(1, format!("locations: {error}")))
    }

    fn read(path: &Path, options: &ReadOptions) -> Result<Self, Error> {
        let source = Source::File(path.to_owned());
        let mut content = source.open_as(None, options.regular_only)?.encoded(options.encoding);
        let mut locations = Self { file: shown(path), names: Vec::new(), rows: Vec::new() };
        let mut delimiter = b',';
        let result = {
            let input: &mut dyn Read = &mut content;
            Blocks::new(input, false).each_line(|number, line| {
                let line = line.and_then(utf8).map_err(|what| Damage::line(number, what))?;
                if line.trim().is_empty() {
                    return Ok(());
                }
                let fields = |delimiter| columns::fields(line.as_bytes(), delimiter);
                if locations.names.is_empty() {
                    let most = |delimiter: &u8| fields(*delimiter).map_or(0, |fields| fields.len());
                    delimiter = DELIMITERS.into_iter().rev().max_by_key(most).unwrap_or(b',');
                }
                let fields = fields(delimiter).map_err(|what| Damage::line(number, what))?;
                let texts = fields.iter().map(|field| String::from_utf8_lossy(field).trim().to_owned());
                let texts: Vec<String> = texts.collect();
                let expected = locations.names.len();
                if expected == 0 {
                    locations.names = texts;
                } else if texts.len() != expected {
                    let what = format!("{} columns, expected {expected}", texts.len());
                    return Err(Damage::line(number, what));
                } else {
                    locations.rows.push(texts);
                }
                Ok(())
            })
        };
        match content.damage() {
            Some(cut) => Err(Error::at(&source, cut)),
            None => result.map(|()| locations).map_err(|damage| Error::at(&source, &damage)),
        }
    }

    fn find(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|known| known.eq_ignore_ascii_case(name))
    }

    /// Returns the columns of the table that are needed for the wanted ones.
    pub(super) fn wanted(&self, wanted: &Columns) -> Columns {
        let mut values: Vec<String> =
            wanted.values.iter().filter(|name| self.find(name).is_none()).cloned().collect();
        if !wanted.values.is_empty() {
            values.extend(self.names.first().filter(|key| !values.contains(key)).cloned());
        }
        Columns { values, ..wanted.clone() }
    }

    /// Joins them to a table of these columns.
    pub(super) fn join(self, table: &[Column], wanted: &Columns) -> Result<Join, String> {
        let Self { file, names, rows } = self;
        let own = |name: &str| table.iter().position(|column| column.name.eq_ignore_ascii_case(name));
        let found = names.iter().enumerate().find_map(|(at, name)| Some((at, own(name)?)));
        let (at, key) = found
            .ok_or_else(|| format!("no column of {file} is one of the table's: {}", names.join(", ")))?;
        let other = |name: &String| names.iter().position(|known| known.eq_ignore_ascii_case(name));
        let picks = if wanted.values.is_empty() {
            let others = (0..names.len()).filter(|&column| own(&names[column]).is_none());
            (0..table.len()).map(Ok).chain(others.map(Err)).collect()
        } else {
            let pick = |name: &String| own(name).map(Ok).or_else(|| other(name).map(Err));
            wanted.values.iter().filter_map(pick).collect()
        };
        let rows = rows.into_iter().map(|row| (row[at].clone(), row)).collect();
        Ok(Join { file, key, rows, picks })
    }

    pub(super) fn names(&self) -> &[String] {
        &self.names
    }
}

impl Join {
    /// Returns the columns of values, of a table's and those of locations.
    pub(super) fn columns(&self, table: &[Column], locations: &[String]) -> Vec<Column> {
        let column = |pick: &Result<usize, usize>| match *pick {
            Ok(own) => table[own].clone(),
            Err(other) => Column::new(&locations[other]),
        };
        self.picks.iter().map(column).collect()
    }

    /// Returns next hops with the fields of their locations, and the new index of each.
    pub(super) fn apply(&self, next_hops: &NextHops) -> (NextHops, Vec<NextHop>, u64) {
        let (mut all, mut numbers, mut missing) = (NextHops::new(), vec![NextHop::NONE], 0);
        for (_, info) in next_hops.iter() {
            let text = info.to_string();
            let texts: Vec<&str> = text.split(SEPARATOR).collect();
            let key = texts.get(self.key).copied().unwrap_or_default();
            let row = self.rows.get(key);
            missing += u64::from(row.is_none() && !key.is_empty());
            let field = |pick: &Result<usize, usize>| match *pick {
                Ok(own) => texts.get(own).copied().unwrap_or_default(),
                Err(other) => row.and_then(|row| row.get(other)).map_or("", String::as_str),
            };
            let fields: Vec<&str> = self.picks.iter().map(field).collect();
            let joined = NextHopInfo::Label(fields.join(&SEPARATOR.to_string()).into());
            // There are no more of them than before.
            numbers.push(all.intern(joined).unwrap_or(NextHop::NONE));
        }
        (all, numbers, missing)
    }

    /// Returns what a table without some of its locations is told.
    pub(super) fn missing(&self) -> String {
        format!("fields of a location that {} does not have", self.file)
    }
}

fn shown(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// Returns the locations of GeoLite2 beside the blocks.
fn beside(blocks: &Path) -> Option<PathBuf> {
    let name = blocks.file_name()?.to_str()?;
    let (edition, _) = name.split_once("-Blocks-")?;
    let found = |ending: &str| {
        let path = blocks.with_file_name(format!("{edition}-Locations-en.csv{ending}"));
        path.is_file().then_some(path)
    };
    ["", ".gz", ".bz2", ".zst"].into_iter().find_map(found)
}

/// Returns whether the first line names a column of locations.
fn names_locations(text: &[u8]) -> bool {
    lines(text).next().and_then(|(_, line)| utf8(line).ok()).is_some_and(|line| line.contains("geoname_id"))
}

impl Builder {
    fn guessed(&mut self, place: Place, what: String) -> Result<(), Damage> {
        self.notes([crate::Note { kind: Kind::Guessed, what: what.into(), count: 1, first: place }])
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::routes;
    use super::super::{Columns, Loaded, ReadOptions, read};
    use crate::{Error, Source};
    use std::path::Path;

    const BLOCKS: &str = "network,geoname_id,registered_country_geoname_id,is_anycast\n\
        192.0.2.0/25,10,20,0\n192.0.2.128/25,,20,0\n198.51.100.0/24,11,20,1\n2001:db8::/32,99,20,\n";
    const LOCATIONS: &str = "geoname_id,locale_code,country_iso_code,city_name\n\
        10,en,BE,\"Ghent, East\"\n11,en,BE,\n";

    fn written(folder: &Path, blocks: &str, locations: &str, options: &ReadOptions) -> Result<Loaded, Error> {
        std::fs::write(folder.join(blocks), BLOCKS).unwrap();
        std::fs::write(folder.join(locations), LOCATIONS).unwrap();
        read(&Source::File(folder.join(blocks)), options)
    }

    #[test]
    fn the_fields_of_both_files_are_joined() {
        let folder = tempfile::tempdir().unwrap();
        let locations = Some(folder.path().join("places.csv"));
        let options = ReadOptions { locations, ..Default::default() };
        let loaded = written(folder.path(), "blocks.csv", "places.csv", &options).unwrap();
        let value = |own: &str, code: &str, city: &str| {
            format!(
                "{{\"geoname_id\":{own},\"registered_country_geoname_id\":20,\"is_anycast\":{},\"locale_code\":{},\
                 \"country_iso_code\":{code},\"city_name\":{city}}}",
                match own {
                    "11" => "1",
                    "99" => "null",
                    _ => "0",
                },
                if code == "null" { "null" } else { "\"en\"" }
            )
        };
        let expected = [
            ("192.0.2.0/25", value("10", "\"BE\"", "\"Ghent, East\"")),
            ("192.0.2.128/25", value("null", "null", "null")),
            ("198.51.100.0/24", value("11", "\"BE\"", "null")),
            ("2001:db8::/32", value("99", "null", "null")),
        ];
        assert_eq!(routes(&loaded), expected.map(|(prefix, value)| format!("{prefix} {value}")));
        let notes: Vec<&str> = loaded.report.notes.iter().map(|note| &*note.what).collect();
        assert_eq!(notes, ["fields of a location that places.csv does not have"]);
    }

    #[test]
    fn columns_of_both_may_be_named() {
        let folder = tempfile::tempdir().unwrap();
        let values = vec!["country_iso_code".into(), "is_anycast".into()];
        let locations = Some(folder.path().join("places.csv"));
        let columns = Columns { values, ..Default::default() };
        let options = ReadOptions { columns, locations, ..Default::default() };
        let loaded = written(folder.path(), "blocks.csv", "places.csv", &options).unwrap();
        assert_eq!(routes(&loaded)[0], r#"192.0.2.0/25 {"country_iso_code":"BE","is_anycast":0}"#);
        let values = vec!["country_iso_code".into()];
        let options = ReadOptions { columns: Columns { values, ..Default::default() }, ..options };
        let loaded = written(folder.path(), "blocks.csv", "places.csv", &options).unwrap();
        let expected = [
            r#"192.0.2.0/25 {"country_iso_code":"BE"}"#,
            r#"192.0.2.128/25 {"country_iso_code":null}"#,
            r#"198.51.100.0/24 {"country_iso_code":"BE"}"#,
            r#"2001:db8::/32 {"country_iso_code":null}"#,
        ];
        assert_eq!(routes(&loaded), expected);
    }

    #[test]
    fn those_beside_are_found_and_told() {
        let folder = tempfile::tempdir().unwrap();
        let names = ("GeoLite2-City-Blocks-IPv4.csv", "GeoLite2-City-Locations-en.csv");
        let loaded = written(folder.path(), names.0, names.1, &ReadOptions::default()).unwrap();
        assert!(routes(&loaded)[0].contains("Ghent"));
        let told = "guessed: the locations are those of GeoLite2-City-Locations-en.csv, beside it, 1 time, first at line 1";
        assert_eq!(loaded.report.notes[0].to_string(), told);
        let strict = ReadOptions { strict: true, ..Default::default() };
        let error = written(folder.path(), names.0, names.1, &strict).unwrap_err().to_string();
        assert!(error.ends_with("beside it, a guess, which --strict refuses"), "{error}");
    }

    #[test]
    fn what_is_wrong_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let error = |locations: &str| {
            let path = folder.path().join("other.csv");
            std::fs::write(&path, locations).unwrap();
            let options = ReadOptions { locations: Some(path), ..Default::default() };
            written(folder.path(), "blocks.csv", "places.csv", &options).unwrap_err().to_string()
        };
        assert!(error("id,city\n1,x\n").ends_with("no column of other.csv is one of the table's: id, city"));
        assert!(error("geoname_id,city\n1\n").ends_with("other.csv, line 2: 1 columns, expected 2"));
    }
}
