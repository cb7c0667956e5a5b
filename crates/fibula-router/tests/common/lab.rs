//! [`Lab`]: a client, a router and a server in network namespaces of their own.
//!
//! ```text
//!     client               router               server
//!   ┌──────────┐       ┌─────────────┐       ┌──────────┐
//!   │ 10.1.0.2 c0 ── r0 10.1.0.1     │       │          │
//!   │ fd01::2  │       │     10.2.0.1 r1 ── s0 10.2.0.2 │
//!   └──────────┘       │     fd02::1 │       │ fd02::2  │
//!                      │     10.3.0.1 r2 ── s1 10.3.0.2 │
//!                      └─────────────┘       └──────────┘
//! ```
//! The server takes packets to all of 10.64.0.0/10 as its own. A veth hands redirected packets over
//! only if its peer runs a program, so c0, s0 and s1 run one that passes everything. They compute
//! checksums themselves, because nobody else would.

use fibula_router::plane::Adjacency;
use fibula_router::plane::xdp::{Attachment, Mode, Options, Xdp};
use nix::sched::{CloneFlags, setns, unshare};
use nix::sys::socket::{AddressFamily, SockFlag, SockProtocol, SockType, bind, socket};
use std::fs::File;
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::Command;

/// The object with the program that passes everything.
static OBJECT: &[u8] = aya::include_bytes_aligned!("../../bpf/study.o");

/// The namespaces. They are removed when this is dropped.
#[derive(Debug)]
pub(crate) struct Lab {
    name: String,
}

/// Runs a command; panics with what it says if it fails.
pub(crate) fn run(command: &str) -> String {
    let mut words = command.split(' ');
    let output = Command::new(words.next().unwrap()).args(words).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command}: {error}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Returns whether the commands are there; says so if one is not.
fn has_commands() -> bool {
    let missing =
        ["ip", "ethtool", "mount"].into_iter().find(|name| Command::new(name).arg("-V").output().is_err());
    if let Some(missing) = missing {
        eprintln!("skipped: there is no {missing}");
    }
    missing.is_none()
}

impl Lab {
    /// Makes the namespaces, in a mount namespace of this thread alone. `None` where that is not
    /// possible, which is said.
    pub(crate) fn new(name: &str) -> Option<Self> {
        if !super::can_load_programs() || !has_commands() {
            return None;
        }
        unshare(CloneFlags::CLONE_NEWNS).unwrap();
        run("mount --make-rprivate /");
        run("mount -t bpf bpf /sys/fs/bpf");
        let lab = Self { name: format!("fibula{}{name}", std::process::id()) };
        for end in ["c", "r", "s"] {
            run(&format!("ip netns add {}", lab.end(end)));
            lab.ip(end, "link set lo up");
        }
        let [c, r, s] = ["c", "r", "s"].map(|end| lab.end(end));
        for (near, far, of) in [("r0", "c0", &c), ("r1", "s0", &s), ("r2", "s1", &s)] {
            run(&format!("ip link add {near} netns {r} type veth peer name {far} netns {of}"));
        }
        let addresses = [
            ("c", "c0", "1", "2"),
            ("r", "r0", "1", "1"),
            ("r", "r1", "2", "1"),
            ("s", "s0", "2", "2"),
            ("r", "r2", "3", "1"),
            ("s", "s1", "3", "2"),
        ];
        for (end, interface, net, host) in addresses {
            lab.ip(end, &format!("addr add 10.{net}.0.{host}/24 dev {interface}"));
            lab.ip(end, &format!("addr add fd0{net}::{host}/64 dev {interface} nodad"));
            lab.ip(end, &format!("link set {interface} up"));
        }
        lab.ip("c", "route add default via 10.1.0.1");
        lab.ip("c", "route add default via fd01::1");
        lab.ip("s", "route add default via 10.2.0.1");
        lab.ip("s", "route add default via fd02::1");
        lab.ip("s", "route add local 10.64.0.0/10 dev lo");
        lab.ip("r", "route add 10.64.0.0/10 via 10.2.0.2");
        for (end, interface) in [("c", "c0"), ("s", "s0"), ("s", "s1")] {
            run(&format!("ip netns exec {} ethtool -K {interface} tx off txvlan off", lab.end(end)));
            lab.inside(end, || pass(interface));
        }
        for setting in ["net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1"] {
            lab.set("r", setting);
        }
        lab.set("s", "net.ipv4.conf.all.rp_filter=0");
        lab.set("s", "net.ipv4.conf.s1.rp_filter=0");
        Some(lab)
    }

    /// Returns a lab that another process has made.
    pub(crate) fn made(name: String) -> Self {
        Self { name }
    }

    /// Gives the router's r2 another server in place of the first, in a namespace of its own: t.
    /// It takes packets to 10.64.0.0/10 as its own, too.
    pub(crate) fn add_server(&self) {
        run(&format!("ip netns add {}", self.end("t")));
        self.ip("r", "link del r2");
        let [r, t] = ["r", "t"].map(|end| self.end(end));
        run(&format!("ip link add r2 netns {r} type veth peer name t0 netns {t}"));
        for (end, interface, host) in [("r", "r2", 1), ("t", "t0", 2)] {
            self.ip(end, &format!("addr add 10.3.0.{host}/24 dev {interface}"));
            self.ip(end, &format!("link set {interface} up"));
        }
        self.ip("t", "link set lo up");
        self.ip("t", "route add default via 10.3.0.1");
        self.ip("t", "route add local 10.64.0.0/10 dev lo");
        run(&format!("ip netns exec {t} ethtool -K t0 tx off txvlan off"));
        self.inside("t", || pass("t0"));
    }

    /// Returns the name of the lab, which is the plane's too.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the name of the namespace of an end: c, r or s.
    pub(crate) fn end(&self, end: &str) -> String {
        format!("{}{end}", self.name)
    }

    /// Runs `ip` in a namespace.
    pub(crate) fn ip(&self, end: &str, arguments: &str) -> String {
        run(&format!("ip -n {} {arguments}", self.end(end)))
    }

    /// Has the server take packets to all addresses as its own, not only those to 10.64.0.0/10.
    pub(crate) fn take_all(&self) {
        for (family, clients, router) in [("-4", "10.1.0.0/24", "10.2.0.1"), ("-6", "fd01::/64", "fd02::1")] {
            let route = |what: &str| self.ip("s", &format!("{family} route {what}"));
            // The way back says that packets of the client may come from the router.
            route(&format!("add {clients} via {router}"));
            route("del default");
            // Not in the local table, which would go before the networks of the links.
            route("add local default dev lo table main");
        }
    }

    /// Has the router's kernel forward nothing, so that what arrives was forwarded by the plane. It
    /// does so by netfilter, which the plane passes by.
    pub(crate) fn forward_by_plane_alone(&self) {
        for interface in ["r0", "r1", "r2"] {
            self.forward_none(interface);
        }
    }

    /// Has the router's kernel forward nothing that comes in by an interface.
    pub(crate) fn forward_none(&self, interface: &str) {
        self.filter(&format!("-A FORWARD -i {interface} -j DROP"));
    }

    /// Has the router's kernel forward again what comes in by an interface.
    pub(crate) fn forward_again(&self, interface: &str) {
        self.filter(&format!("-D FORWARD -i {interface} -j DROP"));
    }

    fn filter(&self, arguments: &str) {
        for command in ["iptables", "ip6tables"] {
            run(&format!("ip netns exec {} {command} -w {arguments}", self.end("r")));
        }
    }

    /// Changes a setting of the kernel in a namespace.
    pub(crate) fn set(&self, end: &str, setting: &str) {
        let (name, value) = setting.split_once('=').unwrap();
        let path = format!("/proc/sys/{}", name.replace('.', "/"));
        self.inside(end, || std::fs::write(&path, value).unwrap());
    }

    /// Runs a closure in a namespace.
    pub(crate) fn inside<T: Send>(&self, end: &str, work: impl FnOnce() -> T + Send) -> T {
        let file = File::open(format!("/var/run/netns/{}", self.end(end))).unwrap();
        let inside = || {
            setns(&file, CloneFlags::CLONE_NEWNET).unwrap();
            work()
        };
        std::thread::scope(|scope| {
            scope.spawn(inside).join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    /// Returns the MAC address of an interface.
    pub(crate) fn address(&self, end: &str, interface: &str) -> [u8; 6] {
        let link = self.ip(end, &format!("-o link show {interface}"));
        let text = link.split("link/ether ").nth(1).unwrap().split(' ').next().unwrap();
        let bytes: Vec<u8> = text.split(':').map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect();
        bytes.try_into().unwrap()
    }

    /// Returns the kernel's index of an interface.
    pub(crate) fn index(&self, end: &str, interface: &str) -> u32 {
        self.ip(end, &format!("-o link show {interface}")).split(':').next().unwrap().parse().unwrap()
    }

    /// Returns the adjacency of the interface of another end over the router's.
    pub(crate) fn adjacency(&self, by: &str, end: &str, to: &str, vlan: Option<u16>) -> Adjacency {
        Adjacency::Resolved {
            interface: self.index("r", by),
            routed: self.index("r", by),
            source: self.address("r", by),
            destination: self.address(end, to),
            vlan,
            mtu: 1500,
        }
    }

    /// Opens the plane on the router's interfaces.
    pub(crate) fn open(&self, mode: Mode) -> Xdp {
        let interfaces = ["r0", "r1", "r2"].map(Attachment::of);
        Xdp::open(Options::new(self.name.clone(), interfaces.into(), mode)).unwrap()
    }

    /// Detaches the plane.
    pub(crate) fn detach(&self) {
        Xdp::detach(&self.name).unwrap();
    }

    /// Waits until `count` XDP programs are attached to the router's interfaces. Returns whether
    /// that came to be. The kernel detaches a program a while after its link is gone.
    pub(crate) fn settles_at(&self, count: usize) -> bool {
        let is_so = || {
            std::thread::sleep(std::time::Duration::from_millis(20));
            self.attached() == count
        };
        (0..100).any(|_| is_so())
    }

    /// Returns the XDP programs that are attached to the router's interfaces.
    pub(crate) fn attached(&self) -> usize {
        let links = self.ip("r", "-o link show");
        links.lines().filter(|link| link.contains("prog/xdp")).count()
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        for end in ["c", "r", "s", "t"] {
            // What is not there need not be removed.
            let _ = Command::new("ip").args(["netns", "del", &self.end(end)]).output();
        }
    }
}

/// Attaches the program that passes everything, for as long as the interface lives.
pub(crate) fn pass(interface: &str) {
    let mut ebpf = aya::EbpfLoader::new().load(OBJECT).unwrap();
    let program: &mut aya::programs::Xdp = ebpf.program_mut("pass").unwrap().try_into().unwrap();
    program.load().unwrap();
    let id = program.attach(interface, aya::programs::XdpMode::Driver).unwrap();
    // A link ends with its last descriptor, unless it is pinned.
    let link: aya::programs::links::FdLink = program.take_link(id).unwrap().try_into().unwrap();
    link.pin(format!("/sys/fs/bpf/pass-{interface}")).unwrap();
}

/// A socket that sends and sees the frames of an interface.
pub(crate) fn open(interface: &str) -> OwnedFd {
    let all = SockProtocol::EthAll;
    let socket = socket(AddressFamily::Packet, SockType::Raw, SockFlag::SOCK_NONBLOCK, all).unwrap();
    let link = nix::ifaddrs::getifaddrs().unwrap().find_map(|address| {
        let link = *address.address?.as_link_addr()?;
        (address.interface_name == interface).then_some(link)
    });
    bind(socket.as_raw_fd(), &link.unwrap()).unwrap();
    socket
}
