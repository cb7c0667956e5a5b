//! What planes on real interfaces are tested by: routes over a [`Lab`], transfers, what the kernel
//! answers, and changes under traffic.
#![allow(dead_code, reason = "each test takes what it needs")]

use crate::common::all_of;
use crate::common::lab::Lab;
use crate::traffic::{Destination, Traffic};
use fibula::{Change, Delta, NextHop, Prefix, Rib, Route};
use fibula_router::plane::xdp::Reason;
use fibula_router::plane::{Action, Adjacency, AdjacencyId, Plane, Routes};
use nix::sys::socket::{setsockopt, sockopt};
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

/// The adjacencies, which are next hops too: the client, the server over r1, and over r2.
pub(crate) const CLIENT: u32 = 1;
pub(crate) const SERVER: u32 = 2;
pub(crate) const SERVER_TOO: u32 = 3;
/// Next hops without an adjacency.
pub(crate) const LOCAL: u32 = 4;
pub(crate) const BLACKHOLE: u32 = 5;
pub(crate) const UNRESOLVED: u32 = 6;

/// How long anything may take that must happen.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// A plane in the router's namespace, and the table it forwards by.
pub(crate) struct Router<P> {
    pub(crate) plane: P,
    pub(crate) ipv4: Rib<u32>,
}

impl<P: Plane> Router<P> {
    /// Tells a plane routes to both ends in both families. It is not started yet.
    pub(crate) fn new(lab: &Lab, mut plane: P) -> Self {
        let neighbours =
            [(CLIENT, "r0", "c", "c0"), (SERVER, "r1", "s", "s0"), (SERVER_TOO, "r2", "s", "s1")];
        for (id, by, end, to) in neighbours {
            plane.set_adjacency(AdjacencyId(id), lab.adjacency(by, end, to, None)).unwrap();
        }
        plane.set_adjacency(AdjacencyId(UNRESOLVED), Adjacency::Unresolved { routed: 0 }).unwrap();
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

    pub(crate) fn apply(&mut self, deltas: &[Delta<u32>]) {
        self.plane.apply(254, Routes::V4(&self.ipv4, deltas)).unwrap();
    }

    pub(crate) fn routes(&mut self, routes: &[(&str, u32)]) {
        let route = |&(prefix, next_hop): &(&str, u32)| {
            Change::Announce(Route { prefix: prefix.parse().unwrap(), next_hop: NextHop(next_hop) })
        };
        let deltas: Vec<Delta<u32>> = routes.iter().filter_map(|each| self.ipv4.apply(route(each))).collect();
        self.apply(&deltas);
    }

    /// Returns the packets of a reason, of all interfaces.
    pub(crate) fn count(&self, reason: Reason) -> u64 {
        let counters = self.plane.counters().unwrap();
        counters.iter().filter(|counter| counter.name == reason.name()).map(|counter| counter.packets).sum()
    }

    /// Adds the routes that [`under_traffic`] needs.
    pub(crate) fn add_groups(&mut self) {
        let routes = (0..64).flat_map(|number| {
            [(BY_R1, SERVER), (BY_R2, SERVER_TOO), (BY_EITHER, SERVER)]
                .map(|(group, to)| (prefix(group, number), to))
        });
        self.announce(routes);
    }

    pub(crate) fn announce(&mut self, routes: impl Iterator<Item = (Prefix<u32>, u32)>) {
        let change = |(prefix, to)| Change::Announce(Route { prefix, next_hop: NextHop(to) });
        let deltas: Vec<Delta<u32>> = routes.filter_map(|route| self.ipv4.apply(change(route))).collect();
        self.apply(&deltas);
    }
}

/// Sends bytes from the client to the server over TCP and compares what arrives.
pub(crate) fn transfer(lab: &Lab, server: &str, bytes: usize) {
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
pub(crate) fn client(lab: &Lab, to: &str) -> UdpSocket {
    let socket = lab.inside("c", || UdpSocket::bind("0.0.0.0:0").unwrap());
    setsockopt(&socket, sockopt::Ipv4RecvErr, &true).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket.connect(SocketAddr::new(to.parse().unwrap(), 4789)).unwrap();
    socket
}

/// Returns a socket of the server that takes what is sent to [`client`]s' port.
pub(crate) fn server(lab: &Lab) -> UdpSocket {
    let socket = lab.inside("s", || UdpSocket::bind("0.0.0.0:4789").unwrap());
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket
}

/// Runs in the router's namespace, where the indices of interfaces are the plane's.
pub(crate) fn ask_the_kernel<P: Plane>(lab: &Lab, router: &mut Router<P>) {
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
    let smaller = Adjacency::Resolved { interface, routed: interface, source, destination, vlan, mtu: 1400 };
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
}

/// The second octet of destinations whose route never changes, by r1 and by r2, and of those whose
/// route does.
pub(crate) const BY_R1: u8 = 68;
pub(crate) const BY_R2: u8 = 69;
pub(crate) const BY_EITHER: u8 = 70;

/// Returns the prefix of a destination of these; its packets go to the first address.
pub(crate) fn prefix(group: u8, number: u8) -> Prefix<u32> {
    Prefix::containing(u32::from_be_bytes([10, group, number, 0]), 25)
}

/// Runs work while packets cross the router, to 64 destinations of each group. None may be lost,
/// none may come by an interface that its route never led to.
pub(crate) fn under_traffic(lab: &Lab, work: impl FnOnce()) {
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

/// Changes routes while packets cross the router: those of the packets, others beside them, and so
/// many that a table outgrows what it has.
pub(crate) fn change_under_traffic<P: Plane>(lab: &Lab, router: &mut Router<P>) {
    under_traffic(lab, || {
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
}
