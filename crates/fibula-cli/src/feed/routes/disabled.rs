//! The twin in a program built without the feature `router`.

use super::{LACKING, Listener, Origin};
use crate::reading::Reading;
use std::convert::Infallible;

/// Whether routes can be followed.
pub(super) const IS_THERE: bool = false;

/// Says what is lacking.
pub(crate) fn follow(
    _origin: Origin,
    _reading: &Reading,
    _listener: &mut impl Listener,
) -> anyhow::Result<Infallible> {
    anyhow::bail!(LACKING)
}
