//! The suite on what the papers print where it is not an engine's default: a line for each mode.
//! Answers have 8 bits, because some of the papers' entries hold no wider ones.

use fibula_engines::all;
use fibula_suite::Subject;

macro_rules! modes {
    ($($mode:ident: $specification:literal, $family:ident $(, $more:ident)?;)+) => {
        $(mod $mode {
            use fibula::engine::WidthBits;

            fn subject() -> super::Subject {
                super::Subject { engines: super::all(), name: $specification.into() }
            }

            modes!(@by_width $family, tables::empty_and_default tables::nested tables::sparse
                churn::random_tables churn::random_operations snapshots::come_back);
            modes!(@once $family, churn::a_long_life churn::updates_in_any_order
                named_bugs::default_route_first_last_and_again named_bugs::middle_cover_deleted
                named_bugs::parent_and_children_come_and_go named_bugs::child_with_its_parents_next_hop
                named_bugs::point_to_point_and_host_routes named_bugs::last_address_in_every_lane
                named_bugs::deleting_what_is_absent named_bugs::refused_update_leaves_the_table
                named_bugs::many_routes_under_one_short_prefix $(churn::$more)?);
        })+
    };
    (@by_width $family:ident, $($module:ident::$test:ident)+) => {$(
        #[test]
        fn $test() {
            fibula_suite::$family::$test(&subject(), WidthBits::U8);
        }
    )+};
    (@once $family:ident, $($module:ident::$test:ident)+) => {$(
        #[test]
        fn $test() {
            fibula_suite::$family::$test(&subject());
        }
    )+};
}

modes! {
    dxr_one_table: "dxr/tables=one", ipv4, memory_after_a_life;
    dxr_to_a_hit: "dxr/search=hit", ipv4;
    dxr_as_printed: "dxr/k=16/tables=one/search=hit", ipv4;
    sail_l_16_bits: "sail-l/bcn16=16", ipv4, memory_after_a_life;
    bloom_as_printed: "bloom/tables=chains/reduce=remainder/order=g2-first", ipv4, memory_after_a_life;
    triec_triples: "triec/hash16=triples", ipv6;
}
