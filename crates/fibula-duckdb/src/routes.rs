//! `fibula_routes`: the routes of a table, in any format that fibula reads.

use crate::duckdb::{Output, Type};
use crate::function::Table;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, UInt64Type};
use arrow_array::{Array, ArrayRef, StringArray};
use arrow_schema::DataType;
use fibula::{Address, Family, NextHop, Rib};
use fibula_arrow::Values;
use fibula_io::Source;
use fibula_io::table::{ReadOptions, Value, read};
use std::ffi::CStr;
use std::sync::Arc;

/// The function.
pub(crate) struct Routes;

/// A route, and where its values are.
pub(crate) struct Route {
    prefix: String,
    family: u8,
    length: u8,
    next_hop: NextHop,
}

/// The routes that a query asks for, and the values: a column of text, or one for each field.
pub(crate) struct Asked {
    routes: Arc<[Route]>,
    values: Vec<(String, ArrayRef)>,
}

impl Table for Routes {
    const NAME: &'static CStr = c"fibula_routes";
    const OPTION: &'static CStr = c"value";
    type Asked = Asked;
    /// The position of the next route.
    type Rows = usize;

    fn bind(path: Option<String>, value: Option<String>) -> Result<Asked, String> {
        let path = path.ok_or("fibula_routes: the path of the table is null")?;
        let value = value.map_or(Ok(Value::NextHop), |value| value.parse());
        let value = value.map_err(|error: fibula::Error| error.to_string())?;
        let options = ReadOptions { value, ..ReadOptions::default() };
        let tables = read(&Source::File(path.into()), &options).map_err(|error| error.to_string())?.tables;
        let fields = Values::fields(&tables.next_hops, false);
        let mut values: Vec<(String, ArrayRef)> =
            fields.into_iter().map(|(name, values)| (name, Arc::clone(values.array()))).collect();
        if values.is_empty() {
            let texts = tables.next_hops.iter().map(|(_, info)| Some(info.to_string()));
            // Index 0 is "no route".
            let texts: StringArray = std::iter::once(None).chain(texts).collect();
            values.push(("value".into(), Arc::new(texts)));
        }
        Ok(Asked { routes: routes(&tables.ipv4).chain(routes(&tables.ipv6)).collect(), values })
    }

    fn columns(asked: &Asked) -> Vec<(&str, Type)> {
        let routes = [("prefix", Type::Varchar), ("family", Type::UTinyInt), ("length", Type::UTinyInt)];
        let values = asked.values.iter().map(|(name, array)| {
            let column = match array.data_type() {
                DataType::Boolean => Type::Boolean,
                DataType::Int64 => Type::BigInt,
                DataType::UInt64 => Type::UBigInt,
                DataType::Float64 => Type::Double,
                _ => Type::Varchar,
            };
            (name.as_str(), column)
        });
        routes.into_iter().chain(values).collect()
    }

    fn begin(_: &Asked) -> usize {
        0
    }

    fn fill(
        asked: &Asked,
        next: &mut usize,
        most: usize,
        columns: &mut [Output<'_>],
    ) -> Result<usize, String> {
        let [prefix, family, length, values @ ..] = columns else {
            return Err(format!("{} columns, expected 4", columns.len()));
        };
        let rest = &asked.routes[*next..];
        let routes = &rest[..rest.len().min(most)];
        for (row, route) in routes.iter().enumerate() {
            prefix.set_text(row, &route.prefix);
            family.set_number(row, route.family);
            length.set_number(row, route.length);
        }
        for (column, (_, array)) in values.iter_mut().zip(&asked.values) {
            for (row, route) in routes.iter().enumerate() {
                set(column, row, array, route.next_hop.0 as usize);
            }
        }
        *next += routes.len();
        Ok(routes.len())
    }
}

/// Sets a row to a value, of a type that [`Values`] has.
fn set(column: &mut Output<'_>, row: usize, array: &ArrayRef, at: usize) {
    match array.data_type() {
        _ if array.is_null(at) => column.set_null(row),
        DataType::Boolean => column.set_boolean(row, array.as_boolean().value(at)),
        DataType::Int64 => column.set_number(row, array.as_primitive::<Int64Type>().value(at)),
        DataType::UInt64 => column.set_number(row, array.as_primitive::<UInt64Type>().value(at)),
        DataType::Float64 => column.set_number(row, array.as_primitive::<Float64Type>().value(at)),
        _ => column.set_text(row, array.as_string::<i32>().value(at)),
    }
}

fn routes<A: Address>(rib: &Rib<A>) -> impl Iterator<Item = Route> {
    let family = match A::FAMILY {
        Family::Ipv4 => 4,
        Family::Ipv6 => 6,
    };
    rib.iter().map(move |route| Route {
        prefix: route.prefix.to_string(),
        family,
        length: route.prefix.len(),
        next_hop: route.next_hop,
    })
}
