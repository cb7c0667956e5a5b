//! `bsic`: a ternary memory of the first bits of an address, and binary search trees for the rest.
//!
//! R. Chang, P. Dogga, A. Fingerhut, V. Rios, G. Varghese, "Scaling IP Lookup to Large Databases
//! using the CRAM Lens", NSDI 2025. The paper's full text was not at hand: this is what the
//! authors' own programs do (github.com/jafingerhut/cram, `bsic/bsicgen.py` and `bsic_ipv6.p4`).
//!
//! # Layout
//!
//! ```text
//! initial     ternary, k bits: a route of at most k bits     ->  next hop
//!                              k bits with longer routes     ->  root of a tree
//! level 0     left endpoint | next hop | children            the roots
//! level 1     ...                                            two children are adjacent
//! ```
//!
//! A slice is the addresses with one value of the first *k* bits. Its left endpoints are where its
//! longer routes begin and where they have ended, each with the answer from there on. They are the
//! nodes of a balanced tree, level by level. A search goes right where the address is at least the
//! endpoint, and remembers that answer.
//!
//! # Worked example
//!
//! 2001:d00::/24 to 1 and 2001:db8::/32 to 2, with *k* = 24: one word leads to a tree of three
//! endpoints: 2001:d00:: (1), 2001:db8:: (2), 2001:db9:: (1). The root is the middle one.
//! 2001:dba:: goes right to 2001:db9::, and there right to the end: 1.
//!
//! # What differs from the authors' programs
//!
//! - *k* is 24 for IPv6 as theirs, and 16 for IPv4, of which they have no program.
//! - Keys have all bits of an address, where theirs end at /64.
//! - A change builds the table again.

use super::tcam::{Tcam, first_bits, narrow};
use fibula::engine::{About, Config, Engine, Figure, Lookup, Meter, Updates, Width};
use fibula::parts::arch::Isa;
use fibula::parts::memory::Memory;
use fibula::{Address, Error, Family, NextHop, Prefix, Rib};

/// What the tools print about the engine.
pub(super) const ABOUT: About = About {
    name: "bsic",
    paper: "Chang, Dogga, Fingerhut, Rios, Varghese, Scaling IP Lookup to Large Databases using the CRAM Lens, NSDI 2025",
    year: 2025,
    updates: Updates::Rebuild,
    ..About::DEFAULT
};

/// Returns the bits of a slice.
pub(super) fn slice_bits(family: Family) -> u8 {
    if family == Family::Ipv4 { 16 } else { 24 }
}

/// What a word of the ternary memory leads to.
#[derive(Clone, Copy, Debug)]
enum Found<W> {
    Answer(W),
    Root(u32),
}

/// A node of a tree.
#[derive(Clone, Copy, Debug)]
struct Node<A, W> {
    endpoint: A,
    next_hop: W,
    /// The index of the first child on the next level.
    child: u32,
    has_left: bool,
    has_right: bool,
}

/// The engine; see the [module](self).
#[derive(Clone, Debug)]
pub(crate) struct Bsic<A: Address, W: Width> {
    initial: Tcam<Found<W>>,
    levels: Vec<Vec<Node<A, W>>>,
}

/// The left endpoints of a slice, in order, with the answers from there on.
fn left_endpoints<A: Address>(rib: &Rib<A>, slice: Prefix<A>) -> Vec<(A, NextHop)> {
    let mut endpoints = vec![slice.first()];
    let within = rib.iter_from(slice).take_while(|route| slice.covers(route.prefix));
    for route in within.filter(|route| route.prefix.len() > slice.len()) {
        endpoints.push(route.prefix.first());
        endpoints.extend(route.prefix.last().next().filter(|&next| slice.contains(next)));
    }
    endpoints.sort_unstable();
    endpoints.dedup();
    let answer = |first| rib.longest_match(first).map_or(NextHop::NONE, |route| route.next_hop);
    endpoints.into_iter().map(|first| (first, answer(first))).collect()
}

impl<A: Address, W: Width> Bsic<A, W> {
    /// Writes a tree whose root is a node that is there.
    fn place(&mut self, level: usize, at: usize, endpoints: &[(A, NextHop)]) {
        let middle = endpoints.len() / 2;
        let (left, right) = (&endpoints[..middle], &endpoints[middle + 1..]);
        let children = usize::from(!left.is_empty()) + usize::from(!right.is_empty());
        if self.levels.len() == level + 1 && children > 0 {
            self.levels.push(Vec::new());
        }
        let child = self.levels.get(level + 1).map_or(0, Vec::len);
        let (endpoint, next_hop) = endpoints[middle];
        let node = Node {
            endpoint,
            next_hop: narrow(next_hop),
            child: child as u32,
            has_left: !left.is_empty(),
            has_right: !right.is_empty(),
        };
        self.levels[level][at] = node;
        if children > 0 {
            self.levels[level + 1].resize(child + children, node);
        }
        if !left.is_empty() {
            self.place(level + 1, child, left);
        }
        if !right.is_empty() {
            self.place(level + 1, child + children - 1, right);
        }
    }
}

impl<A: Address, W: Width> Lookup<A> for Bsic<A, W> {
    type Width = W;

    #[inline(always)]
    fn lookup_metered<M: Meter>(&self, address: A, meter: &mut M) -> W {
        let k = slice_bits(A::FAMILY);
        let mut answer = W::narrow(NextHop::NONE);
        let mut at = match self.initial.get(first_bits(address, k), k, meter) {
            None => return answer,
            Some(Found::Answer(next_hop)) => return next_hop,
            Some(Found::Root(root)) => root,
        };
        for level in &self.levels {
            let node = meter.load(&level[at as usize]);
            let goes_right = address >= node.endpoint;
            if goes_right {
                answer = node.next_hop;
            }
            if !(if goes_right { node.has_right } else { node.has_left }) {
                break;
            }
            at = node.child + u32::from(goes_right && node.has_left);
        }
        answer
    }

    #[inline(always)]
    fn lookup_batch<I: Isa>(&self, _: I, addresses: &[A], next_hops: &mut [W]) {
        for (&address, next_hop) in addresses.iter().zip(next_hops) {
            *next_hop = self.lookup(address);
        }
    }
}

impl<A: Address, W: Width> Engine<A> for Bsic<A, W> {
    type View = Self;

    fn build(rib: &Rib<A>, _: &Config) -> Result<Self, Error> {
        let k = slice_bits(A::FAMILY);
        let mut slices: Vec<Prefix<A>> = rib
            .iter()
            .filter(|route| route.prefix.len() > k)
            .map(|route| Prefix::containing(route.prefix.first(), k))
            .collect();
        slices.dedup();
        let bits = |prefix: Prefix<A>| first_bits(prefix.first(), prefix.len());
        let roots = slices.iter().zip(0..).map(|(&slice, root)| (k, bits(slice), Found::Root(root)));
        let short = rib.iter().filter(|route| route.prefix.len() <= k).filter(|route| {
            route.prefix.len() < k
                || slices.binary_search_by_key(&route.prefix.first(), |slice| slice.first()).is_err()
        });
        let answers = short
            .map(|route| (route.prefix.len(), bits(route.prefix), Found::Answer(narrow(route.next_hop))));
        let blank = Node {
            endpoint: Prefix::<A>::ALL.first(),
            next_hop: W::narrow(NextHop::NONE),
            child: 0,
            has_left: false,
            has_right: false,
        };
        let mut engine =
            Self { initial: Tcam::of(roots.chain(answers)), levels: vec![vec![blank; slices.len()]] };
        for (at, &slice) in slices.iter().enumerate() {
            engine.place(0, at, &left_endpoints(rib, slice));
        }
        Ok(engine)
    }

    fn view(&self) -> &Self {
        self
    }

    fn memory(&self) -> Memory {
        let nodes = self.levels.iter().map(|level| size_of_val(&level[..])).sum();
        Memory::new()
            .on_chip("initial", self.initial.bytes(slice_bits(A::FAMILY).into()))
            .on_chip("trees", nodes)
    }

    fn figures(&self) -> Vec<Figure> {
        vec![
            Figure::count("initial words", self.initial.len()),
            Figure::count("trees", self.levels[0].len()),
            Figure::count("levels", self.levels.len()),
            Figure::count("nodes", self.levels.iter().map(Vec::len).sum()),
        ]
    }

    fn validate(&self, _: &Rib<A>) -> Result<(), String> {
        let children = |node: &Node<A, W>| usize::from(node.has_left) + usize::from(node.has_right);
        for (above, below) in self.levels.iter().zip(&self.levels[1..]) {
            let expected: usize = above.iter().map(children).sum();
            if expected != below.len() {
                return Err(format!("{expected} children, but {} nodes below", below.len()));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worked_example() {
        let mut rib: Rib<u128> = Rib::new();
        rib.insert("2001:d00::/24".parse().unwrap(), NextHop(1));
        rib.insert("2001:db8::/32".parse().unwrap(), NextHop(2));
        let engine: Bsic<u128, u8> = Bsic::build(&rib, &Config::default()).unwrap();
        engine.validate(&rib).unwrap();
        assert_eq!(
            engine.figures(),
            [("initial words", 1), ("trees", 1), ("levels", 2), ("nodes", 3)]
                .map(|(name, count)| Figure::count(name, count))
        );
        let found = [0x2001_0dba_u128, 0x2001_0db8, 0x2001_0d00, 0x2001_0e00].map(|a| engine.lookup(a << 96));
        assert_eq!(found, [1, 2, 1, 0]);
    }
}
