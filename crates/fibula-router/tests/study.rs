//! The study on made tables: every answer of the program is compared, and every packet arrives.
//!
//! ```text
//!   generator ──▶ a0 ═══ a1 ──▶ program ──▶ b0 ═══ b1 ──▶ sink     (veth pairs)
//! ```

mod common;

use common::can_load_programs;
use fibula_io::generate::{NextHopModel, Size, internet};
use fibula_io::trace::{TraceKind, generate};
use fibula_router::plane::xdp::study::{Effort, Way, What, Workload, study};

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
    let effort = Effort { rounds: 1, packets: 40_000 };
    let rows = study(&workload, effort).unwrap();
    let of = |what, ways: &[Way]| {
        let families = ["ipv4", "ipv6"].into_iter();
        families.flat_map(|family| ways.iter().map(move |&way| (what, family, way))).collect::<Vec<_>>()
    };
    let expected = [of(What::Lookup, &Way::INSIDE), of(What::Packet, &Way::ALL)].concat();
    assert_eq!(rows.iter().map(|row| (row.what, row.family, row.way)).collect::<Vec<_>>(), expected);
    for row in &rows {
        let is_one = (row.fibula_times - 1.0).abs() < 1e-9;
        assert!(row.ns > 0.0 && (row.way != Way::Ours || is_one), "{row:?}");
    }
    let tables = workload.tables().unwrap();
    assert_eq!(tables.map(|row| (row.family, row.addresses)), [("ipv4", 1024), ("ipv6", 512)]);
}
