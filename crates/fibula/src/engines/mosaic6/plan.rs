//! Chooses the stride of each array: the cheapest, weighing the steps that lookups take against
//! bytes.

use super::lines::{pair_bytes, slots};
use super::segments::{Node, Segments};
use super::{LAST_LEVEL, STEPS, WINDOW};
use crate::engine::Width;

/// The longest stride that is considered: an array of 64 KiB.
pub(super) const STRIDE_MAX: usize = 14;

/// The cost in bytes of one more step for the lookups that end at one bound, while the batch path
/// takes that step.
const STEP_BYTES: u32 = 8;

/// The cost in bytes of a step that makes a lookup leave the batch path.
const DETOUR_BYTES: u32 = 256;

/// The summed least costs of the nodes 0, 1, 2 ... levels below a node. The first index is the
/// number of arrays that the batch path takes from there.
type Costs = [[u32; STRIDE_MAX + 1]; STEPS + 1];

/// The strides of a subtree: one entry for each node of the binary trie whose bounds need an array,
/// in preorder.
#[derive(Debug, Default)]
pub(super) struct Plan(pub(super) Vec<Split>);

/// One node of a plan.
#[derive(Clone, Copy, Debug)]
pub(super) struct Split {
    /// The stride of the node's array, by the number of arrays that the batch path takes from
    /// there.
    pub(super) strides: [u8; STEPS + 1],
    /// The number of plan nodes in its subtree, itself included.
    pub(super) nodes: u32,
}

impl Plan {
    /// Returns the plan of `node`, from which the batch path takes at most `arrays` arrays.
    /// O(arrays * strides) for each binary node that needs an array.
    pub(super) fn of<W: Width>(segments: &Segments, node: Node, arrays: usize) -> Self {
        let mut plan = Self::default();
        plan.visit::<W>(segments, node, arrays);
        plan
    }

    /// Returns the costs of `node` for 0 to `arrays` arrays. Costs for more arrays are not
    /// computed.
    fn visit<W: Width>(&mut self, segments: &Segments, node: Node, arrays: usize) -> Costs {
        if node.bounds() == 0 {
            return [[0; STRIDE_MAX + 1]; STEPS + 1];
        }
        if fits_bucket::<W>(segments, node) {
            let parts = segments.halves(node).map(|half| bucket_bytes::<W>(half.bounds()));
            let mut costs = [parts[0] + parts[1]; STRIDE_MAX + 1];
            costs[0] = bucket_bytes::<W>(node.bounds());
            return [costs; STEPS + 1];
        }
        let at = self.0.len();
        self.0.push(Split { strides: [0; STEPS + 1], nodes: 0 });
        let halves = segments.halves(node).map(|half| self.visit::<W>(segments, half, arrays));
        let mut costs = Costs::default();
        for (left, costs) in costs.iter_mut().enumerate().take(arrays + 1) {
            for stride in 1..=STRIDE_MAX {
                costs[stride] = halves[0][left][stride - 1] + halves[1][left][stride - 1];
            }
        }
        let longest = STRIDE_MAX.min(usize::from(LAST_LEVEL - node.depth));
        for left in 0..=arrays {
            let step = if left == 0 { DETOUR_BYTES } else { STEP_BYTES } * node.bounds() as u32;
            let after = left.saturating_sub(1);
            let candidates =
                (1..=longest).map(|stride| (step + (4 << stride) + costs[after][stride], stride));
            let (cost, stride) = candidates.min().unwrap_or_default();
            self.0[at].strides[left] = stride as u8;
            costs[left][0] = cost;
        }
        self.0[at].nodes = (self.0.len() - at) as u32;
        costs
    }
}

/// Returns the bytes of a bucket of `bounds` bounds: 0 without bounds, because that is an answer.
fn bucket_bytes<W: Width>(bounds: usize) -> u32 {
    if bounds == 0 { 0 } else { ((bounds + 1) * pair_bytes::<W>()) as u32 }
}

/// Returns whether one bucket can hold `node`: few bounds, each within the bits of a key.
pub(super) fn fits_bucket<W: Width>(segments: &Segments, node: Node) -> bool {
    let window_end = (node.depth + WINDOW).min(LAST_LEVEL);
    node.bounds() < slots::<W>()
        && segments.starts[node.lo..node.hi].iter().all(|start| length(*start) <= window_end)
}

/// Returns the length of the shortest prefix that can begin at the /48 `start`.
fn length(start: u64) -> u8 {
    LAST_LEVEL.saturating_sub(start.trailing_zeros() as u8)
}
