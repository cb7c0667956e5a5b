//! `sail-m` on twelve full-size tables, as many as its paper overlays: each answers as by itself, also after
//! updates of single tables, and together they take less than twelve tables of `sail-l`.

use fibula::arch::Level;
use fibula::engine::Update;
use fibula::engines::sail_m::{ON_CHIP_MAX, SailM};
use fibula::memory::Pages;
use fibula::{Fib, NextHop, Rib, Route};
use fibula_io::generate::{self, NextHopModel, Size, internet};

const TABLES: usize = 12;

/// Two Internets, each as six routers see it: every one lacks other routes and has next hops of its own.
fn made() -> Vec<Rib<u32>> {
    let internets =
        [1, 2].map(|seed| internet(Size::ipv4(100_000), NextHopModel::Near(200), seed).unwrap().ipv4);
    let view = |router: usize| {
        let seen = internets[router % 2].iter().enumerate().filter(|(at, _)| at % 20 != router);
        let next_hop = |route: Route<u32>| NextHop((route.next_hop.0 + router as u32) % 200 + 1);
        seen.map(|(_, route)| Route { next_hop: next_hop(route), ..route }).collect()
    };
    (0..TABLES).map(view).collect()
}

/// Asks every table for the addresses of every table's prefixes, ids mixed, each against that table's own oracle.
fn check(tables: &SailM<u8>, ribs: &[Rib<u32>]) {
    let oracles: Vec<Fib<u32>> = ribs.iter().map(|rib| Fib::build("oracle", rib).unwrap()).collect();
    let routes = ribs.iter().flat_map(|rib| rib.iter().step_by(7));
    let addresses: Vec<u32> =
        routes.flat_map(|r| [r.prefix.first(), r.prefix.last().wrapping_add(1)]).collect();
    let ids: Vec<u16> = (0..addresses.len()).map(|at| (at * 5 % TABLES) as u16).collect();
    let mut found = vec![0; addresses.len()];
    tables.lookup_batch(Level::best(), &addresses, &ids, &mut found);
    for ((&address, &id), found) in addresses.iter().zip(&ids).zip(found) {
        let expected = oracles[usize::from(id)].lookup(address).0;
        assert_eq!(u32::from(found), expected, "table {id}, {address:#X}");
        assert_eq!(u32::from(tables.lookup(address, id)), expected, "table {id}, {address:#X}");
    }
}

#[test]
fn twelve_tables_answer_apart_follow_apart_and_share_their_chunks() {
    let mut ribs = made();
    let mut tables: SailM<u8> = SailM::build(&ribs.iter().collect::<Vec<_>>(), Pages::Small).unwrap();
    check(&tables, &ribs);
    let memory = tables.memory();
    assert!(memory.total_on_chip() <= ON_CHIP_MAX, "{memory:?}");
    let each = ribs.iter().map(|rib| Fib::build("sail-l", rib).unwrap().memory());
    let (apart, apart_on_chip) =
        each.fold((0, 0), |(all, on_chip), each| (all + each.total(), on_chip + each.total_on_chip()));
    assert!(
        memory.total() < apart && memory.total_on_chip() * 2 < apart_on_chip,
        "{memory:?}, {apart} apart"
    );

    for table in 0..TABLES {
        let changes = generate::updates(&ribs[table], 600, table as u64);
        for changes in changes.chunks(50) {
            let deltas = ribs[table].apply_all(changes.iter().copied()).deltas;
            let update = tables.apply(table as u16, &ribs[table], &deltas);
            assert!(matches!(update, Update::Applied(_)), "{update:?}");
        }
    }
    tables.validate(&ribs.iter().collect::<Vec<_>>()).unwrap();
    check(&tables, &ribs);
}
