//! BMP (RFC 7854): what a router tells a station of the routes that its peers send.
//!
//! [`Session`] turns the messages of one router into the same [`Event`]s that MRT has: a Route
//! Monitoring message is the BGP message of a BGP4MP record, Peer Up and Peer Down are changes of a
//! session's state. Routes are those of the Adj-RIB-In, before or after the router's policy
//! ([`Policy`]); Loc-RIB (RFC 9069) and Adj-RIB-Out (RFC 8671) are left out and counted, and so are
//! peers of VRFs.
//!
//! ```text
//!  0         1                5        6        48
//! +---------+----------------+--------+---------+--- - - -
//! | 3       | length         | type   | peer    | BGP message, and the like
//! +---------+----------------+--------+---------+--- - - -
//! ```
//!
//! A session is not trusted. A message has at most [`LENGTH_MAX`] bytes, a session at most
//! [`PEERS_MAX`] peers; more, or a length that cannot be, ends it with an error that names the
//! byte. A message whose content is damaged is an error, and the messages after it follow.

mod station;

pub use station::{SESSIONS_MAX, Station, Told};

use super::frame::{BGP4MP, Record};
use super::{Event, Peer, Speaker, What, decode};
use crate::report::{Kind, Report};
use crate::{Damage, Place};
use bytes::Bytes;
use std::collections::{HashMap, VecDeque};
use std::io::Read;
use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;

/// The most bytes of a message. The longest that can be is a Peer Up with two OPENs of 65,535.
pub const LENGTH_MAX: usize = 256 << 10;

/// The most peers of a session.
pub const PEERS_MAX: usize = 4096;

/// The bytes of the common header, and of the header of a peer.
const HEADER: usize = 6;
const PEER_HEADER: usize = 42;

/// The states of a BGP session (RFC 4271 section 8.2.2).
const IDLE: u16 = 1;
const ESTABLISHED: u16 = 6;

/// Which of a router's tables is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Hash)]
pub enum Policy {
    /// What peers send.
    #[default]
    Pre,
    /// What the router's policy has left of it.
    Post,
}

/// The messages of one router, as events.
pub struct Session<R> {
    input: R,
    policy: Policy,
    offset: u64,
    /// By peer: whether its IPv4 and its IPv6 prefixes have path identifiers.
    peers: HashMap<Peer, [bool; 2]>,
    name: Option<String>,
    report: Report,
    ready: VecDeque<Result<Event, Damage>>,
    has_ended: bool,
}

/// The header of a peer.
struct Head {
    kind: u8,
    flags: u8,
    distinguisher: [u8; 8],
    peer: Peer,
    router_id: u32,
    time: Duration,
}

impl Head {
    /// Returns what it tells of the peer.
    fn speaker(&self) -> Speaker {
        Speaker { router_id: Some(self.router_id), is_internal: None }
    }
}

impl<R: Read> Session<R> {
    /// Reads the messages of a router. Errors of `input` end the session.
    pub fn new(input: R, policy: Policy) -> Self {
        let (peers, name, report) = (HashMap::new(), None, Report::default());
        Self { input, policy, offset: 0, peers, name, report, ready: VecDeque::new(), has_ended: false }
    }

    /// Returns the name that the router has given itself.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Returns what has been left out so far.
    #[must_use]
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// Reads one message. Returns false at the end.
    fn read(&mut self) -> Result<bool, Damage> {
        let offset = self.offset;
        let mut header = [0; HEADER];
        let there = self.fill(&mut header)?;
        if there == 0 {
            return Ok(false);
        }
        if there < HEADER {
            return Err(Damage::byte(
                offset,
                format!("the message is cut off: {there} of its {HEADER} first bytes"),
            ));
        }
        let [version, l0, l1, l2, l3, kind] = header;
        if version != 3 {
            return Err(Damage::byte(offset, format!("a message of BMP version {version}, expected 3")));
        }
        let length = u32::from_be_bytes([l0, l1, l2, l3]) as usize;
        if !(HEADER..=LENGTH_MAX).contains(&length) {
            let what = format!("a message of {length} bytes, expected {HEADER} to {LENGTH_MAX}");
            return Err(Damage::byte(offset, what));
        }
        let mut body = vec![0; length - HEADER];
        let there = self.fill(&mut body)?;
        if there < body.len() {
            let what = format!("the message is cut off: {} of its {length} bytes are there", HEADER + there);
            return Err(Damage::byte(offset, what));
        }
        let before = self.ready.len();
        match self.take(offset, kind, &body.into()) {
            Ok(goes_on) => Ok(goes_on),
            Err(Ended::Message(what)) => {
                self.ready.truncate(before);
                self.ready.push_back(Err(Damage::byte(offset, what)));
                Ok(true)
            }
            Err(Ended::Session(what)) => Err(Damage::byte(offset, what)),
        }
    }

    /// Reads as much as there is. Returns the number of bytes.
    fn fill(&mut self, bytes: &mut [u8]) -> Result<usize, Damage> {
        let mut there = 0;
        while there < bytes.len() {
            match self.input.read(&mut bytes[there..]) {
                Ok(0) => break,
                Ok(count) => there += count,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Damage::byte(self.offset, format!("cannot be read: {error}"))),
            }
        }
        self.offset += there as u64;
        Ok(there)
    }

    /// Takes a message. Returns whether others may follow.
    fn take(&mut self, offset: u64, kind: u8, body: &Bytes) -> Result<bool, Ended> {
        match kind {
            0 => self.monitoring(offset, body)?,
            2 | 3 => self.state(offset, kind == 3, body)?,
            4 => self.name = name(body).or(self.name.take()),
            5 => return Ok(false),
            // Statistics, and messages as they were on the wire.
            1 | 6 => {}
            _ => self.left_out(offset, "message of another type"),
        }
        Ok(true)
    }

    fn left_out(&mut self, offset: u64, what: &'static str) {
        self.report.note(Kind::LeftOut, what, Place::Byte(offset));
    }

    /// Returns the header of a peer whose routes are followed, and what is after it.
    fn head(&mut self, offset: u64, body: &Bytes) -> Result<Option<(Head, Bytes)>, Ended> {
        let (head, rest) =
            body.split_first_chunk::<PEER_HEADER>().ok_or("the header of the peer is cut off")?;
        let rest = body.slice_ref(rest);
        let part = |from: usize| head[from..from + 4].try_into().map_or(0, u32::from_be_bytes);
        let octets: [u8; 16] = head[10..26].try_into().unwrap_or_default();
        let flags = head[1];
        let address = match flags & 0x80 {
            0 => IpAddr::from([octets[12], octets[13], octets[14], octets[15]]),
            _ => Ipv6Addr::from(octets).into(),
        };
        let head = Head {
            kind: head[0],
            flags,
            distinguisher: head[2..10].try_into().unwrap_or_default(),
            peer: Peer { address, asn: part(26) },
            router_id: part(30),
            time: Duration::new(part(34).into(), part(38).min(999_999) * 1000),
        };
        let left_out = match head.kind {
            0 if head.flags & 0x10 != 0 => Some("route of an Adj-RIB-Out"),
            0 => None,
            1 | 2 => Some("route of a peer of a VRF"),
            3 => Some("route of a Loc-RIB"),
            _ => Some("route of another type of peer"),
        };
        if let Some(what) = left_out.or((head.distinguisher != [0; 8]).then_some("route of a peer of a VRF"))
        {
            self.left_out(offset, what);
            return Ok(None);
        }
        Ok(Some((head, rest)))
    }

    fn monitoring(&mut self, offset: u64, body: &Bytes) -> Result<(), Ended> {
        let Some((head, message)) = self.head(offset, body)? else { return Ok(()) };
        let policy = if head.flags & 0x40 == 0 { Policy::Pre } else { Policy::Post };
        if policy != self.policy {
            self.left_out(
                offset,
                if policy == Policy::Pre { "route before policy" } else { "route after policy" },
            );
            return Ok(());
        }
        let add_path = *self.known(head.peer)?;
        let has_long_numbers = head.flags & 0x20 == 0;
        let record = record(offset, &head, has_long_numbers, &message);
        let Some((_, _, mut lists)) = decode::lists(&record) else {
            return Err("the BGP message is no UPDATE, or damaged".into());
        };
        lists.mark(add_path);
        if lists.has_others {
            self.left_out(offset, decode::OTHER_FAMILY);
        }
        decode::events(&record, None, Some(&lists), false, &mut self.ready);
        Ok(())
    }

    /// Peer Up and Peer Down.
    fn state(&mut self, offset: u64, is_up: bool, body: &Bytes) -> Result<(), Ended> {
        let Some((head, rest)) = self.head(offset, body)? else { return Ok(()) };
        let known = self.known(head.peer)?;
        let (from, to) = if is_up { (IDLE, ESTABLISHED) } else { (ESTABLISHED, IDLE) };
        if is_up {
            *known = add_path(&rest).unwrap_or_default();
        }
        // A session that comes up again has lost its routes, also where its end was not told.
        for (from, to) in [(ESTABLISHED, IDLE), (from, to)].into_iter().skip(usize::from(!is_up)) {
            let what = What::State { from, to };
            self.ready.push_back(Ok(Event {
                offset,
                time: head.time,
                peer: head.peer,
                speaker: head.speaker(),
                multicast: false,
                what,
            }));
        }
        Ok(())
    }

    fn known(&mut self, peer: Peer) -> Result<&mut [bool; 2], Ended> {
        if self.peers.len() >= PEERS_MAX && !self.peers.contains_key(&peer) {
            return Err(Ended::Session(format!("more than {PEERS_MAX} peers, the limit of a session")));
        }
        Ok(self.peers.entry(peer).or_default())
    }
}

/// Why a message gives no events.
enum Ended {
    /// It is damaged.
    Message(String),
    /// Nothing after it can be read.
    Session(String),
}

impl From<&str> for Ended {
    fn from(what: &str) -> Self {
        Self::Message(what.to_owned())
    }
}

/// Returns the BGP message of a peer as a record of MRT.
fn record(offset: u64, head: &Head, has_long_numbers: bool, message: &[u8]) -> Record {
    let (family, address) = match head.peer.address {
        IpAddr::V4(address) => ([0, 1], address.octets().to_vec()),
        IpAddr::V6(address) => ([0, 2], address.octets().to_vec()),
    };
    let numbers = head.peer.asn.to_be_bytes();
    let asn: &[u8] = if has_long_numbers { &numbers } else { &numbers[2..] };
    let nobody = vec![0; asn.len() + 2];
    let local = vec![0; address.len()];
    let body = [asn, &nobody, &family, &address, &local, message].concat().into();
    let subtype = if has_long_numbers { 4 } else { 1 };
    Record { offset, time: head.time, kind: BGP4MP, subtype, body }
}

/// Returns the name of the router in an Initiation message: the last `sysName`.
fn name(body: &[u8]) -> Option<String> {
    let (mut rest, mut name) = (body, None);
    while let Some((&[t0, t1, l0, l1], after)) = rest.split_first_chunk::<4>() {
        let (value, after) = after.split_at_checked(u16::from_be_bytes([l0, l1]).into())?;
        if [t0, t1] == [0, 2] {
            let text = String::from_utf8_lossy(value);
            name = Some(text.chars().filter(|c| !c.is_control()).take(255).collect());
        }
        rest = after;
    }
    name
}

/// Returns by a Peer Up whether the peer sends path identifiers with its IPv4 and IPv6 unicast
/// prefixes: it says in its OPEN that it may, and the router that it takes them (RFC 7911).
fn add_path(body: &[u8]) -> Option<[bool; 2]> {
    let opens = body.get(20..)?; // the router's own address and ports
    let (sent, received) =
        opens.split_at_checked(u16::from_be_bytes(*opens.get(16..)?.first_chunk()?).into())?;
    let (takes, sends) = (directions(sent)?, directions(received)?);
    Some([0, 1].map(|family| takes[family] & 1 != 0 && sends[family] & 2 != 0))
}

/// Returns what the ADD-PATH capability of an OPEN says of IPv4 and IPv6 unicast: 1 is to receive,
/// 2 to send.
fn directions(open: &[u8]) -> Option<[u8; 2]> {
    let length = usize::from(u16::from_be_bytes(*open.get(16..)?.first_chunk()?));
    let open = open.get(..length)?;
    let mut found = [0; 2];
    let (mut parameters, is_long) = match open.get(28..)? {
        // RFC 9072: lengths of two bytes.
        [255, 255, _, _, rest @ ..] => (rest, true),
        [_, rest @ ..] => (rest, false),
        [] => return Some(found),
    };
    while let [kind, rest @ ..] = parameters {
        let (length, rest) = match (rest, is_long) {
            ([l0, l1, rest @ ..], true) => (usize::from(u16::from_be_bytes([*l0, *l1])), rest),
            ([length, rest @ ..], false) => (usize::from(*length), rest),
            _ => return None,
        };
        let (mut capabilities, after) = rest.split_at_checked(length)?;
        while *kind == 2
            && let [code, length, rest @ ..] = capabilities
        {
            let (value, after) = rest.split_at_checked((*length).into())?;
            if *code == 69 {
                for family in value.chunks_exact(4) {
                    match family {
                        [0, 1, 1, direction] => found[0] = *direction,
                        [0, 2, 1, direction] => found[1] = *direction,
                        _ => {}
                    }
                }
            }
            capabilities = after;
        }
        parameters = after;
    }
    Some(found)
}

impl<R: Read> Iterator for Session<R> {
    type Item = Result<Event, Damage>;

    /// Waits for the next event. After an error the next call says whether others follow.
    fn next(&mut self) -> Option<Self::Item> {
        while self.ready.is_empty() && !self.has_ended {
            match self.read() {
                Ok(goes_on) => self.has_ended = !goes_on,
                Err(damage) => {
                    self.has_ended = true;
                    return Some(Err(damage));
                }
            }
        }
        self.ready.pop_front()
    }
}

impl<R> std::fmt::Debug for Session<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session")
            .field("name", &self.name)
            .field("offset", &self.offset)
            .finish_non_exhaustive()
    }
}
