//! The real tables and update streams: how many routes, next hops and changes each holds.

mod common;

use fibula::NextHops;
use fibula_io::Source;
use fibula_io::table::{self, Format, ReadOptions};
use fibula_io::update;

#[test]
fn tables() {
    for (name, ipv4, ipv6, values) in [
        ("ipv4-20140513-routeviews-asn.tsv.gz", 512_621, 0, 46_823),
        ("ipv4-20151023-pch-nexthop.tsv.gz", 577_703, 0, 3_771),
        ("ipv4-20170112-linx-partial-nexthop.tsv.gz", 34_270, 0, 62),
        ("ipv4-202401-tier1-joinedasn.tsv.gz", 901_899, 0, 72_097),
        ("ipv4-20240129-asmap-asn.tsv.gz", 332_222, 0, 78_241),
        ("ipv6-20141225-linx-nexthop.tsv.gz", 0, 20_440, 94),
        ("ipv6-202401-tier1-joinedasn.tsv.gz", 0, 160_147, 28_262),
        ("ipv6-20240129-asmap-asn.tsv.gz", 0, 81_039, 40_667),
        ("ipv6-20260511-ris-as3333-joinedasn.tsv.gz", 0, 246_175, 30_879),
    ] {
        let Some(path) = common::data(name) else { return };
        let loaded = table::read(&Source::File(path.clone()), &ReadOptions::default()).unwrap();
        assert_eq!(loaded.format, Format::Text, "{name}");
        let tables = loaded.tables;
        assert_eq!(
            (tables.ipv4.len(), tables.ipv6.len(), tables.next_hops.len()),
            (ipv4, ipv6, values),
            "{name}"
        );
        // The files are in order and in canonical form: written again they are the same bytes.
        let mut text = Vec::new();
        std::io::Read::read_to_end(&mut Source::File(path).open(None).unwrap(), &mut text).unwrap();
        let mut written = Vec::new();
        table::write(&tables, Format::Text, &mut written).unwrap();
        assert!(written == text, "{name} is not written as it was read");
    }
}

#[test]
fn updates() {
    for (name, ipv4, ipv6) in [
        ("updates-ipv4-20141217-linx.tsv.gz", 23_446, 0),
        ("updates-ipv6-20260511-ris-as3333.tsv.gz", 0, 1_238_235),
    ] {
        let Some(path) = common::data(name) else { return };
        let mut next_hops = NextHops::new();
        let updates =
            update::read(&Source::File(path), &update::ReadOptions::default(), &mut next_hops).unwrap();
        assert_eq!((updates.ipv4.len(), updates.ipv6.len()), (ipv4, ipv6), "{name}");
    }
}

#[test]
fn a_day_of_updates_on_its_table() {
    let names = ["ipv6-20260511-ris-as3333-joinedasn.tsv.gz", "updates-ipv6-20260511-ris-as3333.tsv.gz"];
    let [Some(table), Some(stream)] = names.map(common::data) else { return };
    let mut tables = table::read(&Source::File(table), &ReadOptions::default()).unwrap().tables;
    let options = update::ReadOptions::default();
    let mut updates = update::read(&Source::File(stream), &options, &mut tables.next_hops).unwrap();
    updates.settle(&tables.ipv4, &tables.ipv6);
    let mut changed = 0;
    for update in &updates.ipv6 {
        changed += usize::from(tables.ipv6.apply(update.change).is_some());
    }
    // 26,682 announcements of new prefixes and 26,548 withdrawals of present ones; the rest changes
    // nothing.
    assert_eq!((tables.ipv6.len(), changed), (246_309, 26_682 + 26_548));
}
