//! The studies, run on the twin: every measurement is made and every answer compared.

use fibula::engine::Config;
use fibula::{Change, Fib, NextHop, Rib};
use fibula_gpu::cooperative::{Division, Options};
use fibula_gpu::device::{Grid, Twin};
use fibula_gpu::study::{Limits, Plan, Study, Workload, answers, cooperative, race, sweep, updates};
use fibula_gpu::{ENGINES, Key};
use fibula_io::generate::{self, NextHopModel, Size};

fn studied<A: Key>(engine: &str, rib: &Rib<A>, changes: &[Change<A>]) -> Study {
    let fib = Fib::build_from(ENGINES, engine, rib, Config::default()).unwrap();
    let addresses: Vec<A> = rib.iter().map(|route| route.prefix.last()).collect();
    let workload = Workload { table: "made", rib, engine, addresses: &addresses, fib: &fib };
    let plan = Plan {
        batches: vec![100, 5000, 100_000],
        lanes: vec![1, 3],
        grids: vec![None, Some(Grid { blocks: 64, threads: 128 })],
        buffers: vec![700],
        threads: 1,
        bursts: vec![1, 50],
        seconds: 0.01,
    };
    let twin = Twin::default();
    let mut told = 0;
    let sweep = sweep(&twin, &workload, &plan, &mut |_| told += 1).unwrap();
    assert_eq!((sweep.len(), told), (11, 11), "of a large batch, the most lanes with each threads");
    assert!(
        sweep.iter().all(|row| row.mismatches == 0 && row.mlps > 0.0 && row.kernel_mlps > 0.0),
        "{sweep:?}"
    );
    assert!(sweep.iter().all(|row| row.latency_us_p50 <= row.latency_us_p99), "{sweep:?}");
    let cooperative = cooperative(&twin, &workload, &plan, &mut |_| {}).unwrap();
    assert!(cooperative.len() == 2 && cooperative.iter().all(|row| row.mismatches == 0), "{cooperative:?}");
    assert!(
        cooperative.iter().all(|row| row.device_us_p50 > 0.0 && row.both_us_p50 > 0.0),
        "{cooperative:?}"
    );
    let updates = updates(&twin, &workload, changes, &plan, &mut |_| {}).unwrap();
    assert!(updates.len() == 2 && updates.iter().all(|row| row.updates_per_s > 0.0), "{updates:?}");
    Study {
        engine: engine.into(),
        family: A::FAMILY.to_string(),
        table: "made".into(),
        prefixes: rib.len(),
        limits: Limits::of(&twin, &workload).unwrap(),
        sweep,
        cooperative,
        updates,
    }
}

#[test]
fn the_whole_study_on_the_twin() {
    let tables = generate::internet(Size { ipv4: 3000, ipv6: 3000 }, NextHopModel::Near(300), 1).unwrap();
    let changes4 = generate::updates(&tables.ipv4, 500, 1);
    let changes6 = generate::updates(&tables.ipv6, 500, 1);
    let studies = [
        studied("gpu-mosaic", &tables.ipv4, &changes4),
        studied("gpu-sail-l", &tables.ipv4, &changes4),
        studied("gpu-sail-l-printed", &tables.ipv4, &changes4),
        studied("gpu-bloom", &tables.ipv4, &changes4),
        studied("gpu-mosaic6", &tables.ipv6, &changes6),
    ];
    assert_eq!((studies[0].limits.address_bytes, studies[0].limits.answer_bytes), (4, 2));
    assert_eq!((studies[4].limits.address_bytes, studies[4].limits.answer_bytes), (16, 2));
}

#[test]
fn a_race_checks_its_answers_and_tells_a_device_that_fails() {
    let rib = generate::internet(Size { ipv4: 3000, ipv6: 1 }, NextHopModel::Near(300), 1).unwrap().ipv4;
    let fib = Fib::build_from(ENGINES, "gpu-sail-l", &rib, Config::default()).unwrap();
    let addresses: Vec<u32> = rib.iter().map(|route| route.prefix.first()).collect();
    let workload =
        Workload { table: "made", rib: &rib, engine: "gpu-sail-l", addresses: &addresses, fib: &fib };
    let oracle = Fib::build("oracle", &rib).unwrap();
    let mut right: Vec<NextHop> =
        addresses.iter().step_by(3).map(|&address| oracle.lookup_index(address)).collect();
    let options = Options { buffer: 500, lanes: 2, threads: 1, division: Division::Profiled };
    let twin = Twin::default();
    let row = race(&twin, &workload, "firsts", (&right, 3), options, 1, 2).unwrap();
    assert!(row.mismatches == 0 && row.fault.is_none() && row.checked == right.len(), "{row:?}");
    assert!(row.mlps_min <= row.mlps && row.mlps <= row.mlps_max && row.kernel_mlps > Some(0.0), "{row:?}");
    let alone = Options { threads: 0, division: Division::Device, ..options };
    let row = race(&twin, &workload, "firsts", (&right, 3), alone, 3, 1).unwrap();
    assert!(row.mismatches == 0 && row.share > 0.99 && row.device.ends_with(" fed by 3 threads"), "{row:?}");
    right[7] = NextHop(299_999);
    let row = race(&twin, &workload, "firsts", (&right, 3), options, 1, 1).unwrap();
    assert_eq!((row.mismatches, row.mlps, row.kernel_mlps), (1, None, None));
    // Two versions are copied and two lanes made; then it fails.
    twin.script().fail_after(6);
    let (found, fault) = answers(&twin, &workload, options).unwrap();
    assert!(
        fault.is_some()
            && addresses.iter().zip(found).all(|(&address, found)| found == oracle.lookup_index(address))
    );
}

#[test]
fn the_copy_limit_is_the_slower_way() {
    let limits = |address_bytes, answer_bytes| Limits {
        engine: "gpu-mosaic".into(),
        bytes: 1,
        address_bytes,
        answer_bytes,
        copy_in_gbs: 40.0,
        copy_out_gbs: 50.0,
        gather_m: 1.0,
    };
    assert!((limits(4, 1).copy_mlps() - 10_000.0).abs() < 1e-6);
    assert!((limits(4, 16).copy_mlps() - 3125.0).abs() < 1e-6);
}

#[test]
fn what_has_no_kernel_is_named() {
    let rib: Rib<u32> = Rib::new();
    let error = fibula_gpu::table::any::compile("dxr", None, &rib).unwrap_err().to_string();
    assert_eq!(
        error,
        "dxr does not run on a card (gpu-dir24-8, gpu-sail-l, gpu-mosaic, gpu-mosaic6, gpu-sail-l-printed, gpu-bloom do)"
    );
    assert!(fibula_gpu::table::any::compile("gpu-mosaic6", None, &rib).is_err());
}
