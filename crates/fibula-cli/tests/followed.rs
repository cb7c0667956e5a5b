//! `fibula lookup --follow` and `fibula enrich --follow`: answers of a table that changes
//! meanwhile.
//!
//! ```text
//!   files, a pipe, or routers that speak BMP --> fibula lookup --follow FEED... - <-- addresses
//!                                                fibula enrich --follow FEED... - <-- records
//!                                                        |
//!                                                        v
//!                                        what the tables say at that moment
//! ```
#![cfg(unix)]

mod feeds;

use feeds::{end_of_rib, message, monitoring};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// A running command.
struct Asked {
    child: Child,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Asked {
    /// Looks up addresses.
    fn new(feeds: &[&str]) -> Self {
        Self::command(&["lookup", "--keep-going"], feeds)
    }

    /// Runs a command that reads standard input.
    fn command(command: &[&str], feeds: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_fibula"))
            .args(command)
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

    /// Returns the address where routers connect, and what is told after it.
    fn station(&mut self) -> (String, BufReader<ChildStderr>) {
        let mut told = BufReader::new(self.child.stderr.take().unwrap());
        let mut line = String::new();
        told.read_line(&mut line).unwrap();
        (line.trim().rsplit(' ').next().unwrap().to_owned(), told)
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
    let (address, mut lines) = asked.station();
    assert_eq!(asked.ask("10.1.2.3 127.0.0.1"), "-\t-");
    assert_eq!(asked.ask("10.1.2.3"), "?\t?");
    let mut router = TcpStream::connect(&address).unwrap();
    router.write_all(&monitoring()).unwrap();
    asked.until("198.51.100.7 127.0.0.1", "198.51.100.0/24\t203.0.113.1");
    assert_eq!(asked.ask("198.51.100.7 ::ffff:127.0.0.1"), "198.51.100.0/24\t203.0.113.1");
    assert_eq!(asked.ask("198.51.100.7 127.0.0.2"), "-\t-");
    // What it has told stays until it has told all that it has.
    drop(router);
    let mut told = String::new();
    while !told.contains("has gone: its 1 prefixes are stale") {
        told.clear();
        assert_ne!(lines.read_line(&mut told).unwrap(), 0);
    }
    assert_eq!(asked.ask("198.51.100.7 127.0.0.1"), "198.51.100.0/24\t203.0.113.1");
    let mut router = TcpStream::connect(address).unwrap();
    router.write_all(&end_of_rib()).unwrap();
    asked.until("198.51.100.7 127.0.0.1", "-\t-");
    assert_eq!(asked.end().0, Some(1));
}

#[test]
fn a_feed_needs_a_stream_that_is_not_its_own() {
    for (feeds, address, what) in [
        (vec!["none.mrt"], "10.0.0.1", "--follow answers a stream"),
        (vec!["-"], "-", "standard input is the addresses"),
        (
            vec!["netlink"],
            "-",
            "servers of RIS Live, zebra and the kernel are followed by `fibula serve` alone",
        ),
        (vec!["bmp:127.0.0.1:0", "none.mrt"], "-", "routers cannot be followed beside files"),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fibula"));
        command.arg("lookup").args(feeds.iter().flat_map(|feed| ["--follow", feed])).arg(address);
        let output = command.output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && told.contains(what), "{feeds:?}: {told}");
    }
}

#[cfg(feature = "enrich")]
mod records {
    use super::*;
    use std::io::Read;

    const NDJSON: [&str; 8] = ["enrich", "--data-format", "ndjson", "-o", "-", "-c", "src", "--prefix"];
    const CSV: [&str; 7] = ["enrich", "--data-format", "csv", "-o", "-", "-c", "src"];

    #[test]
    fn rows_are_answered_as_they_come() {
        let folder = tempfile::tempdir().unwrap();
        let of = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        let (file, pipe) = (of("file.json"), of("pipe"));
        fs::write(&file, message("10.0.0.0/8", Some("192.0.2.1"))).unwrap();
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let mut asked = Asked::command(&NDJSON, &[&file, &pipe]);
        assert_eq!(
            asked.ask(r#" {"n":1.50, "src":"10.1.2.3" } "#),
            r#"{"n":1.50, "src":"10.1.2.3" ,"src_next_hop":"192.0.2.1","src_next_hop_prefix":"10.0.0.0/8"}"#
        );
        assert_eq!(asked.ask("{}"), r#"{"src_next_hop":null,"src_next_hop_prefix":null}"#);
        assert_eq!(
            asked.ask(r#"{"src":[167772161,"x",null,["2001:db8::1"]],"other":{}}"#),
            r#"{"src":[167772161,"x",null,["2001:db8::1"]],"other":{},"src_next_hop":["192.0.2.1",null,null,[null]],"src_next_hop_prefix":["10.0.0.0/8",null,null,[null]]}"#
        );
        let mut feed = File::options().write(true).open(&pipe).unwrap();
        feed.write_all(message("10.1.0.0/16", Some("192.0.2.3")).as_bytes()).unwrap();
        asked.until(
            r#"{"src":"10.1.2.3"}"#,
            r#"{"src":"10.1.2.3","src_next_hop":"192.0.2.3","src_next_hop_prefix":"10.1.0.0/16"}"#,
        );
        assert_eq!(asked.ask("[1]"), "");
        let (status, told) = asked.end();
        assert!(status == Some(2) && told.contains(": expected a JSON object"), "{told}");
    }

    #[test]
    fn rows_of_csv_are_written_as_they_were() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file.json");
        fs::write(&file, message("10.0.0.0/8", Some("192.0.2.1"))).unwrap();
        let mut asked = Asked::command(&CSV, &[file.to_str().unwrap()]);
        assert_eq!(asked.ask("note,src"), "note,src,src_next_hop");
        assert_eq!(asked.ask("\"a, b\",10.1.2.3"), "\"a, b\",10.1.2.3,192.0.2.1");
        // Half a row is waited for, and a whole one is not kept back by it.
        write!(asked.questions, "007,192.0.2.1\n\"two\nlines\",").unwrap();
        let mut line = String::new();
        asked.answers.read_line(&mut line).unwrap();
        assert_eq!(line, "007,192.0.2.1,\n");
        assert_eq!(asked.ask("nobody,more"), "\"two");
        assert_eq!(asked.ask(""), "lines\",nobody,");
        let (status, told) = asked.end();
        assert_eq!(status, Some(0), "{told}");
        assert!(told.contains("standard input, line 4: 3 fields, expected 2"), "{told}");
        assert!(told.contains("standard input: column src: 1 of 3 rows hold no address"), "{told}");
    }

    #[test]
    fn a_row_is_answered_by_its_exporter() {
        let command = [&CSV[..], &["--exporter-column", "by", "--errors", "raise"]].concat();
        let mut asked = Asked::command(&command, &["bmp:127.0.0.1:0"]);
        let (address, mut told) = asked.station();
        assert_eq!(asked.ask("by,src"), "by,src,src_next_hop");
        assert_eq!(asked.ask("127.0.0.1,198.51.100.7"), "127.0.0.1,198.51.100.7,");
        let mut router = TcpStream::connect(address).unwrap();
        router.write_all(&monitoring()).unwrap();
        asked.until("127.0.0.1,198.51.100.7", "127.0.0.1,198.51.100.7,203.0.113.1");
        assert_eq!(asked.ask("::ffff:127.0.0.1,198.51.100.7"), "::ffff:127.0.0.1,198.51.100.7,203.0.113.1");
        for exporter in ["127.0.0.2", "", "router"] {
            assert_eq!(asked.ask(&format!("{exporter},198.51.100.7")), format!("{exporter},198.51.100.7,"));
        }
        assert_eq!(asked.ask("127.0.0.1,nobody"), "");
        assert_eq!(asked.end().0, Some(2));
        let mut all = String::new();
        told.read_to_string(&mut all).unwrap();
        assert!(all.contains(r#"column src: "nobody" is not an IPv4 or IPv6 address"#), "{all}");
    }

    #[test]
    fn rows_without_a_known_exporter_are_counted() {
        let command = [&NDJSON[..], &["--exporter-column", "flow.by"]].concat();
        let asked = Asked::command(&command, &["bmp:127.0.0.1:0"]);
        let Asked { child, mut questions, .. } = asked;
        let rows = [r#"{"flow":{"by":"127.0.0.1"},"src":"x"}"#, r#"{"src":"10.0.0.1"}"#, ""];
        questions.write_all(rows.join("\n").as_bytes()).unwrap();
        drop(questions);
        let output = child.wait_with_output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{told}");
        assert!(told.contains("column flow.by: 2 of 2 rows name no router that is known"), "{told}");
        assert!(told.contains("column src: 1 of 2 rows hold no address"), "{told}");
    }

    #[test]
    fn what_cannot_be_followed_is_said_before_anything_is_read() {
        for (words, what) in [
            (vec!["in.parquet", "-o", "-"], "those of Parquet do not"),
            (vec!["-", "--data-format", "csv", "-o", "out.csv"], "expected -o -"),
            (vec!["-", "--data-format", "csv", "-o", "-", "--to", "ndjson"], "csv, not ndjson"),
            (vec!["in.csv", "-o", "-", "--exporter-column", "by"], "is for routers"),
            (vec!["in.csv", "-o", "-", "-t", "table.txt"], "cannot be used with"),
        ] {
            let follow = ["enrich", "-c", "src", "--follow", "/dev/null"];
            let output =
                Command::new(env!("CARGO_BIN_EXE_fibula")).args(follow).args(&words).output().unwrap();
            let told = String::from_utf8(output.stderr).unwrap();
            let is_one_line = told.trim_end().lines().count() == 1;
            assert!(
                output.status.code() == Some(2) && told.contains(what) && is_one_line,
                "{words:?}: {told}"
            );
        }
        let asked = Asked::command(&CSV, &["bmp:127.0.0.1:0"]);
        let (status, told) = asked.end();
        assert!(status == Some(2) && told.contains("--exporter-column"), "{told}");
    }
}
