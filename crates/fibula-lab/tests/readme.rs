//! The README's figures of `fibula demo` are those that the program computes.

use fibula::engine::BEST;
use fibula::{Address, Fib, Rib};
use fibula_io::generate::{NextHopModel, Size, internet};
use fibula_lab::bench::BenchOptions;
use fibula_lab::demo::DemoOptions;
use fibula_lab::verify::{VerifyOptions, probes};

const README: &str = include_str!("../../../README.md");

/// The addresses that `fibula demo` streams for each family.
const STREAMED: usize = 10_000_000;

/// Returns the README's row of a table. The answers that the demo checks are counted here and
/// not computed, which would take as long as many other tests together.
fn row<A: Address>(family: &str, rib: &Rib<A>) -> String {
    let bytes = Fib::build(BEST, rib).unwrap().memory().total();
    let mut random = fastrand::Rng::with_seed(VerifyOptions::default().seed);
    let probes = probes(rib, DemoOptions::default().random, &mut random).len();
    let spread = (0..STREAMED).step_by(STREAMED / BenchOptions::default().check).len();
    // Every probe is looked up alone and in a batch.
    let checked = grouped(2 * probes + spread);
    let (prefixes, megabytes) = (grouped(rib.len()), bytes as f64 / 1e6);
    let each = bytes as f64 / rib.len() as f64;
    format!("| {family} | {prefixes} | {megabytes:.2} MB | {each:.2} | {checked} |")
}

/// Returns a number with its digits in groups of three.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let groups = digits.as_bytes().rchunks(3).rev().map(|group| str::from_utf8(group).unwrap());
    groups.collect::<Vec<_>>().join(",")
}

/// Nothing that depends on the machine is compared, but for its instruction set: without vectors,
/// `best` is another engine for IPv6.
#[test]
fn the_figures_of_the_demo_are_those_that_the_program_computes() {
    let tables = internet(Size::FULL, NextHopModel::Near(40), 1).unwrap();
    for row in [row("IPv4", &tables.ipv4), row("IPv6", &tables.ipv6)] {
        assert!(README.lines().any(|line| line == row), "the README has no line {row:?}");
    }
}
