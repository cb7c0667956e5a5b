//! The worked example of the module page, the parameters, and when levels are chosen again.

use super::*;
use crate::bloom::tests::answer_as_the_oracle;
use fibula::engine::Accesses;
use fibula::testing::{apply, rib};
use fibula::{Limit, NextHop, Prefix, Route};

fn example() -> Rib<u128> {
    rib(&[
        ("::/0", 5),
        ("2001:db8::/32", 1),
        ("2001:db8::/47", 2),
        ("2001:db8:1::/48", 3),
        ("2001:db8:2:3:4::/80", 4),
    ])
}

fn build(rib: &Rib<u128>, levels: &str) -> Bloom6<u8> {
    Bloom6::build(rib, &Config::default().with("levels", levels)).unwrap()
}

fn address(text: &str) -> u128 {
    text.parse::<std::net::Ipv6Addr>().unwrap().to_bits()
}

fn figure(engine: &Bloom6<u8>, name: &str) -> Option<f64> {
    engine.figures().iter().find(|figure| figure.name == name).map(|figure| figure.value)
}

#[test]
fn the_worked_example() {
    let rib = example();
    let engine = build(&rib, "3");
    engine.validate(&rib).unwrap();
    assert_eq!(choose(&rib, &Config::default().with("levels", "3")).unwrap(), [32, 48, 64]);
    assert_eq!(figure(&engine, "prefixes after expansion, estimated"), Some(4.0));
    let addresses = ["2001:db8:2:3:4::1", "2001:db8:2:3::", "2001:db8::1", "2001:db8:1::", "2002::"];
    assert_eq!(addresses.map(|a| engine.lookup(address(a))), [4, 1, 2, 3, 5]);
    // Two filters that deny cost at least one bit each; the third and its table cost three loads.
    let mut accesses = Accesses::new();
    engine.lookup_metered(address("2001:db8:ffff::"), &mut accesses);
    assert_eq!(accesses.hashes(), 6);
    assert!((5..=9).contains(&accesses.loads()));
}

#[test]
fn a_mark_comes_and_goes_with_the_routes_below_it() {
    let mut rib = example();
    let mut engine = build(&rib, "3");
    let entries = |engine: &Bloom6<u8>| figure(engine, "/64 filter: keys (n)");
    assert_eq!(entries(&engine), Some(1.0));
    apply(&mut engine, &mut rib, &[("2001:db8:2:3:5::/80", 6), ("2001:db8:2:3:4::/80", 0)]);
    assert_eq!(["2001:db8:2:3:4::", "2001:db8:2:3:5::"].map(|a| engine.lookup(address(a))), [1, 6]);
    apply(&mut engine, &mut rib, &[("2001:db8:2:3::/64", 7)]);
    assert_eq!(["2001:db8:2:3:4::", "2001:db8:2:3:5::"].map(|a| engine.lookup(address(a))), [7, 6]);
    apply(&mut engine, &mut rib, &[("2001:db8:2:3:5::/80", 0)]);
    assert_eq!(engine.lookup(address("2001:db8:2:3:5::")), 7);
    apply(&mut engine, &mut rib, &[("2001:db8:2:3::/64", 0)]);
    assert_eq!(entries(&engine), None);
}

#[test]
fn levels_are_chosen_again_when_the_table_outgrows_them() {
    let mut rib = example();
    let mut engine = build(&rib, "3");
    apply(&mut engine, &mut rib, &[("2001:db9::/40", 8)]); // 2^8 of the next level
    assert_eq!(engine.lookup(address("2001:db9:1::")), 8);
    let delta = rib.insert("3000::/8".parse().unwrap(), NextHop(9)).unwrap();
    assert_eq!(engine.apply(&rib, &[delta]), Update::Rebuild);
    assert_eq!(engine.lookup(address("3000::")), 5);
    assert_eq!(choose(&rib, &Config::default()).unwrap()[0], 8);
}

#[test]
fn more_prefixes_than_fit_are_refused_with_their_number() {
    let rib: Rib<u128> = rib(&[("2001:db8::/32", 1), ("2001:db9::/33", 2)]);
    let limit = Limit { what: EXPANDED, had: (1 << 32) + (1 << 31), max: EXPANDED_MAX };
    assert_eq!(crate::build("bloom6/levels=1", &rib).unwrap_err().limit(), Some(limit));
    crate::build("bloom6/levels=2", &rib).unwrap().validate(&rib).unwrap();
}

/// Returns prefixes of all lengths without a pattern, many of them near each other.
fn mixed() -> Rib<u128> {
    (0..3000_u128)
        .map(|i| {
            let bits = i.wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835);
            let (address, len) = (0x2001 << 112 | bits & !(0x00FF_FFFF << 104), 30 + (bits >> 7) as u8 % 40);
            Route { prefix: Prefix::containing(address, len), next_hop: NextHop(i as u32 % 300 + 1) }
        })
        .collect()
}

#[test]
fn every_parameter_gives_the_oracles_answers() {
    let rib = mixed();
    let specifications = [
        "bloom6/levels=64",
        "bloom6/levels=12/choice=dpcpe/hash=fmix/fpr=1",
        "bloom6/levels=7/hash=h2/fpr=10",
        "bloom6/levels=9/hash=knuth/fpr=90",
        "bloom6-naive/fpr=60",
    ];
    answer_as_the_oracle(&rib, 0x155 << 60, &specifications);
    let error = crate::build("bloom6/levels=65", &rib).unwrap_err().to_string();
    assert_eq!(error, "parameter levels=65: expected 1 to 64");
}

#[test]
fn the_hash_and_the_ratio_are_those_of_section_6_2() {
    let rib = mixed();
    let figures = |specification| crate::build(specification, &rib).unwrap().figures();
    assert_eq!(figures("bloom6"), figures("bloom6/hash=murmur/fpr=30"));
    // What filters let pass differs by their hashes.
    assert_ne!(figures("bloom6"), figures("bloom6/hash=h2/fpr=30"));
}
