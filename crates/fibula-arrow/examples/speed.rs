//! Rows a second by type of column, on one thread: `cargo run --release -p fibula-arrow --example
//! speed -- IPV4-TABLE IPV6-TABLE`.
//!
//! Addresses are drawn from the prefixes. Before a type is timed, its answers are compared with
//! those of the plain table. Each figure is the median of nine passes, in processor time where
//! Linux tells it and else in wall clock.

use arrow_array::{Array, ArrayRef, FixedSizeBinaryArray, StringArray, StringViewArray, UInt32Array};
use fibula::{Address, Rib};
use fibula_arrow::{Compiled, Invalid, Lookups, lookup, lookup_ipv4};
use fibula_io::Source;
use fibula_io::table::{ReadOptions, read};
use fibula_io::trace::{TraceKind, generate};
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

const ROWS: usize = 4_000_000;
const PASSES: usize = 9;

/// Returns the time that this thread has run, or that has passed since `start`, in seconds.
fn elapsed(start: Instant) -> f64 {
    let statistics = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = statistics.split(' ').next().and_then(|text| text.parse::<f64>().ok());
    nanoseconds.map_or_else(|| start.elapsed().as_secs_f64(), |nanoseconds| nanoseconds / 1e9)
}

/// Returns the median time of a pass, in seconds.
fn median(mut pass: impl FnMut()) -> f64 {
    let mut times: Vec<f64> = Vec::new();
    let start = Instant::now();
    for _ in 0..PASSES {
        let before = elapsed(start);
        pass();
        times.push(elapsed(start) - before);
    }
    times.sort_by(f64::total_cmp);
    times[PASSES / 2]
}

fn time<A: Address>(name: &str, column: &ArrayRef, table: &Compiled, rib: &Rib<A>, addresses: &[A]) {
    let found = lookup(column, table, Invalid::Error).expect("each row is an address");
    for (row, &address) in addresses.iter().enumerate().step_by(101) {
        let expected = rib.longest_match(address).map(|route| route.next_hop.0);
        assert_eq!(Some(found.value(row)).filter(|_| found.is_valid(row)), expected, "row {row} of {name}");
    }
    let seconds = median(|| drop(black_box(lookup(black_box(column), table, Invalid::Error))));
    println!("{name:<24} {:>6.1} million rows a second", ROWS as f64 / seconds / 1e6);
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let paths: Vec<String> = std::env::args().skip(1).collect();
    let [ipv4, ipv6] = paths.as_slice() else { return Err("usage: speed IPV4-TABLE IPV6-TABLE".into()) };
    let kind: TraceKind = "prefix".parse()?;
    let tables = read(&Source::from(ipv4.as_str()), &ReadOptions::default())?.tables;
    let (table, addresses) = (Compiled::of_tables(&tables)?, generate(&kind, &tables.ipv4, ROWS, 1)?);
    let rib = &tables.ipv4;
    let texts = || addresses.iter().map(|address| Some(address.to_ip().to_string()));
    let bytes = addresses.iter().map(|address| address.to_be_bytes());
    let columns: [(&str, ArrayRef); 4] = [
        ("IPv4 Utf8", Arc::new(texts().collect::<StringArray>())),
        ("IPv4 Utf8View", Arc::new(texts().collect::<StringViewArray>())),
        ("IPv4 UInt32", Arc::new(UInt32Array::from(addresses.clone()))),
        ("IPv4 FixedSizeBinary(4)", Arc::new(FixedSizeBinaryArray::try_from_iter(bytes)?)),
    ];
    for (name, column) in &columns {
        time(name, column, &table, rib, &addresses);
    }
    let mut indices = vec![0; ROWS];
    let seconds = median(|| lookup_ipv4(black_box(&addresses), &table as &dyn Lookups, &mut indices));
    println!("{:<24} {:>6.1} million rows a second", "IPv4 slice to slice", ROWS as f64 / seconds / 1e6);

    let tables = read(&Source::from(ipv6.as_str()), &ReadOptions::default())?.tables;
    let (table, addresses) = (Compiled::of_tables(&tables)?, generate(&kind, &tables.ipv6, ROWS, 1)?);
    let rib = &tables.ipv6;
    let texts = || addresses.iter().map(|address| Some(address.to_ip().to_string()));
    let bytes = addresses.iter().map(|address| address.to_be_bytes());
    let columns: [(&str, ArrayRef); 3] = [
        ("IPv6 Utf8", Arc::new(texts().collect::<StringArray>())),
        ("IPv6 Utf8View", Arc::new(texts().collect::<StringViewArray>())),
        ("IPv6 FixedSizeBinary(16)", Arc::new(FixedSizeBinaryArray::try_from_iter(bytes)?)),
    ];
    for (name, column) in &columns {
        time(name, column, &table, rib, &addresses);
    }
    Ok(())
}
