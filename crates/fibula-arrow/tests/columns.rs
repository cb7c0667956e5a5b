//! Every type of column, with nulls, empty, sliced and by dictionaries, against a plain loop over
//! the routes.
//!
//! ```text
//!   cells ──▶ an array of each type ──▶ slices ──▶ lookup, contains, prefixes, address
//!     └─────────▶ longest match of a Rib, one by one ───────────▶ equal
//! ```

use arrow_array::types::{
    ArrowDictionaryKeyType, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type,
    UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, BinaryArray, BinaryViewArray, BooleanArray, DictionaryArray,
    FixedSizeBinaryArray, Int64Array, LargeBinaryArray, LargeStringArray, PrimitiveArray, StringArray,
    StringViewArray, UInt32Array, UInt64Array, new_empty_array,
};
use arrow_schema::DataType;
use fibula::{IpPrefix, NextHop, Rib, Table, Views};
use fibula_arrow::{Error, Invalid, TableValues, address, contains, lookup, prefixes};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

/// A row.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Cell {
    Null,
    Address(IpAddr),
    Invalid,
}

/// The rows of a test: more than two chunks, the first of IPv4 alone, the second of IPv6 alone.
const ROWS: u32 = 7000;
const CHUNK: u32 = 2048;

fn cells() -> Vec<Cell> {
    let mixed = |row: u32| u128::from(row).wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835) >> 1;
    let ipv4 = |row| Cell::Address(Ipv4Addr::from_bits(10 << 24 | mixed(row) as u32 >> 8).into());
    let ipv6 = |row| Cell::Address(Ipv6Addr::from_bits(0x2001_0DB8 << 96 | mixed(row) >> 32).into());
    (0..ROWS)
        .map(|row| match (row / CHUNK, mixed(row) >> 100 & 15) {
            (0, _) | (2.., 0..=5) => ipv4(row),
            (1, _) | (_, 6..=11) => ipv6(row),
            (_, 12 | 13) => Cell::Null,
            _ => Cell::Invalid,
        })
        .collect()
}

/// Keeps what a type can hold: the rest is null.
fn kept(cells: &[Cell], keep: impl Fn(&Cell) -> bool) -> Vec<Cell> {
    cells.iter().map(|&cell| if keep(&cell) { cell } else { Cell::Null }).collect()
}

fn text(cell: &Cell) -> Option<String> {
    match cell {
        Cell::Null => None,
        Cell::Address(address) => Some(address.to_string()),
        Cell::Invalid => Some("10.0.0.256".into()),
    }
}

fn bytes(cell: &Cell) -> Option<Vec<u8>> {
    match cell {
        Cell::Null => None,
        Cell::Address(IpAddr::V4(address)) => Some(address.octets().into()),
        Cell::Address(IpAddr::V6(address)) => Some(address.octets().into()),
        Cell::Invalid => Some(vec![1, 2, 3, 4, 5]),
    }
}

fn integer(cell: &Cell) -> Option<i64> {
    match cell {
        Cell::Address(IpAddr::V4(address)) => Some(address.to_bits().into()),
        Cell::Invalid => Some(1 << 32),
        _ => None,
    }
}

/// Returns an array of each type, and its rows.
fn columns(cells: &[Cell]) -> Vec<(ArrayRef, Vec<Cell>)> {
    let is_ipv4 = |cell: &Cell| matches!(cell, Cell::Address(IpAddr::V4(_)));
    let is_ipv6 = |cell: &Cell| matches!(cell, Cell::Address(IpAddr::V6(_)));
    let all = cells.to_vec();
    let texts: Vec<Option<String>> = cells.iter().map(text).collect();
    let binary: Vec<Option<Vec<u8>>> = cells.iter().map(bytes).collect();
    let binary = || binary.iter().map(|bytes| bytes.as_deref()).collect::<Vec<_>>();
    let (ipv4, ipv6) = (kept(cells, is_ipv4), kept(cells, is_ipv6));
    let integers = kept(cells, |cell| is_ipv4(cell) || *cell == Cell::Invalid);
    let fixed = |cells: &[Cell], size| {
        let values = cells.iter().map(bytes);
        Arc::new(FixedSizeBinaryArray::try_from_sparse_iter_with_size(values, size).unwrap())
    };
    let unsigned = integers.iter().map(|cell| integer(cell).map(|value| value as u64));
    // Below 0 is as invalid as past 2^32.
    let signed = integers
        .iter()
        .map(integer)
        .map(|value| value.map(|value| if value >> 32 == 0 { value } else { -1 }));
    vec![
        (Arc::new(texts.iter().cloned().collect::<StringArray>()), all.clone()),
        (Arc::new(texts.iter().cloned().collect::<LargeStringArray>()), all.clone()),
        (Arc::new(texts.iter().cloned().collect::<StringViewArray>()), all.clone()),
        (Arc::new(BinaryArray::from(binary())), all.clone()),
        (Arc::new(LargeBinaryArray::from(binary())), all.clone()),
        (Arc::new(BinaryViewArray::from(binary())), all),
        (
            Arc::new(ipv4.iter().map(|cell| integer(cell).map(|bits| bits as u32)).collect::<UInt32Array>()),
            ipv4.clone(),
        ),
        (Arc::new(unsigned.collect::<UInt64Array>()), integers.clone()),
        (Arc::new(signed.collect::<Int64Array>()), integers.clone()),
        (fixed(&ipv4, 4), ipv4),
        (fixed(&ipv6, 16), ipv6),
    ]
}

/// Returns a dictionary with the values of an array, and its rows: some null, some values unused.
fn dictionary<K: ArrowDictionaryKeyType>(
    values: &ArrayRef,
    cells: &[Cell],
    most: usize,
) -> (ArrayRef, Vec<Cell>)
where
    K::Native: TryFrom<usize>,
{
    // Values that are invalid and used by no row are no error.
    let len = values.len().min(most);
    let values = values.slice(values.len() - len, len);
    let cells = &cells[cells.len() - len..];
    let keys = (0..ROWS as usize).map(|row| (row % 11 != 3).then_some(row * row % len / 2 * 2 % len));
    let keys: Vec<Option<usize>> = keys.collect();
    let rows = keys.iter().map(|key| key.map_or(Cell::Null, |key| cells[key])).collect();
    let keys = keys.into_iter().map(|key| key.map(|key| K::Native::try_from(key).ok().unwrap()));
    let keys = keys.collect::<Vec<_>>();
    let keys = PrimitiveArray::<K>::from_iter(keys);
    (Arc::new(DictionaryArray::try_new(keys, values).unwrap()), rows)
}

/// The routes, in every form that answers.
struct Routes {
    ipv4: Rib<u32>,
    ipv6: Rib<u128>,
    table: Table<NextHop>,
}

impl Routes {
    fn new() -> Self {
        let mut routes = Self { ipv4: Rib::new(), ipv6: Rib::new(), table: Table::new() };
        for n in 0..600_u32 {
            let len = 15 + (n % 10) as u8;
            let prefix = fibula::Prefix::containing(10 << 24 | n.wrapping_mul(0x9E37_79B9) >> 8, len);
            routes.ipv4.insert(prefix, NextHop(1 + n % 40));
            routes.table.insert(prefix, NextHop(1 + n % 40));
            let bits = 0x2001_0DB8 << 96 | u128::from(n.wrapping_mul(0x85EB_CA6B)) << 64;
            let prefix = fibula::Prefix::containing(bits, 38 + (n % 15) as u8);
            routes.ipv6.insert(prefix, NextHop(1 + n % 50));
            routes.table.insert(prefix, NextHop(1 + n % 50));
        }
        routes
    }

    fn find(&self, cell: Cell) -> Option<(IpPrefix, u32)> {
        match cell {
            Cell::Address(IpAddr::V4(address)) => {
                let route = self.ipv4.longest_match(address.to_bits())?;
                Some((route.prefix.into(), route.next_hop.0))
            }
            Cell::Address(IpAddr::V6(address)) => {
                let route = self.ipv6.longest_match(address.to_bits())?;
                Some((route.prefix.into(), route.next_hop.0))
            }
            _ => None,
        }
    }
}

fn row_of(error: &Error) -> Option<usize> {
    error.row().map(|row| row as usize)
}

fn check(column: &dyn Array, cells: &[Cell], routes: &Routes, views: &Views) {
    let values = TableValues::new(&routes.table, |&next_hop| next_hop);
    let what = format!("{} of {} rows", column.data_type(), column.len());
    let found: Vec<_> = cells.iter().map(|&cell| routes.find(cell)).collect();
    let indices: UInt32Array = found.iter().map(|found| found.map(|(_, index)| index)).collect();
    let texts: StringArray = found.iter().map(|found| found.map(|(prefix, _)| prefix.to_string())).collect();
    let contained = cells.iter().zip(&found).map(|(cell, found)| match cell {
        Cell::Address(_) => Some(found.is_some()),
        _ => None,
    });
    let contained: BooleanArray = contained.collect();
    assert_eq!(lookup(column, views, Invalid::Null).unwrap(), indices, "{what}");
    assert_eq!(lookup(column, &values, Invalid::Null).unwrap(), indices, "{what}");
    assert_eq!(contains(column, views, Invalid::Null).unwrap(), contained, "{what}");
    assert_eq!(contains(column, &routes.table, Invalid::Null).unwrap(), contained, "{what}");
    assert_eq!(prefixes(column, &routes.table, &Invalid::Null.into()).unwrap(), texts, "{what}");

    let first_invalid = cells.iter().position(|&cell| cell == Cell::Invalid);
    let strict = lookup(column, views, Invalid::Error);
    assert_eq!(
        strict.map_err(|error| row_of(&error)),
        first_invalid.map_or(Ok(indices), |row| Err(Some(row))),
        "{what}"
    );
    let strict = contains(column, views, Invalid::Error);
    assert_eq!(
        strict.map_err(|error| row_of(&error)),
        first_invalid.map_or(Ok(contained), |row| Err(Some(row))),
        "{what}"
    );
    let strict = prefixes(column, &routes.table, &Invalid::Error.into());
    assert_eq!(
        strict.map_err(|error| row_of(&error)),
        first_invalid.map_or(Ok(texts), |row| Err(Some(row))),
        "{what}"
    );

    for (row, &cell) in cells.iter().enumerate().step_by(37) {
        let expected = match cell {
            Cell::Null => Ok(None),
            Cell::Address(address) => Ok(Some(address)),
            Cell::Invalid => Err(Some(row)),
        };
        assert_eq!(address(column, row).map_err(|error| row_of(&error)), expected, "row {row} of {what}");
    }
}

#[test]
fn every_type_sliced_and_by_dictionary() {
    let routes = Routes::new();
    let views = Views::of(&routes.ipv4, &routes.ipv6).unwrap();
    let matches = cells().into_iter().filter(|&cell| routes.find(cell).is_some()).count();
    assert!((1000..6000).contains(&matches), "{matches} rows have a route");
    for (column, cells) in columns(&cells()) {
        let all = usize::MAX;
        let mut forms = vec![
            dictionary::<Int8Type>(&column, &cells, 128),
            dictionary::<UInt8Type>(&column, &cells, 256),
            dictionary::<Int16Type>(&column, &cells, all),
            dictionary::<UInt16Type>(&column, &cells, all),
            dictionary::<Int32Type>(&column, &cells, 1000),
            dictionary::<UInt32Type>(&column, &cells, all),
            dictionary::<Int64Type>(&column, &cells, 10),
            dictionary::<UInt64Type>(&column, &cells, 3000),
        ];
        forms.push((column, cells));
        for (column, cells) in forms {
            let len = column.len();
            for (start, len) in [(0, len), (1, len - 1), (len / 3, len / 2), (2048, 4096), (3, 500), (len, 0)]
            {
                check(&column.slice(start, len), &cells[start..start + len], &routes, &views);
            }
        }
    }
}

#[test]
fn columns_without_nulls_and_without_rows() {
    let routes = Routes::new();
    let views = Views::of(&routes.ipv4, &routes.ipv6).unwrap();
    for of_ipv4 in [true, false] {
        let cells =
            cells().into_iter().filter(|cell| matches!(cell, Cell::Address(ip) if ip.is_ipv4() == of_ipv4));
        for (column, cells) in columns(&cells.collect::<Vec<_>>()) {
            check(&column, &cells, &routes, &views);
            check(&new_empty_array(column.data_type()), &[], &routes, &views);
        }
    }
}

#[test]
fn errors_name_the_row_and_the_text() {
    let table: Table<()> = Table::new();
    let error = |column: &dyn Array| contains(column, &table, Invalid::Error).unwrap_err().to_string();
    let not = "is not an IPv4 or IPv6 address";
    assert_eq!(error(&StringArray::from(vec!["::1", "01.2.3.4"])), format!("row 1: \"01.2.3.4\" {not}"));
    assert_eq!(error(&Int64Array::from(vec![-7])), format!("row 0: -7 {not}"));
    assert_eq!(error(&BinaryArray::from(vec![&b"\x0a\x0b\x0c"[..]])), format!("row 0: 0x0a0b0c {not}"));
    let long = "x".repeat(1000);
    assert!(error(&StringArray::from(vec![long.as_str()])).len() < 200);
    let floats = PrimitiveArray::<arrow_array::types::Float64Type>::from(vec![1.0]);
    let refused = error(&floats);
    assert!(refused.starts_with("a column of type Float64 holds no addresses: expected text"), "{refused}");
    assert_eq!(
        contains(&new_empty_array(&DataType::FixedSizeBinary(5)), &table, Invalid::Null).unwrap_err().row(),
        None
    );
}

/// A dictionary whose values are dictionaries is no column of addresses: it is refused, not read
/// wrongly.
#[test]
fn nested_dictionaries_are_refused() {
    fn keyed<K: ArrowPrimitiveType + ArrowDictionaryKeyType>(values: ArrayRef) -> ArrayRef
    where
        K::Native: From<i8>,
    {
        let keys = PrimitiveArray::<K>::from_iter([Some(K::Native::from(0_i8))]);
        Arc::new(DictionaryArray::try_new(keys, values).unwrap())
    }
    let inner = keyed::<Int8Type>(Arc::new(StringArray::from(vec!["::1"])));
    let table: Table<()> = Table::new();
    assert!(contains(&keyed::<Int32Type>(inner), &table, Invalid::Null).is_err());
}
