//! Traces: the fates of packets that somebody looks for (`bpf/trace.h`).
//!
//! The object has two programs over the same maps: the one that forwards, and one that decides by
//! the same text and tells its decisions too. The second is loaded once somebody looks for packets,
//! and takes the place of the first until nobody does. So the first has no instruction for this.

use super::actions::decoded;
use super::counters::Reason;
use super::generation::Generation;
use super::payload::{Payload, array};
use super::{Mode, Xdp};
use crate::Error;
use crate::acl::{Line, Packet};
use crate::plane::{Trace, Wanted};
use aya::maps::{Array, MapData, MapError, PerCpuArray, RingBuf};
use fibula::{ErrorKind, IpPrefix, NextHop};
use nix::time::{ClockId, clock_gettime};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The program that tells.
const TRACED: &str = "traced";

/// The words of what is looked for, and of what is told before a frame.
const WANTED_WORDS: usize = 26;
const HEAD_WORDS: usize = 20;

/// The fields that must match.
const OF_IPV4: u32 = 1;
const OF_IPV6: u32 = 2;
const OF_PROTOCOL: u32 = 4;
const OF_PORT: [u32; 2] = [8, 16];
const OF_LENGTH: u32 = 32;
const OF_INTERFACE: u32 = 64;
const OF_ANY: u32 = 128;

/// The steps that a packet went.
const BY_ACL: u32 = 1;
const BY_SOURCE: u32 = 2;
const BY_ROUTE: u32 = 4;
const BY_LEG: u32 = 8;

/// A line of an ACL as the program tells it: whether it permits, above its index.
const PERMITTED: u32 = 1 << 16;

/// What is looked for, as the program reads it.
type Words = [u32; WANTED_WORDS];

/// A ring of traces.
pub(super) struct Ring(RingBuf<MapData>);

impl fmt::Debug for Ring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Ring").finish_non_exhaustive()
    }
}

/// Packets that somebody looks for.
#[derive(Debug)]
pub(super) struct Tracing {
    words: Words,
    /// What an earlier generation told, and how many found no room there.
    traces: Vec<Trace>,
    lost: u64,
    /// How many had found no room before.
    lost_before: u64,
}

fn failed(error: &MapError) -> Error {
    Error::of_chain("read traces", error)
}

/// Returns when the clock of the programs began, since 1970, in nanoseconds.
fn clock_began_ns() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let since = clock_gettime(ClockId::CLOCK_MONOTONIC).map(Duration::from).unwrap_or_default();
    now.saturating_sub(since).as_nanos() as u64
}

/// Returns an address and a mask as a packet has them, in words.
fn masked(prefix: IpPrefix) -> [[u32; 4]; 2] {
    let (address, mask) = match prefix {
        IpPrefix::V4(prefix) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(prefix.len())).unwrap_or(0);
            // IPv4 has the first word.
            (u128::from(prefix.first()) << 96, u128::from(mask) << 96)
        }
        IpPrefix::V6(prefix) => {
            (prefix.first(), u128::MAX.checked_shl(128 - u32::from(prefix.len())).unwrap_or(0))
        }
    };
    [address, mask].map(|bits| {
        let bytes = bits.to_be_bytes();
        std::array::from_fn(|word| u32::from_ne_bytes(array(&bytes, 4 * word).expect("it has four words")))
    })
}

/// Returns what the program reads of what is looked for.
fn words(wanted: &Wanted) -> Result<Words, Error> {
    let mut reasons = if wanted.reasons.is_empty() { u32::MAX } else { 0 };
    for name in &wanted.reasons {
        let found = Reason::ALL.into_iter().find(|reason| reason.name() == name);
        let names = || Reason::ALL.map(Reason::name).join(", ");
        let text = || format!("there is no reason {name}: expected one of {}", names());
        reasons |= 1 << found.ok_or_else(|| fibula::Error::new(ErrorKind::Usage, text()))? as u32;
    }
    let mut words = [0; WANTED_WORDS];
    let mut fields = 0;
    if let Some(Line { protocol, prefixes, ports, length, .. }) = &wanted.line {
        for (side, (prefix, ports)) in prefixes.iter().zip(ports).enumerate() {
            let at = 4 + 10 * side;
            if let Some(prefix) = prefix {
                fields |= if matches!(prefix, IpPrefix::V4(_)) { OF_IPV4 } else { OF_IPV6 };
                let [address, mask] = masked(*prefix);
                words[at + 2..at + 6].copy_from_slice(&address);
                words[at + 6..at + 10].copy_from_slice(&mask);
            }
            if let Some(ports) = ports {
                fields |= OF_PORT[side];
                (words[at], words[at + 1]) = ((*ports.start()).into(), (*ports.end()).into());
            }
        }
        if let Some(protocol) = *protocol {
            fields |= OF_PROTOCOL;
            words[2] = protocol.into();
        }
        if *length != (0..=u16::MAX) {
            fields |= OF_LENGTH;
            (words[24], words[25]) = ((*length.start()).into(), (*length.end()).into());
        }
    } else {
        fields |= OF_ANY;
    }
    if let Some(interface) = wanted.interface {
        fields |= OF_INTERFACE;
        words[3] = interface;
    }
    (words[0], words[1]) = (fields, reasons);
    Ok(words)
}

/// Reads a packet of a frame from its IP header on.
fn packet(bytes: &[u8]) -> Option<Packet> {
    let is_ipv4 = bytes.first()? >> 4 == 4;
    let payload = Payload::of(bytes, is_ipv4)?;
    let number = |bytes: [u8; 2]| u16::from_be_bytes(bytes);
    let (addresses, length) = if is_ipv4 {
        let address = |at| array::<4>(bytes, at).map(|address| IpAddr::from(Ipv4Addr::from(address)));
        ([address(12)?, address(16)?], number(array(bytes, 2)?))
    } else {
        let address = |at| array::<16>(bytes, at).map(|address| IpAddr::from(Ipv6Addr::from(address)));
        ([address(8)?, address(24)?], number(array(bytes, 4)?).saturating_add(40))
    };
    let ports = payload.ports().map(|[a, b, c, d]| [number([a, b]), number([c, d])]);
    Some(Packet { addresses, protocol: payload.protocol, ports, length })
}

impl Generation {
    /// Says what is looked for.
    fn want(&mut self, words: Words) -> Result<(), Error> {
        let map = Array::<_, Words>::try_from(self.map_mut("wanted_packets"));
        map.and_then(|mut map| map.set(0, words, 0)).map_err(|error| failed(&error))
    }

    /// Takes what the program has told since the last call.
    fn told(&mut self) -> Result<Vec<Vec<u8>>, Error> {
        if self.traces.is_none() {
            let map = self.take_map("traces");
            self.traces = Some(Ring(RingBuf::try_from(map).map_err(|error| failed(&error))?));
        }
        let mut told = Vec::new();
        while let Some(item) = self.traces.as_mut().and_then(|ring| ring.0.next()) {
            told.push(item.to_vec());
        }
        Ok(told)
    }

    /// Returns how many traces have found no room.
    fn lost_traces(&self) -> Result<u64, Error> {
        let map = PerCpuArray::<_, u64>::try_from(self.map("lost_traces")).map_err(|error| failed(&error))?;
        Ok(map.get(&0, 0).map_err(|error| failed(&error))?.iter().sum())
    }
}

impl Xdp {
    /// Returns the name of the program that packets meet.
    pub(super) fn program_name(&self) -> &'static str {
        if self.tracing.is_some() { TRACED } else { self.source.program }
    }

    /// Runs that program on all interfaces.
    fn attach_again(&mut self) -> Result<(), Error> {
        let name = self.program_name();
        let Some(generation) = &mut self.generation else { return Ok(()) };
        let program = generation.program(name)?;
        if self.options.mode == Mode::Unattached {
            return Ok(());
        }
        let mut attached = self.interfaces.iter().filter(|interface| interface.tags.is_empty());
        attached.try_for_each(|interface| self.pins.attach(program, interface, self.options.mode))
    }

    /// Begins or ends to tell what becomes of packets.
    pub(super) fn set_traced(&mut self, wanted: Option<&Wanted>) -> Result<(), Error> {
        self.started()?;
        let Some(generation) = &mut self.generation else { return Ok(()) };
        let now = match wanted {
            Some(wanted) => {
                let words = words(wanted)?;
                generation.want(words)?;
                // What was told to somebody else.
                generation.told()?;
                let lost_before = generation.lost_traces()?;
                Some(Tracing { words, traces: Vec::new(), lost: 0, lost_before })
            }
            None => None,
        };
        let before = std::mem::replace(&mut self.tracing, now);
        let attached = self.attach_again();
        if attached.is_err() {
            self.tracing = before;
            // It has worked before. If it does not now, the first error says more.
            let _ = self.attach_again();
        }
        attached
    }

    /// Has a generation look for the same before packets meet it.
    pub(super) fn look_on(&self, new: &mut Generation) -> Result<(), Error> {
        self.tracing.as_ref().map_or(Ok(()), |tracing| new.want(tracing.words))
    }

    /// Keeps what a generation told that packets do not meet any more, while somebody looks.
    pub(super) fn keep_told(&mut self, old: &mut Generation) {
        if self.tracing.is_none() {
            return;
        }
        let began_ns = clock_began_ns();
        let kept = old.told().and_then(|told| Ok((told, old.lost_traces()?)));
        match kept {
            Ok((told, lost)) => {
                let traces: Vec<Trace> =
                    told.iter().filter_map(|bytes| self.trace_of(bytes, began_ns)).collect();
                if let Some(tracing) = &mut self.tracing {
                    tracing.traces.extend(traces);
                    tracing.lost += lost - tracing.lost_before;
                    tracing.lost_before = 0;
                }
            }
            Err(error) => tracing::warn!("{error}"),
        }
    }

    /// Returns what has been told since the last call, and how many found no room so far.
    pub(super) fn told(&mut self) -> Result<(Vec<Trace>, u64), Error> {
        let (Some(generation), Some(tracing)) = (&mut self.generation, &mut self.tracing) else {
            return Ok((Vec::new(), 0));
        };
        let began_ns = clock_began_ns();
        let mut traces = std::mem::take(&mut tracing.traces);
        let told = generation.told()?;
        let lost = tracing.lost + generation.lost_traces()? - tracing.lost_before;
        traces.extend(told.iter().filter_map(|bytes| self.trace_of(bytes, began_ns)));
        Ok((traces, lost))
    }

    /// Reads what the program told of a packet. Its clock began at `began_ns`.
    fn trace_of(&self, bytes: &[u8], began_ns: u64) -> Option<Trace> {
        let (head, rest) = bytes.split_at_checked(4 * HEAD_WORDS)?;
        let words: [u32; HEAD_WORDS] =
            std::array::from_fn(|at| u32::from_ne_bytes(array(head, 4 * at).expect("it has these words")));
        let [low, high, bytes, taken, steps, reason, interface, port, table, header, acl, line, ..] = words;
        let [.., source, next_hop, _, _, _, _, _, _] = words;
        let frame = rest.get(..taken as usize)?.to_vec();
        let label = self.interfaces.iter().find(|known| u32::from(known.port) == port);
        let reason = *Reason::ALL.get(reason as usize)?;
        let went = |step: u32| steps & step != 0;
        Some(Trace {
            time_ns: began_ns + (u64::from(low) | u64::from(high) << 32),
            interface,
            label: label.map_or_else(|| interface.to_string(), |known| known.label.clone()),
            bytes,
            packet: (header > 0).then(|| packet(frame.get(header as usize..)?)).flatten(),
            frame,
            acl: went(BY_ACL).then(|| self.filters.named(acl, line & (PERMITTED - 1), line & PERMITTED != 0)),
            source: went(BY_SOURCE).then_some(NextHop(source)),
            table: self.ids.get(table as usize).copied().unwrap_or_default(),
            next_hop: went(BY_ROUTE).then_some(NextHop(next_hop)),
            leg: went(BY_LEG).then(|| decoded(&words[HEAD_WORDS - 6..])),
            reason: reason.name().into(),
            outcome: reason.outcome(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Attachment, Options, check};
    use super::*;
    use crate::plane::Plane;
    use aya::maps::Map;

    #[test]
    fn the_program_that_forwards_has_nothing_of_traces() {
        let options = Options::new("untold", vec![Attachment::of("lo")], Mode::Unattached);
        if let Some(wrong) = check(&options).into_iter().find_map(|finding| finding.wrong) {
            eprintln!("skipped: {wrong}");
            return;
        }
        let mut plane = Xdp::open(options).unwrap();
        plane.start().unwrap();
        let has = |plane: &Xdp, program: &str| {
            let generation = plane.generation.as_ref().unwrap();
            let ids = generation.loaded(program).info().unwrap().map_ids().unwrap().unwrap();
            let Map::Array(wanted) = generation.map("wanted_packets") else { unreachable!("it is one") };
            ids.contains(&wanted.info().unwrap().id())
        };
        assert!(!has(&plane, "router"));
        plane.set_traced(Some(&Wanted::default())).unwrap();
        assert!(has(&plane, TRACED) && !has(&plane, "router"));
    }
}
