//! Samples of packets, sent to collectors by UDP.

mod ipfix;
mod sflow;

use crate::Error;
use crate::config::Sampling;
use crate::control::Sampler;
use crate::plane::Sample;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// The greatest length of a datagram: it fits into an Ethernet frame, whatever carries it.
const DATAGRAM: usize = 1400;

/// What all datagrams of a collector have.
#[derive(Clone, Copy, Debug)]
struct Context {
    /// The address that the router is known by.
    agent: IpAddr,
    /// Of how many packets one was taken.
    rate: u32,
    /// Samples that were lost so far.
    lost: u32,
    /// Since the router started, milliseconds.
    uptime_ms: u32,
    /// Since 1970, seconds.
    seconds: u32,
    /// Datagrams and samples before this one.
    datagrams: u32,
    samples: u32,
}

/// Writes a datagram of samples.
type Write = fn(&Context, &[Sample]) -> Vec<u8>;

/// A collector.
struct Collector {
    socket: UdpSocket,
    to: SocketAddr,
    write: Write,
    /// The bytes that a sample takes at most, beside its frame.
    overhead: usize,
    datagrams: u32,
    samples: u32,
}

impl Collector {
    fn open(to: SocketAddr, write: Write, overhead: usize) -> Result<Self, Error> {
        let any = if to.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
        let socket = UdpSocket::bind(any).map_err(|error| Error::io(format!("collector {to}"), error))?;
        Ok(Self { socket, to, write, overhead, datagrams: 0, samples: 0 })
    }

    fn send(&mut self, mut samples: &[Sample], context: Context) {
        while !samples.is_empty() {
            let mut room = DATAGRAM;
            let fits = |sample: &&Sample| {
                let takes = self.overhead + sample.frame.len();
                let is_in = takes <= room;
                room = room.saturating_sub(takes);
                is_in
            };
            let count = samples.iter().take_while(fits).count().max(1);
            let (now, rest) = samples.split_at(count);
            let context = Context { datagrams: self.datagrams, samples: self.samples, ..context };
            // A collector that is away loses samples, as the network may.
            if let Err(error) = self.socket.send_to(&(self.write)(&context, now), self.to) {
                tracing::debug!("collector {}: {error}", self.to);
            }
            self.datagrams = self.datagrams.wrapping_add(1);
            self.samples = self.samples.wrapping_add(count as u32);
            samples = rest;
        }
    }
}

/// Returns what sends samples to the collectors of a configuration.
///
/// # Errors
/// If there is no socket for one.
pub(super) fn sampler(config: &Sampling) -> Result<Sampler, Error> {
    let sflow = config.sflow.map(|to| Collector::open(to, sflow::datagram, sflow::OVERHEAD));
    let ipfix = config.ipfix.map(|to| Collector::open(to, ipfix::datagram, ipfix::OVERHEAD));
    let mut collectors = sflow.into_iter().chain(ipfix).collect::<Result<Vec<_>, _>>()?;
    let (start, rate) = (Instant::now(), config.rate);
    let agent = config.agent.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
    Ok(Box::new(move |samples, lost| {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let context = Context {
            agent,
            rate,
            lost: lost as u32,
            uptime_ms: start.elapsed().as_millis() as u32,
            seconds: since.as_secs() as u32,
            datagrams: 0,
            samples: 0,
        };
        for collector in &mut collectors {
            collector.send(samples, context);
        }
    }))
}

#[cfg(test)]
mod tests;
