//! The kernel's own tables, followed by rtnetlink: what it says, and what it does not say.
//!
//! ```text
//!  namespace fibula-kernel-PID
//!  ┌──────────────────────────────────────────────────────────┐
//!  │ ip ──▶ kernel ──rtnetlink──▶ feed, control, memory plane │
//!  │ r0 10.99.255.254/16, fd99::ffff/64 ◀──veth──▶ p0         │
//!  └──────────────────────────────────────────────────────────┘
//! ```
//! It takes root, and is skipped elsewhere.
#![cfg(target_os = "linux")]

mod daemons;

use daemons::{Shared, Space, ask, command, follow, wait};
use fibula::Family;
use fibula_router::control::Way;
use fibula_router::feed::kernel;
use fibula_router::plane::memory::Memory;
use std::io::Write;
use std::net::IpAddr;
use std::process::{Command, Stdio};

/// Returns what happens to packets to an address, and the gateways.
fn ways(queue: &Shared<Memory>, address: &str) -> Option<(Way, Vec<String>)> {
    let address: IpAddr = address.parse().unwrap();
    let ways = ask(queue, move |control| control.lookup(254, address).route)?.ways;
    let gateways = ways.iter().filter_map(|way| way.gateway).map(|gateway| gateway.to_string());
    Some((ways[0].kind, gateways.collect()))
}

#[test]
fn what_the_kernel_has_is_what_answers() {
    let Some(_space) = Space::new(&format!("fibula-kernel-{}", std::process::id())) else { return };
    for line in [
        "ip route add 192.0.2.0/24 via 10.99.1.1",
        "ip nexthop add id 7 via 10.99.1.7 dev r0",
        "ip nexthop add id 8 via 10.99.1.8 dev r0",
        "ip nexthop add id 9 group 7,2/8",
        "ip route add 198.51.100.0/24 nhid 9",
        "ip route add 203.0.113.0/24 via inet6 fd99::5 dev r0",
        "ip route add prohibit 10.66.0.0/16",
        "ip route add 10.67.0.0/16 via 10.99.1.1 metric 20",
        "ip route add blackhole 10.67.0.0/16 metric 30",
        "ip route add 10.68.0.0/16 via 10.99.1.1 table 100",
        "ip -6 route add 2001:db8::/32 nexthop via fd99::1 nexthop via fd99::2",
    ] {
        command(line);
    }
    let (queue, applier) = follow(kernel::ROOM);
    let gateways = |list: &[&str]| list.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
    let via = |list: &[&str]| Some((Way::Via, gateways(list)));
    assert_eq!(ways(&queue, "192.0.2.1"), via(&["10.99.1.1"]));
    assert_eq!(ways(&queue, "198.51.100.1"), via(&["10.99.1.7", "10.99.1.8"]));
    assert_eq!(ways(&queue, "203.0.113.1"), via(&["fd99::5"]));
    assert_eq!(ways(&queue, "10.66.0.1"), Some((Way::Prohibit, Vec::new())));
    assert_eq!(ways(&queue, "10.67.0.1"), via(&["10.99.1.1"]));
    assert_eq!(ways(&queue, "10.99.255.254"), Some((Way::Local, Vec::new())));
    assert_eq!(ways(&queue, "10.99.255.255"), Some((Way::Local, Vec::new())));
    assert_eq!(ways(&queue, "10.99.3.3"), Some((Way::OnLink, Vec::new())));
    assert_eq!(ways(&queue, "10.68.0.1"), None, "table 100 is not followed");

    command("ip neigh add 10.99.3.3 lladdr 02:00:00:00:00:03 dev r0");
    wait("a neighbour has a host route", || ways(&queue, "10.99.3.3") == via(&["10.99.3.3"]));
    command("ip nexthop replace id 9 group 8");
    wait("a group's members change", || ways(&queue, "198.51.100.1") == via(&["10.99.1.8"]));
    command("ip route del 10.67.0.0/16 metric 20");
    wait("the next metric answers", || ways(&queue, "10.67.0.1") == Some((Way::Blackhole, Vec::new())));
    // The kernel says that one leg is deleted, not that the other stays.
    command("ip -6 route del 2001:db8::/32 via fd99::1");
    wait("the other leg stays", || ways(&queue, "2001:db8::1") == via(&["fd99::2"]));
    // It says nothing of IPv4 routes that go with their interface.
    command("ip link set r0 down");
    wait("routes go with their link", || ways(&queue, "192.0.2.1").is_none());
    assert_eq!(ways(&queue, "10.66.0.1"), Some((Way::Prohibit, Vec::new())), "others stay");
    queue.fill(|batch| batch.is_last = true);
    applier.join().unwrap();
}

/// The room for messages, in bytes: some hundred of them.
const ROOM: usize = 1 << 16;

/// The n-th of many prefixes.
fn prefix(n: u32) -> String {
    format!("100.{}.{}.0/24", 64 + n / 256, n % 256)
}

/// Has `ip` do what lines say.
fn batch(lines: impl Iterator<Item = String>) {
    let mut child = Command::new("ip").args(["-batch", "-"]).stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    for line in lines {
        writeln!(stdin, "{line}").unwrap();
    }
    drop(stdin);
    assert!(child.wait().unwrap().success());
}

#[test]
fn of_several_routes_of_one_prefix_and_metric_the_first_answers() {
    let Some(_space) = Space::new(&format!("fibula-several-{}", std::process::id())) else { return };
    command("ip route add 192.0.2.0/24 via 10.99.1.1");
    command("ip route append 192.0.2.0/24 via 10.99.1.2");
    let (queue, applier) = follow(kernel::ROOM);
    let via = |gateway: &str| Some((Way::Via, vec![gateway.to_owned()]));
    let leads = |prefix: &str, gateway: Option<&str>| {
        let address = prefix.replace(".0/24", ".7");
        let expected = gateway.and_then(via);
        wait(&format!("{prefix} leads to {gateway:?}"), || ways(&queue, &address) == expected);
    };
    leads("192.0.2.0/24", Some("10.99.1.1"));
    command("ip route del 192.0.2.0/24 via 10.99.1.2");
    // What comes after it has been read, too.
    command("ip route add 198.51.100.0/24 via 10.99.1.4");
    leads("198.51.100.0/24", Some("10.99.1.4"));
    leads("192.0.2.0/24", Some("10.99.1.1"));
    for (change, first) in [
        ("append 198.51.100.0/24 via 10.99.1.5", Some("10.99.1.4")),
        ("prepend 198.51.100.0/24 via 10.99.1.6", Some("10.99.1.6")),
        ("del 198.51.100.0/24 via 10.99.1.4", Some("10.99.1.6")),
        ("del 198.51.100.0/24 via 10.99.1.6", Some("10.99.1.5")),
        ("replace 198.51.100.0/24 via 10.99.1.8", Some("10.99.1.8")),
        ("del 198.51.100.0/24", None),
    ] {
        command(&format!("ip route {change}"));
        command("ip route replace 203.0.113.0/24 via 10.99.1.9");
        leads("203.0.113.0/24", Some("10.99.1.9"));
        leads("198.51.100.0/24", first);
        command("ip route del 203.0.113.0/24");
        leads("203.0.113.0/24", None);
    }
    queue.fill(|batch| batch.is_last = true);
    applier.join().unwrap();
}

#[test]
fn what_goes_without_a_word_is_gone() {
    let Some(_space) = Space::new(&format!("fibula-silent-{}", std::process::id())) else { return };
    let (queue, applier) = follow(kernel::ROOM);
    let leads = |address: &str, way: Option<Way>| {
        wait(&format!("{address}: {way:?}"), || ways(&queue, address).map(|it| it.0) == way);
    };
    // An id that is used again is another object, and the routes of the first one went with it.
    for line in [
        "ip link add r1 type veth peer name p1",
        "ip link set r1 up",
        "ip nexthop add id 7 via 10.99.1.7 dev r0",
        "ip nexthop add id 8 blackhole",
        "ip route add 192.0.2.0/24 nhid 7",
        "ip route add 192.0.3.0/24 nhid 8",
        "ip route append 192.0.3.0/24 via 10.99.1.3",
        "ip route add unreachable 192.0.0.0/16",
    ] {
        command(line);
    }
    leads("192.0.2.1", Some(Way::Via));
    leads("192.0.3.1", Some(Way::Blackhole));
    command("ip nexthop del id 7");
    command("ip nexthop add id 7 via 10.99.1.9 dev r0");
    command("ip nexthop del id 8");
    leads("192.0.2.1", Some(Way::Unreachable));
    leads("192.0.3.1", Some(Way::Via));
    // Routes that end, and the one behind them.
    command("ip -6 route add unreachable 2001:db8::/32");
    command("ip -6 route add 2001:db8::/48 via fd99::1 expires 1");
    leads("2001:db8::1", Some(Way::Via));
    leads("2001:db8::1", Some(Way::Unreachable));
    // Of routes of one metric that with the highest preference.
    command("ip -6 route add prohibit 2001:db8:1::/48");
    command("ip -6 route append 2001:db8:1::/48 dev r0 pref high");
    leads("2001:db8:1::1", Some(Way::OnLink));
    command("ip -6 route del 2001:db8:1::/48 dev r0");
    leads("2001:db8:1::1", Some(Way::Prohibit));
    // An address of two links, of which one goes.
    for (family, address) in [("", "198.51.100.1"), (" nodad", "2001:db8:9::1")] {
        command(&format!("ip addr add {address} dev r0{family}"));
        command(&format!("ip addr add {address} dev r1{family}"));
        leads(address, Some(Way::Local));
        let bits = if family.is_empty() { 32 } else { 128 };
        command(&format!("ip addr del {address}/{bits} dev r0"));
        command("ip route replace 203.0.113.0/24 via 10.99.1.9");
        leads("203.0.113.1", Some(Way::Via));
        leads(address, Some(Way::Local));
        command(&format!("ip addr del {address}/{bits} dev r1"));
        command("ip route del 203.0.113.0/24");
        wait("the address is gone", || ways(&queue, address).map(|it| it.0) != Some(Way::Local));
    }
    // Only the kernel can send by one member of a group.
    for line in [
        "ip nexthop add id 21 via 10.99.1.1 dev r0",
        "ip nexthop add id 22 encap ip id 7 dst 192.0.2.9 via 10.99.1.2 dev r0",
        "ip nexthop add id 23 group 21/22",
        "ip route add 198.51.100.0/24 nhid 23",
    ] {
        command(line);
    }
    leads("198.51.100.7", Some(Way::Kernel));
    queue.fill(|batch| batch.is_last = true);
    applier.join().unwrap();
}

#[test]
fn changes_that_the_kernel_lost_are_asked_for_again() {
    const ROUTES: u32 = 5000;
    let Some(_space) = Space::new(&format!("fibula-lost-{}", std::process::id())) else { return };
    batch((0..ROUTES).step_by(2).map(|n| format!("route add {} via 10.99.1.1", prefix(n))));
    let (queue, applier) = follow(ROOM);
    let sessions = || ask(&queue, |control| control.status().feeds[0].session);
    let before = sessions();

    // The feed cannot add what it reads as long as somebody else fills the queue.
    queue.fill(|_| {
        batch((0..ROUTES).map(|n| match n % 2 {
            0 => format!("route del {}", prefix(n)),
            _ => format!("route add {} via 10.99.1.2", prefix(n)),
        }));
    });
    wait("the feed asks again", || sessions() > before);
    let found = || {
        ask(&queue, |control| {
            let rows = control.routes(254, Family::Ipv4, None);
            let rows = rows.filter(|row| row.prefix.starts_with("100."));
            rows.map(|row| (row.prefix, row.ways[0].gateway)).collect::<Vec<_>>()
        })
    };
    let gateway = Some("10.99.1.2".parse().unwrap());
    let mut expected: Vec<_> = (1..ROUTES).step_by(2).map(|n| (prefix(n), gateway)).collect();
    expected.sort();
    wait("the tables are equal", || {
        let mut found = found();
        found.sort();
        found == expected
    });
    queue.fill(|batch| batch.is_last = true);
    applier.join().unwrap();
}
