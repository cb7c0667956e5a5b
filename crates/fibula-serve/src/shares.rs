//! [`Share`]: what the requests of one client do at the same time, and those of all clients.
//!
//! ```text
//!  requests of one client ──▶ its own share ─┐
//!  requests of another ─────▶ its own share ─┴──▶ the share of all ──▶ a processor
//! ```
//!
//! A request waits for its client's share first. So a client with hundreds of requests competes
//! with another one by as many as there are processors, whatever waits behind them.

use crate::refusal::Refusal;
use axum::http::StatusCode;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;
use std::thread;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// What may happen at the same time: of one client, or of all.
#[derive(Debug)]
pub(crate) struct Share {
    /// Walks of a whole table.
    walks: Arc<Semaphore>,
    /// Parts of bodies that are looked up.
    parts: Arc<Semaphore>,
    /// Streams of events.
    streams: Arc<Semaphore>,
    /// The streams of events there may be.
    most_streams: usize,
}

/// Something that one client does, until this is dropped.
#[derive(Debug)]
pub(crate) struct Turn {
    _own: OwnedSemaphorePermit,
    _all: OwnedSemaphorePermit,
}

impl Share {
    /// Returns a share of all processors, and of a quarter of some connections for streams.
    pub(crate) fn new(connections: usize) -> Self {
        let processors = thread::available_parallelism().map_or(1, usize::from);
        let most_streams = connections.div_ceil(4).min(Semaphore::MAX_PERMITS);
        Self {
            walks: Arc::new(Semaphore::new(processors)),
            parts: Arc::new(Semaphore::new(processors)),
            streams: Arc::new(Semaphore::new(most_streams)),
            most_streams,
        }
    }

    /// Waits until a client may walk a whole table.
    pub(crate) async fn walk(&self, all: &Self) -> Result<Turn, Refusal> {
        turn(&self.walks, &all.walks).await
    }

    /// Waits until a client may look up a part of a body.
    pub(crate) async fn part(&self, all: &Self) -> Result<Turn, Refusal> {
        turn(&self.parts, &all.parts).await
    }

    /// Begins a stream of events of a client, if it may have one more.
    pub(crate) fn stream(&self, all: &Self) -> Result<Turn, Refusal> {
        let begin = |share: &Self, status, whose: &str| {
            Arc::clone(&share.streams).try_acquire_owned().map_err(|_| {
                let what = format_args!("{whose} has {} event streams, the most", share.most_streams);
                Refusal::new(status, what)
            })
        };
        Ok(Turn {
            _own: begin(self, StatusCode::TOO_MANY_REQUESTS, "this client")?,
            _all: begin(all, StatusCode::SERVICE_UNAVAILABLE, "the service")?,
        })
    }
}

async fn turn(own: &Arc<Semaphore>, all: &Arc<Semaphore>) -> Result<Turn, Refusal> {
    // Nobody closes them.
    let own = Arc::clone(own).acquire_owned().await.map_err(|_| Refusal::bug())?;
    let all = Arc::clone(all).acquire_owned().await.map_err(|_| Refusal::bug())?;
    Ok(Turn { _own: own, _all: all })
}

/// Returns what counts as one client: an IPv4 address, or the /64 of an IPv6 address, of which one
/// host may have all.
pub(crate) fn client_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => address.into(),
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_an_address_or_a_network_of_one_host() {
        for (address, client) in [
            ("192.0.2.1", "192.0.2.1"),
            ("::ffff:192.0.2.1", "192.0.2.1"),
            ("2001:db8::1:2:3:4", "2001:db8::"),
            ("2001:db8:0:1::1", "2001:db8:0:1::"),
        ] {
            assert_eq!(client_of(address.parse().unwrap()), client.parse::<IpAddr>().unwrap(), "{address}");
        }
    }

    #[test]
    fn one_client_has_its_share_of_streams_and_no_more() {
        let (all, one, other) = (Share::new(12), Share::new(8), Share::new(8));
        let held: Vec<Turn> = (0..2).map(|_| one.stream(&all).unwrap()).collect();
        assert_eq!(one.stream(&all).unwrap_err().status, StatusCode::TOO_MANY_REQUESTS);
        let _other = other.stream(&all).unwrap();
        assert_eq!(other.stream(&all).unwrap_err().status, StatusCode::SERVICE_UNAVAILABLE);
        drop(held);
        assert!(other.stream(&all).is_ok());
    }
}
