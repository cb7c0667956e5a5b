//! [`Table`]: a routing table in the form that kernels read: on the host, on a card, in an XDP
//! program. It has a root, nodes and leaves.
//!
//! # Layout
//! ```text
//!             31  30  29  28                          0
//!           +---+-------+-------------------------------+
//! entry     | 0 |              next hop                 |
//!           | 1 | 0   0 |  number of a node             |   1 << STRIDE entries
//!           | 1 | 1   0 |  number of leaves             |   as many answers, 8, 16 or 32 bits
//!           | 1 | 0   1 |  number of a chain            |   value, length, other, entry
//!           | 1 | 1   1 |  number of ends               |   1 << END_STRIDE answers
//!           +---+-------+-------------------------------+
//!
//! root      one entry for each value of an address's first ROOT_BITS bits
//! ```
//! A chain replaces a block with a single path through it. If the next bits of an address equal the
//! chain's value, they lead to its entry, up to 32 bits at once; all other addresses of the block
//! have one answer. Equal nodes, leaves and chains are stored once ([`Unique`]). Nothing is written
//! while an entry points to it (copy-on-write): a change makes new nodes along one path and then
//! writes one entry of the root.
//!
//! The last level takes the bits that are left. If these are more than a stride, its answers are
//! ends; else they are leaves like those above.
//!
//! Four layouts are this one with other constants; [`bloom`] and [`sail`] are other structures in
//! the same parts:
//!
//! | layout | root | stride | leaves | reads |
//! | --- | ---: | ---: | --- | --- |
//! | [`Dir24_8`](layout::Dir24_8) | 24 bits | 8 | at /32 | 1 or 2 |
//! | [`SailL`](layout::SailL) | 16 bits | 8 | at /32 | 1 to 3 |
//! | [`Mosaic`](layout::Mosaic) | 18 bits | 6, 8 | at any level | 2, or 3 where there is a /25 |
//! | [`Mosaic6`](layout::Mosaic6) | 16 bits | 8, chains | at any level | 3 for a /32, 5 for a /48 |
//!
//! Leaves "at any level" are used wherever no more-specific route follows.
//!
//! # Worked example
//! 10.0.0.0/8 to 1 and 10.0.1.0/24 to 2, as `Mosaic`: the entry of 10.0.0.0/18 points to leaves
//! that begin `1 2 1`, for 10.0.0.0/24, 10.0.1.0/24 and 10.0.2.0/24; the other 1,023 entries of
//! 10.0.0.0/8 are the answer 1. With 10.0.1.0/25 to 3 too, it points to a node that begins like
//! that, but for 10.0.1.0/24: there it has ends, 128 times 3 and 128 times 2.

pub mod any;
#[cfg(feature = "papers")]
pub mod bloom;
pub mod layout;
mod paint;
mod patch;
#[cfg(feature = "papers")]
pub mod sail;
mod shift;
#[cfg(test)]
mod tests;
mod validate;

pub use layout::Layout;
pub use patch::{PART_NAMES, PARTS, Patch, Piece, Touched, Version};
pub use shift::Shift;

use crate::{Image, Kernel, host};
use fibula::engine::{Config, Cost, Engine, Figure, Lookup, Meter, Update, Width};
use fibula::parts::arch::Isa;
use fibula::parts::blocks::unique::Unique;
use fibula::parts::memory::{Array, Memory, Pages, Published, Word};
use fibula::{Delta, Error, Limit, Prefix, Rib};
use std::marker::PhantomData;
use zerocopy::IntoBytes;

/// Set in an entry that holds an index.
pub(crate) const POINTS: u32 = 1 << 31;
/// Of those, set in one that points to leaves.
pub(crate) const LEAVES: u32 = 1 << 30;
/// Of those, set in one that points to a chain.
pub(crate) const CHAIN: u32 = 1 << 29;
/// All three are set in one that points to ends.
pub(crate) const ENDS: u32 = POINTS | LEAVES | CHAIN;
/// The index.
pub(crate) const NUMBER: u32 = CHAIN - 1;

/// The parts by what they hold.
pub(crate) const ROOT: usize = 0;
pub(crate) const NODES: usize = 1;
pub(crate) const CHAINS: usize = 3;

/// The greatest next hop of an entry.
pub const NEXT_HOPS_MAX: u32 = POINTS - 1;

/// A compiled table: answers of type `W`, nodes of `N` entries, a last level of blocks of `E`
/// addresses, in the layout `L`.
#[derive(Debug)]
pub struct Table<L: Layout, W: Width, const N: usize, const E: usize> {
    pub(crate) root: Array<u32>,
    pub(crate) nodes: Unique<u32, N>,
    pub(crate) leaves: Unique<W, N>,
    /// Value, length, other answer and entry of each.
    pub(crate) chains: Unique<u32, 4>,
    /// The answers of the last level where `E` is not `N`.
    pub(crate) ends: Unique<W, E>,
    version: Version,
    pages: Pages,
    /// Whether others read copies that are patched under them.
    deferred: bool,
    layout: PhantomData<L>,
}

impl<L: Layout, W: Width, const N: usize, const E: usize> Table<L, W, N, E> {
    /// The number of bits that index a node.
    const STRIDE: u8 = N.ilog2() as u8;

    /// The number of bits that index the answers of the last level.
    const END_STRIDE: u8 = E.ilog2() as u8;

    /// The bytes of an entry of the root, and of a block of each other part.
    const BLOCKS: [usize; PARTS] = [
        size_of::<u32>(),
        N * size_of::<u32>(),
        N * size_of::<W>(),
        size_of::<[u32; 4]>(),
        E * size_of::<W>(),
    ];

    /// Compiles a table.
    ///
    /// # Errors
    /// If it has more distinct nodes than an entry can index.
    pub fn compile(rib: &Rib<L::Address>, pages: Pages) -> Result<Self, Limit> {
        let mut table = Self {
            root: Array::zeroed(1 << L::ROOT_BITS, pages),
            nodes: Unique::new(pages),
            leaves: Unique::new(pages),
            chains: Unique::new(pages),
            ends: Unique::new(pages),
            version: Version::first(),
            pages,
            deferred: false,
            layout: PhantomData,
        };
        table.paint_root(Prefix::ALL, rib.ranges(), &mut Touched { all: true, ..Touched::default() });
        table.check_numbers()?;
        Ok(table)
    }

    /// Applies changes of its routing table, and returns what it wrote. O(size of the subtrees
    /// under the changed prefixes). Sometimes, when many nodes have become free, the whole table is
    /// rebuilt.
    ///
    /// # Errors
    /// If an entry could not index the nodes; the table must then not be used any more.
    pub fn follow(
        &mut self,
        rib: &Rib<L::Address>,
        changed: impl IntoIterator<Item = Prefix<L::Address>>,
    ) -> Result<Touched, Limit> {
        let mut touched = Touched::default();
        if self.deferred {
            // A copy is as this table is now. What comes and goes until the end of this call is in
            // none.
            self.nodes.show();
            self.leaves.show();
            self.chains.show();
            self.ends.show();
        }
        for prefix in Prefix::outermost(changed) {
            self.repaint(prefix, rib, &mut touched);
        }
        self.check_numbers()?;
        if self.has_holes() {
            let deferred = self.deferred;
            *self = Self { version: self.version, ..Self::compile(rib, self.pages)? };
            if deferred {
                self.defer();
            }
            touched.all = true;
        }
        self.version = self.version.next();
        touched.after = self.version;
        Ok(touched)
    }

    /// Returns whether it is time to rebuild. A rebuild costs a reader that is patched in place a
    /// whole new copy, so it waits for that until far more is free than in use.
    fn has_holes(&self) -> bool {
        if self.deferred {
            self.nodes.is_wasteful()
                || self.leaves.is_wasteful()
                || self.chains.is_wasteful()
                || self.ends.is_wasteful()
        } else {
            self.nodes.is_sparse()
                || self.leaves.is_sparse()
                || self.chains.is_sparse()
                || self.ends.is_sparse()
        }
    }

    /// Reuses freed nodes, leaves, chains and ends only after a grace period from now on, for
    /// readers of a copy that is patched under them.
    ///
    /// A patch must then be applied in an order: everything else first, then each word of the root
    /// by one store. Capacity that a build has left is given back.
    pub fn defer(&mut self) {
        self.deferred = true;
        self.nodes.settle();
        self.leaves.settle();
        self.chains.settle();
        self.ends.settle();
        self.nodes.defer();
        self.leaves.defer();
        self.chains.defer();
        self.ends.defer();
    }

    /// Tells that a grace period has ended which began after the call before: frees what was
    /// replaced before that call.
    pub fn readers_passed(&mut self) {
        self.nodes.readers_passed();
        self.leaves.readers_passed();
        self.chains.readers_passed();
        self.ends.readers_passed();
    }

    /// Returns the number of nodes, leaves, chains and ends that wait for a grace period.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.nodes.waiting() + self.leaves.waiting() + self.chains.waiting() + self.ends.waiting()
    }

    /// Returns the table as an image for a device.
    #[must_use]
    pub fn image(&self) -> Image<'_> {
        let (version, parts) = (self.version, self.parts());
        Image { kernel: Kernel::of::<L, W>(), version, parts, blocks: Self::BLOCKS }
    }

    /// Returns a patch of what the last change wrote, for a device.
    ///
    /// # Panics
    /// If the table has changed since.
    #[must_use]
    pub fn patch(&self, touched: Touched) -> Patch {
        assert_eq!(touched.after, self.version, "a patch is made before the next change");
        touched.into_patch(self.parts(), Self::BLOCKS)
    }

    pub(crate) fn parts(&self) -> [&[u8]; PARTS] {
        [
            self.root.as_bytes(),
            plain::<u32>(self.nodes.values()),
            plain::<W>(self.leaves.values()),
            plain::<u32>(self.chains.values()),
            plain::<W>(self.ends.values()),
        ]
    }

    /// An entry holds an index of 29 bits. Every read of a kernel stays inside the parts, because
    /// every index in an entry was allocated by them.
    fn check_numbers(&self) -> Result<(), Limit> {
        let numbers =
            [self.nodes.numbers(), self.leaves.numbers(), self.chains.numbers(), self.ends.numbers()];
        let greatest = numbers.into_iter().fold(0, Ord::max);
        Limit::check("nodes", greatest as u64, NUMBER.into())
    }
}

/// Returns the bytes of values that nobody writes: only their owner writes chunks, and this
/// module's tables share none.
#[allow(unsafe_code, reason = "what might be shared is kept as atomics, which kernels do not know")]
fn plain<T: Word + IntoBytes>(values: &[Published<T>]) -> &[u8] {
    // SAFETY: an atomic integer has the size and bits of its integer, without padding. Only a
    // method that borrows the chunks mutably writes them (`Unique::share` is never called here),
    // and they are borrowed as long as the bytes.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}

impl<L: Layout, W: Width, const N: usize, const E: usize> Lookup<L::Address> for Table<L, W, N, E> {
    type Width = W;

    fn lookup_metered<M: Meter>(&self, address: L::Address, meter: &mut M) -> W {
        host::counted(self, address, meter)
    }

    fn lookup(&self, address: L::Address) -> W {
        let mut found = [W::default()];
        host::look_up(self, &[address], &mut found);
        found[0]
    }

    #[inline(always)]
    fn lookup_batch<I: Isa>(&self, _: I, addresses: &[L::Address], next_hops: &mut [W]) {
        host::look_up(self, addresses, next_hops);
    }
}

impl<L: Layout, W: Width, const N: usize, const E: usize> Engine<L::Address> for Table<L, W, N, E> {
    type View = Self;

    fn build(rib: &Rib<L::Address>, config: &Config) -> Result<Self, Error> {
        Ok(Self::compile(rib, config.pages)?)
    }

    fn view(&self) -> &Self {
        self
    }

    fn apply(&mut self, rib: &Rib<L::Address>, deltas: &[Delta<L::Address>]) -> Update {
        // Only past 2^29 nodes, leaves, chains or ends.
        match self.follow(rib, deltas.iter().map(|delta| delta.prefix)) {
            Ok(touched) => Update::Applied(Cost {
                entries_set: touched.root_entries(),
                nodes_allocated: touched.blocks() as u64,
                ..Cost::default()
            }),
            Err(_) => Update::Rebuild,
        }
    }

    fn memory(&self) -> Memory {
        let bytes = [
            self.root.bytes(),
            self.nodes.bytes(),
            self.leaves.bytes(),
            self.chains.bytes(),
            self.ends.bytes(),
        ];
        let parts = L::PART_NAMES.into_iter().zip(bytes).filter(|&(name, _)| !name.is_empty());
        let books = self.nodes.book_bytes()
            + self.leaves.book_bytes()
            + self.chains.book_bytes()
            + self.ends.book_bytes();
        parts
            .fold(Memory::new(), |memory, (name, bytes)| memory.off_chip(name, bytes))
            .off_chip("bookkeeping for updates", books)
    }

    fn figures(&self) -> Vec<Figure> {
        vec![
            Figure::count("different nodes", self.nodes.len()),
            Figure::count("different leaves", self.leaves.len()),
            Figure::count("different chains", self.chains.len()),
            Figure::count("different ends", self.ends.len()),
        ]
    }

    fn validate(&self, rib: &Rib<L::Address>) -> Result<(), String> {
        self.contradiction(rib)
    }
}
