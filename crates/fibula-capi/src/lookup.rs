//! Lookups: what the calls of [`abi`](crate::abi) have in common for both families.

use crate::abi::{CPrefix, answer, elements, elements_mut, given};
use crate::error::Failure;
use crate::table::{Number, Routes, Table};
use fibula::table::Match;
use fibula::table::form::ValuesAlone;
use fibula::{Address, IpPrefix, NextHop, Strided};
use std::ffi::{c_int, c_void};
use std::net::{Ipv4Addr, Ipv6Addr};

/// A table's answer to one address of many.
pub(crate) type Found<'t, A> = Match<'t, A, Number, ValuesAlone>;

/// A family, as tables look it up.
pub(crate) trait Family: Address {
    /// Returns the value of the longest matching prefix.
    fn value(table: &Routes, address: Self) -> Option<&Number>;

    /// Returns the longest matching prefix and its value.
    fn route(table: &Routes, address: Self) -> Option<(IpPrefix, &Number)>;

    /// Calls `found` for each address.
    fn each<'t>(table: &'t Routes, addresses: Strided<'_, Self>, found: impl FnMut(usize, Found<'t, Self>));

    /// Writes the index of each address's value.
    fn classes(table: &Routes, addresses: Strided<'_, Self>, indices: &mut [NextHop]);
}

impl Family for u32 {
    #[inline(always)]
    fn value(table: &Routes, address: Self) -> Option<&Number> {
        table.lookup_value(Ipv4Addr::from_bits(address))
    }

    fn route(table: &Routes, address: Self) -> Option<(IpPrefix, &Number)> {
        table.lookup(Ipv4Addr::from_bits(address))
    }

    fn each<'t>(table: &'t Routes, addresses: Strided<'_, Self>, found: impl FnMut(usize, Found<'t, Self>)) {
        table.lookup_strided_ipv4(addresses, found);
    }

    fn classes(table: &Routes, addresses: Strided<'_, Self>, indices: &mut [NextHop]) {
        table.lookup_classes_ipv4(addresses, indices);
    }
}

impl Family for u128 {
    #[inline(always)]
    fn value(table: &Routes, address: Self) -> Option<&Number> {
        table.lookup_value(Ipv6Addr::from_bits(address))
    }

    fn route(table: &Routes, address: Self) -> Option<(IpPrefix, &Number)> {
        table.lookup(Ipv6Addr::from_bits(address))
    }

    fn each<'t>(table: &'t Routes, addresses: Strided<'_, Self>, found: impl FnMut(usize, Found<'t, Self>)) {
        table.lookup_strided_ipv6(addresses, found);
    }

    fn classes(table: &Routes, addresses: Strided<'_, Self>, indices: &mut [NextHop]) {
        table.lookup_classes_ipv6(addresses, indices);
        indices.iter_mut().filter(|class| class.is_some()).for_each(|class| class.0 |= IPV6);
    }
}

/// # Safety
/// `addrs` is null, or `n` addresses that are `stride` bytes apart may be read.
pub(crate) unsafe fn strided<'t, A: Address>(
    addrs: *const c_void,
    stride: usize,
    n: usize,
) -> Result<Strided<'t, A>, Failure> {
    if stride == 0 {
        return Err(Failure::invalid("the stride is 0"));
    }
    let bytes = n.checked_sub(1).map(|last| last.checked_mul(stride)?.checked_add(A::BITS as usize / 8));
    let Some(bytes) = bytes.unwrap_or(Some(0)) else {
        return Err(Failure::invalid(format!("{n} addresses, {stride} bytes apart, are in no memory")));
    };
    // SAFETY: the caller's promise.
    Ok(Strided::new(unsafe { elements(addrs.cast(), bytes, "the addresses") }?, stride))
}

/// # Safety
/// As the functions of the interface.
#[inline(always)]
pub(crate) unsafe fn lookup<A: Family>(
    table: *const Table,
    addr: *const c_void,
    value: *mut u64,
    prefix: *mut CPrefix,
) -> Result<c_int, Failure> {
    // SAFETY: the caller's promise.
    let (table, address) = unsafe { (given(table, "the table")?, strided::<A>(addr, 1, 1)?.get(0)) };
    if !prefix.is_null() {
        // SAFETY: the caller's promise.
        return Ok(unsafe { lookup_with_prefix(table, address, value, prefix) });
    }
    // SAFETY: the caller's promise.
    Ok(unsafe { answer(A::value(&table.routes, address).map(|number| number.get()), value) })
}

/// Apart, so that a lookup that asks for no prefix saves no registers for it.
///
/// # Safety
/// `value` is null, or may be written; `prefix` may be written.
#[inline(never)]
unsafe fn lookup_with_prefix<A: Family>(
    table: &Table,
    address: A,
    value: *mut u64,
    prefix: *mut CPrefix,
) -> c_int {
    let route = A::route(&table.routes, address);
    if let Some((matching, _)) = route {
        // SAFETY: the caller's promise.
        unsafe { prefix.write(matching.into()) };
    }
    // SAFETY: the caller's promise.
    unsafe { answer(route.map(|(_, number)| number.get()), value) }
}

/// # Safety
/// As the functions of the interface.
pub(crate) unsafe fn bulk<A: Family>(
    table: *const Table,
    addresses: Strided<'_, A>,
    out: *mut u64,
    miss: u64,
) -> Result<c_int, Failure> {
    // SAFETY: the caller's promise.
    let (table, out) =
        unsafe { (given(table, "the table")?, elements_mut(out, addresses.len(), "the answers")?) };
    A::each(&table.routes, addresses, |at, found| out[at] = value_of(found, miss));
    Ok(0)
}

/// Returns the value that a lookup found, or `miss`.
#[inline]
pub(crate) fn value_of<A: Address>(found: Found<'_, A>, miss: u64) -> u64 {
    found.value().map_or(miss, |number| number.get())
}

/// # Safety
/// As the functions of the interface.
pub(crate) unsafe fn indices<A: Family>(
    table: *const Table,
    addresses: Strided<'_, A>,
    out: *mut u32,
) -> Result<c_int, Failure> {
    // An index is a number of 32 bits, and nothing else.
    let out: *mut NextHop = out.cast();
    // SAFETY: the caller's promise.
    let (table, out) =
        unsafe { (given(table, "the table")?, elements_mut(out, addresses.len(), "the indices")?) };
    A::classes(&table.routes, addresses, out);
    Ok(0)
}

/// The bit of an index that says IPv6: the classes of a table are numbers of one family, fewer than
/// 2^31.
const IPV6: u32 = 1 << 31;

/// Returns the value of an index of [`indices`].
pub(crate) fn value_of_index(table: &Table, index: u32) -> Option<u64> {
    let (routes, class) = (&table.routes, NextHop(index & !IPV6));
    let value =
        if index & IPV6 == 0 { routes.class_value_ipv4(class) } else { routes.class_value_ipv6(class) };
    value.map(|number| number.get())
}
