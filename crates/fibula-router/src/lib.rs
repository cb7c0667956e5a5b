//! A router for Linux: a routing daemon decides, and fibula's tables forward.
//!
//! ```text
//!  zebra ──FPM──▶ feeds ──events──▶ control ──▶ Plane ──▶ the XDP program, or a plane in memory
//!  kernel ─rtnetlink─▶                 │
//!                                      └── one `Rib` for each table id and family
//! ```
//! A *feed* turns what a daemon or the kernel sends into events. The *control* keeps the routes,
//! the next hops, the links and the neighbours, and tells a [`Plane`](plane::Plane) what changed.
//! The plane forwards packets.
#![deny(unsafe_code)]

mod error;
pub mod plane;

pub use error::Error;
