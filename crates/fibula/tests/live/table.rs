//! `LiveTable`.

use fibula::table::live::{LiveTable, Settings};
use fibula::{ErrorKind, IpPrefix, Table};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

fn prefix(text: &str) -> IpPrefix {
    text.parse().unwrap()
}

/// What changes together. The value of each is the version.
const CHANGING: [&str; 4] = ["10.0.0.0/9", "10.128.64.0/18", "2001:db8::/32", "2001:db8:1::/48"];
const READERS: usize = 3;
const VERSIONS: u64 = 400;

/// Each version brings a route, and takes the one of the version before.
fn host(version: u64) -> IpPrefix {
    IpPrefix::host((192 << 24 | version as u32).to_be_bytes())
}

#[test]
fn readers_see_versions_whole_and_in_order() {
    let route = |version| CHANGING.map(|text| (prefix(text), version));
    let mut live = LiveTable::new(
        Table::from(route(0)),
        Settings { attempts: 1_000_000, most_retired: 2, ..Settings::default() },
    );
    let done = AtomicBool::new(false);
    let seen: [AtomicU64; READERS] = Default::default();
    std::thread::scope(|scope| {
        for seen in &seen {
            let mut reader = live.reader();
            let done = &done;
            scope.spawn(move || {
                let addresses = CHANGING.map(|text| prefix(text).first());
                let mut last = 0;
                while !done.load(Ordering::Relaxed) || last < VERSIONS {
                    let table = reader.guard();
                    let mut matches = [None; CHANGING.len()];
                    table.lookup_batch(&addresses, &mut matches);
                    let found = matches.map(|found| *found.unwrap().1);
                    assert_eq!(found, [found[0]; CHANGING.len()], "two versions under one guard");
                    assert_eq!(table.get(prefix(CHANGING[3])), Some(&found[0]));
                    assert!(found[0] == 0 || table.contains_key(host(found[0])));
                    assert!(!table.contains_key(host(found[0] + 1)) && found[0] >= last);
                    last = found[0];
                    seen.fetch_max(last, Ordering::Relaxed);
                }
            });
        }
        for version in 1..=VERSIONS {
            // Every fifth version is a table of its own.
            if version % 5 == 0 {
                live.replace(Table::from(route(version)));
            } else {
                live.extend(route(version));
                live.remove(host(version - 1));
            }
            live.insert(host(version), version);
            while let Err(error) = live.publish() {
                assert_eq!(error.kind(), ErrorKind::ReadersHeldUp);
            }
        }
        done.store(true, Ordering::Relaxed);
    });
    assert!(seen.iter().all(|seen| seen.load(Ordering::Relaxed) == VERSIONS));
    live.published().validate().unwrap();
}
