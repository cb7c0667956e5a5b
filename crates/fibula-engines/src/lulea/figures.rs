//! The numbers that the paper gives of a table: leaves of the complete tree, heads, chunks of each
//! kind.

use super::chunk::SLOTS;
use super::pointer::{Base, Kind, Pointer, Target};
use super::table::{TOP_SLOTS, Table};
use fibula::engine::{Figure, Unmetered};
use fibula::rib::Prefixes;
use std::ops::AddAssign;

/// The numbers of heads of some cuts.
#[derive(Clone, Copy, Debug, Default)]
struct Heads {
    /// Genuine heads: leaves of the tree.
    leaves: usize,
    /// Root heads.
    roots: usize,
}

impl Heads {
    /// Counts the heads of one cut, given what its slots lead to.
    fn of(slots: impl Iterator<Item = Target>) -> Self {
        let slots: Vec<Target> = slots.collect();
        let (mut heads, mut first) = (Self::default(), 0);
        for run in slots.chunk_by(|one, next| one == next) {
            match run[0] {
                Target::Chunk(..) => heads.roots += 1,
                Target::Answer(_) => {
                    heads.leaves += Prefixes::between(first as u32, (first + run.len() - 1) as u32).count();
                }
            }
            first += run.len();
        }
        heads
    }
}

impl AddAssign for Heads {
    fn add_assign(&mut self, other: Self) {
        self.leaves += other.leaves;
        self.roots += other.roots;
    }
}

impl<P: Pointer, B: Base> Table<P, B> {
    /// Returns the figures; see the [module](self). One pass over all slots.
    pub(super) fn figures(&self) -> Vec<Figure> {
        let mut levels =
            vec![Heads::of((0..TOP_SLOTS).map(|slot| self.find_top(slot as u32, &mut Unmetered)))];
        let mut chunks = Vec::new();
        for (level, number) in self.levels.iter().zip(2..) {
            let mut heads = Heads::default();
            for kind in Kind::ALL {
                for chunk in 0..level.chunks(kind) {
                    let target = |slot| level.find(kind, chunk, slot as u32, &mut Unmetered);
                    heads += Heads::of((0..SLOTS).map(target));
                }
                let name = format!("{}s, level {number}", kind.name());
                chunks.push(Figure::count(name, level.chunks(kind)));
            }
            levels.push(heads);
        }
        let mut figures = vec![Figure::count("leaves", levels.iter().map(|heads| heads.leaves).sum())];
        figures.extend(levels.iter().zip(1..).map(|(heads, number)| {
            Figure::count(format!("heads, level {number}"), heads.leaves + heads.roots)
        }));
        figures.extend(chunks);
        figures.push(Figure::count("pointer, bits", size_of::<P>() * 8));
        figures.push(Figure::count("base index, bits", size_of::<B>() * 8));
        figures
    }
}
