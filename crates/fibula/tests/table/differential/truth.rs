//! A map of prefixes, and what is true of it by definition.

use fibula::IpPrefix;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

pub(crate) type Truth = BTreeMap<IpPrefix, u64>;

/// Addresses from the first to the last with one answer.
pub(crate) type Part<T> = (IpAddr, IpAddr, T);

pub(crate) fn lookup(truth: &Truth, address: IpAddr) -> Option<(IpPrefix, u64)> {
    let matching = truth.iter().filter(|(prefix, _)| prefix.contains(address));
    matching.max_by_key(|(prefix, _)| prefix.len()).map(|(&prefix, &value)| (prefix, value))
}

/// Returns the next address of the same family.
fn next(address: IpAddr) -> Option<IpAddr> {
    match address {
        IpAddr::V4(address) => address.to_bits().checked_add(1).map(|bits| Ipv4Addr::from_bits(bits).into()),
        IpAddr::V6(address) => address.to_bits().checked_add(1).map(|bits| Ipv6Addr::from_bits(bits).into()),
    }
}

/// Returns how many addresses there are from one to another, both included, less one.
pub(crate) fn distance(first: IpAddr, last: IpAddr) -> u128 {
    match (first, last) {
        (IpAddr::V4(first), IpAddr::V4(last)) => (last.to_bits() - first.to_bits()).into(),
        (IpAddr::V6(first), IpAddr::V6(last)) => last.to_bits() - first.to_bits(),
        _ => panic!("{first} and {last}"),
    }
}

/// Returns the addresses that have an answer. The space is cut wherever a prefix begins or ends,
/// and the first address of each part is asked; neighbours with the same answer are one part.
pub(crate) fn parts<T: PartialEq>(
    prefixes: impl Iterator<Item = IpPrefix>,
    answer: impl Fn(IpAddr) -> Option<T>,
) -> Vec<Part<T>> {
    let all = ["0.0.0.0/0", "::/0"].map(|text| text.parse::<IpPrefix>().unwrap());
    let cuts = prefixes.chain(all).flat_map(|prefix| [Some(prefix.first()), next(prefix.last())]);
    let mut firsts: Vec<IpAddr> = cuts.flatten().collect();
    firsts.sort_unstable();
    firsts.dedup();
    let mut parts: Vec<Part<T>> = Vec::new();
    for (at, &first) in firsts.iter().enumerate() {
        let Some(answer) = answer(first) else { continue };
        // The last address before the next cut.
        let end = all.iter().find(|all| all.contains(first)).unwrap().last();
        let before = |&next: &IpAddr| match next {
            IpAddr::V4(next) => Some(Ipv4Addr::from_bits(next.to_bits().checked_sub(1)?).into()),
            IpAddr::V6(next) => Some(Ipv6Addr::from_bits(next.to_bits().checked_sub(1)?).into()),
        };
        let last = firsts.get(at + 1).and_then(before).unwrap_or(end);
        match parts.last_mut() {
            Some((_, end, same)) if next(*end) == Some(first) && *same == answer => *end = last,
            _ => parts.push((first, last, answer)),
        }
    }
    parts
}
