//! How the suite is compiled for families, and stamped on engines, families and widths.

/// Stamps the suite on every engine of a registry: `suite!(CALLER, ENGINES)`, where `CALLER` is the
/// `for_each_engine!` that the [registry](fibula::registry!) exports. It defines the tests in the
/// module that it is called in.
#[macro_export]
macro_rules! suite {
    ($for_each:path, $engines:path) => {
        use $crate::suite_modules;
        use $for_each as for_each_engine_of_the_suite;

        /// The engines that the suite is stamped on.
        fn engines_of_the_suite() -> &'static [fibula::engine::Entry] {
            &$engines
        }

        for_each_engine_of_the_suite!(suite_modules);
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! suite_modules {
    ($($engine:ident [$($family:ident)+] $(($wide:ident))?)+) => {
        #[test]
        fn the_suite_covers_the_whole_registry() {
            let stamped: &[(&str, &[&str])] = &[$((stringify!($engine), &[$(stringify!($family)),+])),+];
            $crate::covers(stamped, engines_of_the_suite());
        }

        $(mod $engine {
            fn subject() -> $crate::Subject {
                $crate::Subject::named(super::engines_of_the_suite(), stringify!($engine))
            }

            $crate::suite_modules!(@families [$($family)+] $(($wide))?);
        })+
    };
    (@families [$($family:ident)+]) => {
        $(mod $family {
            $crate::suite_list! { [$crate::suite_tests] $family [w8 U8] [w16 U16] [w32 U32] }
        })+
    };
    (@families [$($family:ident)+] (wide)) => {
        $(mod $family {
            $crate::suite_list! { [$crate::suite_tests] $family [w32 U32] }
        })+
    };
}

/// Calls a macro with a family, some widths, and the tests of the suite: those for each width, and
/// the others.
#[doc(hidden)]
#[macro_export]
macro_rules! suite_list {
    ([$($callback:tt)+] $family:ident $($width:tt)*) => {
        $($callback)+! { $family [$($width)*]
            @by_width
            tables::empty_and_default
            tables::nested
            tables::sparse
            churn::random_tables
            churn::random_operations
            snapshots::come_back
            snapshots::are_refused_or_end
            timeline::answers_of_published_tables
            @once
            churn::a_long_life
            churn::updates_in_any_order
            churn::memory_after_a_life
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
            named_bugs::refused_update_leaves_the_table
            named_bugs::v4_mapped_addresses_are_ipv6
            named_bugs::many_routes_under_one_short_prefix
        }
    };
}

/// One `#[test]` for each function: for those by width, one for each width.
#[doc(hidden)]
#[macro_export]
macro_rules! suite_tests {
    ($family:ident [$($width:tt)+]
        @by_width $($by_width:ident::$by_width_test:ident)+
        @once $($module:ident::$test:ident)+
    ) => {
        $crate::suite_tests!(@widths [$($width)+] $family [$($by_width::$by_width_test)+]);
        $(
            #[test]
            fn $test() {
                $crate::$family::$test(&super::subject());
            }
        )+
    };
    (@widths [$($width:tt)+] $family:ident $tests:tt) => {
        $($crate::suite_tests!(@width $width $family $tests);)+
    };
    (@width [$width:ident $bits:ident] $family:ident [$($module:ident::$test:ident)+]) => {
        mod $width {$(
            #[test]
            fn $test() {
                $crate::$family::$test(&super::super::subject(), fibula::engine::WidthBits::$bits);
            }
        )+}
    };
}

/// The tests for the addresses of a family, compiled with this crate and not again with each list
/// of engines.
macro_rules! suite_of_family {
    ($family:ident []
        @by_width $($by_width_module:ident::$by_width:ident)+
        @once $($module:ident::$test:ident)+
    ) => {$(
        #[doc = concat!(
            "[`", stringify!($by_width), "`](crate::", stringify!($by_width_module), ").",
        )]
        pub fn $by_width(engine: &crate::Subject, width: fibula::engine::WidthBits) {
            crate::$by_width_module::$by_width::<super::address::$family>(engine, width);
        }
    )+$(
        #[doc = concat!("[`", stringify!($test), "`](crate::", stringify!($module), ").")]
        pub fn $test(engine: &crate::Subject) {
            crate::$module::$test::<super::address::$family>(engine);
        }
    )+};
}

/// The address type of a family, by the family's name in the registry.
#[allow(non_camel_case_types, reason = "named as the registry writes families")]
mod address {
    pub(super) type ipv4 = u32;
    pub(super) type ipv6 = u128;
}

/// The tests for IPv4.
pub mod ipv4 {
    crate::suite_list! { [suite_of_family] ipv4 }
}

/// The tests for IPv6.
pub mod ipv6 {
    crate::suite_list! { [suite_of_family] ipv6 }
}
