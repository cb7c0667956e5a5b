//! Every engine on tables as large as real ones, made and real: around every prefix and every
//! interval, and after an hour of updates.

#[path = "../../fibula-io/tests/common/mod.rs"]
mod common;

use fibula::engine::WidthBits;
use fibula::{Address, Change, Rib};
use fibula_engines::all;
use fibula_io::Source;
use fibula_io::generate::{self, NextHopModel, Size, internet};
use fibula_io::table::{self, ReadOptions, Tables};
use fibula_io::update;
use fibula_lab::select;
use fibula_lab::verify::{UpdateOptions, VerifyOptions, updates, verify};

fn options<A: Address>(rib: &Rib<A>) -> VerifyOptions {
    let widths = vec![WidthBits::holding(rib.max_next_hop())];
    VerifyOptions { random: 50_000, widths, ..VerifyOptions::default() }
}

fn every_engine_is_right<A: Address>(rib: &Rib<A>) {
    let engines = select::<A>(all(), "all").unwrap();
    let verification = verify(all(), &engines, rib, &options(rib), &mut |_| {}).unwrap();
    assert!(verification.is_right(), "{verification:?}");
    assert_eq!(verification.refused, []);
    let asked: u64 = verification.rows.iter().map(|row| row.probes).sum();
    assert!(asked >= rib.len() as u64 * engines.len() as u64 * 4, "{asked} probes of {} routes", rib.len());
}

/// Engines that update in place apply all changes, stay right, and do not grow.
fn every_engine_follows<A: Address>(rib: &Rib<A>, changes: &[Change<A>]) {
    let options = UpdateOptions { verify: options(rib), validate_every: 0, ..UpdateOptions::default() };
    for entry in
        all().iter().filter(|e| e.does(A::FAMILY) && e.about.updates == fibula::engine::Updates::InPlace)
    {
        let row = updates(all(), entry.about.name, rib, changes, &options).unwrap().unwrap();
        assert!(row.is_right(), "{row:?}");
        assert!(row.applied > 0 && row.rebuilt == 0, "{row:?}");
    }
}

fn real(path: &str) -> Option<Tables> {
    let source = Source::from(common::data(path)?);
    Some(table::read(&source, &ReadOptions::default()).unwrap().tables)
}

#[test]
fn on_a_made_full_table_of_each_family() {
    // Smaller ones would make engines build again that follow changes of full tables.
    let size = Size { ipv4: 200_000, ipv6: 100_000 };
    let tables = internet(size, NextHopModel::Near(200), 5).unwrap();
    every_engine_is_right(&tables.ipv4);
    every_engine_is_right(&tables.ipv6);
    every_engine_follows(&tables.ipv4, &generate::updates(&tables.ipv4, 5_000, 6));
    every_engine_follows(&tables.ipv6, &generate::updates(&tables.ipv6, 5_000, 7));
}

#[test]
fn on_a_real_router_s_full_feed() {
    if let Some(tables) = real("ipv4-20151023-pch-nexthop.tsv.gz") {
        every_engine_is_right(&tables.ipv4);
    }
}

#[test]
fn on_the_real_ipv6_table_of_2026() {
    if let Some(tables) = real("ipv6-20260511-ris-as3333-joinedasn.tsv.gz") {
        every_engine_is_right(&tables.ipv6);
    }
}

#[test]
fn after_a_real_hour_of_updates() {
    let (Some(mut tables), Some(path)) = (
        real("ipv4-20170112-linx-partial-nexthop.tsv.gz"),
        common::data("updates-ipv4-20141217-linx.tsv.gz"),
    ) else {
        return;
    };
    let hour =
        update::read(&Source::from(path), &update::ReadOptions::default(), &mut tables.next_hops).unwrap();
    let changes: Vec<Change<u32>> = hour.ipv4.iter().map(|timed| timed.change).collect();
    every_engine_follows(&tables.ipv4, &changes);
}
