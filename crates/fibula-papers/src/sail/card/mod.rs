//! Figures 13 and 14: one batch after the other on a graphics card.

#[cfg(not(feature = "gpu"))]
mod disabled;
#[cfg(feature = "gpu")]
mod enabled;

#[cfg(not(feature = "gpu"))]
pub(super) use disabled::{figure_13, figure_14};
#[cfg(feature = "gpu")]
pub(super) use enabled::{figure_13, figure_14};
