//! Names of autonomous systems, by their numbers.
//!
//! ```
//! use fibula_io::as_names::AsNames;
//! // RIPE's asn.txt, and the CSV of bgp.tools.
//! let text = b"64500 EXAMPLE-ONE, BE\n64501 EXAMPLE-TWO, NL\n";
//! let csv = b"asn,name,class,cc\nAS64500,\"Example, One\",Content,BE\n";
//! assert_eq!(AsNames::parse(text)?.get(64_501), Some("EXAMPLE-TWO, NL"));
//! assert_eq!(AsNames::parse(csv)?.get(64_500), Some("Example, One"));
//! # Ok::<(), fibula_io::Error>(())
//! ```
//!
//! A line of text is a number and a name with white space between. Lines of columns have commas,
//! tabs, semicolons or bars between them, and may begin with a line that names the columns. The
//! number is in the column `asn`, `as` or `as_number`, else in the first one; the name in `name`,
//! `as_name` or `org`, else in the second one. Lines that begin with `#` and numbers without a name
//! are passed over. Of several names of a number the last counts.

use crate::blocks::Blocks;
use crate::mrt::as_number;
use crate::table::fields;
use crate::{Content, Damage, Error, Source};
use std::collections::HashMap;

/// What may be between columns.
const DELIMITERS: [u8; 4] = *b"\t,;|";

/// The columns of numbers and of names, the first that is there.
const NUMBERS: [&str; 4] = ["asn", "as", "as_number", "number"];
const NAMES: [&str; 4] = ["name", "as_name", "org", "description"];

/// The names of autonomous systems.
#[derive(Clone, Debug, Default)]
pub struct AsNames {
    names: HashMap<u32, Box<str>>,
}

/// Where a line has its number and its name.
#[derive(Clone, Copy, Debug)]
enum Shape {
    /// Before and after the first white space.
    Text,
    /// In columns.
    Columns { delimiter: u8, number: usize, name: usize },
}

impl AsNames {
    /// Reads a file, compressed or not, which must be a regular one.
    ///
    /// # Errors
    /// If it cannot be read, or a line has no number.
    pub fn read(source: &Source) -> Result<Self, Error> {
        Self::of(source, source.open_as(None, true)?)
    }

    /// Reads bytes in memory, compressed or not.
    ///
    /// # Errors
    /// As [`read`](Self::read); the source is called `memory`.
    pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
        Self::of(&Source::Memory, Content::of_bytes(bytes)?)
    }

    fn of(source: &Source, content: Content) -> Result<Self, Error> {
        let mut content = content.encoded(None);
        let (mut all, mut shape) = (Self::default(), None);
        let read = Blocks::new(&mut content as &mut dyn std::io::Read, false).each_line(|number, line| {
            let damage = |what| Damage::line(number, what);
            let line = line.map_err(damage)?;
            if line.trim_ascii().is_empty() || line.starts_with(b"#") {
                return Ok(());
            }
            let of_line = if let Some(shape) = shape {
                shape
            } else {
                let (first, is_header) = Shape::of(line);
                shape = Some(first);
                if is_header {
                    return Ok(());
                }
                first
            };
            all.take(line, of_line).map_err(damage)
        });
        match content.damage() {
            Some(cut) => Err(Error::at(source, cut)),
            None => read.map(|()| all).map_err(|damage| Error::at(source, &damage)),
        }
    }

    fn take(&mut self, line: &[u8], shape: Shape) -> Result<(), String> {
        let (asn, name) = match shape {
            Shape::Text => {
                let line = line.trim_ascii();
                let end = line.iter().position(u8::is_ascii_whitespace).unwrap_or(line.len());
                (lossy(&line[..end]), lossy(&line[end..]))
            }
            Shape::Columns { delimiter, number, name } => {
                let fields = fields(line, delimiter)?;
                let field = |at: usize| fields.get(at).map(|field| lossy(field));
                let few = || format!("{} columns, expected at least {}", fields.len(), number.max(name) + 1);
                (field(number).ok_or_else(few)?, field(name).ok_or_else(few)?)
            }
        };
        let number = as_number(&asn)?;
        if !name.is_empty() {
            self.names.insert(number, name.into());
        }
        Ok(())
    }

    /// Returns the name of an AS, if it is known.
    #[must_use]
    pub fn get(&self, asn: u32) -> Option<&str> {
        self.names.get(&asn).map(AsRef::as_ref)
    }

    /// Returns the number of names.
    #[must_use]
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Returns whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }
}

impl Shape {
    /// Returns the shape of a file by its first line, and whether that names columns.
    fn of(line: &[u8]) -> (Self, bool) {
        for delimiter in DELIMITERS {
            let Ok(fields) = fields(line, delimiter) else { continue };
            if fields.len() < 2 {
                continue;
            }
            let texts: Vec<String> = fields.iter().map(|field| lossy(field).to_lowercase()).collect();
            if as_number(&texts[0]).is_ok() {
                return (Self::Columns { delimiter, number: 0, name: 1 }, false);
            }
            let find =
                |known: [&str; 4]| known.iter().find_map(|name| texts.iter().position(|text| text == name));
            if let Some(number) = find(NUMBERS) {
                let name = find(NAMES).unwrap_or(usize::from(number == 0));
                return (Self::Columns { delimiter, number, name }, true);
            }
        }
        (Self::Text, false)
    }
}

/// Returns text without the white space around it. What is not UTF-8 is shown as such.
fn lossy(text: &[u8]) -> String {
    String::from_utf8_lossy(text.trim_ascii()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<(u32, String)> {
        let all = AsNames::parse(text.as_bytes()).unwrap();
        let mut names: Vec<_> = all.names.iter().map(|(&asn, name)| (asn, name.to_string())).collect();
        names.sort_unstable();
        names
    }

    #[test]
    fn each_shape_is_read() {
        let expected = [(13_335, "CLOUDFLARENET, US".to_owned()), (65_536, "Zürich".to_owned())];
        for text in [
            "13335 CLOUDFLARENET, US\n65536 Zürich\n",
            "# names\r\nAS13335   CLOUDFLARENET, US\r\n\r\nas1.0\tZürich\r\n",
            "\u{FEFF}13335\tCLOUDFLARENET, US\n65536\tZürich\n7\t\n",
            "AS13335,\"CLOUDFLARENET, US\",Content,US\nAS65536,Zürich,Eyeball,CH\n",
            "asn,name,class,cc\nAS13335,\"CLOUDFLARENET, US\",Content,US\nAS65536,Zürich,,\n",
            "cc;Org;ASN\nUS;CLOUDFLARENET, US;13335\nCH;Zürich;65536\n",
            "as|country\n13335|other\n13335|CLOUDFLARENET, US\n65536|Zürich\n",
        ] {
            assert_eq!(names(text), expected, "{text:?}");
        }
        assert_eq!(names("7\n"), []);
        assert_eq!(names("7 \"A\" B\n"), [(7, "\"A\" B".to_owned())]);
        assert!(AsNames::parse(b"").unwrap().is_empty());
    }

    #[test]
    fn what_has_no_number_is_refused_with_its_line() {
        for (text, what) in [
            ("7 A\n\nB 8\n", "memory, line 3: \"B\" is no AS number"),
            ("asn,name\n7,A\n8\n", "memory, line 3: 1 columns, expected at least 2"),
            ("7,A\n4294967296,B\n", "memory, line 2: \"4294967296\" is no AS number"),
            ("7,A\n8,\"B\n", "memory, line 2: a quote is not closed on its line"),
            ("prefix,origin\n10.0.0.0/8,7\n", "memory, line 1: \"prefix,origin\" is no AS number"),
        ] {
            assert_eq!(AsNames::parse(text.as_bytes()).unwrap_err().to_string(), what);
        }
    }
}
