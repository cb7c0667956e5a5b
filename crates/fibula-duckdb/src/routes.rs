//! `fibula_routes`: the routes of a table, in any format that fibula reads.

use crate::duckdb::{Output, Type};
use crate::function::Table;
use fibula::{Address, Family, NextHops, Rib};
use fibula_io::Source;
use fibula_io::table::{ReadOptions, Tables, Value, read};
use std::ffi::CStr;
use std::sync::Arc;

/// The function.
pub(crate) struct Routes;

/// A route.
pub(crate) struct Row {
    prefix: String,
    family: u8,
    length: u8,
    value: String,
}

impl Table for Routes {
    const NAME: &'static CStr = c"fibula_routes";
    const OPTION: &'static CStr = c"value";
    const COLUMNS: &'static [(&'static CStr, Type)] = &[
        (c"prefix", Type::Varchar),
        (c"family", Type::UTinyInt),
        (c"length", Type::UTinyInt),
        (c"value", Type::Varchar),
    ];
    /// The path, and what the value of a route is.
    type Asked = (String, Value);
    type Rows = Box<dyn Iterator<Item = Row> + Send>;

    fn bind(path: Option<String>, value: Option<String>) -> Result<Self::Asked, String> {
        let path = path.ok_or("fibula_routes: the path of the table is null")?;
        let value = value.map_or(Ok(Value::NextHop), |value| value.parse());
        let value = value.map_err(|error: fibula::Error| error.to_string())?;
        Ok((path, value))
    }

    fn begin((path, value): &Self::Asked) -> Result<Self::Rows, String> {
        let options = ReadOptions { value: *value, ..ReadOptions::default() };
        let loaded = read(&Source::File(path.into()), &options).map_err(|error| error.to_string())?;
        let Tables { ipv4, ipv6, next_hops } = loaded.tables;
        let next_hops = Arc::new(next_hops);
        Ok(Box::new(rows(&ipv4, Arc::clone(&next_hops)).chain(rows(&ipv6, next_hops))))
    }

    fn fill(rows: &mut Self::Rows, most: usize, columns: &mut [Output<'_>]) -> Result<usize, String> {
        let [prefix, family, length, value] = columns else {
            return Err(format!("{} columns, expected 4", columns.len()));
        };
        let mut count = 0;
        for (at, row) in rows.take(most).enumerate() {
            prefix.set_text(at, &row.prefix);
            family.set_number(at, row.family);
            length.set_number(at, row.length);
            value.set_text(at, &row.value);
            count += 1;
        }
        Ok(count)
    }
}

fn rows<A: Address>(rib: &Rib<A>, next_hops: Arc<NextHops>) -> impl Iterator<Item = Row> + Send + use<A> {
    let family = match A::FAMILY {
        Family::Ipv4 => 4,
        Family::Ipv6 => 6,
    };
    rib.iter().collect::<Vec<_>>().into_iter().map(move |route| Row {
        prefix: route.prefix.to_string(),
        family,
        length: route.prefix.len(),
        value: next_hops.get(route.next_hop).map(ToString::to_string).unwrap_or_default(),
    })
}
