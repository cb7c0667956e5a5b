//! A plane that lost its place finds it again, and says so where it cannot: see the drawing in
//! `common/lab.rs`. Packets from the client to the server say what is so: the router's kernel
//! forwards none.
#![cfg(target_os = "linux")]

mod common;

use common::lab::Lab;
use fibula_router::control::{Control, Settings, Status, run};
use fibula_router::feed::{Feed, Queue, kernel};
use fibula_router::plane::Plane as _;
use fibula_router::plane::xdp::{Attachment, Mode, Options, Xdp};
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
        let queue = Arc::new(Queue::<Control<Xdp>>::default());
        let thread = lab.inside("r", || {
            let interfaces = interfaces.iter().map(|&name| Attachment {
                interface: name.into(),
                table: 254,
                tags: Vec::new(),
            });
            let options =
                Options { name: lab.name().into(), interfaces: interfaces.collect(), mode: Mode::Native };
            let settings = Settings { feeds: vec![Feed::Kernel], ..Settings::default() };
            let control = Control::new(Xdp::open(options).unwrap(), settings);
            let filter = kernel::Filter { routes: true, tables: Vec::new(), protocols: Vec::new() };
            kernel::follow(filter, kernel::ROOM, Arc::clone(&queue)).unwrap();
            let queue = Arc::clone(&queue);
            thread::spawn(move || drop(run(control, &queue)))
        });
        let router = Self { queue, thread: Some(thread) };
        router.wait("it forwards", |status| status.forwarding);
        router
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

    /// Returns the packets that were forwarded by the plane, and those that it left to the kernel
    /// because no neighbour was there to take them.
    fn counts(&self) -> [u64; 2] {
        let (sender, receiver) = mpsc::channel();
        self.queue.fill(|batch| {
            batch.requests.push(Box::new(move |control| {
                let counters = control.plane().counters().unwrap();
                let of = |name: &str| {
                    counters.iter().filter(|it| it.name == name).map(|it| it.packets).sum::<u64>()
                };
                sender.send(["forwarded", "unresolved"].map(of)).unwrap();
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

/// Sends packets to the server until one arrives, and returns whether one did.
fn crosses(lab: &Lab) -> bool {
    let server = lab.inside("s", || UdpSocket::bind("0.0.0.0:0").unwrap());
    server.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
    let client = lab.inside("c", || UdpSocket::bind("0.0.0.0:0").unwrap());
    let port = server.local_addr().unwrap().port();
    (0..100).any(|_| {
        // While an interface is away nothing can be sent.
        let _ = client.send_to(b"here", ("10.64.0.9", port));
        server.recv(&mut [0; 8]).is_ok()
    })
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
        let interfaces = vec![Attachment { interface: "r0".into(), table: 254, tags: Vec::new() }];
        let options = Options { name: lab.name().into(), interfaces, mode: Mode::Native };
        Xdp::open(options).unwrap_err().to_string()
    });
    assert!(error.contains("another process has the plane of this name"), "{error}");

    // Another MAC address.
    lab.ip("r", "link set r0 address 02:00:00:00:77:01");
    lab.ip("c", "neigh replace 10.1.0.1 lladdr 02:00:00:00:77:01 dev c0 nud permanent");
    assert!(crosses(&lab), "with another MAC address");

    // Somebody detaches the plane.
    lab.inside("r", || lab.detach());
    assert_eq!(lab.attached(), 0);
    router.wait("it is attached again", |status| is_attached(status) && lab.attached() == 2);
    assert!(crosses(&lab), "after it was detached");

    // The interface goes, which is told, and comes back under its name with another index.
    lab.ip("r", "link del r0");
    router.wait("it is told", |status| {
        let of = |name: &str| status.attached.iter().find(|row| row.0 == name).and_then(|row| row.1.clone());
        of("r0") == Some("there is no interface of this name".into()) && of("r1").is_none()
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
    // The server behind a veth whose peer runs no program, and behind a bridge.
    std::fs::remove_file("/sys/fs/bpf/pass-s0").unwrap();
    let router = Router::start(&lab, &["r0", "r1", "r2"]);
    router.wait("it is attached", is_attached);
    assert!(crosses(&lab), "the kernel forwards it");
    let [_, unresolved] = router.counts();
    assert!(unresolved > 0, "it is not counted as forwarded");
    lab.ip("r", "link add b0 type bridge");
    lab.ip("r", "link set r2 master b0");
    lab.ip("r", "addr add 10.9.0.1/24 dev b0");
    lab.ip("r", "link set b0 up");
    lab.ip("s", "addr add 10.9.0.2/24 dev s1");
    lab.ip("r", "route replace 10.64.0.0/10 via 10.9.0.2");
    assert!(crosses(&lab), "the kernel forwards it by the bridge");
    assert!(router.counts()[1] > unresolved, "it is not counted as forwarded");
    drop(router);
    lab.inside("r", || lab.detach());
}
