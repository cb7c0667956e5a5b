//! A table that is read or opened from a snapshot gives the same values.

use arrow_array::cast::AsArray;
use arrow_array::types::UInt32Type;
use arrow_array::{Array, StringArray};
use fibula::Fib;
use fibula::snapshot::{Image, Snapshot};
use fibula_arrow::{Compiled, Invalid, Values, lookup};
use fibula_io::table::{ReadOptions, Tables, parse};

fn tables(text: &str) -> Tables {
    parse(text.as_bytes(), &ReadOptions::default()).unwrap().tables
}

fn snapshot(tables: &Tables) -> Compiled {
    let (ipv4, ipv6) = (Fib::new(&tables.ipv4).unwrap(), Fib::new(&tables.ipv6).unwrap());
    let image = Image::new(&tables.next_hops).with(&ipv4, &tables.ipv4, false).unwrap();
    let mut bytes = Vec::new();
    image.with(&ipv6, &tables.ipv6, false).unwrap().write(&mut bytes).unwrap();
    Compiled::of_snapshot(&Snapshot::from_bytes(&bytes).unwrap()).unwrap()
}

fn values(compiled: &Compiled, column: &StringArray) -> Vec<Option<String>> {
    let indices = lookup(column, compiled, Invalid::Error).unwrap();
    let plain = compiled.values().plain(&indices);
    let dictionary = compiled.values().dictionary(indices);
    let keyed = arrow_select::take::take(dictionary.values(), dictionary.keys(), None).unwrap();
    assert_eq!(&keyed, &plain);
    match plain.as_string_opt::<i32>() {
        Some(texts) => texts.iter().map(|text| text.map(Into::into)).collect(),
        None => {
            plain.as_primitive::<UInt32Type>().iter().map(|number| number.map(|n| n.to_string())).collect()
        }
    }
}

fn column() -> StringArray {
    StringArray::from(vec![
        Some("10.0.0.1"),
        Some("::1"),
        None,
        Some("10.128.0.1"),
        Some("11.0.0.1"),
        Some("1::"),
    ])
}

#[test]
fn however_a_table_comes() {
    let all = tables("10.0.0.0/8 192.0.2.1\n10.128.0.0/9 edge\n::/16 edge\n1::/16 2001:db8::1\n");
    let expected = ["192.0.2.1", "edge", "", "edge", "", "2001:db8::1"];
    let expected: Vec<_> =
        expected.iter().map(|text| Some((*text).to_owned()).filter(|t| !t.is_empty())).collect();
    assert_eq!(values(&Compiled::of_tables(&all).unwrap(), &column()), expected);
    assert_eq!(values(&snapshot(&all), &column()), expected);
}

#[test]
fn values_that_are_all_numbers_are_numbers() {
    let numbers = Compiled::of_tables(&tables("10.0.0.0/8 64500\n::/16 64501\n")).unwrap();
    assert_eq!(numbers.values().data_type(), &arrow_schema::DataType::UInt32);
    let found = values(&numbers, &column());
    assert_eq!(found[..2], [Some("64500".into()), Some("64501".into())]);
    let mixed = Compiled::of_tables(&tables("10.0.0.0/8 64500\n::/16 64501,64502\n")).unwrap();
    assert_eq!(mixed.values().data_type(), &arrow_schema::DataType::Utf8);
    let none = Compiled::of_tables(&Tables::default()).unwrap();
    assert_eq!(values(&none, &column()), vec![None; column().len()]);
}

#[test]
fn fields_are_typed_columns() {
    let text = b"{\"prefix\":\"10.0.0.0/8\",\"a\":1,\"b\":0.5,\"c\":true,\"d\":\"x\",\"e\":[1]}\n\
        {\"prefix\":\"10.1.0.0/16\",\"a\":18446744073709551615,\"b\":2,\"c\":null,\"d\":null,\"f\":null}\n";
    let tables = parse(text, &ReadOptions::default()).unwrap().tables;
    let fields = Values::fields(&tables.next_hops, false);
    let types: Vec<String> =
        fields.iter().map(|(name, values)| format!("{name} {}", values.data_type())).collect();
    assert_eq!(types, ["a UInt64", "b Float64", "c Boolean", "d Utf8", "e Utf8", "f Utf8"]);
    let lists = Values::fields(&tables.next_hops, true);
    assert_eq!(lists[4].1.data_type().to_string(), "List(Int64)");
    let column = StringArray::from(vec!["10.1.2.3", "10.2.3.4", "192.0.2.1"]);
    let compiled = Compiled::of_tables(&tables).unwrap();
    let indices = lookup(&column, &compiled, Invalid::Error).unwrap();
    let text = fields[3].1.dictionary(indices.clone());
    let text = text.downcast_dict::<StringArray>().unwrap();
    assert_eq!(text.into_iter().collect::<Vec<_>>(), [None, Some("x"), None]);
    assert_eq!(fields[3].1.dictionary(indices).keys().null_count(), 2);
    let plain = parse(b"10.0.0.0/8 1\n11.0.0.0/8 {}\n", &ReadOptions::default()).unwrap();
    assert!(Values::fields(&plain.tables.next_hops, false).is_empty());
}
