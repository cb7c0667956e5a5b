//! The tables of the TrieC paper (Hu, Tang and Hua 2006), section 5.1, Table 1.

use super::{NextHopModel, Size, internet, mix, with_next_hops};
use crate::Error;
use crate::table::Tables;
use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// A length mix of Table 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TriecGroup {
    /// The tables of 2006: two thirds are /25../32.
    A,
    /// Ideal tables: most are /41../48.
    B,
    /// The mean of both.
    C,
}

impl fmt::Display for TriecGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::A => "A",
            Self::B => "B",
            Self::C => "C",
        })
    }
}

impl FromStr for TriecGroup {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text {
            "A" | "a" => Ok(Self::A),
            "B" | "b" => Ok(Self::B),
            "C" | "c" => Ok(Self::C),
            _ => Err(Error::argument("TrieC group", text, "expected A, B or C")),
        }
    }
}

/// The lengths of the paper's bands. The first begins at /20: registries assign shorter blocks
/// themselves.
const BANDS: [RangeInclusive<u8>; 5] = [20..=24, 25..=32, 33..=40, 41..=48, 49..=64];

/// The largest tables. For larger ones the registries' blocks have no room for the short prefixes
/// of group A.
const MAX: Size = Size::ipv6(1_000_000);

impl TriecGroup {
    /// Of 10,000 prefixes, the number in each band: /1../24, /25../32, /33../40, /41../48,
    /// /49../64.
    #[must_use]
    pub fn shares(self) -> [u64; 5] {
        match self {
            Self::A => [422, 6941, 552, 1461, 624],
            Self::B => [6, 740, 1554, 7132, 568],
            Self::C => [214, 3841, 1052, 4297, 596],
        }
    }
}

/// Returns an IPv6 table of one of the paper's groups. The paper has 200,000, 300,000 and 400,000
/// prefixes of each.
///
/// The share of each band is exact. The paper says nothing of the lengths inside a band: they are
/// as frequent as in a full table of 2026 ([`internet`](super::internet())). The paper says that
/// "all prefix values are generated randomly", those of group B by a generator that follows how
/// addresses are assigned (Wang, Deering, Hain and Dunn 2004). Uniform bits would put every prefix
/// into an allocation of its own. No registry does that, and it costs three nodes per prefix. So
/// prefixes are placed as in the full table. Registries have /12 blocks, of which the first are the
/// fullest. Operators have allocations of /20../32 in those. Assignments of /33../64 are in the
/// allocations, next to others of the same operator, with or without a shorter route above them.
///
/// # Errors
/// If there are more than a million prefixes, or more next hops than fit.
///
/// ```
/// use fibula_io::generate::{NextHopModel, TriecGroup, triec};
/// let tables = triec(TriecGroup::A, 10_000, NextHopModel::Near(40), 1)?;
/// let lengths = tables.ipv6.iter().map(|route| route.prefix.len());
/// assert_eq!(lengths.filter(|len| (25..=32).contains(len)).count(), 6941);
/// # Ok::<(), fibula_io::Error>(())
/// ```
pub fn triec(group: TriecGroup, prefixes: usize, model: NextHopModel, seed: u64) -> Result<Tables, Error> {
    Size::ipv6(prefixes).check(MAX)?;
    let bands = mix::apportion(&group.shares(), prefixes as u64);
    let lengths: Vec<(u8, u64)> = BANDS
        .into_iter()
        .zip(bands)
        .flat_map(|(band, count)| mix::scaled(&mix::within(mix::IPV6, band), count, 0..=128))
        .collect();
    // Each group has its own draws.
    let seed = seed ^ (group as u64 + 1) << 32;
    with_next_hops(Vec::new(), internet::place(&internet::ALLOCATED, &lengths, seed), model, seed)
}
