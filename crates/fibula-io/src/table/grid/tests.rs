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

/// Returns the routes of a text, and what was told of it.
fn of(text: &str) -> (Vec<String>, Vec<String>) {
    let loaded = parse(text.as_bytes(), &ReadOptions::default()).unwrap();
    assert_eq!(loaded.format, Format::RouteColumns);
    let notes: Vec<String> =
        loaded.report.notes.iter().map(|note| format!("{} {}", note.count, note.what)).collect();
    (routes(&loaded), notes)
}

#[test]
fn columns_of_routers() {
    let vrp = "Route Flags: R - relay, D - download to fib\nRouting Tables: Public\n         Destinations : 2        Routes : 3\n\n\
        Destination/Mask    Proto   Pre  Cost        Flags NextHop         Interface\n        \
        0.0.0.0/0   Static  60   0             RD  192.0.2.1       GigabitEthernet0/0/0\n                    \
        Static  60   0             RD  192.0.2.2       GigabitEthernet0/0/1\n       \
        10.0.0.0/8   OSPF    10   2                 192.0.2.3       GigabitEthernet0/0/2\n       \
        10.1.0.0/16  Static  60   0              D  0.0.0.0         NULL0\n";
    let expected = ["0.0.0.0/0 192.0.2.1 dev GigabitEthernet0/0/0", "10.1.0.0/16 blackhole"];
    let (found, notes) = of(vrp);
    assert_eq!(found, expected);
    let further = "1 next hop after the first (--value next-hops keeps all)";
    assert_eq!(notes, ["1 route that is not in the forwarding table", further]);
    let vrp6 = "Routing Table : Public\n         Destinations : 1        Routes : 1\n\n\
        \x20Destination  : 2001:db8::                       PrefixLength : 32\n NextHop      : FE80::1                         Preference   : 60\n \
        Cost         : 0                               Protocol     : Static\n RelayNextHop : ::                              TunnelID     : 0x0\n \
        Interface    : GigabitEthernet0/0/0            Flags        : D\n";
    assert_eq!(of(vrp6).0, ["2001:db8::/32 fe80::1 dev GigabitEthernet0/0/0"]);
    let pan = "VIRTUAL ROUTER: default (id 1)\n  ==========\n\
        destination          nexthop              metric flags      age   interface          next-AS\n\
        0.0.0.0/0            192.0.2.1            10     A S              ethernet1/1\n\
        10.0.0.0/8           discard              10     A S\n\
        10.1.0.0/16          192.0.2.9                   A?B        121661                    65213\n\
        10.2.0.0/16          192.0.2.8            20       S              ethernet1/2\n\
        192.0.2.7/32         0.0.0.0              0      A H\n::/0                 2001:db8::1          10     A S              ethernet1/1\n";
    let expected = [
        "0.0.0.0/0 192.0.2.1 dev ethernet1/1",
        "10.0.0.0/8 blackhole",
        "10.1.0.0/16 192.0.2.9",
        "192.0.2.7/32 connected",
        "::/0 2001:db8::1 dev ethernet1/1",
    ];
    assert_eq!(
        of(pan),
        (expected.map(str::to_owned).to_vec(), vec!["1 prefix without a selected route".to_owned()])
    );
    let screen_os = "IPv4 Dest-Routes for <untrust-vr> (0 entries)\n-----\nH: Host C: Connected S: Static A: Auto-Exported\n\n\
        IPv4 Dest-Routes for <trust-vr> (2 entries)\n-----\n   ID          IP-Prefix  Interface    Gateway   P Pref    Mtr    Vsys\n-----\n\
        *   4         10.0.0.0/8     eth0/1    192.0.2.1   S    20      1    Root\n    \
        5         10.1.0.0/16     eth0/2    192.0.2.2   S    20      1    Root\n";
    assert_eq!(of(screen_os).0, ["10.0.0.0/8 192.0.2.1 dev eth0/1"]);
    let sr_os = "Route Table (Router: Base)\n======\nDest Prefix[Flags]        Type    Proto     Age        Pref\n      \
        Next Hop[Interface Name]                    Metric\n------\n10.0.0.0/8                Local   Local     00h01m02s  0\n       \
        to-core                                    0\n10.1.0.0/16 [L]           Remote  OSPF      01d02h03m  10\n       \
        192.0.2.1                                  100\n10.2.0.0/16               Blackh* Static    01d02h03m  10\n       \
        Black Hole                                 1\nNo. of Routes: 3\n";
    assert_eq!(of(sr_os).0, ["10.0.0.0/8 dev to-core", "10.1.0.0/16 192.0.2.1", "10.2.0.0/16 blackhole"]);
    let cef = "Prefix               Next Hop             Interface\n0.0.0.0/0            192.0.2.1            GigabitEthernet0/0\n\
        192.0.2.0/24         attached             GigabitEthernet0/0\n192.0.2.7/32         receive              GigabitEthernet0/0\n";
    let expected = [
        "0.0.0.0/0 192.0.2.1 dev GigabitEthernet0/0",
        "192.0.2.0/24 dev GigabitEthernet0/0",
        "192.0.2.7/32 local",
    ];
    assert_eq!(of(cef).0, expected);
}

#[test]
fn blocks_of_names_and_values() {
    let block = |prefix: &str, hop: &str, state: &str, flags: &str| {
        format!(
            "Destination: {prefix}\n     Protocol: Static           Process ID: 0\n   Preference: 60                     Cost: 0\n      \
             NextHop: {hop}         Neighbour: 0.0.0.0\n        State: {state}              Age: 1d01h58m07s\n \
             RelayNextHop: 0.0.0.0           Interface: Vlanif10\n     TunnelID: 0x0                   Flags: {flags}\n\n"
        )
    };
    let text = [
        "Routing Tables: Public\n         Destinations : 4        Routes : 6\n\n\n".to_owned(),
        block("10.0.0.0/8", "192.0.2.1", "Active Adv", "RD"),
        block("10.0.0.0/8", "192.0.2.2", "Active Adv", "RD"),
        block("10.0.0.0/8", "192.0.2.3", "Inactive Adv", ""),
        block("10.1.0.0/16", "192.0.2.1", "Active Adv", ""),
        block("10.2.0.0/16", "192.0.2.1", "Active frobnicate", "D"),
        block("10.3.0.0/16", "192.0.2.1", "Active NoAdv", "D"),
    ];
    let (found, notes) = of(&text.concat());
    assert_eq!(found, ["10.0.0.0/8 192.0.2.1 dev Vlanif10", "10.3.0.0/16 192.0.2.1 dev Vlanif10"]);
    let expected = [
        "1 unknown mark \"frobnicate\"",
        "2 line of a route that is left out",
        "1 route that is not in the forwarding table",
        "1 next hop after the first (--value next-hops keeps all)",
    ];
    assert_eq!(notes, expected);
    let comware = "Destination: 10.0.0.0/8\n   Protocol: Static\n Process ID: 0\n  SubProtID: 0x0                    Age: 08h37m34s\n       \
        Cost: 0               Preference: 60\n        Tag: 0                     State: Active Adv\n      \
        NibID: 0x10000000           LastAs: 0\n      Flags: 0x10000         OrigNextHop: 192.0.2.1\n      \
        Label: NULL            RealNextHop: 192.0.2.1\n  Tunnel ID: Invalid          Interface: Vlan10\n";
    assert_eq!(of(comware).0, ["10.0.0.0/8 192.0.2.1 dev Vlan10"]);
}

#[test]
fn words_that_stand_for_a_next_hop() {
    let of = |text: &str| routes(&parse(text.as_bytes(), &ReadOptions::default()).unwrap());
    let procurve = "  Destination        Gateway         VLAN Type      Sub-Type   Metric     Dist.\n  \
        127.0.0.0/8        reject               static               0          0\n  \
        192.0.2.0/24       LAB             11   connected            1          0\n";
    assert_eq!(of(procurve), ["127.0.0.0/8 unreachable", "192.0.2.0/24 dev LAB"]);
    let sr_os = "IPv6 Route Table (Router: Base)\n======\nDest Prefix[Flags]        Type    Proto     Age        Pref\n      \
        Next Hop[Interface Name]                    Metric\n------\n\
        2001:db8::/32             Remote  ISIS      01d02h03m  18\n       fe80::1-\"to-R2\"            20\n";
    assert_eq!(of(sr_os), ["2001:db8::/32 fe80::1 dev to-R2"]);
    let vpn = "Route Table (Service: 1)\n======\nDest Prefix[Flags]        Type    Proto     Age        Pref\n      \
        Next Hop[Interface Name]                    Metric\n------\n\
        10.0.2.0/24               Remote  BGP VPN   04h55m26s  170\n       192.0.2.2 (tunneled:SR-ISIS:524299)         30\n\
        10.0.3.0/24               Remote  OSPF(10)  0484d16h   10\n       192.0.2.3                                   2\n";
    assert_eq!(of(vpn), ["10.0.2.0/24 192.0.2.2", "10.0.3.0/24 192.0.2.3"]);
    let cef = "Prefix               Next Hop             Interface\n0.0.0.0/0            no route\n";
    assert_eq!(of(cef), ["0.0.0.0/0 unreachable"]);
    let open_bgpd = "flags: B = BGP, C = Connected, S = Static\n       r = reject route, b = blackhole route\n\n\
        flags prio destination          gateway\nB     48 10.0.0.0/8           192.0.2.1\n\
        Bb    48 10.1.0.0/16          127.0.0.1\nC      4 192.0.2.0/24         link#1\n";
    assert_eq!(of(open_bgpd), ["10.0.0.0/8 192.0.2.1", "10.1.0.0/16 blackhole", "192.0.2.0/24 connected"]);
    let si_r = "FP  Destination/Mask   Gateway         Distance UpTime    Interface\n\
        *S  0.0.0.0/0          192.0.2.1             1 04:56:03  lan1\n E2 10.1.12.0/24       192.0.2.2           110 00:00:00  lan1\n\
        *S  10.1.12.0/24       rmt2                  1 04:06:01  rmt2\n";
    assert_eq!(of(si_r), ["0.0.0.0/0 192.0.2.1 dev lan1", "10.1.12.0/24 dev rmt2"]);
    let screen_os = "screenos-> get route\ntrust-vr (2 entries)\n-----\n   ID          IP-Prefix  Interface    Gateway   P Pref    Mtr    Vsys\n-----\n\
        *   4          0.0.0.0/0       n/a untrust-vr   S    20      0    Root\n*   3      10.46.4.64/26   bgroup0  192.0.2.1   S    20      1    Root\n";
    assert_eq!(of(screen_os), ["0.0.0.0/0 next-table untrust-vr", "10.46.4.64/26 192.0.2.1 dev bgroup0"]);
    // Numbers end where the names of their columns do.
    let pan = "VIRTUAL ROUTER: default (id 1)\n  ==========\n\
        destination          nexthop              metric flags      age   interface          next-AS\n\
        10.7.4.0/24          192.0.2.8                   A?B        3509239                    65201\n\
        10.9.1.0/24          192.0.2.9            50     A Oi       1030301 ae1.255\n";
    assert_eq!(of(pan), ["10.7.4.0/24 192.0.2.8", "10.9.1.0/24 192.0.2.9 dev ae1.255"]);
}
