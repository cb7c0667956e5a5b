//! No bytes make a reader panic: neither random ones, nor real ones with a few changed.

mod common;

use common::made;
use fibula::snapshot::Image;
use fibula::{Fib, NextHopInfo, NextHops, Rib};
use fibula_io::{fuzzing, table, update};
use proptest::prelude::*;
use proptest::sample::select;

/// One small whole file of every kind.
fn files() -> Vec<Vec<u8>> {
    let mrt = [
        made::peer_index(3),
        made::rib([10, 1], &[(2, &[64_503, 7]), (1, &[64_502, 8])]),
        made::update(1_000, 1, &[[10, 9]], &[64_501], &[[10, 1], [10, 2]]),
        made::down(1_003, 1),
    ]
    .concat();
    let generic = made::record(1_000, 13, 6, &[0, 0, 0, 0, 0, 1, 1, 8, 10, 0, 0]);
    let mut entry =
        vec![0xFD, 0xE8, 0xFD, 0xE8, 0, 0, 0, 1, 192, 0, 2, 1, 192, 0, 2, 2, 0, 0, 0, 1, 0, 0, 0, 0];
    entry.extend([0, 1, 1, 4, 192, 0, 2, 1, 8, 10, 0, 7, 0x40, 1, 1, 0, 0x40, 2, 0]);
    let mut files: Vec<Vec<u8>> = [
        "# table\n10.0.0.0/8\t192.0.2.1\n2001:db8::/32 AS64500 # c\n::ffff:1.2.3.0/120 x\n",
        "1.0.0.0\t24\t13335\n2001:200::\t32\t1,2\n",
        "prefix,value\n10.0.0.0/8,\"a \"\"b\"\", c\"\n",
        "default via 192.0.2.1 dev eth0 metric 100\n10.0.0.0/8 proto bgp\n\tnexthop via inet6 fe80::1 dev eth1\n",
        "BIRD 2.0 ready.\n10.0.0.0/8 unicast [b 1] * (100) [AS1i]\n\tvia 192.0.2.1 on eth0\n  blackhole [c]\n",
        r#"{"10.0.0.0/8":[{"selected":true,"nexthops":[{"fib":true,"ip":"192.0.2.1","interfaceName":"a"}]}]}"#,
        "A\t10.0.0.0/8\t192.0.2.1\t5.25\nW\t10.0.0.0/8\t-\t-\n",
        "192.0.2.0,192.0.2.9,BE,,\"a\",1.5\n",
        "apnic|CN|ipv4|192.0.2.0|768|20110414|allocated|A9\n",
        "route: 192.0.2.0/24\norigin: AS64500\n\n",
        "ASN,IP Prefix,Max Length,Trust Anchor\nAS64500,192.0.2.0/24,26,apnic\n",
        "TABLE_DUMP2|1|B|192.0.2.7|64500|10.0.0.0/8|64500 {1,2}|IGP|192.0.2.7|0\n",
        "Destination Gateway Genmask Flags Metric\n10.0.0.0 192.0.2.1 255.0.0.0 UG 0 0 0 a\n",
        "S>* 10.0.0.0/8 [1/0] via 192.0.2.1, eth0, weight 1\n  *    via 192.0.2.2, eth1\n",
        "   Network   Next Hop   Path\n*> 10.0.0.0  192.0.2.1  64500 i\n",
        "inet.0: 1 destinations, 1 routes (1 active)\n10.0.0.0/8 *[Static/5] 1d\n  > to 192.0.2.1 via a\n",
        r#"{"vrfName":"default","routes":{"10.0.0.0/8":[{"bestpath":true,"path":"1","nexthops":[{"ip":"192.0.2.1"}]}]}}"#,
        r#"{"vrfs":{"a":{"routes":{"10.0.0.0/8":{"routeAction":"forward","vias":[{"nexthopAddr":"192.0.2.1"}]}}}}}"#,
        r#"{"vrfs":{"a":{"bgpRouteEntries":{"10.0.0.0/8":{"bgpRoutePaths":[{"routeType":{"active":true}}]}}}}}"#,
        r#"{"route-information":[{"route-table":[{"table-name":[{"data":"inet.0"}],"rt":[{"rt-destination":[{"data":"10.0.0.0/8"}],"rt-entry":[{"active-tag":[{"data":"*"}],"nh":[{"to":[{"data":"192.0.2.1"}]}]}]}]}]}]}"#,
        r#"{"10.0.0.0/8":[{"nlri":{},"best":true,"attrs":[{"type":3,"nexthop":"192.0.2.1"}]}]}"#,
        r#"{"prefixes":[{"ip_prefix":"192.0.2.0/24","region":"a"}]}"#,
        r#"[{"dst":"default","gateway":"192.0.2.1","dev":"a","flags":[],"tos":"0x10"}]"#,
        "{\"prefix\":\"10.0.0.0/8\",\"a\":1,\"b\":\"x\"}\n",
    ]
    .map(|text| text.as_bytes().to_vec())
    .into();
    let tables =
        table::parse(b"192.0.2.0/24 {\"a\":[1,null]}\n2001:db8::/32 x\n", &table::ReadOptions::default());
    let mut mmdb = Vec::new();
    table::write(&tables.unwrap().tables, table::Format::Mmdb, &mut mmdb).unwrap();
    files.extend([mmdb, mrt, generic, made::record(1_000, 16, 2, &entry)]);
    files
}

fn all_readers(bytes: &[u8]) {
    for format in table::Format::ALL {
        fuzzing::table(bytes, format, bytes.len().is_multiple_of(2));
    }
    fuzzing::any_table(bytes);
    for format in update::Format::ALL {
        fuzzing::updates(bytes, format);
    }
    fuzzing::mrt(bytes);
}

/// A small snapshot with its routes.
fn snapshot() -> Vec<u8> {
    let mut next_hops = NextHops::new();
    let mut rib: Rib<u32> = Rib::new();
    for (prefix, next_hop) in [("10.0.0.0/8", "192.0.2.1"), ("10.1.0.0/16", "64500"), ("10.1.2.3/32", "x")] {
        rib.insert(prefix.parse().unwrap(), next_hops.intern(NextHopInfo::parse(next_hop)).unwrap());
    }
    let fib = Fib::build("poptrie/s=2", &rib).unwrap();
    let mut bytes = Vec::new();
    Image::new(&next_hops).with(&fib, &rib, true).unwrap().write(&mut bytes).unwrap();
    bytes
}

#[test]
fn a_snapshot_is_read_as_a_table_whole_or_not_at_all() {
    let whole = snapshot();
    let loaded = table::parse(&whole, &table::ReadOptions::default()).unwrap();
    assert_eq!((loaded.format, loaded.tables.ipv4.len()), (table::Format::Snapshot, 3));
    assert_eq!(loaded.tables.next_hops.len(), 3);
    for end in 0..whole.len() {
        fuzzing::snapshot(&whole[..end]);
        assert!(end == 0 || table::parse(&whole[..end], &table::ReadOptions::default()).is_err(), "{end}");
    }
    let mut without = Vec::new();
    let rib: Rib<u32> = Rib::new();
    let fib = Fib::build("poptrie/s=2", &rib).unwrap();
    Image::new(&NextHops::new()).with(&fib, &rib, false).unwrap().write(&mut without).unwrap();
    let error = table::parse(&without, &table::ReadOptions::default()).unwrap_err().to_string();
    assert_eq!(error, "memory, byte 0: a snapshot without its routes");
}

#[test]
fn whole_files_and_every_cut_of_them() {
    for file in files() {
        for end in 0..=file.len() {
            all_readers(&file[..end]);
        }
    }
}

proptest! {
    #[test]
    fn random_bytes(bytes in prop::collection::vec(any::<u8>(), 0..200), mask: bool) {
        all_readers(&bytes);
        fuzzing::prefix(&bytes, mask);
    }

    #[test]
    fn changed_snapshots(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8)) {
        let mut bytes = snapshot();
        for (index, byte) in changes {
            let at = index.index(bytes.len());
            bytes[at] = byte;
        }
        fuzzing::snapshot(&bytes);
    }

    #[test]
    fn random_text(text in "[0-9a-fA-F:./\t\n {}\\[\\],\"#*viadetx-]{0,120}", mask: bool) {
        all_readers(text.as_bytes());
        fuzzing::prefix(text.as_bytes(), mask);
    }

    #[test]
    fn random_mrt_records(
        kind in select(vec![5_u16, 12, 13, 16, 17]),
        subtype in 0..13_u16,
        bodies in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..80), 1..4),
    ) {
        let records: Vec<Vec<u8>> = bodies.iter().map(|body| made::record(1_000, kind, subtype, body)).collect();
        all_readers(&records.concat());
    }

    #[test]
    fn changed_files(
        file in select(files()),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..3_u8), 1..6),
    ) {
        let mut bytes = file;
        for (index, byte, kind) in changes {
            let at = index.index(bytes.len().max(1));
            match kind {
                0 if at < bytes.len() => bytes[at] = byte,
                1 if at < bytes.len() => { bytes.remove(at); }
                _ => bytes.insert(at.min(bytes.len()), byte),
            }
        }
        all_readers(&bytes);
    }
}
