//! [`Many`]: many tables on a device, and batches of addresses that each name their table.
//!
//! A router with virtual routing and forwarding instances looks up another table with every packet.
//! On a device one kernel does that for all tables. A batch has the number of its table beside
//! every address, and the kernel reads the table's parts from an array.
//!
//! ```
//! use fibula::{NextHop, Rib};
//! use fibula_gpu::device::Twin; // or `Cuda`, where a card is
//! use fibula_gpu::many::Many;
//! let mut red: Rib<u32> = Rib::new();
//! red.insert("192.0.2.0/24".parse()?, NextHop(7));
//! let mut tables = Many::new(Twin::default(), "gpu-mosaic", &[red, Rib::new()], 1024, 2)?;
//! tables.look_up(&[0, 1, 0], &[0xC000_0201, 0xC000_0201, 1])?;
//! assert_eq!([0, 1, 2].map(|at| tables.answer(at).0), [7, 0, 0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use crate::device::{Device, Kernel, Lane};
use crate::live::next_hop_at;
use crate::table::any::compile;
use crate::{Error, Key};
use fibula::engine::WidthBits;
use fibula::{NextHop, Rib};
use std::collections::VecDeque;
use std::marker::PhantomData;
use std::sync::Arc;
use zerocopy::IntoBytes;

/// Many tables of one family, in one layout and width, on a device.
#[derive(Debug)]
pub struct Many<D: Device, A: Key> {
    device: D,
    engine: String,
    kernel: Kernel,
    tables: Vec<Arc<D::Table>>,
    /// All tables, for a batch.
    together: Arc<D::Tables>,
    bytes: usize,
    /// The addresses of a batch. There are as many batches on the device at once as lanes.
    batch: usize,
    lanes: Vec<D::Lane>,
    /// The answers of the last call, in host memory.
    answers: Vec<u8>,
    addresses: PhantomData<fn(A)>,
}

impl<D: Device, A: Key> Many<D, A> {
    /// Compiles tables, all at the narrowest width that holds the next hops of each, and copies
    /// them to the device.
    ///
    /// # Errors
    /// If the engine has no kernel for this family, if there are none or more than 65,536 tables,
    /// if one exceeds a limit or does not fit, if `batch` or `lanes` is 0, or if the device fails.
    pub fn new(device: D, engine: &str, ribs: &[Rib<A>], batch: usize, lanes: usize) -> Result<Self, Error> {
        let greatest = ribs.iter().map(Rib::max_next_hop).max().unwrap_or_default();
        let width = WidthBits::holding(greatest);
        let mut tables = Vec::new();
        let (mut bytes, mut kernel) = (0, None);
        for rib in ribs {
            let table = compile(engine, Some(width), rib)?;
            bytes += table.image().bytes();
            kernel = Some(table.image().kernel());
            tables.push(Arc::new(device.place(table.image())?));
        }
        let together = Arc::new(device.together(&tables)?);
        let kernel = kernel.filter(|_| batch > 0 && lanes > 0);
        let kernel = kernel.ok_or_else(|| Error::usage("tables, batch and lanes are at least 1"))?;
        let lanes = (0..lanes).map(|_| device.lane_of_many(kernel, batch)).collect::<Result<_, _>>()?;
        let (engine, answers) = (engine.into(), Vec::new());
        let addresses = PhantomData;
        Ok(Self { device, engine, kernel, tables, together, bytes, batch, lanes, answers, addresses })
    }

    /// Adds a table, whose number is the next one. Its next hops must fit the width of the others.
    ///
    /// # Errors
    /// If it exceeds a limit or does not fit, there are 65,536 already, or the device fails.
    pub fn push(&mut self, rib: &Rib<A>) -> Result<(), Error> {
        let table = compile(&self.engine, Some(self.kernel.width()), rib)?;
        self.tables.push(Arc::new(self.device.place(table.image())?));
        match self.device.together(&self.tables) {
            Ok(together) => self.together = Arc::new(together),
            Err(error) => {
                self.tables.pop();
                return Err(error);
            }
        }
        self.bytes += table.image().bytes();
        Ok(())
    }

    /// Returns their bytes on the device, without room to grow.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes + self.tables.len() * size_of::<[u64; crate::table::PARTS]>()
    }

    /// Looks up addresses, each in the table that `numbers` has at its index, in batches that
    /// overlap.
    ///
    /// # Errors
    /// If the device fails.
    ///
    /// # Panics
    /// If there are not as many numbers as addresses, or a number names no table.
    pub fn look_up(&mut self, table_ids: &[u16], addresses: &[A]) -> Result<(), Error> {
        assert_eq!(table_ids.len(), addresses.len(), "as many table numbers as addresses");
        self.answers.clear();
        let mut under_way = VecDeque::new();
        for (batch, (ids, addresses)) in
            table_ids.chunks(self.batch).zip(addresses.chunks(self.batch)).enumerate()
        {
            let at = batch % self.lanes.len();
            if under_way.len() == self.lanes.len() {
                self.finish(&mut under_way)?;
            }
            let (lane, bytes) = (&mut self.lanes[at], addresses.as_bytes());
            lane.input()?[..bytes.len()].copy_from_slice(bytes);
            lane.table_ids()?[..ids.len()].copy_from_slice(ids);
            lane.start_of_many(&self.together, ids.len())?;
            under_way.push_back(at);
        }
        while !under_way.is_empty() {
            self.finish(&mut under_way)?;
        }
        Ok(())
    }

    /// Waits for the oldest batch.
    fn finish(&mut self, under_way: &mut VecDeque<usize>) -> Result<(), Error> {
        if let Some(lane) = under_way.pop_front() {
            self.answers.extend_from_slice(self.lanes[lane].finish()?);
        }
        Ok(())
    }

    /// Returns the answer for the address at an index of the last call.
    ///
    /// # Panics
    /// If the call had fewer addresses.
    #[must_use]
    pub fn answer(&self, index: usize) -> NextHop {
        next_hop_at(&self.answers, self.kernel, index)
    }
}
