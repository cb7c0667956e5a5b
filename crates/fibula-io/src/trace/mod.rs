//! Address streams: made over a table, or read from files.
//!
//! Every kind but [`TraceKind::File`] is drawn from a table and a seed and is the same on every
//! machine.

mod capture;
mod deep;
mod draw;
mod file;
mod kind;
mod leaves;
#[cfg(test)]
mod tests;

pub use file::{parse, read};
pub use kind::TraceKind;

use crate::{Error, Report};
use draw::Drawing;
use fibula::engine::{ENGINES, Entry};
use fibula::{Address, Rib};

/// The destinations of [`TraceKind::Zipf`].
pub const ZIPF_DESTINATIONS: usize = 65_536;

/// The addresses of one burst of [`TraceKind::Repeat`].
pub const BURST: usize = 32;

/// Returns `count` addresses of a kind over a table. O(n + count) for a table of *n* routes, and
/// for [`TraceKind::Deep`] also what the engine takes to be built.
///
/// ```
/// use fibula::{NextHop, Rib};
/// use fibula_io::trace::{self, TraceKind};
/// let mut rib: Rib<u32> = Rib::new();
/// rib.insert("192.0.2.0/24".parse()?, NextHop(1));
/// let addresses = trace::generate(&TraceKind::Prefix, &rib, 1000, 1)?;
/// assert!(addresses.iter().all(|&address| rib.longest_match(address).is_some()));
/// let addresses = trace::generate(&TraceKind::Miss(0), &rib, 1000, 1)?;
/// assert!(addresses.iter().all(|&address| rib.longest_match(address).is_none()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If the table has nothing to draw from (no route at all; for [`TraceKind::Miss`] no gap), if the
/// family has no such trace ([`TraceKind::Random`] for IPv6), if the engine of
/// [`TraceKind::Deep`] is not named or refuses the table, or if a file cannot be read or holds no
/// address of the family.
pub fn generate<A: Address>(
    kind: &TraceKind,
    rib: &Rib<A>,
    count: usize,
    seed: u64,
) -> Result<Vec<A>, Error> {
    generate_among(ENGINES, kind, rib, count, seed)
}

/// As [`generate`], where the engine of [`TraceKind::Deep`] is one of `engines`.
///
/// # Errors
/// See [`generate`].
pub fn generate_among<A: Address>(
    engines: &'static [Entry],
    kind: &TraceKind,
    rib: &Rib<A>,
    count: usize,
    seed: u64,
) -> Result<Vec<A>, Error> {
    Ok(generate_told(engines, kind, rib, count, seed)?.0)
}

/// As [`generate_among`], and returns what was left out of a file.
///
/// # Errors
/// See [`generate`].
pub fn generate_told<A: Address>(
    engines: &'static [Entry],
    kind: &TraceKind,
    rib: &Rib<A>,
    count: usize,
    seed: u64,
) -> Result<(Vec<A>, Report), Error> {
    Drawing::new(engines, kind, rib, seed).addresses(count)
}
