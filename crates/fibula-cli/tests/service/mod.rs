//! `fibula serve` as a process, for the tests of it.
#![allow(dead_code, unreachable_pub, reason = "a module of several tests")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::{Duration, Instant};

/// A service, which is killed when this is dropped.
pub struct Service {
    pub child: Child,
    pub address: String,
    pub told: BufReader<ChildStderr>,
}

impl Service {
    pub fn start(arguments: &[&str]) -> Self {
        Self::start_by("exec \"$0\" \"$@\"", arguments)
    }

    /// Starts it by a line of the shell, which has the program and its arguments.
    pub fn start_by(line: &str, arguments: &[&str]) -> Self {
        let mut child = Command::new("sh")
            .args(["-c", line, env!("CARGO_BIN_EXE_fibula")])
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

    /// Returns the next line that it tells.
    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.told.read_line(&mut line).unwrap();
        line
    }

    pub fn get(&self, target: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        write!(stream, "GET {target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer.split_once("\r\n\r\n").unwrap().1.to_owned()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Asks until the answer has this in it: a feed is followed beside the questions.
pub fn until(service: &Service, target: &str, expected: &str) {
    let end = Instant::now() + Duration::from_mins(1);
    loop {
        let answer = service.get(target);
        if answer.contains(expected) {
            return;
        }
        assert!(Instant::now() < end, "{expected} is not in {answer}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
