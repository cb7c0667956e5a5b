//! A plane that lost its place finds it again, and says so where it cannot: see the drawing in
//! `common/lab.rs`. Packets from the client to the server say what is so: the router's kernel
//! forwards none.
#![cfg(target_os = "linux")]

mod common;

use common::lab::Lab;
use fibula_router::control::{Control, Settings, Status, run};
use fibula_router::feed::{Feed, Queue, kernel};
use fibula_router::plane::Plane as _;
use fibula_router::plane::xdp::{Attachment, Finding, Mode, Options, Xdp};
use std::net::UdpSocket;
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// A router that follows its kernel.
struct Router {
    queue: Arc<Queue<Control<Xdp>>>,
    thread: Option<JoinHandle<()>>,
}

impl Router {
    fn start(lab: &Lab, interfaces: &[&str]) -> Self {
        let router = Self::begin(lab, interfaces, vec![Feed::Kernel]);
        router.wait("it forwards", |status| status.forwarding);
        router
    }

    /// Starts a router that forwards once all of these feeds are complete.
    fn begin(lab: &Lab, interfaces: &[&str], feeds: Vec<Feed>) -> Self {
        let queue = Arc::new(Queue::<Control<Xdp>>::default());
        let thread = lab.inside("r", || {
            let interfaces = interfaces.iter().copied().map(Attachment::of);
            let options = Options::new(lab.name(), interfaces.collect(), Mode::Native);
            let settings = Settings { feeds, ..Settings::default() };
            let control = Control::new(Xdp::open(options).unwrap(), settings);
            let filter = kernel::Filter { routes: true, tables: Vec::new(), protocols: Vec::new() };
            kernel::follow(filter, kernel::ROOM, Arc::clone(&queue)).unwrap();
            let queue = Arc::clone(&queue);
            thread::spawn(move || drop(run(control, &queue)))
        });
        Self { queue, thread: Some(thread) }
    }

    fn status(&self) -> Status {
        let (sender, receiver) = mpsc::channel();
        self.queue.fill(|batch| {
            batch.requests.push(Box::new(move |control| sender.send(control.status()).unwrap()));
        });
        receiver.recv().unwrap()
    }

    fn wait(&self, what: &str, is_so: impl Fn(&Status) -> bool) {
        for _ in 0..2000 {
            if is_so(&self.status()) {
                return;
            }
            thread::sleep(Duration::from_millis(10));
        }
        panic!("{what}: {:?}", self.status());
    }

    /// Returns the packets and bytes that the plane counted for a reason.
    fn count(&self, reason: &'static str) -> [u64; 2] {
        let (sender, receiver) = mpsc::channel();
        self.queue.fill(|batch| {
            batch.requests.push(Box::new(move |control| {
                let counters = control.plane().counters().unwrap();
                let of_it = counters.iter().filter(|it| it.name == reason);
                let sum = of_it.fold([0, 0], |[packets, bytes], it| [packets + it.packets, bytes + it.bytes]);
                sender.send(sum).unwrap();
            }));
        });
        receiver.recv().unwrap()
    }
}

impl Drop for Router {
    fn drop(&mut self) {
        self.queue.fill(|batch| batch.is_last = true);
        let ended = self.thread.take().map(JoinHandle::join);
        if !thread::panicking() {
            ended.unwrap().unwrap();
        }
    }
}

/// Sends packets of so many bytes to an address of the server until one arrives, at most `tries`
/// times. Returns whether one did.
fn reaches(lab: &Lab, address: &str, size: usize, tries: u32) -> bool {
    let any = if address.contains(':') { "[::]:0" } else { "0.0.0.0:0" };
    let server = lab.inside("s", || UdpSocket::bind(any).unwrap());
    server.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
    let client = lab.inside("c", || UdpSocket::bind(any).unwrap());
    let port = server.local_addr().unwrap().port();
    (0..tries).any(|_| {
        // While an interface is away nothing can be sent.
        let _ = client.send_to(&vec![7; size], (address, port));
        server.recv(&mut vec![0; size]).is_ok_and(|length| length == size)
    })
}

fn crosses(lab: &Lab) -> bool {
    reaches(lab, "10.64.0.9", 4, 100)
}

fn is_attached(status: &Status) -> bool {
    !status.attached.is_empty() && status.attached.iter().all(|(_, wrong)| wrong.is_none())
}

/// Has the router's kernel know its neighbours, and forward nothing.
fn settle(lab: &Lab) {
    for (by, end, to, address) in [("r0", "c", "c0", "10.1.0.2"), ("r1", "s", "s0", "10.2.0.2")] {
        let mac = lab.address(end, to).map(|byte| format!("{byte:02x}")).join(":");
        lab.ip("r", &format!("neigh replace {address} lladdr {mac} dev {by} nud permanent"));
    }
    lab.forward_by_plane_alone();
}

#[test]
fn an_interface_that_comes_back_and_a_plane_that_was_detached_forward_again() {
    let Some(lab) = Lab::new("watch") else { return };
    settle(&lab);
    let router = Router::start(&lab, &["r0", "r1"]);
    router.wait("it is attached", is_attached);
    assert!(crosses(&lab), "before");

    // Another process cannot have the plane of this name.
    let error = lab.inside("r", || {
        let interfaces = vec![Attachment::of("r0")];
        let options = Options::new(lab.name(), interfaces, Mode::Native);
        Xdp::open(options).unwrap_err().to_string()
    });
    assert!(error.contains("another process has the plane of this name"), "{error}");

    // Another MAC address.
    lab.ip("r", "link set r0 address 02:00:00:00:77:01");
    lab.ip("c", "neigh replace 10.1.0.1 lladdr 02:00:00:00:77:01 dev c0 nud permanent");
    assert!(crosses(&lab), "with another MAC address");

    // Somebody detaches the plane. When it is attached again, its counters begin again.
    assert!(router.count("forwarded")[0] > 0);
    lab.inside("r", || lab.detach());
    router.wait("it is attached again", |status| {
        is_attached(status) && lab.attached() == 2 && router.count("forwarded")[0] == 0
    });
    assert!(crosses(&lab), "after it was detached");

    // The interface goes, which is told, and comes back under its name with another index.
    lab.ip("r", "link del r0");
    router.wait("it is told", |status| {
        let of = |name: &str| status.attached.iter().find(|row| row.0 == name).and_then(|row| row.1.clone());
        of("r0") == Some("there is none of this name".into()) && of("r1").is_none()
    });
    let (c, r) = (lab.end("c"), lab.end("r"));
    common::lab::run(&format!("ip link add r0 netns {r} type veth peer name c0 netns {c}"));
    // Nobody computes a checksum that the client leaves out.
    common::lab::run(&format!("ip netns exec {c} ethtool -K c0 tx off txvlan off"));
    lab.ip("r", "addr add 10.1.0.1/24 dev r0");
    lab.ip("c", "addr add 10.1.0.2/24 dev c0");
    lab.ip("r", "link set r0 up");
    lab.ip("c", "link set c0 up");
    lab.ip("c", "route add default via 10.1.0.1");
    router.wait("it is attached to the new one", is_attached);
    assert!(crosses(&lab), "by the new interface");
    drop(router);
    lab.inside("r", || lab.detach());
}

#[test]
fn packets_to_an_interface_that_cannot_send_go_to_the_kernel() {
    let Some(lab) = Lab::new("egress") else { return };
    // The server is behind a veth whose peer runs no program.
    std::fs::remove_file("/sys/fs/bpf/pass-s0").unwrap();
    let router = Router::start(&lab, &["r0", "r1", "r2"]);
    router.wait("it is attached", is_attached);
    assert!(crosses(&lab), "the kernel forwards it");
    assert!(router.count("unresolved")[0] > 0, "it is not counted as forwarded");
    let out = |it: &&Finding| it.note.is_some();
    let options = Options::new(lab.name(), Vec::new(), Mode::Native);
    let findings = lab.inside("r", || fibula_router::plane::xdp::check(&options));
    let notes: Vec<&str> = findings.iter().filter(out).map(|it| it.what.as_str()).collect();
    assert_eq!(notes, ["interface r1, as a way out"]);
    drop(router);
    lab.inside("r", || lab.detach());
}

#[test]
fn the_ports_of_a_bridge_are_ways_in_and_out() {
    let Some(lab) = Lab::new("bridge") else { return };
    for (bridge, port, address) in [("b0", "r0", "10.1.0.1"), ("b2", "r2", "10.3.0.1")] {
        lab.ip("r", &format!("link add {bridge} type bridge"));
        lab.ip("r", &format!("addr del {address}/24 dev {port}"));
        lab.ip("r", &format!("link set {port} master {bridge}"));
        lab.ip("r", &format!("addr add {address}/24 dev {bridge}"));
        lab.ip("r", &format!("link set {bridge} up"));
        lab.forward_none(bridge);
    }
    lab.ip("r", "route replace 10.64.0.0/10 via 10.3.0.2");
    let router = Router::start(&lab, &["b0", "r1"]);
    router.wait("it is attached", is_attached);
    assert_eq!(lab.attached(), 2, "to the port of b0, and to r1");
    // The router's kernel knows the server and its port once it has heard of it.
    lab.inside("s", || UdpSocket::bind("10.3.0.2:0").unwrap().send_to(b"here", "10.3.0.1:9")).unwrap();
    assert!(crosses(&lab), "from one bridge to the other");
    // The port goes, and nothing says that the bridge forwards.
    lab.ip("r", "link set r0 nomaster");
    router.wait("it is told", |status| {
        status.attached[0] == ("b0".into(), Some("b0 has no active port".into()))
    });
    assert!(lab.settles_at(1));
    lab.ip("r", "link set r0 master b0");
    router.wait("it is attached again", is_attached);
    assert!(crosses(&lab), "by the port that came back");
    drop(router);
    lab.inside("r", || lab.detach());
}

#[test]
fn what_the_kernel_is_told_not_to_forward_the_plane_does_not() {
    let Some(lab) = Lab::new("off") else { return };
    let router = Router::start(&lab, &["r0", "r1"]);
    for (address, settings) in [
        ("10.64.0.9", &["net.ipv4.conf.r0.forwarding", "net.ipv4.ip_forward"][..]),
        ("fd02::2", &["net.ipv6.conf.all.forwarding"]),
    ] {
        for setting in settings {
            assert!(reaches(&lab, address, 4, 100), "{setting} is 1");
            lab.set("r", &format!("{setting}=0"));
            let before = router.count("forwarding_off")[0];
            router.wait("it is told", |_| {
                reaches(&lab, address, 4, 1);
                router.count("forwarding_off")[0] > before
            });
            assert!(!reaches(&lab, address, 4, 5), "{setting} is 0");
            lab.set("r", &format!("{setting}=1"));
        }
        assert!(reaches(&lab, address, 4, 100), "they are 1 again");
    }
    drop(router);
    lab.inside("r", || lab.detach());
}

#[test]
fn packets_of_9000_bytes_cross_in_native_mode() {
    let Some(lab) = Lab::new("jumbo") else { return };
    for (end, interface) in [("c", "c0"), ("r", "r0"), ("r", "r1"), ("s", "s0")] {
        lab.ip(end, &format!("link set {interface} mtu 9000"));
    }
    settle(&lab);
    let router = Router::start(&lab, &["r0", "r1"]);
    router.wait("it is attached", is_attached);
    assert!(reaches(&lab, "10.64.0.9", 8972, 100), "forwarded by the plane alone");
    let [packets, bytes] = router.count("forwarded");
    assert!(bytes > 9000 * packets / 2, "{bytes} bytes in {packets} packets");
    drop(router);
    lab.inside("r", || lab.detach());
}

#[test]
fn what_keeps_a_router_from_starting_is_found_before() {
    let Some(lab) = Lab::new("check") else { return };
    let wrong = |end: &str, interfaces: &[&str], mode| {
        let interfaces = interfaces.iter().copied().map(Attachment::of).collect();
        let options = Options::new(lab.name(), interfaces, mode);
        let findings = lab.inside(end, || fibula_router::plane::xdp::check(&options));
        let (wrong, notes): (Vec<_>, Vec<_>) = findings
            .into_iter()
            .filter(|it| it.wrong.is_some() || it.note.is_some())
            .partition(|it| it.wrong.is_some());
        let wrong: Vec<String> =
            wrong.into_iter().map(|it| format!("{}: {}", it.what, it.wrong.unwrap())).collect();
        let rules = notes.into_iter().find(|it| it.what == "rules (ip rule)").and_then(|it| it.note);
        (wrong.join(", "), rules)
    };
    assert_eq!(wrong("r", &["r0", "r1"], Mode::Native), (String::new(), None));
    let router = Router::start(&lab, &["r0", "r1"]);
    let plane = format!("plane {}: ", lab.name());
    let has_it =
        format!("{plane}another process has the plane of this name: stop it, or choose another name");
    assert_eq!(wrong("r", &["r0"], Mode::Native).0, has_it);
    drop(router);
    assert_eq!(wrong("r", &["r0"], Mode::Native).0, "", "it takes over");
    let elsewhere = "its program runs in another network namespace: choose another `name`, or detach it";
    assert_eq!(wrong("s", &[], Mode::Native).0, format!("{plane}{elsewhere}"));
    lab.inside("r", || lab.detach());
    let (text, _) = wrong("s", &["s0"], Mode::Native);
    assert!(text.starts_with("interface s0: another XDP program (id "), "{text}");
    lab.ip("r", "rule add from 10.1.0.66 lookup 100 priority 77");
    lab.ip("r", "-6 rule add iif r0 priority 78 blackhole");
    let note = "77, 78: the kernel forwards packets that they may concern";
    assert_eq!(wrong("r", &["r0"], Mode::Native), (String::new(), Some(note.into())));
}

#[test]
fn nothing_is_forwarded_against_a_rule() {
    let Some(lab) = Lab::new("rules") else { return };
    settle(&lab);
    let router = Router::start(&lab, &["r0", "r1"]);
    assert!(crosses(&lab), "no rule");
    for rule in ["from 10.1.0.66 lookup 100", "iif r0 to 10.64.0.9 unreachable", "fwmark 7 lookup 100"] {
        lab.ip("r", &format!("rule add {rule} priority 77"));
        router.wait(rule, |status| status.rules.len() == 1);
        assert!(!reaches(&lab, "10.64.0.9", 4, 5), "{rule}: the kernel has the packets, and drops them");
        lab.ip("r", &format!("rule del {rule} priority 77"));
        router.wait("the rule is gone", |status| status.rules.is_empty());
        assert!(crosses(&lab), "{rule}: it is gone");
    }
    drop(router);
    lab.inside("r", || lab.detach());
}

#[test]
fn a_router_that_waits_for_zebra_follows_the_neighbours_of_the_one_before() {
    let Some(lab) = Lab::new("wait") else { return };
    settle(&lab);
    drop(Router::start(&lab, &["r0", "r1"]));
    assert!(crosses(&lab), "what was left forwards");
    let waiting = Router::begin(&lab, &["r0", "r1"], vec![Feed::Fpm, Feed::Kernel]);
    let is_known =
        |status: &Status| status.feeds.iter().any(|feed| feed.feed == Feed::Kernel && feed.complete);
    waiting.wait("the kernel's links and neighbours are known", is_known);
    assert!(crosses(&lab), "nothing has changed");
    // From here on the kernel forwards too.
    for interface in ["r0", "r1"] {
        lab.forward_again(interface);
    }
    lab.ip("s", "link set s0 address 02:00:00:00:09:09");
    assert!(!reaches(&lab, "10.64.0.9", 4, 5), "frames go to the MAC address that is no more");
    lab.ip("r", "neigh replace 10.2.0.2 lladdr 02:00:00:00:09:09 dev r1 nud permanent");
    // A busy machine takes longer than the two seconds of `crosses`.
    assert!(reaches(&lab, "10.64.0.9", 4, 1000), "the kernel forwards what the plane left by it cannot");
    assert!(!waiting.status().forwarding, "zebra is away");
    lab.inside("r", || lab.detach());
}
