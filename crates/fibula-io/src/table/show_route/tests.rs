//! Tests of `show ip route`.

use super::super::testing::{self, routes};
use super::super::{Format, Loaded, ReadOptions, parse};

fn read(text: &str) -> Loaded {
    let loaded = parse(text.as_bytes(), &ReadOptions::default()).unwrap();
    assert_eq!(loaded.format, Format::ShowRoute);
    loaded
}

#[test]
fn frr_marks_what_it_selected() {
    let loaded = read(
        "Codes: K - kernel route, C - connected,\n       > - selected route, * - FIB route\n\n\
         IPv4 unicast VRF default:\nK>* 0.0.0.0/0 [0/100] via 192.0.2.1, eth0, src 192.0.2.10, weight 1, 00:10:00\n\
         O   10.0.0.0/8 [110/20] via 192.0.2.9, eth0, weight 1, 00:09:00\n\
         B>  10.0.0.0/8 [20/0] via 198.51.100.1 (recursive), weight 1, 00:08:00\n  \
         *                     via 192.0.2.2, eth1, weight 1, 00:08:00\n  \
         *                     via 192.0.2.3, eth2, weight 1, 00:08:00\n\
         C>* 192.0.2.0/24 is directly connected, eth0, weight 1, 1d02h10m\n\
         S>  10.6.0.0/16 [1/0] via 192.0.2.6 inactive, weight 1, 00:01:00\n\
         S>* 10.7.0.0/16 [1/0] via 192.0.2.6 inactive, weight 1, 00:01:00\n  \
                               via 192.0.2.7, eth1, weight 1, 00:01:00\n\
         S>* 10.9.0.0/16 [1/0] unreachable (blackhole), weight 1, 00:01:00\n\n\
         IPv4 unicast VRF red:\nS>* 10.8.0.0/16 [1/0] via 192.0.2.77, eth7, weight 1, 00:01:00\n",
    );
    assert_eq!(
        routes(&loaded),
        [
            "0.0.0.0/0 192.0.2.1 dev eth0",
            "10.0.0.0/8 192.0.2.2 dev eth1",
            "10.9.0.0/16 blackhole",
            "192.0.2.0/24 dev eth0"
        ]
    );
    let notes: Vec<&str> = loaded.report.notes.iter().map(|note| &*note.what).collect();
    let further = "next hop after the first (--value next-hops keeps all)";
    assert_eq!(notes, ["dead next hop", further, "route of VRF red"]);
}

#[test]
fn a_table_without_a_heading_is_that_of_default_wherever_it_comes() {
    let codes =
        "Codes: K - kernel route, C - connected, S - static,\n       > - selected route, * - FIB route\n\n";
    let route = |last: u8| format!("S>* 10.0.0.0/8 [1/0] via 192.0.2.{last}, eth{last}, 00:01:00\n");
    let text = format!("{codes}\nVRF red:\n{}{codes}\nVRF blue:\n{}{codes}{}", route(1), route(2), route(3));
    let of = |vrf: Option<&str>| {
        let options = ReadOptions { vrf: vrf.map(Into::into), ..ReadOptions::default() };
        routes(&parse(text.as_bytes(), &options).unwrap())
    };
    assert_eq!(of(None), ["10.0.0.0/8 192.0.2.3 dev eth3"]);
    assert_eq!(of(Some("blue")), ["10.0.0.0/8 192.0.2.2 dev eth2"]);
    // Others explain their codes below the heading, also of the same table again.
    let cisco = format!("Routing Table: red\n{codes}{}\nRouting Table: red\n{codes}{}", route(1), route(2));
    let loaded = parse(cisco.as_bytes(), &ReadOptions::default()).unwrap();
    assert!(loaded.report.notes.iter().all(|note| !note.what.contains("VRF")), "{:?}", loaded.report.notes);
    assert_eq!(routes(&loaded), ["10.0.0.0/8 192.0.2.1 dev eth1"]);
}

#[test]
fn cisco_leaves_out_lengths_and_breaks_lines() {
    let loaded = read(
        "Codes: L - local, C - connected, S - static\n       + - replicated route\n\n\
         Gateway of last resort is 192.0.2.1 to network 0.0.0.0\n\n\
         S*    0.0.0.0/0 [1/0] via 192.0.2.1\n      10.0.0.0/24 is subnetted, 2 subnets\n\
         C        10.1.1.0 is directly connected, GigabitEthernet0/1\n\
         O IA     10.1.2.0 [110/2] via 192.0.2.2, 00:01:02, GigabitEthernet0/0\n                  \
         [110/2] via 192.0.2.3, 00:01:02, GigabitEthernet0/2\n      \
         172.16.0.0/16 is variably subnetted, 2 subnets, 2 masks\n\
         D EX     172.16.1.0/30\n           [170/3072] via 192.0.2.4, 1d02h, GigabitEthernet0/3\n\
         B     192.168.7.0 [20/0] via 192.0.2.5, 3w4d\nS     203.0.113.0/24 is directly connected, Null0\n",
    );
    assert_eq!(
        routes(&loaded),
        [
            "0.0.0.0/0 192.0.2.1",
            "10.1.1.0/24 dev GigabitEthernet0/1",
            "10.1.2.0/24 192.0.2.2 dev GigabitEthernet0/0",
            "172.16.1.0/30 192.0.2.4 dev GigabitEthernet0/3",
            "192.168.7.0/24 192.0.2.5",
            "203.0.113.0/24 blackhole",
        ]
    );
}

#[test]
fn arista_has_hops_on_lines_of_their_own() {
    let loaded = read(
        "\nVRF: default\nCodes: C - connected, S - static, K - kernel,\n       B E - eBGP\n\n\
         Gateway of last resort:\n S        0.0.0.0/0 [1/0]\n           via 192.0.2.1, Ethernet1\n\n \
         C        10.1.0.0/24\n           directly connected, Ethernet2\n \
         B E      10.2.0.0/16 [200/0]\n           via 192.0.2.2, Ethernet1\n           via 192.0.2.3, Ethernet2\n",
    );
    let expected = [
        "0.0.0.0/0 192.0.2.1 dev Ethernet1",
        "10.1.0.0/24 dev Ethernet2",
        "10.2.0.0/16 192.0.2.2 dev Ethernet1",
    ];
    assert_eq!(routes(&loaded), expected);
    assert_eq!(loaded.report.notes[0].count, 1);
}

#[test]
fn nx_os_has_prefixes_on_lines_of_their_own() {
    let loaded = read(
        "IP Route Table for VRF \"default\"\n'*' denotes best ucast next-hop\n\
         '[x/y]' denotes [preference/metric]\n\n\
         0.0.0.0/0, ubest/mbest: 1/0\n    *via 192.0.2.1%mgmt, [1/0], 2w3d, static\n\
         10.0.0.0/8, ubest/mbest: 2/0\n    *via 192.0.2.2, Eth1/1, [110/41], 2w3d, ospf-1, intra\n    \
         *via 192.0.2.3, Eth1/2, [110/41], 2w3d, ospf-1, intra\n\
         10.1.0.0/16, ubest/mbest: 1/0\n    *via Null0, [220/0], 2w3d, bgp-64500, discard\n\n\
         IP Route Table for VRF \"red\"\n'*' denotes best ucast next-hop\n\n\
         10.9.0.0/16, ubest/mbest: 1/0, attached\n    *via 192.0.2.7, Eth1/9, [0/0], 3w0d, direct\n",
    );
    assert_eq!(
        routes(&loaded),
        ["0.0.0.0/0 192.0.2.1", "10.0.0.0/8 192.0.2.2 dev Eth1/1", "10.1.0.0/16 blackhole"]
    );
    assert_eq!(loaded.report.notes.last().unwrap().what, "route of VRF red");
}

#[test]
fn one_vrf_is_read_wherever_it_is() {
    const RED: &str = "VRF: red\nCodes: B - BGP\n\nB 10.0.0.0/8 [20/0] via 192.0.2.1, 1d\n\n";
    const BLUE: &str = "VRF: blue\nCodes: B - BGP\n\nB 10.1.0.0/16 [20/0] via 192.0.2.2, 1d\n\n";
    const DEFAULT: &str = "VRF: default\nCodes: B - BGP\n\nB 10.2.0.0/16 [20/0] via 192.0.2.3, 1d\n\n";
    let of = |text: &str, vrf: Option<&str>| {
        let options = ReadOptions { vrf: vrf.map(Into::into), ..Default::default() };
        parse(text.as_bytes(), &options)
            .map(|loaded| (routes(&loaded), loaded.report.notes.iter().map(|note| note.count).sum::<u64>()))
    };
    let only = |route: &str, left_out| (vec![route.to_owned()], left_out);
    let (red, default) = ("10.0.0.0/8 192.0.2.1", "10.2.0.0/16 192.0.2.3");
    assert_eq!(of(RED, None).unwrap(), only(red, 0));
    for all in [[RED, BLUE, DEFAULT], [DEFAULT, RED, BLUE], [RED, DEFAULT, BLUE]].map(|all| all.concat()) {
        assert_eq!(of(&all, None).unwrap(), only(default, 2));
        assert_eq!(of(&all, Some("red")).unwrap(), only(red, 2));
    }
    let error = |vrf| of(&[RED, BLUE].concat(), vrf).unwrap_err().to_string();
    assert_eq!(error(None), "memory, line 1: no VRF default, name one of red, blue by --vrf");
    assert_eq!(error(Some("green")), "memory, line 1: no VRF green (there are red, blue)");
}

/// Returns the routes of a text, and what is told of it.
fn told(text: &str) -> (Vec<String>, Vec<String>) {
    let loaded = read(text);
    let notes = loaded.report.notes.iter().map(|note| format!("{} {}", note.count, note.what)).collect();
    (routes(&loaded), notes)
}

#[test]
fn frr_says_what_is_not_in_the_forwarding_table() {
    let (routes, notes) = told(
        "Codes: K - kernel route, C - connected, S - static,\n       > - selected route, * - FIB route, q - queued, r - rejected, b - backup\n       \
         t - trapped, o - offload failure\n\nVRF default:\n\
         S>r 10.1.0.0/16 [1/0] via 192.0.2.1, eth0, weight 1, 00:00:03\n\
         S>q 10.2.0.0/16 [1/0] via 192.0.2.1, eth0, weight 1, 00:00:03\n\
         B>* 10.3.0.0/16 [20/0] via 192.0.2.1, eth1 (vrf red), label 3, weight 1, 00:00:03\n  \
         b                    via 192.0.2.2, eth1, weight 1, 00:00:03\n\
         S>o 10.4.0.0/16 [1/0] via 192.0.2.1, eth0, weight 1, 00:00:03\n\
         C>* 10.5.0.0/16 is directly connected, eth0 linkdown, weight 1, 00:00:03\n\
         S>* 10.6.0.0/16 [1/0] via 192.0.2.7, eth2 onlink, weight 1, 00:00:03\n\
         S>  10.7.0.0/16 [1/0] via 10.4.0.1 (recursive), weight 1, 00:00:03\n  \
         *                      unreachable (blackhole), weight 1, 00:00:03\n\
         K>* 10.8.0.0/16 [0/0] unreachable (ICMP unreachable), 00:00:03\n",
    );
    let expected = [
        "10.3.0.0/16 192.0.2.1 dev eth1",
        "10.5.0.0/16 dev eth0",
        "10.6.0.0/16 192.0.2.7 dev eth2",
        "10.7.0.0/16 blackhole",
        "10.8.0.0/16 unreachable",
    ];
    assert_eq!(routes, expected);
    assert_eq!(notes, ["3 route that is not in the forwarding table", "1 backup next hop"]);
}

#[test]
fn masks_of_asa_are_in_the_next_word() {
    let (routes, notes) = told(
        "Gateway of last resort is 192.0.2.1 to network 0.0.0.0\n\n\
         S*       0.0.0.0 0.0.0.0 [1/0] via 192.0.2.1, outside\n\
         C        192.168.1.0 255.255.255.128 is directly connected, external\n\
         O        10.0.0.0 255.255.0.0 [110/20] via 192.0.2.35, 7w0d, inside\n                                   \
         [110/20] via 192.0.2.34, 7w0d, inside\n\
         V        10.9.1.0 255.255.255.0 \n           connected by VPN (advertised), outside\n",
    );
    let expected = [
        "0.0.0.0/0 192.0.2.1 dev outside",
        "10.0.0.0/16 192.0.2.35 dev inside",
        "10.9.1.0/24 dev outside",
        "192.168.1.0/25 dev external",
    ];
    assert_eq!(routes, expected);
    assert_eq!(notes.len(), 1);
}

#[test]
fn backups_of_ios_xr_and_its_broken_lines() {
    let (routes, notes) = told(
        "Codes: C - connected, S - static, (>) - Diversion path, (!) - FRR Backup path\n\n\
         Gateway of last resort is fe80::1 to network ::/0\n\n\
         O    10.1.1.1/32 [110/3] via 192.0.2.2, 00:01:01, GigabitEthernet0/0/0/1 (!)\n                 \
         [110/3] via 192.0.2.9, 00:01:01, GigabitEthernet0/0/0/0\n\
         S*   ::/0\n      [1/0] via fe80::1, 00:00:10, MgmtEth0/RP0/CPU0/0\n\
         C    2001:db8:1::/64 is directly connected,\n      1d02h, GigabitEthernet0/0/0/1\n\
         B    2001:db8:2::/48\n      [200/0] via 2001:db8::9 (nexthop in vrf default), 00:10:00\n",
    );
    let expected = [
        "10.1.1.1/32 192.0.2.9 dev GigabitEthernet0/0/0/0",
        "::/0 fe80::1 dev MgmtEth0/RP0/CPU0/0",
        "2001:db8:1::/64 dev GigabitEthernet0/0/0/1",
        "2001:db8:2::/48 2001:db8::9",
    ];
    assert_eq!(routes, expected);
    assert_eq!(notes, ["1 backup next hop"]);
}

#[test]
fn tunnels_and_groups_of_arista() {
    let (routes, notes) = told(
        "VRF: default\n\nGateway of last resort is not set\n\n \
         B E      10.1.0.0/24 [200/0] via VTEP 10.255.1.1 VNI 10001 router-mac 02:1c:73:00:00:01 local-interface Vxlan1\n \
         NG       10.5.0.0/24 [1/0] via nexthop-group NG1\n \
         A B      10.6.0.0/16 [200/0] is directly connected, Null0\n",
    );
    let expected =
        ["10.1.0.0/24 10.255.1.1 dev Vxlan1", "10.5.0.0/24 nexthop-group NG1", "10.6.0.0/16 blackhole"];
    assert_eq!((&*routes, notes.len()), (&expected.map(str::to_owned)[..], 0));
}

#[test]
fn nx_os_marks_the_next_hops_that_are_used() {
    let (routes, notes) = told(
        "IP Route Table for VRF \"default\"\n'*' denotes best ucast next-hop\n\n\
         10.0.0.0/8, ubest/mbest: 1/0 time\n    *via 192.0.2.2, [1/0], 1w0d, static\n     \
         via 192.0.2.9, Vlan22, [110/21], 3w1d, ospf-1, type-1 (hidden)\n     \
         via 192.0.2.7, [200/0], 1d15h, bgp-1, internal, tag 1,  (hidden)\n\
         10.1.0.0/16, ubest/mbest: 1/0, pending\n    *via 192.0.2.2, [1/0], 1w0d, static, tag 7\n",
    );
    assert_eq!(routes, ["10.0.0.0/8 192.0.2.2"]);
    assert_eq!(notes, ["2 next hop that is not selected", "1 route that is not in the forwarding table"]);
}

#[test]
fn more_of_those_that_grew_from_one() {
    let edge = "IP Route Table for VRF \"default\"\n\
        S    *> 10.0.0.0/8 [1/0] via 192.0.2.1 (recursive is directly connected, pppoe0) )\n     \
        *>                  [1/0] via 192.0.2.2, eth1\nC       10.1.0.0/16 is directly connected, eth1\n\n\
        Codes: S - static,\n       > - selected route, * - FIB route, p - stale info\n";
    assert_eq!(told(edge).0, ["10.0.0.0/8 192.0.2.1"]);
    let gaia = "Codes: C - Connected, S - Static, H - Hidden,\n       A - Aggregate, K - Kernel Remnant, i - Inactive\n\n\
        S         0.0.0.0/0           via 192.0.2.1, eth1, cost 0, age 423\n                                  \
        the default route\nS    i    10.0.0.0/8        via 192.0.2.2, eth1, cost 0, age 423\n";
    assert_eq!(
        told(gaia),
        (vec!["0.0.0.0/0 192.0.2.1 dev eth1".into()], vec!["1 prefix without a selected route".into()])
    );
    let fortios = "Routing table for VRF=0\nS*      0.0.0.0/0 [10/0] via 192.0.2.1, port1, [1/0]\n                \
        [10/0] via 192.0.2.2, port2, [1/0]\nC       10.0.0.0/8 is directly connected, port3\n                      \
        is directly connected, port4\n";
    assert_eq!(told(fortios).0, ["0.0.0.0/0 192.0.2.1 dev port1", "10.0.0.0/8 dev port3"]);
    let aos_cx = "Displaying ipv4 routes selected for forwarding\n\n'[x/y]' denotes [distance/metric]\n\n\
        0.0.0.0/0, vrf default\n\tvia  192.0.2.1,  [20/0],  bgp\n10.0.0.0/8, vrf default\n\tvia  1/1/28,  [0/0],  connected\n\
        10.1.0.0/16, vrf red\n\tvia  vlan7,  [0/0],  connected\n";
    let routes = vec!["0.0.0.0/0 192.0.2.1".to_owned(), "10.0.0.0/8 dev 1/1/28".to_owned()];
    assert_eq!(told(aos_cx), (routes, vec!["1 route of VRF red".to_owned()]));
    let nsx = "Total number of routes: 2\n\nB       10.0.0.0/8    [200/0]       via 192.0.2.1 \n\
        B       10.0.0.0/8    [200/0]       via 192.0.2.2 \n";
    assert_eq!(told(nsx).1, ["1 next hop after the first (--value next-hops keeps all)"]);
    let entry = "Routing entry for 10.0.0.0/8\n  Known via \"ospf A\", distance 110, metric 22\n  Routing Descriptor Blocks\n    \
        192.0.2.1, from 192.0.2.53, via HundredGigE0/0/0/30\n      Route metric is 22\n  No advertising protos.\n";
    assert_eq!(told(entry).0, ["10.0.0.0/8 192.0.2.1 dev HundredGigE0/0/0/30"]);
}

#[test]
fn prompts_commands_and_what_programs_say_beside_routes() {
    for prompt in [
        "edge (root) # get router info6 routing-table",
        "user@host:~$ show ip route",
        "[/]",
        "A:admin@pe2# show router \"300\" route-table 192.0.2.1",
        "#show route table inet.3 10.0.0.4",
        "show ip route vrf red 192.0.2.1",
        "<HS125X>dis ip routing-table",
        "RP/0/RSP0/CPU0:R1#show route ipv6 unicast",
        "Load for five secs: 21%/0%; one minute: 23%; five minutes: 32%",
        "Time source is NTP, 19:37:31.828 EST Wed Oct 16 2019",
    ] {
        let (routes, notes) = told(&format!("{prompt}\nS*   0.0.0.0/0 [1/0] via 192.0.2.1, eth0\n"));
        assert_eq!(routes, ["0.0.0.0/0 192.0.2.1 dev eth0"], "{prompt}");
        assert_eq!(notes, [""; 0], "{prompt}");
    }
    let nx_os = "IP Route Table for VRF \"default\"\n'*' denotes best ucast next-hop\n\nRoute not found\n\n\
        IP Route Table for VRF \"DMZ\"\n'*' denotes best ucast next-hop\n\n\
        10.0.0.0/8, ubest/mbest: 1/0, attached, direct, pervasive\n    \
        *via 192.0.2.9%overlay-1, [1/0], 02w00d, static, tag 4294967294\n\
        10.1.0.0/16, ubest/mbest: 1/0, all-best (0x63636363)\n    \
        *via 192.0.2.8%default, [20/0], 05:09:25, bgp-3, external, tag 4, eLB, segid: 501001 (Asymmetric) tunnelid: 0x60 encap: VXLAN\n\
        10.2.0.0/16, ubest/mbest: 1/0\n    *via 192.0.2.7%default, [200/0], 0.000000, bgp-3, internal, tag 6555 (mpls-vpn)\n\
        , segid 50003 tunnelid: 0x28 encap: VXLAN\n";
    let expected = ["10.0.0.0/8 192.0.2.9", "10.1.0.0/16 192.0.2.8", "10.2.0.0/16 192.0.2.7"];
    assert_eq!(told(nx_os), (expected.map(str::to_owned).to_vec(), Vec::new()));
    let open_switch = "Displaying ipv4 routes selected for forwarding\n\n10.0.0.0/8,  2 unicast next-hops\n        \
        via  192.0.2.1,  [1/0],  static, vrf vrf_default\n        via  192.0.2.2,  [1/0],  static, vrf vrf_default\n\
        10.1.0.0/16,  1 unicast next-hops\n        via  192.0.2.3,  [1/0],  static, vrf red\n";
    let notes = [
        "1 next hop of VRF red",
        "1 route without a next hop",
        "1 next hop after the first (--value next-hops keeps all)",
    ];
    let (routes, mut found) = told(open_switch);
    found.sort();
    assert_eq!(
        (routes, found),
        (vec!["10.0.0.0/8 192.0.2.1".to_owned()], {
            let mut notes = notes.map(str::to_owned).to_vec();
            notes.sort();
            notes
        })
    );
    let entry = "Routing entry for 0.0.0.0/0, supernet\n    Known via \"bgp 65161\", distance 20, metric 0, candidate default path\n    \
        Tag 65161, type external\n    Redistributing via ospf 1\n    Last update from 192.0.2.10 2d07h ago\n    \
        Routing Descriptor Blocks:\n    * 192.0.2.10, from 192.0.2.10, 2d07h ago\n        \
        Route metric is 0, traffic share count is 1\n        AS Hops 9\n        Route tag 65161\n        MPLS label: none\n";
    assert_eq!(told(entry), (vec!["0.0.0.0/0 192.0.2.10".to_owned()], Vec::new()));
    let of_vrf = entry.replace("* 192.0.2.10, from", "* 192.0.2.10 (default), from");
    assert_eq!(told(&of_vrf).0, ["0.0.0.0/0 192.0.2.10"]);
    let protected = "Routing entry for 10.0.0.0/8\n  Known via \"isis T4\", distance 115, metric 10, labeled SR\n  \
        Routing Descriptor Blocks\n    192.0.2.6, from 192.0.2.51, via Bundle-Ether104, Protected\n      Route metric is 10\n    \
        192.0.2.9, from 192.0.2.51, via Bundle-Ether105, Backup (Local-LFA)\n      Route metric is 20\n";
    let expected =
        (vec!["10.0.0.0/8 192.0.2.6 dev Bundle-Ether104".to_owned()], vec!["1 backup next hop".to_owned()]);
    assert_eq!(told(protected), expected);
    let nsx_t = "Flags: t0c - Tier0-Connected, t0s - Tier0-Static, b - BGP,\nt1c - Tier1-Connected, isr: Inter-SR,\n\
        > - selected route, * - FIB route\n\nb  > * 0.0.0.0/0 [20/0] via 192.0.2.1, uplink-1, 3d00h02m\n\
        t0s> * 10.9.0.0/16 [1/0] via 192.0.2.2, uplink-1, 3d00h02m\nb      10.9.0.0/16 [20/0] via 192.0.2.3, uplink-2, 3d00h02m\n";
    assert_eq!(told(nsx_t).0, ["0.0.0.0/0 192.0.2.1 dev uplink-1", "10.9.0.0/16 192.0.2.2 dev uplink-1"]);
    let gaia = "Codes: C - Connected, S - Static, B - BGP (D - Default),\n       K - Kernel Remnant, NP - NAT Pool\n\n\
        B D         0.0.0.0/0           via 192.0.2.1, eth1, cost None, age 100\n\
        S           10.9.0.0/16         is a blackhole route\nS           10.8.0.0/16         is a reject route\n\
        NP          10.6.0.0/16         via 192.0.2.9, eth2, cost 0, age 12\n";
    let expected = [
        "0.0.0.0/0 192.0.2.1 dev eth1",
        "10.6.0.0/16 192.0.2.9 dev eth2",
        "10.8.0.0/16 unreachable",
        "10.9.0.0/16 blackhole",
    ];
    assert_eq!(told(gaia), (expected.map(str::to_owned).to_vec(), Vec::new()));
}

#[test]
fn what_is_not_understood_is_told() {
    let text = "Codes: C - connected, Q - quantum teleport\n\nC 10.0.0.0/8 is directly connected, a\n\
        C ?? 10.1.0.0/16 is directly connected, a\nC 10.2.0.0/16 is odd connected, a\n\
        C 10.3.0.0/16 is directly connected, a\nC 10.4.0.7/16 is directly connected, a\n\
        C 10.5.0.0/16 is directly connected, a\nC 10.6.0.0/16 is directly connected, a\n";
    let (routes, notes) = told(text);
    assert_eq!(routes, ["10.0.0.0/8 dev a", "10.3.0.0/16 dev a", "10.5.0.0/16 dev a", "10.6.0.0/16 dev a"]);
    let told = [
        "1 unknown mark \"quantum teleport\" in the explanation of codes",
        "1 unknown mark \"??\"",
        "1 unknown mark \"is\"",
        "1 10.4.0.7/16 has bits set after its length (host bits)",
    ];
    assert_eq!(notes, told);
    let strict = ReadOptions { strict: true, ..Default::default() };
    assert!(parse(text.as_bytes(), &strict).unwrap_err().to_string().contains("--strict"));
    let error = |text: &str| testing::error(Format::ShowRoute, text);
    assert_eq!(
        error("C 10.0.0.0/33 is directly connected, a\n"),
        "memory, line 1: prefix length 33 is past the 32 bits of the family; 1 of 1 lines are not understood"
    );
    assert!(error("B 10.0.0.0/8 [20/0] via x1\nlost\nlost\n").contains("unknown mark \"lost\""));
}

/// IOS shows its forwarding table without columns where prefixes are long.
#[test]
fn a_forwarding_table_in_blocks() {
    let text = "R2#show ipv6 cef\n::/0\n  no route\n::/127\n  discard\n2001:DB8:1:2::/64\n  \
        attached to GigabitEthernet2.100\n2001:DB8:1:2::2/128\n  receive for GigabitEthernet2.100\n\
        2001:DB8:1:3::/64\n  nexthop FE80::1 GigabitEthernet2.100\n  nexthop FE80::2 GigabitEthernet3.100\n\
        2001:DB8:64::/48\n  nexthop 192.0.2.3 FastEthernet1/0/0 label 17 21\n";
    let loaded = read(text);
    let expected = [
        "::/0 unreachable",
        "::/127 blackhole",
        "2001:db8:1:2::/64 dev GigabitEthernet2.100",
        "2001:db8:1:2::2/128 local",
        "2001:db8:1:3::/64 fe80::1 dev GigabitEthernet2.100",
        "2001:db8:64::/48 192.0.2.3 dev FastEthernet1/0/0",
    ];
    assert_eq!(routes(&loaded), expected);
}
