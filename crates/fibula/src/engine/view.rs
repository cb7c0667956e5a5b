//! [`View`]: lookups, whatever engine they come from.

#[cfg(any(test, feature = "engines"))]
use super::Accesses;
use super::WidthBits;
use crate::address::sealed::Sealed;
use crate::arch::Level;
use crate::{Address, NextHop, NextHopSlice, Rib, Strided};
use std::fmt;

/// The lookups of a compiled table, and nothing else: what a reader thread, a snapshot and a thread
/// pipeline use.
///
/// A [`Fib`](crate::Fib) dereferences to one. The library implements this for every
/// [`Lookup`](super::Lookup).
///
/// ```
/// use fibula::{Fib, NextHop, Rib, View};
/// use std::net::Ipv4Addr;
/// let mut rib: Rib<u32> = Rib::new();
/// rib.insert("192.0.2.0/24".parse()?, NextHop(7));
/// let fib = Fib::new(&rib)?;
/// let view: &dyn View<u32> = &*fib;
/// assert_eq!(view.lookup(Ipv4Addr::new(192, 0, 2, 1)), Some(NextHop(7)));
/// assert_eq!(view.lookup(0xC0000301_u32), None);
/// # Ok::<(), fibula::Error>(())
/// ```
pub trait View<A: Address>: Sealed + Send + Sync {
    /// Returns the index of the answer for one address; [`NextHop::NONE`] if no route matches.
    fn lookup_index(&self, address: A) -> NextHop;

    /// As [`lookup_index`](View::lookup_index), and adds the accesses of the lookup to `accesses`.
    #[cfg(any(test, feature = "engines"))]
    fn lookup_counted(&self, address: A, accesses: &mut Accesses) -> NextHop;

    /// Writes the answer for `addresses[i]` to `next_hops[i]`. Several times as fast as single
    /// lookups.
    ///
    /// # Panics
    /// If the two differ in length.
    fn lookup_batch(&self, addresses: &[A], next_hops: &mut [NextHop]);

    /// As [`lookup_batch`](View::lookup_batch), into a slice of the engine's own
    /// [width](View::width), which is fastest.
    ///
    /// # Panics
    /// If the two differ in length, or the slice is of another width.
    fn lookup_batch_slice(&self, addresses: &[A], next_hops: NextHopSlice<'_>);

    /// Returns the width of the answers.
    fn width(&self) -> WidthBits;

    /// Returns the number of stages of a lookup, each for a thread of its own; 1 if it cannot be
    /// divided.
    #[cfg(any(test, feature = "engines"))]
    fn stages(&self) -> usize;

    /// Runs one stage of many lookups; see [`Stages::run_stage`](super::Stages::run_stage). If
    /// there is one stage, that is the whole lookup.
    ///
    /// ```
    /// use fibula::{Fib, NextHop, Rib};
    /// let mut rib: Rib<u32> = Rib::new();
    /// rib.insert("192.0.2.0/24".parse().unwrap(), NextHop(7));
    /// let fib = Fib::build("dir24-8", &rib).unwrap();
    /// let (addresses, mut found) = ([0xC000_0201, 1], [0; 2]);
    /// for stage in 0..fib.stages() {
    ///     fib.run_stage(stage, &addresses, &mut found);
    /// }
    /// assert_eq!((fib.stages(), found), (2, [7, 0]));
    /// ```
    #[cfg(any(test, feature = "engines"))]
    fn run_stage(&self, stage: usize, addresses: &[A], found: &mut [u64]);

    /// Sets the instruction set of later lookups; the answers stay the same. For tests and
    /// measurements: a table is built for the processor's best.
    fn set_isa(&mut self, isa: Level);

    /// Returns the engine together with the view, if there is an engine.
    #[doc(hidden)]
    fn whole(&self) -> Option<&dyn super::Whole<A>>;

    /// As [`whole`](View::whole), by value.
    #[doc(hidden)]
    fn into_whole(self: Box<Self>) -> Option<Box<dyn super::Whole<A>>>;
}

impl<A: Address> dyn View<A> + '_ {
    /// Returns the next hop of the longest prefix that contains an address, or `None` if no route
    /// matches.
    #[inline]
    pub fn lookup(&self, address: impl Into<A>) -> Option<NextHop> {
        Some(self.lookup_index(address.into())).filter(|next_hop| next_hop.is_some())
    }

    /// Compares the answers at both ends of every route with those of the table. For tests:
    /// O(n log n).
    ///
    /// # Errors
    /// Returns the first answer that differs.
    pub fn check_answers(&self, rib: &Rib<A>) -> Result<(), String> {
        let ends = rib.iter().flat_map(|route| [route.prefix.first(), route.prefix.last()]);
        ends.into_iter().try_for_each(|address| {
            let (right, found) = (rib.longest_match(address), self.lookup(address));
            let right = right.map(|route| route.next_hop);
            if found == right { Ok(()) } else { Err(format!("{address:?}: {found:?}, expected {right:?}")) }
        })
    }

    /// As [`lookup_batch`](View::lookup_batch), for addresses in packet headers.
    ///
    /// # Panics
    /// If the two differ in length.
    pub fn lookup_strided(&self, addresses: Strided<'_, A>, next_hops: &mut [NextHop]) {
        addresses.in_chunks(next_hops, |addresses, next_hops| self.lookup_batch(addresses, next_hops));
    }

    /// As [`lookup_batch`](View::lookup_batch), into a slice of the engine's own
    /// [width](View::width), which is fastest.
    ///
    /// # Panics
    /// If the two differ in length, or the slice is of another width.
    pub fn lookup_batch_into<'s>(&self, addresses: &[A], next_hops: impl Into<NextHopSlice<'s>>) {
        self.lookup_batch_slice(addresses, next_hops.into());
    }
}

impl<A: Address> fmt::Debug for dyn View<A> + '_ {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "View of an {} table with {}-bit answers", A::FAMILY, self.width())
    }
}
