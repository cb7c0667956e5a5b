//! Batches on a device, tested with the device that is made of threads.
//!
//! ```text
//!   addresses ──▶ Cooperative ──▶ lanes of a Twin (slow, or failing when told to)
//!                     │                       ▲
//!                     └──▶ threads            └── Resident ◀── bursts of changes
//! ```

use fibula::engine::Pages;
use fibula::engine::{Config, WidthBits};
use fibula::live::Settings;
use fibula::{Applied, Change, Fib, NextHop, Prefix, Rib, Route};
use fibula_gpu::cooperative::{Cooperative, Division, Options};
use fibula_gpu::device::Twin;
use fibula_gpu::live::Live;
use fibula_gpu::many::Many;
use fibula_gpu::table::layout::{Mosaic6Table, MosaicTable};
use fibula_gpu::{ENGINES, Resident, look_up_of_many};
use fibula_io::generate::{NextHopModel, Size, internet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const SIZE: Size = Size { ipv4: 20_000, ipv6: 10_000 };

/// Returns addresses spread over the whole space, a few in each block of it.
fn spread(count: u32) -> Vec<u32> {
    (0..count).map(|i| i.wrapping_mul(0x9E37_79B1)).collect()
}

struct Bed {
    rib: Rib<u32>,
    table: MosaicTable<u8>,
    fib: Fib<u32>,
    twin: Twin,
}

impl Bed {
    fn new() -> Self {
        let rib = internet(SIZE, NextHopModel::Near(100), 3).unwrap().ipv4;
        let table = MosaicTable::compile(&rib, Pages::Small).unwrap();
        let fib = Fib::build_from(ENGINES, "gpu-mosaic", &rib, Config::default()).unwrap();
        Self { rib, table, fib, twin: Twin::default() }
    }

    fn resident(&self) -> Resident<Twin> {
        Resident::new(self.twin.clone(), self.table.image()).unwrap()
    }

    fn expected(&self, addresses: &[u32]) -> Vec<u8> {
        let oracle = Fib::build("oracle", &self.rib).unwrap();
        addresses.iter().map(|&address| oracle.lookup_index(address).0 as u8).collect()
    }
}

fn options(buffer: usize, lanes: usize, threads: usize, division: Division) -> Options {
    Options { buffer, lanes, threads, division }
}

#[test]
fn answers_come_back_in_order_in_every_mode() {
    let bed = Bed::new();
    let resident = bed.resident();
    let addresses = spread(70_001);
    let expected = bed.expected(&addresses);
    for (buffer, lanes, threads, division) in [
        (1000, 1, 0, Division::Device),
        (1000, 24, 1, Division::Device),
        (30_000, 2, 2, Division::Profiled),
        (1, 2, 1, Division::Profiled),
        (100_000, 1, 2, Division::Profiled),
    ] {
        let addresses = if buffer == 1 { &addresses[..500] } else { &addresses[..] };
        let options = options(buffer, lanes, threads, division);
        let mut both = Cooperative::new(&resident, &bed.fib, bed.table.image().kernel(), options).unwrap();
        for _ in 0..2 {
            let mut found = vec![0xEE_u8; addresses.len()];
            let report = both.look_up(addresses, &mut found);
            assert!(found == expected[..addresses.len()], "{options:?}");
            assert_eq!((report.on_device + report.on_processor, report.fault), (addresses.len(), None));
            assert!(division == Division::Profiled || report.on_processor == 0);
        }
    }
}

#[test]
fn ipv6_addresses_go_through_as_well() {
    let rib = internet(SIZE, NextHopModel::Near(1000), 3).unwrap().ipv6;
    let table = Mosaic6Table::<u16>::compile(&rib, Pages::Small).unwrap();
    let fib = Fib::build_from(ENGINES, "gpu-mosaic6", &rib, Config::default()).unwrap();
    let resident = Resident::new(Twin::default(), table.image()).unwrap();
    let addresses: Vec<u128> = rib.iter().flat_map(|r| [r.prefix.first(), r.prefix.last()]).collect();
    let mut both =
        Cooperative::new(&resident, &fib, table.image().kernel(), options(512, 2, 1, Division::Profiled))
            .unwrap();
    let mut found = vec![0_u16; addresses.len()];
    both.look_up(&addresses, &mut found);
    let oracle = Fib::build("oracle", &rib).unwrap();
    for (&address, found) in addresses.iter().zip(found) {
        assert_eq!(u32::from(found), oracle.lookup_index(address).0, "{address:#x}");
    }
}

#[test]
fn a_device_that_fails_loses_nothing() {
    let addresses = spread(40_000);
    for lanes in [1, 2, 4] {
        for steps in [0, 1, 2, 5, 8, 9] {
            for division in [Division::Device, Division::Profiled] {
                let bed = Bed::new();
                let resident = bed.resident();
                let options = options(4000, lanes, 2, division);
                let mut both =
                    Cooperative::new(&resident, &bed.fib, bed.table.image().kernel(), options).unwrap();
                bed.twin.script().fail_after(steps);
                let mut found = vec![0xEE_u8; addresses.len()];
                let report = both.look_up(&addresses, &mut found);
                assert!(found == bed.expected(&addresses), "{steps} steps, {options:?}");
                assert_eq!(report.on_device + report.on_processor, addresses.len());
                let said = report.fault.unwrap().to_string();
                assert_eq!(
                    said,
                    "the processor's twin of a card failed: it fell off the bus, as its script says"
                );
                // It is not used again, even if it works again.
                bed.twin.script().fail_after(u64::MAX);
                let report = both.look_up(&addresses, &mut found);
                assert_eq!((report.on_device, report.share), (0, 0.0));
                assert!(report.fault.is_some() && found == bed.expected(&addresses));
            }
        }
    }
}

#[test]
fn each_side_is_measured_before_the_first_division() {
    let bed = Bed::new();
    let resident = bed.resident();
    let addresses = spread(10_000);
    // One buffer: what is divided was divided by the profiling phase alone.
    let options = options(10_000, 1, 1, Division::Profiled);
    let mut both = Cooperative::new(&resident, &bed.fib, bed.table.image().kernel(), options).unwrap();
    bed.twin.script().slow_down(20_000);
    let mut found = vec![0_u8; addresses.len()];
    let report = both.look_up(&addresses, &mut found);
    assert!(report.on_device < addresses.len() / 10 && report.on_device > 0, "{report:?}");
    assert!(found == bed.expected(&addresses));
    assert!(both.profile(&addresses, &mut found) < 0.1 && found == bed.expected(&addresses));
}

#[test]
fn a_slow_device_gets_little() {
    let bed = Bed::new();
    let resident = bed.resident();
    let addresses = spread(200_000);
    let options = options(10_000, 2, 1, Division::Profiled);
    let mut both = Cooperative::new(&resident, &bed.fib, bed.table.image().kernel(), options).unwrap();
    let mut found = vec![0_u8; addresses.len()];
    bed.twin.script().slow_down(20_000); // fifty thousand a second
    let report = both.look_up(&addresses, &mut found);
    assert!(report.share < 0.1 && report.on_device > 0, "{report:?}");
    assert!(found == bed.expected(&addresses));
}

/// Changes of one kind: all routes under 10.0.0.0/8 change together, so a batch that saw a part of
/// a burst shows it.
#[test]
fn a_batch_sees_the_table_before_or_after_a_burst() {
    let mut rib: Rib<u32> = Rib::new();
    let prefixes: Vec<Prefix<u32>> = (0..400)
        .map(|i| Prefix::containing(0x0A00_0000 + (i << 14) + (i << 7), 20 + (i % 11) as u8))
        .collect();
    let burst = |hop: u32| {
        prefixes.iter().map(move |&prefix| Change::Announce(Route { prefix, next_hop: NextHop(hop) }))
    };
    rib.apply_all(burst(1));
    let mut table = MosaicTable::<u8>::compile(&rib, Pages::Small).unwrap();
    let twin = Twin::default();
    let resident = Resident::new(twin.clone(), table.image()).unwrap();
    let kernel = table.image().kernel();
    let addresses: Vec<u32> = prefixes.iter().map(|prefix| prefix.first()).collect();
    let fib = Fib::build_from(ENGINES, "gpu-mosaic", &rib, Config::default()).unwrap();
    twin.script().slow_down(500);
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let one_batch = options(addresses.len(), 3, 0, Division::Device);
            let mut device = Cooperative::new(&resident, &fib, kernel, one_batch).unwrap();
            let mut seen = Vec::new();
            loop {
                let last = ended.load(Ordering::SeqCst);
                let mut found = vec![0_u8; addresses.len() * 3];
                let stream = addresses.repeat(3);
                assert_eq!(device.look_up(&stream, &mut found).fault, None);
                for batch in found.chunks(addresses.len()) {
                    assert!(
                        batch.iter().all(|hop| hop == &batch[0]),
                        "a batch between two bursts: {batch:?}"
                    );
                    seen.push(batch[0]);
                }
                if last {
                    return seen;
                }
            }
        });
        for hop in 2..=60 {
            let deltas = rib.apply_all(burst(hop)).deltas;
            let touched = table.follow(&rib, deltas.iter().map(|delta| delta.prefix)).unwrap();
            let patch = table.patch(touched);
            assert!(patch.bytes() > 0);
            let published = resident.update(table.image(), patch).unwrap();
            assert!(!published.whole);
        }
        ended.store(true, Ordering::SeqCst);
        let seen = reader.join().unwrap();
        assert!(seen.is_sorted() && seen.last() == Some(&60), "{seen:?}");
    });
}

#[test]
fn a_table_that_outgrows_its_room_is_copied_again_and_a_strange_patch_is_refused() {
    let mut rib: Rib<u32> = Rib::new();
    let mut table = MosaicTable::<u8>::compile(&rib, Pages::Small).unwrap();
    let resident = Resident::new(Twin::default(), table.image()).unwrap();
    let many = (0..4000_u32).map(|i| {
        Change::Announce(Route {
            prefix: Prefix::host(i.wrapping_mul(0x9E37_79B1)),
            next_hop: NextHop(i % 250 + 1),
        })
    });
    let deltas = rib.apply_all(many).deltas;
    let touched = table.follow(&rib, deltas.iter().map(|delta| delta.prefix)).unwrap();
    let patch = table.patch(touched);
    assert!(resident.update(table.image(), patch.clone()).unwrap().whole);
    let strange = resident.update(table.image(), patch).unwrap_err().to_string();
    assert!(strange.contains("cannot be laid on"), "{strange}");
    // And the answers are those of the grown table.
    let mut fib = Fib::build_from(ENGINES, "gpu-mosaic", &Rib::new(), Config::default()).unwrap();
    assert!(matches!(fib.apply(&rib, &deltas), Ok(Applied::InPlace(_))));
    let addresses = spread(4000);
    let mut found = vec![0_u8; addresses.len()];
    let device = options(4000, 1, 0, Division::Device);
    Cooperative::new(&resident, &fib, table.image().kernel(), device)
        .unwrap()
        .look_up(&addresses, &mut found);
    let oracle = Fib::build("oracle", &rib).unwrap();
    assert!(
        addresses
            .iter()
            .zip(found)
            .all(|(&address, found)| oracle.lookup_index(address).0 == u32::from(found))
    );
}

#[test]
fn every_address_names_its_table() {
    let ribs: Vec<Rib<u32>> =
        (0..3).map(|i| internet(SIZE, NextHopModel::Near(100), i).unwrap().ipv4).collect();
    let tables: Vec<MosaicTable<u8>> =
        ribs.iter().map(|rib| MosaicTable::compile(rib, Pages::Small).unwrap()).collect();
    let addresses = spread(30_000);
    let table_ids: Vec<u16> = (0..addresses.len()).map(|i| (i * 7 % 3) as u16).collect();
    let mut found = vec![0_u8; addresses.len()];
    look_up_of_many(&tables.iter().collect::<Vec<_>>(), &table_ids, &addresses, &mut found);
    let oracles: Vec<Fib<u32>> = ribs.iter().map(|rib| Fib::build("oracle", rib).unwrap()).collect();
    for ((&address, id), found) in addresses.iter().zip(table_ids).zip(found) {
        assert_eq!(
            oracles[usize::from(id)].lookup_index(address).0,
            u32::from(found),
            "{address:#x} in {id}"
        );
    }
    // The same on a device, in batches that overlap, and with one table more.
    let mut many = Many::new(Twin::default(), "gpu-mosaic", &ribs, 1000, 3).unwrap();
    many.push(&Rib::new()).unwrap();
    let table_ids: Vec<u16> = (0..addresses.len()).map(|i| (i * 7 % 4) as u16).collect();
    many.look_up(&table_ids, &addresses).unwrap();
    for (at, (&address, &id)) in addresses.iter().zip(&table_ids).enumerate() {
        let right = oracles.get(usize::from(id)).map_or(NextHop::NONE, |oracle| oracle.lookup_index(address));
        assert_eq!(many.answer(at), right, "{address:#x} in {id}");
    }
    assert!(many.bytes() > tables.iter().map(|table| table.image().bytes()).sum());
    let none = Many::<_, u32>::new(Twin::default(), "gpu-mosaic", &[], 1000, 3).unwrap_err().to_string();
    assert_eq!(none, "1 to 65536 tables can be asked together");
}

#[test]
#[should_panic(expected = "every number names one of 1 tables")]
fn a_number_that_names_no_table_never_reaches_a_device() {
    let mut many = Many::new(Twin::default(), "gpu-sail-l", &[Rib::<u32>::new()], 10, 1).unwrap();
    let _ = many.look_up(&[0, 1], &[5, 6]);
}

#[test]
fn changes_past_a_width_are_taken_back_and_the_rest_goes_on() {
    let mut live =
        Live::new(Twin::default(), "gpu-mosaic", Some(WidthBits::U8), Rib::<u32>::new(), Settings::default())
            .unwrap();
    let mut reader = live.reader(4).unwrap();
    let announce = |next_hop| Change::Announce(Route { prefix: Prefix::ALL, next_hop: NextHop(next_hop) });
    live.change(announce(7), Duration::ZERO).unwrap();
    let refused = live.change(announce(256), Duration::ZERO).unwrap_err();
    assert_eq!(refused.limit().map(|limit| (limit.had, limit.max)), Some((256, 255)));
    reader.look_up(&[0, u32::MAX]).unwrap();
    assert_eq!((reader.answer(0), reader.answer(1)), (NextHop(7), NextHop(7)));
    live.change(announce(8), Duration::ZERO).unwrap();
    assert_eq!((live.counts().applied, live.counts().refused, live.pending()), (2, 1, 0));
    reader.look_up(&[9]).unwrap();
    assert_eq!(reader.answer(0), NextHop(8));
}

#[test]
fn a_lane_that_never_ends_holds_changes_up_and_then_lets_them_through() {
    let twin = Twin::default();
    let stuck_after = Duration::from_millis(30);
    let settings = Settings { stuck_after, ..Settings::default() };
    let mut live = Live::new(twin.clone(), "gpu-mosaic", None, Rib::<u32>::new(), settings).unwrap();
    let (mut reader, mut stuck) = (live.reader(1).unwrap(), live.reader(1).unwrap());
    let announce = |next_hop| Change::Announce(Route { prefix: Prefix::ALL, next_hop: NextHop(next_hop) });
    twin.script().be_silent(true);
    std::thread::scope(|scope| {
        let lane = scope.spawn(|| {
            stuck.look_up(&[1]).unwrap();
            stuck.answer(0)
        });
        // The publication after next needs the version that its batch holds.
        let mut applied = 0;
        let error = loop {
            live.take_in(announce(applied as u32 % 200 + 1), Duration::ZERO);
            match live.publish() {
                Ok(()) => applied += 1,
                Err(error) => break error,
            }
            std::thread::yield_now();
        };
        assert!(error.is_held_up() && error.to_string().contains("30ms"), "{error}");
        assert!(live.publish().unwrap_err().is_held_up());
        assert_eq!((live.pending(), live.counts().applied), (1, applied));
        let published = NextHop((applied as u32 - 1) % 200 + 1);
        assert_eq!(live.rib().longest_match(9).unwrap().next_hop, published);
        live.take_in(announce(250), Duration::ZERO);
        twin.script().be_silent(false);
        assert!(lane.join().unwrap().0 <= 200);
    });
    live.publish().unwrap();
    reader.look_up(&[9]).unwrap();
    assert_eq!((reader.answer(0), live.pending()), (NextHop(250), 0));
}
