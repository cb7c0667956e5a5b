//! `fibula lookup --follow`: answers of a table that changes meanwhile.
//!
//! ```text
//!   files, a pipe, or routers that speak BMP --> fibula lookup --follow FEED... - <-- addresses
//!                                                        |
//!                                                        v
//!                                        what the tables say at that moment
//! ```
#![cfg(unix)]

mod feeds;

use feeds::{message, monitoring};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// A running lookup.
struct Asked {
    child: Child,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Asked {
    fn new(feeds: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_fibula"))
            .args(["lookup", "--keep-going"])
            .args(feeds.iter().flat_map(|feed| ["--follow", feed]))
            .arg("-")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let questions = child.stdin.take().unwrap();
        let answers = BufReader::new(child.stdout.take().unwrap());
        Self { child, questions, answers }
    }

    fn ask(&mut self, question: &str) -> String {
        writeln!(self.questions, "{question}").unwrap();
        let mut answer = String::new();
        self.answers.read_line(&mut answer).unwrap();
        answer.trim_end().to_owned()
    }

    /// Asks until the answer is this one: a feed is followed beside the questions.
    fn until(&mut self, question: &str, expected: &str) {
        let begin = Instant::now();
        loop {
            let answer = self.ask(question);
            if answer == expected {
                return;
            }
            assert!(begin.elapsed() < Duration::from_mins(1), "{question}: {answer}, not {expected}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Ends the questions. Returns the status, and what was told.
    fn end(self) -> (Option<i32>, String) {
        let Self { child, questions, answers } = self;
        drop(questions);
        drop(answers);
        let output = child.wait_with_output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    }
}

#[test]
fn files_are_applied_before_the_first_answer_and_a_pipe_beside_them() {
    let folder = tempfile::tempdir().unwrap();
    let of = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (one, two, pipe) = (of("one.json"), of("two.json"), of("pipe"));
    fs::write(&one, message("10.0.0.0/8", Some("192.0.2.1")) + &message("::/0", Some("2001:db8::1")))
        .unwrap();
    fs::write(&two, message("10.0.0.0/8", Some("192.0.2.2"))).unwrap();
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let mut asked = Asked::new(&[&one, &two, &pipe]);
    assert_eq!(asked.ask("10.1.2.3"), "10.0.0.0/8\t192.0.2.2");
    assert_eq!(asked.ask("2001:db8::5 is ignored"), "::/0\t2001:db8::1");
    let mut feed = File::options().write(true).open(&pipe).unwrap();
    feed.write_all(message("10.1.0.0/16", Some("192.0.2.3")).as_bytes()).unwrap();
    asked.until("10.1.2.3", "10.1.0.0/16\t192.0.2.3");
    feed.write_all(message("10.1.0.0/16", None).as_bytes()).unwrap();
    asked.until("10.1.2.3", "10.0.0.0/8\t192.0.2.2");
    feed.write_all(b"{\"type\":7}\n").unwrap();
    drop(feed);
    assert_eq!(asked.ask("192.0.2.1"), "-\t-");
    let (status, told) = asked.end();
    // The end may come before the pipe was read.
    assert!(status == Some(0) || status == Some(1) && told.contains("no message of RIS Live"), "{told}");
}

#[test]
fn a_router_answers_by_what_it_believes() {
    let mut asked = Asked::new(&["bmp:127.0.0.1:0"]);
    let mut told = BufReader::new(asked.child.stderr.take().unwrap());
    let mut line = String::new();
    told.read_line(&mut line).unwrap();
    let address = line.trim().rsplit(' ').next().unwrap().to_owned();
    assert_eq!(asked.ask("10.1.2.3 127.0.0.1"), "-\t-");
    assert_eq!(asked.ask("10.1.2.3"), "?\t?");
    let mut router = TcpStream::connect(address).unwrap();
    router.write_all(&monitoring()).unwrap();
    asked.until("198.51.100.7 127.0.0.1", "198.51.100.0/24\t203.0.113.1");
    assert_eq!(asked.ask("198.51.100.7 ::ffff:127.0.0.1"), "198.51.100.0/24\t203.0.113.1");
    assert_eq!(asked.ask("198.51.100.7 127.0.0.2"), "-\t-");
    drop(router);
    asked.until("198.51.100.7 127.0.0.1", "-\t-");
    assert_eq!(asked.end().0, Some(1));
}

#[test]
fn a_feed_needs_a_stream_that_is_not_its_own() {
    for (feeds, address, what) in [
        (vec!["none.mrt"], "10.0.0.1", "--follow answers a stream"),
        (vec!["-"], "-", "standard input is the addresses"),
        (vec!["netlink"], "-", "zebra and the kernel are followed by `fibula serve` alone"),
        (vec!["bmp:127.0.0.1:0", "none.mrt"], "-", "routers cannot be followed beside files"),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fibula"));
        command.arg("lookup").args(feeds.iter().flat_map(|feed| ["--follow", feed])).arg(address);
        let output = command.output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && told.contains(what), "{feeds:?}: {told}");
    }
}
