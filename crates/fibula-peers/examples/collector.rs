//! The routes of many peers, as a BMP station keeps them, beside one table of Go's bart whose
//! values are lists of routes:
//!
//! ```sh
//! cargo run --release -p fibula-peers --features bart --example collector -- [ROUTES [PEERS]]
//! ```
//!
//! Makes an IPv4 table of 900,000 prefixes. Each of 10 peers announces all of it, in messages of 64
//! neighbours that come in an order of its own. The next hop is the peer, the length of the AS path
//! is random, and one origin in 16 differs by peer. Then the first peer withdraws and announces
//! each message again while another thread looks up blocks of 1,024 addresses. A message and a
//! block are under one lock. Each contender has a process of its own. All answers are compared, and
//! the first difference is an error.

use fibula::{NextHopInfo, Prefix};
use fibula_io::generate::{NextHopModel, Size, internet};
use fibula_io::{Budget, follow::Followed, mrt, table::Value};
use fibula_peers::{Collector, PeerRoute};
use std::error::Error;
use std::io::{Read, Write};
use std::net::Ipv4Addr;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};
use std::{array, env, fs, io, iter, thread};

const ADDRESSES: usize = 1 << 20;
const BLOCK: usize = 1024;
const MESSAGE: usize = 64;

const HEAD: &str = "|  | bytes a route | peak MB | M routes/s | processor µs a route | M changes/s | M lookups/s \
    meanwhile | M lookups/s after |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |";

/// What is measured.
enum Contender {
    /// What is followed, and whose turn it is: a lock alone goes to whoever had it before.
    Fibula(Mutex<Followed>, Mutex<()>),
    Bart(Collector),
}

impl Contender {
    fn change(&self, changes: &[PeerRoute]) {
        match self {
            Self::Bart(collector) => collector.change(changes),
            Self::Fibula(followed, turn) => {
                let mut followed = in_turn(followed, turn);
                let play = |change| followed.play("", &event(change), |_, _| {});
                changes.iter().try_for_each(play).expect("there is memory");
            }
        }
    }

    fn lookup(&self, addresses: &[u32], origins: &mut [u32]) {
        match self {
            Self::Bart(collector) => collector.lookup(addresses, origins),
            Self::Fibula(followed, turn) => {
                let followed = in_turn(followed, turn);
                for (&address, origin) in addresses.iter().zip(origins) {
                    let found = followed.lookup("", Ipv4Addr::from_bits(address).into());
                    *origin = match found {
                        Some((_, NextHopInfo::AutonomousSystem(origin))) => *origin,
                        _ => 0,
                    };
                }
            }
        }
    }
}

fn in_turn<'f>(followed: &'f Mutex<Followed>, turn: &Mutex<()>) -> MutexGuard<'f, Followed> {
    let _turn = turn.lock().expect("no thread fails");
    followed.lock().expect("no thread fails")
}

/// Returns a change as BMP tells it.
fn event(change: &PeerRoute) -> mrt::Event {
    let address = Ipv4Addr::from_bits(change.peer).into();
    let prefix = Prefix::new(change.address, change.length as u8).expect("it is of a table").into();
    let origin = mrt::Origin::As(change.origin);
    let (length, preference) = (change.path_length, mrt::Preference::default());
    let path = mrt::Path { next_hop: Some(address), origin, length, preference, details: None };
    let what = match change.origin {
        0 => mrt::What::Withdraw { prefix, path_id: None },
        _ => mrt::What::Announce { prefix, path_id: None, path, dumped: None },
    };
    let peer = mrt::Peer { address, asn: change.peer };
    let speaker = mrt::Speaker::default();
    mrt::Event { offset: 0, time: Duration::ZERO, peer, speaker, multicast: false, what }
}

/// Calls `take` with the messages of a peer.
fn announce(prefixes: &[Prefix<u32>], peer: u32, mut take: impl FnMut(&[PeerRoute])) {
    let mut random = fastrand::Rng::with_seed(peer.into());
    let mut messages: Vec<&[Prefix<u32>]> = prefixes.chunks(MESSAGE).collect();
    random.shuffle(&mut messages);
    for message in messages {
        let route = |prefix: &Prefix<u32>| {
            let origin = 1 + (prefix.first() >> 8) % 70_000;
            let origin = if random.u8(..16) == 0 { origin + peer } else { origin };
            let (address, length) = (prefix.first(), prefix.len().into());
            PeerRoute { address, length, peer, path_length: random.u32(2..8), origin }
        };
        take(&message.iter().map(route).collect::<Vec<_>>());
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let number = |at: usize, default| arguments.get(at).map_or(Ok(default), |text| text.parse::<usize>());
    if let Some(name) = arguments.get(2) {
        return measure(number(0, 0)?, number(1, 0)?, name);
    }
    let (routes, peers) = (number(0, 900_000)?, number(1, 10)?);
    println!("{peers} peers of {routes} routes, {} processors\n{HEAD}", thread::available_parallelism()?);
    let mut known: Vec<Vec<u8>> = Vec::new();
    for name in ["fibula", "bart"] {
        let mut child = Command::new(env::current_exe()?);
        child.args([&routes.to_string(), &peers.to_string(), name]).stdout(Stdio::piped());
        let mut child = child.spawn()?;
        let mut answers = Vec::new();
        child.stdout.take().ok_or("no output")?.read_to_end(&mut answers)?;
        if !child.wait()?.success() {
            return Err(format!("{name} has failed").into());
        }
        let end = answers.iter().position(|&byte| byte == b'\n').ok_or("no row")?;
        println!("{}", String::from_utf8_lossy(&answers[..end]));
        known.push(answers.split_off(end + 1));
    }
    let different = known[0].chunks(4).zip(known[1].chunks(4)).position(|(one, other)| one != other);
    match different {
        None => println!("all of {ADDRESSES} answers are the same"),
        Some(at) => return Err(format!("answer {at} differs").into()),
    }
    Ok(())
}

/// Measures a contender, and writes a row and all of its answers.
fn measure(routes: usize, peers: usize, name: &str) -> Result<(), Box<dyn Error>> {
    let table = internet(Size::ipv4(routes), NextHopModel::Near(40), 1)?;
    let prefixes: Vec<Prefix<u32>> = table.ipv4.iter().map(|route| route.prefix).collect();
    drop(table);
    let mut random = fastrand::Rng::with_seed(1);
    let draw = || {
        let prefix = prefixes[random.usize(..routes)];
        random.u32(prefix.first()..=prefix.last())
    };
    let addresses: Vec<u32> = iter::repeat_with(draw).take(ADDRESSES).collect();
    let budget = Budget { memory: u64::MAX, ..Budget::default() };
    let contender = match name {
        "fibula" => {
            let followed = Followed::new(None, Value::OriginAs, budget)?.compiled();
            Contender::Fibula(followed.into(), Mutex::default())
        }
        _ => Contender::Bart(Collector::default()),
    };
    let [before, _] = memory_kib()?;
    let (begin, processor) = (Instant::now(), processor_seconds()?);
    for peer in 1..=peers {
        announce(&prefixes, peer as u32, |message| contender.change(message));
    }
    let (filled, processor) = (begin.elapsed(), processor_seconds()? - processor);
    let all = (routes * peers) as f64;
    if let Contender::Bart(collector) = &contender {
        collector.settle();
    }
    let [after, peak] = memory_kib()?;

    let mut origins = vec![0; ADDRESSES];
    let has_ended = AtomicBool::new(false);
    let (changed, meanwhile) = thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let (begin, mut count) = (Instant::now(), 0);
            let mut origins = [0; BLOCK];
            for block in addresses.chunks_exact(BLOCK).cycle() {
                if has_ended.load(Ordering::Relaxed) {
                    break;
                }
                contender.lookup(block, &mut origins);
                count += BLOCK;
            }
            count as f64 / begin.elapsed().as_secs_f64()
        });
        let begin = Instant::now();
        announce(&prefixes, 1, |message| {
            let gone: Vec<_> = message.iter().map(|route| PeerRoute { origin: 0, ..*route }).collect();
            contender.change(&gone);
            contender.change(message);
        });
        let changed = begin.elapsed();
        has_ended.store(true, Ordering::Relaxed);
        (changed, reader.join().expect("it only looks up"))
    });
    let begin = Instant::now();
    for (block, origins) in addresses.chunks(BLOCK).zip(origins.chunks_mut(BLOCK)) {
        contender.lookup(block, origins);
    }
    let looked_up = begin.elapsed();
    let millions = |count: f64, time: Duration| count / time.as_secs_f64() / 1e6;
    let mut out = io::stdout().lock();
    writeln!(
        out,
        "| {name} | {:.1} | {} | {:.2} | {:.2} | {:.2} | {:.2} | {:.2} |",
        (after - before) as f64 * 1024.0 / all,
        peak / 1024,
        millions(all, filled),
        processor * 1e6 / all,
        millions(2.0 * routes as f64, changed),
        meanwhile / 1e6,
        millions(ADDRESSES as f64, looked_up),
    )?;
    let answers: Vec<u8> = origins.into_iter().flat_map(u32::to_le_bytes).collect();
    Ok(out.write_all(&answers)?)
}

/// Returns the resident memory of this process, now and at most.
fn memory_kib() -> Result<[u64; 2], Box<dyn Error>> {
    let status = fs::read_to_string("/proc/self/status")?;
    let of = |name| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
    };
    Ok(["VmRSS:", "VmHWM:"].map(of))
}

/// Returns the processor time of this process.
fn processor_seconds() -> io::Result<f64> {
    /// Ticks of `/proc`, on every Linux.
    const TICKS: f64 = 100.0;
    let stat = fs::read_to_string("/proc/self/stat")?;
    let mut fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace().skip(11);
    let [user, kernel] = array::from_fn(|_| fields.next().and_then(|field| field.parse::<f64>().ok()));
    Ok((user.unwrap_or(0.0) + kernel.unwrap_or(0.0)) / TICKS)
}
