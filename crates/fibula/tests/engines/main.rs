//! One suite, stamped on every engine of the registry, family and width of next hops. Each test runs every
//! instruction set of this machine and many batch sizes (see [`checked::Checked::check`]).

mod checked;
mod churn;
mod named_bugs;
mod tables;

use fibula::engine::{ENGINES, WidthBits};

/// The address type of a family, by the family's name in the registry.
#[allow(non_camel_case_types, reason = "named as the registry writes families")]
mod families {
    pub(super) type ipv4 = u32;
    pub(super) type ipv6 = u128;
}

/// One `#[test]` for each function, called with the engine's name and the family's address type.
macro_rules! tests {
    ($engine:ident $family:ident: $($module:ident::$test:ident)+) => {$(
        #[test]
        fn $test() {
            crate::$module::$test::<crate::families::$family>(&crate::engine_name(stringify!($engine)));
        }
    )+};
}

/// The same, once for each width.
macro_rules! tests_by_width {
    ($engine:ident $family:ident: $($module:ident::$test:ident)+) => {
        tests_by_width!(@ w8 U8, $engine $family: $($module::$test)+);
        tests_by_width!(@ w16 U16, $engine $family: $($module::$test)+);
        tests_by_width!(@ w32 U32, $engine $family: $($module::$test)+);
    };
    (@ $width:ident $bits:ident, $engine:ident $family:ident: $($module:ident::$test:ident)+) => {
        mod $width {$(
            #[test]
            fn $test() {
                crate::$module::$test::<crate::families::$family>(
                    &crate::engine_name(stringify!($engine)), fibula::engine::WidthBits::$bits);
            }
        )+}
    };
}

macro_rules! suite {
    ($($engine:ident [$($family:ident)+])+) => {$(
        mod $engine {$(
            mod $family {
                tests_by_width! { $engine $family:
                    tables::empty_and_default
                    tables::nested
                    tables::sparse
                    churn::random_tables
                    churn::random_operations
                }
                tests! { $engine $family:
                    churn::a_long_life
                    churn::updates_in_any_order
                    named_bugs::default_route_first_last_and_again
                    named_bugs::middle_cover_deleted
                    named_bugs::parent_and_children_come_and_go
                    named_bugs::child_with_its_parents_next_hop
                    named_bugs::point_to_point_and_host_routes
                    named_bugs::last_address_in_every_lane
                    named_bugs::block_indices_past_65535
                    named_bugs::next_hops_past_255_and_65535
                    named_bugs::next_hops_outgrow_their_width
                    named_bugs::deleting_what_is_absent
                    named_bugs::failed_update_leaves_the_table
                    named_bugs::v4_mapped_addresses_are_ipv6
                    named_bugs::many_routes_under_one_short_prefix
                }
            }
        )+}
    )+};
}

fibula::for_each_engine!(suite);

/// A registry identifier as the name users write: `dir24_8` is `dir24-8`.
fn engine_name(identifier: &str) -> String {
    identifier.replace('_', "-")
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
