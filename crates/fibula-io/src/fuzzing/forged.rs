//! Snapshots with right checksums and hostile contents: opened, and looked up in every way.

use crate::generate::{NextHopModel, Size, edge, internet};
use crate::table::Tables;
use fibula::engine::{Config, Entry, Level, WidthBits};
use fibula::snapshot::{Image, Snapshot, forged};
use fibula::{Address, Fib, NextHop, NextHops, Rib};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};

/// Specifications with other parameters than an engine has by default, whose snapshots are small.
const VARIANTS: [&str; 1] = ["poptrie/s=4"];

/// The bytes of a snapshot from which on forging a file takes milliseconds.
const LARGE: usize = 4 << 20;

/// The addresses that are looked up in each file.
const ADDRESSES: usize = 256;

/// A whole snapshot to alter, and addresses to look up in what becomes of it.
#[derive(Debug)]
pub struct Original {
    /// Specification, family and width, as in `poptrie/s=4 ipv6 16`.
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

/// Returns the snapshots of each of `engines` that keeps them, in each family and width.
#[must_use]
pub fn originals(engines: &'static [Entry]) -> Vec<Original> {
    specifications(engines).flat_map(|specification| of_engine(engines, specification)).collect()
}

/// Returns what is built: each engine as it is, and the variants of those that are there.
fn specifications(engines: &'static [Entry]) -> impl Iterator<Item = &'static str> {
    let names = engines.iter().map(|entry| entry.about.name);
    let is_there = |variant: &&str| names.clone().any(|name| variant.split('/').next() == Some(name));
    let variants: Vec<&str> = VARIANTS.into_iter().filter(is_there).collect();
    names.clone().chain(variants).collect::<Vec<&str>>().into_iter()
}

/// Returns the snapshots of one engine.
fn of_engine(engines: &'static [Entry], specification: &str) -> Vec<Original> {
    let model = NextHopModel::Different(180);
    let size = |count| Size { ipv4: count, ipv6: count };
    let mut all = Vec::new();
    for tables in [internet(size(400), model, 1), edge(size(100), model, 1)] {
        let Tables { ipv4, ipv6, next_hops } = tables.expect("small tables can be made");
        for width in WidthBits::ALL {
            all.extend(original(engines, specification, width, &ipv4, &next_hops));
            all.extend(original(engines, specification, width, &ipv6, &next_hops));
        }
    }
    all
}

/// Returns one of all small snapshots, and builds those of its engine only: a fuzzer's build takes
/// seconds for each. `None` if the engine keeps none.
fn chosen(engines: &'static [Entry], choice: u8) -> Option<&'static Original> {
    static BUILT: Mutex<BTreeMap<usize, &'static [Original]>> = Mutex::new(BTreeMap::new());
    let specifications: Vec<&str> = specifications(engines).collect();
    let (engine, which) =
        (usize::from(choice) % specifications.len(), usize::from(choice) / specifications.len());
    let build = || {
        let all = of_engine(engines, specifications[engine]);
        &*all.into_iter().filter(|original| !original.is_large).collect::<Vec<_>>().leak()
    };
    let mut built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
    let originals: &'static [Original] = built.entry(engine).or_insert_with(build);
    originals.get(which % originals.len().max(1))
}

/// Returns the snapshot of a table; `None` if the engine is not of its family.
fn original<A: Address>(
    engines: &'static [Entry],
    specification: &str,
    width: WidthBits,
    rib: &Rib<A>,
    next_hops: &NextHops,
) -> Option<Original> {
    let mut config = Config::default();
    config.width = Some(width);
    let fib = Fib::build_from(engines, specification, rib, config).ok()?;
    let mut bytes = Vec::new();
    Image::new(next_hops).with(&fib, rib, false).ok()?.write(&mut bytes).ok()?;
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
        name: format!("{specification} {} {}", A::FAMILY, width.bits()),
        is_large: bytes.len() >= LARGE,
        bytes,
        ipv4,
        ipv6,
        probes: addresses.iter().map(|address| address.bits(0, 64)).collect(),
    })
}

impl Original {
    /// Opens one forged file of this snapshot, among whose `engines` is its own, and looks all
    /// addresses up in it: one by one, and in a batch for every instruction set of this processor.
    /// `choose` returns any number below its argument.
    ///
    /// # Panics
    /// If checksums are refused that were made to fit.
    pub fn forge(&self, engines: &'static [Entry], choose: impl FnMut(u64) -> u64) -> Outcome {
        let file = forged(&self.bytes, &self.probes, choose);
        let snapshot = Snapshot::from_bytes(&file).expect("its checksums fit");
        if self.ipv6.is_empty() {
            look_up(engines, &snapshot, &self.ipv4)
        } else {
            look_up(engines, &snapshot, &self.ipv6)
        }
    }
}

fn look_up<A: Address>(engines: &'static [Entry], snapshot: &Snapshot, addresses: &[A]) -> Outcome {
    let Ok(mut view) = snapshot.view_from::<A>(engines) else { return Outcome::Refused };
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
pub fn forged_snapshot(engines: &'static [Entry], bytes: &[u8]) {
    let Some((&first, mut rest)) = bytes.split_first() else { return };
    let Some(original) = chosen(engines, first) else { return };
    let _ = original.forge(engines, |below| {
        let count = (u64::BITS - (below - 1).leading_zeros()).div_ceil(8) as usize;
        let (taken, after) = rest.split_at(rest.len().min(count));
        rest = after;
        taken.iter().fold(0, |number, &byte| number << 8 | u64::from(byte)) % below
    });
}
