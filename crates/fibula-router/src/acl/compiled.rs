//! [`Compiled`]: an ACL as a plane reads it, by bit vectors: a set of lines for each value of each
//! field, and the first line that is in the sets of all fields (T. V. Lakshman and D. Stiliadis,
//! "High-speed policy-based packet forwarding using efficient multi-dimensional range matching",
//! SIGCOMM 1998).
//!
//! ```text
//! source ──longest match──▶ set ─┐
//! destination ──the same──▶ set ─┤
//! ports, length, protocol ─────▶ sets ─┴─ and ─▶ first bit: the line
//! ```
//! A set has a bit for each line, the first line in the lowest. Equal sets are stored once. For
//! addresses the set is the answer of fibula's own tables, whose routes are the prefixes of the
//! lines; for the others an array has one for each value.
//!
//! # Limits
//! 2,048 lines; 65,535 different sets of all ACLs together.

use super::{Acl, Line};
use fibula::{Address, IpPrefix, Limit, NextHop, Prefix, Rib};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

/// The bits of a word of a set.
const WORD: usize = 64;

/// A field of a packet that an array has a set for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// The port of the source.
    SourcePort,
    /// The port of the destination.
    DestinationPort,
    /// The length.
    Length,
    /// The protocol, and after it what has no ports.
    Protocol,
}

impl Field {
    /// The index of the set of a field's first value. One past the protocols is the set of packets
    /// without ports.
    #[must_use]
    pub const fn first(self) -> usize {
        (self as usize) << 16
    }

    /// The index of the set of packets without ports.
    pub const NO_PORTS: usize = Self::Protocol.first() + 256;

    /// The index of the set of the lines that permit.
    pub const PERMITS: usize = Self::NO_PORTS + 1;

    /// The number of these indices.
    pub const COUNT: usize = Self::Protocol.first() + 512;
}

/// The sets of all ACLs. Set 0 is empty.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The words of a set.
    pub words: usize,
    /// All sets, one after the other.
    pub sets: Vec<u64>,
    /// What each ACL has.
    pub acls: Vec<Lists>,
}

/// An ACL, as numbers of sets.
#[derive(Clone, Debug)]
pub struct Lists {
    /// The sets of sources and destinations of IPv4.
    pub tables4: [Rib<u32>; 2],
    /// Those of IPv6.
    pub tables6: [Rib<u128>; 2],
    /// The sets of the other fields, at the places that [`Field`] says.
    pub fields: Vec<u16>,
}

/// A set of lines.
type Bits = Vec<u64>;

/// Gives equal sets one number.
struct Numbers {
    words: usize,
    known: BTreeMap<Bits, u16>,
    sets: Vec<u64>,
}

impl Numbers {
    fn number(&mut self, set: Bits) -> Result<u16, fibula::Error> {
        if let Some(&number) = self.known.get(&set) {
            return Ok(number);
        }
        let number = self.sets.len() / self.words;
        Limit::check("sets of lines of ACLs", number as u64, u16::MAX.into())?;
        self.sets.extend(&set);
        self.known.insert(set, number as u16);
        Ok(number as u16)
    }

    /// Returns the number of the set of lines for which something is so.
    fn of<L>(&mut self, lines: &[L], is_in: impl Fn(&L) -> bool) -> Result<u16, fibula::Error> {
        let mut set = vec![0; self.words];
        for (at, _) in lines.iter().enumerate().filter(|(_, line)| is_in(line)) {
            set[at / WORD] |= 1 << (at % WORD);
        }
        self.number(set)
    }
}

impl Compiled {
    /// Compiles ACLs. O(lines²) for each.
    ///
    /// # Errors
    /// If they have more than 65,535 different sets.
    pub fn new(acls: &[Acl]) -> Result<Self, fibula::Error> {
        let lines = acls.iter().map(|acl| acl.lines.len()).max().unwrap_or_default();
        // A set fills whole cache lines.
        let words = lines.div_ceil(WORD).next_multiple_of(8).max(8);
        let empty: Bits = vec![0; words];
        let mut numbers = Numbers { words, known: BTreeMap::from([(empty.clone(), 0)]), sets: empty };
        let acls = acls.iter().map(|acl| Lists::new(&acl.lines, &mut numbers)).collect::<Result<_, _>>()?;
        Ok(Self { words, sets: numbers.sets, acls })
    }

    /// Returns the words of a set.
    #[must_use]
    pub fn set(&self, number: u32) -> &[u64] {
        &self.sets[number as usize * self.words..][..self.words]
    }
}

impl Lists {
    fn new(lines: &[Line], numbers: &mut Numbers) -> Result<Self, fibula::Error> {
        let mut fields = vec![0; Field::COUNT];
        for (field, of) in [(Field::SourcePort, 0), (Field::DestinationPort, 1)] {
            let ranges: Vec<_> =
                lines.iter().map(|line| line.ports[of].clone().unwrap_or(0..=u16::MAX)).collect();
            fill(&mut fields, field, &ranges, numbers)?;
        }
        let lengths: Vec<_> = lines.iter().map(|line| line.length.clone()).collect();
        fill(&mut fields, Field::Length, &lengths, numbers)?;
        for protocol in 0..=u8::MAX {
            let is_in = |line: &Line| line.protocol.is_none_or(|of| of == protocol);
            fields[Field::Protocol.first() + usize::from(protocol)] = numbers.of(lines, is_in)?;
        }
        fields[Field::NO_PORTS] = numbers.of(lines, |line| line.ports.iter().all(Option::is_none))?;
        fields[Field::PERMITS] = numbers.of(lines, |line| line.is_permit)?;
        let mut of4 = |at| {
            table(lines, at, numbers, |prefix| match prefix {
                IpPrefix::V4(prefix) => Some(prefix),
                IpPrefix::V6(_) => None,
            })
        };
        let tables4 = [of4(0)?, of4(1)?];
        let mut of6 = |at| {
            table(lines, at, numbers, |prefix| match prefix {
                IpPrefix::V4(_) => None,
                IpPrefix::V6(prefix) => Some(prefix),
            })
        };
        let tables6 = [of6(0)?, of6(1)?];
        Ok(Self { tables4, tables6, fields })
    }
}

/// Fills in the sets of a field's values. Between the ends of ranges they do not change.
fn fill(
    fields: &mut [u16],
    field: Field,
    ranges: &[RangeInclusive<u16>],
    numbers: &mut Numbers,
) -> Result<(), fibula::Error> {
    let ends = |range: &RangeInclusive<u16>| [u32::from(*range.start()), u32::from(*range.end()) + 1];
    let mut borders: BTreeSet<u32> = ranges.iter().flat_map(ends).collect();
    borders.extend([0, 1 << 16]);
    let borders: Vec<u32> = borders.into_iter().collect();
    for part in borders.windows(2) {
        let first = part[0] as u16;
        let number = numbers.of(ranges, |range| range.contains(&first))?;
        fields[field.first() + part[0] as usize..field.first() + part[1] as usize].fill(number);
    }
    Ok(())
}

/// Returns the sets of the prefixes of a family, in sources (0) or destinations (1).
fn table<A: Address>(
    lines: &[Line],
    at: usize,
    numbers: &mut Numbers,
    of_family: impl Fn(IpPrefix) -> Option<Prefix<A>>,
) -> Result<Rib<A>, fibula::Error> {
    let prefixes = lines.iter().filter_map(|line| of_family(line.prefixes[at]?));
    let every = Prefix::containing(A::from_bits(0, 0, 1), 0);
    let prefixes: BTreeSet<Prefix<A>> = prefixes.chain([every]).collect();
    let mut table = Rib::new();
    for prefix in prefixes {
        let is_in = |line: &Line| match line.prefixes[at] {
            None => true,
            Some(of) => of_family(of).is_some_and(|of| of.covers(prefix)),
        };
        let set = numbers.of(lines, is_in)?;
        // Without a route the answer is 0, the empty set.
        if set > 0 {
            table.insert(prefix, NextHop(set.into()));
        }
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::super::{Acl, Packet, samples};
    use super::*;
    use std::net::IpAddr;

    /// Returns the index of the first line, as a plane finds it.
    fn first(compiled: &Compiled, acl: usize, packet: &Packet) -> Option<usize> {
        let lists = &compiled.acls[acl];
        let field = |field: Field, value: usize| u32::from(lists.fields[field.first() + value]);
        let mut sets =
            vec![field(Field::Length, packet.length.into()), field(Field::Protocol, packet.protocol.into())];
        match packet.ports {
            None => sets.push(lists.fields[Field::NO_PORTS].into()),
            Some([source, destination]) => sets.extend([
                field(Field::SourcePort, source.into()),
                field(Field::DestinationPort, destination.into()),
            ]),
        }
        for (at, address) in packet.addresses.into_iter().enumerate() {
            sets.push(match address {
                IpAddr::V4(address) => {
                    lists.tables4[at].longest_match(address.to_bits()).map_or(0, |route| route.next_hop.0)
                }
                IpAddr::V6(address) => {
                    lists.tables6[at].longest_match(address.to_bits()).map_or(0, |route| route.next_hop.0)
                }
            });
        }
        let all = (0..compiled.words)
            .map(|word| sets.iter().fold(u64::MAX, |all, &set| all & compiled.set(set)[word]));
        all.enumerate()
            .find(|(_, bits)| *bits != 0)
            .map(|(word, bits)| word * WORD + bits.trailing_zeros() as usize)
    }

    #[test]
    fn the_first_line_is_that_of_the_plain_list() {
        let mut random = fastrand::Rng::with_seed(9);
        let mut draw = |below| random.usize(..below);
        let mut acls = vec![Acl::parse("none", "").unwrap()];
        for (name, lines) in [("few", 9), ("many", 1200)] {
            let text: String = (0..lines).map(|_| samples::line(&mut draw) + "\n").collect();
            acls.push(Acl::parse(name, &text).unwrap());
        }
        let compiled = Compiled::new(&acls).unwrap();
        let mut matched = 0;
        for round in 0..30_000 {
            let packet = samples::packet(&mut draw);
            let at = round % acls.len();
            let expected = acls[at].lines.iter().position(|line| line.matches(&packet));
            assert_eq!(first(&compiled, at, &packet), expected, "{packet:?}");
            matched += usize::from(expected.is_some());
        }
        assert!(matched > 10_000, "{matched}");
    }
}
