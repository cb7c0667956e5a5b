//! Plays FPM frames from a file as fast as they are read, and prints how fast they were applied.
//!
//! ```sh
//! cargo run --release -p fibula-router --example replay -- FILE...
//! cargo run --release -p fibula-router --example replay -- --seconds N FILE...
//! cargo run --release -p fibula-router --example replay -- --make FILE TABLE...
//! ```
//! The second form plays each file evenly over `N` seconds, as a daemon of that speed would: the
//! first form says how many routes a second can be applied, this one how long a route takes. The
//! third makes a file of what zebra would send of tables: next-hop objects, then a frame for each
//! route. Each file is a session of its own.

use anyhow::{Context, bail};
use fibula::IpPrefix;
use fibula_io::table::{self, ReadOptions};
use fibula_router::control::{Control, Settings, run};
use fibula_router::feed::{Feed, Mark, Queue, Session, fpm, writer};
use fibula_router::message::{Event, Leg, Object, Target};
use fibula_router::plane::memory::Memory;
use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match &arguments[..] {
        [make, file, tables @ ..] if make == "--make" && !tables.is_empty() => make_file(file, tables),
        [seconds, number, files @ ..] if seconds == "--seconds" && !files.is_empty() => {
            replay(files, number.parse().with_context(|| format!("--seconds {number}"))?)
        }
        [first, ..] if !first.starts_with('-') => replay(&arguments, 0.0),
        _ => bail!("usage: replay [--seconds N] FILE... | replay --make FILE TABLE..."),
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

/// A file that is read evenly over some time.
struct Paced {
    file: File,
    bytes: u64,
    seconds: f64,
    start: Instant,
    read: u64,
}

impl Paced {
    fn open(name: &str, seconds: f64) -> io::Result<Self> {
        let file = File::open(name)?;
        Ok(Self { bytes: file.metadata()?.len(), file, seconds, start: Instant::now(), read: 0 })
    }
}

impl Read for Paced {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        /// A few hundred messages: a millisecond of zebra.
        const PIECE: usize = 1 << 14;
        let part = self.read as f64 / self.bytes.max(1) as f64;
        let due = self.start + Duration::from_secs_f64(self.seconds * part);
        thread::sleep(due.saturating_duration_since(Instant::now()));
        let most = if self.seconds > 0.0 { buffer.len().min(PIECE) } else { buffer.len() };
        let count = self.file.read(&mut buffer[..most])?;
        self.read += count as u64;
        Ok(count)
    }
}

/// Plays files, each over some seconds, into a control that has a thread of its own, as in a
/// router.
fn replay(files: &[String], seconds: f64) -> anyhow::Result<()> {
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
        fpm::read(Paced::open(file, seconds).with_context(|| file.clone())?, session, &queue)?;
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
