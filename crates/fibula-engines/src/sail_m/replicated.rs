//! [`Replicated`]: one table in several copies, the engine of the registry.

use super::{SailM, TABLES, TABLES_MAX};
use fibula::engine::{Config, Cost, Engine, Figure, Lookup, Meter, Update, Width};
use fibula::parts::arch::Isa;
use fibula::parts::memory::Memory;
use fibula::{Delta, Error, Rib};

/// One table as each of the `tables` of a [`SailM`]. An address is looked up in the table that its
/// hash chooses, so a batch mixes ids and every table answers for some addresses. All tables are
/// equal, so the answer is exact.
///
/// Its memory and the cost of its updates are those of `tables` tables.
#[derive(Clone, Debug)]
pub struct Replicated<W: Width> {
    tables: SailM<W>,
}

impl<W: Width> Replicated<W> {
    /// Returns the table in which `address` is looked up: its hash, a multiplication by 2^32 over
    /// the golden ratio, scaled to the number of tables.
    #[inline(always)]
    fn table(&self, address: u32) -> usize {
        let hash = address.wrapping_mul(0x9E37_79B9);
        ((u64::from(hash) * self.tables.tables() as u64) >> 32) as usize
    }
}

impl<W: Width> Lookup<u32> for Replicated<W> {
    type Width = W;

    #[inline(always)]
    fn lookup_metered<M: Meter>(&self, address: u32, meter: &mut M) -> W {
        self.tables.lookup_metered(address, self.table(address) as u16, meter)
    }

    #[inline(always)]
    fn lookup_batch<I: Isa>(&self, _: I, addresses: &[u32], next_hops: &mut [W]) {
        if self.tables.tables() == 1 {
            // The arrays of the only table are found once, not once per address.
            self.tables.lookup_blocks(addresses, |_, _| 0, next_hops);
        } else {
            self.tables.lookup_blocks(addresses, |_, address| self.table(address), next_hops);
        }
    }
}

impl<W: Width> Engine<u32> for Replicated<W> {
    type View = Self;

    fn build(rib: &Rib<u32>, config: &Config) -> Result<Self, Error> {
        let tables = config.parameter(TABLES, 1..=TABLES_MAX, 1)?;
        Ok(Self { tables: SailM::build(&vec![rib; tables], config.pages)? })
    }

    fn view(&self) -> &Self {
        self
    }

    fn apply(&mut self, rib: &Rib<u32>, deltas: &[Delta<u32>]) -> Update {
        let mut all = Cost::default();
        for table in 0..self.tables.tables() {
            match self.tables.apply(table as u16, rib, deltas) {
                Update::Applied(cost) => all += cost,
                refused => return refused, // by the first, as by every other
            }
        }
        Update::Applied(all)
    }

    fn memory(&self) -> Memory {
        self.tables.memory()
    }

    fn figures(&self) -> Vec<Figure> {
        self.tables.figures()
    }

    fn validate(&self, rib: &Rib<u32>) -> Result<(), String> {
        self.tables.validate(&vec![rib; self.tables.tables()])
    }
}
