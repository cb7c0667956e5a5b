//! `show ip route` and `show ipv6 route` of FRR, Cisco (IOS, IOS XR, NX-OS) and Arista EOS.
//!
//! ```text
//! IPv4 unicast VRF default:
//! B>  10.0.0.0/8 [20/0] via 198.51.100.1 (recursive), weight 1, 00:08:00
//!   *                     via 192.0.2.2, eth1, weight 1, 00:08:00
//! C>* 192.0.2.0/24 is directly connected, eth0, weight 1, 00:10:10
//! S>* 10.9.0.0/16 [1/0] unreachable (blackhole), weight 1, 00:01:00
//! ```
//!
//! Of FRR the route that is selected (`>`) is read, and of its hops those in the forwarding table
//! (`*`). Cisco and Arista show only such routes. A Cisco prefix without a length has that of the
//! heading before it (`10.0.0.0/24 is subnetted`), or of its class.
//!
//! The VRF `default` is read, or the one that is asked for. A text of one VRF of another name is
//! that VRF. Routes of other VRFs are counted.

use super::ReadOptions;
use super::builder::{Builder, Trouble};
use super::hops::{self, Hop};
use super::layouts::{Layout, Lines, Looks, Reader};
use super::named::{Choice, Tables};
use crate::scan::{self, quoted, utf8};
use crate::{Damage, Place};
use fibula::IpPrefix;
use std::net::{IpAddr, Ipv4Addr};

pub(super) const LAYOUT: Layout = Layout {
    looks: Looks::Line(|line| utf8(line).is_ok_and(is_line)),
    reader: Reader::Lines(read),
    writer: None,
    endings: &[],
};

/// What is after the prefix in a route line of NX-OS.
const NX_OS: &str = ", ubest/mbest:";

/// A route whose hops may still follow.
struct Open {
    line: u64,
    prefix: IpPrefix,
    /// The hops, and whether each is in the forwarding table.
    hops: Vec<(Hop, bool)>,
    is_selected: bool,
}

struct Reading<'o> {
    options: &'o ReadOptions,
    open: Option<Open>,
    /// Whether the text is FRR's, which marks what it selected.
    is_marked: bool,
    /// Whether routes have begun, after the explanation of the codes.
    has_begun: bool,
    /// The length that prefixes without one have.
    subnetted: Option<u8>,
    /// The VRF that is read now.
    vrf: String,
    vrfs: Tables<'o>,
    /// A Cisco line that ends after its prefix; the hop is on the next.
    broken: Option<String>,
}

fn read(blocks: &mut Lines<'_>, options: &ReadOptions, builder: &mut Builder) -> Result<(), Damage> {
    let is_marked = memchr::memmem::find(blocks.peek(), b"selected route").is_some()
        || crate::scan::lines(blocks.peek()).any(|(_, line)| matches!(line, [b'A'..=b'z', b'>', ..]));
    let (vrf, vrfs) = ("default".to_owned(), Tables::new(Choice::of_vrf(options.vrf.as_deref())));
    let (open, has_begun, subnetted, broken) = (None, false, None, None);
    let mut reading = Reading { options, open, is_marked, has_begun, subnetted, vrf, vrfs, broken };
    builder.each_line(blocks, |number, line, builder| reading.line(number, line, builder))?;
    reading.close(builder)?;
    reading.vrfs.finish(builder)
}

impl Reading<'_> {
    fn line(&mut self, number: u64, line: &str, builder: &mut Builder) -> Result<(), Trouble> {
        let text = line.trim();
        if let Some(vrf) = heading(text) {
            self.close(builder)?;
            vrf.clone_into(&mut self.vrf);
            // The codes may be explained again.
            (self.has_begun, self.subnetted) = (false, None);
            return Ok(());
        }
        if text.is_empty() {
            return Ok(());
        }
        let line = match self.broken.take() {
            Some(before) => before + " " + text,
            None => line.to_owned(),
        };
        if let Some((prefix, _)) = text.split_once(" is ").filter(|(_, rest)| rest.contains("subnetted")) {
            self.close(builder)?;
            self.subnetted = match scan::prefix(prefix.trim().as_bytes(), true)? {
                IpPrefix::V4(prefix) if !text.contains("variably") => Some(prefix.len()),
                _ => None,
            };
            self.has_begun = true;
            return Ok(());
        }
        if let Some((prefix, _)) = text.split_once(NX_OS) {
            self.close(builder)?;
            self.has_begun = true;
            let prefix = scan::prefix(prefix.as_bytes(), self.options.mask_host_bits)?;
            self.open = Some(Open { line: number, prefix, hops: Vec::new(), is_selected: true });
            return Ok(());
        }
        if let Some(route) = route(&line, self.subnetted, self.options.mask_host_bits) {
            self.close(builder)?;
            self.has_begun = true;
            let (codes, prefix, rest) = route?;
            // Codes such as `D EX` and `i L1` come before it; a route without any hop is the
            // beginning of a broken line.
            if rest.trim().is_empty() || hop(rest)?.is_none() && !rest.contains("via") {
                if rest.trim_end().ends_with(']') || rest.trim().is_empty() {
                    self.broken = Some(line);
                    return Ok(());
                }
                return Err(format!("expected a hop of {prefix}, found {}", quoted(rest.trim())).into());
            }
            let hops = hop(rest)?.map(|hop| (hop, codes.contains('*'))).into_iter().collect();
            self.open = Some(Open { line: number, prefix, hops, is_selected: codes.contains('>') });
            return Ok(());
        }
        match &mut self.open {
            // Further hops: after a mark, or after the distance.
            Some(route)
                if line.starts_with([' ', '\t'])
                    && (text.contains("via ") || text.contains("directly connected")) =>
            {
                let is_installed = text.starts_with('*') || text.starts_with("q*");
                route.hops.extend(hop(text)?.map(|hop| (hop, is_installed)));
                Ok(())
            }
            // The explanation of codes, the gateway of last resort and the prompt.
            _ if text.starts_with("Gateway of last resort") || text.ends_with(['#', '>']) => Ok(()),
            _ if !self.has_begun && !text.split_ascii_whitespace().any(is_prefix) => Ok(()),
            _ => Err(format!("expected a route, found {}", quoted(text)).into()),
        }
    }

    /// Ends the route that is open.
    fn close(&mut self, builder: &mut Builder) -> Result<(), Damage> {
        let Some(route) = self.open.take() else { return Ok(()) };
        let place = Place::Line(route.line);
        if !self.vrfs.take(&self.vrf, &self.vrf, place) {
            return Ok(());
        }
        if self.is_marked && !route.is_selected {
            return builder.left_out(place, "route that is not selected");
        }
        let any = route.hops.iter().any(|(_, is_installed)| *is_installed);
        let hops: Vec<Hop> = route
            .hops
            .into_iter()
            .filter(|(_, is_installed)| !self.is_marked || *is_installed || !any)
            .map(|(hop, _)| hop)
            .collect();
        let Some(hops) = hops::alive(hops, place, builder)? else { return Ok(()) };
        match hops::offer(&hops, self.options.value) {
            Some(offer) => self.vrfs.offer(place, route.prefix, offer, builder),
            None => builder.damaged(Damage { place, what: format!("{} has no hop", route.prefix) }),
        }
    }
}

/// Returns whether a word is a prefix with its length.
fn is_prefix(word: &str) -> bool {
    word.contains('/') && scan::prefix(word.as_bytes(), true).is_ok()
}

/// Returns the VRF that a heading names.
fn heading(text: &str) -> Option<&str> {
    // `VRF red:`, `IPv4 unicast VRF red:`, `VRF: red`, `Routing Table: red`,
    // `IP Route Table for VRF "red"`, `IPv6 Routing Table - red - 4 entries`
    let of_frr = || {
        let (family, name) = text.strip_suffix(':')?.rsplit_once("VRF ")?;
        (family.is_empty() || family.starts_with("IPv")).then_some(name)
    };
    let of_nx_os = || {
        let (family, name) = text.split_once(" Table for VRF ")?;
        family.starts_with("IP").then(|| name.trim_matches('"'))
    };
    let named = text.strip_prefix("VRF: ").or_else(|| text.strip_prefix("Routing Table: "));
    let of_ios = || text.strip_prefix("IPv6 Routing Table - ")?.split_once(" - ").map(|(name, _)| name);
    named.or_else(of_frr).or_else(of_nx_os).or_else(of_ios).map(str::trim)
}

/// What is before a prefix, the prefix, and what is after it.
type Parts<'l> = Result<(&'l str, IpPrefix, &'l str), String>;

/// Cuts a route line; `None` if it is none.
fn route(line: &str, subnetted: Option<u8>, mask_host_bits: bool) -> Option<Parts<'_>> {
    // Codes are one or two letters with marks, in the first columns.
    let code = |word: &str| {
        word.chars().all(|c| c.is_ascii_alphanumeric() || "*>=+%&?!".contains(c)) && word.len() <= 4
    };
    // Arista begins with a space.
    if !line.strip_prefix(' ').unwrap_or(line).starts_with(|c: char| c.is_ascii_alphabetic()) {
        return None;
    }
    let mut words = line.split_ascii_whitespace();
    let (mut before, mut word) = (0, words.next()?);
    while code(word) && before < 4 {
        before += 1;
        word = words.next()?;
    }
    let start = word.as_ptr() as usize - line.as_ptr() as usize;
    let (codes, rest) = (&line[..start], &line[start + word.len()..]);
    let bare = word.parse::<Ipv4Addr>().ok().filter(|_| before > 0);
    let prefix = match bare {
        Some(address) => {
            scan::prefix_of(address, subnetted.unwrap_or_else(|| class(address)), mask_host_bits)
        }
        None if before > 0 && word.contains('/') && word.contains(['.', ':']) => {
            scan::prefix(word.as_bytes(), mask_host_bits)
        }
        None => return None,
    };
    Some(prefix.map(|prefix| (codes, prefix, rest)))
}

/// Returns the length of an address's class, of the time before lengths.
pub(super) fn class(address: Ipv4Addr) -> u8 {
    match address.octets()[0] {
        _ if address.is_unspecified() => 0,
        0..=127 => 8,
        128..=191 => 16,
        192..=223 => 24,
        _ => 32,
    }
}

/// Reads the hop of a line; `None` if it has none.
fn hop(text: &str) -> Result<Option<Hop>, String> {
    let is_dead = text.split(',').any(|part| part.trim_end().ends_with(" inactive"));
    Ok(any_hop(text)?.map(|hop| Hop { is_dead, ..hop }))
}

fn any_hop(text: &str) -> Result<Option<Hop>, String> {
    let weight = text.split(", ").find_map(|part| part.trim().strip_prefix("weight ")?.parse().ok());
    if text.contains("(blackhole)") || text.contains("Null0") {
        return Ok(Some(Hop::nowhere("blackhole")));
    }
    if text.contains("unreachable") {
        let kind = if text.contains("prohibited") { "prohibit" } else { "unreachable" };
        return Ok(Some(Hop::nowhere(kind)));
    }
    let is_interface = |part: &&str| {
        part.starts_with(|c: char| c.is_ascii_alphabetic())
            && !part.contains(' ')
            && !part.ends_with("ago")
            && !is_age(part)
    };
    if let Some((_, after)) = text.split_once("via ") {
        // NX-OS names the VRF after `%`, and tells the protocol after the distance in brackets.
        let mut parts = after.split(',').map(str::trim).take_while(|part| !part.starts_with('['));
        let first = parts.next().unwrap_or_default().split([' ', '%']).next().unwrap_or_default();
        // Arista and IOS for IPv6 may name an interface only.
        let Ok(address) = first.parse::<IpAddr>() else {
            return if first.starts_with(|c: char| c.is_ascii_alphabetic()) {
                Ok(Hop::through(None, Some(first), weight))
            } else {
                Err(format!("expected an address after via in {}", quoted(text.trim())))
            };
        };
        return Ok(Hop::through(Some(address), parts.find(is_interface), weight));
    }
    if let Some((_, after)) = text.split_once("directly connected") {
        return Ok(Hop::through(None, after.split(',').map(str::trim).find(is_interface), weight));
    }
    Ok(None)
}

/// Returns whether a word is an age, such as `1d02h` or `3w4d`.
fn is_age(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit())
}

fn is_line(line: &str) -> bool {
    line.starts_with("Codes: ")
        || heading(line.trim()).is_some()
        || line.starts_with("Gateway of last resort")
        || line.contains(NX_OS)
        || route(line, None, true).is_some_and(|route| {
            route.is_ok_and(|(_, _, rest)| {
                (rest.contains(" via ") || rest.contains(" directly connected")) && rest.contains(',')
            })
        })
}

#[cfg(test)]
mod tests {
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
             S>  10.7.0.0/16 [1/0] via 192.0.2.6 inactive, weight 1, 00:01:00\n  \
                                   via 192.0.2.7, eth1, weight 1, 00:01:00\n\
             S>* 10.9.0.0/16 [1/0] unreachable (blackhole), weight 1, 00:01:00\n\n\
             IPv4 unicast VRF red:\nS>* 10.8.0.0/16 [1/0] via 192.0.2.77, eth7, weight 1, 00:01:00\n",
        );
        assert_eq!(
            routes(&loaded),
            [
                "0.0.0.0/0 192.0.2.1 dev eth0",
                "10.0.0.0/8 192.0.2.2 dev eth1",
                "10.7.0.0/16 192.0.2.7 dev eth1",
                "10.9.0.0/16 blackhole",
                "192.0.2.0/24 dev eth0"
            ]
        );
        let notes: Vec<&str> = loaded.report.notes.iter().map(|note| &*note.what).collect();
        let further = "next hop after the first (--value next-hops keeps all)";
        assert_eq!(notes, ["route that is not selected", further, "dead next hop", "route of VRF red"]);
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
            parse(text.as_bytes(), &options).map(|loaded| {
                (routes(&loaded), loaded.report.notes.iter().map(|note| note.count).sum::<u64>())
            })
        };
        let only = |route: &str, left_out| (vec![route.to_owned()], left_out);
        let (red, default) = ("10.0.0.0/8 192.0.2.1", "10.2.0.0/16 192.0.2.3");
        assert_eq!(of(RED, None).unwrap(), only(red, 0));
        for all in [[RED, BLUE, DEFAULT], [DEFAULT, RED, BLUE], [RED, DEFAULT, BLUE]].map(|all| all.concat())
        {
            assert_eq!(of(&all, None).unwrap(), only(default, 2));
            assert_eq!(of(&all, Some("red")).unwrap(), only(red, 2));
        }
        let error = |vrf| of(&[RED, BLUE].concat(), vrf).unwrap_err().to_string();
        assert_eq!(error(None), "memory, line 1: no VRF default, name one of red, blue by --vrf");
        assert_eq!(error(Some("green")), "memory, line 1: no VRF green (there are red, blue)");
    }

    #[test]
    fn what_is_wrong_is_said() {
        let error = |text: &str| testing::error(Format::ShowRoute, text);
        assert_eq!(
            error("C 10.0.0.0/33 is directly connected, a\n"),
            "memory, line 1: prefix length 33 is past the 32 bits of the family"
        );
        assert_eq!(
            error("B 10.0.0.0/8 [20/0] via x1\nlost\n"),
            "memory, line 2: expected a route, found \"lost\""
        );
        let error_before = error("Codes: C - connected\n\n?? 10.0.0.0/8 odd\n");
        assert_eq!(error_before, "memory, line 3: expected a route, found \"?? 10.0.0.0/8 odd\"");
        assert_eq!(
            error("B 10.0.0.0/8 [20/0] via 1.2, a\n"),
            "memory, line 1: expected an address after via in \"[20/0] via 1.2, a\""
        );
    }
}
