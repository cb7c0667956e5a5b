//! The kernels' bodies as the host compiler makes them: the twin that every test judges.
#![allow(unsafe_code, reason = "functions compiled from C are called here and nowhere else")]

#[cfg(feature = "papers")]
use crate::table::bloom::BloomTable;
#[cfg(feature = "papers")]
use crate::table::sail::SailLPrintedTable;
use crate::table::{Layout, PARTS, Table};
use crate::{Kernel, Key};
use fibula::engine::{Meter, Width, WidthBits};
use std::ffi::c_void;

/// A table as the bodies read it: `struct fibula_table`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pointers {
    pub(crate) parts: [*const c_void; PARTS],
}

type LookUp = unsafe extern "C" fn(*const Pointers, *const c_void, *mut c_void, u64);
type LookUpOfMany = unsafe extern "C" fn(*const Pointers, *const u16, *const c_void, *mut c_void, u64);
type Counted = unsafe extern "C" fn(*const Pointers, *const c_void, *mut *const c_void, *mut u32) -> u32;

/// The bodies of one layout, for the three widths.
#[derive(Debug)]
pub struct Bodies {
    look_up: [LookUp; 3],
    of_many: [LookUpOfMany; 3],
    counted: [Counted; 3],
}

macro_rules! bodies {
    ($($layout:ident: [$($look_up:ident)+] [$($of_many:ident)+] [$($counted:ident)+];)+) => {
        unsafe extern "C" {
            $(
                $(fn $look_up(table: *const Pointers, addresses: *const c_void, next_hops: *mut c_void, count: u64);)+
                $(fn $of_many(tables: *const Pointers, table_ids: *const u16, addresses: *const c_void,
                    next_hops: *mut c_void, count: u64);)+
                $(fn $counted(table: *const Pointers, address: *const c_void, places: *mut *const c_void,
                    reads: *mut u32) -> u32;)+
            )+
        }
        $(
            #[allow(non_upper_case_globals, reason = "named as the kernel is")]
            pub(crate) static $layout: Bodies =
                Bodies { look_up: [$($look_up),+], of_many: [$($of_many),+], counted: [$($counted),+] };
        )+
    };
}

bodies! {
    dir24_8: [fibula_twin_dir24_8_8 fibula_twin_dir24_8_16 fibula_twin_dir24_8_32]
        [fibula_twin_dir24_8_8_of_many fibula_twin_dir24_8_16_of_many fibula_twin_dir24_8_32_of_many]
        [fibula_counted_dir24_8_8 fibula_counted_dir24_8_16 fibula_counted_dir24_8_32];
    sail_l: [fibula_twin_sail_l_8 fibula_twin_sail_l_16 fibula_twin_sail_l_32]
        [fibula_twin_sail_l_8_of_many fibula_twin_sail_l_16_of_many fibula_twin_sail_l_32_of_many]
        [fibula_counted_sail_l_8 fibula_counted_sail_l_16 fibula_counted_sail_l_32];
    mosaic: [fibula_twin_mosaic_8 fibula_twin_mosaic_16 fibula_twin_mosaic_32]
        [fibula_twin_mosaic_8_of_many fibula_twin_mosaic_16_of_many fibula_twin_mosaic_32_of_many]
        [fibula_counted_mosaic_8 fibula_counted_mosaic_16 fibula_counted_mosaic_32];
    mosaic6: [fibula_twin_mosaic6_8 fibula_twin_mosaic6_16 fibula_twin_mosaic6_32]
        [fibula_twin_mosaic6_8_of_many fibula_twin_mosaic6_16_of_many fibula_twin_mosaic6_32_of_many]
        [fibula_counted_mosaic6_8 fibula_counted_mosaic6_16 fibula_counted_mosaic6_32];
}

#[cfg(feature = "papers")]
bodies! {
    sail_l_printed: [fibula_twin_sail_l_printed_8 fibula_twin_sail_l_printed_16 fibula_twin_sail_l_printed_32]
        [fibula_twin_sail_l_printed_8_of_many fibula_twin_sail_l_printed_16_of_many
         fibula_twin_sail_l_printed_32_of_many]
        [fibula_counted_sail_l_printed_8 fibula_counted_sail_l_printed_16 fibula_counted_sail_l_printed_32];
    bloom: [fibula_twin_bloom_8 fibula_twin_bloom_16 fibula_twin_bloom_32]
        [fibula_twin_bloom_8_of_many fibula_twin_bloom_16_of_many fibula_twin_bloom_32_of_many]
        [fibula_counted_bloom_8 fibula_counted_bloom_16 fibula_counted_bloom_32];
}

fn index(width: WidthBits) -> usize {
    match width {
        WidthBits::U8 => 0,
        WidthBits::U16 => 1,
        WidthBits::U32 => 2,
    }
}

/// The most reads that a lookup reports: `FIBULA_READS_MAX` of `kernels/table.h`.
const READS_MAX: usize = 64;

/// A table whose parts a body reads.
///
/// # Safety
/// The parts are a table of the layout of the bodies, at the width: no entry leads a body out of
/// them.
pub(crate) unsafe trait Readable {
    /// The addresses.
    type Address: Key;
    /// The answers.
    type Width: Width;

    /// The bodies of its layout.
    const BODIES: &'static Bodies;

    /// Returns the bytes of its parts.
    fn parts(&self) -> [&[u8]; PARTS];
}

// SAFETY: `Unique` allocated every index in an entry and keeps it allocated (`Table` checks that in
// `validate`).
unsafe impl<L: Layout, W: Width, const N: usize, const E: usize> Readable for Table<L, W, N, E> {
    type Address = L::Address;
    type Width = W;
    const BODIES: &'static Bodies = L::BODIES;

    fn parts(&self) -> [&[u8]; PARTS] {
        Self::parts(self)
    }
}

// SAFETY: the engine numbers chunks from 0 without holes, in all arrays of a level (it checks that
// in `validate`), and BCN16 has an entry for each value of 16 bits.
#[cfg(feature = "papers")]
unsafe impl<W: Width> Readable for SailLPrintedTable<W> {
    type Address = u32;
    type Width = W;
    const BODIES: &'static Bodies = &sail_l_printed;

    fn parts(&self) -> [&[u8]; PARTS] {
        Self::parts(self)
    }
}

// SAFETY: `BloomTable::compile` writes the sizes from which the indices of its parts are scaled,
// and a bucket that is not full ends every walk.
#[cfg(feature = "papers")]
unsafe impl<W: Width> Readable for BloomTable<W> {
    type Address = u32;
    type Width = W;
    const BODIES: &'static Bodies = &bloom;

    fn parts(&self) -> [&[u8]; PARTS] {
        Self::parts(self)
    }
}

fn pointers(table: &impl Readable) -> Pointers {
    Pointers { parts: table.parts().map(|part| part.as_ptr().cast()) }
}

/// Looks up `addresses` in a table.
///
/// # Panics
/// If there are not as many answers as addresses.
#[inline]
pub(crate) fn look_up<T: Readable>(table: &T, addresses: &[T::Address], next_hops: &mut [T::Width]) {
    assert_eq!(addresses.len(), next_hops.len(), "as many next hops as addresses");
    let body = T::BODIES.look_up[index(T::Width::BITS)];
    let pointers = pointers(table);
    // SAFETY: the body of this layout and width reads `len` addresses, writes `len` answers, and
    // reads the parts as `Readable` allows.
    unsafe {
        body(
            &raw const pointers,
            addresses.as_ptr().cast(),
            next_hops.as_mut_ptr().cast(),
            addresses.len() as u64,
        );
    }
}

/// Does on the host what a card does with a batch: as many answers as there are addresses, all of
/// them bytes.
///
/// # Safety
/// The parts are a table of the kernel's layout and width as its host had it. Addresses and answers
/// are aligned for integers of their size.
///
/// # Panics
/// If there are not as many answers as addresses.
pub unsafe fn look_up_bytes(kernel: Kernel, parts: [&[u8]; PARTS], addresses: &[u8], next_hops: &mut [u8]) {
    let count = addresses.len() / kernel.address_bytes();
    assert_eq!(next_hops.len(), count * kernel.answer_bytes(), "as many next hops as addresses");
    let pointers = Pointers { parts: parts.map(|part| part.as_ptr().cast()) };
    // SAFETY: as in `look_up`, upheld by the caller.
    unsafe {
        (kernel.bodies().look_up[index(kernel.width())])(
            &raw const pointers,
            addresses.as_ptr().cast(),
            next_hops.as_mut_ptr().cast(),
            count as u64,
        );
    }
}

/// Does the same for addresses that each name one of the tables.
///
/// # Safety
/// As for [`look_up_bytes`], for each of the tables.
///
/// # Panics
/// If the lengths differ, or a number names no table.
pub unsafe fn look_up_bytes_of_many(
    kernel: Kernel,
    tables: &[[&[u8]; PARTS]],
    table_ids: &[u16],
    addresses: &[u8],
    next_hops: &mut [u8],
) {
    let count = table_ids.len();
    assert_eq!(
        (addresses.len(), next_hops.len()),
        (count * kernel.address_bytes(), count * kernel.answer_bytes()),
        "as many next hops and table numbers as addresses"
    );
    assert!(table_ids.iter().all(|&id| usize::from(id) < tables.len()), "every number names a table");
    let pointers: Vec<Pointers> =
        tables.iter().map(|parts| Pointers { parts: parts.map(|part| part.as_ptr().cast()) }).collect();
    // SAFETY: as in `look_up`, upheld by the caller; every number is below the number of tables.
    unsafe {
        (kernel.bodies().of_many[index(kernel.width())])(
            pointers.as_ptr(),
            table_ids.as_ptr(),
            addresses.as_ptr().cast(),
            next_hops.as_mut_ptr().cast(),
            count as u64,
        );
    }
}

/// Returns the answer of a table for one address, and reports every read to a meter.
pub(crate) fn counted<T: Readable>(table: &T, address: T::Address, meter: &mut impl Meter) -> T::Width {
    let body = T::BODIES.counted[index(T::Width::BITS)];
    let mut places = [std::ptr::null(); READS_MAX];
    let mut reads = 0;
    let pointers = pointers(table);
    // SAFETY: as in `look_up`, for one address. The body reports no more reads than `places` holds.
    let found = unsafe {
        body(&raw const pointers, (&raw const address).cast(), places.as_mut_ptr(), &raw mut reads)
    };
    let parts = table.parts();
    for place in &places[..reads as usize] {
        // The reported byte is the first of the entry.
        let offset =
            |part: &&[u8]| place.addr().checked_sub(part.as_ptr().addr()).filter(|&at| at < part.len());
        let byte = parts.iter().find_map(|part| offset(part).map(|at| &part[at]));
        meter.load(byte.expect("a lookup reads the parts of its table"));
    }
    T::Width::narrow(fibula::NextHop(found))
}

/// Looks up addresses that each name their table, all of one layout and width.
///
/// # Panics
/// If there are not as many answers and table numbers as addresses, or a number names no table.
pub fn look_up_of_many<L: Layout, W: Width, const N: usize, const E: usize>(
    tables: &[&Table<L, W, N, E>],
    table_ids: &[u16],
    addresses: &[L::Address],
    next_hops: &mut [W],
) {
    assert!(
        addresses.len() == next_hops.len() && addresses.len() == table_ids.len(),
        "as many next hops and table numbers as addresses"
    );
    assert!(table_ids.iter().all(|&id| usize::from(id) < tables.len()), "every number names a table");
    let pointers: Vec<Pointers> = tables.iter().map(|&table| pointers(table)).collect();
    let body = L::BODIES.of_many[index(W::BITS)];
    // SAFETY: as in `look_up`; every number is below the number of tables.
    unsafe {
        body(
            pointers.as_ptr(),
            table_ids.as_ptr(),
            addresses.as_ptr().cast(),
            next_hops.as_mut_ptr().cast(),
            addresses.len() as u64,
        );
    }
}
