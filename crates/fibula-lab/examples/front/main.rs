//! What the forms of a [`Table`](fibula::Table) cost beside a [`Fib`](fibula::Fib) of the same
//! routes and the crate `prefix-trie`, in turns:
//!
//! ```sh
//! cargo run --release -p fibula-lab --example front -- [TABLE]
//! ```
//!
//! Without a table, one as large as the Internet's is made. The value of a route is its next hop.
//! Addresses are in prefixes that are drawn evenly. Prints, for the whole table and for parts of
//! it, the bytes a route that were allocated, and medians of nanoseconds: an address looked up
//! alone and in calls of 256, a route inserted and removed. The answers are compared; the first
//! difference is an error.

mod allocated;
mod subject;

use allocated::Counting;
use fibula::{InternedTable, IpPrefix, Prefix, Rib, Route, Table, ValueTable};
use fibula_io::generate::{NextHopModel, Size, internet};
use fibula_io::table::{self, ReadOptions, Tables};
use fibula_io::trace::{self, TraceKind};
use prefix_trie::PrefixMap;
use std::error::Error;
use std::path::PathBuf;
use std::time::Instant;
use subject::{Compiled, Key, Subject};

#[global_allocator]
static COUNTING: Counting = Counting;

/// The addresses of a pass, and the passes.
const ADDRESSES: usize = 1 << 20;
const PASSES: usize = 7;

/// The routes that are removed and inserted again.
const CHANGED: usize = 20_000;

/// The tables, by their number of routes; 0 stands for all.
const SIZES: [usize; 5] = [0, 10_000, 3_000, 100, 16];

fn main() -> Result<(), Box<dyn Error>> {
    let tables = match std::env::args_os().nth(1) {
        Some(path) => table::read(&PathBuf::from(path).into(), &ReadOptions::default())?.tables,
        None => internet(Size::FULL, NextHopModel::Near(40), 1)?,
    };
    let Tables { ipv4, ipv6, .. } = &tables;
    println!(
        "| family | routes | what | bytes a route | value | route | 256 values | 256 routes | insert | remove |"
    );
    println!("| --- | ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
    for size in SIZES {
        family::<u32>("IPv4", ipv4, size)?;
    }
    for size in SIZES {
        family::<u128>("IPv6", ipv6, size)?;
    }
    Ok(())
}

/// Returns every so manieth route, so that `size` are left.
fn part<A: Key>(rib: &Rib<A>, size: usize) -> Vec<Route<A>> {
    let size = if size == 0 { rib.len() } else { size };
    rib.iter().step_by((rib.len() / size).max(1)).take(size).collect()
}

fn build<A: Key, S: Subject<A> + 'static>(
    routes: &[Route<A>],
    name: &'static str,
) -> (&'static str, usize, Box<dyn Subject<A>>) {
    let before = allocated::bytes();
    let subject: Box<dyn Subject<A>> = Box::new(S::of(routes));
    (name, allocated::bytes().saturating_sub(before), subject)
}

fn family<A: Key>(family: &str, rib: &Rib<A>, size: usize) -> Result<(), Box<dyn Error>>
where
    Prefix<A>: Into<IpPrefix>,
    Table<u32>: Subject<A>,
    InternedTable<u32>: Subject<A>,
    ValueTable<u32>: Subject<A>,
    PrefixMap<(A, u8), u32>: Subject<A>,
{
    if rib.len() < size.max(1) {
        return Ok(());
    }
    let routes = part(rib, size);
    let rib: Rib<A> = routes.iter().copied().collect();
    let addresses = trace::generate(&TraceKind::Prefix, &rib, ADDRESSES, 1)?;
    let mut subjects = [
        build::<A, Compiled<A>>(&routes, "`Fib`"),
        build::<A, Table<u32>>(&routes, "`Table`"),
        build::<A, InternedTable<u32>>(&routes, "`InternedTable`"),
        build::<A, ValueTable<u32>>(&routes, "`ValueTable`"),
        build::<A, PrefixMap<(A, u8), u32>>(&routes, "`prefix-trie`"),
    ];
    let mut shuffled = routes.clone();
    fastrand::Rng::with_seed(1).shuffle(&mut shuffled);
    shuffled.truncate(CHANGED);

    let expected: u64 = addresses.iter().filter_map(|&address| rib.longest_match(address)).map(sum).sum();
    for (name, _, subject) in &subjects {
        for found in [subject.routes(&addresses), subject.routes_in_calls(&addresses)].into_iter().flatten() {
            assert_eq!(found, expected, "{name}");
        }
    }
    let mut times = [const { [const { Vec::new() }; 6] }; 5];
    for _ in 0..PASSES {
        for ((_, _, subject), times) in subjects.iter_mut().zip(&mut times) {
            let [value, route, values, matches, inserted, removed] = times;
            time(value, ADDRESSES, || Some(subject.values(&addresses)));
            time(route, ADDRESSES, || subject.routes(&addresses));
            time(values, ADDRESSES, || Some(subject.values_in_calls(&addresses)));
            time(matches, ADDRESSES, || subject.routes_in_calls(&addresses));
            time(removed, shuffled.len(), || subject.remove(&shuffled));
            time(inserted, shuffled.len(), || subject.insert(&shuffled));
        }
    }
    for ((name, bytes, _), times) in subjects.iter().zip(&mut times) {
        let times = times.each_mut().map(|times| {
            times.sort_by(f64::total_cmp);
            times.get(times.len() / 2).map_or_else(String::new, |ns| format!("{ns:.1}"))
        });
        let bytes = *bytes as f64 / routes.len() as f64;
        println!("| {family} | {} | {name} | {bytes:.1} | {} |", routes.len(), times.join(" | "));
    }
    Ok(())
}

/// Returns what tells a route from others in a sum.
fn sum<A: Key>(route: Route<A>) -> u64 {
    subject::told(route.prefix.len(), route.next_hop)
}

/// Notes the nanoseconds of each of `count` steps, if there are such.
fn time(times: &mut Vec<f64>, count: usize, run: impl FnOnce() -> Option<u64>) {
    let start = Instant::now();
    if std::hint::black_box(run()).is_some() {
        times.push(start.elapsed().as_secs_f64() * 1e9 / count as f64);
    }
}
