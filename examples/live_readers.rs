//! One thread changes a table while others look up in it. Readers never wait, and what they see
//! under one guard is one publication: here the two halves of a network, which always move
//! together.
//!
//! ```text
//! reader 1: both halves agreed in every batch, up to publication 100
//! reader 2: both halves agreed in every batch, up to publication 100
//! writer: 2 routes, 0 changes pending
//! ```

use fibula::table::live::{LiveTable, Settings, TableReader};
use fibula::{ErrorKind, IpPrefix, Table};
use std::thread;

const PUBLICATIONS: u32 = 100;

/// Looks up both halves until the last publication shows.
fn look_up(mut reader: TableReader<u32>) -> u32 {
    let mut last = 0;
    while last < PUBLICATIONS {
        // One guard for each batch. A reader that has nothing to do calls `rest` before it sleeps.
        let table = reader.guard();
        let low = table.lookup_value([10, 0, 0, 1]).copied();
        let high = table.lookup_value([10, 128, 0, 1]).copied();
        assert_eq!(low, high, "two publications under one guard");
        last = low.unwrap_or_default();
    }
    last
}

fn main() -> anyhow::Result<()> {
    let halves: [IpPrefix; 2] = ["10.0.0.0/9".parse()?, "10.128.0.0/9".parse()?];
    let mut live = LiveTable::new(Table::from(halves.map(|half| (half, 0))), Settings::default());
    let readers = [1, 2].map(|number| {
        let reader = live.reader();
        (number, thread::spawn(move || look_up(reader)))
    });

    for publication in 1..=PUBLICATIONS {
        live.extend(halves.map(|half| (half, publication)));
        // Readers that are slow to pass leave the changes pending. A router would go on with other
        // work.
        while let Err(error) = live.publish() {
            anyhow::ensure!(error.kind() == ErrorKind::ReadersHeldUp, error);
        }
    }

    for (number, reader) in readers {
        let last = reader.join().expect("no reader panics");
        println!("reader {number}: both halves agreed in every batch, up to publication {last}");
    }
    println!("writer: {} routes, {} changes pending", live.published().len(), live.pending());
    Ok(())
}
