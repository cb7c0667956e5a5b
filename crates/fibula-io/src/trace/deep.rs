//! [`TraceKind::Deep`](super::TraceKind::Deep): the addresses for which an engine works most.

use super::ZIPF_DESTINATIONS;
use fibula::engine::Accesses;
use fibula::{Address, Fib};

/// How many addresses are drawn for each that is kept.
const CANDIDATES: usize = 16;

/// The addresses that are drawn, half of them by the longest paths of the prefixes, half by the
/// prefixes.
pub(super) const DRAWN: usize = CANDIDATES * DEEPEST;

/// The addresses that are kept: as many as Zipf's law has destinations, so that most of them are
/// not in the caches.
const DEEPEST: usize = ZIPF_DESTINATIONS;

/// Returns those of `candidates` whose scalar lookups load the most elements and compute the most
/// hashes together: [`DEEPEST`] of them, the same on every machine.
pub(super) fn deepest<A: Address>(fib: &Fib<A>, candidates: Vec<A>) -> Vec<A> {
    let mut accesses = Accesses::new();
    let mut work = |address| {
        accesses.clear();
        fib.lookup_counted(address, &mut accesses);
        accesses.loads() + accesses.hashes()
    };
    let mut by_work: Vec<(u32, A)> = candidates.into_iter().map(|address| (work(address), address)).collect();
    // The sort is stable: among equals those drawn first are kept.
    by_work.sort_by_key(|&(work, _)| std::cmp::Reverse(work));
    by_work.truncate(DEEPEST);
    by_work.into_iter().map(|(_, address)| address).collect()
}
