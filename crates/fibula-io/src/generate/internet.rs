//! Places the prefixes of a made full table.

use super::mix::{self, Mix};
use super::random::Random;
use super::weights::Weights;
use fibula::{Address, Prefix};
use std::collections::HashSet;
use std::ops::RangeInclusive;

/// The constants of one family's full table.
pub(crate) struct Shape {
    pub(crate) mix: &'static Mix,
    /// The lengths that grow in number when the table grows.
    pub(crate) grows: RangeInclusive<u8>,
    /// How many of a thousand prefixes of a length have a shorter cover.
    nested: fn(u8) -> u32,
    /// The blocks that registries assign from: first bits and weight.
    registry: fn(&mut Random) -> Vec<(u64, u64)>,
    registry_len: u8,
    /// The levels below the registry. For prefixes up to the first length, sites have the second
    /// length. The third is how many of a thousand runs go to a site that is used already.
    sites: &'static [(u8, u8, u32)],
    /// A cover that is shorter by this number of bits is twice as likely to be split further.
    pull: u8,
    /// How many of a thousand runs under a cover go to one that was split before.
    again: u32,
    /// How many of a thousand runs under a cover avoid the prefixes that have a cover themselves.
    shallow: u32,
    /// Later runs come close to earlier ones. The most frequent distance is a block this number of
    /// bits shorter than the run's prefixes.
    close: u8,
    /// The length of the runs, by prefix length.
    runs: fn(u8) -> Runs,
    /// Operators number from zero up. This is how many of a thousand runs have few bits set.
    low: u32,
    /// Prefixes that are always in the table, by their first bits. Nothing is placed under them.
    fixed: &'static [(u8, u64)],
}

/// The lengths of runs of neighbours. One block is often announced in equal parts.
#[derive(Clone, Copy)]
enum Runs {
    Single,
    Few,
    Short,
}

/// The lengths of runs.
const RUN_LENGTHS: [u8; 5] = [1, 2, 4, 8, 16];

impl Runs {
    const ALL: [Self; 3] = [Self::Single, Self::Few, Self::Short];

    /// How many of 64 runs have each length.
    fn weights(self) -> [u64; 5] {
        match self {
            Self::Single => [64, 0, 0, 0, 0],
            Self::Few => [50, 10, 4, 0, 0],
            Self::Short => [41, 13, 6, 3, 1],
        }
    }
}

/// IPv4: 221 public /8s of unequal use; below them, operators' /16s.
pub(crate) const IPV4: Shape = Shape {
    mix: mix::IPV4,
    grows: 22..=24,
    nested: |len| match len {
        0..=12 => 100,
        13..=15 => 180,
        16 => 240,
        17 | 18 => 480,
        19 => 390,
        20 | 21 => 540,
        22 => 450,
        23 => 560,
        24 => 505,
        _ => 990,
    },
    registry: |random| {
        let public = (1..=223).filter(|first| ![10, 127].contains(first));
        public.map(|first| (first, (1 + random.below(8)) * (1 + random.below(4)))).collect()
    },
    registry_len: 8,
    sites: &[(16, 8, 0), (32, 16, 985)],
    pull: 3,
    again: 850,
    shallow: 500,
    close: 8,
    runs: |len| match len {
        ..=15 => Runs::Single,
        16..=23 => Runs::Few,
        _ => Runs::Short,
    },
    low: 0,
    fixed: &[],
};

/// IPv6: the /16s of the registries, weighted by their share of a full table; below them /24s, and
/// in those operators' /32s.
pub(crate) const IPV6: Shape = Shape {
    mix: mix::IPV6,
    grows: 29..=48,
    nested: |len| match len {
        0..=28 => 150,
        29 => 10,
        30 | 31 => 450,
        32 => 80,
        33..=35 => 750,
        36 => 560,
        37..=43 => 650,
        44..=47 => 680,
        48 => 490,
        _ => 800,
    },
    registry: |_| {
        // (first /16, number of consecutive /16s, weight of each)
        let blocks = [
            (0x2001, 1, 104),
            (0x2400, 8, 24),
            (0x2408, 2, 48),
            (0x240A, 2, 10),
            (0x240E, 1, 21),
            (0x2600, 1, 36),
            (0x2602, 6, 15),
            (0x2610, 1, 2),
            (0x2620, 1, 12),
            (0x2800, 2, 15),
            (0x2803, 1, 34),
            (0x2804, 1, 114),
            (0x2806, 1, 25),
            (0x2A00, 2, 19),
            (0x2A02, 1, 40),
            (0x2A03, 5, 9),
            (0x2A09, 12, 8),
            (0x2C0F, 1, 16),
        ];
        blocks
            .iter()
            .flat_map(|&(first, count, weight)| (first..first + count).map(move |b| (b, weight)))
            .collect()
    },
    registry_len: 16,
    sites: &[(24, 16, 0), (32, 24, 680), (128, 32, 935)],
    pull: 4,
    again: 850,
    shallow: 350,
    close: 5,
    runs: |len| match len {
        ..=28 => Runs::Single,
        29..=32 => Runs::Few,
        _ => Runs::Short,
    },
    low: 750,
    // 6to4, RFC 3056
    fixed: &[(16, 0x2002)],
};

/// IPv6 of any length mix, also one with more short prefixes than are assigned today. It uses the
/// registries' /12 blocks and those after them, each with one and a half times the weight of the
/// next. Below them are operators' blocks as in [`IPV6`].
pub(crate) const ALLOCATED: Shape = Shape {
    registry: |_| {
        // (first /12, weight)
        let registries = [(0x200, 2), (0x240, 6), (0x260, 4), (0x280, 4), (0x2A0, 7), (0x2C0, 1)];
        let weights = [128, 85, 57, 38, 25, 17, 11, 8];
        let blocks = |(first, share): (u64, u64)| (first..).zip(weights.map(|weight| weight * share));
        registries.into_iter().flat_map(blocks).collect()
    },
    registry_len: 12,
    sites: &[(24, 12, 0), (32, 24, 680), (128, 32, 935)],
    fixed: &[],
    ..IPV6
};

/// The number of tries for one kind of position before another kind is used.
const PATIENCE: u32 = 256;

/// Places the prefixes of a length mix. Returns every prefix once, in table order. O(n log n).
pub(crate) fn place<A: Address>(shape: &Shape, mix: &Mix, seed: u64) -> Vec<Prefix<A>> {
    let mut table = Placing::new(shape, seed);
    for &(len, count) in mix {
        table.add(len, count as usize);
    }
    let mut all: Vec<Prefix<A>> = table.placed.into_iter().flat_map(|placed| placed.prefixes).collect();
    all.sort_unstable();
    all
}

/// A table in the making. Shorter prefixes are placed first, so that a prefix's cover is there
/// before it.
struct Placing<'a, A> {
    shape: &'a Shape,
    random: Random,
    registry: Vec<Prefix<A>>,
    weights: Weights,
    runs: [Weights; 3],
    /// All prefixes so far by length.
    placed: Vec<Placed<A>>,
    /// The prefixes without cover, in order. They are disjoint, and together they are all that is
    /// covered.
    roots: Vec<Prefix<A>>,
    /// The prefixes with one cover, in order. They are disjoint, and together they are all that is
    /// covered twice.
    inner: Vec<Prefix<A>>,
    /// For every level of [`Shape::sites`], the site of each run so far. A site is in the list as
    /// often as it was used.
    used: Vec<Vec<Prefix<A>>>,
    /// The same for blocks under a cover.
    split: Vec<Prefix<A>>,
}

/// The prefixes of one length, in the order they were placed.
struct Placed<A> {
    len: u8,
    /// The number of prefixes at the front that are [`Shape::fixed`].
    fixed: usize,
    /// The end of the prefixes that have no cover.
    roots: usize,
    prefixes: Vec<Prefix<A>>,
}

impl<A> Placed<A> {
    /// The prefixes that longer ones may be placed under.
    fn covers(&self, only_roots: bool) -> &[Prefix<A>] {
        let end = if only_roots { self.roots } else { self.prefixes.len() };
        &self.prefixes[self.fixed..end]
    }
}

impl<'a, A: Address> Placing<'a, A> {
    fn new(shape: &'a Shape, seed: u64) -> Self {
        let mut random = Random::new(seed, A::BITS.into());
        let registry = (shape.registry)(&mut random);
        let weights: Vec<u64> = registry.iter().map(|&(_, weight)| weight).collect();
        let len = shape.registry_len;
        Self {
            shape,
            random,
            registry: registry
                .iter()
                .map(|&(bits, _)| Prefix::containing(A::from_bits(bits, 0, len), len))
                .collect(),
            weights: Weights::new(&weights),
            runs: Runs::ALL.map(|runs| Weights::new(&runs.weights())),
            placed: Vec::new(),
            roots: Vec::new(),
            inner: Vec::new(),
            used: vec![Vec::new(); shape.sites.len()],
            split: Vec::new(),
        }
    }

    /// Places `count` prefixes of a length that is longer than all before.
    fn add(&mut self, len: u8, count: usize) {
        let mut level = Level {
            len,
            quota: count,
            avoid_used: false,
            taken: HashSet::with_capacity(count),
            order: Vec::new(),
        };
        let nested =
            if self.placed.is_empty() { 0 } else { count * (self.shape.nested)(len) as usize / 1000 };
        for &(_, bits) in self.shape.fixed.iter().filter(|&&(fixed, _)| fixed == len) {
            level.put(Prefix::containing(A::from_bits(bits, 0, len), len));
        }
        let fixed = level.order.len();
        level.quota = count - nested;
        self.fill(&mut level, Self::run_outside);
        self.roots.extend_from_slice(&level.order);
        self.roots.sort();
        let roots = level.order.len();
        level.quota = count;
        self.fill(&mut level, Self::run_inside);
        let wanted = level.order.len();
        // Where the space outside or inside is too full for the wanted share, any position is
        // taken.
        while level.order.len() < count {
            let block = self.registry_block();
            let part = self.random.part(block, len.max(block.len()));
            level.put(part);
        }
        let outside = level.order[wanted..].iter().filter(|&&prefix| !self.is_covered(prefix));
        let outside: Vec<Prefix<A>> = outside.copied().collect();
        self.roots.extend(outside);
        self.roots.sort();
        let inner = level.order[roots..].iter().filter(|&&prefix| !covered(&self.inner, prefix));
        let inner: Vec<Prefix<A>> = inner.filter(|&&prefix| self.is_covered(prefix)).copied().collect();
        self.inner.extend(inner);
        self.inner.sort();
        self.placed.push(Placed { len, fixed, roots, prefixes: level.order });
    }

    /// Places runs by one method until the quota is met, or until that method has failed too often.
    fn fill(&mut self, level: &mut Level<A>, run: fn(&mut Self, &mut Level<A>)) {
        let mut idle = 0;
        while level.order.len() < level.quota && idle < PATIENCE {
            let before = level.order.len();
            // Sites that are used already may be full.
            level.avoid_used = idle >= 8;
            run(self, level);
            idle = if level.order.len() > before { 0 } else { idle + 1 };
        }
    }

    /// Places a run of neighbours that no shorter prefix covers.
    fn run_outside(&mut self, level: &mut Level<A>) {
        let depth = self.depth(level.len);
        let (site, again) = self.site(depth, level.avoid_used);
        let before = level.order.len();
        for prefix in self.run(site, level.len.max(site.len())) {
            if !self.is_covered(prefix) {
                level.put(prefix);
            }
        }
        if level.order.len() > before {
            let placed = level.order[before];
            for (used, &(_, len, _)) in self.used.iter_mut().zip(self.shape.sites).take(depth) {
                used.push(Prefix::containing(placed.first(), len));
            }
            let close = self.close_to(placed, self.shape.sites[depth].1);
            self.used[depth].push(close);
        } else if let Some(index) = again {
            // The site may be full; it stays in the list for the runs that it has.
            self.used[depth].swap_remove(index);
        }
    }

    /// Places a run of neighbours under one shorter prefix.
    fn run_inside(&mut self, level: &mut Level<A>) {
        let again = !level.avoid_used && self.random.chance(self.shape.again) && !self.split.is_empty();
        let again = again.then(|| self.random.index(self.split.len()));
        let cover = match again {
            Some(index) => Some(self.split[index]),
            None => self.fresh_cover(level.len),
        };
        let Some(cover) = cover else { return };
        let before = level.order.len();
        // Two covers are less common than one, three much less.
        let shallow = self.random.chance(self.shape.shallow);
        for prefix in self.run(cover, level.len) {
            if !(shallow && covered(&self.inner, prefix)) {
                level.put(prefix);
            }
        }
        if level.order.len() > before {
            let site = self.shape.sites[self.depth(level.len)].1;
            let close = self.close_to(level.order[before], site.max(cover.len()));
            self.split.push(close);
        } else if let Some(index) = again {
            self.split.swap_remove(index);
        }
    }

    /// Returns the block that a run near this prefix is placed in. It is not shorter than `least`.
    fn close_to(&mut self, prefix: Prefix<A>, least: u8) -> Prefix<A> {
        let len = if self.random.chance(850) { prefix.len().saturating_sub(self.shape.close) } else { 0 };
        Prefix::containing(prefix.first(), len.max(least))
    }

    /// Picks a prefix shorter than `len`. The length is weighted by the number of prefixes and
    /// their free space. Mostly it is one without a cover of its own.
    fn fresh_cover(&mut self, len: u8) -> Option<Prefix<A>> {
        let only_roots = self.random.chance(650);
        let weight = |class: &Placed<A>| {
            let doublings = u32::from((len - class.len) / self.shape.pull);
            (class.covers(only_roots).len() as u64) << doublings.min(16)
        };
        let mut drawn = self.random.below(self.placed.iter().map(weight).sum());
        let class = self.placed.iter().find(|class| {
            let here = drawn < weight(class);
            drawn = drawn.saturating_sub(weight(class));
            here
        })?;
        self.random.one_of(class.covers(only_roots))
    }

    /// Returns a run of neighbouring prefixes of one length in a block, mostly aligned as the parts
    /// of one larger block.
    fn run(&mut self, block: Prefix<A>, len: u8) -> impl Iterator<Item = Prefix<A>> + use<A> {
        let drawn = self.runs[(self.shape.runs)(len) as usize].draw(&mut self.random);
        let length = RUN_LENGTHS[drawn];
        let aligned = self.random.chance(500);
        let bits = length.trailing_zeros() as u8;
        let start = if aligned { len.saturating_sub(bits).max(block.len()) } else { len };
        let mut first = self.random.within(block);
        if self.random.chance(self.shape.low) {
            first = first & self.random.within(block) & self.random.within(block);
        }
        let start = Prefix::containing(first, start).first();
        let step = move |prefix: &Prefix<A>| prefix.last().next().map(|first| Prefix::containing(first, len));
        std::iter::successors(Some(Prefix::containing(start, len)), step)
            .take(length.into())
            .take_while(move |prefix| block.covers(*prefix))
    }

    /// Returns the level of [`Shape::sites`] for prefixes of a length.
    fn depth(&self, len: u8) -> usize {
        self.shape.sites.iter().position(|&(up_to, ..)| len <= up_to).unwrap_or_default()
    }

    /// Picks the site of prefixes without cover. A site that is used often is picked more often, as
    /// for operators.
    ///
    /// Also returns the site's index in [`Placing::used`] if it has one.
    fn site(&mut self, depth: usize, avoid_used: bool) -> (Prefix<A>, Option<usize>) {
        let (_, len, again) = self.shape.sites[depth];
        if !avoid_used && self.random.chance(again) && !self.used[depth].is_empty() {
            let index = self.random.index(self.used[depth].len());
            return (self.used[depth][index], Some(index));
        }
        let above = if depth == 0 { self.registry_block() } else { self.site(depth - 1, avoid_used).0 };
        (self.random.part(above, len), None)
    }

    fn registry_block(&mut self) -> Prefix<A> {
        let drawn = self.weights.draw(&mut self.random);
        self.registry[drawn]
    }

    /// Returns whether a shorter prefix covers this one.
    fn is_covered(&self, prefix: Prefix<A>) -> bool {
        covered(&self.roots, prefix)
    }
}

/// Returns whether one of `disjoint`, which are in order, is shorter than this one and covers it.
fn covered<A: Address>(disjoint: &[Prefix<A>], prefix: Prefix<A>) -> bool {
    let after = disjoint.partition_point(|cover| *cover <= prefix);
    after.checked_sub(1).is_some_and(|i| disjoint[i] != prefix && disjoint[i].covers(prefix))
}

/// The prefixes of one length while they are placed.
struct Level<A> {
    len: u8,
    quota: usize,
    /// Whether to avoid the sites that are used already.
    avoid_used: bool,
    taken: HashSet<Prefix<A>>,
    order: Vec<Prefix<A>>,
}

impl<A: Address> Level<A> {
    fn put(&mut self, prefix: Prefix<A>) {
        if self.order.len() < self.quota && self.taken.insert(prefix) {
            self.order.push(prefix);
        }
    }
}
