//! [`Messages`]: bfdd's messages out of a stream of bytes.

use super::sessions::{Health, Peer};
use serde::Deserialize;
use std::net::IpAddr;

/// The bytes of a message before its JSON.
const HEADER: usize = 8;

/// The longest JSON that is read; bfdd's has some 600 bytes.
const LONGEST: usize = 1 << 14;

/// The longest name of an interface in Linux.
const NAME: usize = 15;

/// What asks bfdd for all sessions, their states and what changes.
pub(super) fn question() -> [u8; HEADER + 8] {
    let mut message = [0; HEADER + 8];
    message[..HEADER].copy_from_slice(&[0, 0, 0, 8, 0, 1, 4, 1]);
    message[HEADER..].copy_from_slice(&3_u64.to_ne_bytes());
    message
}

/// A message that is none of bfdd's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("message {number}, at byte {at} of the connection: {what}")]
pub(super) struct Malformed {
    number: u64,
    at: u64,
    what: String,
}

/// What bfdd says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Message {
    /// What was asked for will be told.
    Agreed,
    /// There is a session.
    Is(Peer),
    /// The state of a session.
    State(Peer, Health),
    /// A session was deleted.
    Deleted(Peer),
    /// Something of no use.
    Other,
}

/// Cuts a stream of bytes into messages.
#[derive(Debug, Default)]
pub(super) struct Messages {
    /// What was read and not yet taken: `bytes[taken..]`.
    bytes: Vec<u8>,
    taken: usize,
    count: u64,
    /// Where `bytes` begins in the stream.
    start: u64,
}

impl Messages {
    /// Adds bytes of the stream.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.start += self.taken as u64;
        self.bytes.drain(..self.taken);
        self.taken = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// Returns the next message; `None` until it has come whole.
    ///
    /// # Errors
    /// If it is malformed. The stream is of no use any more.
    pub(super) fn take(&mut self) -> Result<Option<Message>, Malformed> {
        let (number, at) = (self.count + 1, self.start + self.taken as u64);
        let wrong = |what| Malformed { number, at, what };
        let rest = &self.bytes[self.taken..];
        let Some(&[a, b, c, d, _, _, kind, version]) = rest.first_chunk::<HEADER>() else { return Ok(None) };
        let length = u32::from_be_bytes([a, b, c, d]) as usize;
        if version != 1 {
            return Err(wrong(format!("its version is {version}, not 1")));
        }
        if length > LONGEST {
            return Err(wrong(format!("its length of {length} is more than {LONGEST}")));
        }
        let Some(json) = rest.get(HEADER..HEADER + length) else { return Ok(None) };
        let message = match kind {
            1 => answer(json),
            4 => told(json),
            _ => Ok(Message::Other),
        };
        let message = message.map_err(wrong)?;
        (self.count, self.taken) = (number, self.taken + HEADER + length);
        Ok(Some(message))
    }
}

fn answer(json: &[u8]) -> Result<Message, String> {
    #[derive(Deserialize)]
    struct Answer {
        status: String,
        error: Option<String>,
    }
    let Answer { status, error } = serde_json::from_slice(json).map_err(|error| error.to_string())?;
    match status.as_str() {
        "ok" => Ok(Message::Agreed),
        _ => Err(format!("bfdd refuses: {:?}", error.unwrap_or(status))),
    }
}

/// What is told of a session. Its other fields are left out.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Told {
    op: String,
    #[serde(default)]
    multihop: bool,
    peer_address: Option<IpAddr>,
    local_address: Option<IpAddr>,
    local_interface: Option<String>,
    vrf_name: Option<String>,
    state: Option<String>,
    #[serde(default)]
    diagnostics: u8,
    #[serde(default)]
    remote_diagnostics: u8,
}

fn told(json: &[u8]) -> Result<Message, String> {
    let told: Told = serde_json::from_slice(json).map_err(|error| error.to_string())?;
    if !matches!(told.op.as_str(), "add" | "update" | "delete" | "status") {
        return Ok(Message::Other);
    }
    let address = told.peer_address.ok_or("it has no peer-address")?;
    let names = [&told.local_interface, &told.vrf_name];
    if let Some(name) = names.into_iter().flatten().find(|name| name.len() > NAME) {
        return Err(format!("a name of {} bytes is more than {NAME}", name.len()));
    }
    let (local, interface, vrf) = (told.local_address, told.local_interface, told.vrf_name);
    let peer = Peer { address, interface, local, vrf, is_multihop: told.multihop };
    Ok(match (told.op.as_str(), told.state) {
        ("delete", _) => Message::Deleted(peer),
        ("status", Some(state)) => {
            Message::State(peer, Health::of(&state, told.diagnostics, told.remote_diagnostics))
        }
        ("status", None) => return Err("it has no state".into()),
        _ => Message::Is(peer),
    })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Returns a message of bfdd.
    pub(crate) fn message(kind: u8, json: &str) -> Vec<u8> {
        let mut bytes = (json.len() as u32).to_be_bytes().to_vec();
        bytes.extend([0, 0, kind, 1]);
        bytes.extend(json.as_bytes());
        bytes
    }

    /// What bfdd 8.4.4 tells of a session.
    pub(crate) fn status(peer: &str, state: &str, diagnostics: [u8; 2]) -> Vec<u8> {
        let [local, remote] = diagnostics;
        let json = format!(
            r#"{{"op":"status","ipv6":false,"multihop":false,{peer},"id":7,"remote-id":7,"state":"{state}","downtime":0,"diagnostics":{local},"remote-diagnostics":{remote}}}"#
        );
        message(4, &json)
    }

    fn all(bytes: &[u8], piece: usize) -> Result<Vec<Message>, Malformed> {
        let (mut messages, mut found) = (Messages::default(), Vec::new());
        for piece in bytes.chunks(piece) {
            messages.push(piece);
            while let Some(message) = messages.take()? {
                found.push(message);
            }
        }
        Ok(found)
    }

    #[test]
    fn messages_are_read_however_they_are_cut() {
        let mut bytes = message(1, r#"{"status":"ok"}"#);
        bytes.extend(message(77, "no JSON"));
        bytes.extend(status(r#""peer-address":"10.2.0.2","local-interface":"r1""#, "down", [1, 0]));
        bytes
            .extend(message(4, r#"{"op":"delete","multihop":true,"peer-address":"fd00::1","vrf-name":"v"}"#));
        bytes.extend(message(4, r#"{"op":"new in a later version"}"#));
        let peer = |address: &str, interface: Option<&str>| Peer {
            address: address.parse().unwrap(),
            interface: interface.map(String::from),
            local: None,
            vrf: None,
            is_multihop: false,
        };
        let far = Peer { vrf: Some("v".into()), is_multihop: true, ..peer("fd00::1", None) };
        let failed = Health::Failed("no packet for the detection time");
        let expected = [
            Message::Agreed,
            Message::Other,
            Message::State(peer("10.2.0.2", Some("r1")), failed),
            Message::Deleted(far),
            Message::Other,
        ];
        for piece in [1, 7, 8, 9, bytes.len()] {
            assert_eq!(all(&bytes, piece).unwrap(), expected, "{piece}");
        }
        assert_eq!(question(), [[0, 0, 0, 8, 0, 1, 4, 1], 3_u64.to_ne_bytes()].concat()[..]);
    }

    #[test]
    fn what_is_malformed_is_named_with_its_place() {
        let good = message(1, r#"{"status":"ok"}"#);
        let long = "x".repeat(16);
        let long = format!(r#"{{"op":"add","peer-address":"::1","local-interface":"{long}"}}"#);
        let nested = "[".repeat(LONGEST);
        for (bytes, what) in [
            (vec![0, 0, 0, 2, 0, 0, 4, 2], "its version is 2"),
            (vec![0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 4, 1], "4294967295 is more than 16384"),
            (message(4, "{"), "EOF"),
            (message(4, &nested), "invalid type"),
            (message(4, r#"{"op":"add"}"#), "no peer-address"),
            (message(4, r#"{"op":"add","peer-address":"router"}"#), "IP address"),
            (message(4, r#"{"op":"status","peer-address":"::1"}"#), "no state"),
            (message(4, &long), "a name of 16 bytes"),
            (message(1, r#"{"status":"error","error":"not\nnow"}"#), r#"bfdd refuses: "not\nnow""#),
        ] {
            let error = all(&[good.clone(), bytes].concat(), 5).unwrap_err().to_string();
            assert!(error.starts_with("message 2, at byte 23 of the connection: "), "{error}");
            assert!(error.contains(what), "{error}");
        }
    }

    #[test]
    fn damaged_messages_never_panic() {
        let whole = status(r#""peer-address":"10.2.0.2","local-interface":"r1""#, "down", [1, 0]).repeat(3);
        let mut random = fastrand::Rng::with_seed(5);
        for _ in 0..10_000 {
            let mut bytes = whole.clone();
            for _ in 0..random.usize(1..4) {
                let at = random.usize(..bytes.len());
                bytes[at] = random.u8(..);
            }
            let found = all(&bytes, random.usize(1..bytes.len())).map_or(0, |found| found.len());
            assert!(found <= bytes.len() / HEADER);
        }
    }
}
