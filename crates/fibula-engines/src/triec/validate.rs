//! Checks of the structure itself.

use super::entry::{Atlas, Entry15_6};
use super::nhi::Nhi;
use super::table::{LAST, LEVELS, NODE_ENTRIES, ROOT_ENTRIES, Table, slots_of};
use fibula::parts::memory::Pages;
use fibula::{Address, Rib};
use zerocopy::FromZeros;

/// What a walk from the root has reached.
#[derive(Default)]
struct Reached {
    nodes: [usize; LAST],
    in_extra: usize,
}

impl<N: Nhi, L: Nhi, M: Atlas, const HELD: usize> Table<N, L, M, HELD> {
    /// Checks that every pointer is in range, no node and no ExtraNHIA is lost, and every slot is
    /// what a build of the table gives.
    pub(super) fn validate(&self, rib: &Rib<u128>) -> Result<(), String> {
        let fresh = Self::build(rib, Pages::Small).map_err(|limit| limit.to_string())?;
        self.extra.validate()?;
        self.last_extra.validate()?;
        let mut reached = Reached::default();
        for entry in 0..ROOT_ENTRIES {
            if [self, &fresh].iter().any(|table| table.root[entry] != Entry15_6::new_zeroed()) {
                self.check_entry((0, 0, entry), &fresh, 0, &mut reached)?;
            }
        }
        let in_extra = self.extra.used() + self.last_extra.used();
        if reached.in_extra != in_extra {
            return Err(format!("{} ExtraNHIA indices of {in_extra} are reached", reached.in_extra));
        }
        for (depth, (owners, reached)) in (1..).zip(self.owners.iter().zip(reached.nodes)) {
            let nodes = (owners.len(), self.nodes(depth));
            if nodes != (reached, reached) {
                return Err(format!("level {}: {nodes:?} nodes, {reached} reached", depth + 1));
            }
            for (node, owner) in owners.iter() {
                let address = u128::from(owner) << u64::BITS;
                let found = self.node_at(depth, address);
                if found != Some(node as usize) || address & u128::mask(LEVELS[depth - 1]) != address {
                    return Err(format!("level {}: node {node} is not {owner:#x}'s", depth + 1));
                }
            }
        }
        self.hash16.validate(&fresh.hash16)
    }

    /// Checks an entry (depth, node, entry), and everything below it, against the one that a build
    /// gives.
    fn check_entry(
        &self,
        (depth, node, entry): (usize, usize, usize),
        fresh: &Self,
        twin: usize,
        reached: &mut Reached,
    ) -> Result<(), String> {
        let place = || format!("level {}, node {node}, entry {entry}", depth + 1);
        if let Some((start, len)) = self.entry_extra(depth, node, entry) {
            if start + len > self.extra_end(depth) {
                return Err(format!("{}: its ExtraNHIA is past the end", place()));
            }
            reached.in_extra += len;
        }
        let (slots, expected) = (self.slots(depth, node, entry), fresh.slots(depth, twin, entry));
        for (slot, (&nhi, &expected)) in slots.iter().zip(&expected).enumerate().take(slots_of(depth)) {
            if depth == LAST || !expected.flag() || !nhi.flag() {
                if nhi != expected {
                    return Err(format!("{}, slot {slot}: {nhi:?}, expected {expected:?}", place()));
                }
                continue;
            }
            if nhi.node() >= self.owners[depth].len() {
                return Err(format!("{}, slot {slot}: there is no node {}", place(), nhi.node()));
            }
            reached.nodes[depth] += 1;
            for entry in 0..NODE_ENTRIES {
                self.check_entry((depth + 1, nhi.node(), entry), fresh, expected.node(), reached)?;
            }
        }
        Ok(())
    }
}
