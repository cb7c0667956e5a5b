//! [`Live`]: a routing table on a device that changes while readers look up there; the counterpart
//! of [`fibula::live`].
//!
//! The writer keeps the routing table and its compiled form on the host, and collects changes as
//! [`Settings`] say. A publication is one patch of the bytes that they changed. It is applied to
//! the version that no batch holds ([`Resident`]), and new batches then get that version. A reader
//! has its own lane. All of a batch is answered by the version that it was started with.
//!
//! ```
//! use fibula::live::Settings;
//! use fibula::{Change, NextHop, Rib, Route};
//! use fibula_gpu::device::Twin; // or `Cuda`, where a card is
//! use fibula_gpu::live::Live;
//! use std::time::Duration;
//!
//! let (device, rib) = (Twin::default(), Rib::<u32>::new());
//! let mut live = Live::new(device, "gpu-mosaic", None, rib, Settings::default())?;
//! let mut reader = live.reader(1024)?; // one a thread
//! let route = Route { prefix: "192.0.2.0/24".parse()?, next_hop: NextHop(1) };
//! live.change(Change::Announce(route), Duration::ZERO)?;
//! reader.look_up(&[0xC000_0201, 1])?;
//! assert_eq!([reader.answer(0), reader.answer(1)], [NextHop(1), NextHop::NONE]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use crate::device::{Device, Image, Kernel, Lane};
use crate::table::any::{AnyTable, compile};
use crate::{Error, Key, Resident};
use fibula::engine::WidthBits;
use fibula::live::{Counts, Gatherer, Settings};
use fibula::{Change, Delta, Limit, NextHop, Rib};
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;
use zerocopy::IntoBytes;

/// A changing table on a device: the writer's side. Times are since any moment and must not run
/// backwards.
#[derive(Debug)]
pub struct Live<D: Device, A: Key> {
    gatherer: Gatherer<A>,
    table: Box<dyn AnyTable<A>>,
    resident: Arc<Resident<D>>,
    /// See [`Settings::stuck_after`].
    stuck_after: Duration,
}

impl<D: Device, A: Key> Live<D, A> {
    /// Compiles a table and copies it to a device, at the narrowest width that holds it if none is
    /// given. That width stays: a change to a next hop that it does not hold exceeds a limit.
    ///
    /// # Errors
    /// If the engine has no kernel for this family, the table exceeds a limit or does not fit, or
    /// the device fails.
    pub fn new(
        device: D,
        engine: &str,
        width: Option<WidthBits>,
        rib: Rib<A>,
        settings: Settings,
    ) -> Result<Self, Error> {
        let table = compile(engine, width, &rib)?;
        let resident = Arc::new(Resident::new(device, table.image())?);
        let stuck_after = settings.stuck_after;
        Ok(Self { gatherer: Gatherer::new(rib, settings), table, resident, stuck_after })
    }

    /// Makes a reader, for batches of up to `batch` addresses.
    ///
    /// # Errors
    /// If there is no memory for its lane, or the device fails.
    pub fn reader(&self, batch: usize) -> Result<Reader<D, A>, Error> {
        let kernel = self.kernel();
        let lane = self.resident.device().lane(kernel, batch)?;
        let (resident, answers) = (Arc::clone(&self.resident), Vec::new());
        Ok(Reader { resident, lane, kernel, answers, addresses: PhantomData })
    }

    /// Takes a change, and publishes if that is due; see [`Live::poll`].
    ///
    /// # Errors
    /// See [`Live::publish`].
    pub fn change(&mut self, change: Change<A>, now: Duration) -> Result<(), Error> {
        self.take_in(change, now);
        self.poll(now)
    }

    /// Publishes the changes that were taken, if they are [due](Live::is_due). Call it again, with
    /// or without other changes.
    ///
    /// # Errors
    /// See [`Live::publish`].
    pub fn poll(&mut self, now: Duration) -> Result<(), Error> {
        if self.is_due(now) { self.publish() } else { Ok(()) }
    }

    /// Takes a change and leaves it pending.
    pub fn take_in(&mut self, change: Change<A>, now: Duration) {
        self.gatherer.take_in(change, now);
    }

    /// Returns whether changes are to be published now. Where batches still hold the version to be
    /// patched, that is [`Settings::patience`] later.
    #[must_use]
    pub fn is_due(&self, now: Duration) -> bool {
        self.gatherer.is_due(now, self.resident.is_held())
    }

    /// Publishes all changes that were taken: every batch started after it returns sees them. Waits
    /// for the batches that hold the version to be patched, up to [`Settings::stuck_after`].
    ///
    /// # Errors
    /// - A next hop exceeds the [limit](Error::limit) of the width or of the engine. All these
    ///   changes are then taken back.
    /// - A batch that does not end [holds them up](Error::is_held_up). They then stay pending.
    /// - The device fails. The table is then lost.
    pub fn publish(&mut self) -> Result<(), Error> {
        if self.gatherer.pending() == 0 {
            return Ok(());
        }
        self.resident.wait(self.stuck_after)?;
        let deltas = self.gatherer.apply();
        if deltas.is_empty() {
            return Ok(());
        }
        if let Err(limit) = self.check(&deltas) {
            self.gatherer.refuse(&deltas);
            return Err(limit.into());
        }
        let changed: Vec<_> = deltas.iter().map(|delta| delta.prefix).collect();
        // Only past 2^29 nodes, which takes more memory than any device has.
        let spoilt = |error: fibula::Error| Error::fault(self.resident.device().name(), error.to_string());
        let patch = self.table.follow(self.gatherer.rib(), &changed).map_err(spoilt)?;
        let published = self.resident.update(self.table.image(), patch)?;
        self.gatherer.count_published(&deltas, published.whole.into());
        Ok(())
    }

    /// Checks that the answers can hold these changes' next hops.
    fn check(&self, deltas: &[Delta<A>]) -> Result<(), Limit> {
        let greatest = deltas.iter().map(|delta| delta.after).max().unwrap_or_default();
        let most = self.width().max().0.min(crate::table::NEXT_HOPS_MAX);
        Limit::check(Limit::NEXT_HOPS, greatest.0.into(), most.into())
    }

    /// Returns the number of changes that are taken and not published yet.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.gatherer.pending()
    }

    /// Returns the published table, without the pending changes.
    #[must_use]
    pub fn rib(&self) -> &Rib<A> {
        self.gatherer.rib()
    }

    /// Returns the counts of all changes so far. A table counts as rebuilt where it had outgrown
    /// its room on the device and was copied again.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.gatherer.counts()
    }

    /// Returns the width of the answers.
    #[must_use]
    pub fn width(&self) -> WidthBits {
        self.kernel().width()
    }

    /// Returns the image that goes to the device.
    #[must_use]
    pub fn image(&self) -> Image<'_> {
        self.table.image()
    }

    /// Returns the bytes of both versions on the device, without room to grow.
    #[must_use]
    pub fn bytes(&self) -> usize {
        2 * self.image().bytes()
    }

    fn kernel(&self) -> Kernel {
        self.image().kernel()
    }
}

/// One thread's reader of a table on a device, with its own lane. Readers may outlive their
/// [`Live`].
#[derive(Debug)]
pub struct Reader<D: Device, A: Key> {
    resident: Arc<Resident<D>>,
    lane: D::Lane,
    kernel: Kernel,
    /// The answers of the last batch, in host memory.
    answers: Vec<u8>,
    addresses: PhantomData<fn(A)>,
}

impl<D: Device, A: Key> Reader<D, A> {
    /// Looks up a batch in the published version, and waits for its answers.
    ///
    /// # Errors
    /// If the device fails.
    ///
    /// # Panics
    /// If the reader was made for fewer addresses.
    pub fn look_up(&mut self, addresses: &[A]) -> Result<(), Error> {
        let bytes = addresses.as_bytes();
        self.lane.input()?[..bytes.len()].copy_from_slice(bytes);
        self.lane.start(&self.resident.table(), addresses.len())?;
        let found = self.lane.finish()?;
        self.answers.clear();
        self.answers.extend_from_slice(found);
        Ok(())
    }

    /// Returns the answer for the address at `index` of the last batch.
    ///
    /// # Panics
    /// If the batch is not that long.
    #[must_use]
    pub fn answer(&self, index: usize) -> NextHop {
        next_hop_at(&self.answers, self.kernel, index)
    }
}

/// Reads an answer out of those of a batch, as a kernel has written them.
pub(crate) fn next_hop_at(answers: &[u8], kernel: Kernel, index: usize) -> NextHop {
    let width = kernel.answer_bytes();
    let mut answer = [0; 4];
    answer[..width].copy_from_slice(&answers[index * width..][..width]);
    NextHop(u32::from_le_bytes(answer))
}
