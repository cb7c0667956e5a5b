//! Netlink messages as plain [`Event`]s.
//!
//! `netlink-packet-route` reads routes, links and neighbours. It does not know next-hop objects,
//! which [`next_hop`] reads. What a router has no use for (multicast routes, other families) is
//! [`Message::Other`]. No byte from outside panics.

mod conf;
mod link;
mod neighbour;
mod next_hop;
mod route;

pub use conf::Conf;
pub use link::{Kind, Link, Vlan};
pub use neighbour::Neighbour;
pub use next_hop::Object;
pub use route::{Leg, Selector, Target};

use fibula::{Family, IpPrefix};
use netlink_packet_core::{NLM_F_DUMP_INTR, NetlinkBuffer, ParseableParametrized};
use netlink_packet_route::RouteNetlinkMessage as Known;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;
use std::time::Duration;

/// The length of a netlink message's header, in bytes.
pub(crate) const HEADER: usize = 16;

const ERROR: u16 = 2;
const DONE: u16 = 3;
const OVERRUN: u16 = 4;
const DELETE_ADDRESS: u16 = 21;
const NEW_RULE: u16 = 32;
const DELETE_RULE: u16 = 33;
const NEW_CONF: u16 = 80;
const NEW_NEXT_HOP: u16 = 104;
const DELETE_NEXT_HOP: u16 = 105;

/// Something changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A route, or its end where there is no target.
    Route {
        /// The id of the table.
        table: u32,
        /// The destination.
        prefix: IpPrefix,
        /// The metric (the kernel's priority): the lowest wins.
        metric: u32,
        /// Who made the route, as `rtm_protocol` says it: 2 is the kernel, 186 is BGP.
        protocol: u8,
        /// Where it leads.
        target: Option<Target>,
    },
    /// The end of a route that led there. Another one of its prefix and metric stays. A message
    /// alone does not say this, but [`kernel`](crate::feed::kernel) does.
    Gone {
        /// The id of the table.
        table: u32,
        /// The destination.
        prefix: IpPrefix,
        /// The metric.
        metric: u32,
        /// Where it led.
        was: Target,
    },
    /// A route for some packets to a prefix alone. What becomes of packets to that prefix is for
    /// the kernel to say.
    Partial {
        /// The id of the table.
        table: u32,
        /// The destination.
        prefix: IpPrefix,
        /// The metric.
        metric: u32,
        /// Who made the route.
        protocol: u8,
        /// The packets.
        selector: Selector,
        /// The ways that it names, if any; `None` if it is gone.
        legs: Option<Box<[Leg]>>,
    },
    /// A next-hop object, or its end.
    Object {
        /// The id that routes and groups name.
        id: u32,
        /// The leg, group or action that the id names; `None` if the object is gone.
        object: Option<Object>,
    },
    /// A network interface, or its end.
    Link {
        /// The kernel's index of the interface.
        index: u32,
        /// Its state.
        link: Option<Link>,
    },
    /// A neighbour, or its end.
    Neighbour {
        /// The kernel's index of the interface that leads to it.
        interface: u32,
        /// Its IP address.
        address: IpAddr,
        /// What is known of it.
        neighbour: Option<Neighbour>,
    },
    /// A station behind a bridge, or its end.
    Station {
        /// The kernel's index of the bridge.
        bridge: u32,
        /// Its MAC address.
        mac: [u8; 6],
        /// The index of the bridge's port that leads to it.
        port: Option<u32>,
    },
    /// Settings of the kernel.
    Conf {
        /// The kernel's index of the interface; `None` for all of them.
        interface: Option<u32>,
        /// The family that they are of.
        family: Family,
        /// What is said of them.
        conf: Conf,
    },
}

/// A rule of the kernel (`ip rule`) that is not one of its own.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Rule {
    /// The lowest is asked first.
    pub priority: u32,
    /// Whether it is for packets of IPv6; else for those of IPv4.
    pub ipv6: bool,
    /// The name of the interface that they come in by, if the rule says one.
    pub interface: Option<String>,
    /// The id of the table that they are looked up in, if the rule is for all of them.
    pub table: Option<u32>,
}

/// One netlink message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// A change.
    Event(Event),
    /// The end of a dump.
    Done,
    /// The kernel's answer to a request: an `errno`, or 0.
    Answer(i32),
    /// The kernel lost messages.
    Overrun,
    /// An address of this machine is gone.
    AddressGone,
    /// A rule has come or gone.
    RuleChanged,
    /// A message without a meaning for a router.
    Other,
}

/// A message that is cut, or says what cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("netlink message at byte {offset}: {what}")]
pub struct Malformed {
    /// Where the message begins, in bytes from the beginning of the frame or datagram.
    pub offset: usize,
    /// What is wrong with it.
    pub what: String,
}

/// The messages of a frame or of a datagram, one after the other.
///
/// After an error in a header there are no more, because nothing says where the next one begins.
#[derive(Debug)]
pub struct Messages<'a> {
    bytes: &'a [u8],
    offset: usize,
    was_interrupted: bool,
    flags: u16,
    about_route: AboutRoute,
}

/// What a message of a route says beside the route.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AboutRoute {
    /// Where a route led that is gone.
    pub was: Option<Target>,
    /// Whether it names a next-hop object, with which the kernel removes it.
    pub names_object: bool,
    /// Whether it is one of IPv4 for this machine that somebody has made (AnyIP), in any table.
    pub is_local: bool,
    /// The router preference of IPv6 (RFC 4191): of routes with one metric the kernel takes that
    /// with the highest. -1 is low, 1 is high, and 0 is the usual one.
    pub preference: i8,
    /// How long the kernel takes a route of IPv6; 0 if it does not any more, `None` without an end.
    pub lifetime: Option<Duration>,
}

impl<'a> Messages<'a> {
    /// Returns the messages of `bytes`.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, offset: 0, was_interrupted: false, flags: 0, about_route: AboutRoute::default() }
    }

    /// Returns whether a message so far said that the dump that it is of missed a change.
    #[must_use]
    pub fn was_interrupted(&self) -> bool {
        self.was_interrupted
    }

    /// Returns the flags of the last message.
    #[must_use]
    pub fn flags(&self) -> u16 {
        self.flags
    }

    /// Returns what the last message says of its route; the default if it is of none.
    #[must_use]
    pub fn about_route(&self) -> &AboutRoute {
        &self.about_route
    }
}

impl Iterator for Messages<'_> {
    type Item = Result<Message, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        let offset = self.offset;
        let rest = self.bytes.get(offset..).filter(|rest| !rest.is_empty())?;
        let message = self.read(rest).map_err(|what| Malformed { offset, what });
        if self.offset == offset {
            self.offset = self.bytes.len();
        }
        Some(message)
    }
}

impl Messages<'_> {
    /// Reads the first message of `rest`.
    fn read(&mut self, rest: &[u8]) -> Result<Message, String> {
        let buffer = NetlinkBuffer::new_checked(rest).map_err(|error| error.to_string())?;
        let length = buffer.length() as usize;
        let payload = rest.get(HEADER..length).ok_or_else(|| format!("its length is {length}"))?;
        self.flags = buffer.flags();
        self.was_interrupted |= self.flags & NLM_F_DUMP_INTR != 0;
        self.offset += length.next_multiple_of(4);
        self.about_route = AboutRoute::default();
        message(buffer.message_type(), payload, &mut self.about_route)
    }
}

/// Reads the message of a kind.
fn message(kind: u16, payload: &[u8], about_route: &mut AboutRoute) -> Result<Message, String> {
    let event = match kind {
        DONE => return Ok(Message::Done),
        OVERRUN => return Ok(Message::Overrun),
        ERROR => {
            let code = payload.first_chunk().ok_or("an answer without a code")?;
            return Ok(Message::Answer(i32::from_ne_bytes(*code).saturating_neg()));
        }
        NEW_NEXT_HOP | DELETE_NEXT_HOP => next_hop::event(payload, kind == DELETE_NEXT_HOP)?,
        NEW_CONF => conf::event(payload)?,
        DELETE_ADDRESS => return Ok(Message::AddressGone),
        NEW_RULE | DELETE_RULE => return Ok(Message::RuleChanged),
        // RTM_*LINK, RTM_*ROUTE and RTM_*NEIGH, without the requests.
        16 | 17 | 24 | 25 | 28 | 29 => {
            match Known::parse_with_param(payload, kind).map_err(|error| error.to_string())? {
                Known::NewRoute(message) => {
                    *about_route = route::about(&message);
                    route::event(&message, false)?
                }
                Known::DelRoute(message) => {
                    *about_route = route::about(&message);
                    about_route.was = route::target_of(&message);
                    route::event(&message, true)?
                }
                Known::NewLink(message) => link::event(&message, false),
                Known::DelLink(message) => link::event(&message, true),
                Known::NewNeighbour(message) => neighbour::event(&message, false),
                Known::DelNeighbour(message) => neighbour::event(&message, true),
                _ => None,
            }
        }
        _ => None,
    };
    Ok(event.map_or(Message::Other, Message::Event))
}
