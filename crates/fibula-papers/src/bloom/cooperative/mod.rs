//! Section 6.7, Figure 9: the processor and an accelerator on one stream of addresses.

#[cfg(not(feature = "gpu"))]
mod disabled;
#[cfg(feature = "gpu")]
mod enabled;

#[cfg(not(feature = "gpu"))]
pub(super) use disabled::figure_9;
#[cfg(feature = "gpu")]
pub(super) use enabled::figure_9;
