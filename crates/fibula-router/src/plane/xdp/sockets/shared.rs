//! [`Shared`]: what the control's thread writes and the forwarding thread reads, beside the tables.

use super::Neighbour;
use crate::plane::xdp::counters::{Count, Counts, Reason};
use crate::plane::xdp::ecmp::{Ecmp, mixed};
use crate::plane::{Action, Adjacency, AdjacencyId};
use fibula::NextHop;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// Next hops from this index on are not counted.
const COUNTED: usize = 65_536;

/// Actions, adjacencies and counts.
#[derive(Debug, Default)]
pub(super) struct State {
    actions: Vec<Action>,
    adjacencies: Vec<Option<Neighbour>>,
    /// What each flow is combined with.
    mask: u64,
    /// By the place of an interface among those that packets come in by.
    of_interfaces: Vec<Counts>,
    of_next_hops: Vec<Count>,
    /// Packets for which there was no room in a ring, or before the kernel.
    pub(super) lost: u64,
    /// Interfaces that packets leave by.
    pub(super) leaving: BTreeSet<u32>,
}

/// Sets an element of a vector that grows.
fn set<T: Clone>(items: &mut Vec<T>, index: u32, item: T, filler: T) {
    let index = index as usize;
    if items.len() <= index {
        items.resize(index + 1, filler);
    }
    items[index] = item;
}

fn add(count: &mut Count, bytes: usize) {
    count.packets += 1;
    count.bytes += bytes as u64;
}

impl State {
    pub(super) fn new(interfaces: usize, ecmp: Ecmp) -> Self {
        let of_interfaces = vec![Counts::default(); interfaces];
        Self { of_interfaces, mask: ecmp.mask(), ..Self::default() }
    }

    pub(super) fn set_action(&mut self, next_hop: NextHop, action: Action) {
        set(&mut self.actions, next_hop.0, action, Action::ToKernel);
    }

    pub(super) fn set_adjacency(&mut self, id: AdjacencyId, adjacency: Adjacency) {
        let neighbour = Neighbour::of(adjacency);
        self.leaving.extend(neighbour.map(|neighbour| neighbour.interface));
        set(&mut self.adjacencies, id.0, neighbour, None);
    }

    /// Returns whether the kernel takes the packets of a next hop.
    pub(super) fn is_of_kernel(&self, next_hop: NextHop) -> bool {
        matches!(self.actions.get(next_hop.0 as usize), Some(Action::ToKernel | Action::ByKernel(_)))
    }

    /// Returns where the packets of a next hop go, or why they do not leave.
    pub(super) fn decide(&self, next_hop: NextHop, flow: u64) -> Result<Neighbour, Reason> {
        if !next_hop.is_some() {
            return Err(Reason::NoRoute);
        }
        match self.actions.get(next_hop.0 as usize) {
            None | Some(Action::ToKernel | Action::ByKernel(_)) => Err(Reason::Local),
            Some(Action::Drop) => Err(Reason::Blackhole),
            Some(Action::Forward(legs)) => {
                // The number of legs is a power of two.
                let leg = (mixed(flow ^ self.mask) >> 32) as usize & legs.len().wrapping_sub(1);
                let id = legs.get(leg).ok_or(Reason::Unresolved)?;
                self.adjacencies.get(id.0 as usize).copied().flatten().ok_or(Reason::Unresolved)
            }
        }
    }

    /// Counts a packet that came in by an interface.
    pub(super) fn count(&mut self, interface: usize, reason: Reason, bytes: usize) {
        add(&mut self.of_interfaces[interface].of[reason as usize], bytes);
    }

    /// Counts a packet that left by a next hop.
    pub(super) fn count_next_hop(&mut self, next_hop: NextHop, bytes: usize) {
        if (next_hop.0 as usize) < COUNTED {
            if self.of_next_hops.len() <= next_hop.0 as usize {
                self.of_next_hops.resize(self.actions.len().min(COUNTED), Count::default());
            }
            add(&mut self.of_next_hops[next_hop.0 as usize], bytes);
        }
    }

    /// Returns what was counted of an interface.
    pub(super) fn of_interface(&self, interface: usize) -> Counts {
        self.of_interfaces[interface].clone()
    }

    /// Returns the next hops that packets left by, and what was counted of each.
    pub(super) fn of_next_hops(&self) -> Vec<(u32, Count)> {
        let counts = self.of_next_hops.iter().copied().zip(0..);
        counts.filter(|(count, _)| count.packets > 0).map(|(count, next_hop)| (next_hop, count)).collect()
    }
}

/// The state, and at which batch the forwarding thread is.
#[derive(Debug)]
pub(super) struct Shared {
    state: Mutex<State>,
    /// Odd while the thread handles a batch.
    batch: AtomicU64,
    pub(super) stop: AtomicBool,
}

impl Shared {
    pub(super) fn new(interfaces: usize, ecmp: Ecmp) -> Self {
        Self {
            state: Mutex::new(State::new(interfaces, ecmp)),
            batch: AtomicU64::new(0),
            stop: AtomicBool::new(false),
        }
    }

    /// Returns the state. The forwarding thread holds it for the decisions of one batch, the
    /// control's thread for one change.
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        // Each change is whole before anything can panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins or ends a batch.
    pub(super) fn turn(&self) {
        self.batch.fetch_add(1, Ordering::SeqCst);
    }

    /// Waits until the batch that is handled now, if there is one, has ended. `is_over` says
    /// whether the forwarding thread has.
    pub(super) fn grace_period(&self, is_over: impl Fn() -> bool) {
        let batch = self.batch.load(Ordering::SeqCst);
        while batch % 2 == 1 && self.batch.load(Ordering::SeqCst) == batch && !is_over() {
            thread::sleep(Duration::from_micros(50));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_goes_to_one_leg_and_flows_to_all() {
        let mut state = State::new(1, Ecmp::default());
        for interface in [1, 2] {
            let adjacency = Adjacency::Resolved {
                interface,
                routed: interface,
                source: [0; 6],
                destination: [0; 6],
                vlan: None,
                mtu: 1500,
            };
            state.set_adjacency(AdjacencyId(interface), adjacency);
        }
        state.set_action(NextHop(1), Action::Forward([1, 2, 1, 1].map(AdjacencyId).to_vec()));
        let of_two = (0..1000).filter(|&flow| state.decide(NextHop(1), flow).unwrap().interface == 2);
        assert!((200..300).contains(&of_two.count()));
        assert_eq!(state.decide(NextHop(0), 1), Err(Reason::NoRoute));
        assert_eq!(state.decide(NextHop(9), 1), Err(Reason::Local));
        state.set_adjacency(AdjacencyId(1), Adjacency::Unresolved { routed: 1 });
        assert!((0..20).any(|flow| state.decide(NextHop(1), flow) == Err(Reason::Unresolved)));
        assert_eq!(state.leaving, BTreeSet::from([1, 2]));
    }
}
