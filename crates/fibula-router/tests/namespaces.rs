//! The program on real interfaces, with a client, a router and a server: see the drawing in
//! `common/lab.rs`. All that is forwarded here passes r0, and what goes to the server leaves by r1
//! or r2.

mod common;
mod traffic;

use common::all_of;
use common::lab::Lab;
use fibula::{Change, Delta, NextHop, Prefix, Rib, Route};
use fibula_router::plane::xdp::{Mode, Reason, Xdp};
use fibula_router::plane::{Action, Adjacency, AdjacencyId, Plane, Routes};
use nix::sys::socket::{setsockopt, sockopt};
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::mem::ManuallyDrop;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use traffic::{Destination, Traffic};

/// The adjacencies, which are next hops too: the client, the server over r1, and over r2.
const CLIENT: u32 = 1;
const SERVER: u32 = 2;
const SERVER_TOO: u32 = 3;
/// Next hops without an adjacency.
const LOCAL: u32 = 4;
const BLACKHOLE: u32 = 5;
const UNRESOLVED: u32 = 6;

/// How long anything may take that must happen.
const PATIENCE: Duration = Duration::from_secs(20);

/// A plane in the router's namespace, and the table it forwards by.
struct Router {
    plane: Xdp,
    ipv4: Rib<u32>,
}

impl Router {
    /// Opens a plane, with routes to both ends in both families. It is not started yet.
    fn open(lab: &Lab, mode: Mode) -> Self {
        let mut plane = lab.open(mode);
        let neighbours =
            [(CLIENT, "r0", "c", "c0"), (SERVER, "r1", "s", "s0"), (SERVER_TOO, "r2", "s", "s1")];
        for (id, by, end, to) in neighbours {
            plane.set_adjacency(AdjacencyId(id), lab.adjacency(by, end, to, None)).unwrap();
        }
        plane.set_adjacency(AdjacencyId(UNRESOLVED), Adjacency::Unresolved).unwrap();
        for id in [CLIENT, SERVER, SERVER_TOO, UNRESOLVED] {
            plane.set_action(NextHop(id), &Action::Forward(vec![AdjacencyId(id)])).unwrap();
        }
        plane.set_action(NextHop(LOCAL), &Action::ToKernel).unwrap();
        plane.set_action(NextHop(BLACKHOLE), &Action::Drop).unwrap();
        let mut ipv6: Rib<u128> = Rib::new();
        for (prefix, next_hop) in
            [("fd01::/64", CLIENT), ("fd02::/64", SERVER), ("fd01::1/128", LOCAL), ("fd02::1/128", LOCAL)]
        {
            ipv6.insert(prefix.parse().unwrap(), NextHop(next_hop));
        }
        plane.apply(254, Routes::V6(&ipv6, &all_of(&ipv6))).unwrap();
        let mut router = Self { plane, ipv4: Rib::new() };
        router.routes(&[
            ("10.1.0.0/24", CLIENT),
            ("10.2.0.0/24", SERVER),
            ("10.3.0.0/24", SERVER_TOO),
            ("10.1.0.1/32", LOCAL),
            ("10.2.0.1/32", LOCAL),
            ("10.64.0.0/10", SERVER),
            ("10.66.0.0/16", BLACKHOLE),
            ("10.67.0.0/16", UNRESOLVED),
        ]);
        router
    }

    fn started(lab: &Lab, mode: Mode) -> Self {
        lab.inside("r", || {
            let mut router = Self::open(lab, mode);
            router.plane.start().unwrap();
            router
        })
    }

    fn apply(&mut self, deltas: &[Delta<u32>]) {
        self.plane.apply(254, Routes::V4(&self.ipv4, deltas)).unwrap();
    }

    fn routes(&mut self, routes: &[(&str, u32)]) {
        let route = |&(prefix, next_hop): &(&str, u32)| {
            Change::Announce(Route { prefix: prefix.parse().unwrap(), next_hop: NextHop(next_hop) })
        };
        let deltas: Vec<Delta<u32>> = routes.iter().filter_map(|each| self.ipv4.apply(route(each))).collect();
        self.apply(&deltas);
    }

    fn count(&self, reason: Reason) -> u64 {
        self.plane.interface_counts().unwrap().iter().map(|(_, counts)| counts.of(reason).packets).sum()
    }
}

/// Sends bytes from the client to the server over TCP and compares what arrives.
fn transfer(lab: &Lab, server: &str, bytes: usize) {
    let sent: Vec<u8> = (0..bytes).map(|i| (i * 31 + i / 251) as u8).collect();
    let listener = lab.inside("s", || TcpListener::bind((server.parse::<IpAddr>().unwrap(), 0)).unwrap());
    let to = listener.local_addr().unwrap();
    std::thread::scope(|scope| {
        let received = scope.spawn(|| {
            let mut received = Vec::new();
            listener.accept().unwrap().0.read_to_end(&mut received).unwrap();
            received
        });
        lab.inside("c", || {
            let mut stream = TcpStream::connect_timeout(&to, PATIENCE).unwrap();
            stream.set_write_timeout(Some(PATIENCE)).unwrap();
            stream.write_all(&sent).unwrap();
        });
        assert!(received.join().unwrap() == sent, "the bytes differ");
    });
}

/// Returns a socket of the client that hears of errors, connected to an address.
fn client(lab: &Lab, to: &str) -> UdpSocket {
    let socket = lab.inside("c", || UdpSocket::bind("0.0.0.0:0").unwrap());
    setsockopt(&socket, sockopt::Ipv4RecvErr, &true).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket.connect(SocketAddr::new(to.parse().unwrap(), 4789)).unwrap();
    socket
}

/// Returns a socket of the server that takes what is sent to [`client`]s' port.
fn server(lab: &Lab) -> UdpSocket {
    let socket = lab.inside("s", || UdpSocket::bind("0.0.0.0:4789").unwrap());
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket
}

#[test]
fn tcp_crosses_the_router_in_both_modes_and_detaching_leaves_nothing() {
    let Some(lab) = Lab::new("tcp") else { return };
    for mode in [Mode::Native, Mode::Generic] {
        let router = Router::started(&lab, mode);
        assert_eq!(lab.attached(), 3, "{mode}");
        transfer(&lab, "10.2.0.2", 3 << 20);
        transfer(&lab, "fd02::2", 3 << 20);
        let packets = 2 * (3 << 20) / 1500;
        assert!(router.count(Reason::Forwarded) > packets, "{mode}: {}", router.count(Reason::Forwarded));
        assert_eq!(router.count(Reason::Malformed), 0, "{mode}");
        drop(router);
        assert_eq!(lab.attached(), 3, "forwarding does not need the process");
        lab.inside("r", || lab.detach());
        assert_eq!(lab.attached(), 0, "{mode}");
        assert!(!std::path::Path::new("/sys/fs/bpf/fibula").join(lab.end("")).exists());
        // The kernel forwards again.
        transfer(&lab, "10.2.0.2", 1 << 20);
    }
}

#[test]
fn the_kernel_answers_for_what_the_program_hands_up() {
    let Some(lab) = Lab::new("icmp") else { return };
    lab.inside("r", || ask_the_kernel(&lab));
}

/// Runs in the router's namespace, where the indices of interfaces are the plane's.
fn ask_the_kernel(lab: &Lab) {
    let mut router = Router::started(lab, Mode::Native);
    let server = server(lab);
    let mut buffer = [0; 2048];

    // Time exceeded, from the router's own address.
    let near = client(lab, "10.64.0.1");
    near.set_ttl(1).unwrap();
    near.send(b"expires").unwrap();
    assert_eq!(near.recv(&mut buffer).unwrap_err().kind(), ErrorKind::HostUnreachable);
    assert_eq!(router.count(Reason::Expired), 1);
    near.set_ttl(2).unwrap();
    near.send(b"arrives").unwrap();
    assert_eq!(server.recv(&mut buffer).unwrap(), 7);

    // Fragmentation needed: the client learns the MTU of the path.
    lab.ip("r", "link set r1 mtu 1400");
    let Adjacency::Resolved { interface, source, destination, vlan, .. } =
        lab.adjacency("r1", "s", "s0", None)
    else {
        unreachable!("it is resolved")
    };
    let smaller = Adjacency::Resolved { interface, source, destination, vlan, mtu: 1400 };
    router.plane.set_adjacency(AdjacencyId(SERVER), smaller).unwrap();
    let path = client(lab, "10.64.0.2");
    path.send(&[1; 1450]).unwrap();
    assert_eq!(path.recv(&mut buffer).unwrap_err().raw_os_error(), Some(libc::EMSGSIZE));
    assert_eq!(router.count(Reason::TooBig), 1);
    path.send(&[2; 1372]).unwrap();
    assert_eq!((server.recv(&mut buffer).unwrap(), buffer[0]), (1372, 2));

    // A blackhole says nothing. The packet to elsewhere after it arrives.
    client(lab, "10.66.0.1").send(b"gone").unwrap();
    client(lab, "10.64.0.3").send(b"here").unwrap();
    assert_eq!((server.recv(&mut buffer).unwrap(), &buffer[..4]), (4, &b"here"[..]));
    assert_eq!(router.count(Reason::Blackhole), 1);

    // An unresolved neighbour: the kernel gets the packet, and forwards it by its own route.
    client(lab, "10.67.0.1").send(b"by the kernel").unwrap();
    assert_eq!(server.recv(&mut buffer).unwrap(), 13);
    assert_eq!(router.count(Reason::Unresolved), 1);
    lab.detach();
}

/// The second octet of destinations whose route never changes, by r1 and by r2, and of those whose
/// route does.
const BY_R1: u8 = 68;
const BY_R2: u8 = 69;
const BY_EITHER: u8 = 70;

/// Returns the prefix of a destination of these; its packets go to the first address.
fn prefix(group: u8, number: u8) -> Prefix<u32> {
    Prefix::containing(u32::from_be_bytes([10, group, number, 0]), 25)
}

/// Runs work while packets cross the router, to 64 destinations of each group. None may be lost,
/// none may come by an interface that its route never led to.
fn under_traffic(lab: &Lab, work: impl FnOnce()) {
    let groups = [(BY_R1, [true, false]), (BY_R2, [false, true]), (BY_EITHER, [true, true])];
    let destinations = (0..64).flat_map(|number| {
        groups.map(|(group, may)| Destination { address: Ipv4Addr::new(10, group, number, 1).into(), may })
    });
    let traffic = Traffic::start(lab, destinations.collect(), Duration::ZERO);
    work();
    let report = traffic.finish();
    assert_eq!((report.wrong(), report.lost()), (0, 0), "{:?}", report.faults());
    for (way, of_way) in [[true, false], [false, true]].into_iter().enumerate() {
        let rows = report.rows.iter().filter(|row| row.destination.may == of_way);
        let came: u64 = rows.map(|row| row.came[way]).sum();
        assert!(came > 500, "{came} packets by way {way}");
    }
}

impl Router {
    /// Adds the routes that [`under_traffic`] needs.
    fn add_groups(&mut self) {
        let routes = (0..64).flat_map(|number| {
            [(BY_R1, SERVER), (BY_R2, SERVER_TOO), (BY_EITHER, SERVER)]
                .map(|(group, to)| (prefix(group, number), to))
        });
        self.announce(routes);
    }

    fn announce(&mut self, routes: impl Iterator<Item = (Prefix<u32>, u32)>) {
        let change = |(prefix, to)| Change::Announce(Route { prefix, next_hop: NextHop(to) });
        let deltas: Vec<Delta<u32>> = routes.filter_map(|route| self.ipv4.apply(change(route))).collect();
        self.apply(&deltas);
    }
}

#[test]
fn changes_in_place_and_new_generations_lose_no_packet_and_misdirect_none() {
    let Some(lab) = Lab::new("change") else { return };
    let mut router = Router::started(&lab, Mode::Native);
    router.add_groups();
    lab.inside("r", || {
        under_traffic(&lab, || {
            let start = Instant::now();
            for round in 0_u32.. {
                // Each /25 that changes has neighbours in its leaves that do not.
                let to = if round.is_multiple_of(2) { SERVER_TOO } else { SERVER };
                router.announce((0..64).map(|number| (prefix(BY_EITHER, number), to)));
                let (group, number) = ([BY_R1, BY_R2][round as usize % 2], (round / 2 % 64) as u8);
                let beside = Prefix::containing(prefix(group, number).last() + 1, 25 + (round % 8) as u8);
                router.announce(std::iter::once((beside, 1 + round % 3)));
                if round % 40 == 39 {
                    // More routes than there is room for, with a next hop that takes 16 bits, then
                    // 32.
                    let first = round * 4096;
                    let to = if round < 80 { 300 } else { 70_000 };
                    let more = (first..first + 4096)
                        .map(|at| (Prefix::containing(0x0B00_0000 + (at << 4), 28), to + at % 2));
                    router.announce(more);
                }
                if round >= 160 && start.elapsed() > Duration::from_secs(2) {
                    break;
                }
            }
        });
        lab.detach();
    });
}

/// Set in a process that is to be a router in this lab until it is killed.
const AS_ROUTER: &str = "FIBULA_TEST_ROUTER";

#[test]
fn a_killed_process_leaves_a_forwarding_router_and_the_next_one_takes_over() {
    const TEST: &str = "a_killed_process_leaves_a_forwarding_router_and_the_next_one_takes_over";
    if let Ok(name) = std::env::var(AS_ROUTER) {
        // The process that made the lab removes it.
        let lab = ManuallyDrop::new(Lab::made(name));
        let mut router = Router::open(&lab, Mode::Native);
        router.add_groups();
        router.plane.start().unwrap();
        println!("started");
        loop {
            router.announce((0..64).map(|number| (prefix(BY_EITHER, number), SERVER_TOO)));
            router.announce((0..64).map(|number| (prefix(BY_EITHER, number), SERVER)));
        }
    }
    let Some(lab) = Lab::new("kill") else { return };
    lab.inside("r", || {
        let start = || {
            let mut command = Command::new(std::env::current_exe().unwrap());
            command.args(["--exact", TEST, "--nocapture"]).env(AS_ROUTER, lab.name());
            let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
            let lines = BufReader::new(child.stdout.take().unwrap()).lines();
            let started = lines.map_while(Result::ok).any(|line| line.contains("started"));
            assert!(started, "the process ended");
            child
        };
        let kill = |mut child: Child| {
            child.kill().unwrap();
            child.wait().unwrap();
        };
        kill(start());
        under_traffic(&lab, || {
            for round in 0..6 {
                let child = start();
                // At another moment of its changes each time, and once before the next one starts
                // and once after.
                std::thread::sleep(Duration::from_millis(37 * round));
                kill(child);
            }
        });
        assert_eq!(lab.attached(), 3);
        // What takes over finds the counters of those before it.
        let router = Router::open(&lab, Mode::Native);
        assert!(router.plane.interface_counts().is_err(), "it has not started");
        let mut router = router;
        router.plane.start().unwrap();
        assert!(router.count(Reason::Forwarded) > 1000);
        lab.detach();
    });
    assert_eq!(lab.attached(), 0);
}
