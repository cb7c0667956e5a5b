//! BFD: FRR's bfdd tells by its control socket which gateways have failed, before any protocol
//! withdraws a route.
//!
//! ```text
//! bytes  0..4                  4..6       6       7          8..8 + length
//!        length, big endian    its id     type    version 1  JSON; of type 4 to bfdd, 8 bytes
//!
//! type   1 answer    4 what is asked for (a mask in the host's order: 1 states, 2 sessions), and
//!                      what is told of a session
//! ```
//! bfdd answers what is asked for with each session that it has, its state, and from then on what
//! changes. It does not say when it has told all. It writes to a socket that blocks, so whoever
//! asked must always read.
//!
//! A gateway is held down while a single-hop session to it has *failed*: its state is `down` or
//! `init`, and its diagnostics name a broken path. States alone do not say so:
//!
//! | what happened | state | diagnostics, and the peer's | held down |
//! | --- | --- | --- | --- |
//! | no packet for the detection time | down | 1 | yes |
//! | the peer hears nothing of us | down, init | 3, 1 | yes |
//! | the peer was shut down, or its bfdd restarted | down | 3, 0 or 3, 7 | no: RFC 5882, 3.2 |
//! | we were shut down | adm-down | | no |
//! | it was never up: the peer may not speak BFD | down, init | 0 | no |
//! | its interface was deleted, whether or not it was ever up | down | 5 | no |
//!
//! Protocols delete the session of a neighbour that has failed before their routes are gone. So a
//! gateway is held down for a while after its session was deleted. When bfdd goes, nothing is known
//! of any gateway: all sessions are forgotten, and routes lead where they did without BFD.

#[cfg(all(feature = "daemon", target_os = "linux"))]
mod messages;
#[cfg(all(feature = "daemon", target_os = "linux"))]
mod sessions;
#[cfg(all(feature = "daemon", target_os = "linux"))]
mod socket;

#[cfg(all(feature = "daemon", target_os = "linux"))]
pub use socket::{check, follow};

use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::net::IpAddr;

/// A gateway, on the interface of this name, or on any if the session names none.
pub type Gateway = (IpAddr, Option<String>);

/// What bfdd has told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gateways {
    /// Whether bfdd answers.
    pub connected: bool,
    /// Sessions that are up.
    pub up: usize,
    /// Sessions that are not.
    pub down: usize,
    /// Sessions over several hops, which say nothing of a gateway.
    pub multihop: usize,
    /// The gateways that are held down.
    pub held: BTreeSet<Gateway>,
}
