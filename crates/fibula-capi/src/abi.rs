//! Tables and lookups as C calls them. `include/fibula.h` says what each call means.

use crate::error::{Failure, call, text};
use crate::lookup::{bulk, indices, lookup, strided, value_of, value_of_index};
use crate::table::{Asked, Number, Table};
use fibula::IpPrefix;
use fibula::engine::Pages;
use fibula::live::turns::Turn;
use fibula::table::Settings;
use std::ffi::{c_char, c_int, c_void};
use std::net::IpAddr;
use std::ops::ControlFlow;
use std::slice;

/// `struct fibula_prefix`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct CPrefix {
    family: u8,
    len: u8,
    addr: [u8; 16],
}

impl CPrefix {
    /// Returns the prefix.
    pub(crate) fn read(&self) -> Result<IpPrefix, Failure> {
        let [a, b, c, d, ..] = self.addr;
        let address = match self.family {
            4 => IpAddr::from([a, b, c, d]),
            6 => IpAddr::from(self.addr),
            other => {
                return Err(Failure::new(libc::EAFNOSUPPORT, format!("family {other} is neither 4 nor 6")));
            }
        };
        Ok(IpPrefix::new(address, self.len)?)
    }
}

impl From<IpPrefix> for CPrefix {
    fn from(prefix: IpPrefix) -> Self {
        let mut addr = [0; 16];
        let family = match prefix.first() {
            IpAddr::V4(first) => {
                addr[..4].copy_from_slice(&first.octets());
                4
            }
            IpAddr::V6(first) => {
                addr = first.octets();
                6
            }
        };
        Self { family, len: prefix.len(), addr }
    }
}

/// `struct fibula_options`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct COptions {
    size: usize,
    engine: *const c_char,
    max_bytes: u64,
    huge_pages: c_int,
}

/// # Safety
/// `options` is null or points to as many bytes as its `size` says, or as `size` here.
pub(crate) unsafe fn options(options: *const COptions) -> Result<Settings, Failure> {
    // SAFETY: the caller's promise.
    let Some(options) = (unsafe { options.as_ref() }) else { return Ok(Settings::default()) };
    if options.size != size_of::<COptions>() {
        let text = format!("options of {} bytes: call fibula_options_init", options.size);
        return Err(Failure::invalid(text));
    }
    let mut chosen = Settings::default();
    if !options.engine.is_null() {
        // SAFETY: the caller's promise.
        unsafe { text(options.engine, "the engine") }?.clone_into(&mut chosen.engine);
    }
    chosen.most_bytes = usize::try_from(options.max_bytes).ok().filter(|&bytes| bytes > 0);
    if options.huge_pages != 0 {
        chosen.config.pages = Pages::Huge;
    }
    Ok(chosen)
}

/// Returns what a pointer that C hands over points to.
///
/// # Safety
/// `pointer` is null, or points to a `T` that nobody changes meanwhile.
pub(crate) unsafe fn given<'t, T>(pointer: *const T, what: &str) -> Result<&'t T, Failure> {
    // SAFETY: the caller's promise.
    unsafe { pointer.as_ref() }.ok_or_else(|| Failure::null(what))
}

/// As [`given`], to be changed.
///
/// # Safety
/// `pointer` is null, or points to a `T` that nobody else uses meanwhile.
pub(crate) unsafe fn given_mut<'t, T>(pointer: *mut T, what: &str) -> Result<&'t mut T, Failure> {
    // SAFETY: the caller's promise.
    unsafe { pointer.as_mut() }.ok_or_else(|| Failure::null(what))
}

/// Hands something over to C, which frees it by the call that is named as its type is.
///
/// # Safety
/// `out` is null, or may be written.
pub(crate) unsafe fn hand_over<T>(out: *mut *mut T, value: T) -> Result<c_int, Failure> {
    if out.is_null() {
        return Err(Failure::null("the place for the result"));
    }
    // SAFETY: the caller's promise.
    unsafe { out.write(Box::into_raw(Box::new(value))) };
    Ok(0)
}

/// Frees what was handed over.
///
/// # Safety
/// `pointer` is null, or comes from [`hand_over`] and is not used any more.
pub(crate) unsafe fn take_back<T>(pointer: *mut T) {
    if !pointer.is_null() {
        call(|| {
            // SAFETY: the caller's promise.
            drop(unsafe { Box::from_raw(pointer) });
            Ok(0)
        });
    }
}

/// Declares functions of the interface, whose bodies return a status.
macro_rules! interface {
    ($($(#[$attribute:meta])* fn $name:ident($($argument:ident: $type:ty),* $(,)?) $body:block)*) => {$(
        $(#[$attribute])*
        ///
        /// # Safety
        /// As `fibula.h` says: pointers are null, or point to what their types say, and nobody else
        /// uses meanwhile what the call changes.
        #[unsafe(no_mangle)]
        #[allow(clippy::undocumented_unsafe_blocks, reason = "the promise of the caller, above")]
        pub(crate) unsafe extern "C" fn $name($($argument: $type),*) -> c_int {
            // SAFETY: the promise of the caller.
            call(|| unsafe { $body })
        }
    )*};
}
pub(crate) use interface;

interface! {
    /// Makes an empty table.
    fn fibula_table_new(options: *const COptions, out: *mut *mut Table) {
        hand_over(out, Table::new(self::options(options)?)?)
    }

    /// Returns a copy of a table.
    fn fibula_table_copy(table: *const Table, out: *mut *mut Table) {
        hand_over(out, given(table, "the table")?.copy()?)
    }

    /// Sets the value of a prefix.
    fn fibula_insert(table: *mut Table, prefix: *const CPrefix, value: u64) {
        change(table, [(prefix, Some(Number::new(value)))])
    }

    /// Sets the values of many prefixes, or of none.
    fn fibula_insert_many(table: *mut Table, prefixes: *const CPrefix, values: *const u64, n: usize) {
        let prefixes = elements(prefixes, n, "the prefixes")?;
        let values = elements(values, n, "the values")?;
        let asked = prefixes.iter().zip(values).map(|(prefix, &value)| Ok((prefix.read()?, Some(Number::new(value)))));
        let asked = asked.collect::<Result<Vec<Asked>, Failure>>()?;
        given_mut(table, "the table")?.routes.try_apply(asked)?;
        Ok(0)
    }

    /// Removes a prefix.
    fn fibula_remove(table: *mut Table, prefix: *const CPrefix) {
        change(table, [(prefix, None)])
    }

    /// Removes all prefixes.
    fn fibula_clear(table: *mut Table) {
        let table = given_mut(table, "the table")?;
        *table = table.emptied();
        Ok(0)
    }

    /// Returns the value of exactly this prefix.
    fn fibula_get(table: *const Table, prefix: *const CPrefix, value: *mut u64) {
        let prefix = given(prefix, "the prefix")?.read()?;
        Ok(answer(given(table, "the table")?.routes.get(prefix).map(|number| number.get()), value))
    }

    /// Calls `visit` for each prefix.
    fn fibula_each(table: *const Table, visit: Option<Visit>, context: *mut c_void) {
        visit_all(given(table, "the table")?.routes.iter(), visit, context)
    }

    /// Calls `visit` for each prefix that covers one.
    fn fibula_each_covering(
        table: *const Table, prefix: *const CPrefix, visit: Option<Visit>, context: *mut c_void,
    ) {
        let table = given(table, "the table")?;
        visit_all(table.routes.covering(given(prefix, "the prefix")?.read()?), visit, context)
    }

    /// Calls `visit` for each prefix that one covers.
    fn fibula_each_covered(
        table: *const Table, prefix: *const CPrefix, visit: Option<Visit>, context: *mut c_void,
    ) {
        let table = given(table, "the table")?;
        visit_all(table.routes.covered(given(prefix, "the prefix")?.read()?), visit, context)
    }

    /// Returns 1 if a prefix and one of the table have addresses in common, else 0.
    fn fibula_overlaps(table: *const Table, prefix: *const CPrefix) {
        let table = given(table, "the table")?;
        Ok(table.routes.overlaps_prefix(given(prefix, "the prefix")?.read()?).into())
    }

    /// Returns the fewest prefixes with the same answers.
    fn fibula_aggregate(table: *const Table, out: *mut *mut Table) {
        let table = given(table, "the table")?;
        hand_over(out, table.with(table.routes.aggregate()))
    }

    /// Looks up an IPv4 address.
    fn fibula_lookup4(table: *const Table, addr: *const c_void, value: *mut u64, prefix: *mut CPrefix) {
        lookup::<u32>(table, addr, value, prefix)
    }

    /// Looks up an IPv6 address.
    fn fibula_lookup6(table: *const Table, addr: *const c_void, value: *mut u64, prefix: *mut CPrefix) {
        lookup::<u128>(table, addr, value, prefix)
    }

    /// Looks up IPv4 addresses in network order.
    fn fibula_lookup_bulk4_be(
        table: *const Table, addrs: *const c_void, stride: usize, out: *mut u64, n: usize, miss: u64,
    ) {
        bulk::<u32>(table, strided(addrs, stride, n)?, out, miss)
    }

    /// Looks up IPv6 addresses in network order.
    fn fibula_lookup_bulk6_be(
        table: *const Table, addrs: *const c_void, stride: usize, out: *mut u64, n: usize, miss: u64,
    ) {
        bulk::<u128>(table, strided(addrs, stride, n)?, out, miss)
    }

    /// Looks up IPv4 addresses in host order.
    fn fibula_lookup_bulk4_host(
        table: *const Table, addrs: *const u32, out: *mut u64, n: usize, miss: u64,
    ) {
        let table = given(table, "the table")?;
        let addresses = elements(addrs, n, "the addresses")?;
        let out = elements_mut(out, n, "the answers")?;
        table.routes.lookup_each_ipv4(addresses, |at, found| out[at] = value_of(found, miss));
        Ok(0)
    }

    /// Looks up the indices of the values of IPv4 addresses in network order.
    fn fibula_lookup_bulk4_index(
        table: *const Table, addrs: *const c_void, stride: usize, out: *mut u32, n: usize,
    ) {
        indices::<u32>(table, strided(addrs, stride, n)?, out)
    }

    /// Looks up the indices of the values of IPv6 addresses in network order.
    fn fibula_lookup_bulk6_index(
        table: *const Table, addrs: *const c_void, stride: usize, out: *mut u32, n: usize,
    ) {
        indices::<u128>(table, strided(addrs, stride, n)?, out)
    }

    /// Returns the value of an index.
    fn fibula_value(table: *const Table, index: u32, value: *mut u64) {
        Ok(answer(value_of_index(given(table, "the table")?, index), value))
    }
}

/// Fills in options with what they are by default.
///
/// # Safety
/// `options` is null or may be written.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn fibula_options_init(options: *mut COptions, size: usize) {
    if !options.is_null() && size == size_of::<COptions>() {
        // SAFETY: the caller's promise.
        unsafe { options.write(COptions { size, engine: std::ptr::null(), max_bytes: 0, huge_pages: 0 }) };
    }
}

/// Frees a table.
///
/// # Safety
/// `table` is null, or a table that is not used any more and is nobody else's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn fibula_table_free(table: *mut Table) {
    // SAFETY: the caller's promise.
    unsafe { take_back(table) }
}

/// Returns the number of prefixes; 0 for NULL.
///
/// # Safety
/// `table` is null or a table.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn fibula_len(table: *const Table) -> usize {
    // SAFETY: the caller's promise.
    unsafe { table.as_ref() }.map_or(0, |table| table.routes.len())
}

/// Returns the bytes of a table; 0 for NULL.
///
/// # Safety
/// `table` is null or a table.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn fibula_memory(table: *const Table) -> usize {
    // SAFETY: the caller's promise.
    unsafe { table.as_ref() }.map_or(0, |table| table.routes.memory().total())
}

/// Returns the version of the library.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn fibula_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// `fibula_visit`.
pub(crate) type Visit = extern "C" fn(context: *mut c_void, prefix: *const CPrefix, value: u64) -> c_int;

/// Elements that C hands over.
///
/// # Safety
/// `pointer` is null, or points to `n` elements that nobody changes meanwhile.
pub(crate) unsafe fn elements<'t, T>(pointer: *const T, n: usize, what: &str) -> Result<&'t [T], Failure> {
    if n == 0 {
        return Ok(&[]);
    }
    if pointer.is_null() {
        return Err(Failure::null(what));
    }
    // SAFETY: the caller's promise.
    Ok(unsafe { slice::from_raw_parts(pointer, n) })
}

/// As [`elements`], to be changed.
///
/// # Safety
/// `pointer` is null, or points to `n` elements that nobody else uses meanwhile.
pub(crate) unsafe fn elements_mut<'t, T>(
    pointer: *mut T,
    n: usize,
    what: &str,
) -> Result<&'t mut [T], Failure> {
    if n == 0 {
        return Ok(&mut []);
    }
    if pointer.is_null() {
        return Err(Failure::null(what));
    }
    // SAFETY: the caller's promise.
    Ok(unsafe { slice::from_raw_parts_mut(pointer, n) })
}

/// # Safety
/// As the functions of the interface.
unsafe fn change<const N: usize>(
    table: *mut Table,
    asked: [(*const CPrefix, Option<Number>); N],
) -> Result<c_int, Failure> {
    // SAFETY: the caller's promise.
    let table = unsafe { given_mut(table, "the table") }?;
    for (prefix, value) in asked {
        // SAFETY: the caller's promise.
        let prefix: IpPrefix = unsafe { given(prefix, "the prefix") }?.read()?;
        if table.routes.try_apply([(prefix, value)])? == 0 && value.is_none() {
            return Err(Failure::new(libc::ENOENT, format!("{prefix} is not in the table")));
        }
    }
    Ok(0)
}

/// Writes a value, if there is one.
///
/// # Safety
/// `value` is null or may be written.
pub(crate) unsafe fn answer<T>(found: Option<T>, value: *mut T) -> c_int {
    let Some(found) = found else { return -libc::ENOENT };
    if !value.is_null() {
        // SAFETY: the caller's promise.
        unsafe { value.write(found) };
    }
    0
}

fn visit_all<'t>(
    mut routes: impl Iterator<Item = (IpPrefix, &'t Number)>,
    visit: Option<Visit>,
    context: *mut c_void,
) -> Result<c_int, Failure> {
    let visit = visit.ok_or_else(|| Failure::null("the function"))?;
    let stopped =
        routes.try_for_each(|(prefix, number)| match visit(context, &CPrefix::from(prefix), number.get()) {
            0 => ControlFlow::Continue(()),
            stop => ControlFlow::Break(stop),
        });
    Ok(stopped.break_value().unwrap_or(0))
}
