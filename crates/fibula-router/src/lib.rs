//! A router for Linux: a routing daemon decides, and fibula's tables forward.
//!
//! ```text
//!  zebra ──FPM──▶ feeds ──events──▶ control ──▶ Plane ──▶ XDP, or memory
//!                                      │
//!  kernel ─rtnetlink─▶                 │
//!                                      └── one `Rib` for each table id and family
//! ```
//! A *feed* turns what a daemon or the kernel sends into events. The *control* keeps the routes,
//! the next hops, the links and the neighbours, and tells a [`Plane`](plane::Plane) what changed.
//! The plane forwards packets.
#![deny(unsafe_code)]

pub mod acl;
mod adjacencies;
#[cfg(all(feature = "daemon", target_os = "linux"))]
pub mod config;
mod confs;
pub mod control;
mod error;
pub mod feed;
pub mod message;
mod next_hops;
pub mod plane;
mod pool;
pub mod routes;
#[cfg(all(feature = "daemon", target_os = "linux"))]
pub mod service;

pub use error::Error;
