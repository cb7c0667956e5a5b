//! The functions that a fuzzer calls: every parser on arbitrary bytes. Nothing here may panic, and
//! reading with `keep_going` fails only at a limit.

mod forged;

pub use forged::{Original, Outcome, forged_snapshot, originals};

use crate::scan;
use crate::{mrt, table, update};
use fibula::snapshot::Snapshot;
use fibula::{NextHop, NextHops};

/// Reads a table in this format, once stopping at damage and once going on after it.
pub fn table(bytes: &[u8], format: table::Format, mask_host_bits: bool) {
    let options = table::ReadOptions { format: Some(format), mask_host_bits, ..Default::default() };
    let strict = table::parse(bytes, &options);
    let salvaged = table::parse(bytes, &table::ReadOptions { keep_going: true, ..options });
    let Ok(salvaged) = salvaged else {
        // Not even the header of a compressed stream can be read, or a limit is exceeded.
        assert!(strict.is_err(), "salvaging failed where reading did not");
        return;
    };
    match strict {
        Ok(strict) => assert_eq!(strict.tables, salvaged.tables),
        Err(error) => {
            assert!(!salvaged.damage.is_empty(), "{error}");
            assert!(!error.to_string().contains('\n'), "{error}");
        }
    }
}

/// Reads a table in the format that its content shows.
pub fn any_table(bytes: &[u8]) {
    let _ = table::parse(bytes, &table::ReadOptions { keep_going: true, ..Default::default() });
}

/// Reads updates in this format, once stopping at damage and once going on after it.
pub fn updates(bytes: &[u8], format: update::Format) {
    let options = update::ReadOptions { format: Some(format), ..Default::default() };
    let strict = update::parse(bytes, &options, &mut NextHops::new());
    let salvaged =
        update::parse(bytes, &update::ReadOptions { keep_going: true, ..options }, &mut NextHops::new());
    if let (Err(error), Ok(salvaged)) = (strict, salvaged) {
        assert!(!salvaged.damage.is_empty(), "{error}");
    }
}

/// Reads MRT records to the end.
pub fn mrt(bytes: &[u8]) {
    for event in mrt::Events::new(bytes).flatten() {
        assert!(event.offset < bytes.len() as u64, "{event:?}");
    }
}

/// Opens a snapshot as it is, and again with its header's checksums corrected: a fuzzer does not
/// guess those.
pub fn snapshot(bytes: &[u8]) {
    if let Err(error) = Snapshot::from_bytes(bytes) {
        assert!(!error.to_string().contains('\n'), "{error}");
    }
    let Some(repaired) = fibula::snapshot::repaired(bytes) else { return };
    if let Ok(snapshot) = Snapshot::from_bytes(&repaired) {
        let _ = (
            snapshot.next_hops(),
            snapshot.next_hop(NextHop(1)),
            snapshot.rib::<u32>(),
            snapshot.rib::<u128>(),
        );
        let _ = (snapshot.view::<u32>().is_ok(), snapshot.view::<u128>().is_ok());
    }
}

/// Reads a prefix.
pub fn prefix(bytes: &[u8], mask_host_bits: bool) {
    if let Ok(prefix) = scan::prefix(bytes, mask_host_bits) {
        assert_eq!(scan::prefix(prefix.to_string().as_bytes(), false), Ok(prefix));
    }
}
