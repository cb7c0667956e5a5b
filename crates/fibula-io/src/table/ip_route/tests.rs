//! Tests of `ip route`.

use super::super::testing::{self, routes};
use super::super::{Format, ReadOptions, Value, parse};

#[test]
fn a_router_with_every_kind_of_line() {
    let text = b"default via 192.0.2.1 dev eth0 proto dhcp src 192.0.2.9 metric 100\n\
        default via 192.0.2.7 dev eth9 metric 50\n\
        10.0.0.0/8 proto bgp metric 20 \n\
        \tnexthop via 192.0.2.2 dev eth1 weight 1 \n\
        \tnexthop via 192.0.2.3 dev eth2 weight 1 \n\
        10.9.9.9 via inet6 fe80::1 dev eth0 proto static \n\
        192.0.2.0/24 dev eth0 proto kernel scope link src 192.0.2.9 \n\
        blackhole 198.51.100.0/24 proto static metric 5 \n\
        local 192.0.2.9 dev eth0 table local proto kernel scope host src 192.0.2.9 \n\
        unreachable 203.0.113.0/24\n";
    let loaded = parse(text, &ReadOptions::default()).unwrap();
    assert_eq!(loaded.format, Format::IpRoute);
    assert_eq!(
        routes(&loaded),
        [
            "0.0.0.0/0 192.0.2.7 dev eth9",
            "10.0.0.0/8 192.0.2.2 dev eth1",
            "10.9.9.9/32 fe80::1 dev eth0",
            "192.0.2.0/24 dev eth0",
            "198.51.100.0/24 blackhole",
            "203.0.113.0/24 unreachable",
        ]
    );
}

#[test]
fn the_family_of_default_is_its_gateways_or_its_neighbours() {
    let text = b"2001:db8::/64 dev eth0 proto kernel metric 256 pref medium\n\
        default via fe80::1 dev eth0 proto ra metric 1024 expires 1700sec hoplimit 64 pref medium\n";
    assert_eq!(
        routes(&parse(text, &ReadOptions::default()).unwrap()),
        ["::/0 fe80::1 dev eth0", "2001:db8::/64 dev eth0"]
    );
    let text = b"default dev tun0 metric 1 \n2001:db8::/64 dev eth0 metric 256 \n";
    assert_eq!(
        routes(&parse(text, &ReadOptions::default()).unwrap()),
        ["::/0 dev tun0", "2001:db8::/64 dev eth0"]
    );
}

fn notes(loaded: &super::super::Loaded) -> Vec<String> {
    loaded.report.notes.iter().map(|note| format!("{} {}", note.count, note.what)).collect()
}

#[test]
fn one_line_a_route_numbers_and_details() {
    let text = b"10.0.0.0/8 \\\tnexthop via 192.0.2.2 dev eth1 weight 2 \\\tnexthop via 192.0.2.3 dev eth2 weight 1 \n\
        8 10.1.0.0/16 \n\
        1 10.2.0.0/16 nhid 5 via 192.0.2.4 dev eth0 proto 3 scope 0 \n\
        \tnh_info id 5 via 192.0.2.4 dev eth0 scope 253 proto 0 \n\
        10.3.0.0/16 dev eth0 scope link features ecn tcp_usec_ts \n";
    let all = ReadOptions { value: Value::NextHops, strict: true, ..Default::default() };
    let loaded = parse(text, &all).unwrap();
    assert_eq!(loaded.format, Format::IpRoute);
    assert_eq!(
        routes(&loaded),
        [
            r#"10.0.0.0/8 [{"via":"192.0.2.2","dev":"eth1","weight":2},{"via":"192.0.2.3","dev":"eth2","weight":1}]"#,
            r#"10.1.0.0/16 [{"type":"prohibit"}]"#,
            r#"10.2.0.0/16 [{"via":"192.0.2.4","dev":"eth0"}]"#,
            r#"10.3.0.0/16 [{"dev":"eth0"}]"#,
        ]
    );
}

#[test]
fn what_holds_only_for_some_packets_is_left_out() {
    let text = b"10.0.0.0/8 via 192.0.2.1 dev eth0\n10.0.0.0/8 tos 0x10 via 192.0.2.9 dev eth1\n\
        2001:db8:1::/48 from 2001:db8:9::/48 metric 1\n\tnexthop via fe80::4 dev eth1 weight 1\n\
        2001:db8:2::/48 from all via fe80::4 dev eth1\n";
    let loaded = parse(text, &ReadOptions::default()).unwrap();
    assert_eq!(routes(&loaded), ["10.0.0.0/8 192.0.2.1 dev eth0", "2001:db8:2::/48 fe80::4 dev eth1"]);
    assert_eq!(notes(&loaded), ["2 conditional route"]);
}

#[test]
fn dead_hops_are_not_chosen() {
    let text = b"default via 192.0.2.1 dev eth0 dead linkdown\n10.0.0.0/8\n\
        \tnexthop via 192.0.2.2 dev eth1 weight 1 dead linkdown\n\tnexthop via 192.0.2.3 dev dead weight 1\n\
        \tnexthop via 192.0.2.4 dev eth3 weight 2 linkdown\n";
    let loaded = parse(text, &ReadOptions::default()).unwrap();
    assert_eq!(routes(&loaded), ["10.0.0.0/8 192.0.2.3 dev dead"]);
    let further = "1 next hop after the first (--value next-hops keeps all)";
    assert_eq!(notes(&loaded), ["2 dead next hop", further]);
    let all = ReadOptions { value: Value::NextHops, ..Default::default() };
    let hops = "10.0.0.0/8 [{\"via\":\"192.0.2.3\",\"dev\":\"dead\",\"weight\":1},\
        {\"via\":\"192.0.2.4\",\"dev\":\"eth3\",\"weight\":2}]";
    assert_eq!(routes(&parse(text, &all).unwrap()), [hops]);
}

#[test]
fn one_routing_table_is_read() {
    let text = b"10.0.0.0/8 via 192.0.2.7 dev eth0 table 100\n10.0.0.0/8 via 192.0.2.1 dev eth0\n\
        local 192.0.2.9 dev eth0 table local scope host\n";
    let of = |table: &str| {
        let options = ReadOptions { table: Some(table.into()), ..Default::default() };
        parse(text, &options).map(|loaded| (routes(&loaded), notes(&loaded)))
    };
    let main = parse(text, &ReadOptions::default()).unwrap();
    assert_eq!((routes(&main), notes(&main)), of("254").unwrap());
    assert_eq!(of("main").unwrap().1, ["1 route of table 100", "1 route of table local"]);
    assert_eq!(of("100").unwrap().0, ["10.0.0.0/8 192.0.2.7 dev eth0"]);
    assert_eq!(of("255").unwrap().0, ["192.0.2.9/32 dev eth0"]);
    let error = of("7").unwrap_err().to_string();
    assert_eq!(error, "memory, line 1: no table 7 (there are main, 100, local)");
}

#[test]
fn what_belongs_to_an_encapsulation_is_not_the_routes() {
    let text = b"2001:db8:1::/64 encap seg6local action End.DT6 table 100 dev eth1 metric 1024 pref medium\n\
        10.1.0.0/16  encap mpls  100/200 via 192.0.2.9 dev eth1\n\
        10.2.0.0/16 encap ip id 0 src 0.0.0.0 dst 192.0.2.8 ttl 0 tos 16 flags key dev vxlan0\n\
        2001:db8:2::/64 encap seg6 mode encap segs 1 [ 2001:db8:f::1 ] via inet6 2001:db8::7 dev eth1 table 7\n";
    let loaded = parse(text, &ReadOptions::default()).unwrap();
    assert_eq!(loaded.format, Format::IpRoute);
    let expected = ["10.1.0.0/16 192.0.2.9 dev eth1", "10.2.0.0/16 dev vxlan0", "2001:db8:1::/64 dev eth1"];
    assert_eq!(routes(&loaded), expected);
    assert_eq!(notes(&loaded), ["1 route of table 7"]);
}

#[test]
fn preference_decides_between_equal_metrics() {
    let text = b"2001:db8::/64 dev eth0 metric 256 pref medium\ndefault dev eth0 metric 1024 pref low\n\
        default dev eth1 metric 1024 pref high\ndefault dev eth2 metric 2000 pref high\n";
    let loaded = parse(text, &ReadOptions::default()).unwrap();
    assert_eq!(routes(&loaded), ["::/0 dev eth1", "2001:db8::/64 dev eth0"]);
}

#[test]
fn the_family_of_a_default_route_is_that_of_its_next_hops() {
    let text = b"default via 192.0.2.1 dev eth0\ndefault proto bgp metric 20 pref medium\n\
        \tnexthop via fe80::1 dev eth0 weight 1\n\tnexthop via fe80::2 dev eth1 weight 1\n";
    let loaded = parse(text, &ReadOptions::default()).unwrap();
    assert_eq!(routes(&loaded), ["0.0.0.0/0 192.0.2.1 dev eth0", "::/0 fe80::1 dev eth0"]);
}

#[test]
fn a_line_that_is_not_understood_is_left_out_and_told() {
    let text = "10.0.0.0/8 via 192.0.2.1 dev eth0\n10.1.0.0/16 proto bgp\n11.0.0.0/8 dev a frobnicate\n\
        12.0.0.0/8 metric 1\n\tnexthop dev a odd\n13.0.0.0/8 encap new 1 dev c\n14.0.0.0/8 dev d\n15.0.0.0/8 dev e\n16.0.0.0/8 dev f\n17.0.0.0/8 dev f\n";
    let loaded = parse(text.as_bytes(), &ReadOptions::default()).unwrap();
    assert_eq!(routes(&loaded).len(), 5);
    let told = [
        "1 10.1.0.0/16 has no hop (expected via, dev, or nexthop lines)",
        "1 unknown mark \"frobnicate\"",
        "2 unknown mark \"odd\"",
        "1 unknown mark \"new\"",
    ];
    assert_eq!(notes(&loaded), told);
    let error = |text: &str| testing::error(Format::IpRoute, text);
    assert_eq!(
        error("10.0.0.0/8 via x\n"),
        "memory, line 1: expected an address after via, found \"x\"; 1 of 1 lines are not understood"
    );
    assert!(error("\tnexthop via 10.0.0.1\n").contains("unknown mark \"nexthop\""));
    assert!(error("10.0.0.0/33 dev eth0").contains("past the 32 bits"));
    assert!(error("10.0.0.0/8 dev").contains("expected a value after dev"));
}
