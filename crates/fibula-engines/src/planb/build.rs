//! The build: the intervals of a table, cut at the ends of /64s, as trees.

use super::view::PlanBView;
use super::{INTERVALS, PlanB};
use fibula::engine::Width;
use fibula::parts::blocks::linear_tree::{Intervals, Piece, cut};
use fibula::parts::memory::{Array, Pages};
use fibula::{Error, Limit, Rib};

/// The intervals of a table.
#[derive(Debug)]
struct Cut<W> {
    /// Those of /64s. A /64 with bounds inside is an interval by itself, whose answer is the
    /// greatest.
    networks: Intervals<W>,
    /// The indices of the /64s with bounds inside.
    marked: Vec<usize>,
    /// The intervals inside them, one /64 after the other.
    hosts: Intervals<W>,
    /// For each of these /64s, the index in `hosts` where its intervals end.
    hosts_end: Vec<usize>,
}

impl<W: Width> Cut<W> {
    /// Cuts the ranges of a table. O(n).
    fn of(rib: &Rib<u128>) -> Self {
        let mut pieces = Self {
            networks: Intervals::default(),
            marked: Vec::new(),
            hosts: Intervals::default(),
            hosts_end: Vec::new(),
        };
        cut(rib.ranges(), |piece, next_hop| match piece {
            Piece::Networks { last, .. } => pieces.networks.push(last, W::narrow(next_hop)),
            Piece::Hosts { network, last, .. } => {
                pieces.hosts.push(last, W::narrow(next_hop));
                pieces.end_network(network);
            }
        });
        pieces
    }

    /// Ends the /64 `network` if the last of its intervals is there.
    fn end_network(&mut self, network: u64) {
        if self.hosts.ends.last() == Some(&u64::MAX) {
            self.marked.push(self.networks.ends.len());
            self.networks.push(network, W::narrow(fibula::NextHop(W::MAX)));
            self.hosts_end.push(self.hosts.ends.len());
        }
    }
}

impl<W: Width> PlanB<W> {
    /// Builds a table, or fails if it needs more than `intervals_max` intervals.
    pub(super) fn build_at_most(intervals_max: u64, rib: &Rib<u128>, pages: Pages) -> Result<Self, Error> {
        let Cut { networks, marked, hosts, hosts_end } = Cut::of(rib);
        let intervals = networks.ends.len() + hosts.ends.len();
        Limit::check(INTERVALS, intervals as u64, intervals_max)?;
        let mut engine = Self { view: PlanBView::without_trees(pages) };
        engine.plant(&networks.ends, &networks.answers);
        let mut start = 0;
        for end in hosts_end {
            engine.plant(&hosts.ends[start..end], &hosts.answers[start..end]);
            start = end;
        }
        if !marked.is_empty() {
            engine.view.marks = marks(&marked, networks.ends.len(), pages);
        }
        engine.view.shrink_to_fit();
        Ok(engine)
    }
}

/// Returns words of `len` bits, of which those at `marked` are set, each with the number of bits
/// set before it.
fn marks(marked: &[usize], len: usize, pages: Pages) -> Array<[u64; 2]> {
    let mut words = Array::filled([0_u64; 2], len.div_ceil(64), pages);
    for &at in marked {
        words[at / 64][0] |= 1 << (at % 64);
    }
    let mut before = 0;
    for word in &mut words[..] {
        word[1] = before;
        before += u64::from(word[0].count_ones());
    }
    words
}
