//! The tables of the TrieC paper (Hu, Tang and Hua 2006), section 5.1, Table 1.

use super::{NextHopModel, Random, Size, mix, with_next_hops};
use crate::Error;
use crate::table::Tables;
use fibula::{Address, Prefix};
use std::collections::HashSet;
use std::fmt;
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

/// The paper's bands of lengths: their last lengths and how many different ones are drawn below each. The first
/// begins at /16, as the tables of the time did.
const BANDS: [(u8, u8); 5] = [(24, 9), (32, 8), (40, 8), (48, 8), (64, 16)];

impl TriecGroup {
    /// Out of 10,000 prefixes, how many are in each band: /1../24, /25../32, /33../40, /41../48, /49../64.
    #[must_use]
    pub fn shares(self) -> [u64; 5] {
        match self {
            Self::A => [422, 6941, 552, 1461, 624],
            Self::B => [6, 740, 1554, 7132, 568],
            Self::C => [214, 3841, 1052, 4297, 596],
        }
    }
}

/// An IPv6 table of one of the paper's groups; the paper has 200,000, 300,000 and 400,000 prefixes of each.
///
/// The share of each band is exact, and "all prefix values are generated randomly", within 2000::/3. How lengths
/// are spread inside a band the paper leaves open: here half the prefixes of a band have its last length, which
/// is the one in common use, and the other half any length of the band alike.
///
/// # Errors
/// If there are more prefixes than [`Size::MAX`], or more next hops than fit.
///
/// ```
/// use fibula_io::generate::{NextHopModel, TriecGroup, triec};
/// let tables = triec(TriecGroup::A, 10_000, NextHopModel::Near(40), 1)?;
/// assert_eq!(tables.ipv6.iter().filter(|route| (25..=32).contains(&route.prefix.len())).count(), 6941);
/// # Ok::<(), fibula_io::Error>(())
/// ```
pub fn triec(group: TriecGroup, prefixes: usize, model: NextHopModel, seed: u64) -> Result<Tables, Error> {
    Size::ipv6(prefixes).check(Size::MAX)?;
    let mut random = Random::new(seed, 0x7219_EC00 + group as u64);
    let unicast: Prefix<u128> = Prefix::containing(u128::from_bits(1, 0, 3), 3);
    let mut all = HashSet::with_capacity(prefixes);
    let bands = mix::apportion(&group.shares(), prefixes as u64);
    let mut wanted = 0;
    for ((last, lengths), count) in BANDS.into_iter().zip(bands) {
        wanted += count as usize;
        while all.len() < wanted {
            let shorter = if random.chance(500) { 0 } else { random.below(lengths.into()) as u8 };
            all.insert(random.part(unicast, last - shorter));
        }
    }
    let mut all: Vec<Prefix<u128>> = all.into_iter().collect();
    all.sort_unstable();
    with_next_hops(Vec::new(), all, model, seed)
}
