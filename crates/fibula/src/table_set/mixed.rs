//! [`Mixed`]: a batch of many tables, sorted by table.

use super::{TableId, TableSet};
use crate::{Address, NextHop};

/// The memory of a mixed batch during its lookup. The caller keeps it, so that batches allocate
/// nothing.
#[derive(Clone, Debug, Default)]
pub struct Mixed<A> {
    /// By table: how many of its addresses are in the batch, then the index of the next of them.
    /// All 0 between batches.
    counts: Vec<u32>,
    /// The number of the table of each address in the batch.
    numbers: Vec<u32>,
    /// The tables that the batch looks up in.
    asked: Vec<u32>,
    /// The addresses, table by table, and the index of each in the batch.
    addresses: Vec<A>,
    places: Vec<u32>,
    next_hops: Vec<NextHop>,
}

impl<A: Address> Mixed<A> {
    /// See [`TableSet::lookup_batch`].
    pub(super) fn lookup(
        &mut self,
        tables: &TableSet<A>,
        ids: &[TableId],
        addresses: &[A],
        next_hops: &mut [NextHop],
    ) {
        // Addresses without a table are counted as one more table, which has no route.
        let no_table = tables.slots.len() as u32;
        self.counts.resize(tables.slots.len() + 1, 0);
        self.asked.clear();
        self.numbers.clear();
        for id in ids {
            let slot = tables.slots.get(id.number as usize);
            let is_there = slot.is_some_and(|slot| slot.generation == id.generation);
            let number = if is_there { id.number } else { no_table };
            self.numbers.push(number);
            let count = &mut self.counts[number as usize];
            if *count == 0 {
                self.asked.push(number);
            }
            *count += 1;
        }
        let mut start = 0;
        for &number in &self.asked {
            let count = &mut self.counts[number as usize];
            (start, *count) = (start + *count, start);
        }
        self.addresses.resize(addresses.len(), A::ZERO);
        self.places.resize(addresses.len(), 0);
        self.next_hops.resize(addresses.len(), NextHop::NONE);
        for (place, (&number, &address)) in self.numbers.iter().zip(addresses).enumerate() {
            let count = &mut self.counts[number as usize];
            self.addresses[*count as usize] = address;
            self.places[*count as usize] = place as u32;
            *count += 1;
        }
        let mut start = 0;
        for &number in &self.asked {
            let end = std::mem::take(&mut self.counts[number as usize]) as usize;
            let fib = tables.slots.get(number as usize).and_then(|slot| slot.fib.as_deref());
            TableSet::lookup_all(fib, &self.addresses[start..end], &mut self.next_hops[start..end]);
            start = end;
        }
        for (&place, &next_hop) in self.places.iter().zip(&self.next_hops) {
            next_hops[place as usize] = next_hop;
        }
    }
}
