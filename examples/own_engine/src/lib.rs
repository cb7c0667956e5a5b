//! An engine of one's own: a sorted array of intervals, searched by halving. The crate writes the
//! search and the build. The library adds the width of the answers, the instruction set and the new
//! build after a change. `tests/suite.rs` stamps the engine suite on it.
//!
//! ```
//! use fibula::engine::Config;
//! use fibula::{Applied, Fib, NextHop, Rib};
//! use fibula_own_engine::ENGINES;
//! use std::net::Ipv4Addr;
//! let mut rib: Rib<u32> = Rib::new();
//! rib.insert("192.0.2.0/24".parse()?, NextHop(1));
//! rib.insert("192.0.2.128/25".parse()?, NextHop(2));
//!
//! let mut fib = Fib::build_from(ENGINES, "sorted-array", &rib, Config::default())?;
//! assert_eq!((fib.width().bits(), fib.memory().total()), (8, 20)); // four intervals of 5 bytes
//! assert_eq!(fib.lookup(Ipv4Addr::new(192, 0, 2, 129)), Some(NextHop(2)));
//! assert_eq!(fib.lookup(Ipv4Addr::new(203, 0, 113, 1)), None);
//!
//! let delta = rib.insert("203.0.113.0/24".parse()?, NextHop(3)).expect("a new route");
//! assert_eq!(fib.apply(&rib, &[delta])?, Applied::Rebuilt);
//! assert_eq!(fib.lookup(Ipv4Addr::new(203, 0, 113, 1)), Some(NextHop(3)));
//! # Ok::<(), fibula::Error>(())
//! ```

use fibula::engine::{About, Config, Engine, Isa, Lookup, Memory, Meter, Width};
use fibula::{Address, Error, Rib};

fibula::registry! {
    sorted_array: crate::ABOUT, [ipv4 ipv6] SortedArray;
}

/// What the tools print about the engine, and the name by which users choose it.
const ABOUT: About =
    About { name: "sorted-array", paper: "a binary search over intervals", year: 1998, ..About::DEFAULT };

/// The intervals. Each begins at its start and ends before the start of the next. The first start
/// is 0.
#[derive(Debug)]
pub struct SortedArray<A, W> {
    starts: Vec<A>,
    answers: Vec<W>,
}

impl<A: Address, W: Width> Lookup<A> for SortedArray<A, W> {
    type Width = W;

    /// Tells the meter of every element it reads, so that memory accesses can be counted.
    fn lookup_metered<M: Meter>(&self, address: A, meter: &mut M) -> W {
        let after = self.starts.partition_point(|start| meter.load(start) <= address);
        meter.load(&self.answers[after - 1])
    }

    #[inline(always)]
    fn lookup_batch<I: Isa>(&self, _: I, addresses: &[A], next_hops: &mut [W]) {
        for (&address, next_hop) in addresses.iter().zip(next_hops) {
            *next_hop = self.lookup(address);
        }
    }
}

/// It does not follow changes: the default of `apply` says so, and the library builds again.
impl<A: Address, W: Width> Engine<A> for SortedArray<A, W> {
    type View = Self;

    fn build(rib: &Rib<A>, _: &Config) -> Result<Self, Error> {
        let intervals = rib.ranges().map(|range| (range.first, W::narrow(range.next_hop)));
        let (starts, answers) = intervals.unzip();
        Ok(Self { starts, answers })
    }

    fn view(&self) -> &Self {
        self
    }

    fn memory(&self) -> Memory {
        let (starts, answers) = (size_of_val(&*self.starts), size_of_val(&*self.answers));
        Memory::new().off_chip("starts", starts).off_chip("answers", answers)
    }
}
