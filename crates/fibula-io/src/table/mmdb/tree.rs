//! The search tree of a file that is written.

/// What a record of a node leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Record {
    Nothing,
    Node(usize),
    /// The offset of its data.
    Data(usize),
}

/// Nodes of two records, the root first.
#[derive(Debug)]
pub(super) struct Tree {
    pub(super) nodes: Vec<[Record; 2]>,
}

impl Tree {
    pub(super) fn new() -> Self {
        Self { nodes: vec![[Record::Nothing; 2]] }
    }

    /// Gives all addresses that begin with the first `len` bits of `bits` this record. `len` is at
    /// least 1. O(len).
    pub(super) fn set(&mut self, bits: u128, len: u8, record: Record) {
        let mut node = 0;
        for depth in 0..len {
            let side = usize::from(bits >> (127 - depth) & 1 == 1);
            if depth + 1 == len {
                self.nodes[node][side] = record;
                return;
            }
            node = match self.nodes[node][side] {
                Record::Node(next) => next,
                // What the part led to as a whole, both of its halves do.
                whole => {
                    let next = self.nodes.len();
                    self.nodes.push([whole; 2]);
                    self.nodes[node][side] = Record::Node(next);
                    next
                }
            };
        }
    }
}
