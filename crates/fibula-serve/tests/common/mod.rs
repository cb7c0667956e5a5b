//! A service on loopback, and a client that sends what no good client would.
#![allow(dead_code, unreachable_pub, reason = "each test uses another part")]

use fibula_serve::{Handle, Server, Settings};
use serde_json::Value;
use std::fmt::{Display, Write as _};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// A service in a thread of its own. It is stopped when this is dropped.
pub struct Service {
    pub address: SocketAddr,
    pub handle: Handle,
    thread: Option<JoinHandle<()>>,
}

/// Starts a service at a port that is free.
pub fn start(settings: Settings) -> Service {
    try_start(settings).unwrap()
}

/// Starts a service, or says why it does not start.
pub fn try_start(settings: Settings) -> Result<Service, String> {
    let (send, receive) = mpsc::channel();
    let thread = thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        runtime.unwrap().block_on(async move {
            match Server::bind(settings, "127.0.0.1:0".parse().unwrap()) {
                Ok(server) => {
                    send.send(Ok((server.address().unwrap(), server.handle()))).unwrap();
                    server.run().await;
                }
                Err(error) => send.send(Err(error.to_string())).unwrap(),
            }
        });
    });
    let (address, handle) = receive.recv().unwrap()?;
    Ok(Service { address, handle, thread: Some(thread) })
}

impl Service {
    /// Waits until the service has ended.
    pub fn join(&mut self) {
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }

    pub fn client(&self) -> Client {
        Client::new(TcpStream::connect(self.address).unwrap())
    }

    pub fn get(&self, target: &str) -> Answer {
        self.client().ask("GET", target, &[], b"")
    }

    pub fn post(&self, target: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        self.client().ask("POST", target, headers, body)
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.handle.stop();
        self.join();
    }
}

/// A connection that is kept.
pub struct Client<S = TcpStream>(BufReader<S>);

/// What came back.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// Whether all of it came.
    pub is_whole: bool,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    /// Returns the sentence of an error.
    pub fn error(&self) -> String {
        self.json()["error"].as_str().unwrap_or_else(|| panic!("{}", self.text())).to_owned()
    }

    pub fn generation(&self) -> u64 {
        self.header("fibula-generation").unwrap().parse().unwrap()
    }
}

impl<S: Read + Write> Client<S> {
    pub fn new(stream: S) -> Self {
        Self(BufReader::new(stream))
    }

    pub fn stream(&mut self) -> &mut S {
        self.0.get_mut()
    }

    /// Asks and reads the answer.
    pub fn ask(&mut self, method: &str, target: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        let mut bytes = format!("{method} {target} HTTP/1.1\r\nHost: localhost\r\n").into_bytes();
        for (name, value) in headers {
            write!(bytes, "{name}: {value}\r\n").unwrap();
        }
        if method == "POST" {
            write!(bytes, "Content-Length: {}\r\n", body.len()).unwrap();
        }
        bytes.extend_from_slice(b"\r\n");
        bytes.extend_from_slice(body);
        // A service that has refused may have closed.
        let _ = self.stream().write_all(&bytes);
        self.read().unwrap()
    }

    /// Reads the head of an answer.
    pub fn head(&mut self) -> io::Result<Answer> {
        let mut line = String::new();
        self.0.read_line(&mut line)?;
        let status = line.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.ok_or_else(|| io::Error::other(format!("no status in {line:?}")))?;
        let mut headers = Vec::new();
        loop {
            let mut line = String::new();
            self.0.read_line(&mut line)?;
            let Some((name, value)) = line.trim_end().split_once(": ") else { break };
            headers.push((name.to_owned(), value.to_owned()));
        }
        Ok(Answer { status, headers, body: Vec::new(), is_whole: true })
    }

    /// Reads an answer.
    pub fn read(&mut self) -> io::Result<Answer> {
        let mut answer = self.head()?;
        if answer.status == 304 {
            return Ok(answer);
        }
        let length = answer.header("content-length").map(|length| length.parse::<usize>().unwrap());
        if let Some(length) = length {
            answer.body.resize(length, 0);
            self.0.read_exact(&mut answer.body)?;
            return Ok(answer);
        }
        while let Some(part) = self.chunk()? {
            if part.is_empty() {
                return Ok(answer);
            }
            answer.body.extend_from_slice(&part);
        }
        answer.is_whole = false;
        Ok(answer)
    }

    /// Reads a chunk; an empty one is the end, and `None` the end of the connection.
    pub fn chunk(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut line = String::new();
        if self.0.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let length = usize::from_str_radix(line.trim_end(), 16).map_err(io::Error::other)?;
        let mut part = vec![0; length + 2];
        self.0.read_exact(&mut part)?;
        part.truncate(length);
        Ok(Some(part))
    }
}

/// A folder with a table.
pub struct Tables {
    pub folder: tempfile::TempDir,
}

impl Tables {
    /// Writes some tables, each by its name.
    pub fn of(tables: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let all = Self { folder };
        for (name, text) in tables {
            all.replace(name, text);
        }
        all
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Replaces a table as a whole.
    pub fn replace(&self, name: &str, text: &str) {
        let beside = self.path("beside");
        std::fs::write(&beside, text).unwrap();
        std::fs::rename(&beside, self.path(name)).unwrap();
    }

    /// Serves them, looking at the files often.
    pub fn settings(&self, names: &[&str]) -> Settings {
        let tables = names.iter().map(|&name| (name.to_owned(), self.path(name))).collect();
        Settings { poll: Duration::from_millis(10), ..Settings::new(tables) }
    }
}

/// Returns a text with a line each.
pub fn lines(all: impl IntoIterator<Item = impl Display>) -> String {
    all.into_iter().fold(String::new(), |mut text, line| {
        let _ = writeln!(text, "{line}");
        text
    })
}

/// Waits until something is so, but no longer than ten seconds.
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(10);
    while !is_so() {
        assert!(Instant::now() < end, "{what} is not so after ten seconds");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Returns the memory of this process that is resident, in bytes.
pub fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() << 10
}

/// Returns a file of this crate's tests.
pub fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}
