//! An engine of one's own: a sorted array of intervals, searched by halving. The program writes the
//! search and the build. The library adds the width of the answers, the instruction set and the new
//! build after a change.
//!
//! ```text
//! intervals keeps 8-bit answers in 20 bytes
//! 192.0.2.9       Some(NextHop(1))
//! 192.0.2.129     Some(NextHop(2))
//! 203.0.113.1     None
//! a change: Rebuilt
//! 203.0.113.1     Some(NextHop(3))
//! ```

use fibula::engine::{About, Config, Engine, Entry, Isa, Lookup, Memory, Meter, Update, Width};
use fibula::{Address, Delta, Error, Fib, NextHop, Rib, engine_entry};
use std::net::Ipv4Addr;

/// What the tools print about the engine, and the name by which users choose it.
const ABOUT: About =
    About { name: "intervals", paper: "a binary search over intervals", year: 1998, ..About::DEFAULT };

/// Each interval begins at its start and ends before the start of the next. The first start is 0.
struct Intervals<A, W> {
    starts: Vec<A>,
    answers: Vec<W>,
}

impl<A: Address, W: Width> Lookup<A> for Intervals<A, W> {
    type Width = W;

    /// Tells the meter of every place it reads, so that memory accesses can be counted.
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

impl<A: Address, W: Width> Engine<A> for Intervals<A, W> {
    type View = Self;

    /// The answer can change only where a prefix begins, and just after one ends.
    fn build(rib: &Rib<A>, _: &Config) -> Result<Self, Error> {
        let mut starts = vec![A::from_bits(0, 0, 0)];
        for route in rib {
            starts.push(route.prefix.first());
            starts.extend(route.prefix.last().next());
        }
        starts.sort_unstable();
        starts.dedup();
        let answer =
            |&start: &A| rib.longest_match(start).map_or(W::default(), |route| W::narrow(route.next_hop));
        let answers = starts.iter().map(answer).collect();
        Ok(Self { starts, answers })
    }

    fn view(&self) -> &Self {
        self
    }

    /// An engine that cannot follow a change says so, and the library builds a new one. The default
    /// says the same.
    fn apply(&mut self, _: &Rib<A>, _: &[Delta<A>]) -> Update {
        Update::Rebuild
    }

    fn memory(&self) -> Memory {
        let (starts, answers) = (size_of_val(&*self.starts), size_of_val(&*self.answers));
        Memory::new().off_chip("starts", starts).off_chip("answers", answers)
    }
}

fn main() -> Result<(), Error> {
    let mut rib: Rib<u32> = Rib::new();
    rib.insert("192.0.2.0/24".parse()?, NextHop(1));
    rib.insert("192.0.2.128/25".parse()?, NextHop(2));

    static ENGINES: [Entry; 1] = [engine_entry!(ABOUT, [ipv4 ipv6] Intervals)];
    let mut fib = Fib::build_from(&ENGINES, "intervals", &rib, Config::default())?;
    fib.check_answers(&rib).expect("every answer is the table's");
    println!("{} keeps {}-bit answers in {} bytes", fib.specification(), fib.width(), fib.memory().total());
    for address in [Ipv4Addr::new(192, 0, 2, 9), Ipv4Addr::new(192, 0, 2, 129)] {
        println!("{address:15} {:?}", fib.lookup(address));
    }

    let address = Ipv4Addr::new(203, 0, 113, 1);
    println!("{address:15} {:?}", fib.lookup(address));
    let delta = rib.insert("203.0.113.0/24".parse()?, NextHop(3));
    println!("a change: {:?}", fib.apply(&rib, &Vec::from_iter(delta))?);
    println!("{address:15} {:?}", fib.lookup(address));
    Ok(())
}
