//! Plays FPM frames from a file as fast as they are read, and prints how fast they were applied.
//!
//! ```sh
//! cargo run --release -p fibula-router --example replay -- FILE...
//! cargo run --release -p fibula-router --example replay -- --make FILE TABLE...
//! ```
//! The second form makes a file of what zebra would send of tables: next-hop objects, then a frame
//! for each route. Each file is a session of its own.

use anyhow::{Context, bail};
use fibula::IpPrefix;
use fibula_io::table::{self, ReadOptions};
use fibula_router::control::{Control, Settings, run};
use fibula_router::feed::{Feed, Mark, Queue, Session, fpm, writer};
use fibula_router::message::{Event, Leg, Object, Target};
use fibula_router::plane::memory::Memory;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match &arguments[..] {
        [make, file, tables @ ..] if make == "--make" && !tables.is_empty() => make_file(file, tables),
        [first, ..] if !first.starts_with('-') => replay(&arguments),
        _ => bail!("usage: replay FILE... | replay --make FILE TABLE..."),
    }
}

/// How many next hops a made file has for each table.
const NEXT_HOPS: u32 = 200;

/// The index of the only interface.
const INTERFACE: u32 = 2;

/// Writes the frames of tables.
fn make_file(file: &str, tables: &[String]) -> anyhow::Result<()> {
    let mut out = BufWriter::new(File::create(file)?);
    let mut write = |events: &[Event]| out.write_all(&writer::frame(events));
    // Id 0 names no object.
    let mut base = 1;
    for table in tables {
        let bytes = fs::read(table).with_context(|| table.clone())?;
        let loaded = table::parse(&bytes, &ReadOptions::default())?.tables;
        let is_ipv4 = !loaded.ipv4.is_empty();
        for index in 0..NEXT_HOPS {
            let gateway = if is_ipv4 {
                Ipv4Addr::from(0x0A00_0001 + index).into()
            } else {
                Ipv6Addr::from((0xFD99 << 112) + u128::from(index)).into()
            };
            let leg = Leg { interface: INTERFACE, gateway: Some(gateway), weight: 1 };
            write(&[Event::Object { id: base + index, object: Some(Object::Leg(leg)) }])?;
        }
        let ipv4 = loaded.ipv4.iter().map(|route| (IpPrefix::from(route.prefix), route.next_hop));
        let ipv6 = loaded.ipv6.iter().map(|route| (IpPrefix::from(route.prefix), route.next_hop));
        for (prefix, next_hop) in ipv4.chain(ipv6) {
            let target = Some(Target::Object(base + next_hop.0 % NEXT_HOPS));
            write(&[Event::Route { table: 254, prefix, metric: 20, protocol: 186, target }])?;
        }
        base += NEXT_HOPS;
    }
    Ok(out.flush()?)
}

/// Plays files into a control that has a thread of its own, as in a router.
fn replay(files: &[String]) -> anyhow::Result<()> {
    let settings = Settings { feeds: vec![Feed::Fpm], ..Settings::default() };
    let mut control = Control::new(Memory::default(), settings);
    let mut before = 0;
    for (file, number) in files.iter().zip(1..) {
        let queue = Arc::new(Queue::default());
        let applier = {
            let queue = Arc::clone(&queue);
            thread::spawn(move || run(control, &queue))
        };
        let session = Session { feed: Feed::Fpm, number };
        let start = Instant::now();
        queue.fill(|batch| batch.marks.push(Mark::Begun(session)));
        fpm::read(File::open(file).with_context(|| file.clone())?, session, &queue)?;
        let read = start.elapsed();
        queue.fill(|batch| batch.is_last = true);
        let Ok(back) = applier.join() else { bail!("the control panicked") };
        control = back;
        let applied = start.elapsed();
        let status = control.status();
        let messages = status.counts.messages - before;
        before = status.counts.messages;
        let routes: usize = status.tables.iter().map(|table| table.ipv4 + table.ipv6).sum();
        println!(
            "{file}: {} messages read in {:.3} s, applied in {:.3} s: {:.0} a second; {routes} routes, {} next hops, \
             {} batches, latency p50 {:.0} us, p99 {:.0} us",
            messages,
            read.as_secs_f64(),
            applied.as_secs_f64(),
            messages as f64 / applied.as_secs_f64(),
            status.next_hops,
            status.counts.batches,
            status.latency_p50_us,
            status.latency_p99_us,
        );
    }
    for line in fs::read_to_string(Path::new("/proc/self/status"))?.lines() {
        if line.starts_with("VmHWM") || line.starts_with("VmRSS") {
            println!("{line}");
        }
    }
    Ok(())
}
