//! FRR's daemons in a namespace, and questions to a control that runs.

use fibula_router::control::Control;
use fibula_router::feed::Queue;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, mpsc};
use std::thread;
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

/// Waits until something is so.
pub(crate) fn wait(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_mins(1);
    while !is_so() {
        assert!(Instant::now() < end, "{what}: not within a minute");
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
