//! The service as a process: it says where it listens, reads again on SIGHUP, and ends by SIGTERM.
#![cfg(all(feature = "serve", target_os = "linux"))]

use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStderr, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A service, which is killed when this is dropped.
struct Service {
    child: Child,
    address: String,
    told: BufReader<ChildStderr>,
}

impl Service {
    fn start(arguments: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_fibula"))
            .args(["serve", "--listen", "127.0.0.1:0", "--poll", "1h"])
            .args(arguments)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut told = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        told.read_line(&mut line).unwrap();
        let address = line.trim_end().strip_prefix("fibula: listening at http://");
        let address = address.unwrap_or_else(|| panic!("{line}")).to_owned();
        Self { child, address, told }
    }

    fn get(&self, target: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        write!(stream, "GET {target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer.split_once("\r\n\r\n").unwrap().1.to_owned()
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn it_reads_again_on_sighup_and_ends_by_sigterm() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rib.txt");
    fs::write(&path, "10.0.0.0/8 AS1\n").unwrap();
    let mut service = Service::start(&["-t", path.to_str().unwrap()]);
    let row = |value: &str, generation: u64| {
        format!(
            "[{{\"address\":\"10.0.0.1\",\"prefix\":\"10.0.0.0/8\",\"next_hop\":\"{value}\",\
             \"table\":\"rib\",\"generation\":{generation}}}]\n"
        )
    };
    assert_eq!(service.get("/v1/lookup?addr=10.0.0.1"), row("1", 1));
    let mut told = || {
        let mut line = String::new();
        service.told.read_line(&mut line).unwrap();
        line
    };
    let hang_up = |service: &Child| kill_process(Pid::from_child(service), Signal::HUP).unwrap();
    fs::write(&path, "10.0.0.0/8 AS2\n").unwrap();
    hang_up(&service.child);
    assert_eq!(told(), format!("fibula: {}: read again, generation 2\n", path.display()));
    fs::write(&path, "10.0.0.0/8 AS3\n10.0.0.0/33 AS3\n").unwrap();
    hang_up(&service.child);
    let failure = told();
    assert!(failure.contains("line 2") && failure.ends_with("; generation 2 still answers\n"), "{failure}");
    assert_eq!(service.get("/v1/lookup?addr=10.0.0.1"), row("2", 2));
    service.signal(Signal::TERM);
    let end = Instant::now() + Duration::from_secs(10);
    let status = loop {
        if let Some(status) = service.child.try_wait().unwrap() {
            break status;
        }
        assert!(Instant::now() < end, "it does not end");
        std::thread::sleep(Duration::from_millis(10));
    };
    assert_eq!(status.code(), Some(0));
}

#[test]
fn what_cannot_be_served_is_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rib.txt");
    fs::write(&path, "10.0.0.0/8 AS1\n").unwrap();
    let path = path.to_str().unwrap();
    let listening = Service::start(&["-t", path]);
    let absent = folder.path().join("absent");
    for (arguments, what) in [
        (&["-t", absent.to_str().unwrap()][..], "absent: cannot be read: No such file"),
        (&["-t", "a b=x"], "expected NAME=FILE, with a name of letters"),
        (&["-t", path, "--tls-cert", path], "--tls-key <FILE>"),
        (&["-t", path, "--poll", "0s"], "expected more than no time"),
        (&["-t", path, "--listen", &listening.address], "Address already in use"),
        (&["-t", path, "--token-file", path], "a token of 14 characters: expected at least 16"),
    ] {
        let fibula = Command::new(env!("CARGO_BIN_EXE_fibula")).arg("serve").args(arguments).output();
        let Output { status, stderr, .. } = fibula.unwrap();
        let told = String::from_utf8(stderr).unwrap();
        assert_eq!((status.code(), told.lines().count()), (Some(2), 1), "{told}");
        assert!(told.contains(what), "{what} in {told}");
    }
}
