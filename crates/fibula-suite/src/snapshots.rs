//! Snapshots: an engine that supports them is restored as it was, and survives forged ones.

use crate::Subject;
use crate::checked::probes;
use crate::tables::Random;
use fibula::View;
use fibula::engine::Level;
use fibula::engine::{Config, WidthBits};
use fibula::snapshot::{Image, Snapshot, forged};
use fibula::{Address, ErrorKind, Fib, NextHop, NextHopInfo, NextHops, Prefix, Rib, Route};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The bytes of forged files that are opened of an engine at one width: a snapshot that begins with
/// a table of megabytes is forged once.
const BYTES_FORGED: usize = 16 << 20;
/// The most files that are forged of an engine at one width.
const FORGED_MOST: usize = 100;

/// Returns a table with routes of all lengths and next hops up to `greatest`.
fn table<A: Address>(routes: u64, greatest: u32) -> (Rib<A>, NextHops) {
    let mut next_hops = NextHops::new();
    let labels = [
        NextHopInfo::Label("10.0.0.1".into()),
        NextHopInfo::parse("4200000000"),
        NextHopInfo::parse("dev eth0"),
    ];
    let others = (4..=greatest).map(NextHopInfo::AutonomousSystem);
    for info in labels.into_iter().chain(others) {
        next_hops.intern(info).expect("there are few");
    }
    let mut random = Random(greatest.into());
    let routes = (0..routes).map(|at| {
        let near = A::from_bits(random.below(97) * 0x0201_0101, 0, 32)
            | A::from_bits(random.below(1 << 32), A::BITS - 32, 32);
        let prefix = Prefix::containing(near, 1 + random.below(A::BITS.into()) as u8);
        let next_hop = if at == 0 { greatest } else { 1 + random.below(greatest.into()) as u32 };
        Route { prefix, next_hop: NextHop(next_hop) }
    });
    (routes.collect(), next_hops)
}

/// Returns the snapshot of a table. `None` if the engine keeps none.
fn image<A: Address>(
    engine: &Subject,
    width: WidthBits,
    (rib, next_hops): &(Rib<A>, NextHops),
    keep_routes: bool,
) -> Option<Vec<u8>> {
    let mut config = Config::default();
    config.width = Some(width);
    let fib = Fib::build_from(engine.engines, &engine.name, rib, config).expect("the table fits");
    let image = match Image::new(next_hops).with(&fib, rib, keep_routes) {
        Ok(image) => image,
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{engine}: {error}");
            let name = fib.entry().about.name;
            assert_eq!(error.to_string(), format!("{name}: this engine keeps no snapshots"));
            return None;
        }
    };
    let mut bytes = Vec::new();
    image.write(&mut bytes).expect("memory can be written to");
    assert_eq!(bytes.len() as u64, image.bytes());
    Some(bytes)
}

/// A snapshot has all that was put in, and its view answers as the table.
pub fn come_back<A: Address>(engine: &Subject, width: WidthBits) {
    let greatest = [200, 60_000, 70_000][width as usize];
    let stored = table::<A>(2000, greatest);
    let Some(bytes) = image(engine, width, &stored, width != WidthBits::U8) else { return };
    let (rib, next_hops) = stored;
    let snapshot = Snapshot::from_bytes(&bytes).unwrap();
    let [part] = snapshot.parts() else { panic!("{engine}: {} tables", snapshot.parts().len()) };
    assert_eq!((part.family, part.specification.as_str()), (A::FAMILY, engine.name.as_str()));
    assert_eq!((part.prefixes, part.width), (rib.len() as u64, width));
    assert_eq!(snapshot.bytes(), bytes.len());
    assert_eq!(snapshot.next_hops().unwrap(), next_hops);
    assert!(next_hops.iter().all(|(at, info)| snapshot.next_hop(at).as_ref() == Some(info)));
    assert_eq!([NextHop::NONE, NextHop(greatest + 1)].map(|at| snapshot.next_hop(at)), [None, None]);
    match snapshot.rib::<A>() {
        Ok(kept) => {
            assert_eq!((snapshot.has_routes(), &kept), (true, &rib));
            let routes = snapshot.routes::<A>().unwrap();
            for address in probes(&rib).into_iter().map(Prefix::host) {
                assert!(routes.covering(address).eq(rib.covering(address)));
            }
        }
        Err(error) => assert_eq!(error.to_string(), "a snapshot without its routes"),
    }

    let mut view = snapshot.view_from::<A>(engine.engines).unwrap();
    drop(snapshot); // the arrays hold the mapping
    assert_eq!(view.width(), width);
    let addresses = probes(&rib);
    let mut answers = vec![NextHop::NONE; addresses.len()];
    for &isa in Level::available() {
        view.set_isa(isa);
        view.lookup_batch(&addresses, &mut answers);
        for (&address, &answer) in addresses.iter().zip(&answers) {
            let right = rib.longest_match(address).map_or(NextHop::NONE, |route| route.next_hop);
            assert_eq!((answer, view.lookup_index(address)), (right, right), "{engine}: {address:?}");
        }
    }
}

/// A forged file whose checksums fit is refused, or every lookup in it ends.
pub fn are_refused_or_end<A: Address>(engine: &Subject, width: WidthBits) {
    let stored = table::<A>(120, 200);
    let Some(whole) = image(engine, width, &stored, true) else { return };
    let mut addresses = probes(&stored.0);
    addresses.truncate(256);
    let leading_bits: Vec<u64> = addresses.iter().map(|address| address.bits(0, 64)).collect();
    // As property tests do, this one runs fewer cases where each takes long.
    let part = if std::env::var_os("PROPTEST_CASES").is_some() { 20 } else { 1 };
    let files = (BYTES_FORGED / whole.len()).clamp(part, FORGED_MOST) / part;
    let mut random = Random(width.bits().into());
    let (mut opened, mut answered) = (0, 0);
    for _ in 0..files {
        let file = forged(&whole, &leading_bits, |below| random.below(below));
        let snapshot = Snapshot::from_bytes(&file).expect("its checksums fit");
        let _ = (snapshot.rib::<A>(), snapshot.next_hops(), snapshot.next_hop(NextHop(1)));
        let Ok(mut view) = snapshot.view_from::<A>(engine.engines) else { continue };
        opened += 1;
        answered += usize::from(is_answered(&mut *view, &addresses));
    }
    // Most forgeries touch what one lookup reads, not what all do.
    assert!(
        files < 20 || (opened > files / 10 && answered > 0),
        "{engine}: {opened} and {answered} of {files}"
    );
}

/// Looks addresses up in every way. Returns whether none panicked. A panic in one must not keep the
/// others from being tried.
fn is_answered<A: Address>(view: &mut dyn View<A>, addresses: &[A]) -> bool {
    let mut answers = vec![NextHop::NONE; addresses.len()];
    let one_by_one = AssertUnwindSafe(|| addresses.iter().map(|&address| view.lookup_index(address)).max());
    let mut is_answered = catch_unwind(one_by_one).is_ok();
    for &isa in Level::available() {
        view.set_isa(isa);
        let batch = AssertUnwindSafe(|| view.lookup_batch(addresses, &mut answers));
        is_answered &= catch_unwind(batch).is_ok();
    }
    is_answered
}
