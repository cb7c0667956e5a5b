//! BMP (RFC 7854): what a router tells a station of the routes that its peers send.
//!
//! [`Session`] turns the messages of one router into the same [`Event`]s that MRT has: a Route
//! Monitoring message is the BGP message of a BGP4MP record, Peer Up and Peer Down are changes of a
//! session's state. Routes are those of the router's own table, the Loc-RIB (RFC 9069), where it
//! tells that, and else those of the Adj-RIB-In, before or after the router's policy, or those of
//! the Adj-RIB-Out (RFC 8671), of the global table or of a VRF ([`View`]). One session may be
//! followed in several views at once. What is in none of them is left out and counted.
//!
//! ```text
//!  0         1                5        6        48
//! +---------+----------------+--------+---------+--- - - -
//! | 3       | length         | type   | peer    | BGP message, and the like
//! +---------+----------------+--------+---------+--- - - -
//! ```
//!
//! A session is not trusted. A message has at most [`LENGTH_MAX`] bytes, a session at most
//! [`PEERS_MAX`] peers and [`VIEWS_MAX`] views; more, or a length that cannot be, ends it with an
//! error that names the byte. A message whose content is damaged is an error, and the messages
//! after it follow.

mod open;
mod patience;
mod station;
mod view;

pub use station::{SESSIONS_MAX, Station, Told};
pub use view::{Policy, View, Views, Vrf, Vrfs};

use super::frame::{BGP4MP, Record};
use super::{Event, Peer, Speaker, What, decode};
use crate::report::{Kind, Report};
use crate::{Damage, Place};
use bytes::Bytes;
use open::{Known, told};
use std::collections::{HashMap, VecDeque};
use std::io::Read;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;

/// The most bytes of a message. The longest that can be is a Peer Up with two OPENs of 65,535.
pub const LENGTH_MAX: usize = 256 << 10;

/// The most peers of a session.
pub const PEERS_MAX: usize = 4096;

/// The most views of a session.
pub const VIEWS_MAX: usize = 1024;

/// The bytes of the common header, and of the header of a peer.
const HEADER: usize = 6;
const PEER_HEADER: usize = 42;

/// The states of a BGP session (RFC 4271 section 8.2.2).
const IDLE: u16 = 1;
const ESTABLISHED: u16 = 6;

/// The messages of one router, as events.
pub struct Session<R> {
    input: R,
    views: Views,
    viewed: Vec<Viewed>,
    offset: u64,
    name: Option<String>,
    report: Report,
    ready: VecDeque<Result<Event, Damage>>,
    /// The view that the next of these are of, and how many, run by run.
    runs: VecDeque<(usize, usize)>,
    has_ended: bool,
}

/// What is known of the router in one view.
struct Viewed {
    view: Arc<View>,
    peers: HashMap<Peer, Known>,
    /// Whether the router tells its own table, which is followed.
    is_own: bool,
}

/// The type of the peer that stands for the router's own table.
const LOC_RIB: u8 = 3;

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
    /// Returns the header that a body begins with, and what is after it.
    fn read(body: &Bytes) -> Result<(Self, Bytes), Ended> {
        let (head, rest) =
            body.split_first_chunk::<PEER_HEADER>().ok_or("the header of the peer is cut off")?;
        let rest = body.slice_ref(rest);
        let part = |from: usize| head[from..from + 4].try_into().map_or(0, u32::from_be_bytes);
        let octets: [u8; 16] = head[10..26].try_into().unwrap_or_default();
        let (kind, flags) = (head[0], head[1]);
        let address = match flags & 0x80 {
            _ if kind == LOC_RIB => Ipv4Addr::UNSPECIFIED.into(),
            0 => IpAddr::from([octets[12], octets[13], octets[14], octets[15]]),
            _ => Ipv6Addr::from(octets).into(),
        };
        let head = Head {
            kind,
            flags,
            distinguisher: head[2..10].try_into().unwrap_or_default(),
            peer: Peer { address, asn: part(26) },
            router_id: part(30),
            time: Duration::new(part(34).into(), part(38).min(999_999) * 1000),
        };
        Ok((head, rest))
    }

    /// Returns what it tells of the peer.
    fn speaker(&self) -> Speaker {
        // A session that never was up has no identifier.
        Speaker { router_id: Some(self.router_id).filter(|&id| id != 0), is_internal: None }
    }
}

impl<R: Read> Session<R> {
    /// Reads the messages of a router. Errors of `input` end the session.
    pub fn new(input: R, views: impl Into<Views>) -> Self {
        let views = views.into();
        let viewed = views.known().map(Viewed::new).collect();
        let (name, report, has_ended) = (None, Report::default(), false);
        let (ready, runs) = (VecDeque::new(), VecDeque::new());
        Self { input, views, viewed, offset: 0, name, report, ready, runs, has_ended }
    }

    /// Returns a view by its number.
    ///
    /// # Panics
    /// If [`next_of`](Self::next_of) has not returned that number.
    #[must_use]
    pub fn view(&self, number: usize) -> &Arc<View> {
        &self.viewed[number].view
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

    /// Waits for the next event. Returns it with the number of its view, or an error, after which
    /// the next call says whether others follow.
    pub fn next_of(&mut self) -> Option<Result<(usize, Event), Damage>> {
        while self.ready.is_empty() && !self.has_ended {
            self.runs.clear();
            match self.read() {
                Ok(goes_on) => self.has_ended = !goes_on,
                Err(damage) => {
                    self.has_ended = true;
                    return Some(Err(damage));
                }
            }
        }
        let next = self.ready.pop_front()?;
        while self.runs.front().is_some_and(|(_, left)| *left == 0) {
            self.runs.pop_front();
        }
        let number = self.runs.front_mut().map_or(0, |(number, left)| {
            *left -= 1;
            *number
        });
        Some(next.map(|event| (number, event)))
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
        let (before, runs) = (self.ready.len(), self.runs.len());
        match self.take(offset, kind, &body.into()) {
            Ok(goes_on) => Ok(goes_on),
            Err(Ended::Message(what)) => {
                self.ready.truncate(before);
                self.runs.truncate(runs);
                self.ready.push_back(Err(Damage::byte(offset, what)));
                self.runs.push_back((0, 1));
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
            0 | 2 | 3 => self.of_peer(offset, kind, body)?,
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

    /// Takes a message about a peer: its routes, or that its session began or ended.
    fn of_peer(&mut self, offset: u64, kind: u8, body: &Bytes) -> Result<(), Ended> {
        let (head, rest) = Head::read(body)?;
        self.meet(&head)?;
        let (mut refusal, mut is_followed) = (None, false);
        let mut noted = Noted { is_detailed: self.views.is_detailed(), ..Noted::default() };
        for (number, viewed) in self.viewed.iter_mut().enumerate() {
            if let Some(what) = viewed.refusal(&head, kind == 0) {
                // A view of another table says less.
                let is_of_table = viewed.view.has_table(head.kind, head.distinguisher);
                refusal = refusal.filter(|_| !is_of_table).or(Some(what));
                continue;
            }
            is_followed = true;
            let before = self.ready.len();
            if head.kind == LOC_RIB {
                viewed.begin_own(offset, head.time, &mut self.ready);
            }
            match kind {
                0 => viewed.monitoring(offset, &head, &rest, &mut noted, &mut self.ready)?,
                _ => viewed.state(offset, &head, kind == 3, &rest, &mut self.ready)?,
            }
            self.runs.push_back((number, self.ready.len() - before));
        }
        if noted.has_others {
            self.left_out(offset, decode::OTHER_FAMILY);
        }
        if noted.is_guessed {
            let what = "path read without the router's own AS in front";
            self.report.note(Kind::Guessed, what, Place::Byte(offset));
        }
        if let Some(what) = refusal.filter(|_| !is_followed) {
            self.left_out(offset, what);
        }
        Ok(())
    }

    /// Follows the VRF of a peer from now on, if all are followed.
    fn meet(&mut self, head: &Head) -> Result<(), Ended> {
        if head.kind > LOC_RIB {
            return Ok(());
        }
        let Self { views, viewed, .. } = self;
        let is_of = |viewed: &Viewed| {
            viewed.view.vrf.is_some() && viewed.view.has_table(head.kind, head.distinguisher)
        };
        if viewed.iter().any(is_of) {
            return Ok(());
        }
        viewed.extend(views.of_peer(head.distinguisher).map(Viewed::new));
        if viewed.len() > VIEWS_MAX {
            return Err(Ended::Session(format!("more than {VIEWS_MAX} views, the limit of a session")));
        }
        Ok(())
    }
}

/// How a message is read, and what was found.
#[derive(Default)]
struct Noted {
    is_detailed: bool,
    /// Whether it has routes of other families.
    has_others: bool,
    /// Whether the AS in front of its path was left out.
    is_guessed: bool,
}

impl Viewed {
    fn new(view: View) -> Self {
        Self { view: Arc::new(view), peers: HashMap::new(), is_own: false }
    }

    /// Returns why a message about a peer, or with routes of it, is not of this view.
    fn refusal(&self, head: &Head, has_routes: bool) -> Option<&'static str> {
        let View { policy, vrf } = &*self.view;
        let has_table = self.view.has_table(head.kind, head.distinguisher);
        match head.kind {
            4.. => Some("route of another type of peer"),
            _ if !has_table && vrf.is_some() => Some("route of another table than the VRF's"),
            LOC_RIB if !has_table => Some("route of the Loc-RIB of a VRF"),
            _ if !has_table => Some("route of a peer of a VRF"),
            LOC_RIB if *policy != Policy::Own => Some("route of a Loc-RIB"),
            // The flags of the router's own table have other meanings.
            LOC_RIB => None,
            _ if self.is_own => Some("route of a peer, beside the router's own table"),
            _ if !has_routes => None,
            _ => policy.refusal(head.flags & 0x10 != 0, head.flags & 0x40 != 0),
        }
    }

    /// Follows the router's own table from now on: the routes of peers go.
    fn begin_own(&mut self, offset: u64, time: Duration, ready: &mut VecDeque<Result<Event, Damage>>) {
        if std::mem::replace(&mut self.is_own, true) {
            return;
        }
        let mut peers: Vec<Peer> = self.peers.drain().map(|(peer, _)| peer).collect();
        peers.sort_unstable();
        for peer in peers {
            let (what, speaker) = (What::State { from: ESTABLISHED, to: IDLE }, Speaker::default());
            ready.push_back(Ok(Event { offset, time, peer, speaker, multicast: false, what }));
        }
    }

    fn monitoring(
        &mut self,
        offset: u64,
        head: &Head,
        message: &[u8],
        noted: &mut Noted,
        ready: &mut VecDeque<Result<Event, Damage>>,
    ) -> Result<(), Ended> {
        let is_out = self.view.policy.is_out();
        let Known { add_path, add_path_out, local_as } = *self.known(head.peer)?;
        // The numbers of the router's own table have 4 bytes.
        let has_long_numbers = head.kind == LOC_RIB || head.flags & 0x20 == 0;
        let record = record(offset, head, local_as, has_long_numbers, message);
        let Some((_, _, mut lists)) = decode::lists(&record) else {
            return Err("the BGP message is no UPDATE, or damaged".into());
        };
        lists.mark(if is_out { add_path_out } else { add_path });
        noted.has_others |= lists.has_others;
        // FRR writes the message that it would send to the peer. No router accepts a path with its
        // own AS from another one, so that AS was put in front by itself.
        let is_received = head.kind != LOC_RIB && !is_out;
        let sender = Some(local_as).filter(|_| is_received && local_as != head.peer.asn);
        let reading = decode::Reading { is_detailed: noted.is_detailed, sender };
        noted.is_guessed |= decode::events(&record, None, Some(&lists), reading, ready);
        Ok(())
    }

    /// Peer Up and Peer Down.
    fn state(
        &mut self,
        offset: u64,
        head: &Head,
        is_up: bool,
        rest: &[u8],
        ready: &mut VecDeque<Result<Event, Damage>>,
    ) -> Result<(), Ended> {
        let was_known = self.peers.contains_key(&head.peer);
        let known = self.known(head.peer)?;
        let (from, to) = if is_up { (IDLE, ESTABLISHED) } else { (ESTABLISHED, IDLE) };
        if is_up {
            *known = told(rest).unwrap_or_default();
        }
        // A session that comes up again has lost its routes, also where its end was not told.
        for (from, to) in
            [(ESTABLISHED, IDLE), (from, to)].into_iter().skip(usize::from(!(is_up && was_known)))
        {
            let (time, peer, speaker) = (head.time, head.peer, head.speaker());
            let what = What::State { from, to };
            ready.push_back(Ok(Event { offset, time, peer, speaker, multicast: false, what }));
        }
        Ok(())
    }

    fn known(&mut self, peer: Peer) -> Result<&mut Known, Ended> {
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
fn record(offset: u64, head: &Head, local_as: u32, has_long_numbers: bool, message: &[u8]) -> Record {
    let (family, address) = match head.peer.address {
        IpAddr::V4(address) => ([0, 1], address.octets().to_vec()),
        IpAddr::V6(address) => ([0, 2], address.octets().to_vec()),
    };
    let from = if has_long_numbers { 0 } else { 2 };
    let [asn, local_as] = [head.peer.asn, local_as].map(u32::to_be_bytes);
    let local = vec![0; address.len()];
    let body = [&asn[from..], &local_as[from..], &[0; 2], &family, &address, &local, message];
    let body = body.concat().into();
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

impl<R: Read> Iterator for Session<R> {
    type Item = Result<Event, Damage>;

    /// As [`next_of`](Session::next_of), without the view.
    fn next(&mut self) -> Option<Self::Item> {
        Some(self.next_of()?.map(|(_, event)| event))
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
