//! [`Columns`]: the fields of many objects, read from JSON column by column.

use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use std::fmt;

/// Columns may have 16 cells for each that holds something, and a million more.
const SPARSE: (usize, usize) = (16, 1 << 20);

/// The fields of objects. Those of one table mostly have the same names in the same order, so a
/// field is looked for where it is expected, and no object is kept.
pub(super) struct Columns {
    /// The names, in the order in which they were first seen.
    pub(super) names: Vec<String>,
    /// The values of each name by row; a column ends with its last value.
    pub(super) values: Vec<Vec<Option<Value>>>,
    /// The rows, of which the first has nothing.
    pub(super) rows: usize,
    /// The cells that hold something.
    held: usize,
}

impl Default for Columns {
    fn default() -> Self {
        Self { names: Vec::new(), values: Vec::new(), rows: 1, held: 0 }
    }
}

impl Columns {
    /// Adds an object as a row, and returns whether it is one. The last of two fields of one name
    /// holds. No object is one for columns that would be mostly empty: they would take far more
    /// memory than the objects.
    pub(super) fn add(&mut self, json: &str) -> bool {
        let mut json = serde_json::Deserializer::from_str(json);
        let is_object = json.deserialize_map(&mut *self).and_then(|()| json.end()).is_ok();
        self.rows += 1;
        is_object
    }
}

impl<'de> Visitor<'de> for &mut Columns {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<(), M::Error> {
        let mut expected = 0;
        while let Some(at) = map.next_key_seed(Name { names: &mut self.names, expected })? {
            if at == self.values.len() {
                self.values.push(Vec::new());
            }
            self.held += 1;
            if self.rows * self.names.len() > self.held * SPARSE.0 + SPARSE.1 {
                return Err(de::Error::custom("too many names"));
            }
            let (value, column) = (map.next_value::<Value>()?, &mut self.values[at]);
            column.resize(self.rows, None);
            column.push((!value.is_null()).then_some(value));
            expected = at + 1;
        }
        Ok(())
    }
}

/// Reads the name of a field, as its place among the names.
struct Name<'a> {
    names: &'a mut Vec<String>,
    expected: usize,
}

impl<'de> DeserializeSeed<'de> for Name<'_> {
    type Value = usize;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<usize, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Name<'_> {
    type Value = usize;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E>(self, name: &str) -> Result<usize, E> {
        if self.names.get(self.expected).is_some_and(|expected| expected == name) {
            return Ok(self.expected);
        }
        Ok(self.names.iter().position(|other| other == name).unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_their_own_for_every_object_are_no_columns() {
        let mut columns = Columns::default();
        let taken = (0..100_000).take_while(|row| columns.add(&format!("{{\"of {row}\":1}}"))).count();
        let cells = columns.values.iter().map(Vec::capacity).sum::<usize>();
        assert!(taken > 1000 && cells < 4 * SPARSE.1, "{taken} objects, {cells} cells");
    }

    #[test]
    fn fields_come_in_any_order_and_the_last_of_one_name_holds() {
        let mut columns = Columns::default();
        for json in [r#"{"a":1,"b":"x"}"#, "{}", r#"{"b":"y","c":null,"a":2,"b":"z"}"#] {
            assert!(columns.add(json));
        }
        assert!(!columns.add("[1]") && !columns.add("{} {}"));
        assert_eq!(columns.names, ["a", "b", "c"]);
        let texts: Vec<String> =
            columns.values.iter().map(|values| serde_json::to_string(values).unwrap()).collect();
        assert_eq!(texts, ["[null,1,null,2]", r#"[null,"x",null,"z"]"#, "[null,null,null,null]"]);
    }
}
