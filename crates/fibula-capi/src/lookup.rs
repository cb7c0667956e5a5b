//! Lookups: what the calls of [`abi`](crate::abi) have in common for both families.

use crate::abi::{CPrefix, answer, elements, elements_mut, given};
use crate::error::Failure;
use crate::table::{Family, Table};
use fibula::{Address, IpPrefix, NextHop, Strided};
use std::ffi::{c_int, c_void};

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
) -> Result<c_int, Failure>
where
    fibula::Prefix<A>: Into<IpPrefix>,
{
    // SAFETY: the caller's promise.
    let (table, address) = unsafe { (given(table, "the table")?, strided::<A>(addr, 1, 1)?.get(0)) };
    if !prefix.is_null() {
        // SAFETY: the caller's promise.
        return Ok(unsafe { lookup_with_prefix(table, address, value, prefix) });
    }
    // SAFETY: the caller's promise.
    Ok(unsafe { lookup_value(table, address, value) })
}

/// # Safety
/// `value` is null, or may be written.
#[inline(always)]
unsafe fn lookup_value<A: Family>(table: &Table, address: A, value: *mut u64) -> c_int {
    let index = A::half(table).lookup(address);
    // SAFETY: the caller's promise.
    unsafe { answer(index.is_some().then(|| table.values.get(index)), value) }
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
) -> c_int
where
    fibula::Prefix<A>: Into<IpPrefix>,
{
    if let Some(route) = A::half(table).rib.longest_match(address) {
        // SAFETY: the caller's promise.
        unsafe { prefix.write(route.prefix.into().into()) };
    }
    // SAFETY: the caller's promise.
    unsafe { lookup_value(table, address, value) }
}

/// The most addresses of a chunk.
pub(crate) const CHUNK: usize = Strided::<'_, u32>::CHUNK;
/// The addresses of a call that needs less room.
const SHORT: usize = 32;

/// Writes the values of at most `N` addresses.
#[inline(always)]
pub(crate) fn values<const N: usize, A: Family>(table: &Table, addresses: &[A], out: &mut [u64], miss: u64) {
    let mut found = [NextHop::NONE; N];
    let found = &mut found[..addresses.len()];
    match &A::half(table).fib {
        Some(fib) => fib.lookup_batch(addresses, found),
        None => found.fill(NextHop::NONE),
    }
    let values = table.values.all();
    for (out, &index) in out.iter_mut().zip(&*found) {
        let value = values.get(index.0 as usize).copied().unwrap_or(miss);
        *out = if index == NextHop::NONE { miss } else { value };
    }
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
    if addresses.len() <= SHORT {
        addresses.in_chunks(out, |addresses, out| values::<SHORT, A>(table, addresses, out, miss));
    } else {
        addresses.in_chunks(out, |addresses, out| values::<CHUNK, A>(table, addresses, out, miss));
    }
    Ok(0)
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
    match &A::half(table).fib {
        Some(fib) => fib.lookup_strided(addresses, out),
        None => out.fill(NextHop::NONE),
    }
    Ok(0)
}
