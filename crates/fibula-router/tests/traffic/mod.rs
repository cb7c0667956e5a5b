//! Packets from the client of a [`Lab`] to its server, and a judge of the way by which each came.
//!
//! ```text
//!               ┌─ r1 ── s0: way 0
//!  client ─▶ router         server
//!               └─ r2 ── s1: way 1
//! ```
//! A destination says which ways its packets may take. Each packet carries the number of its
//! destination and the time when it was sent, so that a receiver which is late changes no figure.
#![allow(dead_code, reason = "each test takes what it needs")]

use crate::common::lab::Lab;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, SockaddrIn6, bind, setsockopt, socket, sockopt};
use std::net::{IpAddr, Ipv6Addr, SocketAddrV6, UdpSocket};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// The server's interface of each way.
const INTERFACES: [&str; 2] = ["s0", "s1"];

/// The port that packets go to.
const PORT: u16 = 4789;

/// How many packets may be under way. Queues are short: a receiver that falls behind would lose
/// packets by itself.
const WINDOW: u64 = 100;

/// How long a packet may be under way before it counts as lost.
const PATIENCE: Duration = Duration::from_millis(300);

/// Where packets go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Destination {
    pub(crate) address: IpAddr,
    /// Whether its packets may take way 0, and way 1.
    pub(crate) may: [bool; 2],
}

/// What became of the packets to a destination.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) destination: Destination,
    pub(crate) sent: u64,
    /// How many came by each way.
    pub(crate) came: [u64; 2],
    /// When the first of those was sent.
    pub(crate) first: [Option<Instant>; 2],
}

/// What became of all packets.
#[derive(Clone, Debug)]
pub(crate) struct Report {
    pub(crate) rows: Vec<Row>,
}

impl Report {
    /// Returns the number of packets that were sent.
    pub(crate) fn sent(&self) -> u64 {
        self.rows.iter().map(|row| row.sent).sum()
    }

    /// Returns the number of packets that did not come.
    pub(crate) fn lost(&self) -> u64 {
        self.rows.iter().map(|row| row.sent.saturating_sub(row.came.iter().sum())).sum()
    }

    /// Returns the number of packets that came by a way that they may not take.
    pub(crate) fn wrong(&self) -> u64 {
        let ways = self.rows.iter().flat_map(|row| row.destination.may.into_iter().zip(row.came));
        ways.filter(|(may, _)| !may).map(|(_, came)| came).sum()
    }

    /// Returns the rows of destinations to which packets were lost or went wrong.
    pub(crate) fn faults(&self) -> Vec<&Row> {
        let is_fault = |row: &&Row| {
            let went_wrong = row.destination.may.iter().zip(row.came).any(|(may, came)| !may && came > 0);
            went_wrong || row.came.iter().sum::<u64>() < row.sent
        };
        self.rows.iter().filter(is_fault).collect()
    }
}

/// The counts of a destination.
#[derive(Debug)]
struct Counts {
    sent: AtomicU64,
    came: [AtomicU64; 2],
    /// Nanoseconds from the beginning.
    first: [AtomicU64; 2],
}

impl Default for Counts {
    fn default() -> Self {
        let never = || AtomicU64::new(u64::MAX);
        Self { sent: AtomicU64::default(), came: <[AtomicU64; 2]>::default(), first: [never(), never()] }
    }
}

/// What the threads share.
#[derive(Debug)]
struct Shared {
    start: Instant,
    stop: AtomicBool,
    received: AtomicU64,
    counts: Vec<Counts>,
}

/// Packets that are sent until this is finished or dropped.
#[derive(Debug)]
pub(crate) struct Traffic {
    destinations: Vec<Destination>,
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

impl Traffic {
    /// Sends to all destinations in turn, a packet each `pace` at most.
    pub(crate) fn start(lab: &Lab, destinations: Vec<Destination>, pace: Duration) -> Self {
        let shared = Arc::new(Shared {
            start: Instant::now(),
            stop: AtomicBool::new(false),
            received: AtomicU64::new(0),
            counts: destinations.iter().map(|_| Counts::default()).collect(),
        });
        let mut threads = Vec::new();
        for (way, interface) in INTERFACES.into_iter().enumerate() {
            let socket = lab.inside("s", || server(interface));
            let shared = Arc::clone(&shared);
            threads.push(thread::spawn(move || receive(&socket, way, &shared)));
        }
        let sockets = lab.inside("c", || ["0.0.0.0:0", "[::]:0"].map(|any| UdpSocket::bind(any).unwrap()));
        let (to, with) = (destinations.clone(), Arc::clone(&shared));
        threads.push(thread::spawn(move || send(&sockets, &to, &with, pace)));
        Self { destinations, shared, threads }
    }

    /// Returns what became of the packets until now. Those under way are missing in it.
    pub(crate) fn report(&self) -> Report {
        let row = |(&destination, counts): (&Destination, &Counts)| {
            let count = |count: &AtomicU64| count.load(Ordering::SeqCst);
            let time = |nanoseconds: &AtomicU64| {
                let nanoseconds = count(nanoseconds);
                (nanoseconds < u64::MAX).then(|| self.shared.start + Duration::from_nanos(nanoseconds))
            };
            Row {
                destination,
                came: counts.came.each_ref().map(count),
                first: counts.first.each_ref().map(time),
                sent: count(&counts.sent),
            }
        };
        Report { rows: self.destinations.iter().zip(&self.shared.counts).map(row).collect() }
    }

    /// Sends no more, and returns what became of the packets once all have had time to come.
    pub(crate) fn finish(mut self) -> Report {
        self.shared.stop.store(true, Ordering::SeqCst);
        for thread in std::mem::take(&mut self.threads) {
            thread.join().unwrap();
        }
        self.report()
    }
}

impl Drop for Traffic {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
    }
}

/// Returns a socket for packets of both families that come by an interface.
fn server(interface: &str) -> UdpSocket {
    let socket = socket(AddressFamily::Inet6, SockType::Datagram, SockFlag::empty(), None).unwrap();
    setsockopt(&socket, sockopt::ReuseAddr, &true).unwrap();
    setsockopt(&socket, sockopt::Ipv6V6Only, &false).unwrap();
    setsockopt(&socket, sockopt::BindToDevice, &interface.into()).unwrap();
    let any = SocketAddrV6::new(Ipv6Addr::UNSPECIFIED, PORT, 0, 0);
    bind(socket.as_raw_fd(), &SockaddrIn6::from(any)).unwrap();
    let socket = UdpSocket::from(socket);
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket
}

/// Counts packets until none has come for a while after the end.
fn receive(socket: &UdpSocket, way: usize, shared: &Shared) {
    let mut buffer = [0; 64];
    loop {
        // Read before the socket is, so that what was sent before the end is waited for.
        let is_last = shared.stop.load(Ordering::SeqCst);
        match socket.recv(&mut buffer) {
            Ok(_) => {
                let [number, sent] =
                    [0, 8].map(|at| u64::from_be_bytes(*buffer[at..].first_chunk().expect("16 of 64 bytes")));
                let counts = &shared.counts[number as usize];
                counts.first[way].fetch_min(sent, Ordering::SeqCst);
                counts.came[way].fetch_add(1, Ordering::SeqCst);
                shared.received.fetch_add(1, Ordering::SeqCst);
            }
            Err(_) if is_last => return,
            Err(_) => {}
        }
    }
}

/// Sends packets until the end.
fn send(sockets: &[UdpSocket; 2], destinations: &[Destination], shared: &Shared, pace: Duration) {
    let (mut sent, mut given_up) = (0_u64, 0);
    let mut due = Instant::now();
    for (number, destination) in destinations.iter().enumerate().cycle() {
        let start = Instant::now();
        while sent > given_up + shared.received.load(Ordering::SeqCst) + WINDOW {
            if start.elapsed() > PATIENCE {
                given_up = sent - shared.received.load(Ordering::SeqCst);
            }
            thread::yield_now();
        }
        thread::sleep(due.saturating_duration_since(Instant::now()));
        // What was missed is not made up for: a burst would overrun the queues.
        due = (due + pace).max(Instant::now());
        if shared.stop.load(Ordering::SeqCst) {
            return;
        }
        let mut packet = [0; 16];
        packet[..8].copy_from_slice(&(number as u64).to_be_bytes());
        let now = shared.start.elapsed().as_nanos() as u64;
        packet[8..].copy_from_slice(&now.to_be_bytes());
        shared.counts[number].sent.fetch_add(1, Ordering::SeqCst);
        sent += 1;
        let socket = &sockets[usize::from(destination.address.is_ipv6())];
        socket.send_to(&packet, (destination.address, PORT)).unwrap();
    }
}
