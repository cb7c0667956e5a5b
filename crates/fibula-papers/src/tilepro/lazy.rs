//! Section III-B: lazy checking on and off.

use crate::lab::spread;
use crate::{Error, Finding, Lab, Plot, Point, Span};
use fibula::engine::Pages;
use fibula::engine::Unmetered;
use fibula::parts::arch::{Isa, Kernel, Level, dispatch};
use fibula::{NextHop, Rib};
use fibula_engines::blocks::tree_bitmap::{InitialArray, MAX_WORDS, Map};
use fibula_io::trace::TraceKind;
use std::hint::black_box;
use std::time::Instant;

/// The nanoseconds a lookup that the paper saves: 30 to 50 cycles at 700 MHz, of which the middle.
const SAVED_NS: f64 = 40.0 / 0.7;

/// Nodes of stride 4 below an array of 16 entries, the smallest for this stride: hardly an array.
const SMALL_ARRAY: &str = "TBP 4-4-4-4-4-4-4-4";

/// The bits of the initial array above nodes of stride 4 and of stride 7.
const BITS: [u8; 2] = [13, 11];

/// Looks addresses up, each after the answer to the one before. Returns the sum of the answers.
struct Dependent<'l, M: Map, const LAZY: bool>(&'l InitialArray<u32, u32, M>, &'l [u32]);

impl<M: Map, const LAZY: bool> Kernel for Dependent<'_, M, LAZY> {
    type Output = u64;

    #[inline(always)]
    fn run<I: Isa>(self, _: I) -> u64 {
        let (mut sum, mut zero) = (0, 0);
        for &address in self.1 {
            let found = self.0.find_by::<LAZY>(address ^ zero, &mut Unmetered);
            sum += u64::from(found);
            zero = black_box(found) & black_box(0);
        }
        sum
    }
}

/// Returns the nanoseconds of a lookup and the sum of the answers.
fn time<M: Map, const LAZY: bool>(
    lab: &Lab,
    array: &InitialArray<u32, u32, M>,
    addresses: &[u32],
) -> (Span, u64) {
    let mut sum = 0;
    let mut passes: Vec<f64> = (0..lab.options.passes)
        .map(|_| {
            let start = Instant::now();
            sum = dispatch(Level::best(), Dependent::<M, LAZY>(array, addresses));
            start.elapsed().as_nanos() as f64 / addresses.len().max(1) as f64
        })
        .collect();
    (spread(&mut passes), sum)
}

/// Measures a form of Tree Bitmap with and without lazy checking.
fn points_of<M: Map>(
    lab: &Lab,
    name: &str,
    bits: u8,
    rib: &Rib<u32>,
    addresses: &[u32],
) -> Result<Vec<Point>, Error> {
    let array = InitialArray::<u32, u32, M>::build(rib.iter(), bits, MAX_WORDS, Pages::Small)
        .map_err(|limit| Error::none(limit.to_string()))?;
    let checked = addresses.iter().take(1 << 16);
    let right = |address| rib.longest_match(address).map_or(NextHop::NONE, |route| route.next_hop).0;
    if let Some(address) =
        { checked }.find(|&&address| array.find_by::<false>(address, &mut Unmetered) != right(address))
    {
        return Err(Error::wrong(format!("{name} without lazy checking: {address:#x}")));
    }
    let (lazy, sum) = time::<M, true>(lab, &array, addresses);
    let (eager, other) = time::<M, false>(lab, &array, addresses);
    if sum != other {
        return Err(Error::wrong(format!("{name}: lazy and eager checking differ")));
    }
    let saved =
        Span { low: eager.low - lazy.high, value: eager.value - lazy.value, high: eager.high - lazy.low };
    Ok(vec![
        Point::new(name, "lazy", "ns, one after the other", lazy),
        Point::new(name, "eager", "ns, one after the other", eager),
        Point::new(name, "saved", "ns saved", saved).beside(SAVED_NS),
    ])
}

pub(super) fn section_3_b(lab: &Lab) -> Result<Finding, Error> {
    let table = lab.table()?;
    let addresses = lab.trace(&TraceKind::Match, &table.rib)?;
    let [(small, _), (large, _)] = super::TREES;
    let mut points = points_of::<u16>(lab, small, BITS[0], &table.rib, &addresses)?;
    points.extend(points_of::<u128>(lab, large, BITS[1], &table.rib, &addresses)?);
    points.extend(points_of::<u16>(lab, SMALL_ARRAY, 4, &table.rib, &addresses)?);
    Ok(Finding::new("checking", Plot::None, points)
        .on(table)
        .note("Random Match trace, scalar lookups. The paper says 30 to 50 cycles without naming the trace; beside ours is the middle at 700 MHz.")
        .note("A node's internal and external bits lie in one cache line, and a core that executes out of order tests the first while it waits for the child that the second names: what lazy checking spares is hidden behind the load."))
}
