//! One suite, stamped on every engine of the registry, family and width of next hops. Each test
//! runs every instruction set of this machine and many batch sizes (see
//! [`checked::Checked::check`]).

#[macro_use]
mod stamp;

mod checked;
mod churn;
mod named_bugs;
mod tables;

use fibula::engine::{ENGINES, Entry, WidthBits};
use stamp::engine_name;

fibula::for_each_engine!(suite);

/// The engines that the suite is stamped on.
fn registry() -> &'static [Entry] {
    ENGINES
}

#[test]
fn the_suite_covers_the_whole_registry() {
    macro_rules! names {
        ($($engine:ident [$($family:ident)+])+) => {
            [$((stringify!($engine), vec![$(stringify!($family)),+])),+]
        };
    }
    let stamped = fibula::for_each_engine!(names);
    assert_eq!(stamped.len(), ENGINES.len());
    for ((identifier, families), entry) in stamped.into_iter().zip(ENGINES) {
        assert_eq!(engine_name(identifier), entry.about.name);
        assert_eq!(families, entry.families().map(|f| f.to_string()).collect::<Vec<_>>());
        assert!(!entry.about.paper.is_empty());
    }
}

#[test]
fn a_table_with_too_many_next_hops_for_a_forced_width_names_the_numbers() {
    let rib: fibula::Rib<u32> = tables::hosts(256, 256);
    for entry in ENGINES {
        let mut config = fibula::engine::Config::default();
        config.width = Some(WidthBits::U8);
        let error = fibula::Fib::build_from(ENGINES, entry.about.name, &rib, config).unwrap_err();
        assert_eq!(error.to_string(), "next hops: 256 is more than the 255 that fit", "{}", entry.about.name);
    }
}

#[test]
fn what_cannot_be_built_is_named() {
    let rib: fibula::Rib<u32> = fibula::Rib::new();
    for (specification, complaint) in [
        ("nonsense", "no engine \"nonsense\" (there are: oracle"),
        ("oracle/k=3", "oracle has no parameter k (it has: none)"),
        ("oracle/k", "\"oracle/k\": expected parameter=value, found \"k\""),
    ] {
        let error = fibula::Fib::build(specification, &rib).unwrap_err().to_string();
        assert!(error.starts_with(complaint), "{error}");
    }
}
