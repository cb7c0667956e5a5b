//! Tests of the tables in columns.

use super::super::testing::{self, routes};
use super::super::{Format, ReadOptions, parse};

const HEAD: &str = "Kernel IP routing table\nDestination     Gateway         Genmask         Flags Metric Ref    Use Iface\n";

#[test]
fn the_lowest_metric_wins() {
    let text = format!(
        "{HEAD}0.0.0.0 192.0.2.1 0.0.0.0 UG 100 0 0 eth0\n0.0.0.0 192.0.2.2 0.0.0.0 UG 50 0 0 eth1\n\
         192.0.2.0 0.0.0.0 255.255.255.0 U 0 0 0 eth0\n10.0.0.0 - 255.0.0.0 !H 0 - 0 -\n"
    );
    let loaded = parse(text.as_bytes(), &ReadOptions::default()).unwrap();
    assert_eq!(loaded.format, Format::Netstat);
    let expected = ["0.0.0.0/0 192.0.2.2 dev eth1", "10.0.0.0/8 unreachable", "192.0.2.0/24 dev eth0"];
    assert_eq!(routes(&loaded), expected);
    let netstat = b"Kernel IP routing table\nDestination Gateway Genmask Flags MSS Window irtt Iface\n\
        default 192.0.2.1 0.0.0.0 UG 0 0 0 eth0\n";
    assert_eq!(routes(&parse(netstat, &ReadOptions::default()).unwrap()), ["0.0.0.0/0 192.0.2.1 dev eth0"]);
}

#[test]
fn both_families_of_the_bsds() {
    let text = b"Routing tables\n\nInternet:\nDestination Gateway Flags Netif Expire\n\
        default 192.0.2.1 UGS em0\n10.1/16 link#1 U em1\n127 127.0.0.1 UCS lo0\n\
        192.0.2.1 ff:ff:ff:ff:ff:ff UHLWIi em0 1193\n198.51.100.0/24 127.0.0.1 UGSB lo0\n\n\
        Internet6:\nDestination Gateway Flags Netif Expire\n::/96 ::1 UGRS lo0\n\
        default fe80::1%em0 UGS em0\nfe80::%em0/64 link#1 U em0\n";
    let loaded = parse(text, &ReadOptions::default()).unwrap();
    assert_eq!(loaded.format, Format::Netstat);
    let expected = [
        "0.0.0.0/0 192.0.2.1 dev em0",
        "10.1.0.0/16 dev em1",
        "127.0.0.0/8 127.0.0.1 dev lo0",
        "192.0.2.1/32 dev em0",
        "198.51.100.0/24 blackhole",
        "::/0 fe80::1 dev em0",
        "::/96 unreachable",
        "fe80::/64 dev em0",
    ];
    assert_eq!(routes(&loaded), expected);
    let openbsd = b"Routing tables\n\nInternet:\n\
        Destination        Gateway            Flags   Refs      Use   Mtu  Prio Iface\n\
        default            192.0.2.1          UGS        5     1000     -    56 em0\n\
        default            192.0.2.2          UGS        5     1000     -     8 em1\n";
    let loaded = parse(openbsd, &ReadOptions::default()).unwrap();
    assert_eq!(routes(&loaded), ["0.0.0.0/0 192.0.2.2 dev em1"]);
}

#[test]
fn what_is_wrong_is_said() {
    let error = |row: &str| testing::error(Format::Netstat, &format!("{HEAD}{row}\n"));
    assert_eq!(
        error("10.0.0.0 x 255.0.0.0 U 0 0 0 a"),
        "memory, line 3: unknown mark \"x\"; 1 of 1 lines are not understood"
    );
    assert_eq!(
        error("10.0.0.0 * 255.0.255.0 U 0 0 0 a"),
        "memory, line 3: 255.0.255.0 is no netmask of 10.0.0.0; 1 of 1 lines are not understood"
    );
    assert_eq!(
        testing::error(Format::Netstat, "Destination Gateway Flags Netif\n10.1.2.3.4/16 link#1 U em1\n"),
        "memory, line 2: unknown mark \"10.1.2.3.4/16\"; 1 of 1 lines are not understood"
    );
}
