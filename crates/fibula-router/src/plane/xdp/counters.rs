//! What the program counts: packets and bytes by interface and reason, and by next hop.

use crate::Error;
use crate::plane::Outcome;
use aya::maps::{Map, PerCpuArray};

/// Why a packet went where it went, in the order of the program's counters (`bpf/packets.h`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reason {
    /// It left by a next hop.
    Forwarded,
    /// To the kernel: its route leads there.
    Local,
    /// To the kernel: no route.
    NoRoute,
    /// To the kernel: the neighbour's MAC address is not known.
    Unresolved,
    /// To the kernel: the TTL or hop limit has run out.
    Expired,
    /// To the kernel: longer than the MTU.
    TooBig,
    /// To the kernel: IPv4 options or IPv6 hop-by-hop options.
    Options,
    /// To the kernel: multicast or broadcast.
    Multicast,
    /// To the kernel: a link-local address.
    LinkLocal,
    /// To the kernel: neither IPv4 nor IPv6.
    NotIp,
    /// To the kernel: the frame is for another MAC address.
    OtherHost,
    /// Dropped: its route says so.
    Blackhole,
    /// Dropped: cut short, or its header contradicts itself.
    Malformed,
    /// To the kernel: an address that no packet between hosts has, or a source that is this
    /// machine's.
    Martian,
    /// To the kernel: a VLAN tag that no interface of the plane has.
    UnknownVlan,
    /// To the kernel: its own setting says that packets of the interface are not forwarded.
    ForwardingOff,
    /// To the kernel, which looks at the source: no route leads there by a way that it may come.
    ReversePath,
    /// Dropped: its source is none that the configuration lets in.
    Spoofed,
    /// Dropped: a line of the interface's ACL says so.
    Denied,
}

impl Reason {
    /// All reasons, in the order of the program's counters.
    pub const ALL: [Self; 19] = [
        Self::Forwarded,
        Self::Local,
        Self::NoRoute,
        Self::Unresolved,
        Self::Expired,
        Self::TooBig,
        Self::Options,
        Self::Multicast,
        Self::LinkLocal,
        Self::NotIp,
        Self::OtherHost,
        Self::Blackhole,
        Self::Malformed,
        Self::Martian,
        Self::UnknownVlan,
        Self::ForwardingOff,
        Self::ReversePath,
        Self::Spoofed,
        Self::Denied,
    ];

    /// Returns its name, as in `too_big`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Forwarded => "forwarded",
            Self::Local => "local",
            Self::NoRoute => "no_route",
            Self::Unresolved => "unresolved",
            Self::Expired => "expired",
            Self::TooBig => "too_big",
            Self::Options => "options",
            Self::Multicast => "multicast",
            Self::LinkLocal => "link_local",
            Self::NotIp => "not_ip",
            Self::OtherHost => "other_host",
            Self::Blackhole => "blackhole",
            Self::Malformed => "malformed",
            Self::Martian => "martian",
            Self::UnknownVlan => "unknown_vlan",
            Self::ForwardingOff => "forwarding_off",
            Self::ReversePath => "reverse_path",
            Self::Spoofed => "spoofed",
            Self::Denied => "denied",
        }
    }

    /// Returns where such packets go.
    #[must_use]
    pub fn outcome(self) -> Outcome {
        match self {
            Self::Forwarded => Outcome::Forwarded,
            Self::Blackhole | Self::Malformed | Self::Spoofed | Self::Denied => Outcome::Dropped,
            _ => Outcome::ToKernel,
        }
    }

    /// Returns where such packets go, in a line.
    #[must_use]
    pub fn help(self) -> &'static str {
        match self {
            Self::Forwarded => "Packets that left by a next hop",
            Self::Local => "Packets to the kernel: their route leads there",
            Self::NoRoute => "Packets to the kernel: no route",
            Self::Unresolved => "Packets to the kernel: their neighbour is not resolved, or takes none",
            Self::Expired => "Packets to the kernel: TTL or hop limit",
            Self::TooBig => "Packets to the kernel: longer than the MTU",
            Self::Options => "Packets to the kernel: IPv4 options or IPv6 hop-by-hop options",
            Self::Multicast => "Packets to the kernel: multicast or broadcast",
            Self::LinkLocal => "Packets to the kernel: a link-local address",
            Self::NotIp => "Packets to the kernel: neither IPv4 nor IPv6",
            Self::OtherHost => "Packets to the kernel: for another MAC address",
            Self::Blackhole => "Packets that were dropped: their route says so",
            Self::Malformed => "Packets that were dropped: cut short or contradictory",
            Self::Martian => "Packets to the kernel: an address that no packet between hosts has",
            Self::UnknownVlan => "Packets to the kernel: a VLAN tag that no interface has",
            Self::ForwardingOff => "Packets to the kernel: it does not forward those of the interface",
            Self::ReversePath => "Packets to the kernel: it judges their source",
            Self::Spoofed => "Packets that were dropped: uRPF refuses their source",
            Self::Denied => "Packets that were dropped: an ACL denies them",
        }
    }
}

/// Packets, and the bytes of their frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Packets.
    pub packets: u64,
    /// Bytes from the Ethernet header on.
    pub bytes: u64,
}

impl std::iter::Sum for Count {
    fn sum<I: Iterator<Item = Self>>(counts: I) -> Self {
        counts.fold(Self::default(), |sum, count| Self {
            packets: sum.packets + count.packets,
            bytes: sum.bytes + count.bytes,
        })
    }
}

/// The counts of an interface.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub(super) of: [Count; Reason::ALL.len()],
}

impl Counts {
    /// Returns the packets that came in by the interface and went where they went for this reason.
    #[must_use]
    pub fn of(&self, reason: Reason) -> Count {
        self.of[reason as usize]
    }
}

/// The reasons that an interface's counters have room for (`bpf/packets.h`).
const REASONS_MAX: usize = 32;

/// The integers of an interface's counts on one processor.
type OfPort = [u64; 2 * REASONS_MAX];

fn failed(error: &(dyn std::error::Error + 'static)) -> Error {
    Error::of_chain("read the counters", error)
}

/// The two maps of counters.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counters<'m> {
    pub(super) of_ports: &'m Map,
    pub(super) of_next_hops: &'m Map,
}

impl Counters<'_> {
    /// Returns the counts of an interface, summed over the processors.
    pub(super) fn of_port(&self, port: u16) -> Result<Counts, Error> {
        let map: PerCpuArray<_, OfPort> = self.of_ports.try_into().map_err(|error| failed(&error))?;
        let values = map.get(&port.into(), 0).map_err(|error| failed(&error))?;
        let of = |reason: usize| {
            let count = |each: &OfPort| Count { packets: each[2 * reason], bytes: each[2 * reason + 1] };
            values.iter().map(count).sum()
        };
        Ok(Counts { of: std::array::from_fn(of) })
    }

    /// Returns the counts of a next hop, summed over the processors; `None` if its packets are not
    /// counted.
    pub(super) fn of_next_hop(&self, next_hop: u32) -> Result<Option<Count>, Error> {
        let map: PerCpuArray<_, [u64; 2]> = self.of_next_hops.try_into().map_err(|error| failed(&error))?;
        if next_hop >= map.len() {
            return Ok(None);
        }
        let values = map.get(&next_hop, 0).map_err(|error| failed(&error))?;
        Ok(Some(values.iter().map(|&[packets, bytes]| Count { packets, bytes }).sum()))
    }
}

/// Sets the counts of a port to zero, for an interface that has just got it.
pub(super) fn clear(of_ports: &mut Map, port: u16) -> Result<(), Error> {
    let mut map: PerCpuArray<_, OfPort> = of_ports.try_into().map_err(|error| failed(&error))?;
    let mut values = map.get(&port.into(), 0).map_err(|error| failed(&error))?.to_vec();
    values.fill([0; 2 * REASONS_MAX]);
    let values = values.try_into().map_err(|error: std::io::Error| failed(&error))?;
    map.set(port.into(), values, 0).map_err(|error| failed(&error))
}
