//! [`Plane`]: what forwards packets, and the few things that it must be told.
//!
//! A route leads to a next hop, a next hop to an [`Action`], and an action to adjacencies. A change
//! of a neighbour or of a link writes one adjacency. It touches no route.
//!
//! ```text
//! (table, address) ── longest match ──▶ next hop ──▶ action ─┬─▶ drop, refuse, to the kernel
//!                                                            └─▶ buckets ──▶ adjacency
//! adjacency = interface, both MAC addresses, MTU
//! ```

pub mod memory;
mod traces;
#[cfg(all(feature = "daemon", target_os = "linux"))]
pub mod xdp;

pub use traces::{AclTrace, Outcome, Trace, Wanted};

use crate::acl::Acl;
use fibula::{Delta, ErrorKind, NextHop, Rib};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::net::Ipv4Addr;

/// The index of an adjacency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AdjacencyId(pub u32);

/// A neighbour on a link, as a packet needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Adjacency {
    /// The neighbour's MAC address is not known, or the link is down. The kernel gets the packet,
    /// so that it resolves the neighbour or answers with an ICMP error.
    Unresolved {
        /// The index of the interface that routes name; 0 if they name none.
        routed: u32,
    },
    /// The packet leaves by `interface`.
    Resolved {
        /// The kernel's index of the interface that sends.
        interface: u32,
        /// The index of the one that routes name: the same, or a VLAN or a bridge on it.
        routed: u32,
        /// The MAC address of that interface.
        source: [u8; 6],
        /// The MAC address of the neighbour.
        destination: [u8; 6],
        /// The VLAN tag to push, if the interface is a VLAN of another.
        vlan: Option<u16>,
        /// The greatest length of a packet from its IP header on, in bytes.
        mtu: u16,
    },
}

/// What happens to packets of a next hop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// The kernel gets the packet: local addresses, `unreachable` and `prohibit` routes (the kernel
    /// answers with ICMP).
    ToKernel,
    /// The kernel gets the packet, and sends it by the interfaces of these adjacencies: on-link
    /// destinations that have no host route, routes with an MTU of their own. Sources that such a
    /// route leads to may come by these interfaces. As many as in [`Forward`](Self::Forward).
    ByKernel(Vec<AdjacencyId>),
    /// The packet is dropped without an answer.
    Drop,
    /// The packet goes to one of these adjacencies, chosen by a hash of its flow. The length is a
    /// power of two, at most [`BUCKETS_MAX`]. A leg has buckets in proportion to its weight. When
    /// a leg goes, only its buckets change, so flows of other legs stay where they are.
    Forward(Vec<AdjacencyId>),
}

/// The greatest number of buckets of an action.
pub const BUCKETS_MAX: usize = 256;

/// What the kernel forwards of the packets that come in by an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Whether it forwards IPv4.
    pub ipv4: bool,
    /// Whether it forwards IPv6.
    pub ipv6: bool,
    /// What sources of IPv4 it lets in.
    pub reverse_path: ReversePath,
    /// Whether it lets none in of IPv4 that a route leads to which is not of unicast: an address of
    /// its own, a blackhole, an error.
    pub unicast_sources: bool,
}

/// What sources packets may have that come in by an interface: the check of RFC 3704, section 2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReversePath {
    /// Any.
    #[default]
    Off,
    /// Those that a route leads to, the default route too, if it does not drop.
    Loose,
    /// Those that a route leads to by this interface.
    Strict,
}

impl Rules {
    /// Returns whether it looks at sources of IPv4.
    #[must_use]
    pub fn checks_sources(self) -> bool {
        self.reverse_path != ReversePath::Off || self.unicast_sources
    }
}

impl Default for Rules {
    /// It forwards both, from any source.
    fn default() -> Self {
        Self { ipv4: true, ipv6: true, reverse_path: ReversePath::Off, unicast_sources: false }
    }
}

/// Changes of one table in one family. The table already holds them.
#[derive(Clone, Copy, Debug)]
pub enum Routes<'a> {
    /// IPv4.
    V4(&'a Rib<u32>, &'a [Delta<u32>]),
    /// IPv6.
    V6(&'a Rib<u128>, &'a [Delta<u128>]),
}

/// Packets that a plane counted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counter {
    /// What was counted, as in `forwarded`.
    pub name: Cow<'static, str>,
    /// Of what, if not of the whole plane: an interface, a next hop or a reason.
    pub label: Option<String>,
    /// The number of packets.
    pub packets: u64,
    /// The sum of their lengths, in bytes.
    pub bytes: u64,
}

/// The beginning of a packet's frame, as it came in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// The kernel's index of the interface that routes name.
    pub interface: u32,
    /// The length of the frame from its Ethernet header on, in bytes.
    pub bytes: u32,
    /// Its first bytes.
    pub frame: Vec<u8>,
}

/// What forwards packets.
///
/// The order of calls keeps every packet on a path that some route allows: an adjacency is set
/// before the action that names it, an action before the route that leads to it. An index is used
/// for something else only after a [grace period](Self::grace_period) since the last call that
/// dropped it.
pub trait Plane {
    /// Sets an adjacency. Packets see the old one or the new one.
    ///
    /// # Errors
    /// If `id` exceeds the plane's limit, or the kernel fails.
    fn set_adjacency(&mut self, id: AdjacencyId, adjacency: Adjacency) -> Result<(), crate::Error>;

    /// Sets the action of a next hop. Packets see the old one or the new one.
    ///
    /// # Errors
    /// As [`set_adjacency`](Self::set_adjacency).
    fn set_action(&mut self, next_hop: NextHop, action: &Action) -> Result<(), crate::Error>;

    /// Applies changes of a table. Packets see each route as it was before or as it is after.
    ///
    /// # Errors
    /// If the table no longer fits. The plane then answers as before, and the caller takes the
    /// changes back or goes on without them.
    fn apply(&mut self, table: u32, routes: Routes<'_>) -> Result<(), crate::Error>;

    /// Says whether an IPv4 address is one of this machine's. No packet that claims to come from it
    /// is forwarded: the kernel gets it.
    fn set_own_address(&mut self, address: Ipv4Addr, is_own: bool) {
        let _ = (address, is_own);
    }

    /// Says what the kernel forwards of the packets that come in by an interface, by its index.
    /// What it does not forward is handed to it.
    ///
    /// # Errors
    /// If the kernel fails.
    fn set_rules(&mut self, interface: u32, rules: Rules) -> Result<(), crate::Error> {
        let _ = (interface, rules);
        Ok(())
    }

    /// Puts ACLs in the place of those of the same names, in the same order. A packet meets all
    /// of the old or all of the new. What was counted of a line that stays goes on.
    ///
    /// # Errors
    /// If there are other names, or the kernel fails. The old ones hold then.
    fn set_acls(&mut self, acls: Vec<Acl>) -> Result<(), crate::Error> {
        let _ = acls;
        Ok(())
    }

    /// Waits until no packet uses what was replaced before the call.
    ///
    /// # Errors
    /// If the kernel fails.
    fn grace_period(&mut self) -> Result<(), crate::Error>;

    /// Publishes what was told to a plane that has never forwarded yet, or that took over from
    /// another process: from now on packets meet the new tables.
    ///
    /// # Errors
    /// If the kernel fails; whatever forwarded before goes on.
    fn start(&mut self) -> Result<(), crate::Error>;

    /// Follows neighbours and links before the start, in what an earlier process left forwarding:
    /// the kernel gets the packets of an adjacency that is not there any more.
    fn follow_inherited(&mut self, is_there: &dyn Fn(&Adjacency) -> bool) {
        let _ = is_there;
    }

    /// Looks whether the plane is still attached to its interfaces, and attaches it again where it
    /// is not: an interface may go and come back under its name, or have another MAC address. Tells
    /// of each interface what is wrong; `None` where nothing is. A plane that was not started has
    /// none.
    fn watch(&mut self) -> Vec<(String, Option<String>)> {
        Vec::new()
    }

    /// Keeps the number of routes that daemons have told, for the process that takes over from this
    /// one.
    fn remember(&mut self, routes: usize) {
        let _ = routes;
    }

    /// Returns the number that an earlier process kept; 0 if there was none.
    fn remembered(&self) -> usize {
        0
    }

    /// Returns how often what forwards was replaced as a whole, since this process has it.
    fn generation(&self) -> u64 {
        0
    }

    /// Returns the samples since the last call, and how many found no room so far.
    ///
    /// # Errors
    /// If the kernel fails.
    fn samples(&mut self) -> Result<(Vec<Sample>, u64), crate::Error> {
        Ok((Vec::new(), 0))
    }

    /// Begins to tell what becomes of packets that somebody looks for, in place of those before;
    /// ends that with `None`.
    ///
    /// # Errors
    /// If a reason is not known, the plane tells nothing of packets or forwards none yet, or the
    /// kernel fails.
    fn look_for(&mut self, wanted: Option<&Wanted>) -> Result<(), crate::Error> {
        let text = "this plane does not tell what becomes of packets: the plane `xdp` does";
        wanted.map_or(Ok(()), |_| Err(fibula::Error::new(ErrorKind::Usage, text).into()))
    }

    /// Returns what became of packets that somebody looks for since the last call, and how many
    /// were left out so far because there was no room.
    ///
    /// # Errors
    /// If the kernel fails.
    fn traces(&mut self) -> Result<(Vec<Trace>, u64), crate::Error> {
        Ok((Vec::new(), 0))
    }

    /// Returns lines that say how it forwards.
    fn facts(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns what was counted since the plane first forwarded.
    ///
    /// # Errors
    /// If the kernel fails.
    fn counters(&self) -> Result<Vec<Counter>, crate::Error> {
        Ok(Vec::new())
    }
}
