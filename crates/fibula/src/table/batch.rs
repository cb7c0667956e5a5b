//! Lookups of many addresses at once.

use super::form::Form;
use super::half::Half;
use super::store::Store;
use super::{IpPrefix, Table};
use crate::blocks::pipeline::BURST;
use crate::{Address, NextHop, Prefix, Strided};
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

    /// Looks up many IPv4 addresses: `indices[i]` becomes what the engine answers for
    /// `addresses[i]`, or [`NextHop::NONE`]. The fastest lookup of a table: it reads no values.
    /// Allocates nothing.
    ///
    /// [`value_of_ipv4`](Table::value_of_ipv4) returns the value of an index, and
    /// [`get_index_ipv4`](Table::get_index_ipv4) the route with the address. An index holds until
    /// the next change of this table. It is at most the greatest number of values that the table
    /// has had: of routes, or of different values in a [`ValueTable`](super::ValueTable). In an
    /// [`InternedTable`](super::InternedTable) it tells the length too, and may be greater.
    ///
    /// # Panics
    /// If the two slices differ in length.
    ///
    /// ```
    /// use fibula::{NextHop, Prefix, Table};
    /// use std::net::Ipv4Addr;
    /// let mut table = Table::new();
    /// table.insert("192.0.2.0/24".parse::<Prefix<u32>>()?, "red");
    /// let mut indices = [NextHop::NONE; 2];
    /// let addresses = [Ipv4Addr::new(192, 0, 2, 1), Ipv4Addr::LOCALHOST];
    /// table.lookup_indices_ipv4(&addresses, &mut indices);
    /// let route = ("192.0.2.0/24".parse()?, &"red");
    /// assert_eq!(table.get_index_ipv4(indices[0], addresses[0]), Some(route));
    /// assert_eq!(indices.map(|index| table.value_of_ipv4(index)), [Some(&"red"), None]);
    /// # Ok::<(), fibula::Error>(())
    /// ```
    pub fn lookup_indices_ipv4<T: Copy + Into<Ipv4Addr>>(&self, addresses: &[T], indices: &mut [NextHop]) {
        self.ipv4.lookup_indices(addresses, |address| address.into().to_bits(), indices);
    }

    /// Looks up many IPv6 addresses; see [`lookup_indices_ipv4`](Table::lookup_indices_ipv4).
    ///
    /// # Panics
    /// If the two slices differ in length.
    pub fn lookup_indices_ipv6<T: Copy + Into<Ipv6Addr>>(&self, addresses: &[T], indices: &mut [NextHop]) {
        self.ipv6.lookup_indices(addresses, |address| address.into().to_bits(), indices);
    }

    /// As [`lookup_indices_ipv4`](Table::lookup_indices_ipv4), for addresses in packet headers.
    ///
    /// # Panics
    /// If the two differ in length.
    ///
    /// ```
    /// use fibula::{NextHop, Prefix, Strided, Table};
    /// let mut table = Table::new();
    /// table.insert("192.0.2.0/24".parse::<Prefix<u32>>()?, "red");
    /// let (sources, mut index) = ([192, 0, 2, 1], [NextHop::NONE]);
    /// table.lookup_strided_ipv4(Strided::new(&sources, 4), &mut index);
    /// assert_eq!(table.value_of_ipv4(index[0]), Some(&"red"));
    /// # Ok::<(), fibula::Error>(())
    /// ```
    pub fn lookup_strided_ipv4(&self, addresses: Strided<'_, u32>, indices: &mut [NextHop]) {
        addresses
            .in_chunks(indices, |addresses, indices| self.ipv4.compiled.lookup_batch(addresses, indices));
    }

    /// As [`lookup_indices_ipv6`](Table::lookup_indices_ipv6), for addresses in packet headers.
    ///
    /// # Panics
    /// If the two differ in length.
    pub fn lookup_strided_ipv6(&self, addresses: Strided<'_, u128>, indices: &mut [NextHop]) {
        addresses
            .in_chunks(indices, |addresses, indices| self.ipv6.compiled.lookup_batch(addresses, indices));
    }

    /// Returns the longest matching IPv4 prefix of `address` and its value, where `index` is what
    /// [`lookup_indices_ipv4`](Table::lookup_indices_ipv4) gave for that address. `None` for
    /// [`NextHop::NONE`] and for an index that the table does not have. Costs as the prefix in the
    /// table's [form](super::form).
    #[inline]
    #[must_use]
    pub fn get_index_ipv4(&self, index: NextHop, address: impl Into<Ipv4Addr>) -> Option<(Prefix<u32>, &V)> {
        self.ipv4.matching(index, address.into().to_bits())
    }

    /// Returns the longest matching IPv6 prefix of `address` and its value; see
    /// [`get_index_ipv4`](Table::get_index_ipv4).
    #[inline]
    #[must_use]
    pub fn get_index_ipv6(&self, index: NextHop, address: impl Into<Ipv6Addr>) -> Option<(Prefix<u128>, &V)> {
        self.ipv6.matching(index, address.into().to_bits())
    }

    /// Returns the value of an index that [`lookup_indices_ipv4`](Table::lookup_indices_ipv4) gave.
    /// `None` for [`NextHop::NONE`] and for an index that the table does not have. O(1).
    #[inline]
    #[must_use]
    pub fn value_of_ipv4(&self, index: NextHop) -> Option<&V> {
        self.ipv4.store.slots().value(index)
    }

    /// Returns the value of an index that [`lookup_indices_ipv6`](Table::lookup_indices_ipv6) gave;
    /// see [`value_of_ipv4`](Table::value_of_ipv4).
    #[inline]
    #[must_use]
    pub fn value_of_ipv6(&self, index: NextHop) -> Option<&V> {
        self.ipv6.store.slots().value(index)
    }
}

impl<A: Address, S: Store> Half<A, S> {
    fn lookup_batch<'t, T: Copy>(
        &'t self,
        addresses: &[T],
        bits: impl Fn(T) -> A,
        matches: &mut [Option<(Prefix<A>, &'t S::Value)>],
    ) {
        self.answer_batch(addresses, bits, matches, |index, address| self.matching(index, address));
    }

    fn lookup_values<'t, T: Copy>(
        &'t self,
        addresses: &[T],
        bits: impl Fn(T) -> A,
        values: &mut [Option<&'t S::Value>],
    ) {
        self.answer_batch(addresses, bits, values, |index, _| self.store.slots().value(index));
    }

    /// Looks up many addresses: each answer is what `answer` makes of the index and the address.
    #[inline]
    fn answer_batch<T: Copy, R>(
        &self,
        addresses: &[T],
        bits: impl Fn(T) -> A,
        answers: &mut [R],
        answer: impl Fn(NextHop, A) -> R,
    ) {
        // A short call pays for no more room than it needs.
        if addresses.len() <= BURST {
            self.answer_batch_by::<BURST, T, R>(addresses, bits, answers, answer);
        } else {
            self.answer_batch_by::<CHUNK, T, R>(addresses, bits, answers, answer);
        }
    }

    #[inline]
    fn answer_batch_by<const N: usize, T: Copy, R>(
        &self,
        addresses: &[T],
        bits: impl Fn(T) -> A,
        answers: &mut [R],
        answer: impl Fn(NextHop, A) -> R,
    ) {
        check(addresses.len(), answers.len());
        let mut indices = [NextHop::NONE; N];
        let mut answers = answers.chunks_mut(N);
        converted::<N, A, T>(addresses, bits, |addresses| {
            let indices = &mut indices[..addresses.len()];
            self.compiled.lookup_batch(addresses, indices);
            let answers = answers.next().unwrap_or_default();
            self.store.slots().for_each(indices, |at, index| answers[at] = answer(index, addresses[at]));
        });
    }

    fn lookup_indices<T: Copy>(&self, addresses: &[T], bits: impl Fn(T) -> A, indices: &mut [NextHop]) {
        if addresses.len() <= BURST {
            self.lookup_indices_by::<BURST, T>(addresses, bits, indices);
        } else {
            self.lookup_indices_by::<CHUNK, T>(addresses, bits, indices);
        }
    }

    #[inline]
    fn lookup_indices_by<const N: usize, T: Copy>(
        &self,
        addresses: &[T],
        bits: impl Fn(T) -> A,
        indices: &mut [NextHop],
    ) {
        check(addresses.len(), indices.len());
        let mut indices = indices.chunks_mut(N);
        converted::<N, A, T>(addresses, bits, |addresses| {
            self.compiled.lookup_batch(addresses, indices.next().unwrap_or_default());
        });
    }
}

/// Calls `with` with the bits of addresses, `N` at a time.
#[inline]
fn converted<const N: usize, A: Address, T: Copy>(
    addresses: &[T],
    bits: impl Fn(T) -> A,
    mut with: impl FnMut(&[A]),
) {
    let mut converted = [A::ZERO; N];
    for addresses in addresses.chunks(N) {
        for (to, &from) in converted.iter_mut().zip(addresses) {
            *to = bits(from);
        }
        with(&converted[..addresses.len()]);
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
        half.store.slots().for_each(indices, |at, index| {
            let found = half.matching(index, addresses[at]);
            matches[usize::from(self.positions[at])] = found.map(|(prefix, value)| (prefix.into(), value));
        });
    }
}

fn check(addresses: usize, answers: usize) {
    assert_eq!(addresses, answers, "as many answers as addresses");
}
