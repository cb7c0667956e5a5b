//! The judges must see a wrong engine. Each engine here is wrong on purpose in one way, and every
//! judge that could meet the fault must find it.

use fibula::engine::Memory;
use fibula::engine::{About, Config, Cost, Engine, Entry, LimitInfo, Lookup, Meter, Update, Updates, Width};
use fibula::parts::arch::{Isa, Level};
use fibula::{Address, Change, Delta, Error, ErrorKind, Limit, NextHop, Prefix, Rib, Route, engine_entry};
use fibula_engines::all;
use fibula_lab::bench::{BenchOptions, Contender, Workload, bench};
use fibula_lab::demo::{DemoOptions, demo};
use fibula_lab::replay::{Flap, ReplayOptions, Stream, replay};
use fibula_lab::study::{ParallelOptions, StudyOptions, Trace, study_engines, study_parallel};
use fibula_lab::verify::{
    ExhaustiveOptions, UpdateOptions, Verification, VerifyOptions, exhaustive, updates, verify,
};
use std::marker::PhantomData;
use std::sync::LazyLock;
use std::time::Duration;

/// Right (by the table's own search) but for one fault, chosen by the parameter `fault`.
struct Faulty<A: Address, W> {
    rib: Rib<A>,
    fault: Fault,
    grown: usize,
    width: PhantomData<W>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// None at all.
    None,
    /// The last address of the longest prefixes gets their cover's answer.
    LastAddress,
    /// Batches of an odd size leave the last answer unwritten.
    OddTail,
    /// Only the widest instruction set is wrong, and only in the ninth lane.
    NinthLane,
    /// Withdrawals are forgotten.
    Withdrawal,
    /// Every update leaks memory.
    Leak,
    /// The structure contradicts itself, though the answers are right.
    Structure,
    /// Refuses every table by a limit.
    Limit,
    /// Refuses every table for a reason of its own.
    Engine,
}

static ABOUT: About = About {
    name: "faulty",
    paper: "wrong on purpose",
    year: 2026,
    updates: Updates::InPlace,
    limits: &[LimitInfo { what: "routes", max: 0 }],
    parameters: &[fibula::engine::ParameterInfo { name: "fault", meaning: "what is wrong with it" }],
    ..About::DEFAULT
};

static FAULTY: [Entry; 1] = [engine_entry!(ABOUT, [ipv4 ipv6] Faulty)];

fn engines() -> &'static [Entry] {
    static ENGINES: LazyLock<Vec<Entry>> = LazyLock::new(|| all().iter().chain(&FAULTY).copied().collect());
    &ENGINES
}

impl<A: Address, W: Width> Lookup<A> for Faulty<A, W> {
    type Width = W;

    fn lookup_metered<M: Meter>(&self, address: A, _: &mut M) -> W {
        let mut route = self.rib.longest_match(address);
        if self.fault == Fault::LastAddress
            && let Some(found) = route
            && found.prefix.last() == address
        {
            route = self.rib.parent(found.prefix);
        }
        W::narrow(route.map_or(NextHop::NONE, |route| route.next_hop))
    }

    #[inline(always)]
    fn lookup_batch<I: Isa>(&self, _: I, addresses: &[A], next_hops: &mut [W]) {
        let wrong_lane = self.fault == Fault::NinthLane && I::NAME == Level::best().name();
        let skipped = usize::from(self.fault == Fault::OddTail && addresses.len() % 2 == 1);
        for (lane, (&address, next_hop)) in addresses.iter().zip(next_hops).enumerate() {
            if lane + skipped < addresses.len() {
                *next_hop = if wrong_lane && lane == 8 { W::default() } else { self.lookup(address) };
            }
        }
    }
}

impl<A: Address, W: Width> Engine<A> for Faulty<A, W> {
    type View = Self;

    fn build(rib: &Rib<A>, config: &Config) -> Result<Self, Error> {
        let fault = config.choice(
            "fault",
            &[
                ("none", Fault::None),
                ("last-address", Fault::LastAddress),
                ("odd-tail", Fault::OddTail),
                ("ninth-lane", Fault::NinthLane),
                ("withdrawal", Fault::Withdrawal),
                ("leak", Fault::Leak),
                ("structure", Fault::Structure),
                ("limit", Fault::Limit),
                ("engine", Fault::Engine),
            ],
        )?;
        if fault == Fault::Limit {
            Limit::check("routes", rib.len() as u64, 0)?;
        }
        if fault == Fault::Engine {
            return Err(Error::new(ErrorKind::Engine, "no room in its hash table"));
        }
        Ok(Self { rib: rib.clone(), fault, grown: 0, width: PhantomData })
    }

    fn view(&self) -> &Self {
        self
    }

    fn apply(&mut self, _: &Rib<A>, deltas: &[Delta<A>]) -> Update {
        for delta in deltas {
            if self.fault != Fault::Withdrawal || delta.after.is_some() {
                self.rib.apply(delta.change());
            }
        }
        self.grown += deltas.len();
        Update::Applied(Cost { entries_set: deltas.len() as u64, ..Cost::default() })
    }

    fn memory(&self) -> Memory {
        let leaked = if self.fault == Fault::Leak { self.grown * 10_000 } else { 0 };
        Memory::new().off_chip("routes", self.rib.len() * 16 + leaked)
    }

    fn validate(&self, _: &Rib<A>) -> Result<(), String> {
        if self.fault == Fault::Structure { Err("a pointer leads nowhere".into()) } else { Ok(()) }
    }
}

/// A few thousand routes at the beginning of the space, nested, with a default route.
fn table<A: Address>() -> Rib<A> {
    let mut random = fastrand::Rng::with_seed(7);
    let mut rib: Rib<A> = (0..3000)
        .map(|_| {
            let address = A::from_bits(random.u64(..) & 0xFFFF_FFFF, 0, 32) & !A::mask(8);
            let prefix = Prefix::containing(address, random.u8(9..=32));
            Route { prefix, next_hop: NextHop(random.u32(1..200)) }
        })
        .collect();
    rib.insert(Prefix::ALL, NextHop(201));
    rib
}

fn verified<A: Address>(fault: &str) -> Verification {
    let options = VerifyOptions { random: 2000, ..VerifyOptions::default() };
    verify(engines(), &[format!("faulty/fault={fault}")], &table::<A>(), &options, &mut |_| {}).unwrap()
}

/// Returns the paths on which something was wrong.
fn wrong_paths(verification: &Verification) -> Vec<(&'static str, &'static str)> {
    let wrong = verification.rows.iter().filter(|row| row.width == 8 && row.mismatches > 0);
    wrong.map(|row| (row.path, row.isa)).collect()
}

#[test]
fn verify_sees_every_fault_and_only_on_its_path() {
    assert!(verified::<u32>("none").is_right() && verified::<u128>("none").is_right());
    let scalar = Level::SCALAR.name();
    for verification in [verified::<u32>("last-address"), verified::<u128>("last-address")] {
        assert!(wrong_paths(&verification).contains(&("lookup", scalar)));
        let first = &verification.rows.iter().find(|row| row.path == "lookup").unwrap().first[0];
        assert_eq!((first.engine.as_str(), first.path), ("faulty/fault=last-address", "lookup"));
        assert_ne!(first.expected, first.got);
    }
    let all: Vec<_> = Level::available().iter().map(|level| ("lookup_batch", level.name())).collect();
    assert_eq!(wrong_paths(&verified::<u32>("odd-tail")), all);
    assert_eq!(wrong_paths(&verified::<u128>("ninth-lane")), [("lookup_batch", Level::best().name())]);
    assert_eq!(wrong_paths(&verified::<u32>("structure")), [("structure", scalar)]);
}

#[test]
fn verify_asks_at_every_width() {
    let widths: Vec<u8> = verified::<u32>("none").rows.iter().map(|row| row.width).collect();
    assert!([8, 16, 32].iter().all(|width| widths.contains(width)));
    let mut rib = table::<u32>();
    rib.insert(Prefix::ALL, NextHop(256));
    let options = VerifyOptions { random: 2000, ..VerifyOptions::default() };
    let verification = verify(engines(), &["oracle".into()], &rib, &options, &mut |_| {}).unwrap();
    assert!(verification.is_right() && verification.rows.iter().all(|row| row.width > 8));
}

#[test]
fn a_limit_is_a_refusal_and_no_wrong_answer() {
    let verification = verified::<u32>("limit");
    assert!(verification.is_right() && verification.rows.is_empty());
    assert_eq!(verification.refused.len(), 1, "the same at every width");
    assert_eq!(verification.refused[0].error.limit().map(|limit| limit.what), Some("routes"));
    let rows = serde_json::to_value(&verification.refused[0]).unwrap();
    assert_eq!(rows["engine"], "faulty/fault=limit");
    assert!(rows["family"] == "ipv4" && rows["refused"].as_str().unwrap().starts_with("routes: "), "{rows}");
    let error =
        verify(engines(), &["nothing".into()], &Rib::<u32>::new(), &VerifyOptions::default(), &mut |_| {});
    assert!(error.unwrap_err().to_string().contains("no engine \"nothing\""));
}

#[test]
fn the_exhaustive_check_finds_the_one_wrong_address() {
    let mut rib: Rib<u32> = Rib::new();
    rib.insert("0.0.0.0/0".parse().unwrap(), NextHop(1));
    rib.insert("10.1.2.0/25".parse().unwrap(), NextHop(2));
    let options = ExhaustiveOptions {
        addresses: 0x0A01_0000..=0x0A01_FFFF,
        slice: 1000, // no power of two: the last slice is short
        ..ExhaustiveOptions::default()
    };
    let run = |specification, options: &ExhaustiveOptions| {
        let progress = std::sync::atomic::AtomicU64::new(0);
        let seen = |done| {
            progress.fetch_max(done, std::sync::atomic::Ordering::Relaxed);
        };
        let row = exhaustive(engines(), specification, &rib, &[], options, &seen).unwrap().unwrap();
        assert_eq!(progress.into_inner(), row.probes);
        row
    };
    let row = run("faulty/fault=none", &options);
    assert_eq!((row.probes, row.mismatches), (65_536, 0));
    let row = run("faulty/fault=last-address", &options);
    assert_eq!((row.probes, row.mismatches), (65_536, 1));
    assert_eq!(
        (row.first[0].address.as_str(), row.first[0].expected, row.first[0].got),
        ("10.1.2.127", 2, 1)
    );
    // The two ends of the space, where a range could wrap around.
    for addresses in [0..=100_u32, u32::MAX - 100..=u32::MAX] {
        let row = run("oracle", &ExhaustiveOptions { addresses, slice: 64, ..options.clone() });
        assert_eq!((row.probes, row.mismatches), (101, 0));
    }
}

#[test]
fn the_exhaustive_check_follows_changes_first() {
    let rib = table::<u32>();
    let changes = changes(&rib);
    let first = changes.iter().find_map(|change| match change {
        Change::Withdraw(prefix) => Some(prefix.first()),
        Change::Announce(_) => None,
    });
    let addresses = first.unwrap()..=first.unwrap().saturating_add((1 << 24) - 1);
    let options = ExhaustiveOptions { addresses, batch: 7, ..ExhaustiveOptions::default() };
    let run = |specification| {
        exhaustive(engines(), specification, &rib, &changes, &options, &|_| {}).unwrap().unwrap()
    };
    assert_eq!(run("oracle").mismatches, 0);
    assert_ne!(run("faulty/fault=withdrawal").mismatches, 0);
}

/// Announcements, replacements, no-ops and withdrawals inside the table.
fn changes<A: Address>(rib: &Rib<A>) -> Vec<Change<A>> {
    let routes: Vec<Route<A>> = rib.iter().collect();
    let mut random = fastrand::Rng::with_seed(8);
    let mut change = || {
        let Route { prefix, next_hop } = routes[random.usize(..routes.len())];
        match random.u8(..4) {
            0 => Change::Withdraw(prefix),
            1 => Change::Announce(Route { prefix, next_hop }),
            2 => Change::Announce(Route { prefix, next_hop: NextHop(random.u32(1..200)) }),
            _ => {
                let prefix = Prefix::containing(prefix.last(), random.u8(9..=32));
                Change::Announce(Route { prefix, next_hop: NextHop(random.u32(1..200)) })
            }
        }
    };
    (0..1000).map(|_| change()).collect()
}

#[test]
fn a_changing_table_shows_forgotten_updates_and_lost_memory() {
    fn run<A: Address>(specification: &str) -> fibula_lab::verify::UpdateRow {
        let rib = table::<A>();
        let options = UpdateOptions {
            batch: 32,
            validate_every: 8,
            verify: VerifyOptions { random: 1000, ..VerifyOptions::default() },
            ..UpdateOptions::default()
        };
        updates(engines(), specification, &rib, &changes(&rib), &options).unwrap().unwrap()
    }
    for row in [run::<u32>("faulty"), run::<u128>("oracle")] {
        assert!(row.is_right(), "{row:?}");
        assert_eq!(row.applied + row.suppressed + row.coalesced, row.updates);
        assert!(row.suppressed > 0 && row.coalesced > 0 && row.refused == 0);
        assert_eq!((row.cost.entries_set, row.in_place, row.rebuilt), (row.applied, 32, 0));
        assert!(row.bytes_fresh > 0 && row.bytes_before > 0);
    }
    let row = run::<u32>("faulty/fault=withdrawal");
    assert!(row.mismatches > 0 && !row.is_right() && !row.leaked);
    let row = run::<u128>("faulty/fault=leak");
    assert!(row.mismatches == 0 && row.leaked && !row.is_right());
    let row = run::<u32>("faulty/fault=structure");
    assert!(row.contradiction.as_ref().unwrap().starts_with("batch 8: "), "{row:?}");
    assert!(!row.is_right() && row.mismatches == 0);
}

fn addresses<A: Address>(rib: &Rib<A>) -> Vec<A> {
    let prefixes: Vec<_> = rib.iter().map(|route| route.prefix).collect();
    let mut random = fastrand::Rng::with_seed(9);
    let mut address = || prefixes[random.usize(..prefixes.len())].last();
    (0..10_001).map(|_| address()).collect()
}

const KEYS: &str = "engine family table prefixes next_hops trace addresses threads batch isa huge_pages mlps mlps_min \
                    mlps_max ns_dependent ns_single bytes bytes_by_part build_ms checked mismatches limit_mlps limit_share";

#[test]
fn bench_rows_have_exactly_these_keys_and_honest_figures() {
    let rib = table::<u128>();
    let addresses = addresses(&rib);
    let workload = Workload { table: "made", rib: &rib, trace: "ends", addresses: &addresses };
    let options =
        BenchOptions { threads: vec![1, 2], batches: vec![100], passes: 5, ..BenchOptions::default() };
    let contenders = [Contender::new("oracle"), Contender::new("faulty"), Contender::new("best")];
    let report = bench(engines(), &contenders, workload, &options).unwrap();
    assert!(report.wrong.is_empty() && report.refused.is_empty());
    assert_eq!(report.rows.len(), 6);
    for row in &report.rows {
        let json = serde_json::to_value(row).unwrap();
        let keys: Vec<&str> = json.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(keys, KEYS.split_whitespace().collect::<Vec<_>>());
        assert_eq!((row.addresses, row.checked, row.mismatches, row.batch), (10_001, 10_001, 0, 100));
        assert_eq!(
            (row.prefixes, row.table.as_str(), row.trace.as_str()),
            (rib.len() as u64, "made", "ends")
        );
        assert!(row.mlps_min <= row.mlps && row.mlps <= row.mlps_max && row.mlps_min > Some(0.0));
        assert!(
            row.limit_share > Some(0.0)
                && row.ns_dependent > Some(0.0)
                && row.ns_single > Some(0.0)
                && row.build_ms > 0.0
        );
        assert_eq!(row.bytes_by_part.iter().map(|(_, bytes)| bytes).sum::<u64>(), row.bytes);
        assert_eq!(json["bytes_by_part"].as_object().unwrap().len(), row.bytes_by_part.len());
    }
    let order: Vec<_> = report.rows.iter().map(|row| (row.threads, row.engine.as_str())).collect();
    assert_eq!(order[..2], [(1, "oracle"), (1, "faulty")]);
    assert_eq!(order[3..5], [(2, "oracle"), (2, "faulty")]);
    assert!(order[2].1.starts_with("best ("));
}

#[test]
fn a_wrong_engine_gets_no_speed() {
    let rib = table::<u32>();
    let addresses = addresses(&rib);
    let workload = Workload { table: "made", rib: &rib, trace: "ends", addresses: &addresses };
    let options = BenchOptions { passes: 5, threads: vec![1], ..BenchOptions::default() };
    for fault in ["last-address", "odd-tail"] {
        let specification = format!("faulty/fault={fault}");
        let contenders = [Contender::new("oracle"), Contender::new(&specification)];
        let report = bench(engines(), &contenders, workload, &options).unwrap();
        let row = report.rows.iter().find(|row| row.engine == specification).unwrap();
        assert!(row.mismatches > 0 && row.mlps.is_none() && row.ns_dependent.is_none(), "{row:?}");
        assert!(row.mlps_min.is_none() && row.mlps_max.is_none() && row.limit_share.is_none());
        let address = &report.wrong[0].address;
        assert!(addresses.iter().any(|a| a.to_ip().to_string() == *address));
        assert!(report.rows.iter().any(|row| row.engine == "oracle" && row.mlps.is_some()));
    }
}

#[test]
fn engines_that_refuse_a_table_leave_the_others_their_rows() {
    let rib = table::<u32>();
    let addresses = addresses(&rib);
    let names = ["faulty/fault=limit", "oracle", "faulty/fault=engine"].map(String::from);
    let refused =
        [format!("routes: {} is more than the 0 that fit", rib.len()), "no room in its hash table".into()];
    let same = |of: &[fibula_lab::Refusal]| {
        let errors: Vec<String> = of.iter().map(|refusal| refusal.error.to_string()).collect();
        assert_eq!(errors, refused);
        assert_eq!([&of[0].engine, &of[1].engine], [&names[0], &names[2]]);
    };
    let verify_options = VerifyOptions { random: 100, ..VerifyOptions::default() };
    let verification = verify(engines(), &names, &rib, &verify_options, &mut |_| {}).unwrap();
    same(&verification.refused);
    assert!(verification.is_right() && verification.rows.iter().all(|row| row.engine == "oracle"));

    let workload = Workload { table: "made", rib: &rib, trace: "ends", addresses: &addresses };
    let options = BenchOptions { passes: 1, ..BenchOptions::default() };
    let contenders: Vec<Contender> = names.iter().map(Contender::new).collect();
    let report = bench(engines(), &contenders, workload, &options).unwrap();
    same(&report.refused);
    assert!(report.rows.len() == 1 && report.rows[0].mlps > Some(0.0));

    let traces = ["a", "b"].map(|name| Trace { name: name.into(), addresses: addresses.clone() });
    let updating = Duration::from_millis(1);
    let study = StudyOptions { bench: options, updating, ..StudyOptions::default() };
    let of = ("made", &rib);
    let study = study_engines(engines(), &names, of, &traces, &[], &study, &mut |_| {}).unwrap();
    same(&study.refused);
    assert_eq!(study.rows.iter().map(|row| row.engine.as_str()).collect::<Vec<_>>(), ["oracle"]);

    let options = ParallelOptions { threads: vec![], chunks: vec![64], passes: 1 };
    let parallel = study_parallel(engines(), &names, &rib, &addresses, &options, &mut |_, _| {}).unwrap();
    same(&parallel.refused);
    assert_eq!((parallel.rows.len(), parallel.rows[0].engine.as_str()), (1, "oracle"));
}

#[test]
fn what_is_not_about_the_table_is_an_error_for_all() {
    let names = ["oracle", "faulty/fault=unheard-of"].map(Contender::new);
    let rib = table::<u32>();
    let workload = Workload { table: "made", rib: &rib, trace: "one", addresses: &[1] };
    let error = bench(engines(), &names, workload, &BenchOptions::default()).unwrap_err();
    assert!(error.to_string().contains("unheard-of"), "{error}");
}

#[test]
fn a_batch_that_is_never_odd_in_the_check_is_still_seen_in_the_timed_pass() {
    // The check takes 16 addresses in one batch. Three threads over 15,003 have 5,001 each. The
    // last address of the first thread has index 5,000, which is among those checked.
    let rib = table::<u32>();
    let mut addresses = addresses(&rib);
    addresses.extend_from_within(..5002);
    let workload = Workload { table: "made", rib: &rib, trace: "ends", addresses: &addresses };
    let options = BenchOptions { passes: 5, threads: vec![3], check: 15, ..BenchOptions::default() };
    let report = bench(engines(), &[Contender::new("faulty/fault=odd-tail")], workload, &options).unwrap();
    let row = &report.rows[0];
    assert_eq!((row.checked, row.mismatches, row.mlps), (16, 1, None));
    assert_eq!(report.wrong[0].path, "timed pass");
    assert_eq!(report.wrong[0].address, addresses[5000].to_ip().to_string());
}

#[test]
fn demo_names_the_engine_and_shows_no_speed_for_a_wrong_one() {
    let rib = table::<u32>();
    let addresses = addresses(&rib);
    let workload = Workload { table: "made", rib: &rib, trace: "ends", addresses: &addresses };
    let options = DemoOptions { lookups: 100_000, threads: 2, random: 1000, ..DemoOptions::default() };
    let (row, wrong) = demo(engines(), workload, &options).unwrap();
    assert!(wrong.is_empty() && row.mlps > Some(0.0) && row.lookups >= 100_000);
    assert!(row.engine.starts_with("best (") && row.checked > 10_001 + 3000 && row.mismatches == 0);
    let options = DemoOptions { engine: "faulty/fault=last-address".into(), ..options };
    let (row, wrong) = demo(engines(), workload, &options).unwrap();
    assert!(row.mlps.is_none() && row.mismatches > 0 && !wrong.is_empty());
}

#[test]
fn replay_sees_what_belongs_to_no_table() {
    let rib = table::<u32>();
    let addresses: Vec<u32> = rib.iter().map(|route| route.prefix.first()).collect();
    let changes = Flap::Session.changes(&rib);
    let stream = Stream { table: "made", rib: &rib, changes: &changes, addresses: &addresses };
    let options = ReplayOptions { span: std::time::Duration::from_millis(1), ..ReplayOptions::default() };
    let wrong = |engine: &str| replay(engines(), engine, stream, &options).unwrap().unwrap().wrong;
    assert_eq!(wrong("faulty/fault=none"), 0);
    assert!(wrong("faulty/fault=ninth-lane") > 0);
    // A session that comes back hides a forgotten withdrawal at the end; one that does not shows
    // it.
    let withdrawals = &changes[..rib.len()];
    let stream = Stream { changes: withdrawals, ..stream };
    let row = replay(engines(), "faulty/fault=withdrawal", stream, &options).unwrap().unwrap();
    assert!(row.wrong > 0 && row.applied == withdrawals.len() as u64);
}
