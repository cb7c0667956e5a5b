//! rtnetlink: the kernel's links, neighbours, next-hop objects and routes.
//!
//! The feed first joins the groups of changes and then dumps everything, so that nothing falls in
//! between. When the kernel lost changes because the socket was full (`ENOBUFS`), the feed dumps
//! again as a new session, and what was not in the dump is removed.
//!
//! The local table (id 255) is always followed: it says which packets are for this machine. Other
//! routes are followed if a [`Filter`] takes them. Where FPM tells the routes, it need not.
//!
//! Before a dump the feed forgets what it has not read: the dump is newer. What the kernel does not
//! say, as which routes go with a link, makes the feed dump again ([`known`]).

mod known;
mod rules;

pub(crate) use rules::rules;

use super::{Feed, Mark, Queue, Session};
use crate::Error;
use crate::control::Asker;
use crate::message::{Conf, Event, Link, Message, Messages, Target};
use crate::routes::LOCAL;
use fibula::Family;
use known::{Fate, Known};
use netlink_packet_core::{
    NLM_F_CREATE, NLM_F_DUMP, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::neighbour::{
    NeighbourAddress, NeighbourAttribute, NeighbourFlags, NeighbourMessage,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{RecvFlags, SendFlags, SocketFlags, SocketType};
use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// The groups of links, neighbours, IPv4 addresses, routes, rules and settings of both families,
/// and next-hop objects.
const GROUPS: u32 =
    1 << 0 | 1 << 2 | 1 << 4 | 1 << 6 | 1 << 7 | 1 << 10 | 1 << 18 | 1 << 23 | 1 << 24 | 1 << 31;

/// The room that a router asks the kernel for, for messages that were not read yet, in bytes. A
/// full table that comes at once is some hundred megabytes.
pub const ROOM: usize = 128 << 20;

/// How often a dump is tried that the kernel calls inconsistent, and how long after the last time
/// everything is asked for again.
const ATTEMPTS: u32 = 5;
const PAUSE: Duration = Duration::from_secs(5);

const INET: u8 = 2;
const INET6: u8 = 10;
const BRIDGE: u8 = 7;

/// What a dump asks for: the kind of message, the length of its header, and the family.
type Dump = (u16, usize, u8);

const LINKS: Dump = (18, 16, 0);

/// Links, settings of both families, neighbours, stations of bridges, next-hop objects, and the
/// routes of both families.
const DUMPS: [Dump; 8] = [
    LINKS,
    (82, 4, INET),
    (82, 4, INET6),
    (30, 12, 0),
    (30, 12, BRIDGE),
    (106, 8, 0),
    (26, 12, INET),
    (26, 12, INET6),
];

/// The routes that are taken, beside those of the local table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter {
    /// Whether any are.
    pub routes: bool,
    /// The ids of their tables; none means all.
    pub tables: Vec<u32>,
    /// Who made them, as `rtm_protocol` says it; none means anybody.
    pub protocols: Vec<u8>,
}

impl Filter {
    fn takes(&self, event: &Event) -> bool {
        let (table, protocol) = match event {
            Event::Route { table: LOCAL, target, .. } => return matches!(target, None | Some(Target::Local)),
            Event::Route { table, protocol, .. } | Event::Partial { table, protocol, .. } => {
                (table, protocol)
            }
            _ => return true,
        };
        let is_in = |list: &[u32], item: u32| list.is_empty() || list.contains(&item);
        let protocols: Vec<u32> = self.protocols.iter().map(|&protocol| protocol.into()).collect();
        self.routes && is_in(&self.tables, *table) && is_in(&protocols, (*protocol).into())
    }
}

/// Begins to follow the kernel, in a thread of its own, as long as the process lives. The kernel
/// keeps up to `room` bytes of messages that were not read yet, and then loses changes ([`ROOM`]).
///
/// # Errors
/// If the kernel gives no socket.
pub fn follow<C: 'static>(filter: Filter, room: usize, queue: Arc<Queue<C>>) -> Result<(), Error> {
    let mut follower = Follower::new(filter, room, queue)?;
    let run = move || follower.run();
    thread::Builder::new()
        .name("rtnetlink".into())
        .spawn(run)
        .map_err(|error| Error::io("a thread", error))?;
    Ok(())
}

/// A socket of rtnetlink that has joined groups, with room for messages that come unasked.
fn open(groups: u32, room: Option<usize>) -> Result<OwnedFd, Error> {
    let system = |error: Errno| Error::io("rtnetlink", error);
    let family = rustix::net::AddressFamily::NETLINK;
    // Protocol 0 of netlink is NETLINK_ROUTE.
    let socket =
        rustix::net::socket_with(family, SocketType::RAW, SocketFlags::CLOEXEC, None).map_err(system)?;
    if let Some(room) = room
        && let Err(error) = rustix::net::sockopt::set_socket_recv_buffer_size_force(&socket, room)
    {
        tracing::warn!("rtnetlink: the socket stays small ({error}); it takes CAP_NET_ADMIN to enlarge it");
    }
    rustix::net::bind(&socket, &SocketAddrNetlink::new(0, groups)).map_err(system)?;
    Ok(socket)
}

/// Follows the kernel.
struct Follower<C> {
    changes: OwnedFd,
    filter: Filter,
    queue: Arc<Queue<C>>,
    session: u32,
    known: Known,
    /// The MTU of IPv6 of each link, which the kernel does not tell when it changes.
    ipv6_mtus: HashMap<u32, Option<u32>>,
    /// When links are looked at again for it.
    look_at: Instant,
}

impl<C> Follower<C> {
    fn new(filter: Filter, room: usize, queue: Arc<Queue<C>>) -> Result<Self, Error> {
        let changes = open(GROUPS, Some(room))?;
        let (known, ipv6_mtus, look_at) = (Known::default(), HashMap::new(), Instant::now() + PAUSE);
        Ok(Self { changes, filter, queue, session: 0, known, ipv6_mtus, look_at })
    }

    fn run(&mut self) {
        loop {
            self.session += 1;
            let session = Session { feed: Feed::Kernel, number: self.session };
            if let Err(error) = self.dump(session).and_then(|()| self.follow(session)) {
                tracing::error!("{error}; asking for everything again");
                thread::sleep(Duration::from_secs(1));
            }
        }
    }

    /// Reads everything that there is.
    fn dump(&mut self, session: Session) -> Result<(), Error> {
        self.drain()?;
        self.queue.fill(|batch| batch.marks.push(Mark::Begun(session)));
        self.known.begin();
        self.tell_rules()?;
        for what in DUMPS {
            let mut attempt = 1;
            while !self.dump_one(session, what)? {
                if attempt == ATTEMPTS {
                    self.known.ask_again_in(PAUSE);
                    break;
                }
                attempt += 1;
            }
        }
        self.queue.fill(|batch| batch.marks.push(Mark::Complete(session)));
        Ok(())
    }

    /// Reads the rules.
    fn tell_rules(&self) -> Result<(), Error> {
        let rules = rules()?;
        self.queue.fill(|batch| batch.rules = Some(rules));
        Ok(())
    }

    /// Forgets what was told and not read yet.
    fn drain(&self) -> Result<(), Error> {
        let mut buffer = vec![0; 1 << 16];
        loop {
            match rustix::net::recv(&self.changes, &mut buffer[..], RecvFlags::DONTWAIT) {
                Ok(_) | Err(Errno::NOBUFS | Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(()),
                Err(error) => return Err(Error::io("rtnetlink", error)),
            }
        }
    }

    /// Reads one kind of thing. Returns whether nothing changed in the meantime.
    fn dump_one(&mut self, session: Session, what: Dump) -> Result<bool, Error> {
        let mut is_consistent = true;
        self.known.begin_kind();
        dump(what, |bytes| self.read(session, bytes, true, &mut is_consistent))?;
        Ok(is_consistent)
    }

    /// Reads changes until some were lost.
    fn follow(&mut self, session: Session) -> Result<(), Error> {
        let mut buffer = vec![0; 1 << 16];
        loop {
            if !self.is_told(session)? {
                return Ok(());
            }
            let count = match rustix::net::recv(&self.changes, &mut buffer[..], RecvFlags::empty()) {
                Ok((count, _)) => count,
                Err(Errno::NOBUFS) => {
                    tracing::warn!("rtnetlink: the kernel lost changes; asking for everything again");
                    return Ok(());
                }
                Err(Errno::INTR) => continue,
                Err(error) => return Err(Error::io("rtnetlink", error)),
            };
            if let End::Again = self.read(session, &buffer[..count], false, &mut true) {
                return Ok(());
            }
        }
    }

    /// Waits for a change. Returns false if everything is to be asked for before there is one.
    fn is_told(&mut self, session: Session) -> Result<bool, Error> {
        loop {
            let (now, ask_at) = (Instant::now(), self.known.ask_at());
            if ask_at.is_some_and(|at| at <= now) {
                return Ok(false);
            }
            // However many changes come.
            if self.look_at <= now {
                self.look_at_links(session)?;
            }
            let at = ask_at.map_or(self.look_at, |at| at.min(self.look_at));
            let left = Timespec::try_from(at.saturating_duration_since(now)).ok();
            match poll(&mut [PollFd::new(&self.changes, PollFlags::IN)], left.as_ref()) {
                Ok(0) | Err(Errno::INTR) => {}
                Ok(_) => return Ok(true),
                Err(error) => return Err(Error::io("rtnetlink", error)),
            }
        }
    }

    /// Tells the links whose MTU of IPv6 is another one, or that have IPv6 now or not any more.
    fn look_at_links(&mut self, session: Session) -> Result<(), Error> {
        let now = Instant::now();
        self.look_at = now + PAUSE;
        let mut links = links()?;
        links.retain(|index, link| self.ipv6_mtus.insert(*index, link.ipv6_mtu) != Some(link.ipv6_mtu));
        if !links.is_empty() {
            let events = links.into_iter().map(|(index, link)| Event::Link { index, link: Some(link) });
            self.queue.add(session, now, 0, events);
        }
        Ok(())
    }

    /// Reads a datagram into the queue.
    fn read(&mut self, session: Session, bytes: &[u8], is_dump: bool, is_consistent: &mut bool) -> End {
        let arrived = Instant::now();
        let mut messages = Messages::new(bytes);
        let (mut events, mut ignored, mut end) = (Vec::new(), 0, End::None);
        let mut have_rules_changed = false;
        while let Some(message) = messages.next() {
            if messages.about_route().is_local {
                let conf = Conf { has_local_routes: Some(true), ..Conf::default() };
                events.push(Event::Conf { interface: None, family: Family::Ipv4, conf });
            }
            match message {
                Ok(Message::Event(mut event)) if self.filter.takes(&event) => {
                    if let Event::Link { index, link } = &event {
                        match link {
                            Some(link) => self.ipv6_mtus.insert(*index, link.ipv6_mtu),
                            None => self.ipv6_mtus.remove(index),
                        };
                    }
                    let flags = (!is_dump).then(|| messages.flags());
                    let is_whole = self.filter.protocols.is_empty();
                    match self.known.fate(&mut event, flags, messages.about_route(), is_whole) {
                        Fate::Taken => events.push(event),
                        Fate::Left => ignored += 1,
                        Fate::Again => end = End::Again,
                    }
                }
                Ok(Message::Done) => end = End::Done,
                Ok(Message::Answer(code)) if code != 0 => end = End::Failed(code),
                Ok(Message::Overrun | Message::AddressGone) => end = End::Again,
                Ok(Message::RuleChanged) => have_rules_changed = true,
                Ok(_) => ignored += 1,
                // The kernel's messages are well formed. What cannot be read is new to us.
                Err(error) => {
                    tracing::warn!("rtnetlink: {error}");
                    ignored += 1;
                }
            }
        }
        *is_consistent &= !messages.was_interrupted();
        self.queue.add(session, arrived, ignored, events.into_iter());
        if have_rules_changed && self.tell_rules().is_err() {
            end = End::Again;
        }
        end
    }
}

/// Asks the kernel for everything of a kind, and passes its datagrams on until one says that it is
/// the last.
fn dump((kind, header, family): Dump, mut read: impl FnMut(&[u8]) -> End) -> Result<(), Error> {
    let system = |error: Errno| Error::io(format!("rtnetlink: dump of kind {kind}"), error);
    let socket = open(0, None)?;
    let length = crate::message::HEADER + header;
    let mut request = Vec::with_capacity(length);
    request.extend((length as u32).to_ne_bytes());
    request.extend(kind.to_ne_bytes());
    request.extend((NLM_F_REQUEST | NLM_F_DUMP).to_ne_bytes());
    request.extend([0; 8]);
    request.push(family);
    request.resize(length, 0);
    rustix::net::send(&socket, &request, SendFlags::empty()).map_err(system)?;
    let mut buffer = vec![0; 1 << 16];
    loop {
        let (count, _) = rustix::net::recv(&socket, &mut buffer[..], RecvFlags::empty()).map_err(system)?;
        match read(&buffer[..count]) {
            End::Done => return Ok(()),
            // Linux before 5.3 has no next-hop objects, and some kernels have no bridges.
            End::Failed(code) if code == Errno::OPNOTSUPP.raw_os_error() => return Ok(()),
            End::Failed(code) => return Err(system(Errno::from_raw_os_error(code))),
            End::None | End::Again => {}
        }
    }
}

/// Returns the links of this network namespace, by their indices.
///
/// # Errors
/// If the kernel does not tell.
pub(crate) fn links() -> Result<BTreeMap<u32, Link>, Error> {
    let mut links = BTreeMap::new();
    dump(LINKS, |bytes| {
        let mut end = End::None;
        for message in Messages::new(bytes) {
            match message {
                Ok(Message::Event(Event::Link { index, link: Some(link) })) => {
                    drop(links.insert(index, link));
                }
                Ok(Message::Done) => end = End::Done,
                Ok(Message::Answer(code)) if code != 0 => end = End::Failed(code),
                _ => {}
            }
        }
        end
    })?;
    Ok(links)
}

/// How a datagram ended.
enum End {
    /// There is more.
    None,
    /// The dump is whole.
    Done,
    /// The kernel refuses, with this `errno`.
    Failed(i32),
    /// Everything must be asked for again.
    Again,
}

/// Returns what asks the kernel to resolve a neighbour, or to see whether it is still there.
///
/// # Errors
/// If the kernel gives no socket.
pub fn asker() -> Result<Asker, Error> {
    let socket = open(0, None)?;
    Ok(Box::new(move |interface, address| {
        let mut message = NeighbourMessage::default();
        let (family, address) = match address {
            IpAddr::V4(address) => (AddressFamily::Inet, NeighbourAddress::Inet(address)),
            IpAddr::V6(address) => (AddressFamily::Inet6, NeighbourAddress::Inet6(address)),
        };
        (message.header.family, message.header.ifindex) = (family, interface);
        message.header.flags = NeighbourFlags::Use;
        message.attributes = vec![NeighbourAttribute::Destination(address)];
        let payload = NetlinkPayload::InnerMessage(RouteNetlinkMessage::NewNeighbour(message));
        let mut message = NetlinkMessage::new(NetlinkHeader::default(), payload);
        message.header.flags = NLM_F_REQUEST | NLM_F_CREATE;
        message.finalize();
        let mut bytes = vec![0; message.buffer_len()];
        message.serialize(&mut bytes);
        let sent = rustix::net::send(&socket, &bytes, SendFlags::empty());
        sent.map(drop).map_err(|error| Error::io("rtnetlink: a question for a neighbour", error))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn what_was_told_before_a_dump_is_not_read_after_it() {
        // A network namespace of this thread's own.
        if nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWNET).is_err() {
            eprintln!("skipped: it takes root");
            return;
        }
        let filter = Filter { routes: true, tables: Vec::new(), protocols: Vec::new() };
        let mut follower = Follower::<()>::new(filter, ROOM, Arc::default()).unwrap();
        let ip = |arguments: &str| {
            assert!(Command::new("ip").args(arguments.split(' ')).status().unwrap().success(), "{arguments}");
        };
        ip("link set lo up");
        ip("route add 192.0.2.0/24 dev lo");
        let is_told = |follower: &Follower<()>| {
            let flags = RecvFlags::DONTWAIT | RecvFlags::PEEK;
            rustix::net::recv(&follower.changes, &mut [0; 16][..], flags).is_ok()
        };
        assert!(is_told(&follower));
        follower.dump(Session { feed: Feed::Kernel, number: 1 }).unwrap();
        assert!(!is_told(&follower), "the dump is newer");
        ip("route del 192.0.2.0/24 dev lo");
        assert!(is_told(&follower), "what comes after it is read");
    }
}
