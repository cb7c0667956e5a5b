//! What a [`Table`]'s answers cost beside the indices of a [`Fib`] of the same routes, in turns:
//!
//! ```sh
//! cargo run --release -p fibula-lab --example table_beside_fib -- [TABLE]
//! ```
//!
//! Without a table, one as large as the Internet's is made. The value of a route is its next hop.
//! Addresses are in prefixes that are drawn evenly. Prints nanoseconds an address, medians; the
//! answers are compared, and the first difference is an error.

use fibula::{Address, Fib, IpPrefix, NextHop, Prefix, Rib, Table};
use fibula_io::generate::{NextHopModel, Size, internet};
use fibula_io::table::{self, ReadOptions, Tables};
use fibula_io::trace::{self, TraceKind};
use std::error::Error;
use std::hint::black_box;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::PathBuf;
use std::time::Instant;

/// The addresses of a pass, of a call, and the passes.
const ADDRESSES: usize = 1 << 20;
const CALL: usize = 256;
const PASSES: usize = 15;

fn main() -> Result<(), Box<dyn Error>> {
    let tables = match std::env::args_os().nth(1) {
        Some(path) => table::read(&PathBuf::from(path).into(), &ReadOptions::default())?.tables,
        None => internet(Size::FULL, NextHopModel::Near(40), 1)?,
    };
    let Tables { ipv4, ipv6, .. } = &tables;
    println!("| family | what | ns | times `Fib` |\n| --- | --- | ---: | ---: |");
    let (batch, single) = (Table::lookup_batch_ipv4, Table::lookup_ipv4);
    family::<u32, Ipv4Addr>("IPv4", ipv4, Table::lookup_indices_ipv4, batch, single)?;
    let (batch, single) = (Table::lookup_batch_ipv6, Table::lookup_ipv6);
    family::<u128, Ipv6Addr>("IPv6", ipv6, Table::lookup_indices_ipv6, batch, single)
}

type Found<'t, A> = Option<(Prefix<A>, &'t u32)>;

/// `T` is the address as the table takes it.
fn family<A: Address, T: Copy + From<A>>(
    name: &str,
    rib: &Rib<A>,
    indices: impl Fn(&Table<u32>, &[T], &mut [NextHop]),
    batch: impl for<'t> Fn(&'t Table<u32>, &[T], &mut [Found<'t, A>]),
    single: impl for<'t> Fn(&'t Table<u32>, T) -> Found<'t, A>,
) -> Result<(), Box<dyn Error>>
where
    Prefix<A>: Into<IpPrefix>,
{
    if rib.is_empty() {
        return Ok(());
    }
    let fib = Fib::new(rib)?;
    let table: Table<u32> = rib.iter().map(|route| (route.prefix, route.next_hop.0)).collect();
    let bits = trace::generate(&TraceKind::Prefix, rib, ADDRESSES, 1)?;
    let addresses: Vec<T> = bits.iter().map(|&address| address.into()).collect();
    let mut found = vec![NextHop::NONE; ADDRESSES];
    fib.lookup_batch(&bits, &mut found);
    for ((&address, &bits), index) in addresses.iter().zip(&bits).zip(&found) {
        let route = single(&table, address);
        assert_eq!(route.map(|(prefix, _)| prefix), rib.longest_match(bits).map(|route| route.prefix));
        assert_eq!(route.map_or(0, |(_, &value)| value), index.0);
    }

    let mut found = [NextHop::NONE; CALL];
    let mut matches = [None; CALL];
    let rows: [(&str, &mut dyn FnMut()); 7] = [
        ("`Fib`, calls of 256", &mut || {
            bits.chunks(CALL).for_each(|call| fib.lookup_batch(call, black_box(&mut found)));
        }),
        ("indices", &mut || {
            let mut found = [NextHop::NONE; CALL];
            addresses.chunks(CALL).for_each(|call| indices(&table, call, black_box(&mut found)));
        }),
        ("prefixes and values", &mut || {
            addresses.chunks(CALL).for_each(|call| batch(&table, call, black_box(&mut matches)));
        }),
        ("prefixes and values, all values read", &mut || {
            let mut matches = [None; CALL];
            let mut sum = 0_u64;
            for call in addresses.chunks(CALL) {
                batch(&table, call, &mut matches);
                sum += matches.iter().flatten().map(|&(_, &value)| u64::from(value)).sum::<u64>();
            }
            black_box(sum);
        }),
        ("`Fib`, one by one", &mut || {
            for &address in &bits {
                black_box(fib.lookup_index(address));
            }
        }),
        ("prefix and value, one by one", &mut || {
            for &address in &addresses {
                black_box(single(&table, address));
            }
        }),
        ("the value, one by one", &mut || {
            for &address in &addresses {
                black_box(single(&table, address).map(|(_, &value)| value));
            }
        }),
    ];
    let medians = medians(rows);
    // The first four are answered in calls of many.
    for (at, (what, ns)) in medians.into_iter().enumerate() {
        let of = medians[if at < 4 { 0 } else { 4 }].1;
        println!("| {name} | {what} | {ns:.2} | {:.2} |", ns / of);
    }
    Ok(())
}

/// Times several ways, in turns. Returns the median of each, in nanoseconds an address.
fn medians<'n, const N: usize>(mut ways: [(&'n str, &mut dyn FnMut()); N]) -> [(&'n str, f64); N] {
    let mut passes = [const { Vec::new() }; N];
    for _ in 0..PASSES {
        for ((_, way), passes) in ways.iter_mut().zip(&mut passes) {
            let start = Instant::now();
            way();
            passes.push(start.elapsed().as_secs_f64() * 1e9 / ADDRESSES as f64);
        }
    }
    std::array::from_fn(|at| {
        passes[at].sort_by(f64::total_cmp);
        (ways[at].0, passes[at][PASSES / 2])
    })
}
