//! Every interleaving of the stores of some publications with the loads of two lookups.
//!
//! The stores of an engine are recorded while it follows changes. Then a reader goes through them:
//! before each of its loads the writer may have gone on by any number of stores. Of these states
//! only those matter in which the loaded word has another value, so all are tried. The stores are
//! releases in order and the loads acquires in order, so nothing else can happen on any processor.
//!
//! Each answer must be that of a table that was published between the beginning and the end of its
//! lookup, and the second lookup of an address must not get the answer of an earlier table.

use crate::engine::{Config, Lookup, Meter, Share, Update, Width};
use crate::engines::{dir24_8, mosaic, mosaic6, poptrie};
use crate::memory::recorded::{Recorded, Stores, count, record};
use crate::memory::{Published, Shareable};
use crate::{Address, Change, Delta, NextHop, Prefix, Rib, Route};

/// What is changed and read.
pub(crate) trait Subject<A: Address> {
    /// Follows a table. Returns whether it did so in place.
    fn follow(&mut self, rib: &Rib<A>, deltas: &[Delta<A>]) -> bool;

    /// Looks up one address.
    fn look_up(&self, address: A, meter: &mut impl Meter) -> NextHop;
}

/// Where a reader goes through the stores of a subject: the choices of one execution.
#[derive(Default)]
struct Path {
    /// The choice at each load, and how many there were.
    choices: Vec<(usize, usize)>,
    at: usize,
}

impl Path {
    /// Returns the choice among `count`: the next one of this execution, or the first.
    fn choose(&mut self, count: usize) -> usize {
        if self.at == self.choices.len() {
            self.choices.push((0, count));
        }
        self.at += 1;
        self.choices[self.at - 1].0
    }

    /// Goes on to the next execution. Returns whether there is one.
    fn advance(&mut self) -> bool {
        self.at = 0;
        while let Some((choice, count)) = self.choices.pop() {
            if choice + 1 < count {
                self.choices.push((choice + 1, count));
                return true;
            }
        }
        false
    }
}

/// A meter that lets the writer go on before each load.
struct Interleaved<'i> {
    stores: &'i mut Stores,
    path: &'i mut Path,
}

impl Interleaved<'_> {
    fn pass<T: Shareable>(&mut self, place: &Published<T>) -> T {
        let start = std::ptr::from_ref(place).addr();
        let changes = self.stores.changes_of(start..start + size_of::<T>());
        let states: Vec<usize> = std::iter::once(self.stores.shown()).chain(changes).collect();
        self.stores.show(states[self.path.choose(states.len())]);
        T::load(place)
    }
}

impl Meter for Interleaved<'_> {
    fn load<T: Copy>(&mut self, place: &T) -> T {
        *place
    }

    fn load_word<T: Shareable>(&mut self, place: &Published<T>) -> T {
        self.pass(place)
    }

    fn load_again<T: Shareable>(&mut self, place: &Published<T>) -> T {
        self.pass(place)
    }

    fn hash(&mut self) {}
}

/// The tables of some publications.
struct Timeline<A: Address> {
    tables: Vec<Rib<A>>,
    /// The stores before and up to the end of each publication, which leads to the next table.
    spans: Vec<[usize; 2]>,
}

impl<A: Address> Timeline<A> {
    /// Returns the first table from `from` on that a lookup may answer from which began and ended
    /// after these numbers of stores.
    fn table_with(
        &self,
        address: A,
        answer: NextHop,
        from: usize,
        [begin, end]: [usize; 2],
    ) -> Option<usize> {
        let first = self.spans.iter().take_while(|span| span[1] <= begin).count();
        let last = self.spans.iter().take_while(|span| span[0] < end).count();
        (from.max(first)..=last.max(first)).find(|&table| {
            let route = self.tables[table].longest_match(address);
            route.map_or(NextHop::NONE, |route| route.next_hop) == answer
        })
    }
}

/// Lets a subject follow publications, and takes two lookups of each address through them in every
/// way. Returns the subject, and the number of executions.
///
/// # Errors
/// Returns the first answer that is of no table, or of one too early.
pub(crate) fn check<A: Address, S: Subject<A>>(
    subject: S,
    rib: &mut Rib<A>,
    publications: &[Vec<Change<A>>],
    addresses: &[A],
) -> Result<(S, usize), String> {
    let mut timeline = Timeline { tables: vec![rib.clone()], spans: Vec::new() };
    let mut recorded = record(subject, |subject| {
        for changes in publications {
            let (deltas, begin) = (rib.apply_all(changes.iter().copied()).deltas, count());
            if subject.follow(rib, &deltas) {
                timeline.spans.push([begin, count()]);
                timeline.tables.push(rib.clone());
            } else {
                rib.take_back(&deltas);
            }
        }
    });
    let Recorded { owner, stores } = &mut recorded;
    let mut executions = 0;
    let starts: Vec<usize> = std::iter::once(0).chain(timeline.spans.iter().map(|span| span[1])).collect();
    for &address in addresses {
        for &start in &starts {
            let mut path = Path::default();
            loop {
                stores.show(start);
                let mut table = 0;
                for lookup in 1..=2 {
                    let begin = stores.shown();
                    let mut meter = Interleaved { stores: &mut *stores, path: &mut path };
                    let answer = owner.look_up(address, &mut meter);
                    let span = [begin, stores.shown()];
                    table = timeline.table_with(address, answer, table, span).ok_or_else(|| {
                        let wrong = format!("{answer:?} by lookup {lookup} of {address:?} at {span:?}");
                        format!("{wrong}, after table {table}; {publications:?} end at {starts:?}")
                    })?;
                }
                executions += 1;
                if !path.advance() {
                    break;
                }
            }
        }
    }
    Ok((recorded.into_owner(), executions))
}

/// An engine that is shared, and a reader's view of it.
struct Shared<A: Address, E: Share<A>> {
    engine: E,
    view: E::View,
    /// Whether the engine is to be built again.
    is_over: bool,
}

impl<A: Address, E: Share<A>> Shared<A, E> {
    fn of(rib: &Rib<A>, config: &Config) -> Self {
        let mut engine = E::build(rib, config).unwrap();
        let view = engine.share().unwrap();
        Self { engine, view, is_over: false }
    }
}

impl<A: Address, E: Share<A>> Subject<A> for Shared<A, E> {
    fn follow(&mut self, rib: &Rib<A>, deltas: &[Delta<A>]) -> bool {
        self.is_over |= !matches!(self.engine.apply(rib, deltas), Update::Applied(_));
        !self.is_over
    }

    fn look_up(&self, address: A, meter: &mut impl Meter) -> NextHop {
        self.view.lookup_metered(address, meter).widen()
    }
}

/// The publications between two grace periods, and the most changes of each.
const PUBLICATIONS: usize = 3;
const MOST_CHANGES: usize = 4;

/// Checks an engine with random changes of nested prefixes of these lengths.
fn check_engine<A: Address, E: Share<A>>(scripts: usize, lens: &[u8], config: &Config) {
    let mut random = fastrand::Rng::with_seed(7);
    let bases = [0x0A00_4000, 0x0A00_7F00].map(|bits: u64| A::from_bits(bits, 0, 32));
    let mut prefixes: Vec<Prefix<A>> =
        bases.iter().flat_map(|&base| lens.iter().map(move |&len| Prefix::containing(base, len))).collect();
    let mut addresses: Vec<A> = prefixes.iter().map(|prefix| prefix.last()).chain(bases).collect();
    prefixes.dedup();
    addresses.sort_unstable();
    addresses.dedup();
    let mut rib: Rib<A> = Rib::new();
    let mut subject: Shared<A, E> = Shared::of(&rib, config);
    let (mut executions, mut rebuilt) = (0, 0);
    for _ in 0..scripts {
        let publications: Vec<Vec<Change<A>>> = (0..PUBLICATIONS)
            .map(|_| {
                let change = |random: &mut fastrand::Rng| {
                    let prefix = prefixes[random.usize(..prefixes.len())];
                    match random.u32(..5) {
                        0 | 1 => Change::Withdraw(prefix),
                        _ => Change::Announce(Route { prefix, next_hop: NextHop(random.u32(1..250)) }),
                    }
                };
                (0..random.usize(1..=MOST_CHANGES)).map(|_| change(&mut random)).collect()
            })
            .collect();
        let (checked, count) = check(subject, &mut rib, &publications, &addresses).unwrap();
        subject = checked;
        executions += count;
        if subject.is_over {
            subject = Shared::of(&rib, config);
            rebuilt += 1;
        }
        subject.engine.validate(&rib).unwrap();
        subject.engine.readers_passed();
        subject.engine.readers_passed();
    }
    assert!(executions > 20 * scripts && rebuilt < scripts / 4, "{executions} executions, {rebuilt} rebuilt");
}

/// The lengths of the prefixes of `mosaic`: the default route, covers, /24s and routes below them.
const IPV4: [u8; 8] = [0, 0, 16, 19, 24, 25, 28, 32];

#[test]
fn mosaic() {
    check_engine::<u32, mosaic::Mosaic<u8>>(15, &IPV4, &Config::default());
    check_engine::<u32, mosaic::Mosaic<u32>>(5, &IPV4, &Config::default());
}

#[test]
fn a_route_below_a_24_comes_and_goes() {
    check_engine::<u32, mosaic::Mosaic<u8>>(25, &[24, 32], &Config::default());
}

#[test]
fn mosaic_runs() {
    check_engine::<u32, mosaic::MosaicRuns<u16>>(8, &IPV4, &Config::default());
}

#[test]
fn mosaic_deep() {
    check_engine::<u32, mosaic::MosaicDeep<u8>>(8, &IPV4, &Config::default());
}

#[test]
fn mosaic_spans() {
    check_engine::<u32, mosaic::MosaicSpans<u16>>(20, &IPV4, &Config::default());
}

#[test]
fn mosaic6() {
    check_engine::<u128, mosaic6::Mosaic6<u8>>(100, &[0, 0, 14, 20, 28, 32, 40, 48], &Config::default());
    check_engine::<u128, mosaic6::Mosaic6<u32>>(50, &[0, 13, 24, 25, 26, 27, 47, 48], &Config::default());
}

#[test]
fn poptrie() {
    check_engine::<u32, poptrie::Poptrie<u32, u16>>(
        50,
        &[0, 8, 16, 18, 24, 26, 32],
        &Config::default().with("s", "8"),
    );
    check_engine::<u128, poptrie::Poptrie<u128, u16>>(
        50,
        &[0, 10, 20, 26],
        &Config::default().with("s", "8"),
    );
}

#[test]
fn dir24_8() {
    check_engine::<u32, dir24_8::Dir24_8<u8>>(20, &[16, 22, 24, 25, 30, 32], &Config::default());
}
