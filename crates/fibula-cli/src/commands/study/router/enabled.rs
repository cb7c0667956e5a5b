//! Measures the XDP plane, for `fibula study router`.

use super::Arguments;
use crate::commands::study::common::each_table;
use crate::exit::Verdict;
use crate::output::Output;
use fibula::{Address, NextHop, Rib, Route};
use fibula_io::trace::{TraceKind, generate};
use fibula_router::plane::xdp::study::{Effort, Workload, study};

/// Measures, prints the rows and writes the evidence.
pub(super) fn run(arguments: &Arguments, output: &Output) -> anyhow::Result<Verdict> {
    let Arguments { next_hops, addresses, rounds, packets, .. } = *arguments;
    anyhow::ensure!(addresses.is_power_of_two(), "--addresses {addresses}: expected a power of two");
    let (mut ipv4, mut ipv6) = (Rib::new(), Rib::new());
    let whole = each_table(&arguments.table, &arguments.reading, |_, tables| {
        give_next_hops(&mut ipv4, &tables.ipv4, next_hops);
        give_next_hops(&mut ipv6, &tables.ipv6, next_hops);
        Ok(())
    })?;
    anyhow::ensure!(!ipv4.is_empty() && !ipv6.is_empty(), "expected routes of both families");
    let addresses4 = generate(&TraceKind::Prefix, &ipv4, addresses as usize, 1)?;
    let addresses6 = generate(&TraceKind::Prefix, &ipv6, addresses as usize, 1)?;
    let workload = Workload { ipv4: &ipv4, ipv6: &ipv6, addresses4: &addresses4, addresses6: &addresses6 };
    let effort = Effort { rounds: rounds as usize, packets };
    let rows = study(&workload, effort)?;
    output.rows(&rows)?;
    let tables = workload.tables()?;
    arguments.evidence.write("router", |evidence| evidence.add(tables).and_then(|()| evidence.add(&rows)))?;
    Ok(whole)
}

/// Adds routes with `count` next hops: those of one value keep one, and neighbours are as alike as
/// before.
fn give_next_hops<A: Address>(to: &mut Rib<A>, from: &Rib<A>, count: u32) {
    for Route { prefix, next_hop } in from {
        to.insert(prefix, NextHop(1 + next_hop.0 % count));
    }
}
