//! Fixed tables, from the empty one to thousands of nested routes.

use crate::Subject;
use crate::checked::{Checked, last_prefix};
use fibula::engine::WidthBits;
use fibula::{Address, NextHop, Prefix, Rib, Route};

/// A small generator of our own (SplitMix64), so that a failure repeats on every machine.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    pub(crate) fn address<A: Address>(&mut self) -> A {
        A::from_bits(self.next(), 0, 64) | (!A::mask(A::BITS.min(64)) & A::from_bits(self.next(), 64, 64))
    }
}

/// `count` host routes spread over the space, with next hops 1 to `next_hops`.
pub fn hosts<A: Address>(count: u32, next_hops: u32) -> Rib<A> {
    (0..count)
        .map(|i| Route {
            prefix: Prefix::host(A::from_bits(u64::from(i).wrapping_mul(0x9E37_79B9_7F4A_7C15), 0, 64)),
            next_hop: NextHop(i % next_hops + 1),
        })
        .collect()
}

/// Returns `count` routes that nest: each new one lies below, above or beside an earlier one. All
/// kinds of lengths occur.
pub fn random_nested<A: Address>(seed: u64, count: usize, next_hops: u32) -> Rib<A> {
    let mut random = Random(seed);
    let mut prefixes: Vec<Prefix<A>> = Vec::new();
    let mut rib = Rib::new();
    while rib.len() < count {
        let len = (random.below(u64::from(A::BITS)) + 1) as u8;
        let base = if prefixes.is_empty() || random.below(4) == 0 {
            random.address()
        } else {
            let near = prefixes[random.below(prefixes.len() as u64) as usize];
            near.first() | (random.address::<A>() & !A::mask(near.len()))
        };
        let prefix = Prefix::containing(base, len);
        prefixes.push(prefix);
        // Half the routes take the next hop of what covers them, so that equal neighbours occur.
        let parent = rib.parent(prefix).filter(|_| random.below(2) == 0);
        let next_hop =
            parent.map_or(NextHop(random.below(next_hops.into()) as u32 + 1), |route| route.next_hop);
        rib.insert(prefix, next_hop);
    }
    rib
}

/// A table without routes, and one of a default route.
pub fn empty_and_default<A: Address>(engine: &Subject, width: WidthBits) {
    let greatest = width.max().0.min(1 << 24);
    let mut table: Checked<A> = Checked::new(engine, Some(width), Rib::new());
    table.check();
    table.announce(Prefix::ALL, greatest);
    table.check();
    table.announce(last_prefix(A::BITS), 1);
    table.announce(Prefix::host(A::ZERO), greatest - 1);
    table.check();
    table.withdraw(Prefix::ALL);
    table.check();
}

/// Tables of routes inside others.
pub fn nested<A: Address>(engine: &Subject, width: WidthBits) {
    for (seed, next_hops) in [(1, 3), (2, 200)] {
        Checked::<A>::new(engine, Some(width), random_nested(seed, 1500, next_hops)).check();
    }
    let mut with_default = random_nested(3, 800, width.max().0.min(5000));
    with_default.insert(Prefix::ALL, NextHop(7));
    Checked::<A>::new(engine, Some(width), with_default).check();
}

/// Tables of few routes far from each other.
pub fn sparse<A: Address>(engine: &Subject, width: WidthBits) {
    Checked::<A>::new(engine, Some(width), hosts(1000, 255)).check();
    let every_length: Rib<A> = (0..=A::BITS)
        .flat_map(|len| {
            [A::ZERO, A::MAX, A::from_bits(0x2001_0DB8, 0, 32)].map(|a| Prefix::containing(a, len))
        })
        .map(|prefix| Route { prefix, next_hop: NextHop(u32::from(prefix.len()) + 1) })
        .collect();
    Checked::new(engine, Some(width), every_length).check();
}
