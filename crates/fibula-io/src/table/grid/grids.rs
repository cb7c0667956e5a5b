//! The tables in columns that are known.

use super::Role::{Device, Flags, Gateway, Mask, Network, Of, Rank};
use super::{Grid, Mark, State};

const USED: Mark = Mark::Route(State::Used);
const NUMBER: super::Role = Of(&["NUM", "-"]);

/// A route that is not up is dead, and one with `!` or R is rejected.
const OF_BSD: &[(&str, Mark)] =
    &[("U", USED), ("R", UNREACHABLE), ("!", UNREACHABLE), ("B", Mark::Nowhere("blackhole"))];
const OF_LINUX: &[(&str, Mark)] = &[("U", USED), ("!", UNREACHABLE)];
const UNREACHABLE: Mark = Mark::Nowhere("unreachable");

#[rustfmt::skip]
const OF_LINK: &[(&str, Mark)] = &[
    ("link#NUM", Mark::Connected), ("*", Mark::Connected), ("-", Mark::Connected), ("ANY", Mark::Connected),
];

#[rustfmt::skip]
const LINES_OF_KERNEL: &super::Grammar = &[
    (Mark::Nothing, &["Kernel IP routing table", "Kernel IPv6 routing table", "Routing tables",
        "Routing tables (fib:_NUM)", "Internet:", "Internet6:"]),
];

const VRP_PROTOCOLS: super::Role = Of(&[
    "Direct", "Static", "OSPF", "OSPFv3", "ISIS", "ISIS-L1", "ISIS-L2", "IBGP", "EBGP", "BGP", "RIP",
    "O_ASE", "O_ASE2", "O_NSSA", "Unr", "UNR", "VPN", "O_INTRA", "O_INTER",
]);

#[rustfmt::skip]
const COMWARE_PROTOCOLS: super::Role = Of(&[
    "Direct", "Static", "O_INTRA", "O_INTER", "O_ASE", "O_ASE1", "O_ASE2", "O_NSSA", "O_NSSA1", "O_NSSA2",
    "O_SUM", "OSPF", "OSPFv3", "IS_L1", "IS_L2", "ISIS", "BGP", "IBGP", "EBGP", "BGP4+", "RIP", "RIPng", "UNR",
    "Guard", "NAT", "IPsec", "EVPN", "VPN",
]);

/// The first that a line of names fits is its grid.
#[rustfmt::skip]
pub(in super::super) static GRIDS: [Grid; 16] = [
    Grid {
        program: "`route -n` and `netstat -rn` of Linux",
        columns: &[
            ("Destination", Network, false), ("Gateway", Gateway, false), ("Genmask", Mask, false),
            ("Flags", Flags, false), ("Metric", Rank, true), ("Ref", NUMBER, true), ("Use", NUMBER, true),
            ("MSS", NUMBER, true), ("Window", NUMBER, true), ("irtt", NUMBER, true), ("Iface", Device, true),
        ],
        is_of_kernel: true,
        flags: OF_LINUX,
        idle: "GHRDMACn",
        unmarked: State::Dead,
        gateways: &[("*", Mark::Connected), ("-", Mark::Connected), ("default", Mark::Connected)],
        lines: LINES_OF_KERNEL,
        ..PLAIN
    },
    Grid {
        program: "`netstat -rn` of FreeBSD, NetBSD, OpenBSD and macOS",
        columns: &[
            ("Destination", Network, false), ("Gateway", Gateway, false), ("Flags", Flags, false),
            ("Refs", NUMBER, true), ("Nhop#", NUMBER, true), ("Use", NUMBER, true), ("Mtu", NUMBER, true),
            ("Prio", Rank, true), ("Netif", Device, true), ("Iface", Device, true),
            ("Interface", Device, true), ("Expire", Of(&["NUM", "!", "-"]), true),
        ],
        is_of_kernel: true,
        flags: OF_BSD,
        idle: "GHSCcLlWiIbmDMPTdghnYX123",
        unmarked: State::Dead,
        gateways: OF_LINK,
        lines: LINES_OF_KERNEL,
        ..PLAIN
    },
    Grid {
        program: "PAN-OS `show routing route`",
        columns: &[
            ("destination", Network, false), ("nexthop", Gateway, false), ("metric", NUMBER, true),
            ("flags", Flags, false), ("age", NUMBER, true), ("interface", Device, true),
            ("next-AS", NUMBER, true),
        ],
        slack: Some(2),
        // A route that is not active is a candidate.
        flags: &[("A", USED)],
        idle: "?CHS~ROio12BEM",
        unmarked: State::Candidate,
        lines: &[
            (Mark::Table, &["VIRTUAL ROUTER: NAME (id_NUM)"]),
            (Mark::Nothing, &["total routes shown: NUM",
                "flags: A:active , ?:loose , C:connect , H:host , S:static , ~:internal , R:rip , O:ospf , B:bgp ,",
                "Oi:ospf intra-area , Oo:ospf inter-area , O1:ospf ext-type-1 , O2:ospf ext-type-2 , E:ecmp , M:multicast"]),
        ],
        ..PLAIN
    },
    Grid {
        program: "ScreenOS `get route`",
        columns: &[
            ("", Flags, true), ("ID", NUMBER, false), ("IP-Prefix", Network, false),
            ("Interface", Device, false), ("Gateway", Gateway, false),
            ("P", Of(&["H", "C", "S", "A", "I", "R", "P", "D", "iB", "eB", "O", "E1", "E2", "N", "B"]), false),
            ("Pref", NUMBER, false), ("Mtr", NUMBER, false), ("Vsys", Of(&["NAME"]), false),
        ],
        flags: &[("*", USED)],
        // A name is that of another virtual router, in which the next hop is looked up.
        gateways: &[("n/a", Mark::Connected), ("NAME", Mark::Named("next-table"))],
        lines: &[
            (Mark::Table, &["NAME (NUM_entries)", "IPv4 Dest-Routes for <NAME> (NUM_entries)",
                "IPv6 Dest-Routes for <NAME> (NUM_entries)"]),
            (Mark::Nothing, &["H: Host C: Connected S: Static A: Auto-Exported",
                "I: Imported R: RIP P: Permanent D: Auto-Discovered",
                "I: Imported R: RIP/RIPng P: Permanent D: Auto-Discovered", "N: NHRP",
                "iB: IBGP eB: EBGP O: OSPF E1: OSPF external type 1",
                "iB: IBGP eB: EBGP O: OSPF/OSPFv3 E1: OSPF external type 1",
                "E2: OSPF external type 2",
                "E2: OSPF/OSPFv3 external type 2 trailing B: backup route"]),
        ],
        // A route without the star in front is not active.
        unmarked: State::Candidate,
        ..PLAIN
    },
    Grid {
        program: "ProCurve `show ip route`",
        columns: &[
            ("Destination", Network, false), ("Gateway", Gateway, true), ("VLAN", NUMBER, true),
            ("Type", Of(&["static", "connected", "rip", "ospf", "bgp"]), false),
            ("Sub-Type", Of(&["NAME"]), true), ("Metric", NUMBER, false), ("Dist.", NUMBER, false),
        ],
        slack: Some(1),
        gateways: &[("NAME", Mark::Device)],
        lines: &[
            (Mark::Nothing, &["IP Route Entries", "IPv6 Route Entries"]),
        ],
        ..PLAIN
    },
    Grid {
        program: "VRP `display ip routing-table`",
        columns: &[
            ("Destination/Mask", Network, false), ("Proto", VRP_PROTOCOLS, false), ("Pre", NUMBER, false),
            ("Cost", NUMBER, false), ("Flags", Flags, true), ("NextHop", Gateway, false),
            ("Interface", Device, false),
        ],
        // A route is in the forwarding table if it is downloaded.
        flags: &[("D", USED), ("B", Mark::Nowhere("blackhole"))],
        idle: "RT",
        unmarked: State::Uninstalled,
        lines: &[
            (Mark::Nothing, &["Route Flags: R - relay , D - download to fib",
                "Route Flags: R - relay , D - download to fib , T - to vpn-instance",
                "Route Flags: R - relay , D - download to fib , T - to vpn-instance , B - black hole route",
                "Proto: Protocol Pre: Preference", "Destinations : NUM Routes : NUM"]),
            (Mark::Table, &["Routing Tables: NAME", "Routing Table : NAME", "Routing Table: NAME",
                "Routing Tables : NAME"]),
        ],
        ..PLAIN
    },
    Grid {
        program: "Comware `display ip routing-table`",
        columns: &[
            ("Destination/Mask", Network, false), ("Proto", COMWARE_PROTOCOLS, false), ("Pre", NUMBER, false),
            ("Cost", NUMBER, false), ("NextHop", Gateway, false), ("Interface", Device, false),
        ],
        lines: &[
            (Mark::Nothing, &["Destinations : NUM Routes : NUM", "Summary count : NUM", "Summary Count : NUM"]),
            (Mark::Table, &["Routing Tables: NAME", "Routing Table: NAME"]),
        ],
        ..PLAIN
    },
    Grid {
        program: "Yamaha `show ip route`",
        columns: &[
            ("Destination", Network, false), ("Gateway", Gateway, false), ("Interface", Device, false),
            ("Kind", Of(&["static", "implicit", "temporary", "OSPF", "RIP", "BGP", "dhcp"]), false),
            ("Additional Info.", Of(&["k(NUM)", "w(NUM)", "cost=NUM", "path=ANY", "AS=NUM", "(filter)"]), true),
        ],
        gateways: &[("-", Mark::Connected)],
        ..PLAIN
    },
    Grid {
        program: "SR OS `show router route-table`",
        columns: &[
            ("Dest Prefix[Flags]", Network, false), ("", Of(&["[L]", "[B]", "[S]", "[B,L]", "[NUM]"]), true),
            ("Type", Of(&["Local", "Remote", "Blackh*"]), false),
            ("Proto", Of(&["Local", "Static", "OSPF", "OSPF(NUM)", "OSPF3", "OSPF3(NUM)", "ISIS", "ISIS(NUM)", "BGP",
                "EVPN-IFL", "EVPN-IFF", "VPN", "Sub", "Managed", "Host", "DHCP", "NAT", "Periodic", "RIP", "Aggr", "Aggregate",
                "LDP", "BGP_LABEL", "ARP-ND"]), false),
            ("", Of(&["VPN", "Leak", "Mgmt"]), true), ("Age", Of(&["AGE"]), false), ("Pref", NUMBER, false),
        ],
        below: &[
            ("Next Hop[Interface Name]", Gateway, false),
            ("", Of(&["(tunneled)", "(tunneled:RSVP:NUM)", "(tunneled:SR-ISIS:NUM)",
                "(tunneled:SR-OSPF:NUM)", "(tunneled:SR-TE:NUM)", "(tunneled:LDP)", "(tunneled:VXLAN:NUM)", "(tunneled:MPLS:NUM)", "(tunneled:SRV6-ISIS)", "(tunneled:BGP)", "Hole"]), true), ("Metric", NUMBER, false),
        ],
        gateways: &[("Black", Mark::Nowhere("blackhole")), ("NAME", Mark::Device)],
        lines: &[
            (Mark::Table, &["Route Table (Router:_NAME)", "IPv6 Route Table (Router:_NAME)",
                "Route Table (Service:_NAME)"]),
            (Mark::Nothing, &["No. of Routes: NUM",
                "Flags: n = Number of times nexthop is repeated", "B = BGP backup route available",
                "L = LFA nexthop available", "S = Sticky ECMP requested"]),
        ],
        ..PLAIN
    },
    Grid {
        program: "NX-OS `show forwarding route`",
        // A star before a prefix says that its next hop was resolved.
        columns: &[
            ("Prefix", Network, false), ("Next-hop", Gateway, false), ("Interface", Device, true),
            ("Labels", Of(&["NUM", "PUSH"]), true), ("Partial Install", Of(&["*", "Yes"]), true),
        ],
        slack: Some(5),
        gateways: &[("Attached", Mark::Connected)],
        lines: &[
            (Mark::Table, &["IPv4 routes for table NAME", "IPv6 routes for table NAME"]),
            (Mark::Nothing, &["slot NUM"]),
        ],
        ..PLAIN
    },
    Grid {
        program: "AOS-CX `show ip route`",
        columns: &[
            ("Prefix", Network, false), ("Nexthop", Gateway, false), ("Interface", Device, true),
            ("VRF(egress)", Of(&["-", "NAME"]), true),
            ("Origin/", Of(&["C", "S", "L", "R", "B", "O", "B/E", "B/I", "B/V", "B/EV", "O/IA", "O/E1", "O/E2"]), false),
            ("Distance/", Of(&["[D]"]), false), ("Age", Of(&["AGE", "-"]), true),
        ],
        gateways: &[("-", Mark::Connected)],
        lines: &[
            (Mark::Nothing, &["Displaying ipv4 routes selected for forwarding",
                "Displaying ipv6 routes selected for forwarding",
                "Origin Codes: C - connected , S - static , L - local",
                "R - RIP , B - BGP , O - OSPF",
                "Type Codes: E - External BGP , I - Internal BGP , V - VPN , EV - EVPN",
                "IA - OSPF internal area , E1 - OSPF external type 1", "E2 - OSPF external type 2",
                "Type Metric", "Total Route Count : NUM"]),
            (Mark::Table, &["VRF: NAME"]),
        ],
        ..PLAIN
    },
    Grid {
        program: "IOS `show ip cef`",
        columns: &[("Prefix", Network, false), ("Next Hop", Gateway, false), ("Interface", Device, true)],
        gateways: &[
            ("attached", Mark::Connected), ("receive", Mark::Nowhere("local")), ("drop", Mark::Nowhere("blackhole")),
            ("no", UNREACHABLE),
        ],
        ..PLAIN
    },
    Grid {
        program: "OpenBGPD `bgpctl show fib`",
        columns: &[
            ("flags", Flags, false), ("prio", Rank, false), ("destination", Network, false),
            ("gateway", Gateway, false),
        ],
        flags: &[("r", UNREACHABLE), ("b", Mark::Nowhere("blackhole"))],
        idle: "*BCSNDR",
        gateways: OF_LINK,
        lines: &[
            (Mark::Nothing, &["flags: B = BGP , C = Connected , S = Static",
                "flags: * = valid , B = BGP , C = Connected , S = Static",
                "flags: B = BGP , C = Connected , S = Static , D = Dynamic",
                "flags: * = valid , B = BGP , C = Connected , S = Static , D = Dynamic",
                "N = BGP Nexthop reachable via this route",
                "N = BGP Nexthop reachable via this route R = redistributed",
                "r = reject route , b = blackhole route"]),
        ],
        ..PLAIN
    },
    Grid {
        program: "Si-R `show ip route`",
        columns: &[
            ("FP", Flags, false), ("Destination/Mask", Network, false), ("Gateway", Gateway, false),
            ("Distance", NUMBER, false), ("UpTime", Of(&["AGE"]), false), ("Interface", Device, false),
        ],
        flags: &[("*", USED)],
        idle: "XSOABRCLEeiN12",
        unmarked: State::Candidate,
        gateways: &[("NAME", Mark::Device)],
        ..PLAIN
    },
    Grid {
        program: "PAN-OS `show routing fib`",
        columns: &[
            ("id", NUMBER, false), ("destination", Network, false), ("nexthop", Gateway, false),
            ("flags", Flags, false), ("interface", Device, true), ("mtu", NUMBER, true),
        ],
        flags: &[("u", USED)],
        idle: "hge*",
        unmarked: State::Dead,
        lines: &[
            (Mark::Nothing, &["total virtual-router shown : NUM", "interfaces:", "route table:",
                "flags: u - up , h - host , g - gateway , e - ecmp , * - preferred path"]),
            (Mark::Table, &["virtual-router name: NAME"]),
        ],
        ..PLAIN
    },
    Grid {
        program: "`route -6 -n` of Linux",
        columns: &[
            ("Destination", Network, false), ("Next Hop", Gateway, false), ("Flag", Flags, false),
            ("Met", Rank, false), ("Ref", NUMBER, false), ("Use", NUMBER, false), ("If", Device, false),
        ],
        is_of_kernel: true,
        flags: OF_LINUX,
        idle: "GHADCnem",
        unmarked: State::Dead,
        gateways: &[("[::]", Mark::Connected)],
        lines: LINES_OF_KERNEL,
        ..PLAIN
    },
];

/// What a grid is that does not say otherwise.
const PLAIN: Grid = Grid {
    program: "",
    columns: &[],
    below: &[],
    slack: None,
    is_of_kernel: false,
    flags: &[],
    idle: "",
    unmarked: State::Used,
    gateways: &[],
    lines: &[],
};
