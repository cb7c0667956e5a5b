//! The routes of the kernel and of zebra as values. Those of the kernel are what the reader of
//! `ip route` gives.
//!
//! ```text
//!  namespace fibula-mirror-PID
//!  ┌───────────────────────────────────────────────────────────────────────────┐
//!  │ ip ──▶ kernel ──rtnetlink──▶ feed, mirror ──▶ values ◀─compared─┐         │
//!  │            └── ip route, ip -6 route, ip -j route ──▶ readers ──┘         │
//!  │ r0 10.99.255.254/16, fd99::ffff/64 ◀──veth──▶ p0                          │
//!  │ s0 10.98.255.254/16, fd98::ffff/64 ◀──veth──▶ t0                          │
//!  └───────────────────────────────────────────────────────────────────────────┘
//! ```
//! It takes root, and is skipped elsewhere.
#![cfg(target_os = "linux")]

mod daemons;

use daemons::{Frr, Space, command, wait};
use fibula::{IpPrefix, NextHopInfo};
use fibula_io::table::{Format, ReadOptions, Tables, Value, parse};
use fibula_router::control::{Control, Limits, Noted, Settings, Told, mirror};
use fibula_router::feed::{Feed, Queue, kernel, writer, zebra};
use fibula_router::message::{Event, Leg, Object, Target};
use std::collections::BTreeMap;
use std::io::Write;
use std::net::{Ipv4Addr, Shutdown, TcpStream};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

type Shared = Arc<Queue<Control<Noted>>>;

/// The values of prefixes, by table.
type Values = BTreeMap<(u32, IpPrefix), NextHopInfo>;

/// What a mirror has told.
struct Mirrored {
    queue: Shared,
    values: Arc<Mutex<Values>>,
    limit: Arc<Mutex<Option<String>>>,
    thread: Option<JoinHandle<()>>,
}

impl Mirrored {
    fn start(settings: Settings, wanted: Value) -> Self {
        let queue = Shared::new(Queue::with_room(settings.limits.waiting()));
        let (values, limit) = (Arc::<Mutex<Values>>::default(), Arc::<Mutex<Option<String>>>::default());
        let (taken, told, left) = (Arc::clone(&queue), Arc::clone(&values), Arc::clone(&limit));
        let thread = thread::spawn(move || {
            mirror(settings, wanted, &taken, |news| match news {
                Told::Route { table, prefix, value: Some(value) } => {
                    told.lock().unwrap().insert((table, prefix), value.clone());
                }
                Told::Route { table, prefix, value: None } => {
                    told.lock().unwrap().remove(&(table, prefix));
                }
                Told::Limit(limit) => *left.lock().unwrap() = Some(limit.to_owned()),
            });
        });
        Self { queue, values, limit, thread: Some(thread) }
    }

    /// Follows the kernel's routes.
    fn of_kernel(wanted: Value) -> Self {
        let mirrored = Self::start(Settings { feeds: vec![Feed::Kernel], ..Settings::default() }, wanted);
        let filter = kernel::Filter { routes: true, tables: Vec::new(), protocols: Vec::new() };
        kernel::follow(filter, kernel::ROOM, Arc::clone(&mirrored.queue)).unwrap();
        mirrored
    }

    /// Listens to zebra, without the kernel's links unless `with_links`.
    fn of_zebra(settings: Settings, with_links: bool) -> (Self, zebra::Server) {
        let mirrored = Self::start(settings, Value::NextHops);
        let any = zebra::Place::Tcp((Ipv4Addr::LOCALHOST, 0).into());
        let queue = || Arc::clone(&mirrored.queue);
        let server = zebra::Server::listen(&any, zebra::Options::default(), queue()).unwrap();
        if with_links {
            let filter = kernel::Filter { routes: false, tables: Vec::new(), protocols: Vec::new() };
            kernel::follow(filter, kernel::ROOM, queue()).unwrap();
        }
        (mirrored, server)
    }

    fn of_table(&self, table: u32) -> BTreeMap<IpPrefix, NextHopInfo> {
        let values = self.values.lock().unwrap();
        let of_table = values.iter().filter(|((id, _), _)| *id == table);
        of_table.map(|((_, prefix), value)| (*prefix, value.clone())).collect()
    }

    /// Returns the value of a prefix of the main table as text.
    fn value(&self, prefix: &str) -> Option<String> {
        let key = (254, prefix.parse().unwrap());
        self.values.lock().unwrap().get(&key).map(ToString::to_string)
    }
}

impl Drop for Mirrored {
    fn drop(&mut self) {
        self.queue.fill(|batch| batch.is_last = true);
        self.thread.take().unwrap().join().unwrap();
    }
}

/// Returns the routes that `ip` prints of a table, as the readers of files give them.
fn printed(table: u32, wanted: Value, is_json: bool) -> BTreeMap<IpPrefix, NextHopInfo> {
    let mut all = BTreeMap::new();
    for family in ["-4", "-6"] {
        let mut ip = Command::new("ip");
        ip.arg(family).args(is_json.then_some("-j")).args(["route", "show", "table", &table.to_string()]);
        let output = ip.output().unwrap();
        // A table without routes is none.
        if !output.status.success() || output.stdout.trim_ascii().is_empty() {
            continue;
        }
        let format = if is_json { Format::IpJson } else { Format::IpRoute };
        let options = ReadOptions { format: Some(format), value: wanted, ..ReadOptions::default() };
        let Tables { ipv4, ipv6, next_hops } = parse(&output.stdout, &options).unwrap().tables;
        let value = |index| next_hops.get(index).unwrap().clone();
        all.extend(ipv4.iter().map(|route| (route.prefix.into(), value(route.next_hop))));
        all.extend(ipv6.iter().map(|route| (route.prefix.into(), value(route.next_hop))));
    }
    all
}

#[test]
fn the_kernels_routes_have_the_values_of_what_ip_prints() {
    let Some(_space) = Space::new(&format!("fibula-mirror-{}", std::process::id())) else { return };
    for line in [
        "ip link add s0 type veth peer name t0",
        "ip addr add 10.98.255.254/16 dev s0",
        "ip addr add fd98::ffff/64 dev s0 nodad",
        "ip link set s0 up",
        "ip link set t0 up",
        "ip route add default via 10.99.1.9",
        "ip route add 192.0.2.0/24 via 10.99.1.1",
        "ip route add 192.0.3.0/24 nexthop via 10.99.1.1 weight 2 nexthop via 10.98.1.1",
        "ip route add 192.0.4.0/24 via 10.98.1.4 mtu 1400",
        "ip route add 192.0.5.0/24 via inet6 fd99::5 dev r0",
        "ip route add 192.0.6.0/24 dev s0",
        "ip route add blackhole 10.60.0.0/16",
        "ip route add unreachable 10.61.0.0/16",
        "ip route add prohibit 10.62.0.0/16",
        "ip route add throw 10.63.0.0/16",
        "ip route add 10.64.0.0/16 via 10.99.1.1 metric 30",
        "ip route add 10.64.0.0/16 via 10.98.1.2 metric 20",
        "ip route add 10.65.0.0/16 via 10.99.1.3",
        "ip route add 10.65.0.0/16 tos 0x10 via 10.99.1.4",
        "ip route add 10.66.0.0/16 tos 0x10 via 10.99.1.4",
        "ip route add 10.99.255.254/32 via 10.98.1.2",
        "ip nexthop add id 7 via 10.99.1.7 dev r0",
        "ip nexthop add id 8 via 10.98.1.8 dev s0",
        "ip nexthop add id 9 group 7,2/8",
        "ip nexthop add id 10 blackhole",
        "ip route add 198.51.100.0/24 nhid 9",
        "ip route add 198.51.101.0/24 nhid 7",
        "ip route add 198.51.102.0/24 nhid 10",
        "ip route add 10.68.0.0/16 via 10.99.1.1 table 100",
        "ip route add local 10.69.0.0/16 dev lo table 100",
        "ip -6 route add 2001:db8::/32 nexthop via fd99::1 nexthop via fd98::2 weight 5",
        "ip -6 route add 2001:db8:1::/48 via fd99::3",
        "ip -6 route add blackhole 2001:db8:2::/48",
        "ip neigh add 10.99.3.3 lladdr 02:00:00:00:00:03 dev r0",
    ] {
        command(line);
    }
    let mirrors = [Value::NextHop, Value::NextHops].map(|value| (Mirrored::of_kernel(value), value));
    let agree = |what: &str| {
        for (mirrored, value) in &mirrors {
            for table in [254, 100] {
                let is_so = || mirrored.of_table(table) == printed(table, *value, false);
                let end = Instant::now() + Duration::from_mins(1);
                while !is_so() {
                    let (has, prints) = (mirrored.of_table(table), printed(table, *value, false));
                    assert!(end > Instant::now(), "{what}: {has:#?}\n{prints:#?}");
                    thread::sleep(Duration::from_millis(20));
                }
                assert_eq!(printed(table, *value, true), printed(table, *value, false), "{what}, as JSON");
            }
        }
    };
    agree("what there is at first");
    let (first, all) = (&mirrors[0].0, &mirrors[1].0);
    assert_eq!(first.value("192.0.2.0/24").unwrap(), "10.99.1.1 dev r0");
    assert_eq!(first.value("192.0.3.0/24").unwrap(), "10.99.1.1 dev r0");
    let both = r#"[{"via":"10.99.1.1","dev":"r0","weight":2},{"via":"10.98.1.1","dev":"s0","weight":1}]"#;
    assert_eq!(all.value("192.0.3.0/24").unwrap(), both);
    assert_eq!(first.value("10.60.0.0/16").unwrap(), "blackhole");
    assert_eq!(first.value("10.99.255.254/32").unwrap(), "10.98.1.2 dev s0");
    for line in [
        "ip route del 192.0.2.0/24",
        "ip route del 10.64.0.0/16 metric 20",
        "ip route replace 10.65.0.0/16 via 10.98.1.5",
        "ip route replace blackhole 192.0.6.0/24",
        "ip nexthop replace id 7 via 10.99.1.77 dev r0",
        "ip nexthop replace id 9 group 8",
        "ip -6 route del 2001:db8::/32 via fd99::1",
        "ip -6 route del fe80::/64 dev r0",
        "ip nexthop del id 7",
        "ip link set s0 down",
        "ip link set s0 up",
        "ip route add 192.0.7.0/24 via 10.98.1.4",
        "ip link set r0 name r1",
        "ip link set r1 down",
        "ip link del s0",
    ] {
        command(line);
        agree(line);
        if line == "ip link set s0 down" {
            assert_eq!(first.value("192.0.3.0/24").unwrap(), "10.99.1.1 dev r0");
            assert_eq!(all.value("192.0.3.0/24").unwrap(), r#"[{"via":"10.99.1.1","dev":"r0","weight":2}]"#);
        }
    }
}

/// A frame's route of the main table.
fn route(prefix: &str, target: Option<Target>) -> Event {
    Event::Route { table: 254, prefix: prefix.parse().unwrap(), metric: 20, protocol: 186, target }
}

#[test]
fn a_session_of_zebra_is_told_and_what_the_next_one_leaves_out_goes() {
    let settings = Settings {
        feeds: vec![Feed::Fpm],
        quiet: Duration::from_millis(500),
        limits: Limits { routes: 4, ..Limits::default() },
        ..Settings::default()
    };
    let (mirrored, server) = Mirrored::of_zebra(settings, false);
    let connect = || TcpStream::connect(server.tcp_address().unwrap()).unwrap();
    let leg = |last| Leg { interface: 3, gateway: Some([192, 0, 2, last].into()), weight: 1 };
    let object = |id, last| Event::Object { id, object: Some(Object::Leg(leg(last))) };
    let group = Event::Object { id: 9, object: Some(Object::Group([(7, 1), (8, 3)].into())) };
    let of_object = |id| Some(Target::Object(id));
    let mut zebra = connect();
    let told = [
        object(7, 7),
        object(8, 8),
        group.clone(),
        route("10.0.0.0/8", of_object(9)),
        route("10.1.0.0/16", of_object(7)),
        route("10.2.0.0/16", Some(Target::Blackhole)),
        Event::Route {
            table: 100,
            prefix: "::/0".parse().unwrap(),
            metric: 0,
            protocol: 186,
            target: of_object(8),
        },
    ];
    zebra.write_all(&writer::frame(&told)).unwrap();
    let is = |prefix: &str, value: &str| {
        let expected = (!value.is_empty()).then(|| value.to_owned());
        wait(&format!("{prefix} {value}"), || mirrored.value(prefix) == expected);
    };
    is(
        "10.0.0.0/8",
        r#"[{"via":"192.0.2.7","dev":"3","weight":1},{"via":"192.0.2.8","dev":"3","weight":3}]"#,
    );
    is("10.1.0.0/16", r#"[{"via":"192.0.2.7","dev":"3"}]"#);
    is("10.2.0.0/16", r#"[{"type":"blackhole"}]"#);
    assert_eq!(mirrored.of_table(100).len(), 1);
    // A route of an object is told again when the object changes.
    zebra.write_all(&writer::frame(&[object(7, 77)])).unwrap();
    is("10.1.0.0/16", r#"[{"via":"192.0.2.77","dev":"3"}]"#);
    is(
        "10.0.0.0/8",
        r#"[{"via":"192.0.2.77","dev":"3","weight":1},{"via":"192.0.2.8","dev":"3","weight":3}]"#,
    );
    // One route more than the limit.
    zebra.write_all(&writer::frame(&[route("10.3.0.0/16", of_object(7))])).unwrap();
    wait("the limit is told", || mirrored.limit.lock().unwrap().is_some());
    assert_eq!(mirrored.value("10.3.0.0/16"), None);
    zebra.write_all(&writer::frame(&[route("10.2.0.0/16", None)])).unwrap();
    is("10.2.0.0/16", "");
    zebra.shutdown(Shutdown::Both).unwrap();
    // The next session has another object of the same id, and one route less.
    let mut zebra = connect();
    let again =
        [object(7, 1), object(8, 8), route("10.0.0.0/8", of_object(8)), route("10.1.0.0/16", of_object(7))];
    zebra.write_all(&writer::frame(&again)).unwrap();
    is("10.1.0.0/16", r#"[{"via":"192.0.2.1","dev":"3"}]"#);
    is("10.0.0.0/8", r#"[{"via":"192.0.2.8","dev":"3"}]"#);
    wait("what was not told again goes", || mirrored.of_table(100).is_empty());
    assert_eq!(mirrored.of_table(254).len(), 2);
}

#[test]
fn a_real_zebra_tells_its_routes() {
    let name = format!("fibula-mirror-frr-{}", std::process::id());
    let Some(_space) = Space::new(&name) else { return };
    let Some(mut frr) = Frr::new(&name) else { return };
    let (mirrored, server) = Mirrored::of_zebra(Settings::default(), true);
    let address = server.tcp_address().unwrap();
    frr.start_zebra(&format!("fpm address {} port {}\n", address.ip(), address.port()));
    frr.start(
        "staticd",
        "ip route 192.0.2.0/24 10.99.3.1\nip route 192.0.3.0/24 10.99.3.1\nip route 192.0.3.0/24 10.99.3.2\n",
        &[],
    );
    let is = |prefix: &str, expected: &str| {
        wait(&format!("{prefix} {expected}"), || mirrored.value(prefix).as_deref() == Some(expected));
    };
    is("192.0.2.0/24", r#"[{"via":"10.99.3.1","dev":"r0"}]"#);
    let both = r#"[{"via":"10.99.3.1","dev":"r0","weight":1},{"via":"10.99.3.2","dev":"r0","weight":1}]"#;
    is("192.0.3.0/24", both);
    frr.configure("no ip route 192.0.2.0/24 10.99.3.1");
    wait("a route is withdrawn", || mirrored.value("192.0.2.0/24").is_none());
    command("ip link set r0 down");
    wait("routes go with their link", || mirrored.value("192.0.3.0/24").is_none());
}
