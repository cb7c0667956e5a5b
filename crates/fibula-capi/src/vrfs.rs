//! Many tables in one process (VRFs), which come, change and go while other threads look up.

use crate::abi::{
    CPrefix, answer, elements, elements_mut, given, given_mut, hand_over, interface, take_back,
};
use crate::error::{Failure, call};
use crate::live::waiting;
use crate::lookup::strided;
use fibula::engine::BEST;
use fibula::live::ReaderOf;
use fibula::table_set::live::LiveTableSet;
use fibula::table_set::{Mixed, TableId, TableSet};
use fibula::{Address, Change, IpPrefix, NextHop, Prefix, Rib, Route, Strided};
use std::ffi::{c_int, c_void};
use std::time::Duration;

/// The most addresses of a chunk.
const CHUNK: usize = Strided::<u32>::CHUNK;

/// The writer's end. Tables are created and removed in both families, so their ids are the same.
#[derive(Debug)]
pub(crate) struct Vrfs {
    ipv4: LiveTableSet<u32>,
    ipv6: LiveTableSet<u128>,
}

/// One thread's way to what is published of a family.
#[derive(Debug)]
struct Half<A: Address> {
    published: ReaderOf<TableSet<A>>,
    mixed: Mixed<A>,
}

/// One thread's way to what is published. Between calls it rests, and holds up no publication.
#[derive(Debug)]
pub(crate) struct VrfsReader {
    ipv4: Half<u32>,
    ipv6: Half<u128>,
}

/// A family, which has half of the tables.
trait Family: Address {
    fn of(vrfs: &mut Vrfs) -> &mut LiveTableSet<Self>;
    fn half(reader: &mut VrfsReader) -> &mut Half<Self>;
}

impl Family for u32 {
    fn of(vrfs: &mut Vrfs) -> &mut LiveTableSet<Self> {
        &mut vrfs.ipv4
    }

    fn half(reader: &mut VrfsReader) -> &mut Half<Self> {
        &mut reader.ipv4
    }
}

impl Family for u128 {
    fn of(vrfs: &mut Vrfs) -> &mut LiveTableSet<Self> {
        &mut vrfs.ipv6
    }

    fn half(reader: &mut VrfsReader) -> &mut Half<Self> {
        &mut reader.ipv6
    }
}

/// Returns the id that C has: the number, and above it the generation.
fn to_c(id: TableId) -> u64 {
    u64::from(id.generation()) << 32 | u64::from(id.number())
}

fn from_c(id: u64) -> TableId {
    TableId::new(id as u32, (id >> 32) as u32) // the halves
}

/// Returns the next hop that stands for a value: 0 is for no route.
fn next_hop(value: u32) -> Result<NextHop, Failure> {
    let above = value.checked_add(1).map(NextHop);
    above.ok_or_else(|| Failure::new(libc::ERANGE, "the value is above UINT32_MAX - 1"))
}

impl Vrfs {
    /// Fails if there is no such table.
    fn check(&self, id: u64) -> Result<TableId, Failure> {
        let known = Some(from_c(id)).filter(|&id| self.ipv4.rib(id).is_some());
        known.ok_or_else(|| Failure::new(libc::ENOENT, format!("there is no table {id:#x}")))
    }

    fn change<A: Family>(
        &mut self,
        id: u64,
        prefix: Prefix<A>,
        value: Option<u32>,
    ) -> Result<c_int, Failure> {
        let id = self.check(id)?;
        let change = match value {
            Some(value) => Change::Announce(Route { prefix, next_hop: next_hop(value)? }),
            None => Change::Withdraw(prefix),
        };
        A::of(self).change(id, change)?;
        Ok(0)
    }
}

/// Looks up addresses, each in its own table.
fn bulk<A: Family>(
    reader: &mut VrfsReader,
    ids: &[u64],
    addresses: Strided<'_, A>,
    out: &mut [u32],
    miss: u32,
) {
    let Half { published, mixed } = A::half(reader);
    let set = published.guard();
    let mut rest = ids;
    addresses.in_chunks(out, |addresses, out| {
        let (some, after) = rest.split_at(addresses.len());
        rest = after;
        let (mut ids, mut found) = ([TableId::new(0, 0); CHUNK], [NextHop::NONE; CHUNK]);
        let (ids, found) = (&mut ids[..some.len()], &mut found[..some.len()]);
        ids.iter_mut().zip(some).for_each(|(id, &number)| *id = from_c(number));
        set.lookup_batch(ids, addresses, found, mixed);
        for (out, &NextHop(found)) in out.iter_mut().zip(&*found) {
            *out = found.checked_sub(1).unwrap_or(miss);
        }
    });
    published.rest();
}

/// # Safety
/// As the functions of the interface.
unsafe fn lookup<A: Family>(
    reader: *mut VrfsReader,
    id: u64,
    addr: *const c_void,
    value: *mut u32,
) -> Result<c_int, Failure> {
    // SAFETY: the caller's promise.
    let (reader, address) = unsafe { (given_mut(reader, "the reader")?, strided::<A>(addr, 1, 1)?.get(0)) };
    let published = &mut A::half(reader).published;
    let found = published.guard().lookup(from_c(id), address);
    published.rest();
    // SAFETY: the caller's promise.
    Ok(unsafe { answer(found.and_then(|NextHop(found)| found.checked_sub(1)), value) })
}

/// # Safety
/// As the functions of the interface.
unsafe fn lookup_bulk<A: Family>(
    reader: *mut VrfsReader,
    ids: *const u64,
    addresses: Result<Strided<'_, A>, Failure>,
    out: *mut u32,
    miss: u32,
) -> Result<c_int, Failure> {
    let addresses = addresses?;
    // SAFETY: the caller's promise.
    let (reader, ids, out) = unsafe {
        let n = addresses.len();
        (given_mut(reader, "the reader")?, elements(ids, n, "the ids")?, elements_mut(out, n, "the answers")?)
    };
    bulk(reader, ids, addresses, out, miss);
    Ok(0)
}

interface! {
    /// Makes a set without tables.
    fn fibula_vrfs_new(out: *mut *mut Vrfs) {
        // Each publication says how long it waits.
        let settings = waiting(Duration::ZERO);
        let (ipv4, ipv6) = (LiveTableSet::new(BEST, settings)?, LiveTableSet::new(BEST, settings)?);
        hand_over(out, Vrfs { ipv4, ipv6 })
    }

    /// Takes in: a table without routes.
    fn fibula_vrfs_create(vrfs: *mut Vrfs, id: *mut u64) {
        let vrfs = given_mut(vrfs, "the tables")?;
        given(id, "the place for the id")?;
        let created = vrfs.ipv4.create();
        assert_eq!(vrfs.ipv6.create(), created, "both families have the same tables");
        id.write(to_c(created));
        Ok(0)
    }

    /// Takes in: a table is gone.
    fn fibula_vrfs_destroy(vrfs: *mut Vrfs, id: u64) {
        let vrfs = given_mut(vrfs, "the tables")?;
        let id = vrfs.check(id)?;
        vrfs.ipv4.remove(id);
        vrfs.ipv6.remove(id);
        Ok(0)
    }

    /// Takes in: set the value of a prefix of a table.
    fn fibula_vrfs_insert(vrfs: *mut Vrfs, id: u64, prefix: *const CPrefix, value: u32) {
        let vrfs = given_mut(vrfs, "the tables")?;
        match given(prefix, "the prefix")?.read()? {
            IpPrefix::V4(prefix) => vrfs.change(id, prefix, Some(value)),
            IpPrefix::V6(prefix) => vrfs.change(id, prefix, Some(value)),
        }
    }

    /// Takes in: remove a prefix of a table.
    fn fibula_vrfs_remove(vrfs: *mut Vrfs, id: u64, prefix: *const CPrefix) {
        let vrfs = given_mut(vrfs, "the tables")?;
        match given(prefix, "the prefix")?.read()? {
            IpPrefix::V4(prefix) => vrfs.change(id, prefix, None),
            IpPrefix::V6(prefix) => vrfs.change(id, prefix, None),
        }
    }

    /// Takes in: all prefixes of a table.
    fn fibula_vrfs_replace(
        vrfs: *mut Vrfs, id: u64, prefixes: *const CPrefix, values: *const u32, n: usize,
    ) {
        let vrfs = given_mut(vrfs, "the tables")?;
        let id = vrfs.check(id)?;
        let (mut ipv4, mut ipv6) = (Rib::new(), Rib::new());
        let values = elements(values, n, "the values")?;
        for (prefix, &value) in elements(prefixes, n, "the prefixes")?.iter().zip(values) {
            match prefix.read()? {
                IpPrefix::V4(prefix) => drop(ipv4.insert(prefix, next_hop(value)?)),
                IpPrefix::V6(prefix) => drop(ipv6.insert(prefix, next_hop(value)?)),
            }
        }
        vrfs.ipv4.set(id, ipv4)?;
        vrfs.ipv6.set(id, ipv6)?;
        Ok(0)
    }

    /// Publishes what was taken in.
    fn fibula_vrfs_publish(vrfs: *mut Vrfs, timeout_ns: u64) {
        let (vrfs, settings) = (given_mut(vrfs, "the tables")?, waiting(Duration::from_nanos(timeout_ns)));
        // Neither family is visible before both can be published.
        vrfs.ipv4.prepare_within(settings)?;
        vrfs.ipv6.prepare_within(settings)?;
        vrfs.ipv4.publish_prepared();
        vrfs.ipv6.publish_prepared();
        Ok(0)
    }

    /// Makes a reader.
    fn fibula_vrfs_reader_new(vrfs: *const Vrfs, out: *mut *mut VrfsReader) {
        let Vrfs { ipv4, ipv6 } = given(vrfs, "the tables")?;
        let ipv4 = Half { published: ipv4.reader(), mixed: Mixed::default() };
        let ipv6 = Half { published: ipv6.reader(), mixed: Mixed::default() };
        hand_over(out, VrfsReader { ipv4, ipv6 })
    }

    /// Looks up an IPv4 address in a table.
    fn fibula_vrfs_lookup4(reader: *mut VrfsReader, id: u64, addr: *const c_void, value: *mut u32) {
        lookup::<u32>(reader, id, addr, value)
    }

    /// Looks up an IPv6 address in a table.
    fn fibula_vrfs_lookup6(reader: *mut VrfsReader, id: u64, addr: *const c_void, value: *mut u32) {
        lookup::<u128>(reader, id, addr, value)
    }

    /// Looks up IPv4 addresses in network order, each in its own table.
    fn fibula_vrfs_lookup_bulk4_be(
        reader: *mut VrfsReader, ids: *const u64, addrs: *const c_void, stride: usize, out: *mut u32,
        n: usize, miss: u32,
    ) {
        lookup_bulk::<u32>(reader, ids, strided(addrs, stride, n), out, miss)
    }

    /// Looks up IPv6 addresses in network order, each in its own table.
    fn fibula_vrfs_lookup_bulk6_be(
        reader: *mut VrfsReader, ids: *const u64, addrs: *const c_void, stride: usize, out: *mut u32,
        n: usize, miss: u32,
    ) {
        lookup_bulk::<u128>(reader, ids, strided(addrs, stride, n), out, miss)
    }
}

/// Frees the writer's end. Its readers go on, and see what was published last.
///
/// # Safety
/// `vrfs` is null, or tables that are not used any more.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn fibula_vrfs_free(vrfs: *mut Vrfs) {
    // SAFETY: the caller's promise.
    unsafe { take_back(vrfs) }
}

/// Frees a reader.
///
/// # Safety
/// `reader` is null, or a reader that is not used any more.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn fibula_vrfs_reader_free(reader: *mut VrfsReader) {
    // SAFETY: the caller's promise.
    unsafe { take_back(reader) }
}
