//! What a server of RIS Live sends, by a websocket.
#![cfg_attr(
    not(feature = "serve"),
    allow(dead_code, unused_imports, reason = "without the feature nobody follows it")
)]

#[cfg(not(feature = "serve"))]
mod disabled;
#[cfg(feature = "serve")]
mod enabled;

#[cfg(not(feature = "serve"))]
use disabled as twin;
#[cfg(feature = "serve")]
use enabled as twin;

pub(crate) use twin::{Subscription, follow};

/// What is told of a connection.
pub(crate) trait Listener: super::Listener {
    /// Takes note that the server has confirmed the subscription: from now on it sends what it
    /// gets.
    fn subscribed(&mut self);

    /// Takes note of a message that cannot be read, which is passed over.
    fn bad(&mut self, what: &str);
}
