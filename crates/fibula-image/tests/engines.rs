//! Runs the suite of fibula's own engines on the kernels' bodies as the host compiler makes them.

#[macro_use]
#[path = "../../fibula/tests/engines/stamp.rs"]
mod stamp;

#[path = "../../fibula/tests/engines/checked.rs"]
mod checked;
#[path = "../../fibula/tests/engines/churn.rs"]
mod churn;
#[path = "../../fibula/tests/engines/named_bugs.rs"]
mod named_bugs;
#[path = "../../fibula/tests/engines/tables.rs"]
mod tables;

use fibula::engine::Entry;
use stamp::engine_name;

fibula_image::for_each_layout!(suite);

/// The engines that the suite runs on.
fn registry() -> &'static [Entry] {
    fibula_image::ENGINES
}

#[test]
fn the_suite_covers_every_layout() {
    macro_rules! names {
        ($($engine:ident [$($family:ident)+])+) => { [$((stringify!($engine), vec![$(stringify!($family)),+])),+] };
    }
    let stamped = fibula_image::for_each_layout!(names);
    let known = registry().iter().map(|entry| (entry.about.name, entry.families().map(|f| f.to_string())));
    let known: Vec<(&str, Vec<String>)> = known.map(|(name, families)| (name, families.collect())).collect();
    assert_eq!(stamped.len(), known.len());
    for ((identifier, families), known) in stamped.into_iter().zip(known) {
        assert_eq!(
            (engine_name(identifier).as_str(), families.iter().map(ToString::to_string).collect()),
            known
        );
    }
}
