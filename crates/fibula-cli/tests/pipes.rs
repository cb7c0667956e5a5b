//! `fibula lookup -` between other programs.
//!
//! ```text
//!   writer --stdin--> fibula lookup -t edge.txt - --stdout--> reader
//!   (slow, fast,                                              (patient, or gone
//!    or stopped)                                               after a line)
//! ```

use std::io::{BufRead, BufReader, Read, Write};
use std::net::Ipv4Addr;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;

fn lookup(options: &[&str]) -> (Child, ChildStdin, BufReader<ChildStdout>) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_fibula"))
        .args(["lookup", "-t", "tests/fixtures/edge.txt", "-"])
        .args(options)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let stdin = child.stdin.take().unwrap();
    let stdout = BufReader::new(child.stdout.take().unwrap());
    (child, stdin, stdout)
}

/// Returns the process's status and standard error.
fn end(mut child: Child) -> (Option<i32>, String) {
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    (child.wait().unwrap().code(), said)
}

#[test]
fn an_address_is_answered_before_the_next_is_written() {
    let (child, mut stdin, mut stdout) = lookup(&[]);
    for (address, expected) in [
        ("10.1.9.9", "10.1.0.0/16\t192.0.2.3 dev eth1\n"),
        ("::1", "-\t-\n"),
        ("8.8.8.8", "0.0.0.0/0\t192.0.2.1\n"),
    ] {
        writeln!(stdin, "{address}").unwrap();
        let mut answer = String::new();
        stdout.read_line(&mut answer).unwrap();
        assert_eq!(answer, expected);
    }
    drop(stdin);
    assert_eq!(end(child), (Some(0), String::new()));
}

#[test]
fn answers_keep_the_order_of_the_addresses_through_many_blocks() {
    const COUNT: u32 = 500_000;
    let (child, mut stdin, stdout) = lookup(&[]);
    // Most are in 10.0.0.0/8, each 64th in the more-specific 10.1.0.0/16, each 1000th is an IPv6
    // address.
    let address = |i: u32| if i.is_multiple_of(64) { 0x0A01_0000 | i & 0xFFFF } else { 0x0A02_0000 + i };
    let writer = thread::spawn(move || {
        let mut text = Vec::new();
        for i in 0..COUNT {
            if i.is_multiple_of(1000) {
                writeln!(text, "2001:db8:1::{:x}", i / 1000).unwrap();
            } else {
                writeln!(text, "{}", Ipv4Addr::from_bits(address(i))).unwrap();
            }
        }
        stdin.write_all(&text).unwrap();
    });
    let mut count = 0;
    for (i, line) in (0..).zip(stdout.lines()) {
        let expected = match address(i) {
            _ if i.is_multiple_of(1000) => "2001:db8:1::/48\t2001:db8::2",
            0x0A01_0203 => "10.1.2.3/32\tblackhole",
            0x0A01_0000..=0x0A01_FFFF => "10.1.0.0/16\t192.0.2.3 dev eth1",
            _ => "10.0.0.0/8\t192.0.2.2",
        };
        assert_eq!(line.unwrap(), expected, "address {i}");
        count += 1;
    }
    writer.join().unwrap();
    assert_eq!(count, COUNT);
    assert_eq!(end(child), (Some(0), String::new()));
}

#[test]
fn a_reader_that_goes_away_ends_it_quietly() {
    for options in [&[][..], &["--format", "csv"], &["--format", "json"], &["--all"]] {
        let (child, mut stdin, mut stdout) = lookup(options);
        let writer = thread::spawn(move || {
            let block = "10.1.2.4\n".repeat(10_000);
            // Until it notices; far more than all buffers between hold.
            (0..10_000).any(|_| stdin.write_all(block.as_bytes()).is_err())
        });
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        assert!(!line.is_empty());
        drop(stdout);
        assert!(writer.join().unwrap(), "{options:?}: still reading");
        assert_eq!(end(child), (Some(0), String::new()), "{options:?}");
    }
}

#[test]
fn a_bad_line_ends_it_though_the_writer_waits() {
    let (child, mut stdin, mut stdout) = lookup(&[]);
    writeln!(stdin, "10.1.2.4\n10.1.2\n10.1.2.5").unwrap();
    let mut text = String::new();
    stdout.read_to_string(&mut text).unwrap();
    assert_eq!(text, "10.1.0.0/16\t192.0.2.3 dev eth1\n");
    let said =
        "fibula: standard input, line 2: \"10.1.2\" is not an IPv4 or IPv6 address or prefix\n".to_string();
    assert_eq!(end(child), (Some(2), said));
    drop(stdin);
}

#[test]
fn lines_are_counted_through_many_blocks() {
    let (child, mut stdin, stdout) = lookup(&["--keep-going"]);
    let writer = thread::spawn(move || {
        for _ in 0..3 {
            stdin.write_all("10.1.2.4\n".repeat(99_999).as_bytes()).unwrap();
            stdin.write_all(b"nowhere\n").unwrap();
        }
    });
    let bad: Vec<usize> = (1..)
        .zip(stdout.lines())
        .filter(|(_, line)| line.as_ref().unwrap() == "?\t?")
        .map(|(i, _)| i)
        .collect();
    writer.join().unwrap();
    assert_eq!(bad, [100_000, 200_000, 300_000]);
    let (status, said) = end(child);
    let lines: Vec<&str> = said.lines().map(|line| line.split([' ', ':']).nth(5).unwrap()).collect();
    assert_eq!((status, lines), (Some(1), vec!["100000", "200000", "300000"]));
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_one_line_and_status_2() {
    let bench = [
        "bench",
        "-t",
        "tests/fixtures/edge.txt",
        "--engine",
        "oracle",
        "--addresses",
        "100",
        "--passes",
        "5",
    ];
    let demo = ["demo", "--lookups", "10", "--engine", "oracle"];
    for arguments in [&["engines"][..], &["table", "stats", "tests/fixtures/edge.txt"], &bench, &demo] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_fibula"));
        let child = command.args(arguments).stdout(full).stderr(Stdio::piped()).spawn().unwrap();
        let (status, said) = end(child);
        assert_eq!((status, said.lines().count()), (Some(2), 1), "{arguments:?}: {said}");
        assert!(said.starts_with("fibula: standard output: No space left on device"), "{said}");
    }
}
