//! How the suite is stamped on engines, families and widths.

/// The address type of a family, by the family's name in the registry.
#[allow(non_camel_case_types, reason = "named as the registry writes families")]
pub(crate) mod families {
    pub(crate) type ipv4 = u32;
    pub(crate) type ipv6 = u128;
}

/// One `#[test]` for each function, called with the engine's name and the family's address type.
macro_rules! tests {
    ($engine:ident $family:ident: $($module:ident::$test:ident)+) => {$(
        #[test]
        fn $test() {
            crate::$module::$test::<crate::stamp::families::$family>(&crate::stamp::engine_name(stringify!($engine)));
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
                crate::$module::$test::<crate::stamp::families::$family>(
                    &crate::stamp::engine_name(stringify!($engine)), fibula::engine::WidthBits::$bits);
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

/// A registry identifier as the name users write: `dir24_8` is `dir24-8`.
pub(crate) fn engine_name(identifier: &str) -> String {
    identifier.replace('_', "-")
}
