//! A namespace, FRR's daemons in it, and questions to a control that runs.
#![allow(dead_code, reason = "each test takes what it needs")]

use fibula_router::control::{Control, Settings, run};
use fibula_router::feed::{Feed, Queue, kernel, zebra};
use fibula_router::plane::Plane;
use fibula_router::plane::memory::Memory;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::fs::{self, File};
use std::net::Ipv4Addr;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Where Debian has the daemons.
const FRR: &str = "/usr/lib/frr";

/// The queue of a control over a plane.
pub(crate) type Shared<P> = Arc<Queue<Control<P>>>;

/// Runs a command, which must succeed.
pub(crate) fn command(line: &str) {
    let words: Vec<&str> = line.split_whitespace().collect();
    let output = Command::new(words[0]).args(&words[1..]).output().unwrap();
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
}

/// A namespace that this thread is in. It is removed when this is dropped.
#[derive(Debug)]
pub(crate) struct Space {
    name: String,
}

impl Space {
    /// Returns `None` where there is no right to make a namespace, which is said.
    pub(crate) fn new(name: &str) -> Option<Self> {
        if !Command::new("ip").args(["netns", "add", name]).output().is_ok_and(|made| made.status.success()) {
            eprintln!("skipped: no right to make a network namespace");
            return None;
        }
        let space = Self { name: name.into() };
        let file = File::open(Path::new("/run/netns").join(name)).unwrap();
        move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network)).unwrap();
        for line in [
            "ip link set lo up",
            "ip link add r0 type veth peer name p0",
            "ip addr add 10.99.255.254/16 dev r0",
            "ip addr add fd99::ffff/64 dev r0 nodad",
            "ip link set r0 up",
            "ip link set p0 up",
        ] {
            command(line);
        }
        Some(space)
    }
}

impl Drop for Space {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["netns", "del", &self.name]).output();
    }
}

/// Daemons, which end when this is dropped.
#[derive(Debug)]
pub(crate) struct Frr {
    folder: PathBuf,
    daemons: Vec<(&'static str, Child)>,
}

impl Frr {
    /// Returns `None` where there is no FRR, which is said. `name` is that of a folder for sockets.
    pub(crate) fn new(name: &str) -> Option<Self> {
        if !Path::new(FRR).join("zebra").exists() {
            eprintln!("skipped: no {FRR}/zebra (`cargo xtask setup` installs it)");
            return None;
        }
        let folder = std::env::temp_dir().join(name);
        fs::create_dir(&folder).unwrap();
        Some(Self { folder, daemons: Vec::new() })
    }

    /// Returns the folder of the sockets.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Starts zebra, which tells its routes by FPM.
    pub(crate) fn start_zebra(&mut self, configuration: &str) {
        // zebra reads the kernel's messages from a socket of this many bytes. It ends for good
        // when one is lost, as with the default's 4 MiB when thousands of routes come at once.
        const ROOM: &str = "268435456";
        self.start("zebra", configuration, &["-M", "dplane_fpm_nl", "-s", ROOM]);
    }

    /// Starts a daemon in this thread's namespace, with its configuration.
    pub(crate) fn start(&mut self, daemon: &'static str, configuration: &str, more: &[&str]) {
        let at = |end: &str| self.folder.join(format!("{daemon}.{end}"));
        fs::write(at("conf"), configuration).unwrap();
        command(&format!("chown -R frr:frr {}", self.folder.display()));
        let child = Command::new(Path::new(FRR).join(daemon))
            .arg("-f")
            .arg(at("conf"))
            .arg("-i")
            .arg(at("pid"))
            .arg("-z")
            .arg(self.folder.join("zserv.api"))
            .arg("--vty_socket")
            .arg(&self.folder)
            .args(["-A", "127.0.0.1", "-P", "0"])
            .args(more)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        self.daemons.push((daemon, child));
        wait(daemon, || at("vty").exists());
    }

    /// Kills a daemon, as a crash would.
    pub(crate) fn kill(&mut self, daemon: &str) {
        let at = self.daemons.iter().position(|(name, _)| *name == daemon).unwrap();
        let (name, mut child) = self.daemons.remove(at);
        child.kill().unwrap();
        child.wait().unwrap();
        let _ = fs::remove_file(self.folder.join(format!("{name}.vty")));
    }

    /// Changes the configuration by one line.
    pub(crate) fn configure(&self, line: &str) {
        let folder = self.folder.display();
        let output = Command::new("vtysh")
            .args(["--vty_socket", &folder.to_string(), "-c", "configure terminal", "-c", line])
            .output()
            .unwrap();
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stdout));
    }
}

impl Drop for Frr {
    fn drop(&mut self) {
        for (_, child) in &mut self.daemons {
            let _ = child.kill();
            let _ = child.wait();
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Starts a router over a plane, in the namespace of this thread. What FPM does not tell again is
/// removed after `quiet`.
pub(crate) fn router<P: Plane + Send + 'static>(
    plane: P,
    quiet: Duration,
    queue: &Shared<P>,
) -> (zebra::Server, JoinHandle<Control<P>>) {
    let any = zebra::Place::Tcp((Ipv4Addr::LOCALHOST, 0).into());
    let server = zebra::Server::listen(&any, zebra::Options::default(), Arc::clone(queue)).unwrap();
    let filter = kernel::Filter { routes: false, tables: Vec::new(), protocols: Vec::new() };
    kernel::follow(filter, kernel::ROOM, Arc::clone(queue)).unwrap();
    let mut control = Control::new(plane, Settings { quiet, ..Settings::default() });
    control.set_asker(kernel::asker().unwrap(), Instant::now());
    let queue = Arc::clone(queue);
    (server, thread::spawn(move || run(control, &queue)))
}

/// Follows the kernel's main table with this room for messages, in a thread that returns its
/// control, and waits for the first dump.
pub(crate) fn follow(room: usize) -> (Shared<Memory>, JoinHandle<Control<Memory>>) {
    let queue = Shared::default();
    let filter = kernel::Filter { routes: true, tables: vec![254], protocols: Vec::new() };
    kernel::follow(filter, room, Arc::clone(&queue)).unwrap();
    let settings = Settings { feeds: vec![Feed::Kernel], ..Settings::default() };
    let control = Control::new(Memory::default(), settings);
    let applier = {
        let queue = Arc::clone(&queue);
        thread::spawn(move || run(control, &queue))
    };
    wait("the dump is complete", || ask(&queue, |control| control.plane().has_started()));
    (queue, applier)
}

/// Returns a number of a process's status, as `VmRSS` (resident) or `VmHWM` (its peak), in kB.
pub(crate) fn memory(process: u32, name: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// The longest wait. Daemons that take ten seconds on a quiet machine take more than a minute
/// beside eight busy processes; one that hangs takes for ever.
const LONGEST: Duration = Duration::from_mins(5);

/// Waits until something is so.
pub(crate) fn wait(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + LONGEST;
    while !is_so() {
        assert!(Instant::now() < end, "{what}: not within {LONGEST:?}");
        thread::sleep(Duration::from_millis(50));
    }
}

/// Asks the control's thread.
pub(crate) fn ask<P, T: Send + 'static>(
    queue: &Shared<P>,
    question: impl FnOnce(&mut Control<P>) -> T + Send + 'static,
) -> T {
    let (sender, receiver) = mpsc::channel();
    queue.fill(|batch| batch.requests.push(Box::new(move |control| sender.send(question(control)).unwrap())));
    receiver.recv().unwrap()
}
