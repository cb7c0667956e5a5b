//! Counting Bloom filters: sets that may report a false positive, but never a false negative.
//!
//! Bloom, "Space/time trade-offs in hash coding with allowable errors" (1970). The counters are
//! those of Fan, Cao, Almeida and Broder, "Summary Cache" (2000): one for each bit, so that keys
//! can be removed. Lookups read the bits alone.
//!
//! The filter does not see keys. Callers pass 32-bit hashes, *k* for each key.

use crate::blocks::hashing::{Reduction, Scaled};
use fibula::engine::Meter;
use fibula::parts::memory::{Array, Pages};
use std::f64::consts::LN_2;
use std::marker::PhantomData;

/// The size of a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// The number of bits, *m*: at least 1.
    pub bits: u32,
    /// The number of hashes of a key, *k*.
    pub hashes: u32,
}

/// What the size of a filter is chosen for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aim {
    /// A ratio of false positives in percent, 1 to 99: the fewest bits for it.
    Percent(u8),
    /// A number of hashes of a key, 1 to 64: the bits at which half of all are set, so that each
    /// hash halves the false positives.
    Hashes(u32),
}

impl Aim {
    /// Returns the size of a filter for `keys` keys.
    ///
    /// ```
    /// use fibula_engines::blocks::bloom::{Aim, Parameters};
    /// assert_eq!(Aim::Percent(30).parameters(971_555), Parameters::of(971_555, 30));
    /// let thirteen = Aim::Hashes(13).parameters(100_000); // 18.755 bits a key
    /// assert_eq!(thirteen, Parameters { bits: 1_875_504, hashes: 13 });
    /// ```
    #[must_use]
    pub fn parameters(self, keys: usize) -> Parameters {
        match self {
            Self::Percent(percent) => Parameters::of(keys, percent),
            Self::Hashes(hashes) => {
                // Saturates past 2^32.
                let bits = (keys as f64 * f64::from(hashes) / LN_2).ceil() as u32;
                Parameters { bits: bits.max(1), hashes }
            }
        }
    }

    /// Returns the ratio of false positives in percent.
    #[must_use]
    pub fn percent(self) -> f64 {
        match self {
            Self::Percent(percent) => percent.into(),
            Self::Hashes(hashes) => 100.0 * f64::from(hashes).exp2().recip(),
        }
    }
}

impl Parameters {
    /// Returns the size for `keys` keys and a false-positive ratio of `percent`, 1 to 99: m = -n ln
    /// f / (ln 2)^2 bits and k = -log2 f hashes, both rounded up.
    ///
    /// That m is the least for its f if k need not be whole. At ratios above one half, k is 1 and
    /// the ratio achieved is above f.
    ///
    /// ```
    /// use fibula_engines::blocks::bloom::Parameters;
    /// assert_eq!(Parameters::of(971_555, 30), Parameters { bits: 2_434_631, hashes: 2 });
    /// ```
    #[must_use]
    pub fn of(keys: usize, percent: u8) -> Self {
        debug_assert!((1..=99).contains(&percent));
        let information = -(f64::from(percent) / 100.0).ln() / LN_2;
        let bits = (keys as f64 * information / LN_2).ceil() as u32; // saturates past 2^32
        Self { bits: bits.max(1), hashes: information.ceil() as u32 }
    }
}

/// A counting Bloom filter.
///
/// A counter that reaches 255 stays there: its bit is not cleared for the rest of this filter's
/// life.
///
/// ```
/// use fibula_engines::blocks::bloom::{CountingFilter, Parameters};
/// use fibula::engine::Unmetered;
/// use fibula::parts::memory::Pages;
/// let mut filter: CountingFilter =
///     CountingFilter::new(Parameters { bits: 100, hashes: 1 }, Pages::Small);
/// let bit = |filter: &CountingFilter, hash| filter.bit(filter.position(hash), &mut Unmetered);
/// assert_eq!([filter.insert(7 << 26), filter.insert(7 << 26)], [true, false]); // set a bit?
/// assert_eq!([filter.remove(7 << 26), bit(&filter, 7 << 26) == 1], [false, true]);
/// assert_eq!([filter.remove(7 << 26), bit(&filter, 7 << 26) == 1], [true, false]);
/// ```
#[derive(Clone, Debug)]
pub struct CountingFilter<R = Scaled> {
    words: Array<u64>,
    counters: Array<u8>,
    parameters: Parameters,
    reduction: PhantomData<R>,
}

impl<R: Reduction> CountingFilter<R> {
    /// Creates an empty filter.
    #[must_use]
    pub fn new(parameters: Parameters, pages: Pages) -> Self {
        Self {
            words: Array::zeroed(parameters.bits.div_ceil(64) as usize, pages),
            counters: Array::zeroed(parameters.bits as usize, pages),
            parameters,
            reduction: PhantomData,
        }
    }

    /// Returns the size of the filter.
    #[must_use]
    #[inline(always)]
    pub fn parameters(&self) -> Parameters {
        self.parameters
    }

    /// Returns the index of the bit of `hash`.
    #[must_use]
    #[inline(always)]
    pub fn position(&self, hash: u32) -> u32 {
        R::reduce(hash, self.parameters.bits)
    }

    /// Returns the bit at `position`, 0 or 1.
    #[must_use]
    #[inline(always)]
    pub fn bit(&self, position: u32, meter: &mut impl Meter) -> u64 {
        meter.load(&self.words[position as usize / 64]) >> (position % 64) & 1
    }

    /// Returns the bits, 64 a word: bit *i* of the filter is bit *i* mod 64 of word *i* / 64.
    #[must_use]
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// Increments the counter of one of a key's hashes. Returns whether that set a bit.
    pub fn insert(&mut self, hash: u32) -> bool {
        let at = self.position(hash) as usize;
        let counter = &mut self.counters[at];
        let first = *counter == 0;
        *counter = counter.saturating_add(1);
        self.words[at / 64] |= 1 << (at % 64);
        first
    }

    /// Decrements the counter of one of a key's hashes. Returns whether that cleared a bit.
    pub fn remove(&mut self, hash: u32) -> bool {
        let at = self.position(hash) as usize;
        let counter = &mut self.counters[at];
        debug_assert!(*counter > 0, "removed what was never inserted");
        if *counter < u8::MAX {
            *counter -= 1;
        }
        let last = *counter == 0;
        if last {
            self.words[at / 64] &= !(1 << (at % 64));
        }
        last
    }

    /// Returns the bytes of the bits.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.words.bytes()
    }

    /// Returns the bytes of the counters.
    #[must_use]
    pub fn counter_bytes(&self) -> usize {
        self.counters.bytes()
    }

    /// Checks the filter against the hashes of all keys that are in it.
    ///
    /// # Errors
    /// Returns the first contradiction found.
    pub fn validate(&self, hashes: impl IntoIterator<Item = u32>) -> Result<(), String> {
        let mut counted = Self::new(self.parameters, Pages::Small);
        for hash in hashes {
            counted.insert(hash);
        }
        for (at, (&counter, &expected)) in self.counters.iter().zip(&*counted.counters).enumerate() {
            if counter != expected && counter != u8::MAX {
                return Err(format!("counter {at} is {counter}, expected {expected}"));
            }
            if (counter != 0) != (self.words[at / 64] >> (at % 64) & 1 == 1) {
                return Err(format!("bit {at} contradicts its counter, {counter}"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fibula::engine::Unmetered;

    /// Lucchesi et al. print the prefixes after expansion in section 6.1, and their filter
    /// parameters at 1, 10, 30, 60 and 90 % in section 6.2.
    #[test]
    fn table_of_filter_parameters_of_section_6_2() {
        for (keys, bits) in [
            (971_555, [9_312_412, 4_656_206, 2_434_631, 1_032_974, 213_057]),
            (113_397, [1_086_917, 543_459, 284_163, 120_566, 24_868]),
            (1_037_247, [9_942_074, 4_971_037, 2_599_250, 1_102_819, 227_463]),
            (67_397, [646_005, 323_003, 168_891, 71_658, 14_780]),
            (209_488, [2_007_955, 1_003_978, 524_959, 222_732, 45_940]),
            (19_863, [190_389, 95_195, 49_775, 21_119, 4_356]),
            (147_201, [1_410_931, 705_466, 368_873, 156_507, 32_281]),
        ] {
            let found = [1, 10, 30, 60, 90].map(|percent| Parameters::of(keys, percent));
            assert_eq!(found.map(|p| p.bits), bits);
            assert_eq!(found.map(|p| p.hashes), [7, 4, 2, 1, 1]);
        }
    }

    #[test]
    fn a_filter_of_nothing_still_has_a_bit() {
        assert_eq!(Parameters::of(0, 50), Parameters { bits: 1, hashes: 1 });
    }

    #[test]
    fn a_full_counter_keeps_its_bit() {
        let mut filter: CountingFilter = CountingFilter::new(Parameters { bits: 3, hashes: 1 }, Pages::Small);
        for _ in 0..300 {
            filter.insert(u32::MAX);
        }
        for _ in 0..300 {
            assert!(!filter.remove(u32::MAX));
        }
        assert_eq!([0, 2].map(|position| filter.bit(position, &mut Unmetered)), [0, 1]);
        filter.validate([]).unwrap();
    }

    #[test]
    fn a_wrong_counter_or_bit_is_found() {
        let mut filter: CountingFilter =
            CountingFilter::new(Parameters { bits: 100, hashes: 1 }, Pages::Small);
        filter.insert(1 << 31);
        filter.validate([1 << 31]).unwrap();
        assert_eq!(filter.validate([]).unwrap_err(), "counter 50 is 1, expected 0");
        filter.words[0] = 0;
        assert_eq!(filter.validate([1 << 31]).unwrap_err(), "bit 50 contradicts its counter, 1");
    }
}
