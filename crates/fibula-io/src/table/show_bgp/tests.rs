//! Tests of `show ip bgp`.

use super::super::testing::{self, routes};
use super::super::{Format, ReadOptions, Value, parse};

const HEAD: &str = "BGP table version is 3, local router ID is 192.0.2.1, vrf id 0\n\
    Default local pref 100, local AS 64999\nStatus codes:  s suppressed, * valid, > best\n\n   \
    Network          Next Hop            Metric LocPrf Weight Path\n";

#[test]
fn the_best_route_of_each_network() {
    let text = format!(
        "{HEAD}*> 10.0.0.0/8       192.0.2.2                0             0 64501 i\n\
         *  10.1.0.0/16      192.0.2.3                              0 64502 64503 i\n\
         *>                  192.0.2.2                              0 64501 {{64503,64504}} ?\n\
         *> 11.0.0.0         192.0.2.4                              0 64505 i\n\
         *> 192.0.2.0        0.0.0.0                  0         32768 i\n\
         *>i2001:db8:1111:2222::/64\n                    2001:db8::9              0    100      0 64506 i\n\
         *> 2001:db8:2::/48  2001:db8:ffff:ffff::1\n{:45}0             0 64507 i\n\
         *> 2001:db8:3333:4444::/64\n                    2001:db8:ffff:ffff::1\n{:45}0             0 64508 i\n\
         *  172.16.0.0/16    192.0.2.3                              0 64502 i\n\nDisplayed 6 routes and 7 total paths\n",
        "", ""
    );
    let of = |value| parse(text.as_bytes(), &ReadOptions { value, ..Default::default() }).unwrap();
    let loaded = of(Value::NextHop);
    assert_eq!(loaded.format, Format::ShowBgp);
    let hops = [
        "10.0.0.0/8 192.0.2.2",
        "10.1.0.0/16 192.0.2.2",
        "11.0.0.0/8 192.0.2.4",
        "192.0.2.0/24 connected",
        "2001:db8:2::/48 2001:db8:ffff:ffff::1",
        "2001:db8:1111:2222::/64 2001:db8::9",
        "2001:db8:3333:4444::/64 2001:db8:ffff:ffff::1",
    ];
    assert_eq!(routes(&loaded), hops);
    assert_eq!(loaded.report.notes[0].what, "prefix without a selected route");
    let origins = testing::values(&of(Value::OriginAs));
    assert_eq!(origins, ["64501", "{64503,64504}", "64505", "64999", "64506", "64507", "64508"]);
    assert_eq!(of(Value::Peer).report.notes[0].what, "route without a known peer");
}

#[test]
fn one_vrf_is_read() {
    let vrf = |name: &str, hop: &str| {
        format!(
            "\nInstance {name}:\n{HEAD}*> 10.0.0.0/8       {hop}                0             0 64501 i\n\nDisplayed 1 routes\n"
        )
    };
    let text = vrf("default", "192.0.2.1") + &vrf("red", "192.0.2.9");
    let of = |text: &str, vrf: Option<&str>| {
        parse(text.as_bytes(), &ReadOptions { vrf: vrf.map(Into::into), ..Default::default() })
    };
    let loaded = of(&text, None).unwrap();
    assert_eq!(routes(&loaded), ["10.0.0.0/8 192.0.2.1"]);
    assert_eq!(loaded.report.notes[0].what, "route of VRF red");
    assert_eq!(routes(&of(&text, Some("red")).unwrap()), ["10.0.0.0/8 192.0.2.9"]);
    assert_eq!(routes(&of(&vrf("red", "192.0.2.9"), None).unwrap()), ["10.0.0.0/8 192.0.2.9"]);
    let error = of(&text, Some("blue")).unwrap_err().to_string();
    assert_eq!(error, "memory, line 1: no VRF blue (there are default, red)");
}

#[test]
fn gobgp() {
    let text = b"   Network              Next Hop             AS_PATH              Age        Attrs\n\
        *> 10.0.0.0/8           192.0.2.2            64501 {64503,64504}  1d 00:08:00 [{Origin: e} {Med: 2}]\n\
        *  10.0.0.0/8           192.0.2.3            64502                00:08:00   [{Origin: ?}]\n\
        *> 10.9.0.0/16          0.0.0.0                                   00:00:02   [{Origin: i}]\n\
        I*> 2001:db8::/32        2001:db8::9          64505 64506          00:08:00   [{Origin: i} {Mood: glad}]\n\
        V*> 2001:db8:1::/48      2001:db8::9          64505 64506          00:08:00   [{Origin: i}]\n";
    let loaded = parse(text, &ReadOptions::default()).unwrap();
    assert_eq!(loaded.format, Format::ShowBgp);
    assert_eq!(
        routes(&loaded),
        ["10.0.0.0/8 192.0.2.2", "10.9.0.0/16 connected", "2001:db8:1::/48 2001:db8::9"]
    );
    assert_eq!(loaded.report.notes[0].what, "unknown mark \"Mood: glad\"");
    let options = ReadOptions { value: Value::OriginAs, ..Default::default() };
    let origins = routes(&parse(text, &options).unwrap());
    assert_eq!(origins[0], "10.0.0.0/8 {64503,64504}");
}

#[test]
fn openbgpd_and_the_advertised_routes_of_ios_xr() {
    let text = b"flags: * = Valid, > = Selected, I = via IBGP, A = Announced,\n       S = Stale, E = Error\n\
        origin validation state: N = not-found, V = valid, ! = invalid\norigin: i = IGP, e = EGP, ? = Incomplete\n\n\
        flags  vs destination          gateway          lpref   med aspath origin\n\
        *>    N-? 192.0.2.0/24         198.51.100.1       100     0 64500 64501 i\n\
        *     N-? 192.0.2.0/24         198.51.100.2       100     0 64502 64501 i\n\
        AI*>  N-? 2001:db8::/32        ::                 100     0 i\n";
    let loaded = parse(text, &ReadOptions::default()).unwrap();
    assert_eq!((loaded.format, loaded.report.notes.len()), (Format::ShowBgp, 0), "{:?}", loaded.report);
    assert_eq!(routes(&loaded), ["192.0.2.0/24 198.51.100.1", "2001:db8::/32 connected"]);
    let text = b"Network            Next Hop        From            AS Path\n\
        Route Distinguisher: 64500:1 (default for vrf RED)\n\
        0.0.0.0/0          192.0.2.9       192.0.2.1       64500 64501i\n\
        10.0.0.0/8         192.0.2.9       Local           64500?\n\nProcessed 2 prefixes, 2 paths\n";
    let options = ReadOptions { value: Value::OriginAs, ..Default::default() };
    assert_eq!(routes(&parse(text, &options).unwrap()), ["0.0.0.0/0 64501", "10.0.0.0/8 64500"]);
}

#[test]
fn networks_that_begin_with_letters_of_marks_and_failures_of_the_rib() {
    let text = format!(
        "{HEAD}*> fd00:1::/48      2001:db8::1                             0 64501 i\n\
         r> 10.0.0.0/8       192.0.2.2                0             0 64501 i\n\
         *> 10.1.0.0/16      192.0.2.2                0             0 64501 i\n\
         *> 10.2.0.0/16      swp51                    0             0 64501 i\n"
    );
    let loaded = parse(text.as_bytes(), &ReadOptions::default()).unwrap();
    assert_eq!(
        routes(&loaded),
        ["10.1.0.0/16 192.0.2.2", "10.2.0.0/16 dev swp51", "fd00:1::/48 2001:db8::1"]
    );
    assert_eq!(loaded.report.notes[0].what, "route that is not in the forwarding table");
}

#[test]
fn what_is_wrong_is_said() {
    let error = |row: &str| testing::error(Format::ShowBgp, &format!("{HEAD}{row}\n"));
    assert_eq!(
        error("*> 10.0.0.0/8       192.0.2.2   64501 x"),
        "memory, line 6: unknown mark \"x\"; 1 of 1 lines are not understood"
    );
    assert_eq!(
        error("Route Distinguisher: 64500:1 odd"),
        "memory, line 6: unknown mark \"Route Distinguisher: 64500:1 odd\"; 1 of 1 lines are not understood"
    );
}

/// IOS: families one after the other, and VPNs by route distinguisher.
#[test]
fn families_and_distinguishers_are_tables_of_their_own() {
    let columns = "     Network          Next Hop            Metric LocPrf Weight Path\n";
    let text = format!(
        "For address family: IPv4 Unicast\n\n{HEAD}*> 10.0.0.0/8       192.0.2.2                0             0 64501 i\n\n\
         For address family: IPv4 Multicast\n\n{HEAD}*> 10.1.0.0/16      192.0.2.3                0             0 64501 i\n\n\
         For address family: VPNv4 Unicast\n\n{columns}\
         Route Distinguisher: 64500:1 (default for vrf red) VRF Router ID 192.0.2.1\n \
         *>i 10.2.0.0/16      192.0.2.4                0    100      0 64502 i\n\
         Route Distinguisher: 64500:2\n \
         *>i 10.3.0.0/16      192.0.2.5                0    100      0 64503 i\n\n\
         For address family: L2VPN E-VPN\n\n{columns}Route Distinguisher: 64500:9\n \
         *>i [2][64500:9][0][48][020000000001][0][*]/20\n"
    );
    let of = |vrf: Option<&str>| {
        parse(text.as_bytes(), &ReadOptions { vrf: vrf.map(Into::into), ..Default::default() })
    };
    let loaded = of(None).unwrap();
    assert_eq!(routes(&loaded), ["10.0.0.0/8 192.0.2.2"]);
    let notes: Vec<&str> = loaded.report.notes.iter().map(|note| &*note.what).collect();
    let expected = [
        "route of address family IPv4 Multicast",
        "route of VRF red",
        "route of VRF 64500:2",
        "line of address family L2VPN E-VPN that is not understood",
    ];
    assert_eq!(notes, expected);
    for (name, expected) in [
        ("red", "10.2.0.0/16 192.0.2.4"),
        ("64500:2", "10.3.0.0/16 192.0.2.5"),
        ("IPv4 Multicast", "10.1.0.0/16 192.0.2.3"),
    ] {
        assert_eq!(routes(&of(Some(name)).unwrap()), [expected], "{name}");
    }
    // What is not of unicast is never taken for the table because there is nothing else.
    let multicast =
        &text[text.find("For address family: IPv4 M").unwrap()..text.find("For address family: V").unwrap()];
    let error = parse(multicast.as_bytes(), &ReadOptions::default()).unwrap_err().to_string();
    assert_eq!(
        error,
        "memory, line 8: all routes are of address family IPv4 Multicast, which is read by --vrf"
    );
}

/// NX-OS writes how a route came right before its network.
#[test]
fn a_letter_before_a_network_is_a_mark() {
    let text = "Peer 192.0.2.1 routes for address family IPv6 Unicast:\n\
        BGP table version is 177, Local Router ID is 192.0.2.1\n\
        Status: s-suppressed, *-valid, >-best\nPath type: i-internal, e-external, a-aggregate\n\n   \
        Network            Next Hop            Metric     LocPrf     Weight Path\n\
        *>e122:1::/32          2001:db8::2                                    0 64501 i\n\
        *>a2001:db8:4::/48      2001:db8::3                                    0 64501 i\n\
        *>e10.0.0.0/8           192.0.2.2                                      0 64501 i\n";
    let loaded = parse(text.as_bytes(), &ReadOptions::default()).unwrap();
    let expected = ["10.0.0.0/8 192.0.2.2", "122:1::/32 2001:db8::2", "2001:db8:4::/48 2001:db8::3"];
    assert_eq!(routes(&loaded), expected);
}

#[test]
fn a_text_of_candidates_is_no_empty_table() {
    let text = format!("{HEAD}*  10.0.0.0/8       192.0.2.2                0             0 64501 i\n");
    let error = parse(text.as_bytes(), &ReadOptions::default()).unwrap_err().to_string();
    assert_eq!(error, "memory, line 6: each prefix without a selected route");
}
