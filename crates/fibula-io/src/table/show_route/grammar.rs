//! The codes, marks and phrases of `show ip route`, and the words that explain them.

use super::super::router::marks::{Grammar, Mark, State, unknown};
use super::super::router::sink::Line;
use super::super::router::words::{self, Words};
use crate::scan;

/// What one family of programs means by its codes and marks.
pub(in super::super) struct Dialect {
    /// The programs that write so.
    #[cfg_attr(not(test), allow(dead_code, reason = "only the page of the layouts names them"))]
    pub(in super::super) programs: &'static str,
    /// Whether the beginning of a text is of this dialect.
    pub(super) is_of: fn(&[u8]) -> bool,
    /// Codes that say more than where a route came from.
    pub(in super::super) codes: &'static [(&'static str, State)],
    /// Marks beside the codes, and what they say of the next hop.
    pub(in super::super) marks: &'static [(char, State)],
    /// The state of a route without the mark `>`, and of a next hop without a mark.
    pub(in super::super) unmarked: (State, State),
    /// Whether lines of free text follow next hops.
    pub(super) has_comments: bool,
}

/// The first that a text is of is its dialect.
pub(in super::super) const DIALECTS: [Dialect; 4] = [
    Dialect {
        programs: "NSX-T Edge",
        is_of: |text| memchr::memmem::find(text, b"t0c - Tier0-Connected").is_some(),
        codes: &[],
        marks: &[('*', State::Used)],
        unmarked: (State::Candidate, State::Uninstalled),
        has_comments: false,
    },
    Dialect {
        programs: "FRR, VyOS, EdgeOS and Quagga",
        is_of: |text| {
            memchr::memmem::find(text, b"> - selected route").is_some()
                || scan::lines(text).any(|(_, line)| matches!(line, [b'A'..=b'z', b'>', ..]))
        },
        codes: &[],
        marks: &[
            ('*', State::Used),
            ('t', State::Used),
            ('b', State::Backup),
            ('q', State::Uninstalled),
            ('r', State::Uninstalled),
            ('o', State::Uninstalled),
            ('p', State::Candidate),
            ('#', State::Uninstalled),
        ],
        unmarked: (State::Candidate, State::Uninstalled),
        has_comments: false,
    },
    Dialect {
        programs: "Gaia",
        is_of: |text| memchr::memmem::find(text, b"Kernel Remnant").is_some(),
        codes: &[
            ("H", State::Candidate),
            ("P", State::Candidate),
            ("U", State::Dead),
            ("i", State::Candidate),
        ],
        marks: &[],
        unmarked: (State::Used, State::Used),
        has_comments: true,
    },
    // Cisco, Arista and those after them: `*` is a candidate for the default route, `+` a route of
    // another VRF, `%`, `&` and `p` what another program has changed.
    Dialect {
        programs: "Cisco, Arista and all others",
        is_of: |_| true,
        codes: &[],
        marks: &[
            ('*', State::Used),
            ('+', State::Used),
            ('%', State::Used),
            ('&', State::Used),
            ('p', State::Used),
            ('#', State::Used),
        ],
        unmarked: (State::Used, State::Used),
        has_comments: false,
    },
];

/// The codes of where a route came from, of all dialects.
pub(in super::super) const CODES: [&str; 96] = [
    "A", "a", "B", "C", "c", "D", "E", "F", "f", "G", "H", "I", "i", "K", "L", "l", "M", "m", "N", "n", "O",
    "o", "P", "R", "r", "S", "T", "t", "U", "V", "v", "Z", "CS", "DCE", "DH", "DP", "E1", "E2", "EX", "EV",
    "HA", "IA", "ia", "IS", "L1", "L2", "MR", "N1", "N2", "NC", "ND", "Nd", "NDp", "NDr", "NG", "Ni", "No",
    "O3", "OE1", "OE2", "OI", "OM", "ON1", "ON2", "RC", "RL", "SG", "SH", "SP", "su", "TE", "VL", "x", "t0c",
    "t0s", "t0n", "t1c", "t1s", "t1n", "t1l", "t1ls", "t1d", "t1ipsec", "isr", "b", "NP", "I1", "I2", "la",
    "lA", "lc", "LC", "ld", "lr", "ls", "SI",
];

/// Lines that are no routes.
#[rustfmt::skip]
pub(in super::super) const HEADINGS: &Grammar = &[
    (Mark::Table, &["VRF NAME:", "IPv4 unicast VRF NAME:", "IPv6 unicast VRF NAME:", "VRF: NAME",
        "VRF name: NAME", "[VRF:_NAME]", "Routing Table: NAME", "Routing table for VRF=ANY",
        "IP Route Table for VRF NAME", "IPv6 Routing Table for VRF NAME",
        "IPv6 Routing Table - NAME - NUM entries"]),
    (Mark::Nothing, &["IPv6 Routing Table - NUM entries", "IP Route Table", "IPv6 Routing Table",
        "Displaying NUM of NUM IPv6 routing table entries",
        "Displaying NUM of NUM IP routing table entries",
        "'*' denotes best ucast next-hop '**' denotes best mcast next-hop",
        "Displaying ipv4 routes selected for forwarding",
        "Displaying ipv6 routes selected for forwarding", "Gateway of last resort is not set",
        "Gateway of last resort is ADDR to network ANY",
        "Gateway of last resort is directly connected , NAME", "Gateway of last resort:",
        "Gateway of last resort :", "Total number of routes: NUM",
        "Total number of IPv4 routes: NUM", "Total number of IPv6 routes: NUM",
        "NAME NAME NUM AGE NAME", "'*' denotes best ucast next-hop",
        "'**' denotes best mcast next-hop", "'[x/y]' denotes [preference/metric]",
        "'[x/y]' denotes [distance/metric]", "'%<string>' in via output denotes VRF <string>",
        "Known via ANY , distance NUM , metric NUM", "Known via ANY , distance NUM , metric NUM (..)",
        "Known via ANY , distance NUM , metric NUM , candidate default path",
        "Known via ANY , distance NUM , metric NUM , type ANY",
        "Known via ANY , distance NUM , metric NUM , type ANY area", "Tag NUM , type ANY NUM",
        "Tag NUM", "Tag NUM , type ANY", "Installed NAME NUM AGE for AGE",
        "Known via ANY , distance NUM , metric NUM , labeled SR",
        "Known via ANY , distance NUM , metric NUM , labeled SR , type ANY",
        "Known via ANY , distance NUM , metric NUM , type ANY , labeled SR",
        "Redistributing via ANY", "Redistributing via ANY NUM", "Advertised by ANY NUM",
        "Advertised by ANY NUM route-map ANY", "Last update from ADDR AGE ago",
        "Last update from ADDR on NAME , AGE ago", "AS Hops NUM", "Route tag NUM", "MPLS label: ANY",
        "Nexthop in Vrf: NAME , Table: NAME , IPv4 Unicast , Table Id: ANY",
        "Nexthop in Vrf: NAME , Table: NAME , IPv6 Unicast , Table Id: ANY",
        "Routing Descriptor Blocks", "Routing Descriptor Blocks:", "Route metric is NUM",
        "Route metric is NUM , traffic share count is NUM", "No advertising protos.",
        "% Network not in table", "% Subnet not in table", "% No matching routes found",
        "Route not found", "! IP routing not enabled", "! IPv6 routing not enabled", "Timers: Uptime",
        "WARNING: Some of the routes are not programmed in",
        "WARNING: Some of the routes are not programmed in kernel , and they are marked with '%'.",
        "kernel , and they are marked with '%'.", "hardware , and they are marked with '%'."]),
];

/// The lines of next hops under `Routing entry for`.
#[rustfmt::skip]
pub(in super::super) const ENTRY: &Grammar = &[
    (Mark::Hop, &["ADDR , from ADDR , via NAME", "ADDR , from ADDR , AGE ago , via NAME", "ADDR , via NAME",
        "ADDR , from ADDR , AGE ago", "ADDR , from ADDR", "ADDR", "ADDR (..) , from ADDR , AGE ago",
        "ADDR (..) , from ADDR , via NAME", "ADDR (..) , from ADDR , AGE ago , via NAME"]),
    (Mark::Nothing, &[", Protected", ", BGP external", ", BGP internal", ", BGP multi path"]),
    (Mark::Is(State::Backup), &[", Backup (ANY)", ", Backup", ", BGP backup path"]),
];

/// What follows a prefix, and what is in the lines after it.
#[rustfmt::skip]
pub(in super::super) const GRAMMAR: &Grammar = &[
    (Mark::Nothing, &["^[D]", ", [D] , bgp", ", [D] , ospf", ", [D] , static", ", [D] , local",
        ", [D] , connected", ", [D]", ", attached", ", directly connected", "(recursive_via_ADDR)", "(recursive_via_NAME_tunnel_ADDR)",
        "(recursive_via_ADDR_,_NAME)", "(recursive_is_directly_connected_,_NAME)", ")",
        "(vrf_NAME)", "(vrf_NAME_,_NAME)", "(nexthop_in_vrf_NAME)", "(evpn)", "(default)",
        "(mpls)", "(mpls-vpn)", "(Asymmetric)", "segid: NUM", ", segid: NUM", ", segid NUM", "tunnelid: ANY",
        "encap: VXLAN", ", eLB", ", pervasive", ", all-best (ANY)", "^tag NUM", ", , tag NUM", ", direct",
        ", indirectly connected", ", supernet", ", NUM unicast next-hops", ", NUM (null) next-hops", "onlink", "linkdown", ", receive",
        ", label ANY", ", seg6local ANY", ", seg6local ANY table NUM", ", seg6local ANY nh6 ADDR", ", seg6local ANY nh4 ADDR", ", seg6 ANY", ", src ADDR", ", dst ADDR", ", tag NUM",
        ", metric NUM", ", cost NUM", ", cost None", ", age NUM", ", backup ANY",
        ", Static Interface GRE tunnel index NUM", ", AGE , static", ", AGE , direct",
        ", AGE , local", ", AGE , local , local", ", AGE , hsrp", ", AGE , am", ", AGE , hmm", ", AGE , vrrp", ", AGE , broadcast", ", bgp-ANY , internal",
        ", bgp-ANY , external", ", bgp-ANY , discard", ", eigrp-ANY , internal",
        ", eigrp-ANY , external", ", isis-ANY , L1", ", isis-ANY , L2", ", ospf-ANY , intra", ", ospf-ANY , inter", ", ospf-ANY , type-1",
", ospf-ANY , type-2", ", ospf-ANY , nssa type-1", ", ospf-ANY , nssa type-2", ", ospf-ANY , discard", ", ospfv3-ANY , intra", ", ospfv3-ANY , inter", ", ospfv3-ANY , type-1", ", ospfv3-ANY , type-2",
        ", rip-ANY , rip", ", AGE ago", ", AGE", ", epoch NUM",
        ", epoch NUM , flags ..."]),
    (Mark::Marked, &[", ubest/mbest: ANY time", ", ubest/mbest: ANY"]),
    (Mark::Route(State::Uninstalled), &[", pending"]),
    (Mark::Route(State::Conditional), &["tunneled"]),
    (Mark::Table, &[", vrf NAME"]),
    (Mark::Hop, &["^via VTEP ADDR VNI NUM router-mac ANY local-interface NAME",
        "^via VTEP ADDR VNI NUM router-mac ANY", "^via ADDR", "^via ADDR [D]", "^via NAME", "^via NAME tunnel ADDR",
        "^nexthop ADDR NAME", "^nexthop ADDR NAME label ANY", "^nexthop ADDR NAME label NUM NUM",
         "^attached to NAME", "^directly connected , via NAME", "^connected by VPN (advertised) , NAME"]),
    (Mark::Named("nexthop-group"), &["^via nexthop-group NAME"]),
    (Mark::UsedHop, &["^*via ADDR", "^*via NAME", "^**via ADDR"]),
    (Mark::Connected, &["^is directly connected", "^directly connected", "^is a summary"]),
    (Mark::Nowhere("blackhole"), &["^unreachable (blackhole)", "^blackhole", "^is a blackhole route", "(recursive_blackhole)",
        "^discard", "^drop"]),
    (Mark::Nowhere("local"), &["^receive", "^receive for NAME"]),
    (Mark::Nowhere("unreachable"), &["^unreachable (ICMP_unreachable)", "^unreachable", "^is a reject route", "^no route"]),
    (Mark::Nowhere("prohibit"), &["^unreachable (ICMP_admin-prohibited)"]),
    (Mark::Is(State::Resolved), &["(recursive)"]),
    (Mark::Is(State::Backup), &["(!)"]),
    (Mark::Is(State::Conditional), &["(>)"]),
    (Mark::Is(State::Candidate), &["(hidden)", ", (hidden)"]),
    (Mark::OfVrf, &["(NAME)"]),
    (Mark::Is(State::Dead), &["inactive"]),
    (Mark::Weight, &[", weight NUM"]),
    (Mark::Device, &[", NAME"]),
];

/// Words that explain codes and marks.
pub(in super::super) const LEGEND: &str = "access address agent away alt admin age aggregate application area artificial backup best bgp bfd \
    cache candidate cbf client code codes common connected control cost dagr daily default derived destination \
    dhcp diversion downloaded dynamic egp eigrp entries evpn ex ext external failure fabric fib for forwarding \
    from frr gateway id origin link local nexthop address gribi group hidden hop home host ibgp ebgp idrp igrp inactive info inside installed inter \
    interarea interface internal intra intraarea is is-is isis kernel label leaked level level-1 level-2 lisp site-registrations dyn-eid destinations-summary long-lived-stale alt filtered \
    tier0-connected tier0-static tier0-nat tier1-connected tier1-static tier1-nat tier1-lb tier1-dns \
    tier1-ipsec forwarder snat vip inter-sr unnumbered pool \
    local martian metric mobile mpls mroute multicast nat network next nexthop nhrp nssa null odr offload \
    omp openfabric ospf ospfv3 other outside overrides override path per-user periodic pfr policy prefix \
    prefixes queued redirect registered registration rejected remnant replicated rip ripng route router routes rpl selected service set sharp stale \
    static subnet subscriber summary suppressed system table table-direct talk to traffic engineering trapped tunnel type \
    type1 type2 unicast unreachable user vnc vnc-direct vpn vpnv4 vrf vxlan with babel pbr nhg iar pim unknown by \
    codes status in hardware labeled-unicast pending convergence @nnn suppressed damped dampened history valid i-internal e-external c-confed l-local \
    a-aggregate r-redist i-injected s-suppressed x-deleted s-stale d-dampened h-history *-valid >-best igp \
    incomplete rib-failure rt-filter rib-compressed additional-path best-external backup-path secondary \
    validation invalid found not multipath best2 attributes or-id originator id c-lst cluster list ll head \
    contributing stale removed nexthop's unsorted deleted as announce-nh-self nexthop-discard announced error flags via vs selected state not-found aspa validation not-valid validated failed reserved rpki \
    installed up down of l2 l3 overlay direct dia connect loose ecmp active and * + - = > % & ? ! # ~ 1 2 3 :";

/// Returns what a line of explanations is; `None` if it is none.
pub(in super::super) fn legend(text: &str) -> Option<Line> {
    let is_known = |word: &str| {
        let lower = word.to_ascii_lowercase();
        word.len() == 1
            || CODES.contains(&word)
            || LEGEND.split_ascii_whitespace().any(|known| known == lower)
            || lower.ends_with("codes")
            || lower.ends_with("type2")
    };
    let is_end = |c: char| c.is_ascii_whitespace() || ",()[]/".contains(c);
    if Words::new(text).any(|word| words::is_prefix(word) || words::address(word).is_some()) {
        return None;
    }
    let words = text.split(is_end).map(|word| word.trim_end_matches(':')).filter(|word| !word.is_empty());
    let unknown_words = words.clone().filter(|word| !is_known(word));
    let unknown_words: Vec<&str> = unknown_words.collect();
    let first = unknown_words.join(" ");
    if first.is_empty() {
        return Some(Line::Aside);
    }
    // Two thirds known: an explanation, with something new in it.
    let (unknown_count, all) = (unknown_words.len(), words.count());
    (3 * unknown_count <= all).then(|| Line::Told(format!("{} in the explanation of codes", unknown(&first))))
}
