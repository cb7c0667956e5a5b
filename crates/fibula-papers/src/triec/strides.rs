//! Table 4: the paper's two series of strides, by the accesses and bytes that follow from a table's
//! prefixes. No engine is built for the second.

use super::tables::{LARGEST, table};
use crate::{Error, Facts, Finding, Lab, Plot, Point};
use fibula::{NextHop, Prefix, Rib};
use fibula_io::generate::TriecGroup;
use fibula_io::trace::TraceKind;
use std::collections::{HashMap, HashSet};
use std::iter;

/// Table 4 as printed: million packets a second with 1, 2, 4 and 8 microengines.
pub(super) const TABLE_4: [(&str, [f64; 4]); 6] = [
    ("1-SRAM", [8.20, 16.43, 30.87, 33.62]),
    ("4-SRAM", [8.26, 16.50, 32.14, 63.97]),
    ("DRAM-128", [5.59, 10.41, 12.90, 13.04]),
    ("DRAM-256", [4.52, 7.29, 12.05, 12.34]),
    ("Hybrid-1", [5.43, 10.79, 21.08, 21.91]),
    ("Hybrid-2", [4.97, 9.46, 19.19, 21.80]),
];

/// Figure 3: the entries of TrieC15/6 and of a TrieC4/4 node, and the bytes of each.
const ENTRIES: [(f64, f64); 2] = [(32_768.0, 16.0), (16.0, 8.0)];

/// What exhibits say of the model.
pub(super) const MODEL: &str = "The model is a closed network of threads, microengines, channels and the bus from DRAM, fitted to two cells: Table 4's 1-SRAM with eight microengines, and Table 6 without overlapping with one. All other cells are predictions.";

/// The numbers of microengines.
pub(super) const MICROENGINES: [u32; 4] = [1, 2, 4, 8];

/// The bytes of a next-hop index.
const NHI_BYTES: usize = 2;

/// The bits of an address that are the same in all of 2000::/3.
const FORMAT: u8 = 3;

/// The last bit that any series of strides looks up before the hash.
const HASHED: u8 = 48;
/// The last bit of all.
const LAST: u8 = 64;

/// A level of the trie.
#[derive(Clone, Copy, Debug)]
struct Level {
    /// The bits of the address before it.
    start: u8,
    /// The bits of the address to its end.
    end: u8,
    /// The bits of the address that choose one of an entry's slots.
    slot_bits: u8,
    /// The next-hop indices in an entry.
    held: usize,
}

impl Level {
    /// Returns the length of an entry's prefix.
    fn entry_len(self) -> u8 {
        self.end - self.slot_bits
    }

    /// Returns the bytes of an entry: its BitAtlas and its next-hop indices.
    fn entry_bytes(self) -> usize {
        (1 << self.slot_bits) / 8 + self.held * NHI_BYTES
    }

    /// Returns the entries of a node.
    fn entries(self) -> usize {
        1 << (self.entry_len() - self.start.max(FORMAT))
    }
}

/// A series of strides before the hash.
#[derive(Clone, Copy, Debug)]
struct Series {
    name: &'static str,
    levels: &'static [Level],
}

/// The paper's series for SRAM, and those for DRAM with a BitAtlas of 128 and of 256 bits. What the
/// paper leaves open: the latter have as many bytes of next-hop indices in an entry as of BitAtlas,
/// as TrieC15/6 has.
const SERIES: [Series; 3] = [
    Series {
        name: "24-8-8-8-16",
        levels: &[
            Level { start: 0, end: 24, slot_bits: 6, held: 4 },
            Level { start: 24, end: 32, slot_bits: 4, held: 3 },
            Level { start: 32, end: 40, slot_bits: 4, held: 3 },
            Level { start: 40, end: HASHED, slot_bits: 4, held: 3 },
        ],
    },
    Series {
        name: "24-24-16, 128 bits",
        levels: &[
            Level { start: 0, end: 24, slot_bits: 7, held: 8 },
            Level { start: 24, end: HASHED, slot_bits: 7, held: 8 },
        ],
    },
    Series {
        name: "24-24-16, 256 bits",
        levels: &[
            Level { start: 0, end: 24, slot_bits: 8, held: 16 },
            Level { start: 24, end: HASHED, slot_bits: 8, held: 16 },
        ],
    },
];

/// A slot of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Slot {
    /// The length and the next hop of the longest route that covers the slot and is longer than the
    /// entry.
    answer: Option<(u8, NextHop)>,
    /// The node below, or [`FLAG`] on the last level.
    below: Option<u128>,
}

/// What stands for a node where Hash16 may have more.
const FLAG: u128 = 0;

/// A slot of an entry without longer routes.
const COVERED: Slot = Slot { answer: None, below: None };

/// What a table needs of a level.
#[derive(Debug)]
struct Shape {
    level: Level,
    /// The number of next-hop indices of each entry in which routes begin or end, by prefix.
    indices: HashMap<u128, usize>,
    /// The slots, by prefix, below which routes are longer.
    below: HashSet<u128>,
    /// The number of entries that routes of this level or longer ones cover or are in.
    reached: u128,
}

impl Shape {
    /// Returns what the routes of 2000::/3 up to /64 need.
    fn of(rib: &Rib<u128>, level: Level) -> Self {
        let entry_of = |address: u128| address >> (128 - level.entry_len());
        let mut shape = Self { level, indices: HashMap::new(), below: HashSet::new(), reached: 0 };
        let mut slots = vec![COVERED; 1 << level.slot_bits];
        // Routes are in the order of their addresses, covers first: those in an entry are adjacent,
        // and a route overwrites what covers it.
        let routes = rib.iter().filter(|route| {
            let prefix = route.prefix;
            prefix.first() >> (128 - FORMAT) == 0b001 && (level.start + 1..=LAST).contains(&prefix.len())
        });
        let mut unreached = 0;
        for prefix in routes.clone().map(|route| route.prefix) {
            let [first, last] = [prefix.first(), prefix.last()].map(entry_of);
            shape.reached += (last + 1).saturating_sub(first.max(unreached));
            unreached = unreached.max(last + 1);
        }
        let mut routes = routes.filter(|route| route.prefix.len() > level.entry_len()).peekable();
        while let Some(route) = routes.next() {
            let entry = entry_of(route.prefix.first());
            slots.fill(COVERED);
            let next = || routes.next_if(|other| entry_of(other.prefix.first()) == entry);
            for route in iter::once(route).chain(iter::from_fn(next)) {
                shape.paint(&mut slots, route.prefix, route.next_hop);
            }
            let changes = slots.windows(2).filter(|pair| pair[0] != pair[1]).count();
            shape.indices.insert(entry, 1 + changes);
        }
        shape
    }

    /// Writes a route to the slots of its entry.
    fn paint(&mut self, slots: &mut [Slot], prefix: Prefix<u128>, next_hop: NextHop) {
        let [first, last] = [prefix.first(), prefix.last()].map(|address| address >> (128 - self.level.end));
        let within = slots.len() - 1;
        let in_entry = |slot: u128| slot as usize & within;
        if prefix.len() <= self.level.end {
            let answer = Some((prefix.len(), next_hop));
            slots[in_entry(first)..=in_entry(last)].fill(Slot { answer, below: None });
            return;
        }
        self.below.insert(first);
        let slot = &mut slots[in_entry(first)];
        if self.level.end == HASHED {
            slot.below = Some(FLAG); // beside the answer
        } else {
            *slot = Slot { answer: None, below: Some(first) };
        }
    }

    /// Returns the accesses of an address on this level, and whether it goes on to the next.
    fn accesses(&self, address: u128) -> (u32, bool) {
        let indices = self.indices.get(&(address >> (128 - self.level.entry_len())));
        let has_extra = indices.is_some_and(|&indices| indices > self.level.held);
        (1 + u32::from(has_extra), self.below.contains(&(address >> (128 - self.level.end))))
    }

    /// Returns the bytes of next-hop indices that entries have no room for.
    fn extra_bytes(&self) -> usize {
        self.indices.values().filter(|&&indices| indices > self.level.held).sum::<usize>() * NHI_BYTES
    }
}

/// Returns the shapes of all levels.
fn shapes(rib: &Rib<u128>, series: Series) -> Vec<Shape> {
    series.levels.iter().map(|&level| Shape::of(rib, level)).collect()
}

/// Returns the accesses of a lookup before the hash.
fn accesses(shapes: &[Shape], address: u128) -> u32 {
    let mut sum = 0;
    for shape in shapes {
        let (accesses, is_below) = shape.accesses(address);
        sum += accesses;
        if !is_below {
            break;
        }
    }
    sum
}

/// Returns the bytes of the levels with nodes as arrays of all of their entries, and with those
/// entries alone that routes reach.
fn bytes(shapes: &[Shape]) -> [usize; 2] {
    let mut sums = [0; 2];
    let mut nodes = 1; // the root
    for shape in shapes {
        let entry_bytes = shape.level.entry_bytes();
        sums[0] += nodes * shape.level.entries() * entry_bytes + shape.extra_bytes();
        sums[1] += shape.reached as usize * entry_bytes + shape.extra_bytes();
        nodes = shape.below.len();
    }
    sums
}

/// Returns the bytes of a table with the paper's strides and entries, and the accesses of each
/// lookup if no entry had an ExtraNHIA: one for each level.
pub(super) fn of_the_paper(rib: &Rib<u128>, addresses: &[u128]) -> (usize, Vec<usize>) {
    let shapes = shapes(rib, SERIES[0]);
    let levels = |&address: &u128| {
        let goes_on = |shape: &&Shape| shape.accesses(address).1;
        shapes[..shapes.len() - 1].iter().take_while(goes_on).count() + 1
    };
    (bytes(&shapes)[0], addresses.iter().map(levels).collect())
}

/// Returns the bits that both counts of a worst packet pass: all of the BitAtlas of an entry with
/// an ExtraNHIA on each level, and half of them to the address's own. Means over the table.
pub(super) fn counted_bits(rib: &Rib<u128>) -> f64 {
    let of_level = |shape: &Shape| {
        let held = shape.level.held;
        let bits: Vec<usize> = shape.indices.values().copied().filter(|&indices| indices > held).collect();
        1.5 * bits.iter().sum::<usize>() as f64 / bits.len().max(1) as f64
    };
    shapes(rib, SERIES[0]).iter().map(of_level).sum()
}

/// Figure 2: two routes, expanded to 24 bits and compressed.
pub(super) fn figure_2(_: &Lab) -> Result<Finding, Error> {
    let mut rib: Rib<u128> = Rib::new();
    for (prefix, next_hop) in [("2002:4000::/18", NextHop(1)), ("2002:5000::/20", NextHop(2))] {
        rib.insert(prefix.parse()?, next_hop);
    }
    let of = |hop: u32| {
        let ranges = rib.ranges().filter(|range| range.next_hop == NextHop(hop));
        ranges.map(|range| ((range.last - range.first) >> (128 - 24)) as f64 + 1.0).sum::<f64>()
    };
    let indices: usize = Shape::of(&rib, SERIES[0].levels[0]).indices.values().sum();
    let points = vec![
        Point::computed("A", "24-bit prefixes", "prefixes", of(1)).beside(48.0),
        Point::computed("B", "24-bit prefixes", "prefixes", of(2)).beside(16.0),
        Point::computed("entry", "next-hop indices", "indices", indices as f64).beside(3.0),
    ];
    Ok(Finding::new("column", Plot::None, points)
        .note("The example of section 3.2: a /18 to A and a /20 to B."))
}

pub(super) fn table_4(lab: &Lab) -> Result<Finding, Error> {
    let mut points = super::models::table_4();
    for (allocation, rates) in TABLE_4 {
        for (microengines, rate) in MICROENGINES.into_iter().zip(rates) {
            points.push(Point::of_paper(allocation, format!("{microengines} microengines"), "Mlps", rate));
        }
    }
    let [first, second, ..] = SERIES[0].levels else { return Err(Error::none("no levels")) };
    for ((name, level), (entries, bytes)) in
        [("TrieC15/6", first), ("TrieC4/4", second)].into_iter().zip(ENTRIES)
    {
        points.push(Point::computed(name, "entries", "entries", level.entries() as f64).beside(entries));
        points.push(Point::computed(name, "an entry", "bytes", level.entry_bytes() as f64).beside(bytes));
    }
    let table = table(lab, TriecGroup::C, LARGEST)?;
    let addresses = lab.trace(&TraceKind::Prefix, &table.rib)?;
    for series in SERIES {
        let shapes = shapes(&table.rib, series);
        let all = addresses.iter().map(|&address| accesses(&shapes, address));
        let mean = all.clone().map(f64::from).sum::<f64>() / addresses.len().max(1) as f64;
        let [whole, used] = bytes(&shapes).map(|bytes| bytes as f64 / 1e6);
        let most = f64::from(all.max().unwrap_or_default());
        let new = [("mean", "accesses", mean), ("most", "accesses", most), ("whole nodes", "MB", whole)];
        points.extend(
            new.into_iter().chain([("reached entries", "MB", used)]).map(|(at, unit, value)| {
                Point::computed(series.name, at, unit, value).on(&Facts::of(&table))
            }),
        );
    }
    Ok(Finding::new("column", Plot::None, points)
        .in_part("the speeds are those of the IXP2800's SRAM channels and DRAM banks, and a processor has one memory behind its caches; here are a model's, and the accesses and bytes of the two series of strides")
        .note(MODEL)
        .note(format!("Accesses and bytes are computed from the prefixes of {}, not measured: of the trie without the hash table, with next-hop indices of 16 bits, for addresses drawn from the prefixes. A test compares the accesses of the first series with those that the engine counts.", table.name))
        .note("The paper says of 24-24-16 only that it takes fewer accesses and more memory. An entry is taken to have as many bytes of next-hop indices as of bits. A node of 24 bits is then an array of 131,072 or 65,536 entries of 32 or 64 bytes. The reached entries are those alone that a route of their node covers or is in. Both are more than the IXP2800 can address, so the paper's nodes must be stored in a way that it does not say."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Options;
    use fibula::Fib;
    use fibula::engine::{Accesses, Config};
    use fibula_engines::all;

    fn lab() -> Lab {
        let options = Options { addresses: 1 << 14, smaller: 40, ..Options::default() };
        Lab { engines: all(), ipv4: Vec::new(), ipv6: Vec::new(), options }
    }

    #[test]
    fn the_accesses_of_the_papers_strides_are_those_that_the_engine_counts() {
        let lab = lab();
        let table = table(&lab, TriecGroup::C, LARGEST).unwrap();
        let shapes = shapes(&table.rib, SERIES[0]);
        let fib = Fib::build_from(all(), "triec", &table.rib, Config::default()).unwrap();
        let mut counted = Accesses::new();
        for address in lab.trace(&TraceKind::Prefix, &table.rib).unwrap() {
            counted.clear();
            fib.lookup_counted(address, &mut counted);
            assert_eq!(accesses(&shapes, address), counted.loads_before_hash(), "{address:x}");
        }
    }

    #[test]
    fn table_4_has_fewer_accesses_and_more_memory_with_strides_24_24_16() {
        let finding = table_4(&lab()).unwrap();
        let value = |series: Series, at: &str| {
            let found = finding.points.iter().find(|point| point.series == series.name && point.at == at);
            found.and_then(Point::value).unwrap()
        };
        let [sram, dram128, dram256] = SERIES;
        for dram in [dram128, dram256] {
            assert!(value(dram, "mean") < value(sram, "mean"));
            assert!(value(dram, "most") <= 4.0);
            for memory in ["whole nodes", "reached entries"] {
                assert!(value(dram, memory) > value(sram, memory), "{} {memory}", dram.name);
            }
        }
        assert!(value(sram, "most") <= 8.0);
    }

    #[test]
    fn entries_of_the_papers_strides_have_the_papers_sizes() {
        let [sram, ..] = SERIES;
        assert_eq!([0, 1].map(|at| sram.levels[at].entry_bytes()), [16, 8]);
        assert_eq!([0, 1].map(|at| sram.levels[at].entries()), [1 << 15, 16]);
        let mut rib: Rib<u128> = Rib::new();
        // Figure 2: three runs in one entry of TrieC15/6.
        rib.insert("2002:4000::/18".parse().unwrap(), NextHop(1));
        rib.insert("2002:5000::/20".parse().unwrap(), NextHop(2));
        let shape = Shape::of(&rib, sram.levels[0]);
        assert_eq!(shape.indices.values().copied().collect::<Vec<_>>(), [3]);
    }
}
