//! Two namespaces, and peers in one of them that speak BGP to the router in the other.

use fastrand::Rng;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

/// The router's AS and address, which is its identifier too.
pub(crate) const LOCAL_AS: u32 = 65_000;
pub(crate) const ROUTER: Ipv4Addr = Ipv4Addr::new(10, 98, 255, 254);

/// Waits until something is so.
pub(crate) fn wait(what: &str, mut is_so: impl FnMut() -> bool) {
    const LONGEST: Duration = Duration::from_mins(3);
    let end = Instant::now() + LONGEST;
    while !is_so() {
        assert!(Instant::now() < end, "{what}: not within {LONGEST:?}");
        thread::sleep(Duration::from_millis(100));
    }
}

/// Which peers there are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kind {
    /// Whether some are of the router's own AS, which a dump does not tell.
    pub(crate) has_internal: bool,
    /// Whether all paths begin with one AS. A choice among the discriminators of several depends on
    /// the order in which routes came where a daemon compares pair by pair.
    pub(crate) has_one_neighbour: bool,
    /// Whether the identifiers of routers decide between some paths.
    pub(crate) has_equal_ids: bool,
}

/// A route's attributes.
#[derive(Clone, Debug)]
pub(crate) struct Attributes {
    path: Vec<(u8, Vec<u32>)>,
    origin: u8,
    exit: Option<u32>,
    local: Option<u32>,
}

/// A peer, and its messages in order: a prefix by its number, announced or withdrawn.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    pub(crate) address: Ipv4Addr,
    pub(crate) asn: u32,
    router_id: Ipv4Addr,
    messages: Vec<(u32, Option<Attributes>)>,
}

impl Peer {
    /// Returns the prefixes that it has announced and not withdrawn.
    pub(crate) fn remaining(&self) -> impl Iterator<Item = u32> {
        let last: BTreeMap<u32, bool> =
            self.messages.iter().map(|(prefix, route)| (*prefix, route.is_some())).collect();
        last.into_iter().filter(|(_, is_there)| *is_there).map(|(prefix, _)| prefix)
    }
}

/// Peers and what they say.
#[derive(Clone, Debug)]
pub(crate) struct Drawn {
    pub(crate) peers: Vec<Peer>,
}

impl Drawn {
    pub(crate) fn new(seed: u64, kind: Kind) -> Self {
        const FEW: u32 = 2_000;
        let prefixes = std::env::var("FIBULA_PREFIXES").map_or(FEW, |count| count.parse().expect("a number"));
        let mut random = Rng::with_seed(seed);
        let peers = (1..=6_u8).map(|last| peer(&mut random, kind, last, prefixes)).collect();
        Self { peers }
    }
}

fn peer(random: &mut Rng, kind: Kind, last: u8, prefixes: u32) -> Peer {
    let is_internal = kind.has_internal && last.is_multiple_of(3);
    let asn = match kind.has_one_neighbour {
        _ if is_internal => LOCAL_AS,
        true => 65_001,
        false => 65_001 + u32::from(last % 2),
    };
    // Where they rise with the addresses, they decide nothing.
    let last_of_id = if kind.has_equal_ids && !is_internal { random.u8(1..=3) } else { 100 + last };
    let router_id = Ipv4Addr::new(192, 0, 2, last_of_id);
    let mut messages = Vec::new();
    for prefix in 0..prefixes {
        if random.u8(..5) > 0 {
            messages.push((prefix, Some(attributes(random, kind, asn))));
        }
    }
    for prefix in 0..prefixes {
        match random.u8(..8) {
            0 => messages.push((prefix, None)),
            1 => messages.push((prefix, Some(attributes(random, kind, asn)))),
            _ => {}
        }
    }
    Peer { address: Ipv4Addr::new(10, 98, 0, last), asn, router_id, messages }
}

fn attributes(random: &mut Rng, kind: Kind, asn: u32) -> Attributes {
    let neighbour = match kind.has_one_neighbour {
        _ if asn != LOCAL_AS => asn,
        true => 65_001,
        false => random.u32(65_001..=65_003),
    };
    let mut path = vec![(2, vec![neighbour])];
    path[0].1.extend((0..random.u8(..3)).map(|_| random.u32(64_501..=64_504)));
    if random.u8(..4) == 0 {
        path.push((1, vec![64_505, 64_506]));
    }
    Attributes {
        path,
        origin: random.u8(..=2),
        exit: random.bool().then(|| random.u32(..3)),
        local: (asn == LOCAL_AS).then(|| random.u32(99..=101)),
    }
}

/// The namespaces of a router and of its peers. They are removed when this is dropped.
#[derive(Debug)]
pub(crate) struct Network {
    names: [String; 2],
    spaces: [OwnedFd; 2],
}

impl Network {
    /// Returns `None` where there is no right to make namespaces, which is said.
    pub(crate) fn new(name: &str) -> Option<Self> {
        let names = ["r", "p"].map(|end| format!("fib-{name}-{}-{end}", std::process::id()));
        for space in &names {
            if !Command::new("ip").args(["netns", "add", space]).output().is_ok_and(|it| it.status.success())
            {
                println!("skipped: no right to make a network namespace");
                return None;
            }
        }
        let spaces = [0, 1].map(|at| File::open(format!("/run/netns/{}", names[at])).unwrap().into());
        let [router, peers] = &names;
        command(&format!("ip -n {router} link set lo up"));
        command(&format!("ip -n {router} link add r0 type veth peer name p0 netns {peers}"));
        command(&format!("ip -n {router} addr add {ROUTER}/16 dev r0"));
        command(&format!("ip -n {router} link set r0 up"));
        for last in 1..=6 {
            command(&format!("ip -n {peers} addr add 10.98.0.{last}/16 dev p0"));
        }
        command(&format!("ip -n {peers} link set p0 up"));
        Some(Self { names, spaces })
    }

    /// Returns a command that runs in the router's namespace.
    pub(crate) fn router_command(&self, program: &str) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.names[0], program]);
        command
    }

    /// Does something in the router's namespace.
    pub(crate) fn in_router<T: Send>(&self, what: impl FnOnce() -> T + Send) -> T {
        within(&self.spaces[0], what)
    }

    /// Has every peer open a session, say what it has to say, and stay.
    pub(crate) fn speak(&self, drawn: &Drawn) {
        for peer in &drawn.peers {
            let mut stream = within(&self.spaces[1], || connect(peer.address));
            let updates: Vec<u8> = peer.messages.iter().flat_map(|message| update(peer, message)).collect();
            let opened = open(peer);
            thread::spawn(move || {
                let mut hears = stream.try_clone().unwrap();
                thread::spawn(move || io::copy(&mut hears, &mut io::sink()));
                stream.write_all(&opened).unwrap();
                stream.write_all(&message(4, &[])).unwrap();
                // Whether the router still listens is seen by what it has learned.
                let mut is_open = stream.write_all(&updates).is_ok();
                while is_open {
                    thread::sleep(Duration::from_secs(HOLD_SECONDS / 3));
                    is_open = stream.write_all(&message(4, &[])).is_ok();
                }
            });
        }
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for name in &self.names {
            let _ = Command::new("ip").args(["netns", "del", name]).output();
        }
    }
}

fn command(line: &str) {
    let words: Vec<&str> = line.split_whitespace().collect();
    let output = Command::new(words[0]).args(&words[1..]).output().unwrap();
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
}

fn within<T: Send>(space: &OwnedFd, what: impl FnOnce() -> T + Send) -> T {
    thread::scope(|threads| {
        let thread = threads.spawn(|| {
            move_into_link_name_space(space.as_fd(), Some(LinkNameSpaceType::Network)).unwrap();
            what()
        });
        thread.join().unwrap()
    })
}

/// Connects to the router from an address. A router that is not there yet is tried again.
fn connect(from: Ipv4Addr) -> TcpStream {
    use rustix::net::{AddressFamily, SocketType, bind, connect, socket};
    let mut stream = None;
    wait("a router that listens", || {
        let socket = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
        bind(&socket, &SocketAddr::from((from, 0))).unwrap();
        let is_there = connect(&socket, &SocketAddr::from((ROUTER, 179))).is_ok();
        if is_there {
            let mut connected = TcpStream::from(socket);
            // A router that does not know the peer yet closes the connection at once.
            let mut first = [0; 19];
            connected.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
            let greets = connected.read_exact(&mut first).is_ok() && first[18] == 1;
            connected.set_read_timeout(None).unwrap();
            stream = greets.then_some(connected);
        }
        stream.is_some()
    });
    stream.unwrap()
}

fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    [&[0xFF; 16], &(body.len() as u16 + 19).to_be_bytes()[..], &[kind], body].concat()
}

/// How long a session lasts without a message. GoBGP takes 0, which is no limit, for none at all.
const HOLD_SECONDS: u64 = 90;

/// An OPEN of IPv4 unicast, with AS numbers of 4 bytes.
fn open(peer: &Peer) -> Vec<u8> {
    let mut body = vec![4];
    body.extend((peer.asn as u16).to_be_bytes());
    body.extend((HOLD_SECONDS as u16).to_be_bytes());
    body.extend(peer.router_id.octets());
    body.extend([14, 2, 12, 1, 4, 0, 1, 0, 1, 65, 4]);
    body.extend(peer.asn.to_be_bytes());
    message(1, &body)
}

fn update(peer: &Peer, (prefix, route): &(u32, Option<Attributes>)) -> Vec<u8> {
    let octets = ((20 << 24) + prefix * 256).to_be_bytes();
    let prefix = [24, octets[0], octets[1], octets[2]];
    let Some(Attributes { path, origin, exit, local }) = route else {
        return message(2, &[&[0, 4][..], &prefix, &[0, 0]].concat());
    };
    let mut attributes = vec![0x40, 1, 1, *origin];
    let mut segments = Vec::new();
    for (kind, numbers) in path {
        segments.extend([*kind, numbers.len() as u8]);
        segments.extend(numbers.iter().flat_map(|number| number.to_be_bytes()));
    }
    attributes.extend([0x40, 2, segments.len() as u8]);
    attributes.extend(segments);
    attributes.extend([0x40, 3, 4]);
    attributes.extend(peer.address.octets());
    for (kind, flags, value) in [(4, 0x80, exit), (5, 0x40, local)] {
        if let Some(value) = value {
            attributes.extend([flags, kind, 4]);
            attributes.extend(value.to_be_bytes());
        }
    }
    let length = (attributes.len() as u16).to_be_bytes();
    message(2, &[&[0, 0][..], &length, &attributes, &prefix].concat())
}
