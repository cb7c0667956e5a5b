//! `sail-m` on twelve tables, as many as its paper overlays. Each answers as it does alone, also
//! after updates of single tables. `-- --nocapture` prints the memory of all together.

use fibula::engine::Level;
use fibula::engine::Update;
use fibula::engine::{Memory, Pages};
use fibula::{Fib, NextHop, Rib, Route};
use fibula_engines::sail_m::{ON_CHIP_MAX, SailM};
use fibula_io::generate::{self, NextHopModel, Size, internet};

const TABLES: usize = 12;

/// Twelve routers' views of one Internet: each lacks other routes and has its own next hops.
fn made(internets: usize) -> Vec<Rib<u32>> {
    let table = |seed| internet(Size::ipv4(100_000), NextHopModel::Near(200), seed as u64).unwrap().ipv4;
    let internets: Vec<Rib<u32>> = (0..internets).map(table).collect();
    let view = |router: usize| {
        let seen = internets[router % internets.len()].iter().enumerate().filter(|(at, _)| at % 20 != router);
        let next_hop = |route: Route<u32>| NextHop((route.next_hop.0 + router as u32) % 200 + 1);
        seen.map(|(_, route)| Route { next_hop: next_hop(route), ..route }).collect()
    };
    (0..TABLES).map(view).collect()
}

fn build(ribs: &[Rib<u32>]) -> SailM<u8> {
    SailM::build(&ribs.iter().collect::<Vec<_>>(), Pages::Small).unwrap()
}

/// Looks up the addresses of every table's prefixes, ids mixed, and compares each answer with that
/// table's own oracle.
fn check(tables: &SailM<u8>, ribs: &[Rib<u32>]) {
    let oracles: Vec<Fib<u32>> = ribs.iter().map(|rib| Fib::build("oracle", rib).unwrap()).collect();
    let routes = ribs.iter().flat_map(|rib| rib.iter().step_by(7));
    let ends = routes.flat_map(|r| [r.prefix.first(), r.prefix.last().wrapping_add(1)]);
    let addresses: Vec<u32> = ends.collect();
    let ids: Vec<u16> = (0..addresses.len()).map(|at| (at * 5 % TABLES) as u16).collect();
    let mut found = vec![0; addresses.len()];
    tables.lookup_batch(Level::best(), &addresses, &ids, &mut found);
    for ((&address, &id), found) in addresses.iter().zip(&ids).zip(found) {
        let expected = oracles[usize::from(id)].lookup_index(address).0;
        assert_eq!(u32::from(found), expected, "table {id}, {address:#X}");
        assert_eq!(u32::from(tables.lookup(address, id)), expected, "table {id}, {address:#X}");
    }
}

#[test]
fn twelve_tables_answer_and_follow_apart() {
    let mut ribs = made(3);
    let mut tables = build(&ribs);
    check(&tables, &ribs);
    for (table, rib) in ribs.iter_mut().enumerate() {
        let changes = generate::updates(rib, 600, table as u64);
        for changes in changes.chunks(50) {
            let deltas = rib.apply_all(changes.iter().copied()).deltas;
            let update = tables.apply(table as u16, rib, &deltas);
            assert!(matches!(update, Update::Applied(_)), "{update:?}");
        }
    }
    tables.validate(&ribs.iter().collect::<Vec<_>>()).unwrap();
    check(&tables, &ribs);
}

/// Measures the memory of twelve tables in one `sail-m`, and in a `sail-l` each.
fn memory(internets: usize) -> (Memory, usize) {
    let ribs = made(internets);
    let together = build(&ribs).memory();
    let apart = ribs.iter().map(|rib| fibula_engines::build("sail-l", rib).unwrap().memory().total()).sum();
    let (all, on_chip) = (together.total(), together.total_on_chip());
    println!("{TABLES} tables, {internets} different: {all} bytes, {on_chip} on chip; apart {apart} bytes");
    (together, apart)
}

#[test]
fn tables_with_prefixes_in_common_share_memory_and_all_keep_the_bound_on_chip() {
    let (together, apart) = memory(1);
    assert!(together.total() * 2 < apart && together.total_on_chip() <= ON_CHIP_MAX);
    let (together, _) = memory(TABLES);
    assert!(together.total_on_chip() <= ON_CHIP_MAX);
}
