//! `lulea`: the complete prefix tree, cut at depths 16, 24 and 32, each cut a compressed bit
//! vector.
//!
//! Mikael Degermark, Andrej Brodnik, Svante Carlsson and Stephen Pink, "Small Forwarding Tables
//! for Fast Routing Lookups", ACM SIGCOMM 1997, section 4. Later papers call it after Luleå, where
//! the authors were.
//!
//! # Layout
//!
//! Leaves are added to the tree of all prefixes until every node has two children or none. A *cut*
//! at some depth has a slot for each node that may be there, and a *head* where something begins. A
//! *genuine head* is at the first slot of each leaf at that depth or above, with the leaf's answer.
//! A *root head* is where the tree continues, with the *chunk* that cuts it eight levels further
//! down. A slot without a head belongs to the last head before it. Level 1 is the cut at depth 16.
//! The chunks of levels 2 and 3 are those at 24 and 32.
//!
//! Heads are pointers, stored in order without gaps. To find the head of a slot, the bit vector of
//! heads is cut into *bit masks* of 16 slots. The tree is complete, so a mask is one of only 677.
//! Ten bits name it, and a table of them all, the *maptable*, gives the number of heads of the mask
//! before a slot. Six bits beside those ten count the heads of the masks before it, back to the
//! last *base index*. If all 16 slots have one answer, the code word is that answer, and nothing
//! else is read.
//!
//! ```text
//! code word      15                 6 5          0
//!               +--------------------+------------+
//!               | row: 0 to 676      | offset     |
//!               +--------------------+------------+     677 << 6 = 43,328
//!               | 43,328 + next hop, if row >= 677|
//!               +---------------------------------+
//! pointer        15 14 13           0               31 30 29 28               0
//!               +-----+--------------+             +--------+------------------+
//!   sparse      | 0 0 | chunk        |             | 0 0 0  | chunk            |
//!   dense       | 0 1 | chunk        |             | 0 0 1  | chunk            |
//!   very dense  | 1 0 | chunk        |             | 0 1 0  | chunk            |
//!   next hop    | 1 1 | next hop     |             | 1 | next hop              |
//!               +-----+--------------+             +---+-----------------------+
//!
//! maptable       677 rows of 16 times 4 bits                                   5,416 bytes
//! level 1        256 times 16 code words and 4 base indices of 16 bits; pointers  10,240 bytes
//! sparse chunk   1 to 8 heads: 8 slots of 8 bits, decreasing; their 8 pointers  24 (40) bytes
//! dense chunk    9 to 64 heads: 16 code words, 1 base index; pointers           34 (36) bytes
//! very dense     65 to 256 heads: 16 code words, 4 base indices; pointers       40 (48) bytes
//! ```
//! In brackets: with pointers, or base indices, of 32 bits. Each level has its own arrays of each
//! kind of chunk and of the pointers of its dense and very dense chunks.
//!
//! # Lookup
//!
//! In level 1 and in every dense or very dense chunk, the pointer of a slot is number
//!
//! ```text
//! base[slot >> 6] + offset(word[slot >> 4]) + maptable[row(word[slot >> 4])][slot & 15]
//! ```
//! (one base for a dense chunk). In a sparse chunk it is that of the first of the decreasing heads
//! that is not past the slot. A level costs one load, two or four.
//!
//! # Worked example
//!
//! Figure 4 of the paper is a mask with heads at 0, 4, 7, 8, 14, 15 (genuine) and 6, 12, 13 (root):
//! 1000101110001111. Let it be that of 0.0.0.0/12, and the only one that has routes:
//!
//! ```text
//! 0.0.0.0/14 → 1      0.4.0.0/15 → 2
//! 0.6.0.0/16 → 3      0.6.128.0/24 → 4    0.6.128.7/32 → 5
//! 0.7.0.0/16 → 1      0.8.0.0/14 → 2
//! 0.12.0.0/16 → 6     0.12.{1,3,5,7}.0/24 → 7
//! 0.13.n.0/24 → 8 for even n, → 9 for odd n
//! 0.14.0.0/16 → 3     0.15.0.0/16 → 4
//!
//! level 1    word 0: offset 0, all others: next hop 0
//!            pointers 1, 2, sparse 0, 1, 2, dense 0, very dense 0, 3, 4
//! level 2    sparse 0       heads 129, 128, 0: pointers 3, sparse 0, 3
//!            dense 0        base 0; word 0: mask 1111111110000000, offset 0
//!                           words 1 to 15: next hop 6
//!            very dense 0   bases 9, 73, 137, 201; all masks full, offsets 0, 16, 32, 48 and again
//!            pointers       6 7 6 7 6 7 6 7 6, then 8 9 8 9 ... 256 in all
//! level 3    sparse 0       heads 8, 7, 0: pointers 4, 5, 4
//! ```
//! The sparse chunk of level 2 has nine heads, 0, 128, 129, 130, 132, 136, 144, 160 and 192, of
//! which the last seven have one answer and are merged. 0.12.3.0 is slot 12 of the mask: 5 heads
//! before it, dense 0. Slot 3 of that has 3 heads before it, pointer 3: 7. The total is 10,240
//! bytes for level 1 with 18 for its pointers, 48 + 34 + 40 for chunks, 530 for their pointers, and
//! the maptable. A test derives all this again.
//!
//! # Limits
//!
//! Next hops are at most [`NEXT_HOPS_MAX`]. Nothing else can run out: see the layouts below.
//!
//! # What differs from the paper
//!
//! - **Three layouts.** The paper has 16-bit pointers, so 2^14 next hops and 2^14 chunks of a kind
//!   on a level, and 16-bit base indices, so 2^16 pointers on a level. It says that both may be
//!   widened. A full table of 2015 has five times as many pointers. Of these layouts the first that
//!   holds a table is taken: the paper's; base indices of 32 bits; pointers of 32 bits too. (The
//!   paper mentions base indices of three bytes. Four are aligned, and enough for the 2^32 pointers
//!   that level 3 can have.)
//! - **One row more.** The paper's maptable has 676 rows, because a mask whose only head is at its
//!   first slot is always a direct code word. Next hops from 22,208 on do not fit into one. Such a
//!   mask takes the last row, and where a longer leaf goes through several masks, each has a
//!   pointer to it.
//! - **The smallest tree.** A node whose addresses all have one answer is a leaf, even if several
//!   routes give that answer. The paper merges equal neighbours in sparse chunks only, which is
//!   done here too.
//! - **Level 1 is 256 very dense chunks**, so that a code word and its base index are neighbours.
//!   The bytes are the same.
//! - **All heads of a sparse chunk are compared at once**, where the paper looks at the fourth
//!   first.
//! - **No next-hop table** of its own: that is the framework's, and a pointer stores the index.
//! - **Batches** take 64 addresses through each step together, see `batch.rs`. The paper has one
//!   lookup at a time.
//!
//! As in the paper, an update is a rebuild.

mod batch;
mod chunk;
mod cut;
mod figures;
mod maptable;
mod pointer;
mod table;
#[cfg(test)]
mod tests;
mod validate;

use fibula::engine::{About, Config, Engine, Figure, Lookup, Meter, Width};
use fibula::parts::arch::Isa;
use fibula::parts::memory::{Memory, Pages};
use fibula::rib::Range;
use fibula::{Error, NextHop, Rib};
use std::marker::PhantomData;
use table::Table;

/// The greatest next-hop index: the 31 bits of a wide pointer.
pub const NEXT_HOPS_MAX: u32 = (1 << 31) - 1;

/// What the tools print about the engine.
pub const ABOUT: About = About {
    name: "lulea",
    paper: "Degermark, Brodnik, Carlsson and Pink, Small Forwarding Tables for Fast Routing Lookups, SIGCOMM 1997",
    year: 1997,
    next_hops_max: NEXT_HOPS_MAX,
    ..About::DEFAULT
};

/// A table in the narrowest layout that holds it, named by the bits of pointers and base indices.
#[derive(Debug)]
enum Form {
    Paper(Table<u16, u16>),
    WideBases(Table<u16, u32>),
    Wide(Table<u32, u32>),
}

layouts!(($) with_table: Paper, WideBases, Wide);

impl Form {
    /// Tries the layouts from the narrowest on. One that is too narrow gives up at the first index
    /// that does not fit.
    fn build(ranges: &[Range<u32>], pages: Pages) -> Self {
        None.or_else(|| Table::<u16, u16>::build(ranges, pages).map(Self::Paper))
            .or_else(|| Table::<u16, u32>::build(ranges, pages).map(Self::WideBases))
            .or_else(|| Table::<u32, u32>::build(ranges, pages).map(Self::Wide))
            .expect("the wide layout holds every table")
    }
}

/// The forwarding table; see the [module page](self).
#[derive(Debug)]
pub struct Lulea<W> {
    form: Form,
    answers: PhantomData<W>,
}

impl<W: Width> Lookup<u32> for Lulea<W> {
    type Width = W;

    #[inline(always)]
    fn lookup_metered<M: Meter>(&self, address: u32, meter: &mut M) -> W {
        W::narrow(NextHop(with_table!(&self.form, Form::table => table.find(address, meter))))
    }

    #[inline(always)]
    fn lookup_batch<I: Isa>(&self, _: I, addresses: &[u32], next_hops: &mut [W]) {
        with_table!(&self.form, Form::table => table.find_all(addresses, next_hops));
    }
}

impl<W: Width> Engine<u32> for Lulea<W> {
    type View = Self;

    fn build(rib: &Rib<u32>, config: &Config) -> Result<Self, Error> {
        let ranges: Vec<Range<u32>> = rib.ranges().collect();
        Ok(Self { form: Form::build(&ranges, config.pages), answers: PhantomData })
    }

    fn view(&self) -> &Self {
        self
    }

    fn memory(&self) -> Memory {
        with_table!(&self.form, Form::table => table.memory())
    }

    fn figures(&self) -> Vec<Figure> {
        with_table!(&self.form, Form::table => table.figures())
    }

    fn validate(&self, rib: &Rib<u32>) -> Result<(), String> {
        with_table!(&self.form, Form::table => table.check(rib))
    }
}
