//! [`bogons`]: the addresses that no route of the Internet has.

use crate::table::{ReadOptions, Tables, parse};
use fibula::rib::AddressSet;

/// Blocks that are not for the Internet, with the reason: those of the IANA registries of special
/// purposes (RFC 6890) that are not globally reachable, multicast, and all of IPv6 outside of
/// 2000::/3, the global unicast addresses.
const BOGONS: &str = "\
0.0.0.0/8 this network, RFC 791
10.0.0.0/8 private, RFC 1918
100.64.0.0/10 carrier-grade NAT, RFC 6598
127.0.0.0/8 loopback, RFC 1122
169.254.0.0/16 link-local, RFC 3927
172.16.0.0/12 private, RFC 1918
192.0.0.0/24 protocol assignments, RFC 6890
192.0.2.0/24 documentation, RFC 5737
192.168.0.0/16 private, RFC 1918
198.18.0.0/15 benchmarks, RFC 2544
198.51.100.0/24 documentation, RFC 5737
203.0.113.0/24 documentation, RFC 5737
224.0.0.0/4 multicast, RFC 5771
240.0.0.0/4 reserved, RFC 1112
::/3 not global unicast, RFC 4291
4000::/2 not global unicast, RFC 4291
8000::/1 not global unicast, RFC 4291
::/96 unspecified, loopback, IPv4-compatible, RFC 4291
::ffff:0:0/96 IPv4-mapped, RFC 4291
100::/64 discard only, RFC 6666
fc00::/7 unique local, RFC 4193
fe80::/10 link-local, RFC 4291
fec0::/10 site-local, RFC 3879
ff00::/8 multicast, RFC 4291
2001::/23 protocol assignments, RFC 2928
2001:2::/48 benchmarks, RFC 5180
2001:10::/28 ORCHID, RFC 4843
2001:db8::/32 documentation, RFC 3849
3fff::/20 documentation, RFC 9637
";

/// The block that has exceptions.
const ASSIGNMENTS: &str = "2001::/23";

/// The blocks of [`ASSIGNMENTS`] that are globally reachable, or of which the registry does not say
/// that they are not (Teredo).
const REACHABLE: &str = "\
2001::/32
2001:1::1/128
2001:1::2/128
2001:1::3/128
2001:3::/32
2001:4:112::/48
2001:20::/28
2001:30::/28
";

/// Returns the blocks that are not for the Internet, each with the reason as its value.
///
/// Addresses that no registry has allocated are not in it. 192.0.0.0/24 is one block, although a
/// few of its addresses are reachable, and so is ::/3, which has 64:ff9b::/96 of NAT64. 2001::/23
/// is there in the pieces that its reachable blocks leave.
///
/// ```
/// let bogons = fibula_io::bogons();
/// let private = bogons.ipv4.longest_match(0x0A01_0203).unwrap();
/// assert_eq!(private.prefix.to_string(), "10.0.0.0/8");
/// assert_eq!(bogons.next_hops.get(private.next_hop).unwrap().to_string(), "private, RFC 1918");
/// ```
///
/// # Panics
/// Never: tests read the blocks.
#[must_use]
pub fn bogons() -> Tables {
    let read = |text: &str| parse(text.as_bytes(), &ReadOptions::default()).expect("a table").tables;
    let (mut bogons, reachable) = (read(BOGONS), read(REACHABLE).ipv6.addresses());
    let whole = ASSIGNMENTS.parse().expect("a prefix");
    if let Some(value) = bogons.ipv6.remove(whole).map(|delta| delta.before) {
        let pieces = [whole].into_iter().collect::<AddressSet<u128>>().difference(&reachable);
        for prefix in pieces.prefixes() {
            if bogons.ipv6.get(prefix).is_none() {
                bogons.ipv6.insert(prefix, value);
            }
        }
    }
    bogons
}

#[cfg(test)]
mod tests {
    use super::*;
    use fibula::Prefix;

    #[test]
    fn global_unicast_addresses_are_no_bogons() {
        let bogons = bogons();
        let (ipv4, ipv6) = (bogons.ipv4.addresses(), bogons.ipv6.addresses());
        for text in ["::/3", "4000::/2", "8000::/1", "2001:db8::/32", "3fff::/20", "fe80::/10"] {
            assert!(ipv6.covers(text.parse().unwrap()), "{text}");
        }
        let unicast: Prefix<u128> = "2000::/3".parse().unwrap();
        assert!(ipv6.complement().difference(&[unicast].into_iter().collect()).is_empty());
        // IANA's registry: 2001::/23 but for the blocks that are reachable.
        for text in ["2001:100::/32", "2001:2::/48", "2001:10::/28", "2001:1::/128", "2001:4:8000::/33"] {
            assert!(ipv6.covers(text.parse().unwrap()), "{text}");
        }
        for text in
            ["2001::/32", "2001:1::1/128", "2001:3::/32", "2001:4:112::/48", "2001:20::/28", "2001:200::/32"]
        {
            assert!(ipv6.within(text.parse().unwrap()).next().is_none(), "{text}");
        }
        assert!(!ipv6.covers(unicast));
        assert!(ipv4.covers("224.0.0.0/3".parse().unwrap()));
        assert!(ipv4.within("192.88.99.0/24".parse().unwrap()).next().is_none());
    }
}
