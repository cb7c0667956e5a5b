//! A namespace with interfaces, and what its kernel does with an address.

use serde_json::Value;
use std::io::Write;
use std::net::IpAddr;
use std::process::{Command, Output, Stdio};

/// The interfaces: `d0` has 192.0.0.1/24 and `2001:db8:0::1/64`, and so on.
pub(crate) const DEVICES: [&str; 3] = ["d0", "d1", "d2"];

/// Writes what happens to a packet: `gateway device`, or the type of a route that does not
/// forward. A `throw` is no route. Of a device the name may be left out.
pub(crate) fn fate(kind: Option<&str>, via: Option<&str>, dev: Option<&str>) -> Option<String> {
    match kind {
        Some("throw") => None,
        Some(kind) => Some(kind.to_owned()),
        None => Some(format!("{} {}", via.unwrap_or("-"), dev.unwrap_or("-"))),
    }
}

/// A namespace. It is removed when this is dropped.
#[derive(Debug)]
pub(crate) struct Space {
    name: String,
}

impl Space {
    /// Returns `None` where there is no right to make a namespace, which is said.
    pub(crate) fn new(name: &str) -> Option<Self> {
        let name = format!("fib-{name}-{}", std::process::id());
        if !Command::new("ip").args(["netns", "add", &name]).output().is_ok_and(|made| made.status.success())
        {
            println!("skipped: no right to make a network namespace");
            return None;
        }
        let space = Self { name };
        let mut lines = vec!["link set lo up".to_owned()];
        for (at, device) in DEVICES.iter().enumerate() {
            lines.push(format!("link add {device} type veth peer name e{at}"));
            lines.push(format!("link set e{at} up"));
            lines.push(format!("link set {device} up"));
            lines.push(format!("addr add 192.0.{at}.1/24 dev {device}"));
            lines.push(format!("addr add 2001:db8:{at}::1/64 dev {device} nodad"));
        }
        let output = space.batch(&[], &lines);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Some(space)
    }

    /// Returns a command that runs in the namespace.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name, program]);
        command
    }

    /// Runs lines of `ip`, all of them though some may fail.
    pub(crate) fn batch(&self, options: &[&str], lines: &[String]) -> Output {
        let mut command = Command::new("ip");
        command.args(["-n", &self.name, "-force"]).args(options).args(["-batch", "-"]);
        let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = pipes.spawn().unwrap();
        let (mut input, text) = (process.stdin.take().unwrap(), lines.join("\n") + "\n");
        std::thread::scope(|threads| {
            threads.spawn(move || input.write_all(text.as_bytes()).unwrap());
            process.wait_with_output().unwrap()
        })
    }

    /// Asks the kernel about addresses. `None` is no route.
    pub(crate) fn fates(&self, addresses: &[IpAddr]) -> Vec<Option<String>> {
        let lines: Vec<String> = addresses.iter().map(|address| format!("route get {address}")).collect();
        let Output { stdout, stderr, .. } = self.batch(&["-j"], &lines);
        // Those that fail are told with their line.
        let mut failed = vec![None; addresses.len()];
        let mut why = "";
        for line in std::str::from_utf8(&stderr).unwrap().lines() {
            match line.strip_prefix("Command failed -:") {
                Some(number) => failed[number.parse::<usize>().unwrap() - 1] = Some(why),
                None => why = line,
            }
        }
        let mut found = std::str::from_utf8(&stdout).unwrap().lines().filter(|line| !line.trim().is_empty());
        let fate_of = |why: Option<&str>| match why {
            None => {
                let answer: Value = serde_json::from_str(found.next().unwrap()).unwrap();
                let route = &answer[0];
                let via = route["gateway"].as_str().or(route["via"]["host"].as_str());
                fate(route["type"].as_str().filter(|kind| *kind != "unicast"), via, route["dev"].as_str())
            }
            Some("RTNETLINK answers: Invalid argument") => Some("blackhole".to_owned()),
            Some("RTNETLINK answers: No route to host") => Some("unreachable".to_owned()),
            Some("RTNETLINK answers: Permission denied") => Some("prohibit".to_owned()),
            Some("RTNETLINK answers: Network is unreachable") => None,
            Some(why) => panic!("{why}"),
        };
        failed.into_iter().map(fate_of).collect()
    }
}

impl Drop for Space {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["netns", "del", &self.name]).output();
    }
}
