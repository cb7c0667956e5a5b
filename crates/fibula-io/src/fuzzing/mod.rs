//! The functions that a fuzzer calls: every parser on arbitrary bytes. Nothing here may panic, and
//! reading with `keep_going` fails only at a limit.

mod forged;
mod routers;

pub use forged::{Original, Outcome, forged_snapshot, originals};
pub use routers::router_text;

use crate::address::{Embedded, clean, parse};
use crate::follow::Followed;
use crate::mrt::bmp::{Policy, Session};
use crate::ris_live::{self, Message};
use crate::rov::Vrps;
use crate::scan;
use crate::{Budget, mrt, table, update};
use fibula::snapshot::Snapshot;
use fibula::{IpPrefix, NextHop, NextHops, Prefix};
use std::collections::HashMap;
use std::net::IpAddr;

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

/// Follows what a router says by BMP, as bytes that break off: the best values are those that were
/// told of, and nothing is left once the router is gone.
pub fn bmp(bytes: &[u8]) {
    for policy in Policy::ALL {
        let budget = Budget { memory: u64::MAX, ..Budget::default() };
        let Ok(mut followed) = Followed::new(None, table::Value::NextHop, budget) else { return };
        let mut told: HashMap<IpPrefix, String> = HashMap::new();
        let mut session = Session::new(bytes, policy);
        for event in session.by_ref() {
            let event = match event {
                Ok(event) => event,
                Err(damage) => {
                    assert!(!damage.to_string().contains('\n'), "{damage}");
                    continue;
                }
            };
            let played = followed.play("r", &event, |prefix, value| {
                match value {
                    Some(value) => told.insert(prefix, value.to_string()),
                    None => told.remove(&prefix),
                };
            });
            assert_eq!(played, Ok(()));
        }
        assert_eq!(followed.len("r"), told.len());
        assert_eq!(followed.forget("r"), told.len());
        assert_eq!((followed.len("r"), followed.bytes()), (0, 0));
    }
}

/// Reads messages of RIS Live, one a line.
pub fn ris_live(bytes: &[u8]) {
    for line in String::from_utf8_lossy(bytes).lines() {
        match ris_live::read(line, 1) {
            Ok(Message::Events(events)) => assert!(events.len() <= line.len()),
            Ok(_) => {}
            Err(what) => assert!(!what.contains('\n'), "{what}"),
        }
    }
}

/// Reads payloads of RPKI, and asks whether some routes are valid.
pub fn vrps(bytes: &[u8]) {
    let options = table::ReadOptions { keep_going: true, ..Default::default() };
    let Ok((vrps, _)) = Vrps::parse(bytes, &options) else { return };
    for prefix in [Prefix::<u32>::host(0).into(), IpPrefix::V6(Prefix::ALL)] {
        for origin in [None, Some(0), Some(64_500)] {
            let _ = vrps.validity(prefix, origin);
        }
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

/// Reads an address, alone and with something around it: as the standard library does, and one that
/// is there without anything around it is there with nothing to leave out.
pub fn address(bytes: &[u8]) {
    let expected = std::str::from_utf8(bytes).ok().and_then(|text| text.parse::<IpAddr>().ok());
    let found = parse(bytes);
    assert_eq!(found, expected);
    if found.is_some() {
        assert_eq!(clean(bytes).ip(), found);
    }
    if let Some(IpAddr::V6(address)) = clean(bytes).ip() {
        let _ = Embedded::default().ipv4(address.to_bits());
    }
}

/// Reads a prefix.
pub fn prefix(bytes: &[u8], mask_host_bits: bool) {
    if let Ok(prefix) = scan::prefix(bytes, mask_host_bits) {
        assert_eq!(scan::prefix(prefix.to_string().as_bytes(), false), Ok(prefix));
    }
}
