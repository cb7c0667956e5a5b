//! The engines, one module each: the paper it comes from, its layout drawn, a worked example, its
//! limits, and what differs from the paper and why.

#![forbid(unsafe_code)]

#[cfg(any(test, feature = "engines"))]
pub(crate) mod dir24_8;
pub(crate) mod front;
pub(crate) mod intervals;
pub(crate) mod mosaic;
pub(crate) mod mosaic6;
pub(crate) mod oracle;
pub(crate) mod poptrie;
#[cfg(any(test, feature = "engines"))]
pub(crate) mod radix;
pub(crate) mod terrace;
