//! What becomes of packets that somebody looks for, with the routes that say so.
//!
//! One looks at a time. They ask again and again, and the plane tells nothing any more two seconds
//! after they asked last: who goes without a word costs nothing for long.

use super::{Control, RouteRow};
use crate::Error;
use crate::acl::{Line, Packet};
use crate::plane::{AclTrace, Adjacency, Outcome, Plane, Trace, Wanted};
use fibula::{ErrorKind, NextHop};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::VecDeque;
use std::fmt::Write as _;
use std::net::IpAddr;
use std::time::{Duration, Instant};

/// How long after the last question the plane tells nothing any more.
const PATIENCE: Duration = Duration::from_secs(2);

/// How many packets an answer has at most; others wait for the next question.
const PACKETS_MAX: usize = 512;

/// The packets that somebody looks for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LookFor {
    /// What they match: as a line of an ACL, without the word that permits or denies them.
    pub filter: Option<String>,
    /// The name of the interface that they come in by.
    pub interface: Option<String>,
    /// Why they went where they went, as counters name it; none means any reason.
    pub reasons: Vec<String>,
}

/// What somebody looks for.
#[derive(Debug)]
pub(super) struct Traced {
    what: LookFor,
    pub(super) until: Instant,
    /// What the next answers have.
    waiting: VecDeque<TraceRow>,
}

/// A packet by its headers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PacketRow {
    /// Its source.
    pub source: IpAddr,
    /// Its destination.
    pub destination: IpAddr,
    /// Its protocol, behind extension headers.
    pub protocol: u8,
    /// Its ports, of source and destination.
    pub ports: Option<[u16; 2]>,
    /// Its length from the IP header on, in bytes.
    pub length: u16,
}

/// Where a packet's flow is sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentRow {
    /// The name of the interface that sends; `None` if the neighbour is not resolved.
    pub interface: Option<String>,
    /// The MAC address of the neighbour.
    pub neighbour: Option<String>,
    /// The VLAN tag that is pushed.
    pub vlan: Option<u16>,
}

/// What became of a packet, step by step. What was not asked is `None`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceRow {
    /// When it came, since 1970, nanoseconds.
    pub time_ns: u64,
    /// The interface that it came in by, as counters name it.
    pub interface: String,
    /// The length of its frame, in bytes.
    pub bytes: u32,
    /// The first bytes of the frame, as it came, in hexadecimal digits.
    pub frame: String,
    /// Its headers, if it is of IP and whole; those of the packet in a tunnel that was taken out.
    pub packet: Option<PacketRow>,
    /// What the interface's ACL said.
    pub acl: Option<AclTrace>,
    /// The next hop of the route to its source, and the route.
    pub source_next_hop: Option<u32>,
    /// The route; `None` also if it leads elsewhere by now.
    pub source_route: Option<RouteRow>,
    /// The id of the table that it was looked up in.
    pub table: u32,
    /// The next hop of the route to its destination; 0 without a route.
    pub next_hop: Option<u32>,
    /// The route; `None` also if it leads elsewhere by now.
    pub route: Option<RouteRow>,
    /// The leg of the route that its flow takes.
    pub sent: Option<SentRow>,
    /// Why it went where it went, as counters name it.
    pub reason: Cow<'static, str>,
    /// Where it went.
    pub outcome: Outcome,
}

/// Packets that somebody looks for, since they asked last.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traces {
    /// The packets in the order in which each processor met them.
    pub packets: Vec<TraceRow>,
    /// How many were left out since the beginning, because there was no room.
    pub lost: u64,
}

impl<P: Plane> Control<P> {
    /// Returns what became of packets that somebody looks for since they asked last. The first time
    /// that is none: the plane begins to tell.
    ///
    /// # Errors
    /// If somebody looks for others, something of `what` is not known, or the plane does not tell.
    pub fn trace(&mut self, what: &LookFor, now: Instant) -> Result<Traces, Error> {
        let usage = |text: String| fibula::Error::new(ErrorKind::Usage, text);
        if self.traced.as_ref().is_some_and(|traced| traced.what != *what && traced.until > now) {
            return Err(usage("another trace runs: the router tells one at a time".into()).into());
        }
        let until = now + PATIENCE;
        if let Some(traced) = self.traced.as_mut().filter(|traced| traced.what == *what) {
            traced.until = until;
        } else {
            let line = what.filter.as_deref().map(Line::about).transpose();
            let line = line.map_err(|error| usage(format!("the filter: {error}")))?;
            let interface = what.interface.as_ref().map(|name| {
                let found = self.adjacencies.links().find(|(_, link)| link.name == *name);
                found.map(|found| found.0).ok_or_else(|| usage(format!("there is no interface {name}")))
            });
            let wanted = Wanted { line, interface: interface.transpose()?, reasons: what.reasons.clone() };
            self.plane.look_for(Some(&wanted))?;
            self.traced = Some(Traced { what: what.clone(), until, waiting: VecDeque::new() });
            return Ok(Traces::default());
        }
        let (traces, lost) = self.plane.traces()?;
        let rows: Vec<TraceRow> = traces.into_iter().map(|trace| self.trace_row(trace)).collect();
        let Some(traced) = &mut self.traced else { return Ok(Traces::default()) };
        traced.waiting.extend(rows);
        let count = traced.waiting.len().min(PACKETS_MAX);
        Ok(Traces { packets: traced.waiting.drain(..count).collect(), lost })
    }

    /// Ends what [`trace`](Self::trace) began.
    ///
    /// # Errors
    /// If the kernel fails. It is tried again.
    pub fn end_trace(&mut self) -> Result<(), Error> {
        if self.traced.is_some() {
            self.plane.look_for(None)?;
            self.traced = None;
        }
        Ok(())
    }

    /// Ends a trace that nobody has asked for since.
    pub(super) fn end_forgotten_trace(&mut self, now: Instant) {
        let Some(traced) = self.traced.as_mut().filter(|traced| now >= traced.until) else { return };
        traced.until = now + PATIENCE;
        if let Err(error) = self.end_trace() {
            tracing::error!("a trace goes on: {error}");
        }
    }

    fn trace_row(&self, trace: Trace) -> TraceRow {
        let Trace { time_ns, interface: _, label, bytes, frame, packet, acl, source, table, .. } = trace;
        let route = |address: Option<IpAddr>, next_hop: Option<NextHop>| {
            let route = self.lookup(table, address?).route?;
            (route.next_hop == next_hop?.0).then_some(route)
        };
        let address = |at: usize| packet.map(|packet| packet.addresses[at]);
        let sent = trace.leg.map(|leg| match leg {
            Adjacency::Unresolved { .. } => SentRow { interface: None, neighbour: None, vlan: None },
            Adjacency::Resolved { interface, destination, vlan, .. } => SentRow {
                interface: Some(self.adjacencies.link_name(interface)),
                neighbour: Some(destination.map(|byte| format!("{byte:02x}")).join(":")),
                vlan,
            },
        });
        let packet_row = |Packet { addresses: [source, destination], protocol, ports, length }| PacketRow {
            source,
            destination,
            protocol,
            ports,
            length,
        };
        let mut digits = String::with_capacity(2 * frame.len());
        for byte in &frame {
            // A string takes all that is written to it.
            let _ = write!(digits, "{byte:02x}");
        }
        TraceRow {
            time_ns,
            interface: label,
            bytes,
            frame: digits,
            packet: packet.map(packet_row),
            acl,
            source_next_hop: source.map(|next_hop| next_hop.0),
            source_route: route(address(0), source),
            table,
            next_hop: trace.next_hop.map(|next_hop| next_hop.0),
            route: route(address(1), trace.next_hop),
            sent,
            reason: trace.reason,
            outcome: trace.outcome,
        }
    }
}
