//! Inputs of every kind that people have, where the checkout has them beside it: the tables that
//! they are, and what is left out of them.

mod common;

use fibula_io::table::{self, Loaded, ReadOptions, Value};
use fibula_io::{Kind, Source};

/// Reads a case; `None` where the folder is not there.
fn read(name: &str, options: &ReadOptions) -> Option<Loaded> {
    let path = common::beside("cases", name)?;
    Some(table::read(&Source::File(path), options).unwrap_or_else(|error| panic!("{error}")))
}

fn routes(loaded: &Loaded) -> Vec<String> {
    let name = |next_hop| loaded.tables.next_hops.get(next_hop).unwrap();
    let four = loaded.tables.ipv4.iter().map(|r| format!("{} {}", r.prefix, name(r.next_hop)));
    let six = loaded.tables.ipv6.iter().map(|r| format!("{} {}", r.prefix, name(r.next_hop)));
    four.chain(six).collect()
}

/// Compares the routes of cases, and the number of what each leaves out.
fn compare(cases: &[(&str, &[&str], u64)], options: &ReadOptions) {
    for (name, expected, left_out) in cases {
        let Some(loaded) = read(name, options) else { return };
        assert_eq!(routes(&loaded), *expected, "{name}");
        let counted: u64 = loaded.report.of(Kind::LeftOut).map(|note| note.count).sum();
        assert_eq!(counted, *left_out, "{name}: {:?}", loaded.report.notes);
    }
}

#[test]
fn tables_of_routers() {
    let cases: [(&str, &[&str], u64); 14] = [
        ("bred.txt", &["10.0.0.0/8 192.0.2.2 dev eth1"], 5),
        ("bred1.txt", &["10.0.0.0/8 192.0.2.2 dev eth1"], 2),
        ("bird-prohibited.txt", &["10.1.0.0/16 prohibit"], 0),
        ("f2.txt", &["::/0 fe80::1 dev eth0"], 1),
        ("iptos.txt", &["10.0.0.0/8 192.0.2.1 dev eth0"], 2),
        ("ipdead.txt", &["10.0.0.0/8 192.0.2.3 dev eth2"], 2),
        (
            "ipr-all.txt",
            &[
                "0.0.0.0/0 192.0.2.1 dev eth0",
                "10.0.0.0/8 192.0.2.1 dev eth0",
                "::/0 fe80::1 dev eth0",
                "::1/128 dev lo",
                "2001:db8::/32 fe80::2 dev eth1",
                "2001:db8:2::/48 unreachable",
                "fe80::/64 dev eth0",
            ],
            7,
        ),
        (
            "ipj.json",
            &["0.0.0.0/0 192.0.2.1 dev eth0", "10.0.0.0/8 192.0.2.2 dev eth1", "10.2.0.0/16 blackhole"],
            1,
        ),
        ("frr-vrf.json", &["10.0.0.0/8 192.0.2.1"], 1),
        ("frr-bgp.json", &["203.0.113.0/24 192.0.2.2"], 0),
        ("gobgp.json", &["10.0.0.0/8 192.0.2.7"], 0),
        ("obgp.json", &["10.0.0.0/8 192.0.2.7"], 0),
        ("shbgp.txt", &["10.0.0.0/8 192.0.2.2", "10.1.0.0/16 192.0.2.2", "11.0.0.0/8 192.0.2.4"], 0),
        ("rn.txt", &["0.0.0.0/0 192.0.2.1 dev eth0", "10.0.0.0/8 192.0.2.2 dev eth1"], 0),
    ];
    compare(&cases, &ReadOptions::default());
    let red = ReadOptions { vrf: Some("red".into()), ..Default::default() };
    compare(&[("frr-vrf.json", &["10.0.0.0/8 192.0.2.99"], 1)], &red);
    let red = ReadOptions { table: Some("red".into()), ..Default::default() };
    let routes = ["10.0.0.0/8 198.51.100.99 dev eth9", "10.77.0.0/16 198.51.100.98 dev eth9"];
    compare(&[("bred1.txt", &routes, 1)], &red);
    let hundred = ReadOptions { table: Some("100".into()), ..Default::default() };
    compare(&[("ipr-all.txt", &["10.0.0.0/8 192.0.2.77 dev eth0"], 12)], &hundred);
}

#[test]
fn what_routers_say_of_their_routes() {
    let frr = [
        "10.3.0.0/24 203.0.113.7 dev eth0",
        "10.4.0.0/24 blackhole",
        "10.5.0.0/24 unreachable",
        "10.6.0.0/24 192.0.2.1 dev eth0",
        "10.7.0.0/24 192.0.2.1 dev eth0",
        "10.8.0.0/24 192.0.2.3 dev eth0",
        "10.10.0.0/24 blackhole",
        "10.12.0.0/24 192.0.2.1 dev eth0",
        "10.30.0.0/24 192.0.2.1 dev eth0",
        "10.31.0.0/24 unreachable",
        "192.0.2.0/24 dev eth0",
        "198.51.100.0/24 dev eth2",
    ];
    let cases: [(&str, &[&str], u64); 11] = [
        (
            "arista-vtep/arista-vtep.txt",
            &[
                "10.1.0.0/24 10.255.1.1 dev Vxlan1",
                "10.2.0.0/24 192.0.2.1 dev Ethernet1",
                "10.3.0.0/24 blackhole",
                "10.5.0.0/24 nexthop-group NG1",
                "10.6.0.0/16 blackhole",
                "192.0.2.0/24 dev Ethernet1",
            ],
            1,
        ),
        (
            "asa-netmask/asa2.txt",
            &[
                "0.0.0.0/0 192.0.2.1 dev outside",
                "10.0.0.0/16 192.0.2.35 dev inside",
                "192.168.1.0/25 dev inside",
            ],
            0,
        ),
        ("bird-sadr/show_route_table_sadr6.out", &["2001:db8:6::/48 fe80::5 dev eth0"], 1),
        (
            "frr-leak/frr-leak.txt",
            &["10.1.0.0/24 192.0.2.1 dev eth1", "10.2.0.0/24 dev eth0", "10.3.0.0/24 192.0.2.7 dev eth2"],
            0,
        ),
        ("frr-leak/frr-onlink.txt", &["10.3.0.0/24 203.0.113.7 dev eth0"], 0),
        ("frr-rejected/frr-rejected.txt", &["10.3.0.0/16 192.0.2.1 dev eth0"], 4),
        ("frr-rtbh/show_ip_route.out", &frr, 2),
        ("frr-rtbh/show_ip_route_json.out", &frr, 2),
        ("frr-table-all/frr-concat.json", &["10.0.0.0/8 192.0.2.1"], 1),
        ("frr-table-all/frr-tableall.json", &["10.0.0.0/8 192.0.2.1"], 1),
        ("frr-table-all/sonic-colon.json", &["10.0.0.0/8 192.0.2.1"], 0),
    ];
    compare(&cases, &ReadOptions::default());
}

#[test]
fn what_else_is_said_of_routes() {
    let cases: [(&str, &[&str], u64); 11] = [
        (
            "iproute-detected-as-text/ipr-encapfirst.txt",
            &["10.1.0.0/16 192.0.2.9 dev eth1", "10.3.0.0/16 192.0.2.1 dev eth0"],
            1,
        ),
        ("iproute-detected-as-text/ipr-metric.txt", &["10.0.0.0/8 192.0.2.1 dev eth0"], 1),
        (
            "iproute-detected-as-text/ipr6-segfirst.txt",
            &["2001:db8::/64 dev eth0", "2001:db8:1::/64 dev vrf10", "2001:db8:2::/48 fe80::2 dev eth0"],
            0,
        ),
        ("ipset-nomatch-comment/ipset2.txt", &["192.0.2.0/24 a", "198.51.100.7/32 a"], 1),
        (
            "ipv6-default-ecmp/ipr-all-v6ecmp.txt",
            &[
                "0.0.0.0/0 192.0.2.1 dev eth0",
                "192.0.2.0/24 dev eth0",
                "::/0 fe80::1 dev eth0",
                "2001:db8::/64 dev eth0",
            ],
            1,
        ),
        (
            "irr-noblank/irr-noblank.txt",
            &["192.0.2.0/24 1", "198.51.100.0/24 64504", "203.0.113.0/24 64503"],
            0,
        ),
        ("junos-indented/junos-indent.txt", &["10.0.0.0/8 192.0.2.2 dev ge-0/0/1.0"], 0),
        ("junos-indented/junos-1sp.txt", &["10.0.0.0/8 192.0.2.2 dev ge-0/0/1.0"], 0),
        ("ra-pref/pref-real.txt", &["::/0 dev eth1", "fe80::/64 dev eth1"], 0),
        (
            "seg6local-table/iproute-srv6.txt",
            &[
                "::/0 fe80::1 dev eth0",
                "2001:db8:1::/64 dev eth1",
                "2001:db8:2::/64 dev eth1",
                "2001:db8:3::/64 fe80::2 dev eth1",
            ],
            0,
        ),
        (
            "xr-frr-backup/xr-backup.txt",
            &[
                "10.1.1.1/32 192.0.2.9 dev GigabitEthernet0/0/0/0",
                "10.1.2.0/24 192.0.2.9 dev GigabitEthernet0/0/0/0",
            ],
            1,
        ),
    ];
    compare(&cases, &ReadOptions::default());
    // What the kernel has of the same run, but for the route that it refused.
    let bird = read("bird-sync-error/show_route.out", &ReadOptions::default());
    if let (Some(bird), Some(kernel)) = (bird, read("bird-sync-error/kernel.out", &ReadOptions::default())) {
        let of_ipv4: Vec<String> =
            routes(&bird).into_iter().filter(|route| !route.starts_with("2001:")).collect();
        assert_eq!(of_ipv4, routes(&kernel));
    }
    if let Some(loaded) = read("mmdb-as-mrt/tiny.mmdb", &ReadOptions::default()) {
        assert_eq!(loaded.format, table::Format::Mmdb);
    }
}

#[test]
fn messages_of_bgp() {
    let origin = ReadOptions { value: Value::OriginAs, ..Default::default() };
    let cases: [(&str, &[&str], u64); 6] = [
        ("h_def_then_24.mrt", &["0.0.0.0/0 65001", "1.0.0.0/24 65001"], 0),
        ("h_def_then_16x.mrt", &["0.0.0.0/0 65001", "10.1.0.0/16 65001", "10.2.0.0/16 65001"], 0),
        ("as4path_in_as4.mrt", &["10.0.0.0/8 200005"], 0),
        ("ospf_mixed.mrt", &["10.0.0.0/8 65001"], 2),
        ("addpath_plain4_big.mrt", &["10.0.0.0/24 65001"], 0),
        ("bd.txt", &["10.0.0.0/8 65001"], 0),
    ];
    compare(&cases, &origin);
    if let Some(loaded) = read("addpath_plain4_big.mrt", &origin) {
        assert_eq!(loaded.report.of(Kind::Guessed).count(), 1);
    }
    if let Some(path) = common::beside("cases", "addpath_plain4_big.mrt") {
        let strict = ReadOptions { strict: true, ..Default::default() };
        assert!(
            table::read(&Source::File(path), &strict).unwrap_err().to_string().contains("path identifiers")
        );
    }
}

#[test]
fn lists_and_columns() {
    let listed = ["0.0.0.0/8 listed", "1.2.3.4/32 listed", "1.10.16.0/20 listed"];
    let country = r#"{"country":"BE","region":"BE-VAN","city":"Antwerpen","postal_code":null}"#;
    let cases: [(&str, &[&str], u64); 12] = [
        ("x.netset", &listed, 0),
        ("drop.txt", &["1.10.16.0/20 listed", "1.19.0.0/16 listed"], 0),
        ("cf.txt", &["103.21.244.0/22 listed", "173.245.48.0/20 listed"], 0),
        ("ipasn.dat", &["1.0.0.0/24 13335", "1.0.4.0/22 38803"], 0),
        ("irr.txt", &["10.0.0.0/8 64500", "2001:db8::/32 64501"], 0),
        ("nets.json", &["10.0.0.0/8 corp", "10.1.0.0/16 lab"], 0),
        ("head2.csv", &["10.0.0.0/8 BE"], 0),
        ("sites3.csv", &[r#"10.0.0.0/8 {"site":"Antwerp","owner":"ops"}"#], 0),
        ("ipinfo.csv", &[r#"1.0.0.0/24 {"country":"AU","country_name":"Australia"}"#], 0),
        (
            "bgptools.jsonl",
            &[r#"1.0.0.0/24 {"ASN":13335,"Hits":1045}"#, r#"1.0.4.0/22 {"ASN":38803,"Hits":1045}"#],
            0,
        ),
        ("vrp.json", &[r#"1.0.0.0/24 [{"asn":13335,"max_length":24,"ta":"apnic"}]"#], 0),
        (
            "pfx2as.txt",
            &[
                "1.0.0.0/24 13335",
                "1.0.4.0/22 [38803,56203]",
                "1.0.128.0/17 [[23969,9737]]",
                "1.1.0.0/24 [4134,[64500,64501]]",
                "2001:db8::/32 64500",
            ],
            0,
        ),
    ];
    compare(&cases, &ReadOptions::default());
    let Some(loaded) = read("geofeed.csv", &ReadOptions::default()) else { return };
    assert_eq!(routes(&loaded)[0], format!("192.0.2.0/24 {country}"));
    for (name, prefixes) in [
        (
            "dbip.csv",
            "169.136.101.0/25 169.136.101.128/26 169.136.101.192/27 169.136.101.224/28 169.136.101.240/29 \
            169.136.101.248/30 169.136.101.252/31 169.136.101.254/32 169.136.101.255/32 169.136.102.0/23 169.136.104.0/22",
        ),
        ("deleg.txt", "1.0.1.0/24 1.0.2.0/23 1.0.4.0/24 2001:200::/35"),
        ("iptoasn.tsv", "1.0.0.0/24 1.0.1.0/24 1.0.2.0/23"),
        ("geolite.csv", "1.0.0.0/24 1.0.1.0/24"),
        ("maxmind.csv", "1.0.0.0/24 1.0.4.0/22"),
        ("maxmind-city.csv", "1.0.0.0/24 1.0.1.0/24 1.0.2.0/23"),
        ("aws.json", "3.2.34.0/26 2600:1ff2:4000::/40"),
        ("gcp.json", "34.1.208.0/20"),
        ("vrps.csv", "1.0.0.0/24 1.0.4.0/22"),
        ("vrp2.csv", "1.0.0.0/24 1.0.4.0/22"),
        ("x.jsonl", "10.0.0.0/8 2001:db8::/32"),
    ] {
        let Some(loaded) = read(name, &ReadOptions::default()) else { return };
        let found: Vec<String> =
            routes(&loaded).iter().map(|r| r.split(' ').next().unwrap().to_owned()).collect();
        assert_eq!(found.join(" "), prefixes, "{name}");
        assert!(routes(&loaded).iter().all(|route| route.ends_with(['}', ']'])), "{name}");
    }
}
