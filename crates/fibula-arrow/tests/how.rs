//! Rows with something around their address, and IPv6 addresses that hold an IPv4 one: every kind
//! of column answers and counts as single rows do.

use arrow_array::builder::FixedSizeBinaryBuilder;
use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, DictionaryArray, LargeStringArray, StringArray, StringViewArray};
use fibula::{IpPrefix, NextHop, Table};
use fibula_arrow::{Counts, Embedded, How, Invalid, TableValues, lookup_counted, lookup_ipv6, prefixes};
use fibula_io::address::{Found, Window, clean, find};
use proptest::prelude::*;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

fn table() -> Table<NextHop> {
    let routes = ["192.0.2.0/24", "192.0.2.128/25", "2001:db8::/32", "::ffff:0:0/96", "2002::/16"];
    routes
        .iter()
        .zip(1..)
        .map(|(prefix, value)| (prefix.parse::<IpPrefix>().unwrap(), NextHop(value)))
        .collect()
}

/// A row's answer and the counts that it adds, without any of the crate's steps.
fn alone(text: Option<&str>, table: &Table<NextHop>, how: &How) -> (Option<u32>, Option<String>, Counts) {
    let mut counts = Counts { rows: 1, ..Default::default() };
    let Some(text) = text else {
        counts.nulls = 1;
        return (None, None, counts);
    };
    let mut found = find(Window::of(text.as_bytes()));
    if found == Found::Invalid {
        let cleaned = clean(text.as_bytes());
        counts.unclean = u64::from(cleaned != Found::Invalid);
        if how.clean {
            found = cleaned;
        }
    }
    let Some(mut address) = found.ip() else {
        counts.invalid = 1;
        return (None, None, counts);
    };
    if let IpAddr::V6(ipv6) = address
        && let Some(ipv4) = how.embedded.ipv4(ipv6.to_bits())
    {
        counts.embedded = 1;
        address = IpAddr::V4(ipv4.into());
    }
    let (prefix, answer) = table.lookup(address).map(|(prefix, value)| (prefix.to_string(), value.0)).unzip();
    counts.answered = u64::from(answer.is_some());
    (answer, prefix, counts)
}

fn text() -> impl Strategy<Value = Option<String>> {
    let known = prop::sample::select(vec![
        "192.0.2.1",
        "192.0.2.200",
        " 192.0.2.1",
        "192.0.2.200:53",
        "198.51.100.1",
        "::ffff:192.0.2.1",
        "[::ffff:192.0.2.200]:443",
        "2002:c000:201::1",
        "2001:db8::1",
        "2001:db8::1%eth0",
        "nobody",
        "",
    ]);
    prop::option::weighted(0.9, known.prop_map(str::to_owned))
}

fn how() -> impl Strategy<Value = How> {
    let kinds = prop::sample::select(vec!["none", "mapped", "mapped,6to4"]);
    (any::<bool>(), kinds).prop_map(|(clean, kinds)| How {
        invalid: Invalid::Null,
        clean,
        embedded: kinds.parse().unwrap(),
    })
}

proptest! {
    #[test]
    fn every_column_answers_and_counts_as_its_rows(
        rows in prop::collection::vec(text(), 0..40),
        copies in prop::sample::select(vec![1_usize, 2, 300]),
        how in how(),
    ) {
        let table = table();
        let rows: Vec<Option<&str>> =
            rows.iter().map(Option::as_deref).cycle().take(rows.len() * copies).collect();
        let (mut answers, mut texts, mut counts) = (Vec::new(), Vec::new(), Counts::default());
        for row in &rows {
            let (answer, prefix, counted) = alone(*row, &table, &how);
            answers.push(answer);
            texts.push(prefix);
            counts += counted;
        }
        let columns: [ArrayRef; 4] = [
            Arc::new(StringArray::from(rows.clone())),
            Arc::new(LargeStringArray::from(rows.clone())),
            Arc::new(StringViewArray::from(rows.clone())),
            Arc::new(rows.iter().copied().collect::<DictionaryArray<Int32Type>>()),
        ];
        let values = TableValues::new(&table, |&value| value);
        for column in columns {
            let (indices, counted) = lookup_counted(&column, &values, &how).unwrap();
            prop_assert_eq!(indices.iter().collect::<Vec<_>>(), answers.clone(), "{}", column.data_type());
            prop_assert_eq!(counted, counts, "{}", column.data_type());
            let found = prefixes(&column, &table, &how).unwrap();
            prop_assert_eq!(found.iter().collect::<Vec<_>>(), texts.iter().map(Option::as_deref).collect::<Vec<_>>());
            let strict = How { invalid: Invalid::Error, ..how.clone() };
            let first = (0..rows.len()).find(|&row| alone(rows[row], &table, &how).2.invalid > 0);
            let error = lookup_counted(&column, &values, &strict).err().and_then(|error| error.row());
            prop_assert_eq!(error, first.map(|row| row as u64));
        }
    }

    #[test]
    fn sixteen_bytes_are_unmapped_as_text_is(
        rows in prop::collection::vec((0..4_usize, any::<u8>()), 0..5000),
        is_mapped: bool,
    ) {
        let table = table();
        let embedded = if is_mapped { Embedded::mapped() } else { Embedded::default() };
        let how = How { embedded: embedded.clone(), ..Default::default() };
        let of = |(kind, last): (usize, u8)| {
            let address: Ipv6Addr = ["::ffff:192.0.2.0", "2001:db8::", "2002::", "::1"][kind].parse().unwrap();
            Ipv6Addr::from_bits(address.to_bits() ^ u128::from(last))
        };
        let addresses: Vec<Ipv6Addr> = rows.into_iter().map(of).collect();
        let mut column = FixedSizeBinaryBuilder::new(16);
        for address in &addresses {
            column.append_value(address.octets()).unwrap();
        }
        let (mut answers, mut counts) = (Vec::new(), Counts::default());
        for address in &addresses {
            let (answer, _, counted) = alone(Some(&address.to_string()), &table, &how);
            answers.push(answer);
            counts += counted;
        }
        let values = TableValues::new(&table, |&value| value);
        let (indices, counted) = lookup_counted(&column.finish(), &values, &how).unwrap();
        prop_assert_eq!(indices.iter().collect::<Vec<_>>(), answers.clone());
        prop_assert_eq!(counted, counts);
        let octets: Vec<[u8; 16]> = addresses.iter().map(Ipv6Addr::octets).collect();
        let mut plain = vec![9; octets.len()];
        lookup_ipv6(&octets, &values, &embedded, &mut plain);
        prop_assert_eq!(plain, answers.iter().map(|answer| answer.unwrap_or(0)).collect::<Vec<_>>());
    }
}
