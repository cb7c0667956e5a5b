//! A written table is read back as it was. A file is either the whole old one or the whole new one.

use fibula::{NextHopInfo, NextHops, Prefix, Rib};
use fibula_io::Source;
use fibula_io::table::{self, Format, ReadOptions, Tables};
use proptest::prelude::*;

const WRITTEN: [Format; 3] = [Format::Text, Format::Csv, Format::Pfx2as];

fn next_hop() -> impl Strategy<Value = NextHopInfo> {
    let gateway = |interface: Option<String>, address: std::net::IpAddr| NextHopInfo::Gateway {
        address: Some(address),
        interface: interface.map(Into::into),
    };
    prop_oneof![
        any::<u32>().prop_map(NextHopInfo::AutonomousSystem),
        (prop::option::of("[a-z]{1,8}[0-9.]{0,3}"), any::<std::net::Ipv4Addr>().prop_map(Into::into))
            .prop_map(move |(interface, address)| gateway(interface, address)),
        (prop::option::of("[a-z]{1,8}"), any::<std::net::Ipv6Addr>().prop_map(Into::into))
            .prop_map(move |(interface, address)| gateway(interface, address)),
        "[a-z][a-z0-9_,\"#-]{0,9}( [a-z,\"]{1,5})?".prop_map(|label| NextHopInfo::parse(&label)),
        Just(NextHopInfo::parse("dev eth0")),
        Just(NextHopInfo::parse("[64500,64501]")),
    ]
}

prop_compose! {
    fn tables()(
        four in prop::collection::vec((any::<u32>(), 0..=32_u8, any::<prop::sample::Index>()), 0..40),
        six in prop::collection::vec((any::<u128>(), 0..=128_u8, any::<prop::sample::Index>()), 0..40),
        infos in prop::collection::vec(next_hop(), 1..12),
    ) -> Tables {
        // Numbered in the order of the table, as reading numbers them.
        let mut next_hops = NextHops::new();
        let mut ipv4 = Rib::new();
        let mut ipv6 = Rib::new();
        let mut four: Vec<_> = four.into_iter().map(|(a, len, i)| (Prefix::containing(a, len), i)).collect();
        four.sort_by_key(|route| route.0);
        four.dedup_by_key(|route| route.0);
        for (prefix, index) in four {
            ipv4.insert(prefix, next_hops.intern(index.get(&infos).clone()).unwrap());
        }
        let mut six: Vec<_> = six.into_iter().map(|(a, len, i)| (Prefix::containing(a, len), i)).collect();
        six.sort_by_key(|route| route.0);
        six.dedup_by_key(|route| route.0);
        for (prefix, index) in six {
            ipv6.insert(prefix, next_hops.intern(index.get(&infos).clone()).unwrap());
        }
        Tables { ipv4, ipv6, next_hops }
    }
}

proptest! {
    #[test]
    fn tables_are_read_back(tables in tables()) {
        for format in WRITTEN {
            let mut out = Vec::new();
            table::write(&tables, format, &mut out).unwrap();
            let loaded = table::parse(&out, &ReadOptions { format: Some(format), ..Default::default() }).unwrap();
            prop_assert_eq!(&loaded.tables, &tables, "{}", String::from_utf8_lossy(&out));
            // Recognised without being told, unless there is no line to tell by.
            let loaded = table::parse(&out, &ReadOptions::default()).unwrap();
            if !tables.ipv4.is_empty() || !tables.ipv6.is_empty() {
                prop_assert_eq!(loaded.format, format, "{}", String::from_utf8_lossy(&out));
                prop_assert_eq!(&loaded.tables, &tables);
            }
        }
    }
}

fn small() -> Tables {
    table::parse(b"10.0.0.0/8 192.0.2.1 dev eth0\n2001:db8::/32 64500\n", &ReadOptions::default())
        .unwrap()
        .tables
}

#[test]
fn a_file_is_replaced_as_a_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.tsv");
    std::fs::write(&path, "old").unwrap();
    let tables = small();
    table::write_file(&tables, Format::Text, &path).unwrap();
    let loaded = table::read(&Source::File(path.clone()), &ReadOptions::default()).unwrap();
    assert_eq!(loaded.tables, tables);

    let mut bad = Tables::default();
    bad.ipv4.insert(Prefix::ALL, bad.next_hops.intern(NextHopInfo::Label("a\nb".into())).unwrap());
    let error = table::write_file(&bad, Format::Text, &path).unwrap_err().to_string();
    assert_eq!(
        error,
        format!("{}: cannot be written: the next hop \"a\\nb\" cannot be written as text", path.display())
    );
    assert_eq!(table::read(&Source::File(path), &ReadOptions::default()).unwrap().tables, tables);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside it");
}

#[test]
fn what_cannot_be_written_is_one_line() {
    let tables = small();
    for path in ["no/such/folder/table.tsv", "."] {
        let error = table::write_file(&tables, Format::Text, path.as_ref()).unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("{path}: cannot be written: ")) && !error.contains('\n'),
            "{error}"
        );
    }
    let error = table::write(&tables, Format::Mrt, &mut Vec::new()).unwrap_err().to_string();
    assert!(
        error.starts_with("tables are not written as mrt, expected one of text, pfx2as, csv, "),
        "{error}"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    let error = table::write_file(&small(), Format::Text, "/dev/full".as_ref()).unwrap_err().to_string();
    assert!(error.starts_with("/dev/full: cannot be written: No space left on device"), "{error}");
}
