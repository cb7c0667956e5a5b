//! Lookups of many addresses at once.

use super::form::Form;
use super::half::Half;
use super::store::Store;
use super::{IpPrefix, Table};
use crate::blocks::pipeline::BURST;
use crate::{Address, NextHop, Prefix, Strided};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// How many addresses are handed to an engine at a time. Their arrays fit in the first-level cache.
const CHUNK: usize = 256;

impl<V, F: Form<V>> Table<V, F> {
    /// Looks up many addresses of either family: `matches[i]` becomes what
    /// [`lookup`](Table::lookup) returns for `addresses[i]`. Allocates nothing.
    ///
    /// Where all addresses are of one family, [`lookup_batch_ipv4`](Table::lookup_batch_ipv4) and
    /// [`lookup_batch_ipv6`](Table::lookup_batch_ipv6) are faster.
    ///
    /// # Panics
    /// If the two slices differ in length.
    ///
    /// ```
    /// use fibula::{IpPrefix, Table};
    /// use std::net::IpAddr;
    /// let mut table = Table::new();
    /// table.insert("192.0.2.0/24".parse::<IpPrefix>()?, "red");
    /// table.insert("2001:db8::/32".parse::<IpPrefix>()?, "blue");
    ///
    /// let addresses = ["2001:db8::1", "192.0.2.1"].map(|text| text.parse::<IpAddr>().unwrap());
    /// let mut matches = [None; 2];
    /// table.lookup_batch(&addresses, &mut matches);
    /// assert_eq!(matches.map(|found| *found.unwrap().1), ["blue", "red"]);
    /// # Ok::<(), fibula::Error>(())
    /// ```
    pub fn lookup_batch<'t>(&'t self, addresses: &[IpAddr], matches: &mut [Option<(IpPrefix, &'t V)>]) {
        check(addresses.len(), matches.len());
        let (mut ipv4, mut ipv6) = (Gathered::<u32>::new(), Gathered::<u128>::new());
        for (addresses, matches) in addresses.chunks(CHUNK).zip(matches.chunks_mut(CHUNK)) {
            for (position, address) in addresses.iter().enumerate() {
                match address {
                    IpAddr::V4(address) => ipv4.push(address.to_bits(), position),
                    IpAddr::V6(address) => ipv6.push(address.to_bits(), position),
                }
            }
            ipv4.answer(&self.ipv4, matches);
            ipv6.answer(&self.ipv6, matches);
        }
    }

    /// Looks up many IPv4 addresses: `matches[i]` becomes the longest matching prefix of
    /// `addresses[i]` and its value. Takes `Ipv4Addr`, or `u32` in host byte order. Allocates
    /// nothing.
    ///
    /// # Panics
    /// If the two slices differ in length.
    ///
    /// ```
    /// use fibula::{Prefix, Table};
    /// let mut table = Table::new();
    /// table.insert("192.0.2.0/24".parse::<Prefix<u32>>()?, "red");
    /// let mut matches = [None; 2];
    /// table.lookup_batch_ipv4(&[0xC000_0201_u32, 0], &mut matches);
    /// assert_eq!(matches, [Some(("192.0.2.0/24".parse()?, &"red")), None]);
    /// # Ok::<(), fibula::Error>(())
    /// ```
    pub fn lookup_batch_ipv4<'t, T: Copy + Into<Ipv4Addr>>(
        &'t self,
        addresses: &[T],
        matches: &mut [Option<(Prefix<u32>, &'t V)>],
    ) {
        self.ipv4.lookup_batch(addresses, |address| address.into().to_bits(), matches);
    }

    /// Looks up many IPv6 addresses; see [`lookup_batch_ipv4`](Table::lookup_batch_ipv4). Takes
    /// `Ipv6Addr`, or `u128` in host byte order.
    ///
    /// # Panics
    /// If the two slices differ in length.
    pub fn lookup_batch_ipv6<'t, T: Copy + Into<Ipv6Addr>>(
        &'t self,
        addresses: &[T],
        matches: &mut [Option<(Prefix<u128>, &'t V)>],
    ) {
        self.ipv6.lookup_batch(addresses, |address| address.into().to_bits(), matches);
    }

    /// Looks up many IPv4 addresses: `values[i]` becomes the value of the longest matching prefix
    /// of `addresses[i]`. As fast as the engine where the table is of the form
    /// [`ValuesAlone`](super::form::ValuesAlone). Allocates nothing.
    ///
    /// # Panics
    /// If the two slices differ in length.
    ///
    /// ```
    /// use fibula::{IpPrefix, ValueTable};
    /// let routes = [("192.0.2.0/24".parse::<IpPrefix>()?, "red")];
    /// let table: ValueTable<&str> = routes.into_iter().collect();
    /// let mut values = [None; 2];
    /// table.lookup_values_ipv4(&[0xC000_0201_u32, 0], &mut values);
    /// assert_eq!(values, [Some(&"red"), None]);
    /// # Ok::<(), fibula::Error>(())
    /// ```
    pub fn lookup_values_ipv4<'t, T: Copy + Into<Ipv4Addr>>(
        &'t self,
        addresses: &[T],
        values: &mut [Option<&'t V>],
    ) {
        self.ipv4.lookup_values(addresses, |address| address.into().to_bits(), values);
    }

    /// Looks up many IPv6 addresses; see [`lookup_values_ipv4`](Table::lookup_values_ipv4).
    ///
    /// # Panics
    /// If the two slices differ in length.
    pub fn lookup_values_ipv6<'t, T: Copy + Into<Ipv6Addr>>(
        &'t self,
        addresses: &[T],
        values: &mut [Option<&'t V>],
    ) {
        self.ipv6.lookup_values(addresses, |address| address.into().to_bits(), values);
    }

    /// Looks up many IPv4 addresses: `contained[i]` becomes whether any prefix contains
    /// `addresses[i]`. As fast as the engine: it reads no values. Allocates nothing.
    ///
    /// # Panics
    /// If the two slices differ in length.
    ///
    /// ```
    /// use fibula::{IpPrefix, Table};
    /// use std::net::Ipv4Addr;
    /// let table = Table::from([("192.0.2.0/24".parse::<IpPrefix>()?, "red")]);
    /// let mut contained = [false; 2];
    /// let addresses = [Ipv4Addr::new(192, 0, 2, 1), Ipv4Addr::LOCALHOST];
    /// table.contains_batch_ipv4(&addresses, &mut contained);
    /// assert_eq!(contained, [true, false]);
    /// # Ok::<(), fibula::Error>(())
    /// ```
    pub fn contains_batch_ipv4<T: Copy + Into<Ipv4Addr>>(&self, addresses: &[T], contained: &mut [bool]) {
        self.ipv4.contains_batch(addresses, |address| address.into().to_bits(), contained);
    }

    /// Looks up many IPv6 addresses; see [`contains_batch_ipv4`](Table::contains_batch_ipv4).
    ///
    /// # Panics
    /// If the two slices differ in length.
    pub fn contains_batch_ipv6<T: Copy + Into<Ipv6Addr>>(&self, addresses: &[T], contained: &mut [bool]) {
        self.ipv6.contains_batch(addresses, |address| address.into().to_bits(), contained);
    }

    /// Looks up many IPv4 addresses, and calls `found` for each with its position and its
    /// [`Match`], in order. For answers that need no array, or only some of the routes. Allocates
    /// nothing.
    ///
    /// ```
    /// use fibula::{IpPrefix, Table};
    /// let routes = [("192.0.2.0/24", 70), ("198.51.100.0/24", 5)];
    /// let routes = routes.map(|(text, weight)| (text.parse::<IpPrefix>().unwrap(), weight));
    /// let table = Table::from(routes);
    /// let addresses = [[192, 0, 2, 1], [198, 51, 100, 7], [203, 0, 113, 9], [192, 0, 2, 2]];
    /// let mut weight = 0;
    /// table.lookup_each_ipv4(&addresses, |_, found| weight += found.value().unwrap_or(&1000));
    /// assert_eq!(weight, 70 + 5 + 1000 + 70);
    /// ```
    pub fn lookup_each_ipv4<'t, T: Copy + Into<Ipv4Addr>>(
        &'t self,
        addresses: &[T],
        found: impl FnMut(usize, Match<'t, u32, V, F>),
    ) {
        let half = &self.ipv4;
        half.each(addresses, |address| address.into().to_bits(), Match::each(half, found));
    }

    /// Looks up many IPv6 addresses; see [`lookup_each_ipv4`](Table::lookup_each_ipv4).
    pub fn lookup_each_ipv6<'t, T: Copy + Into<Ipv6Addr>>(
        &'t self,
        addresses: &[T],
        found: impl FnMut(usize, Match<'t, u128, V, F>),
    ) {
        let half = &self.ipv6;
        half.each(addresses, |address| address.into().to_bits(), Match::each(half, found));
    }

    /// As [`lookup_each_ipv4`](Table::lookup_each_ipv4), for addresses in packet headers.
    ///
    /// ```
    /// use fibula::{IpPrefix, Strided, Table};
    /// let table = Table::from([("192.0.2.0/24".parse::<IpPrefix>()?, "red")]);
    /// let sources = [192, 0, 2, 1];
    /// table.lookup_strided_ipv4(Strided::new(&sources, 4), |at, found| {
    ///     assert_eq!((at, found.value()), (0, Some(&"red")));
    /// });
    /// # Ok::<(), fibula::Error>(())
    /// ```
    pub fn lookup_strided_ipv4<'t>(
        &'t self,
        addresses: Strided<'_, u32>,
        found: impl FnMut(usize, Match<'t, u32, V, F>),
    ) {
        let half = &self.ipv4;
        half.each_strided(addresses, Match::each(half, found));
    }

    /// As [`lookup_each_ipv6`](Table::lookup_each_ipv6), for addresses in packet headers.
    pub fn lookup_strided_ipv6<'t>(
        &'t self,
        addresses: Strided<'_, u128>,
        found: impl FnMut(usize, Match<'t, u128, V, F>),
    ) {
        let half = &self.ipv6;
        half.each_strided(addresses, Match::each(half, found));
    }

    /// Looks up IPv4 addresses in packet headers: `classes[i]` becomes the next hop by which the
    /// engine names the answer to address *i*: a number of half the size of a reference, for arrays
    /// of one's own, and the fastest. It means the same until the table changes; then another
    /// answer may have it. The [form](super::form) of the table says which routes have one.
    ///
    /// # Panics
    /// If `addresses` and `classes` differ in length.
    ///
    /// ```
    /// use fibula::{IpPrefix, NextHop, Strided, ValueTable};
    /// let routes = [("192.0.2.0/24", "red"), ("198.51.100.0/24", "red")];
    /// let routes = routes.map(|(text, port)| (text.parse::<IpPrefix>().unwrap(), port));
    /// let table: ValueTable<&str> = routes.into_iter().collect();
    /// let addresses = [192, 0, 2, 1, 198, 51, 100, 7, 203, 0, 113, 9];
    /// let mut classes = [NextHop::NONE; 3];
    /// table.lookup_classes_ipv4(Strided::new(&addresses, 4), &mut classes);
    /// assert_eq!((classes[0] == classes[1], classes[2]), (true, NextHop::NONE));
    /// assert_eq!(table.class_value_ipv4(classes[0]), Some(&"red"));
    /// ```
    pub fn lookup_classes_ipv4(&self, addresses: Strided<'_, u32>, classes: &mut [NextHop]) {
        self.ipv4.compiled.lookup_strided(addresses, classes);
    }

    /// Looks up IPv6 addresses; see [`lookup_classes_ipv4`](Table::lookup_classes_ipv4).
    ///
    /// # Panics
    /// If `addresses` and `classes` differ in length.
    pub fn lookup_classes_ipv6(&self, addresses: Strided<'_, u128>, classes: &mut [NextHop]) {
        self.ipv6.compiled.lookup_strided(addresses, classes);
    }

    /// Returns the value of the IPv4 routes of a [class](Table::lookup_classes_ipv4); `None` if
    /// there are none. O(1).
    #[must_use]
    pub fn class_value_ipv4(&self, class: NextHop) -> Option<&V> {
        self.ipv4.store.slots().value(class)
    }

    /// As [`class_value_ipv4`](Table::class_value_ipv4), of IPv6 routes.
    #[must_use]
    pub fn class_value_ipv6(&self, class: NextHop) -> Option<&V> {
        self.ipv6.store.slots().value(class)
    }
}

/// What a table answers for one address of many. It borrows the table, so that what it answers is
/// of the table that was asked; it reads no value until asked for one.
///
/// A table does not change while one of its answers is kept, since that borrows it:
///
/// ```compile_fail,E0502
/// use fibula::{Prefix, Table};
/// use std::net::Ipv4Addr;
/// let prefix = Prefix::ipv4(Ipv4Addr::new(192, 0, 2, 0), 24);
/// let mut table = Table::from([(prefix, "red")]);
/// let mut kept = None;
/// table.lookup_each_ipv4(&[[192, 0, 2, 1]], |_, found| kept = Some(found));
/// table.insert(prefix, "blue");
/// assert_eq!(kept.unwrap().value(), Some(&"red"));
/// ```
pub struct Match<'t, A: Address, V, F: Form<V>> {
    half: &'t Half<A, F::Store>,
    address: A,
    next_hop: NextHop,
}

impl<'t, A: Address, V, F: Form<V>> Match<'t, A, V, F> {
    /// Returns a function that passes each answer of `half` on as a match.
    fn each(
        half: &'t Half<A, F::Store>,
        mut found: impl FnMut(usize, Self),
    ) -> impl FnMut(usize, NextHop, A) {
        move |at, next_hop, address| found(at, Self { half, address, next_hop })
    }

    /// Returns whether any prefix contains the address. Reads nothing.
    #[inline]
    #[must_use]
    pub fn is_some(self) -> bool {
        self.next_hop.is_some()
    }

    /// Returns the value of the longest matching prefix. O(1).
    #[inline]
    #[must_use]
    pub fn value(self) -> Option<&'t V> {
        self.half.store.slots().value(self.next_hop)
    }

    /// Returns the longest matching prefix and its value. Costs as the prefix in the table's
    /// [form](super::form).
    #[inline]
    #[must_use]
    pub fn route(self) -> Option<(Prefix<A>, &'t V)> {
        self.half.matching(self.next_hop, self.address)
    }
}

impl<A: Address, V, F: Form<V>> Clone for Match<'_, A, V, F> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<A: Address, V, F: Form<V>> Copy for Match<'_, A, V, F> {}

impl<A: Address, V: fmt::Debug, F: Form<V>> fmt::Debug for Match<'_, A, V, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Match").field(&self.route()).finish()
    }
}

impl<A: Address, S: Store> Half<A, S> {
    fn lookup_batch<'t, T: Copy>(
        &'t self,
        addresses: &[T],
        bits: impl Fn(T) -> A,
        matches: &mut [Option<(Prefix<A>, &'t S::Value)>],
    ) {
        check(addresses.len(), matches.len());
        self.each(addresses, bits, |at, next_hop, address| matches[at] = self.matching(next_hop, address));
    }

    fn lookup_values<'t, T: Copy>(
        &'t self,
        addresses: &[T],
        bits: impl Fn(T) -> A,
        values: &mut [Option<&'t S::Value>],
    ) {
        check(addresses.len(), values.len());
        self.each(addresses, bits, |at, next_hop, _| values[at] = self.store.slots().value(next_hop));
    }

    fn contains_batch<T: Copy>(&self, addresses: &[T], bits: impl Fn(T) -> A, contained: &mut [bool]) {
        check(addresses.len(), contained.len());
        in_chunks(addresses, bits, |start, addresses, next_hops| {
            self.compiled.lookup_batch(addresses, next_hops);
            let contained = &mut contained[start..][..next_hops.len()];
            contained.iter_mut().zip(next_hops).for_each(|(one, next_hop)| *one = next_hop.is_some());
        });
    }

    /// Looks up many addresses. Calls `found` for each with its position, its next hop and its
    /// bits.
    #[inline]
    fn each<T: Copy>(
        &self,
        addresses: &[T],
        bits: impl Fn(T) -> A,
        mut found: impl FnMut(usize, NextHop, A),
    ) {
        in_chunks(addresses, bits, |start, addresses, next_hops| {
            self.each_of_chunk(start, addresses, next_hops, &mut found);
        });
    }

    /// As [`Half::each`], for addresses in packet headers.
    #[inline]
    fn each_strided(&self, addresses: Strided<'_, A>, mut found: impl FnMut(usize, NextHop, A)) {
        // A short call pays for no more room than it needs.
        if addresses.len() <= BURST {
            self.each_strided_of::<BURST>(addresses, &mut found);
        } else {
            self.each_strided_of::<{ Strided::<u32>::CHUNK }>(addresses, &mut found);
        }
    }

    #[inline]
    fn each_strided_of<const N: usize>(
        &self,
        addresses: Strided<'_, A>,
        found: &mut impl FnMut(usize, NextHop, A),
    ) {
        let mut next_hops = [NextHop::NONE; N];
        addresses.each_chunk_of::<N>(|start, addresses| {
            self.each_of_chunk(start, addresses, &mut next_hops[..addresses.len()], &mut *found);
        });
    }

    /// Looks up the addresses of a chunk, the first of which is at `start`.
    #[inline]
    fn each_of_chunk(
        &self,
        start: usize,
        addresses: &[A],
        next_hops: &mut [NextHop],
        mut found: impl FnMut(usize, NextHop, A),
    ) {
        self.compiled.lookup_batch(addresses, next_hops);
        let slots = self.store.slots();
        slots.for_each(next_hops, addresses, |at, next_hop, address| found(start + at, next_hop, address));
    }
}

/// Calls `with` with the bits of some addresses at a time, the position of the first, and room for
/// as many answers.
#[inline]
fn in_chunks<A: Address, T: Copy>(
    addresses: &[T],
    bits: impl Fn(T) -> A,
    with: impl FnMut(usize, &[A], &mut [NextHop]),
) {
    // A short call pays for no more room than it needs.
    if addresses.len() <= BURST {
        in_chunks_of::<BURST, A, T>(addresses, bits, with);
    } else {
        in_chunks_of::<CHUNK, A, T>(addresses, bits, with);
    }
}

#[inline]
fn in_chunks_of<const N: usize, A: Address, T: Copy>(
    addresses: &[T],
    bits: impl Fn(T) -> A,
    mut with: impl FnMut(usize, &[A], &mut [NextHop]),
) {
    let (mut converted, mut next_hops) = ([A::ZERO; N], [NextHop::NONE; N]);
    for (chunk, addresses) in addresses.chunks(N).enumerate() {
        for (to, &from) in converted.iter_mut().zip(addresses) {
            *to = bits(from);
        }
        with(chunk * N, &converted[..addresses.len()], &mut next_hops[..addresses.len()]);
    }
}

/// The addresses of one family out of a chunk that mixes both.
struct Gathered<A> {
    count: usize,
    addresses: [A; CHUNK],
    /// Where in the chunk each of them is.
    positions: [u16; CHUNK],
    indices: [NextHop; CHUNK],
}

impl<A: Address> Gathered<A> {
    fn new() -> Self {
        Self { count: 0, addresses: [A::ZERO; CHUNK], positions: [0; CHUNK], indices: [NextHop::NONE; CHUNK] }
    }

    #[inline]
    fn push(&mut self, address: A, position: usize) {
        self.addresses[self.count] = address;
        self.positions[self.count] = position as u16;
        self.count += 1;
    }

    /// Looks up what was gathered, and begins again.
    fn answer<'t, S: Store>(&mut self, half: &'t Half<A, S>, matches: &mut [Option<(IpPrefix, &'t S::Value)>])
    where
        Prefix<A>: Into<IpPrefix>,
    {
        let count = std::mem::take(&mut self.count);
        if count == 0 {
            return;
        }
        let (addresses, indices) = (&self.addresses[..count], &mut self.indices[..count]);
        half.compiled.lookup_batch(addresses, indices);
        half.store.slots().for_each(indices, addresses, |at, index, address| {
            let found = half.matching(index, address);
            matches[usize::from(self.positions[at])] = found.map(|(prefix, value)| (prefix.into(), value));
        });
    }
}

fn check(addresses: usize, answers: usize) {
    assert_eq!(addresses, answers, "as many answers as addresses");
}
