//! `fibula replay --device gpu`: a table on a device, while it changes.

use crate::commands::device::Card;
use crate::commands::device::live::TableOnDevice;
use fibula_gpu::Key;
use fibula_gpu::cooperative::{Division, Options};
use fibula_gpu::device::Device;
use fibula_lab::replay::{ReplayOptions, ReplayRow, Stream, replay_on};
use fibula_lab::verify::width_of_all;

impl Card {
    /// Replays on the card.
    pub(super) fn replay<A: Key>(
        &self,
        engine: &str,
        stream: Stream<'_, A>,
        options: &ReplayOptions,
    ) -> anyhow::Result<ReplayRow> {
        replay_on_device(self.cuda.clone(), self.options, engine, stream, options)
    }
}

/// Replays on a device, at a width that holds all changes unless another is asked for. Where the
/// processor takes part it has at least one reader.
fn replay_on_device<D: Device + Clone + 'static, A: Key>(
    device: D,
    on_device: Options,
    engine: &str,
    stream: Stream<'_, A>,
    options: &ReplayOptions,
) -> anyhow::Result<ReplayRow> {
    let width = options.config.width.unwrap_or_else(|| width_of_all(stream.rib, stream.changes));
    let Options { division, buffer, .. } = on_device;
    let least = if division == Division::Device { 1 } else { 2 };
    let options =
        ReplayOptions { readers: options.readers.max(least), reader_batch: buffer, ..options.clone() };
    let mut live = TableOnDevice::new(device, division, engine, width, stream.rib, options.settings)?;
    Ok(replay_on(&mut live, engine, stream, &options)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fibula::Rib;
    use fibula::live::Settings;
    use fibula_gpu::device::Twin;
    use fibula_io::generate::{self, NextHopModel, Size};
    use std::time::Duration;

    fn replayed<A: Key>(engine: &str, rib: &Rib<A>, division: Division, batch: usize) -> ReplayRow {
        let changes = generate::updates(rib, 2000, 1);
        let addresses: Vec<A> = rib.iter().map(|route| route.prefix.last()).collect();
        let stream = Stream { table: "made", rib, changes: &changes, addresses: &addresses };
        let settings = Settings { most_changes: batch, ..Settings::default() };
        let span = Duration::from_millis(20);
        let options = ReplayOptions { settings, span, random: 5000, ..ReplayOptions::default() };
        let on_device = Options { buffer: 1000, lanes: 1, threads: 1, division };
        replay_on_device(Twin::default(), on_device, engine, stream, &options).unwrap()
    }

    #[test]
    fn readers_on_a_device_see_every_publication_as_a_whole() {
        let tables = generate::internet(Size { ipv4: 3000, ipv6: 3000 }, NextHopModel::Near(300), 1).unwrap();
        for division in [Division::Device, Division::Profiled] {
            for (engine, batch) in [("gpu-mosaic", 1), ("gpu-sail-l", 50), ("gpu-mosaic6", 1)] {
                let row = match engine {
                    "gpu-mosaic6" => replayed(engine, &tables.ipv6, division, batch),
                    _ => replayed(engine, &tables.ipv4, division, batch),
                };
                assert_eq!((row.updates, row.wrong, row.refused), (2000, 0, 0), "{row:?}");
                assert_eq!(row.applied + row.suppressed + row.coalesced, 2000, "{row:?}");
                assert!(row.mlps_before > 0.0 && row.mlps_during > 0.0 && row.mlps_after > 0.0, "{row:?}");
                assert!(row.visible_us_p50 > 0.0 && row.visible_us_p50 <= row.visible_us_p999, "{row:?}");
                assert_eq!(row.readers, if division == Division::Device { 1 } else { 2 });
                assert!(row.publications > 0 && row.bytes_before > 0, "{row:?}");
            }
        }
    }

    #[test]
    fn a_device_that_fails_is_named_and_ends_the_replay() {
        let rib = generate::internet(Size { ipv4: 300, ipv6: 1 }, NextHopModel::Near(30), 1).unwrap().ipv4;
        let changes = generate::updates(&rib, 500, 1);
        let stream = Stream { table: "made", rib: &rib, changes: &changes, addresses: &[1, 2, 3] };
        // Each change is published, so that the device takes more steps than these under any load.
        let settings = Settings { most_changes: 1, ..Settings::default() };
        let options = ReplayOptions { settings, span: Duration::from_millis(1), ..ReplayOptions::default() };
        let on_device = Options { buffer: 1000, lanes: 1, threads: 1, division: Division::Device };
        for steps in [0, 2, 3, 20, 21, 22] {
            let twin = Twin::default();
            twin.script().fail_after(steps);
            let failed = replay_on_device(twin, on_device, "gpu-mosaic", stream, &options);
            let said = failed.unwrap_err().to_string();
            assert!(said.contains("fell off the bus"), "{steps} steps: {said}");
        }
    }
}
