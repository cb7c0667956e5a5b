//! `fibula study vrf --device gpu`: many tables on a device.

use super::CHECK;
use crate::commands::device::Card;
use fibula::table_set::TableId;
use fibula::{NextHop, Rib};
use fibula_gpu::cooperative::Options;
use fibula_gpu::device::Device;
use fibula_gpu::many::Many;
use fibula_lab::Error;
use fibula_lab::study::{ManyTables, VrfRow, VrfWork, study_vrf_of};

impl Card {
    /// Measures the tables on the card.
    pub(super) fn study_vrf(&self, engine: &str, work: VrfWork<'_>) -> Result<VrfRow, Error> {
        on_device(&self.cuda, engine, self.options, work)
    }
}

/// Measures the tables on a device. All addresses are handed over at once, and the device cuts them
/// into its batches.
fn on_device<D: Device + Clone>(
    device: &D,
    engine: &str,
    Options { buffer, lanes, .. }: Options,
    work: VrfWork<'_>,
) -> Result<VrfRow, Error> {
    let kept_as = format!("{engine} on {}", device.name());
    let work = VrfWork { batch: work.addresses.len(), ..work };
    let build = || {
        let tables = Many::new(device.clone(), engine, work.ribs, buffer, lanes);
        tables.map(OnCard).map_err(of_device)
    };
    study_vrf_of(build, kept_as, work, CHECK)
}

/// Keeps an exceeded limit's type in the error of a device.
fn of_device(error: fibula_gpu::Error) -> Error {
    error.limit().map_or_else(|| Error::elsewhere(error), |limit| fibula::Error::from(limit).into())
}

/// Tables on a device, for the study.
struct OnCard<D: Device>(Many<D, u32>);

impl<D: Device> ManyTables for OnCard<D> {
    fn look_up(&mut self, _: &[TableId], numbers: &[u16], addresses: &[u32]) -> Result<(), Error> {
        self.0.look_up(numbers, addresses).map_err(of_device)
    }

    fn answer(&self, at: usize) -> NextHop {
        self.0.answer(at)
    }

    fn bytes(&self) -> usize {
        self.0.bytes()
    }

    fn add_empty(&mut self) -> Result<(), Error> {
        self.0.push(&Rib::new()).map_err(of_device)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{drawn, turned};
    use super::*;
    use fibula::Route;
    use fibula_gpu::cooperative::Division;
    use fibula_gpu::device::Twin;
    use fibula_io::generate::{self, NextHopModel, Size};
    use rand_xoshiro::SplitMix64;
    use rand_xoshiro::rand_core::{Rng, SeedableRng};

    #[test]
    fn every_table_on_a_device_answers_as_it_does_by_itself() {
        let rib = generate::internet(Size { ipv4: 3000, ipv6: 1 }, NextHopModel::Near(300), 1).unwrap().ipv4;
        let routes: Vec<Route<u32>> = rib.iter().collect();
        let mut random = SplitMix64::seed_from_u64(1);
        let mut ribs: Vec<Rib<u32>> = (0..40).map(|at| drawn(&routes, at * 20, &mut random)).collect();
        ribs.push(turned(&routes, 7));
        let addresses: Vec<u32> = (0..50_000).map(|_| random.next_u64() as u32).collect();
        let ids: Vec<u16> = (0..50_000).map(|at| at % 41).collect();
        let work = VrfWork { name: "41", ribs: &ribs, addresses: &addresses, ids: &ids, batch: 1, passes: 1 };
        let options = Options { buffer: 700, lanes: 3, threads: 0, division: Division::Device };
        for engine in ["gpu-mosaic", "gpu-sail-l"] {
            let row = on_device(&Twin::default(), engine, options, work).unwrap();
            assert_eq!((row.checked, row.mismatches), (50_000, 0), "{row:?}");
            assert!(row.kept_as.starts_with(engine) && row.kept_as.contains(" on "), "{row:?}");
            assert!(row.mlps_mixed > 0.0 && row.mlps_sorted > 0.0 && row.empty_bytes > 0, "{row:?}");
        }
        let failing = Twin::default();
        failing.script().fail_after(60);
        let said = on_device(&failing, "gpu-sail-l", options, work).unwrap_err().to_string();
        assert!(said.contains("fell off the bus"), "{said}");
    }
}
