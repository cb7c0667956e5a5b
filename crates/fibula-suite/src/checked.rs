//! [`Checked`]: a table, an engine that follows it, and the judge.

use crate::Subject;
use fibula::engine::Level;
use fibula::engine::{Config, Pages, WidthBits};
use fibula::{Address, Applied, Change, Error, Fib, NextHop, Prefix, Rib, Route};

/// The batch sizes of every check: none, one, around powers of two, and more than any engine's
/// lanes.
const BATCHES: [usize; 14] = [0, 1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 64, 65, 1000];

/// A table and a compiled form of it that must always agree.
pub(crate) struct Checked<A: Address> {
    pub(crate) rib: Rib<A>,
    pub(crate) fib: Fib<A>,
    engine: Subject,
    width: Option<WidthBits>,
    /// Whether updates made the compiled form what it is, and not a build alone.
    updated: bool,
}

impl<A: Address> Checked<A> {
    pub(crate) fn new(engine: &Subject, width: Option<WidthBits>, rib: Rib<A>) -> Self {
        let fib = build(engine, width, &rib);
        Self { rib, fib, engine: engine.clone(), width, updated: false }
    }

    /// Returns a copy that changes by itself.
    pub(crate) fn copied(&self) -> Self {
        let (rib, engine) = (self.rib.clone(), self.engine.clone());
        let fib = self.fib.copied(&rib).unwrap_or_else(|error| panic!("{engine}: {error}"));
        Self { rib, fib, engine, ..*self }
    }

    /// Changes the table and lets the engine follow. Changes that the engine refuses are undone in
    /// the table.
    pub(crate) fn try_apply(&mut self, changes: &[Change<A>]) -> Result<Applied, Error> {
        let deltas = self.rib.apply_all(changes.iter().copied()).deltas;
        let applied = self.fib.apply(&self.rib, &deltas);
        self.updated = true;
        if applied.is_err() {
            self.rib.take_back(&deltas);
        }
        applied
    }

    pub(crate) fn apply(&mut self, changes: &[Change<A>]) {
        if let Err(error) = self.try_apply(changes) {
            panic!("{}: {changes:?} refused: {error}", self.engine);
        }
    }

    pub(crate) fn announce(&mut self, prefix: Prefix<A>, next_hop: u32) {
        self.apply(&[Change::Announce(Route { prefix, next_hop: NextHop(next_hop) })]);
    }

    pub(crate) fn withdraw(&mut self, prefix: Prefix<A>) {
        self.apply(&[Change::Withdraw(prefix)]);
    }

    /// Probes around every prefix of the table, one by one and in batches, with every instruction
    /// set. Does so for the engine as it is and, if updates have changed it, for one freshly built.
    /// Validates the structure of both.
    pub(crate) fn check(&mut self) {
        self.check_at(&probes(&self.rib));
    }

    /// As [`Self::check`], at given addresses.
    pub(crate) fn check_at(&mut self, addresses: &[A]) {
        let oracle = Fib::build("oracle", &self.rib).unwrap();
        let expected: Vec<NextHop> = addresses.iter().map(|&address| oracle.lookup_index(address)).collect();
        for &level in Level::available() {
            self.fib.set_isa(level);
            self.check_answers(&self.fib, addresses, &expected);
        }
        self.check_structure(&self.fib);
        if self.updated {
            let fresh = build(&self.engine, self.width, &self.rib);
            self.check_answers(&fresh, addresses, &expected);
            self.check_structure(&fresh);
        }
    }

    fn check_structure(&self, fib: &Fib<A>) {
        if let Err(contradiction) = fib.validate(&self.rib) {
            panic!("{}: {contradiction}", self.engine);
        }
    }

    fn check_answers(&self, fib: &Fib<A>, addresses: &[A], expected: &[NextHop]) {
        for (&address, &expected) in addresses.iter().zip(expected) {
            let found = fib.lookup_index(address);
            assert_eq!(found, expected, "{}: lookup of {}", self.engine, address.to_ip());
        }
        let mut rest = 0..addresses.len();
        for size in BATCHES.into_iter().cycle() {
            let batch = rest.start..(rest.start + size).min(rest.end);
            let mut found = vec![NextHop(u32::MAX); batch.len()];
            fib.lookup_batch(&addresses[batch.clone()], &mut found);
            for (at, found) in batch.clone().zip(found) {
                let address = addresses[at].to_ip();
                assert_eq!(found, expected[at], "{}: {address} in a batch of {size}", self.engine);
            }
            rest.start = batch.end;
            if rest.is_empty() && size > 0 {
                break;
            }
        }
    }

    /// Checks that the engine, after all its changes, occupies what a fresh one does, give or take
    /// a tenth and a few pages.
    pub(crate) fn check_no_leak(&self) {
        self.check_memory(&build(&self.engine, self.width, &self.rib), 1.1);
    }

    /// Checks that the engine occupies at most so many times what another does, and a few pages.
    pub(crate) fn check_memory(&self, built: &Fib<A>, most: f64) {
        let (lived, built) = (self.fib.memory(), built.memory());
        assert!(
            lived.total() as f64 <= built.total() as f64 * most + f64::from(64 << 10),
            "{}: {lived:?} after updates, {built:?} when built",
            self.engine
        );
    }
}

fn build<A: Address>(engine: &Subject, width: Option<WidthBits>, rib: &Rib<A>) -> Fib<A> {
    let mut config = Config::default();
    config.width = width;
    // Thousands of builds, each of some megabytes: small pages would take longer than the lookups.
    config.pages = Pages::Huge;
    Fib::build_from(engine.engines, &engine.name, rib, config)
        .unwrap_or_else(|error| panic!("{engine}: {error}"))
}

/// Returns the addresses where longest-prefix match breaks: first-1, first, first+1, last and
/// last+1 of every prefix, and both ends of the address space.
pub(crate) fn probes<A: Address>(rib: &Rib<A>) -> Vec<A> {
    let mut probes = vec![A::ZERO, A::MAX];
    for route in rib {
        let (first, last) = (route.prefix.first(), route.prefix.last());
        probes.extend(
            [first.previous(), Some(first), first.next(), Some(last), last.next()].into_iter().flatten(),
        );
    }
    probes
}

/// The prefix of `len` bits whose leading bits are the leading `len` bits of the 64-bit `bits`.
pub(crate) fn prefix<A: Address>(bits: u64, len: u8) -> Prefix<A> {
    Prefix::containing(A::from_bits(bits, 0, 64), len)
}

/// The prefix of the last `A::BITS - len` bits' block that ends the space.
pub(crate) fn last_prefix<A: Address>(len: u8) -> Prefix<A> {
    Prefix::containing(A::MAX, len)
}
