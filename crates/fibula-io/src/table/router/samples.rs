//! A text of each layout of routers' text: what tests and fuzzers change.

use super::super::Format;

/// A text of each layout, and of each of its dialects.
pub(crate) const SAMPLES: &[(Format, &str)] = &[
    (
        Format::ShowRoute,
        "Codes: K - kernel route, C - connected, S - static,\n       > - selected route, * - FIB route, b - backup\n\n\
         IPv4 unicast VRF default:\nS>* 0.0.0.0/0 [1/0] via 192.0.2.1, eth0, src 192.0.2.10, weight 1, 00:10:00\n\
         B>  10.0.0.0/8 [20/0] via 198.51.100.1 (recursive), label 16, weight 1, 00:08:00\n  \
         *                     via 192.0.2.2, eth1 (vrf red), weight 1, 00:08:00\n\
         C>* 192.0.2.0/24 is directly connected, eth0 linkdown, 1d02h10m\n\
         S>* 10.9.0.0/16 [1/0] unreachable (blackhole), weight 1, 00:01:00\n",
    ),
    (
        Format::ShowRoute,
        "Routing Table: RED\nCodes: L - local, C - connected, S - static\n       + - replicated route, % - next hop override\n\n\
         Gateway of last resort is 192.0.2.1 to network 0.0.0.0\n\nS*    0.0.0.0/0 [1/0] via 192.0.2.1\n      \
         10.0.0.0/24 is subnetted, 2 subnets\nC        10.1.1.0 is directly connected, GigabitEthernet0/1\n\
         O IA     10.1.2.0 [110/2] via 192.0.2.2, 00:01:02, GigabitEthernet0/0\n                  \
         [110/2] via 192.0.2.3, 00:01:02, GigabitEthernet0/2\n      172.16.0.0/16 is variably subnetted, 2 subnets, 2 masks\n\
         B        172.16.1.0/30 [200/0], 3w4d, Null0\n",
    ),
    (
        Format::ShowRoute,
        "Sun Nov 29 10:00:00.000 UTC\n\nVRF: default\n\nGateway of last resort is fe80::1 to network ::/0\n\n\
         S*   ::/0\n      [1/0] via fe80::1, 00:00:10, MgmtEth0/RP0/CPU0/0 (!)\n\
         C    2001:db8:1::/64 is directly connected,\n      1d02h, GigabitEthernet0/0/0/1\n\
         B    2001:db8:2::/48\n      [200/0] via 2001:db8::9 (nexthop in vrf default), 00:10:00\n",
    ),
    (
        Format::ShowRoute,
        "IP Route Table for VRF \"default\"\n'*' denotes best ucast next-hop\n'[x/y]' denotes [preference/metric]\n\n\
         10.0.0.0/8, ubest/mbest: 2/0\n    *via 192.0.2.2%red, Eth1/1, [110/41], 2w3d, ospf-1, intra, tag 7\n    \
         *via 192.0.2.3, [200/0], 2w3d, bgp-64500, internal\n     via Null0, [220/0], 2w3d, bgp-64500, discard (hidden)\n",
    ),
    (
        Format::ShowRoute,
        "S*       0.0.0.0 0.0.0.0 [1/0] via 192.0.2.1, outside\n\
         O        10.0.0.0 255.255.0.0 \n           [110/20] via 192.0.2.35, 7w0d, inside\n\
         V        10.9.1.0 255.255.255.0 connected by VPN (advertised), outside\n",
    ),
    (
        Format::ShowRoute,
        "VRF: default\nGateway of last resort:\n S        0.0.0.0/0 [1/0]\n           via 192.0.2.1, Ethernet1\n \
         B E      10.1.0.0/24 [200/0] via VTEP 10.255.1.1 VNI 10001 router-mac 02:1c:73:00:00:01 local-interface Vxlan1\n \
         NG       10.5.0.0/24 [1/0] via nexthop-group NG1\n",
    ),
    (
        Format::IpRoute,
        "default via 192.0.2.1 dev eth0 proto dhcp src 192.0.2.10 metric 100\n\
         10.0.0.0/8 proto bgp metric 20\n\tnexthop via 192.0.2.1 dev eth0 weight 1\n\tnexthop via 192.0.2.2 dev eth1 weight 1 linkdown\n\
         unreachable 203.0.113.0/24 metric 20\n10.1.0.0/16 encap mpls 100 via inet6 fe80::1 dev eth0 onlink\n\
         10.2.0.0/16 encap ip id 7 src 0.0.0.0 dst 192.0.2.8 ttl 0 tos 16 dev vxlan0 table 7\n",
    ),
    (
        Format::Bird,
        "BIRD 2.0.12 ready.\nTable master4:\n10.0.0.0/8           unicast [bgp1 2024-01-01] * (100/10) [AS64500i]\n\
         \tvia 192.0.2.1 on eth0 mpls 100 weight 1\n                     unicast [bgp2 2024-01-01] (100)\n\tvia 192.0.2.2 on eth1 onlink\n\
         10.1.0.0/16 from 10.2.0.0/16 blackhole [static1 2024-01-01] ! (200)\n\
         10.3.0.0/16 via 192.0.2.1 on eth0 [ospf1 2013-01-01] * I (150/20)\n",
    ),
    (
        Format::Junos,
        "user@router> show route\n\ninet.0: 2 destinations, 2 routes (2 active, 0 holddown, 0 hidden)\n\
         + = Active Route, - = Last Active, * = Both\n\n\
         10.0.0.0/8         *[BGP/170] 00:10:00, localpref 100, from 192.0.2.2\n                      \
         AS path: 64501 64502 I, validation-state: unverified\n                    >  to 192.0.2.2 via ge-0/0/1.0, Push 16\n\
         10.1.0.0/16        *[Static/5] 1w2d 01:02:03\n                       Discard\n\
         192.0.2.0/24       *[Direct/0] 1w2d\n                    >  via ge-0/0/0.0\n",
    ),
    (
        Format::Junos,
        "inet.0: 9 destinations, 9 routes (9 active, 0 holddown, 0 hidden)\n  \
         Prefix                  Nexthop              MED     Lclpref    AS path\n\
         * 10.0.0.0/8              192.0.2.2            10      100        64501 64502 I\n  \
         10.1.0.0/16             Self                         100        64503 I\n",
    ),
    (
        Format::ShowRoute,
        "R2#show ip cef 10.0.0.1\n10.0.0.0/8\n  nexthop 192.0.2.2 GigabitEthernet2.100 label 17\n10.1.0.0/16\n  \
         attached to GigabitEthernet3\n10.1.0.1/32\n  receive for GigabitEthernet3\n",
    ),
    (
        Format::ShowBgp,
        "BGP table version is 3, local router ID is 192.0.2.1, vrf id 0\nDefault local pref 100, local AS 64999\n\
         Status codes:  s suppressed, * valid, > best\n\n   \
         Network          Next Hop            Metric LocPrf Weight Path\n\
         *> 10.0.0.0/8       192.0.2.2                0             0 64501 i\n\
         *  10.1.0.0/16      192.0.2.3                              0 64502 64503 i\n\
         *>                  192.0.2.2                              0 64501 {64503,64504} ?\n\
         *>i2001:db8:1111:2222::/64\n                    2001:db8::9              0    100      0 64506 i\n\n\
         Displayed 3 routes and 4 total paths\n",
    ),
    (
        Format::ShowBgp,
        "For address family: IPv4 Unicast\n\n     Network          Next Hop            Metric LocPrf Weight Path\n \
         *>i 10.0.0.0/8       192.0.2.2                0    100      0 64501 i\n\nFor address family: VPNv4 Unicast\n\n     \
         Network          Next Hop            Metric LocPrf Weight Path\n\
         Route Distinguisher: 64500:1 (default for vrf red) VRF Router ID 192.0.2.1\n \
         *>i 10.2.0.0/16      192.0.2.4                0    100      0 64502 i\n",
    ),
    (
        Format::ShowBgp,
        "BGP routing table information for VRF default\nRouter identifier 192.0.2.1, local AS number 64999\n\n\
         \x20       Network             Next Hop         Metric  LocPref Weight Path\n \
         * >     10.0.0.0/8          192.0.2.2        0       450     0       64908 64907 i Or-ID: 192.0.2.9 C-LST: 192.0.2.8\n",
    ),
    (
        Format::ShowBgp,
        "   Network              Next Hop             AS_PATH              Age        Attrs\n\
         *> 10.0.0.0/8           192.0.2.2            64501 {64503,64504}  1d 00:08:00 [{Origin: e} {Med: 2} {LocalPref: 101}]\n\
         N*  10.0.0.0/8           192.0.2.3            64502                00:08:00   [{Origin: ?}]\n",
    ),
    (
        Format::Netstat,
        "Kernel IP routing table\nDestination     Gateway         Genmask         Flags Metric Ref    Use Iface\n\
         0.0.0.0         192.0.2.1       0.0.0.0         UG    100    0        0 eth0\n",
    ),
    (
        Format::Netstat,
        "Routing tables\n\nInternet:\nDestination        Gateway            Flags     Netif Expire\n\
         default            192.0.2.1          UGS         em0\n10.1/16            link#1             U           em1\n",
    ),
    (
        Format::RouteColumns,
        "VIRTUAL ROUTER: default (id 1)\n  ==========\n\
         destination          nexthop              metric flags      age   interface          next-AS\n\
         0.0.0.0/0            192.0.2.1            10     A S              ethernet1/1\n\
         10.0.0.0/8           192.0.2.9                   A?B        121661                    65213\n\
         total routes shown: 2\n",
    ),
    (
        Format::RouteColumns,
        "IPv4 Dest-Routes for <trust-vr> (2 entries)\n-----------------\n   \
         ID          IP-Prefix  Interface    Gateway   P Pref    Mtr    Vsys\n-----------------\n\
         *   4         10.0.0.0/8     eth0/1    192.0.2.1   S    20      1    Root\n    \
         5         10.1.0.0/16     eth0/2    192.0.2.2   S    20      1    Root\n",
    ),
    (
        Format::RouteColumns,
        "                  IP Route Entries\n\n  Destination        Gateway         VLAN Type      Sub-Type   Metric     Dist.\n  \
         ------------------ --------------- ---- --------- ---------- ---------- -----\n  \
         0.0.0.0/0          192.0.2.1       11   static               250        1\n  \
         127.0.0.0/8        reject               static               0          0\n",
    ),
    (
        Format::RouteColumns,
        "Route Flags: R - relay, D - download to fib\n------------\nRouting Tables: Public\n         Destinations : 2        Routes : 3\n\n\
         Destination/Mask    Proto   Pre  Cost        Flags NextHop         Interface\n\n        \
         0.0.0.0/0   Static  60   0             RD  192.0.2.1       GigabitEthernet0/0/0\n                    \
         Static  60   0             RD  192.0.2.2       GigabitEthernet0/0/1\n       \
         10.0.0.0/8   OSPF    10   2                 192.0.2.3       GigabitEthernet0/0/2\n",
    ),
    (
        Format::RouteColumns,
        "Destination         Gateway          Interface       Kind  Additional Info.\n\
         default             -                    PP[01]    static  \n\
         10.0.0.0/8          192.0.2.1              LAN2      OSPF  cost=2\n",
    ),
    (
        Format::RouteColumns,
        "===============\nRoute Table (Router: Base)\n===============\nDest Prefix[Flags]        Type    Proto     Age        Pref\n      \
         Next Hop[Interface Name]                    Metric\n---------------\n\
         10.10.10.0/24             Local   Local     00h01m02s  0\n       to-R2                                      0\n\
         10.20.0.0/16 [L]          Remote  OSPF      01d02h03m  10\n       192.0.2.1                                  100\n\
         ---------------\nNo. of Routes: 2\n",
    ),
    (
        Format::RouteColumns,
        "IPv4 routes for table default/base\n\n\
         Prefix            | Next-hop             | Interface            | Labels          | Partial Install\n---+---\n\
         0.0.0.0/32           Drop                   Null0\n10.0.0.0/8           192.0.2.1              Ethernet1/1\n                     \
         192.0.2.2              Ethernet1/2\n*10.1.0.0/16         Attached               Vlan7\n",
    ),
    (
        Format::Routeros,
        " 0 A S  dst-address=0.0.0.0/0 gateway=192.0.2.1 gateway-status=192.0.2.1 reachable via  ether1 distance=1 scope=30\n \
         1   S  dst-address=10.0.0.0/8 gateway=192.0.2.9\n        gateway-status=192.0.2.9 unreachable distance=5\n",
    ),
    (
        Format::ShowRoute,
        "Codes: C - Connected, S - Static, R - RIP, B - BGP (D - Default),\n       O - OSPF IntraArea (IA - InterArea, E - External, N - NSSA),\n       \
         A - Aggregate, K - Kernel Remnant, H - Hidden, P - Suppressed,\n       NP - NAT Pool, U - Unreachable, i - Inactive\n\n\
         S           0.0.0.0/0           via 192.0.2.1, bond1.30, cost 0, age 6377\n\
         O           10.0.0.0/8          via 192.0.2.2, eth1, cost 40, age 100\n\
         C           192.0.2.0/24        is directly connected, bond1.30\n",
    ),
    (
        Format::ShowRoute,
        "Routing table for VRF=0\nCodes: K - kernel, C - connected, S - static, R - RIP, B - BGP\n       * - candidate default\n\n\
         S*      0.0.0.0/0 [10/0] via 192.0.2.1, port1, [1/0]\n\
         B       10.0.0.0/8 [200/0] via 192.0.2.2 (recursive via 192.0.2.9, port2), 1d02h03m\n\
         C       192.0.2.0/24 is directly connected, port1\n",
    ),
    (
        Format::ShowRoute,
        "Routing entry for 10.0.0.0/8\n  Known via \"static\", distance 1, metric 0\n  Redistributing via bgp 64500\n  \
         Routing Descriptor Blocks:\n  * 192.0.2.1, via GigabitEthernet0/1\n      Route metric is 0, traffic share count is 1\n",
    ),
    (
        Format::ShowRoute,
        "IPv6 Routing Table - default - 2 entries\nCodes: C - Connected, L - Local, S - Static, I1 - ISIS L1\n       \
         la - LISP alt, lr - LISP site-registrations, ld - LISP dyn-eid\n\
         S   ::/0 [1/0]\n     via 2001:db8::1, GigabitEthernet0/1\nLC  2001:db8:7::1/128 [0/0]\n     via Loopback0, receive\n",
    ),
    (
        Format::RouteColumns,
        "<router>display ip routing-table verbose\nRoute Flags: R - relay, D - download to fib, T - to vpn-instance\n------------\n\
         Routing Tables: Public\n         Destinations : 2        Routes : 3\n\n\
         Destination: 10.0.0.0/8\n     Protocol: Static           Process ID: 0\n   Preference: 60                     Cost: 0\n      \
         NextHop: 192.0.2.1         Neighbour: 0.0.0.0\n        State: Active Adv              Age: 1d01h58m07s\n        \
         Label: NULL                QoSInfo: 0x0\n RelayNextHop: 0.0.0.0           Interface: Vlanif10\n     TunnelID: 0x0                   Flags:  D\n\n\
         Destination: 10.0.0.0/8\n     Protocol: EBGP             Process ID: 0\n      NextHop: 192.0.2.2         Neighbour: 192.0.2.2\n        \
         State: Inactive Adv            Age: 1d01h57m50s\n RelayNextHop: 0.0.0.0           Interface: Vlanif20\n     TunnelID: 0x0                   Flags: \n",
    ),
    (
        Format::RouteColumns,
        "\nDestinations : 2        Routes : 2\n\nDestination/Mask    Proto  Pre  Cost         NextHop         Interface\n\
         10.0.0.0/8          OSPF   10   14           192.0.2.2       Vlan10\n10.1.0.0/16         Static 60   0            192.0.2.3       Vlan20\n",
    ),
    (
        Format::RouteColumns,
        "Displaying ipv4 routes selected for forwarding\n\nOrigin Codes: C - connected, S - static, L - local\n              R - RIP, B - BGP, O - OSPF\n\
         VRF: default\n\nPrefix              Nexthop          Interface       VRF(egress)   Origin/   Distance/    Age\n                                                                  \
         Type      Metric\n--------------------------------------------------------------------------------\n\
         0.0.0.0/0           192.0.2.1        vlan10          -             S         [1/0]        01h:02m:03s\n\
         192.0.2.0/24        -                vlan10          -             C         [0/0]        -\n\nTotal Route Count : 2\n",
    ),
    (
        Format::RouteColumns,
        "Prefix               Next Hop             Interface\n0.0.0.0/0            192.0.2.1            GigabitEthernet0/0\n\
         192.0.2.0/24         attached             GigabitEthernet0/0\n10.0.0.0/8           no route\n",
    ),
    (
        Format::RouteColumns,
        "FP  Destination/Mask   Gateway         Distance UpTime    Interface\n--- ------------------ --------------- -------- --------- ---------\n\
         *S  0.0.0.0/0          192.0.2.1             1 04:56:03  lan1\n E2 10.1.12.0/24       192.0.2.2           110 00:00:00  lan1\n",
    ),
    (
        Format::Routeros,
        "Flags: X - disabled, A - active, D - dynamic, S - static\n 0 A S  dst-address=0.0.0.0/0 gateway=192.0.2.1 gateway-status=192.0.2.1 reachable via  ether1\n        distance=1 scope=30 target-scope=10\n",
    ),
    (
        Format::ShowRoute,
        "edge> get route\n\nFlags: t0c - Tier0-Connected, t0s - Tier0-Static, b - BGP,\nt1c - Tier1-Connected, isr: Inter-SR,\n\
         > - selected route, * - FIB route\n\nTotal number of routes: 2\n\n\
         b  > * 0.0.0.0/0 [20/0] via 192.0.2.1, uplink-1, 3d00h02m\nt0c> * 192.0.2.0/24 is directly connected, uplink-1, 3d00h02m\n",
    ),
    (
        Format::RouteColumns,
        "flags: B = BGP, C = Connected, S = Static\n       r = reject route, b = blackhole route\n\n\
         flags prio destination          gateway\nB     48 10.0.0.0/8           192.0.2.1\nC      4 192.0.2.0/24         link#1\n",
    ),
];
