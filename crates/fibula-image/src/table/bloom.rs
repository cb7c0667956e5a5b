//! [`BloomTable`]: Bloom filters and hash tables in the form that a kernel reads.
//!
//! Lucchesi, Drummond and Teodoro, "High-performance IP lookup using Intel Xeon Phi: a Bloom
//! filters based approach" (Journal of Internet Services and Applications 9, 2018), section 4, on
//! an accelerator as in section 4.4. It is the structure of the engine
//! [`bloom`](fibula_engines::bloom), at the paper's ratio of false positives.
//!
//! # Layout
//! ```text
//! part     holds
//! root     DLA: an answer for each /20
//! nodes    +----------+----------+-----------+-----------+---------+---------+   words of
//!          | sizes G1 | sizes G2 | filter G1 | filter G2 | keys G1 | keys G2 |   32 bits
//!          +----------+----------+-----------+-----------+---------+---------+
//! leaves   the answers of G1's buckets, six a bucket
//! ends     the answers of G2's buckets
//!
//! sizes    bits, hashes, buckets, first word of the filter, first block of the keys, 0, 0, 0
//! keys     a block of eight words a bucket: six keys, 0, 0
//! ```
//! A slot without an answer is free.
//!
//! # Worked example
//! 10.1.16.0/22 to 2 is four keys of G1, 0x0A0110 to 0x0A0113. Each has a slot of `leaves` that is
//! 2. G2 has no keys: its filter has no bit, so no key passes it.
//!
//! # What differs from the paper
//! - A change compiles the whole table again. The paper's tables do not change.
//! - Filters keep no counters, which only changes in place would read.

use super::{PARTS, Patch, Touched, Version};
use crate::{Image, Kernel, host};
use fibula::engine::{About, Config, Engine, Figure, LimitInfo, Lookup, Meter, Update, Updates, Width};
use fibula::parts::arch::Isa;
use fibula::parts::memory::{Array, Memory, Pages};
use fibula::{Delta, Error, Limit, Rib};
use fibula_engines::blocks::bloom::Aim;
use fibula_engines::blocks::expanded::{Entries, Expanded};
use fibula_engines::blocks::expansion::{counts, level_of, slots};
use fibula_engines::blocks::filtered::Filtered;
use fibula_engines::blocks::hashing::HashFunction;
use fibula_engines::blocks::probing::Combined;
use fibula_engines::bloom::{EXPANDED_MAX, LEVELS};
use zerocopy::IntoBytes;

/// The name of its kernels, before the width.
pub const KERNEL: &str = "bloom";

/// Its description as an engine.
pub const ABOUT: About = About {
    name: "gpu-bloom",
    paper: "Lucchesi, Drummond, Teodoro, High-performance IP lookup using Intel Xeon Phi: a Bloom filters based \
            approach, JISA 9 (2018), as a CUDA kernel",
    year: 2018,
    updates: Updates::Rebuild,
    limits: &[LimitInfo { what: EXPANDED, max: EXPANDED_MAX }],
    ..About::DEFAULT
};

const EXPANDED: &str = "expanded prefixes of length 32";

/// The ratio of false positives in percent: the paper's choice.
const PERCENT: u8 = 30;

/// The slots of a bucket: `FIBULA_SLOTS` of `kernels/bloom.h`.
const SLOTS: usize = 6;

/// The words of a block of sizes or keys.
const BLOCK: usize = 8;

/// A filter and a table. Keys are the first bits of addresses, right-aligned.
type Group<W> = Filtered<u32, Expanded<W>, Combined, SLOTS>;

/// A compiled table; see the [module page](self).
#[derive(Debug)]
pub struct BloomTable<W: Width> {
    direct: Array<W>,
    words: Array<u32>,
    /// The answers of the buckets of G1 and G2.
    answers: [Array<W>; 2],
    figures: Vec<Figure>,
    version: Version,
    pages: Pages,
}

impl<W: Width> BloomTable<W> {
    /// The bytes of an element of each part: an answer, a block of words, an answer.
    const BLOCKS: [usize; PARTS] =
        [size_of::<W>(), BLOCK * size_of::<u32>(), size_of::<W>(), 1, size_of::<W>()];

    /// Compiles a table.
    ///
    /// # Errors
    /// If it expands to more prefixes of 32 bits than [`EXPANDED_MAX`].
    pub fn compile(rib: &Rib<u32>, pages: Pages) -> Result<Self, Limit> {
        let expanded = counts(rib, &LEVELS);
        Limit::check(EXPANDED, expanded[2].expanded as u64, EXPANDED_MAX)?;
        let mut direct = Array::zeroed(1 << LEVELS[0], pages);
        let mut groups = [1, 2].map(|level| {
            let entries = expanded[level].expanded as usize;
            Group::<W>::new(Combined(HashFunction::H2), Aim::Percent(PERCENT), entries, Pages::Small)
        });
        for route in rib {
            match level_of(route.prefix.len(), &LEVELS) {
                // In the order of a table a route comes after all that cover it.
                Some(0) => slots(route.prefix, LEVELS[0])
                    .for_each(|slot| direct[slot as usize] = W::narrow(route.next_hop)),
                Some(level) => _ = groups[level - 1].announce(route, LEVELS[level]),
                None => {} // no prefix is longer than the last level
            }
        }
        let names = ["G1", "G2"].into_iter().zip(&groups);
        let figures = names.flat_map(|(name, group)| group.figures(name, [])).collect();
        let (words, answers) = laid_out(&groups, pages);
        Ok(Self { direct, words, answers, figures, version: Version::first(), pages })
    }

    /// Compiles the table again as the next version of this one. Returns the patch, which is all of
    /// it.
    ///
    /// # Errors
    /// As for [`compile`](Self::compile).
    pub fn compile_again(&mut self, rib: &Rib<u32>) -> Result<Patch, Error> {
        *self = Self { version: self.version.next(), ..Self::compile(rib, self.pages)? };
        let touched = Touched { after: self.version, all: true, ..Touched::default() };
        Ok(touched.into_patch(self.parts(), Self::BLOCKS))
    }

    /// Returns the table as an image for a device.
    #[must_use]
    pub fn image(&self) -> Image<'_> {
        let (version, parts) = (self.version, self.parts());
        Image { kernel: Kernel::of_bloom::<W>(), version, parts, blocks: Self::BLOCKS }
    }

    pub(crate) fn parts(&self) -> [&[u8]; PARTS] {
        let [g1, g2] = &self.answers;
        [self.direct.as_bytes(), self.words.as_bytes(), g1.as_bytes(), &[], g2.as_bytes()]
    }
}

/// Returns the words of the kernel's layout, and the answers of the buckets.
fn laid_out<W: Width>(groups: &[Group<W>; 2], pages: Pages) -> (Array<u32>, [Array<W>; 2]) {
    let mut words: Array<u32> = Array::zeroed(groups.len() * BLOCK, pages);
    let mut answers = [Array::new(pages), Array::new(pages)];
    for (number, group) in groups.iter().enumerate() {
        let (filter, _) = group.parts();
        words[number * BLOCK + 3] = words.len() as u32;
        for word in filter.words() {
            words.extend_from_slice(&[*word as u32, (*word >> 32) as u32]);
        }
    }
    words.resize(words.len().next_multiple_of(BLOCK), 0);
    for (number, (group, answers)) in groups.iter().zip(&mut answers).enumerate() {
        let (filter, table) = group.parts();
        let parameters = filter.parameters();
        let sizes = &mut words[number * BLOCK..][..3];
        sizes.copy_from_slice(&[parameters.bits, parameters.hashes, table.buckets().len() as u32]);
        words[number * BLOCK + 4] = (words.len() / BLOCK) as u32;
        for (keys, values) in table.buckets() {
            words.extend_from_slice(&keys);
            words.extend_from_slice(&[0; BLOCK - SLOTS]);
            answers.extend_from_slice(&values.map(|value| value.next_hop));
        }
    }
    (words, answers)
}

impl<W: Width> Lookup<u32> for BloomTable<W> {
    type Width = W;

    fn lookup_metered<M: Meter>(&self, address: u32, meter: &mut M) -> W {
        host::counted(self, address, meter)
    }

    fn lookup(&self, address: u32) -> W {
        let mut found = [W::default()];
        host::look_up(self, &[address], &mut found);
        found[0]
    }

    #[inline(always)]
    fn lookup_batch<I: Isa>(&self, _: I, addresses: &[u32], next_hops: &mut [W]) {
        host::look_up(self, addresses, next_hops);
    }
}

impl<W: Width> Engine<u32> for BloomTable<W> {
    type View = Self;

    fn build(rib: &Rib<u32>, config: &Config) -> Result<Self, Error> {
        Ok(Self::compile(rib, config.pages)?)
    }

    fn view(&self) -> &Self {
        self
    }

    fn apply(&mut self, _: &Rib<u32>, _: &[Delta<u32>]) -> Update {
        Update::Rebuild
    }

    fn memory(&self) -> Memory {
        let [g1, g2] = &self.answers;
        Memory::new()
            .off_chip("filters and keys", self.words.bytes())
            .off_chip("G1 answers", g1.bytes())
            .off_chip("G2 answers", g2.bytes())
            .off_chip("DLA", self.direct.bytes())
    }

    fn figures(&self) -> Vec<Figure> {
        self.figures.clone()
    }

    fn validate(&self, rib: &Rib<u32>) -> Result<(), String> {
        let fresh = Self::compile(rib, Pages::Small).map_err(|limit| limit.to_string())?;
        let parts = super::PART_NAMES.into_iter().zip(self.parts().into_iter().zip(fresh.parts()));
        match parts.into_iter().find(|(_, (part, fresh))| part != fresh) {
            None => Ok(()),
            Some((name, _)) => Err(format!("the {name} are not those of the table")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fibula::{NextHop, Route};

    fn of(routes: &[(&str, u32)]) -> Rib<u32> {
        routes
            .iter()
            .map(|&(prefix, hop)| Route { prefix: prefix.parse().unwrap(), next_hop: NextHop(hop) })
            .collect()
    }

    #[test]
    fn the_example_of_the_page() {
        let table = BloomTable::<u16>::compile(&of(&[("10.1.16.0/22", 2)]), Pages::Small).unwrap();
        let [g1, g2] = &table.answers;
        assert_eq!(g1.iter().filter(|&&answer| answer == 2).count(), 4);
        assert!(g2.iter().all(|&answer| answer == 0));
        // The sizes of G2: its filter is as many bits as sixteen keys take, and none is set.
        let filter = table.words[BLOCK + 3] as usize;
        let words = table.words[BLOCK].div_ceil(32) as usize;
        assert!(table.words[filter..][..words].iter().all(|&word| word == 0));
        for (address, hop) in [(0x0A01_1000, 2), (0x0A01_13FF, 2), (0x0A01_1400, 0), (0, 0)] {
            assert_eq!(table.lookup(address), hop, "{address:#x}");
        }
    }

    #[test]
    fn a_changed_answer_is_found_and_a_change_is_a_whole_patch() {
        let mut rib = of(&[("0.0.0.0/0", 1), ("10.1.16.0/22", 2), ("10.1.18.128/31", 4)]);
        let mut table = BloomTable::<u16>::compile(&rib, Pages::Small).unwrap();
        table.validate(&rib).unwrap();
        rib.insert("10.1.18.0/23".parse().unwrap(), NextHop(3));
        assert_eq!(table.validate(&rib).unwrap_err(), "the leaves are not those of the table");
        let patch = table.compile_again(&rib).unwrap();
        assert!(patch.is_whole() && patch.bytes() == table.image().bytes());
        table.validate(&rib).unwrap();
        let found = [0x0A01_1200, 0x0A01_1280, 0x0A01_1281, 0x0A01_1000, 7].map(|a| table.lookup(a));
        assert_eq!(found, [3, 4, 4, 2, 1]);
        *table.answers[1].iter_mut().find(|answer| **answer == 4).unwrap() = 5;
        assert_eq!(table.validate(&rib).unwrap_err(), "the ends are not those of the table");
    }
}
