//! Snapshots with right checksums and hostile contents: opened, and looked up in every way.

use crate::generate::{NextHopModel, Size, edge, internet};
use crate::table::Tables;
use fibula::engine::{Config, Level, WidthBits};
use fibula::snapshot::{Image, Snapshot, forged};
use fibula::{Address, Family, Fib, NextHop, NextHops, Rib};
use std::net::IpAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

/// The engines that keep snapshots. Those in `LARGE` begin with a table of 64 MiB.
const ENGINES: [&str; 14] = [
    "sail-l",
    "mosaic",
    "mosaic-runs",
    "mosaic-deep",
    "mosaic-spans",
    "poptrie/s=4",
    "dxr16",
    "tree-bitmap",
    "tree-bitmap/strides=11-7-7-7",
    "mosaic6",
    "planb",
    "terrace",
    "ledger",
    "casement",
];
const LARGE: [&str; 1] = ["dir24-8"];

/// The addresses that are looked up in each file.
const ADDRESSES: usize = 256;

/// A whole snapshot to alter, and addresses to look up in what becomes of it.
#[derive(Debug)]
pub struct Original {
    /// Engine, family and width, as in `poptrie/s=4 ipv6 16`.
    pub name: String,
    /// Whether each file takes milliseconds.
    pub is_large: bool,
    bytes: Vec<u8>,
    ipv4: Vec<u32>,
    ipv6: Vec<u128>,
    probes: Vec<u64>,
}

/// What became of a forged file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was not opened.
    Refused,
    /// It was opened, and a lookup panicked.
    Panicked,
    /// It was opened, and all lookups answered.
    Answered,
}

/// Returns snapshots of each engine, family and width. The first call builds them.
pub fn originals() -> &'static [Original] {
    static ALL: OnceLock<Vec<Original>> = OnceLock::new();
    ALL.get_or_init(|| ENGINES.iter().chain(&LARGE).flat_map(|engine| of_engine(engine)).collect())
}

/// Returns the snapshots of one engine.
fn of_engine(engine: &str) -> Vec<Original> {
    let model = NextHopModel::Different(180);
    let size = |count| Size { ipv4: count, ipv6: count };
    let mut all = Vec::new();
    for tables in [internet(size(400), model, 1), edge(size(100), model, 1)] {
        let Tables { ipv4, ipv6, next_hops } = tables.expect("small tables can be made");
        for width in WidthBits::ALL {
            all.extend(original(engine, width, &ipv4, &next_hops));
            all.extend(original(engine, width, &ipv6, &next_hops));
        }
    }
    all
}

/// Returns one of all small snapshots, and builds those of its engine only: a fuzzer's build takes
/// seconds for each.
fn chosen(choice: u8) -> &'static Original {
    static EACH: [OnceLock<Vec<Original>>; ENGINES.len()] = [const { OnceLock::new() }; ENGINES.len()];
    let (engine, which) = (usize::from(choice) % ENGINES.len(), usize::from(choice) / ENGINES.len());
    let originals = EACH[engine].get_or_init(|| of_engine(ENGINES[engine]));
    &originals[which % originals.len()]
}

/// Returns the snapshot of a table; `None` if the engine is not of its family.
fn original<A: Address>(
    engine: &str,
    width: WidthBits,
    rib: &Rib<A>,
    next_hops: &NextHops,
) -> Option<Original> {
    let mut config = Config::default();
    config.width = Some(width);
    let fib = Fib::build_from(fibula::engine::ENGINES, engine, rib, config).ok()?;
    let mut bytes = Vec::new();
    Image::new(&fib, rib, next_hops, false).ok()?.write(&mut bytes).ok()?;
    let ends = rib.iter().flat_map(|route| [route.prefix.first(), route.prefix.last()]);
    let step = (2 * rib.len() / ADDRESSES).max(1);
    let addresses: Vec<A> = ends.step_by(step).take(ADDRESSES).collect();
    let (mut ipv4, mut ipv6) = (Vec::new(), Vec::new());
    for address in &addresses {
        match address.to_ip() {
            IpAddr::V4(ip) => ipv4.push(ip.to_bits()),
            IpAddr::V6(ip) => ipv6.push(ip.to_bits()),
        }
    }
    Some(Original {
        name: format!("{engine} {} {}", A::FAMILY, width.bits()),
        is_large: LARGE.contains(&engine),
        bytes,
        ipv4,
        ipv6,
        probes: addresses.iter().map(|address| address.bits(0, 64)).collect(),
    })
}

impl Original {
    /// Opens one forged file of this snapshot and looks all addresses up in it: one by one, and in
    /// a batch for every instruction set of this processor. `choose` returns any number below its
    /// argument.
    ///
    /// # Panics
    /// If checksums are refused that were made to fit.
    pub fn forge(&self, choose: impl FnMut(u64) -> u64) -> Outcome {
        let file = forged(&self.bytes, &self.probes, choose);
        let snapshot = Snapshot::from_bytes(&file).expect("its checksums fit");
        match snapshot.family() {
            Family::Ipv4 => look_up(&snapshot, &self.ipv4),
            Family::Ipv6 => look_up(&snapshot, &self.ipv6),
        }
    }
}

fn look_up<A: Address>(snapshot: &Snapshot, addresses: &[A]) -> Outcome {
    let Ok(mut view) = snapshot.view::<A>() else { return Outcome::Refused };
    let one_by_one = AssertUnwindSafe(|| {
        for &address in addresses {
            view.lookup_index(address);
        }
    });
    let mut is_answered = catch_unwind(one_by_one).is_ok();
    let mut answers = vec![NextHop::NONE; addresses.len()];
    for &isa in Level::available() {
        view.set_isa(isa);
        let batch = AssertUnwindSafe(|| view.lookup_batch(addresses, &mut answers));
        is_answered &= catch_unwind(batch).is_ok();
    }
    if is_answered { Outcome::Answered } else { Outcome::Panicked }
}

/// Forges a file as a fuzzer's bytes say: the first chooses the snapshot, the others what is
/// altered.
pub fn forged_snapshot(bytes: &[u8]) {
    let Some((&first, mut rest)) = bytes.split_first() else { return };
    let _ = chosen(first).forge(|below| {
        let count = (u64::BITS - (below - 1).leading_zeros()).div_ceil(8) as usize;
        let (taken, after) = rest.split_at(rest.len().min(count));
        rest = after;
        taken.iter().fold(0, |number, &byte| number << 8 | u64::from(byte)) % below
    });
}
