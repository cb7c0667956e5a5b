//! `miht`: a B+ tree over the first bits of the prefixes, and priority tries for the rest of them.
//!
//! Alexandre Lucchesi, André C. Drummond, George Teodoro, "High-performance IP lookup using Intel
//! Xeon Phi: a Bloom filters based approach", Journal of Internet Services and Applications 9,
//! 2018, section 5: the (*k*,*m*)-MIHT, (16,16) for IPv4 and (32,32) for IPv6. It is the
//! multi-index hybrid trie of C. H. Lin, C. Y. Hsu, S. Y. Hsieh, "A multi-index hybrid trie for
//! lookup and updates", IEEE Transactions on Parallel and Distributed Systems 25(10), 2014, on the
//! priority trie of H. Lim, C. Yim, E. E. Swartzlander Jr., "Priority tries for IP address
//! lookup", IEEE Transactions on Computers 59(6), 2010.
//!
//! # Layout
//!
//! The first *k* bits of a prefix are its *key*. The keys are in a B+ tree of order *m*. Each leads
//! to the priority trie of all prefixes that have it. Prefixes shorter than *k* bits have no key
//! and are in one more trie, PT\[-1\].
//!
//! A priority trie branches bit by bit, but no node is empty. A node whose path is itself a prefix
//! of the trie holds that prefix (an *ordinary* node). Any other holds the longest prefix of its
//! subtree (a *priority* node). So there are as many nodes as prefixes, and a match at a node with
//! the longest prefix of its subtree ends the search.
//!
//! ```text
//! index node of order 16, external (128 bytes, aligned to 64):
//!   0        4                64       68               128
//!   +--------+--- - - ---+----+--------+--- - - ---+----+
//!   | key 0  |           | 15 | trie 0 |           | 15 |
//!   +--------+--- - - ---+----+--------+--- - - ---+----+
//! internal: bound 0 to 15, child 0 to 15; child i has no key greater than bound i.
//! An unused entry: key u32::MAX, link u32::MAX; these come last.
//!
//! data node, IPv4 with 8- and 16-bit next hops (16 bytes):
//!   0               4               8               12        14   15   16
//!   +---------------+---------------+---------------+---------+----+----+
//!   | prefix        | child, bit 0  | child, bit 1  | next hop| len| lgt|
//!   +---------------+---------------+---------------+---------+----+----+
//! IPv4, 32-bit next hops: len is at 16, 20 bytes in all.
//! IPv6 (32 bytes):
//!   0                               16              24        28   29
//!   +-------------------------------+-------+-------+---------+----+----+
//!   | prefix                        | 0     | 1     | next hop| len| lgt|
//!   +-------------------------------+-------+-------+---------+----+----+
//! ```
//! `len` is the prefix's length. `lgt` is the longest length in the subtree, equal to `len` except
//! in an ordinary node with something below. Child `u32::MAX` is none.
//!
//! # Lookup
//!
//! Go down the tree: in each inode, continue at the first key that is not less than the address's.
//! In the leaf that is the key, or the key is missing. Then go down its trie: remember the last
//! match, and stop at a node with the longest prefix of its subtree. If neither the tree nor the
//! trie had a match, do the same in PT\[-1\].
//!
//! # Worked example
//!
//! The (4,4)-MIHT of ten routes. Key 1 is that of the paper's own 00010* and 00011* (section 5.1).
//!
//! ```text
//!              [ 2 | max ]                                 0.0.0.0/0 → 1        PT[-1], level 0
//!              /         \                                            \ 1
//!     [ 1 | 2 ]           [ 4 | 10 | 12 ]                          128.0.0.0/2 → 10   level 1
//!      |     \              |     \     \
//!      |  32.0.0.0/8 → 6    |  160.0.0.0/8 → 8  192.168.0.0/16 → 9
//!      |                 64.0.0.0/4 → 7
//!   18.1.0.0/16 → 5                       level 4, path 0001*: priority
//!   0 /           \ 1
//!   16.0.0.0/5 → 2   24.0.0.0/5 → 3       level 5, paths 00010* and 00011*: ordinary
//!   0 /
//!   18.0.0.0/8 → 4                        level 6, path 000100*: priority
//! ```
//! 18.1.2.3 matches the root of key 1 and is done: 5. 18.2.0.0 does not match there; at 16.0.0.0/5
//! it remembers 2, and at 18.0.0.0/8 it is done: 4. 161.0.0.1 finds key 10 but does not match
//! there; in PT\[-1\] it passes 1 and its answer is 10. 80.0.0.1 finds no key and its answer is 1.
//! When 18.1.0.0/16 is withdrawn, 18.0.0.0/8, the longest that is left, moves up into the root, and
//! the node at level 6 is freed.
//!
//! # Updates
//!
//! All updates are in place. An inserted route takes the first node on its path where it goes above
//! the route stored there, which moves down in turn. A removed route is replaced by the longest
//! below, in turn; the nodes' `lgt` tells on which side that is.
//!
//! A key's first route inserts it into the tree, and its last one removes it. A full inode is
//! split. An inode less than half full borrows from a neighbour or is merged with it. Each is
//! O(depth). Arrays have no holes: the last node moves to the index of a freed one, and its own
//! prefix or key leads to the link to rewrite.
//!
//! [`Cost`](fibula::engine::Cost) counts nodes of both kinds as *allocated*, inodes split or merged
//! and nodes moved into holes as *copied*, and routes and links written as *entries*.
//!
//! # What differs from the paper
//!
//! - The paper searches PT\[-1\] if the tree does not have the key. An address whose key it has may
//!   still match nothing below it; PT\[-1\] is searched then as well.
//! - If two prefixes of one length could take a priority node, the paper does not say which does.
//!   Here it is the first in order, so updated tries equal those of a build.
//! - Data nodes hold whole prefixes, not suffixes, so no path must be compared, or found again when
//!   they move. Those of 20 bytes may cross a cache line; padding would cost 12 bytes a route.
//! - The binary search of an inode has no branches. As in the paper, vector instructions gained
//!   nothing: see [`slot`](inode::slot).
//! - A build packs the inodes as full as possible instead of inserting one key after the other.
//!   Full tables have some 35,000 keys. For these a packed tree of order 16 needs four levels, one
//!   that grew needs five. Updates may leave inodes half empty, as in any B+ tree.
//! - Batches go through the tree level by level, 64 addresses at once ([`LANES`]), then through the
//!   tries the same way.

mod dnode;
mod inode;
mod lookup;
mod table;
#[cfg(test)]
mod tests;
mod tree;
mod tries;
mod validate;

pub use lookup::LANES;

use fibula::engine::{
    About, Config, Engine, Figure, LimitInfo, Lookup, Meter, ParameterInfo, Update, Updates, Width,
};
use fibula::parts::arch::Isa;
use fibula::parts::memory::Memory;
use fibula::{Address, Delta, Error, Family, Rib};
use table::Table;

/// The most routes: each is a node, and every 32-bit index but the greatest is a link.
pub const MAX_ROUTES: u64 = inode::NIL as u64;

/// The most bits of a key: sixteen keys of 32 bits fill a cache line, as in the paper.
pub const MAX_KEY_BITS: u8 = 32;

/// What the tools print about the engine: the (16,16)-MIHT, IPv4.
pub const ABOUT: About = About {
    name: "miht",
    paper: "Lin, Hsu, Hsieh: A multi-index hybrid trie for lookup and updates, IEEE TPDS 25(10); Lucchesi et al. 2018, section 5",
    year: 2014,
    updates: Updates::InPlace,
    limits: &[LimitInfo { what: "routes", max: MAX_ROUTES }],
    parameters: &[
        ParameterInfo { name: "k", meaning: "bits of a key, 1 to 32, default 16 for IPv4 and 32 for IPv6" },
        ParameterInfo {
            name: "m",
            meaning: "order of the B+ tree: 8, 16 or 32, default 16 for IPv4 and 32 for IPv6",
        },
    ],
    ..About::DEFAULT
};

/// The (32,32)-MIHT, IPv6.
pub const MIHT6: About = About { name: "miht6", ..ABOUT };

/// The engine for IPv4.
pub type Miht4<W> = Miht<u32, W>;

/// The engine for IPv6.
pub type Miht6<W> = Miht<u128, W>;

/// A multi-index hybrid trie; see the [module page](self).
#[derive(Debug)]
pub struct Miht<A: Address, W: Width> {
    form: Form<A, W>,
}

/// The table, by the order of its tree.
#[derive(Debug)]
enum Form<A: Address, W: Width> {
    Order8(Table<A, W, 8>),
    Order16(Table<A, W, 16>),
    Order32(Table<A, W, 32>),
}

layouts!(($) with_table: Order8, Order16, Order32);

impl<A: Address, W: Width> Lookup<A> for Miht<A, W> {
    type Width = W;

    #[inline(always)]
    fn lookup_metered<M: Meter>(&self, address: A, meter: &mut M) -> W {
        with_table!(&self.form, Form::table => table.lookup(address, meter))
    }

    #[inline(always)]
    fn lookup_batch<I: Isa>(&self, _: I, addresses: &[A], next_hops: &mut [W]) {
        with_table!(&self.form, Form::table => table.lookup_batch(addresses, next_hops));
    }
}

impl<A: Address, W: Width> Engine<A> for Miht<A, W> {
    type View = Self;

    fn build(rib: &Rib<A>, config: &Config) -> Result<Self, Error> {
        let (k, orders) = match A::FAMILY {
            Family::Ipv4 => (16, [("16", 16), ("8", 8), ("32", 32)]),
            Family::Ipv6 => (32, [("32", 32), ("8", 8), ("16", 16)]),
        };
        let k = config.parameter("k", 1..=MAX_KEY_BITS, k)?;
        let form = match config.choice("m", &orders)? {
            8 => Form::Order8(Table::build(rib, k, config.pages)?),
            16 => Form::Order16(Table::build(rib, k, config.pages)?),
            _ => Form::Order32(Table::build(rib, k, config.pages)?),
        };
        Ok(Self { form })
    }

    fn view(&self) -> &Self {
        self
    }

    fn apply(&mut self, rib: &Rib<A>, deltas: &[Delta<A>]) -> Update {
        with_table!(&mut self.form, Form::table => table.apply(rib, deltas))
    }

    fn memory(&self) -> Memory {
        with_table!(&self.form, Form::table => table.memory())
    }

    fn figures(&self) -> Vec<Figure> {
        with_table!(&self.form, Form::table => table.figures())
    }

    fn validate(&self, rib: &Rib<A>) -> Result<(), String> {
        with_table!(&self.form, Form::table => table.check(rib))
    }
}
