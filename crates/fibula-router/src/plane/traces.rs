//! What becomes of packets that somebody looks for.

use super::Adjacency;
use crate::acl::{Line, Packet};
use fibula::NextHop;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// The packets that somebody looks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// What they match; any packet if there is none, also one that is not of IP.
    pub line: Option<Line>,
    /// The kernel's index of the interface that they come in by, as routes name it.
    pub interface: Option<u32>,
    /// Why they went where they went, as counters name it; for any reason if there is none.
    pub reasons: Vec<String>,
}

/// Where a packet went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Out by an interface.
    Forwarded,
    /// To the kernel, as it came.
    ToKernel,
    /// Nowhere.
    Dropped,
}

/// What a line of an ACL said of a packet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AclTrace {
    /// The name of the ACL.
    pub acl: String,
    /// The number of the line in its file; `None` if no line matched.
    pub number: Option<usize>,
    /// The line.
    pub line: Option<String>,
    /// Whether it lets the packet pass.
    pub permits: bool,
}

/// What became of a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// When it came, since 1970, nanoseconds.
    pub time_ns: u64,
    /// The kernel's index of the interface that it came in by, as routes name it.
    pub interface: u32,
    /// That interface as counters name it, with the tag of a VLAN.
    pub label: String,
    /// The length of the frame from its Ethernet header on, in bytes.
    pub bytes: u32,
    /// Its first bytes, as it came.
    pub frame: Vec<u8>,
    /// What an ACL would look at: of the packet in a tunnel, once that was taken out. `None` if the
    /// packet is not of IP, or not whole.
    pub packet: Option<Packet>,
    /// What the interface's ACL said.
    pub acl: Option<AclTrace>,
    /// The next hop of the route to its source, if that was looked up.
    pub source: Option<NextHop>,
    /// The id of the table that it was looked up in.
    pub table: u32,
    /// The next hop of the route to its destination, if that was looked up: 0 without a route.
    pub next_hop: Option<NextHop>,
    /// The leg of the route that its flow takes.
    pub leg: Option<Adjacency>,
    /// Why it went where it went, as counters name it.
    pub reason: Cow<'static, str>,
    /// Where it went.
    pub outcome: Outcome,
}
