//! The twin in a program built without the feature `serve`.

use super::Listener;
use std::convert::Infallible;

/// What a server is asked for: nothing, here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Subscription(Infallible);

impl Subscription {
    /// Says what is lacking.
    pub(in super::super) fn parse(_text: &str) -> Result<Self, String> {
        Err("this fibula was built without the feature `serve`".into())
    }
}

/// Follows nothing.
pub(crate) fn follow(
    subscription: &Subscription,
    _listener: &mut impl Listener,
) -> anyhow::Result<Infallible> {
    match subscription.0 {}
}
