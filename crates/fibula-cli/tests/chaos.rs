//! Sources that fail at random, under clients that ask all the time.
//!
//! ```text
//!   files ◀── replaced, emptied, cut, deleted, pipes and devices in their place
//!   pipe  ◀── written, ended, garbage             ──▶ fibula serve ◀── clients: every answer is of
//!   BMP   ◀── told, cut, replayed, flapped, emptied                    a version that was told
//!   RIS   ◀── told, cut, an error, a bad message, a session that ends
//! ```
//!
//! Every route of a source has the source's version as its value, so an answer tells which version
//! it is of. After each step the states that all places tell are those of the model.
//! `FIBULA_CHAOS_SECONDS` and `FIBULA_CHAOS_SEED` make it longer, and another one;
//! `FIBULA_CHAOS_CLIENTS` are the clients.
#![cfg(all(feature = "serve", target_os = "linux"))]

mod feeds;
#[path = "chaos/files.rs"]
mod files;

use feeds::{end_of_rib, message, monitoring};
use files::{harm_file, make_pipe, table};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use tungstenite::{Message, WebSocket, accept};

/// How long one state may take to be told.
const PATIENCE: Duration = Duration::from_secs(30);

/// What the model says that a source's table is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    /// It has this version, and all of it.
    Ok(u64),
    /// It has this version, which is not what the source has.
    Stale(u64),
    /// It has no routes any more.
    Empty,
}

/// A source, and between which versions its answers are at the moment.
struct Source {
    name: &'static str,
    /// An address that its table covers.
    address: &'static str,
    least: AtomicU64,
    most: AtomicU64,
    may_be_empty: AtomicBool,
}

impl Source {
    const fn new(name: &'static str, address: &'static str) -> Self {
        let [least, most] = [AtomicU64::new(1), AtomicU64::new(1)];
        Self { name, address, least, most, may_be_empty: AtomicBool::new(false) }
    }

    /// Returns the next version, which answers may be of from now on.
    fn next(&self) -> u64 {
        self.most.fetch_add(1, Ordering::SeqCst) + 1
    }

    fn now(&self) -> u64 {
        self.most.load(Ordering::SeqCst)
    }
}

static SOURCES: [Source; 5] = [
    Source::new("one", "10.1.2.3"),
    Source::new("two", "10.1.2.3"),
    Source::new("pipe", "10.1.2.3"),
    Source::new("127.0.0.1", "198.51.100.7"),
    Source::new("ris", "10.1.2.3"),
];

/// The service.
struct Service {
    child: Child,
    address: String,
}

impl Service {
    fn ask(&self, request: &str) -> Option<(u16, String)> {
        let mut stream = TcpStream::connect(&self.address).ok()?;
        stream.set_read_timeout(Some(PATIENCE)).ok()?;
        stream.write_all(request.as_bytes()).ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        let (head, body) = answer.split_once("\r\n\r\n")?;
        Some((head.split(' ').nth(1)?.parse().ok()?, body.to_owned()))
    }

    fn get(&self, target: &str) -> (u16, String) {
        let request = format!("GET {target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        self.ask(&request).unwrap_or_else(|| panic!("{target} was not answered"))
    }

    fn json(&self, target: &str) -> Value {
        let (_, body) = self.get(target);
        serde_json::from_str(&body).unwrap_or_else(|error| panic!("{target}: {error}: {body}"))
    }

    /// Returns the version that answers; `None` if there is no table, and 0 if it has no route.
    fn version(&self, source: &Source) -> Option<u64> {
        let (status, body) = self.get(&format!("/v1/lookup?table={}&addr={}", source.name, source.address));
        if status == 404 {
            return None;
        }
        let rows: Value = serde_json::from_str(&body).unwrap_or_else(|error| panic!("{error}: {body}"));
        Some(version_of(&rows[0]["next_hop"]).unwrap_or_else(|| panic!("{}: {status} {body}", source.name)))
    }

    /// Returns what all places tell of a source, if they tell the same.
    fn state(&self, source: &Source) -> Result<String, String> {
        let tables = self.json("/v1/tables");
        let row = tables.as_array().unwrap().iter().find(|row| row["table"] == source.name).cloned();
        let told = row.map_or("ok".into(), |row| row["state"].as_str().unwrap().to_owned());
        for target in ["/healthz", "/readyz"] {
            let health = self.json(target);
            let state = health["errors"][source.name]["state"].as_str().unwrap_or("ok").to_owned();
            if state != told {
                return Err(format!("{target} tells {state} of {}, /v1/tables {told}", source.name));
            }
        }
        let stale = format!("fibula_serve_stale{{table=\"{}\"}} {}", source.name, u8::from(told == "stale"));
        let (_, metrics) = self.get("/metrics");
        if metrics.contains(&format!("fibula_serve_stale{{table=\"{}\"}}", source.name))
            && !metrics.contains(&stale)
        {
            return Err(format!("/metrics does not have {stale}, /v1/tables tells {told}"));
        }
        Ok(told)
    }

    /// Waits until all places tell what the model says.
    fn until(&self, source: &Source, expected: Expected, step: &str) {
        let end = Instant::now() + PATIENCE;
        loop {
            let (state, version) = (self.state(source), self.version(source));
            let is_so = match expected {
                Expected::Ok(wanted) => (state.as_deref(), version) == (Ok("ok"), Some(wanted)),
                Expected::Stale(wanted) => (state.as_deref(), version) == (Ok("stale"), Some(wanted)),
                Expected::Empty => state.as_deref() == Ok("ok") && matches!(version, None | Some(0)),
            };
            if is_so {
                return;
            }
            let name = source.name;
            assert!(Instant::now() < end, "{name} after {step}: {state:?}, {version:?} and not {expected:?}");
            thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the version of a value: an AS number, or the last octets of an address. 0 is no route.
fn version_of(value: &Value) -> Option<u64> {
    if let Some(number) = value.as_u64() {
        return Some(number);
    }
    let Some(text) = value.as_str() else { return value.is_null().then_some(0) };
    match text.strip_prefix("192.0.") {
        Some(octets) => {
            let (high, low) = octets.split_once('.')?;
            Some(high.parse::<u64>().ok()? << 8 | low.parse::<u64>().ok()?)
        }
        None => text.parse().ok(),
    }
}

fn next_hop(version: u64) -> String {
    format!("192.0.{}.{}", version >> 8 & 255, version & 255)
}

/// The writing end of the pipe, the session of the router and the connection of the client of RIS
/// Live, where there are.
struct Feeds {
    pipe: PathBuf,
    writer: Option<fs::File>,
    station: String,
    session: Option<TcpStream>,
    server: TcpListener,
    socket: Option<WebSocket<TcpStream>>,
}

impl Feeds {
    /// Does one thing to the pipe, which always has one more version to tell.
    fn harm_pipe(&mut self, source: &Source, before: Expected, dice: u32) -> (&'static str, Expected) {
        let now = source.now();
        match dice {
            0..3 => {
                self.writer = None;
                ("the pipe has ended", Expected::Stale(now))
            }
            3 => {
                let mut writer = self.writer.take().unwrap_or_else(|| self.open());
                let _ = writer.write_all(b"{\"type\":7}\n");
                drop(writer);
                ("the pipe had garbage", Expected::Stale(now))
            }
            _ => {
                let next = source.next();
                let text = message("10.0.0.0/8", Some(&next_hop(next)));
                let mut writer = self.writer.take().unwrap_or_else(|| self.open());
                writer.write_all(text.as_bytes()).unwrap();
                self.writer = Some(writer);
                // What a pipe has missed is not known, so it stays stale.
                let is_whole = !matches!(before, Expected::Stale(_));
                ("the pipe was written", if is_whole { Expected::Ok(next) } else { Expected::Stale(next) })
            }
        }
    }

    /// Opens the pipe when the service reads it.
    fn open(&self) -> fs::File {
        fs::File::options().write(true).open(&self.pipe).unwrap()
    }

    /// Does one thing to the server of RIS Live.
    fn harm_ris(&mut self, source: &Source, before: Expected, dice: u32) -> (&'static str, Expected) {
        let now = source.now();
        let told = |version| Message::text(message("10.0.0.0/8", Some(&next_hop(version))));
        if dice < 3 {
            self.socket = None;
            return ("the connection was cut", Expected::Stale(now));
        }
        let mut socket = self.socket.take().unwrap_or_else(|| self.subscribed());
        let next = source.next();
        let is_whole = !matches!(before, Expected::Stale(_));
        let left = if is_whole { Expected::Ok(next) } else { Expected::Stale(next) };
        let (step, state) = match dice {
            3 => {
                socket.send(told(next)).unwrap();
                let error = r#"{"type":"ris_error","data":{"message":"too slow"}}"#;
                socket.send(Message::text(error)).unwrap();
                return ("the server had an error", Expected::Stale(next));
            }
            4 => {
                socket.send(Message::text(r#"{"type":7}"#)).unwrap();
                ("the server sent a bad message", left)
            }
            5 => {
                source.may_be_empty.store(true, Ordering::SeqCst);
                for state in ["down", "connected"] {
                    let kind = format!("\"RIS_PEER_STATE\",\"state\":\"{state}\"");
                    let session = message("10.0.0.0/8", None).replace("\"UPDATE\"", &kind);
                    socket.send(Message::text(session)).unwrap();
                }
                // Nothing of before is left, so nothing is stale.
                ("the peer's session began again", Expected::Ok(next))
            }
            _ => ("the server told a route", left),
        };
        socket.send(told(next)).unwrap();
        self.socket = Some(socket);
        (step, state)
    }

    /// Accepts the client, and confirms what it asks for. Clients of before may have gone.
    fn subscribed(&self) -> WebSocket<TcpStream> {
        loop {
            let Ok(mut socket) = accept(self.server.accept().unwrap().0) else { continue };
            if socket.read().is_ok() && socket.read().is_ok() {
                socket.send(Message::text(r#"{"type":"ris_subscribe_ok"}"#)).unwrap();
                return socket;
            }
        }
    }

    /// Does one thing to the router.
    fn harm_router(&mut self, source: &Source, before: Expected, dice: u32) -> (&'static str, Expected) {
        let now = source.now();
        let lost = match before {
            Expected::Empty => Expected::Empty,
            Expected::Ok(_) | Expected::Stale(_) => Expected::Stale(now),
        };
        let mut tell = |version: u64, has_end: bool| {
            let mut routes = monitoring();
            let hop = routes.len() - 8;
            routes[hop..hop + 4].copy_from_slice(&[192, 0, (version >> 8) as u8, version as u8]);
            if has_end {
                routes.extend(end_of_rib());
            }
            let mut session = TcpStream::connect(&self.station).unwrap();
            session.write_all(&routes).unwrap();
            self.session = Some(session);
        };
        match dice {
            0..2 => {
                self.session = None;
                ("the router has gone", lost)
            }
            2 => {
                tell(now, true);
                ("the router tells the same again", Expected::Ok(now))
            }
            3 => {
                let next = source.next();
                for _ in 0..5 {
                    tell(next, false);
                }
                self.session = None;
                ("the router has flapped", Expected::Stale(next))
            }
            4 => {
                let mut session = TcpStream::connect(&self.station).unwrap();
                session.write_all(&[3, 0, 0, 0, 2, 9, 9]).unwrap();
                self.session = None;
                ("the router sends garbage", lost)
            }
            5 => {
                source.may_be_empty.store(true, Ordering::SeqCst);
                let mut session = TcpStream::connect(&self.station).unwrap();
                session.write_all(&end_of_rib()).unwrap();
                self.session = Some(session);
                ("the router has no routes", Expected::Empty)
            }
            _ => {
                let next = source.next();
                tell(next, true);
                ("the router tells all", Expected::Ok(next))
            }
        }
    }
}

/// Asks until the end. Every answer is of a version between that of the last state that all have
/// seen and the newest.
fn client(service: &Service, mut random: fastrand::Rng, is_over: &AtomicBool) -> u64 {
    let mut count = 0;
    while !is_over.load(Ordering::SeqCst) {
        let source = &SOURCES[random.usize(..SOURCES.len())];
        let least = source.least.load(Ordering::SeqCst);
        let may_be_empty = source.may_be_empty.load(Ordering::SeqCst);
        let answers: Vec<u64> = if random.bool() {
            service.version(source).into_iter().collect()
        } else {
            let body = format!("{}\n", source.address).repeat(100);
            let request = format!(
                "POST /v1/lookup?table={} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
                source.name,
                body.len()
            );
            let (status, answer) = service.ask(&request).expect("a body is answered");
            let lines = answer.lines().filter_map(|line| line.split_once('\t'));
            let versions: Vec<u64> =
                lines.map(|(_, value)| version_of(&Value::from(value)).unwrap_or(0)).collect();
            assert!(status == 404 || versions.len() == 100, "{status}: {answer}");
            // One body is answered by one table.
            assert!(versions.windows(2).all(|two| two[0] == two[1]), "{versions:?}");
            versions.first().copied().into_iter().collect()
        };
        let may_be_empty = may_be_empty || source.may_be_empty.load(Ordering::SeqCst);
        let most = source.now();
        for version in answers {
            let is_one = (least..=most).contains(&version) || version == 0 && may_be_empty;
            assert!(is_one, "{} answers {version}, not {least} to {most}", source.name);
            count += 1;
        }
    }
    count
}

#[test]
fn whatever_fails_every_answer_is_right_or_called_stale() {
    let number = |name: &str, default: u64| std::env::var(name).map_or(default, |text| text.parse().unwrap());
    let time = Duration::from_secs(number("FIBULA_CHAOS_SECONDS", 4));
    let mut random = fastrand::Rng::with_seed(number("FIBULA_CHAOS_SEED", 1));
    let folder = tempfile::tempdir().unwrap();
    let of = |name: &str| folder.path().join(name);
    for name in ["one", "two"] {
        fs::write(of(name), table(1, 40)).unwrap();
    }
    make_pipe(&of("pipe"));
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_fibula"))
        .args(["serve", "--listen", "127.0.0.1:0", "--poll", "20ms", "--follow", "bmp:127.0.0.1:0"])
        .args(["one", "two"].map(|name| format!("--table={name}={}", of(name).display())))
        .arg(format!("--follow=pipe={}", of("pipe").display()))
        .arg(format!("--follow=ris=ris-live:ws://{}/", server.local_addr().unwrap()))
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut told = BufReader::new(child.stderr.take().unwrap());
    let mut listening = |before: &str| {
        let mut line = String::new();
        told.read_line(&mut line).unwrap();
        line.trim_end().strip_prefix(before).unwrap_or_else(|| panic!("{line}")).to_owned()
    };
    let address = listening("fibula: listening at http://");
    let station = listening("fibula: listening at ");
    // What it tells further is read, so that it never waits.
    thread::spawn(move || told.lines().for_each(drop));
    let mut feeds = Feeds { pipe: of("pipe"), writer: None, station, session: None, server, socket: None };
    let service = Service { child, address };
    let is_over = AtomicBool::new(false);
    let [whole, empty] = [Expected::Ok(1), Expected::Empty];
    let mut expected = [whole, whole, empty, empty, empty];
    // The feeds tell their first version.
    for (at, source) in SOURCES.iter().enumerate().skip(2) {
        source.may_be_empty.store(true, Ordering::SeqCst);
        let (step, state) = match at {
            2 => feeds.harm_pipe(source, expected[at], 9),
            3 => feeds.harm_router(source, expected[at], 9),
            _ => feeds.harm_ris(source, expected[at], 9),
        };
        service.until(source, state, step);
        expected[at] = state;
        settle(source, state);
    }
    let (mut steps, end) = (0_u64, Instant::now() + time);
    let answers: u64 = thread::scope(|scope| {
        let clients = number("FIBULA_CHAOS_CLIENTS", 4);
        let clients: Vec<_> = (0..clients)
            .map(|at| {
                let random = fastrand::Rng::with_seed(at);
                scope.spawn(|| client(&service, random, &is_over))
            })
            .collect();
        // A client that fails ends the test: the others are told, too.
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            while Instant::now() < end && clients.iter().all(|client| !client.is_finished()) {
                let at = random.usize(..SOURCES.len());
                let (source, before) = (&SOURCES[at], expected[at]);
                let (step, state) = match at {
                    0 | 1 => harm_file(source, &of(source.name), before, random.u32(..10)),
                    2 => feeds.harm_pipe(source, before, random.u32(..8)),
                    3 => feeds.harm_router(source, before, random.u32(..9)),
                    _ => feeds.harm_ris(source, before, random.u32(..8)),
                };
                if random.u8(..8) == 0 {
                    kill_process(Pid::from_child(&service.child), Signal::HUP).unwrap();
                }
                service.until(source, state, step);
                expected[at] = state;
                settle(source, state);
                steps += 1;
            }
            // Nothing that was done to one has changed another.
            for (source, state) in SOURCES.iter().zip(expected) {
                service.until(source, state, "the end");
            }
        }));
        is_over.store(true, Ordering::SeqCst);
        let answers = clients.into_iter().map(|client| client.join().unwrap()).sum();
        result.unwrap_or_else(|what| std::panic::resume_unwind(what));
        answers
    });
    println!("{steps} steps, {answers} answers");
    assert!(steps > 0 && answers > 0);
}

/// Notes that all see a state.
fn settle(source: &Source, state: Expected) {
    source.least.store(source.now(), Ordering::SeqCst);
    source.may_be_empty.store(state == Expected::Empty, Ordering::SeqCst);
}
