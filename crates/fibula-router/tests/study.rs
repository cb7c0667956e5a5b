//! The study on made tables: every answer of the program is compared, and every packet arrives.
//!
//! ```text
//!   generator ──▶ a0 ═══ a1 ──▶ program ──▶ b0 ═══ b1 ──▶ sink     (veth pairs)
//! ```

mod common;

use common::can_load_programs;
use fibula_io::generate::{NextHopModel, Size, internet};
use fibula_io::trace::{TraceKind, generate};
use fibula_router::plane::xdp::study::{self, Way, Workload};
use nix::sched::{CloneFlags, unshare};

#[test]
fn all_ways_are_timed_in_both_families() {
    if !can_load_programs() {
        return;
    }
    if std::process::Command::new("ip").arg("-V").output().is_err() {
        eprintln!("skipped: there is no ip");
        return;
    }
    let tables = internet(Size { ipv4: 2000, ipv6: 1000 }, NextHopModel::Near(300), 5).unwrap();
    let addresses4 = generate(&TraceKind::Prefix, &tables.ipv4, 1024, 1).unwrap();
    let addresses6 = generate(&TraceKind::Prefix, &tables.ipv6, 512, 1).unwrap();
    let workload =
        Workload { ipv4: &tables.ipv4, ipv6: &tables.ipv6, addresses4: &addresses4, addresses6: &addresses6 };
    // The interfaces of this thread's own namespace end with it.
    unshare(CloneFlags::CLONE_NEWNET).unwrap();
    let mut study = study::prepare(&workload).unwrap();
    let kinds: Vec<(bool, Way)> =
        [true, false].into_iter().flat_map(|is_ipv4| Way::ALL.map(|way| (is_ipv4, way))).collect();
    for rows in [study.lookups(1).unwrap(), study.packets(1, 4096).unwrap()] {
        assert_eq!(rows.iter().map(|row| (row.is_ipv4, row.way)).collect::<Vec<_>>(), kinds);
        assert!(rows.iter().all(|row| row.nanoseconds > 0.0), "{rows:?}");
    }
}
