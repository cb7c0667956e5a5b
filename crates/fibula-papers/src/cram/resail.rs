//! `resail`: bit maps of 12 lengths, one hash table for all of them, and a ternary memory for what
//! is longer than /24.
//!
//! R. Chang, P. Dogga, A. Fingerhut, V. Rios, G. Varghese, "Scaling IP Lookup to Large Databases
//! using the CRAM Lens", NSDI 2025. The paper's full text was not at hand: this is what the
//! authors' own programs do (github.com/jafingerhut/cram, `resail/resailgen.py` and
//! `resail_ipv4.p4`).
//!
//! # Layout
//!
//! ```text
//! look-aside     ternary, 32 bits: every route longer than /24     ->  next hop
//! bit map 24     2^24 bits: is there a route of this length?
//!    ...
//! bit map 13     2^13 bits; shorter routes are expanded to /13
//! hash table     25-bit key  ->  next hop, of all bit maps
//!                24..............0
//!                prefix  1  0...0    the 1 tells the length
//! ```
//!
//! A chip reads look-aside and all bit maps at once, then the hash table once: two steps. The
//! longest length with its bit set is the match, unless the look-aside has one.
//!
//! # Worked example
//!
//! 10.0.0.0/8 to 1, 10.1.2.0/24 to 2, 10.1.2.3/32 to 3. The /8 becomes 32 routes of /13. 10.1.2.3
//! matches in the look-aside: 3. 10.1.2.4 has bit 0x0A0102 of map 24, whose key is 0x0A0102 << 1 |
//! 1: 2. 10.1.3.4 has bit 0x0A01 >> 3 of map 13, whose key is (0x0A01 >> 3) << 12 | 1 << 11: 1.
//!
//! # What differs from the authors' programs
//!
//! - The hash table is probed line by line, where a chip has hash units of its own. It is 80 % full
//!   at most, as theirs.
//! - A change builds the table again.

use super::tcam::{Tcam, narrow};
use fibula::engine::{About, Config, Engine, Figure, Lookup, Meter, Updates, Width};
use fibula::parts::arch::Isa;
use fibula::parts::memory::Memory;
use fibula::{Error, Prefix, Rib, Route};

/// What the tools print about the engine.
pub(super) const ABOUT: About = About {
    name: "resail",
    paper: "Chang, Dogga, Fingerhut, Rios, Varghese, Scaling IP Lookup to Large Databases using the CRAM Lens, NSDI 2025",
    year: 2025,
    updates: Updates::Rebuild,
    ..About::DEFAULT
};

/// The shortest length with a bit map: the authors' cutoff.
pub(super) const SHORTEST: u8 = 13;

/// The longest.
pub(super) const LONGEST: u8 = 24;

/// The bits of a key of the hash table.
pub(super) const KEY_BITS: u8 = LONGEST + 1;

/// The slots of the hash table for each four keys.
const SLOTS_FOR_FOUR: usize = 5;

/// The engine; see the [module](self).
#[derive(Clone, Debug)]
pub(crate) struct Resail<W: Width> {
    look_aside: Tcam<W>,
    /// From the longest to the shortest.
    maps: Vec<Vec<u64>>,
    /// Keys, 0 where a slot is empty, and next hops.
    slots: Vec<(u32, W)>,
}

/// Returns the key of a prefix of at most 24 bits.
fn key(bits: u32, len: u8) -> u32 {
    (bits << 1 | 1) << (LONGEST - len)
}

/// Returns the slot in which the search for a key begins.
fn home(key: u32, slots: usize) -> usize {
    let hash = key.wrapping_mul(0x9E37_79B1);
    ((u64::from(hash) * slots as u64) >> 32) as usize
}

/// Returns the routes of 13 to 24 bits that answer as all routes to /24 do.
fn expanded(rib: &Rib<u32>) -> Vec<Route<u32>> {
    let mut routes: Vec<Route<u32>> = Vec::new();
    let mut cutoff: Vec<(u8, Route<u32>)> = Vec::new();
    for route in rib.iter().filter(|route| route.prefix.len() <= LONGEST) {
        let len = route.prefix.len();
        if len > SHORTEST {
            routes.push(route);
            continue;
        }
        let first = route.prefix.first() >> (32 - SHORTEST);
        for bits in first..first + (1 << (SHORTEST - len)) {
            let prefix = Prefix::containing(bits << (32 - SHORTEST), SHORTEST);
            cutoff.push((len, Route { prefix, ..route }));
        }
    }
    // Of the routes that meet, the one that was longest answers.
    cutoff.sort_by_key(|&(len, route)| (route.prefix.first(), std::cmp::Reverse(len)));
    cutoff.dedup_by_key(|(_, route)| route.prefix.first());
    routes.extend(cutoff.into_iter().map(|(_, route)| route));
    routes
}

impl<W: Width> Resail<W> {
    fn find(&self, wanted: u32, meter: &mut impl Meter) -> W {
        meter.hash();
        let mut at = home(wanted, self.slots.len());
        loop {
            let (key, next_hop) = meter.load(&self.slots[at]);
            if key == wanted {
                return next_hop;
            }
            at = if at + 1 == self.slots.len() { 0 } else { at + 1 };
        }
    }

    fn keys(&self) -> usize {
        self.slots.iter().filter(|(key, _)| *key != 0).count()
    }
}

impl<W: Width> Lookup<u32> for Resail<W> {
    type Width = W;

    #[inline(always)]
    fn lookup_metered<M: Meter>(&self, address: u32, meter: &mut M) -> W {
        if let Some(next_hop) = self.look_aside.get(address.into(), 32, meter) {
            return next_hop;
        }
        for (map, len) in self.maps.iter().zip((SHORTEST..=LONGEST).rev()) {
            let bits = address >> (32 - len);
            let word = meter.on_chip(|meter| meter.load(&map[bits as usize / 64]));
            if word >> (bits % 64) & 1 == 1 {
                return self.find(key(bits, len), meter);
            }
        }
        W::narrow(fibula::NextHop::NONE)
    }

    #[inline(always)]
    fn lookup_batch<I: Isa>(&self, _: I, addresses: &[u32], next_hops: &mut [W]) {
        for (&address, next_hop) in addresses.iter().zip(next_hops) {
            *next_hop = self.lookup(address);
        }
    }
}

impl<W: Width> Engine<u32> for Resail<W> {
    type View = Self;

    fn build(rib: &Rib<u32>, _: &Config) -> Result<Self, Error> {
        let longer = rib.iter().filter(|route| route.prefix.len() > LONGEST);
        let look_aside = Tcam::of(longer.map(|Route { prefix, next_hop }| {
            (prefix.len(), (prefix.first() >> (32 - prefix.len())).into(), narrow(next_hop))
        }));
        let routes = expanded(rib);
        let slots = routes.len() * SLOTS_FOR_FOUR / 4 + 1;
        let mut engine = Self {
            look_aside,
            maps: (SHORTEST..=LONGEST).rev().map(|len| vec![0; 1 << (len - 6)]).collect(),
            slots: vec![(0, W::narrow(fibula::NextHop::NONE)); slots],
        };
        for Route { prefix, next_hop } in routes {
            let len = prefix.len();
            let bits = prefix.first() >> (32 - len);
            engine.maps[usize::from(LONGEST - len)][bits as usize / 64] |= 1 << (bits % 64);
            let key = key(bits, len);
            let mut at = home(key, slots);
            while engine.slots[at].0 != 0 {
                at = if at + 1 == slots { 0 } else { at + 1 };
            }
            engine.slots[at] = (key, W::narrow(next_hop));
        }
        Ok(engine)
    }

    fn view(&self) -> &Self {
        self
    }

    fn memory(&self) -> Memory {
        let maps = self.maps.iter().map(|map| size_of_val(&map[..])).sum();
        Memory::new()
            .on_chip("look-aside", self.look_aside.bytes(32))
            .on_chip("bit maps", maps)
            .on_chip("hash table", size_of_val(&self.slots[..]))
    }

    fn figures(&self) -> Vec<Figure> {
        vec![
            Figure::count("look-aside words", self.look_aside.len()),
            Figure::count("bit maps", self.maps.len()),
            Figure::count("bits of maps", self.maps.iter().map(|map| map.len() * 64).sum()),
            Figure::count("keys", self.keys()),
            Figure::count("slots", self.slots.len()),
        ]
    }

    fn validate(&self, rib: &Rib<u32>) -> Result<(), String> {
        let (keys, expected) = (self.keys(), expanded(rib).len());
        if keys != expected {
            return Err(format!("{keys} keys for {expected} routes"));
        }
        let set: usize = self.maps.iter().flatten().map(|word| word.count_ones() as usize).sum();
        if set == keys { Ok(()) } else { Err(format!("{set} bits for {keys} keys")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fibula::NextHop;

    #[test]
    fn the_worked_example() {
        let mut rib: Rib<u32> = Rib::new();
        for (prefix, next_hop) in [("10.0.0.0/8", 1), ("10.1.2.0/24", 2), ("10.1.2.3/32", 3)] {
            rib.insert(prefix.parse().unwrap(), NextHop(next_hop));
        }
        let engine: Resail<u8> = Resail::build(&rib, &Config::default()).unwrap();
        engine.validate(&rib).unwrap();
        assert_eq!((engine.keys(), engine.look_aside.len()), (33, 1));
        assert_eq!(
            [0x0A01_0203, 0x0A01_0204, 0x0A01_0304, 0x0B00_0000].map(|a| engine.lookup(a)),
            [3, 2, 1, 0]
        );
        assert_eq!(key(0x000A_0102, 24), 0x000A_0102 << 1 | 1);
        assert_eq!(key(0x0A01 >> 3, 13), (0x0A01 >> 3) << 12 | 1 << 11);
    }
}
