//! Every publication of a table of two addresses and a default route, in every interleaving with
//! two lookups: as the engines do it, and in the ways that show answers of no table.

use super::{Fallback, Step, steps};
use crate::engine::{Meter, Width};
use crate::interleavings::{Subject, check};
use crate::memory::{OneWord, Published};
use crate::{Change, Delta, NextHop, Prefix, Rib, Route};

/// The two addresses of the table. One word has the answers of both.
const ADDRESSES: [u32; 2] = [0, 1];

/// The bits of an answer in that word.
const BITS: u32 = 8;

/// How a table is published and read.
#[derive(Clone, Copy, Debug)]
enum Way {
    /// As [`steps`] and [`FallbackView::answer`](super::FallbackView::answer) say.
    AsEnginesDo,
    /// In these steps, but the reader loads the default route once, after the table.
    LoadedOnce,
    /// The table once, then the default route.
    TableFirst,
    /// The default route, then the table once.
    DefaultFirst,
}

/// A table of one word, beside a default route.
struct Toy {
    word: OneWord,
    fallback: Fallback<u8>,
    way: Way,
}

impl Toy {
    fn of(rib: &Rib<u32>, way: Way) -> Self {
        let toy = Self { word: OneWord::new(0), fallback: Fallback::of(rib), way };
        steps(rib, &[], true).into_iter().flatten().for_each(|step| toy.take(rib, &step));
        toy
    }

    fn take(&self, rib: &Rib<u32>, step: &Step<'_, u32>) {
        match step {
            Step::Default => self.fallback.follow(rib),
            Step::Table(routes) => {
                let answer = |address: &u32| {
                    let host = Prefix::host(*address);
                    let of_table = routes.rib().get(host);
                    let withdrawn = routes.withdrawn().and_then(|withdrawn| {
                        routes.ranges_beside(withdrawn, 1..=32, host).next().map(|range| range.next_hop)
                    });
                    u64::from(withdrawn.or(of_table).unwrap_or_default().0)
                };
                let [first, second] = ADDRESSES.each_ref().map(answer);
                self.word.set(first | second << BITS);
            }
        }
    }
}

impl Subject<u32> for Toy {
    fn follow(&mut self, rib: &Rib<u32>, deltas: &[Delta<u32>]) -> bool {
        let all = steps(rib, deltas, true);
        let table = || Step::Table(super::Routes::of(rib));
        let steps = match self.way {
            Way::AsEnginesDo | Way::LoadedOnce => all,
            Way::TableFirst => [Some(table()), Some(Step::Default), None],
            Way::DefaultFirst => [Some(Step::Default), Some(table()), None],
        };
        steps.iter().flatten().for_each(|step| self.take(rib, step));
        true
    }

    fn look_up(&self, address: u32, meter: &mut impl Meter) -> NextHop {
        let word = self.word.view();
        let of_table = |word: u64| (word >> (address * BITS)) as u8;
        if let Way::LoadedOnce = self.way {
            let found = of_table(meter.load_word(&word));
            let fallback: u64 = meter.load_word::<u64>(&self.fallback.view().0);
            return if found == 0 { NextHop(fallback as u32) } else { found.widen() };
        }
        let fallback = self.fallback.view();
        let before = fallback.before(meter);
        let found = of_table(meter.load_word(&word));
        let answer = fallback.answer(before, found, meter);
        let again = |meter: &mut _| of_table(loaded(meter, &word));
        answer.unwrap_or_else(|| fallback.answer_again(meter, again)).widen()
    }
}

fn loaded(meter: &mut impl Meter, word: &Published<u64>) -> u64 {
    meter.load_word(word)
}

/// The next hops of both addresses and of the default route.
type Table = [u32; 3];

/// Returns the changes that lead to a table.
fn changes(table: Table) -> Vec<Change<u32>> {
    let prefixes = [Prefix::host(ADDRESSES[0]), Prefix::host(ADDRESSES[1]), Prefix::ALL];
    let change = |(prefix, next_hop)| match next_hop {
        0 => Change::Withdraw(prefix),
        _ => Change::Announce(Route { prefix, next_hop: NextHop(next_hop) }),
    };
    prefixes.into_iter().zip(table).map(change).collect()
}

/// Returns all tables of these next hops.
fn tables(of_addresses: [&[u32]; 2], of_default: &[u32]) -> Vec<Table> {
    let [first, second] = of_addresses;
    let pairs = first.iter().flat_map(|&one| second.iter().map(move |&two| [one, two]));
    pairs.flat_map(|[one, two]| of_default.iter().map(move |&default| [one, two, default])).collect()
}

/// Returns the first wrong answer of all sequences of these tables, or the number of executions.
fn all_sequences(way: Way, tables: &[Table], publications: u32) -> Result<usize, String> {
    let mut executions = 0;
    for sequence in 0..tables.len().pow(publications + 1) {
        let table = |at: u32| tables[sequence / tables.len().pow(at) % tables.len()];
        let mut rib: Rib<u32> = Rib::new();
        rib.apply_all(changes(table(0)));
        let toy = Toy::of(&rib, way);
        let publications: Vec<_> = (1..=publications).map(|at| changes(table(at))).collect();
        executions += check(toy, &mut rib, &publications, &ADDRESSES)?.1;
    }
    Ok(executions)
}

#[test]
fn each_answer_is_of_the_table_before_or_after_a_publication() {
    let tables = tables([&[0, 1, 2], &[0, 1, 3]], &[0, 8, 9]);
    assert!(all_sequences(Way::AsEnginesDo, &tables, 1).unwrap() > 10_000);
}

#[test]
fn each_answer_is_of_one_of_three_publications() {
    let tables = tables([&[0, 1], &[0, 3]], &[0, 8]);
    assert!(all_sequences(Way::AsEnginesDo, &tables, 3).unwrap() > 10_000);
}

#[test]
fn other_ways_show_answers_of_no_table() {
    let tables = tables([&[0, 1, 2], &[0, 1, 3]], &[0, 8, 9]);
    for way in [Way::LoadedOnce, Way::TableFirst, Way::DefaultFirst] {
        assert!(all_sequences(way, &tables, 1).is_err(), "{way:?}");
    }
}
