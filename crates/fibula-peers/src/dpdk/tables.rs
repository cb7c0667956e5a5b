//! Implements this project's engines by calls to the shim.

use fibula::engine::{Config, Engine, Lookup, Meter, Update, Width};
use fibula::parts::arch::Isa;
use fibula::parts::memory::{Memory, Pages};
use fibula::{Address, Delta, Error, ErrorKind, NextHop, Prefix, Rib, Route};
use std::ffi::{c_int, c_void};
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::OnceLock;

/// A table of the shim.
#[repr(C)]
pub(crate) struct Table {
    _private: [u8; 0],
}

// SAFETY: declared as the shim, compiled beside this file, defines them.
unsafe extern "C" {
    fn fibula_dpdk_start(huge_pages: c_int) -> c_int;
    fn fibula_dpdk_create(kind: c_int, routes: u32, groups: u32, next_hop_bytes: u32) -> *mut Table;
    fn fibula_dpdk_free(table: *mut Table);
    fn fibula_dpdk_bytes(table: *const Table) -> usize;
    fn fibula_dpdk_change(table: *mut Table, prefix: *const u8, length: u8, next_hop: u32) -> c_int;
    fn fibula_dpdk_lookup4(
        table: *const Table,
        addresses: *const u32,
        count: u32,
        answers: *mut c_void,
        width: u32,
    );
    fn fibula_dpdk_lookup6(
        table: *const Table,
        addresses: *const [u8; 16],
        count: u32,
        answers: *mut c_void,
        width: u32,
    );
    fn fibula_dpdk_lookup4_one(table: *const Table, address: u32) -> u32;
    fn fibula_dpdk_lookup6_one(table: *const Table, address: *const u8) -> u32;
}

/// The address type of a DPDK table.
pub(crate) trait Dpdk: Address {
    /// A prefix's bytes, the first four for IPv4.
    fn octets(self) -> [u8; 16];

    /// Looks up a batch in the table, which is of this family.
    fn look_up(table: NonNull<Table>, addresses: &[Self], answers: *mut c_void, width: u32);

    /// Looks up one address in the table, which is of this family.
    fn look_up_one(table: NonNull<Table>, address: Self) -> NextHop;
}

impl Dpdk for u32 {
    fn octets(self) -> [u8; 16] {
        (u128::from(self) << 96).to_be_bytes()
    }

    #[inline(always)]
    fn look_up(table: NonNull<Table>, addresses: &[u32], answers: *mut c_void, width: u32) {
        let count = u32::try_from(addresses.len()).expect("a batch");
        // SAFETY: the table is alive and of IPv4; `answers` has room for one answer of this width
        // per address.
        unsafe { fibula_dpdk_lookup4(table.as_ptr(), addresses.as_ptr(), count, answers, width) }
    }

    #[inline(always)]
    fn look_up_one(table: NonNull<Table>, address: u32) -> NextHop {
        // SAFETY: the table is alive and of IPv4.
        NextHop(unsafe { fibula_dpdk_lookup4_one(table.as_ptr(), address) })
    }
}

impl Dpdk for u128 {
    fn octets(self) -> [u8; 16] {
        self.to_be_bytes()
    }

    #[inline(always)]
    fn look_up(table: NonNull<Table>, addresses: &[u128], answers: *mut c_void, width: u32) {
        // DPDK takes addresses in the byte order of packets.
        let mut burst = [[0; 16]; 64];
        let mut at = 0;
        for addresses in addresses.chunks(burst.len()) {
            for (octets, address) in burst.iter_mut().zip(addresses) {
                *octets = address.to_be_bytes();
            }
            let answers = answers.cast::<u8>().wrapping_add(at * width as usize);
            // SAFETY: the table is alive and of IPv6; `answers` has room for one answer of this
            // width per address.
            unsafe {
                fibula_dpdk_lookup6(
                    table.as_ptr(),
                    burst.as_ptr(),
                    addresses.len() as u32,
                    answers.cast(),
                    width,
                );
            }
            at += addresses.len();
        }
    }

    #[inline(always)]
    fn look_up_one(table: NonNull<Table>, address: u128) -> NextHop {
        let octets = address.to_be_bytes();
        // SAFETY: the table is alive and of IPv6, and the octets are sixteen.
        NextHop(unsafe { fibula_dpdk_lookup6_one(table.as_ptr(), octets.as_ptr()) })
    }
}

/// A table of the kind `KIND`, as the shim numbers them.
pub(crate) struct Rte<A, W, const KIND: c_int> {
    table: NonNull<Table>,
    types: PhantomData<(A, W)>,
}

/// The kinds' names in DPDK.
const NAMES: [&str; 5] = ["rte_fib", "rte_lpm", "rte_lpm", "rte_fib6", "rte_lpm6"];

pub(crate) type Fib<W> = Rte<u32, W, 0>;
pub(crate) type Lpm<W> = Rte<u32, W, 1>;
pub(crate) type LpmX4<W> = Rte<u32, W, 2>;
pub(crate) type Fib6<W> = Rte<u128, W, 3>;
pub(crate) type Lpm6<W> = Rte<u128, W, 4>;

// SAFETY: lookups of a DPDK table may run on any number of threads; changes take `&mut self`.
unsafe impl<A, W, const KIND: c_int> Send for Rte<A, W, KIND> {}
// SAFETY: as above.
unsafe impl<A, W, const KIND: c_int> Sync for Rte<A, W, KIND> {}

impl<A, W, const KIND: c_int> Drop for Rte<A, W, KIND> {
    fn drop(&mut self) {
        // SAFETY: made by `fibula_dpdk_create`, freed once.
        unsafe { fibula_dpdk_free(self.table.as_ptr()) }
    }
}

/// Returns the number of groups of 256 entries to allocate for a table: for each route one per 8
/// bits past 24 that its parent does not have, shared or not.
fn groups<A: Address>(rib: &Rib<A>) -> usize {
    let level = |len: u8| usize::from(len.max(24)).div_ceil(8);
    let below = |route: Route<A>| {
        let above = rib.parent(route.prefix).map_or(24, |parent| parent.prefix.len());
        level(route.prefix.len()) - level(above)
    };
    rib.iter().map(below).sum()
}

/// Starts DPDK's environment with the first table.
fn start(pages: Pages) -> Result<(), Error> {
    static STARTED: OnceLock<c_int> = OnceLock::new();
    let huge_pages = c_int::from(pages != Pages::Small);
    // SAFETY: called once.
    match *STARTED.get_or_init(|| unsafe { fibula_dpdk_start(huge_pages) }) {
        0 => Ok(()),
        errno => {
            let reason = std::io::Error::from_raw_os_error(-errno);
            Err(Error::new(ErrorKind::Engine, format!("DPDK's environment does not start: {reason}")))
        }
    }
}

impl<A: Dpdk, W: Width, const KIND: c_int> Rte<A, W, KIND> {
    /// Announces a route, or with [`NextHop::NONE`] withdraws it.
    fn change(&mut self, prefix: Prefix<A>, next_hop: NextHop) -> bool {
        let octets = prefix.first().octets();
        // SAFETY: the table is alive, and the octets are sixteen.
        unsafe { fibula_dpdk_change(self.table.as_ptr(), octets.as_ptr(), prefix.len(), next_hop.0) == 0 }
    }
}

impl<A: Dpdk, W: Width, const KIND: c_int> Lookup<A> for Rte<A, W, KIND> {
    type Width = W;

    #[inline(always)]
    fn lookup_metered<M: Meter>(&self, address: A, _: &mut M) -> W {
        W::narrow(A::look_up_one(self.table, address))
    }

    #[inline(always)]
    fn lookup_batch<I: Isa>(&self, _: I, addresses: &[A], next_hops: &mut [W]) {
        assert_eq!(addresses.len(), next_hops.len());
        A::look_up(self.table, addresses, next_hops.as_mut_ptr().cast(), size_of::<W>() as u32);
    }
}

impl<A: Dpdk, W: Width, const KIND: c_int> Engine<A> for Rte<A, W, KIND> {
    type View = Self;

    fn build(rib: &Rib<A>, config: &Config) -> Result<Self, Error> {
        start(config.pages)?;
        // Room for updates, as operators allow.
        let with_room = |count: usize| count + count / 4 + 4096;
        let (routes, groups) = (with_room(rib.len()), with_room(groups(rib)));
        // An entry is a next hop or the index of a group; one bit says which.
        let next_hop_bytes = match rib.max_next_hop().0.max(groups as u32) {
            0..=0x7F => 1,
            0x80..=0x7FFF => 2,
            _ => 4,
        };
        // SAFETY: the environment has started.
        let table = unsafe { fibula_dpdk_create(KIND, routes as u32, groups as u32, next_hop_bytes) };
        let Some(table) = NonNull::new(table) else {
            let name = NAMES[KIND as usize];
            return Err(Error::new(
                ErrorKind::Engine,
                format!("{name}: no room for {routes} routes and {groups} groups"),
            ));
        };
        let mut table = Self { table, types: PhantomData };
        for route in rib {
            if !table.change(route.prefix, route.next_hop) {
                return Err(Error::new(
                    ErrorKind::Engine,
                    format!("{}: DPDK refuses {}", NAMES[KIND as usize], route.prefix),
                ));
            }
        }
        Ok(table)
    }

    fn view(&self) -> &Self {
        self
    }

    fn apply(&mut self, _: &Rib<A>, deltas: &[Delta<A>]) -> Update {
        let mut done = deltas.iter().take_while(|delta| self.change(delta.prefix, delta.after)).count();
        if done == deltas.len() {
            return Update::Applied(fibula::engine::Cost::default());
        }
        // Take back, last change first. Then a rebuild with a size that fits.
        while done > 0 {
            done -= 1;
            self.change(deltas[done].prefix, deltas[done].before);
        }
        Update::Rebuild
    }

    fn memory(&self) -> Memory {
        // SAFETY: the table is alive.
        Memory::new().off_chip("DPDK's heap", unsafe { fibula_dpdk_bytes(self.table.as_ptr()) })
    }
}
