//! Random operations on two tables, each compared with what it is by definition: on a map of
//! prefixes in which everything is a walk over all. Tables of each form take them.
//!
//! `FIBULA_OPERATIONS=1000000 cargo test -p fibula --test table differential` runs a million of
//! each family.

mod forms;
mod questions;
mod truth;

use fastrand::Rng;
use fibula::table::form::{Interned, PerRoute, ValuesAlone};
use fibula::{Family, IpPrefix, Table};
use forms::Changed;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use truth::{Truth, parts};

/// Two tables, and what is in them.
struct Pair<F: Changed> {
    rng: Rng,
    /// The family of all prefixes, or none if they are of both.
    family: Option<Family>,
    table: Table<u64, F>,
    truth: Truth,
    other: Table<u64, F>,
    other_truth: Truth,
}

impl<F: Changed> Pair<F> {
    fn new(family: Option<Family>) -> Self {
        let (rng, table, other) = (Rng::with_seed(47), Table::default(), Table::default());
        Self { rng, family, table, truth: Truth::new(), other, other_truth: Truth::new() }
    }

    fn is_ipv4(&mut self) -> bool {
        self.family.map_or_else(|| self.rng.bool(), |family| family == Family::Ipv4)
    }

    /// A prefix of few set bits, so that many nest, touch and repeat. Short ones are rare: engines
    /// rewrite much for them.
    fn prefix(&mut self) -> IpPrefix {
        let (high, low) = (self.rng.u32(..) & 0xC181_0381, self.rng.u32(..) & 0x8000_0003);
        let is_short = self.rng.u8(..32) == 0;
        if self.is_ipv4() {
            let lens: &[u8] = if is_short { &[0, 1, 2] } else { &[8, 9, 15, 16, 17, 23, 24, 25, 30, 31, 32] };
            return IpPrefix::masked(Ipv4Addr::from_bits(high | low), self.one_of(lens)).unwrap();
        }
        let lens: &[u8] =
            if is_short { &[0, 1, 2] } else { &[16, 32, 33, 47, 48, 49, 64, 65, 126, 127, 128] };
        let address = u128::from(high) << 96 | u128::from(high) << 62 | u128::from(low);
        IpPrefix::masked(Ipv6Addr::from_bits(address), self.one_of(lens)).unwrap()
    }

    fn one_of(&mut self, lens: &[u8]) -> u8 {
        lens[self.rng.usize(..lens.len())]
    }

    /// An address at an end of a prefix, mostly one of a route.
    fn address(&mut self) -> IpAddr {
        let routes = self.truth.len();
        let near = self.truth.keys().copied().nth(self.rng.usize(..=routes));
        let prefix = near.unwrap_or_else(|| self.prefix());
        if self.rng.bool() { prefix.first() } else { prefix.last() }
    }

    fn routes(&mut self) -> Vec<(IpPrefix, u64)> {
        let count = self.rng.usize(..12);
        (0..count).map(|_| (self.prefix(), self.rng.u64(..4))).collect()
    }

    fn change(&mut self) {
        let (prefix, value) = (self.prefix(), self.rng.u64(..4));
        // Small tables are compared often, and nest as much as large ones.
        let kind = if self.truth.len() > 40 { self.rng.u8(12..18) } else { self.rng.u8(..20) };
        let (table, truth) = (&mut self.table, &mut self.truth);
        match kind {
            0..4 => assert_eq!(table.insert(prefix, value), truth.insert(prefix, value)),
            4..6 => assert_eq!(table.remove(prefix), truth.remove(&prefix)),
            6 => {
                let expected = truth.entry(prefix).and_modify(|before| *before += 1).or_insert(value);
                assert_eq!(F::add_or_insert(table, prefix, value), *expected);
            }
            7 => {
                let expected = truth.get_mut(&prefix).map(|value| {
                    *value += 1;
                    *value
                });
                assert_eq!(F::add(table, prefix), expected);
            }
            8 => {
                let expected = truth::lookup(truth, prefix.last());
                assert_eq!(F::add_to_match(table, prefix.last()), expected.map(|(prefix, _)| prefix));
                if let Some((prefix, value)) = expected {
                    truth.insert(prefix, value + 1);
                }
            }
            9 => {
                let by = self.rng.u64(1..3);
                F::change_all(table, |value| (value + by) % 4);
                for value in truth.values_mut() {
                    *value = (*value + by) % 4;
                }
            }
            10 => {
                let routes = self.routes();
                self.table.extend(routes.iter().copied());
                self.truth.extend(routes);
            }
            11 => std::mem::swap(table, &mut self.other),
            12 => {
                let divisor = self.rng.u64(2..4);
                let removed = F::retain(table, |_, value| value % divisor != 0);
                let (kept, expected): (Truth, Truth) =
                    std::mem::take(truth).into_iter().partition(|(_, value)| value % divisor != 0);
                *truth = kept;
                assert!(removed.into_iter().eq(expected));
            }
            13 => {
                let before = truth.len();
                truth.retain(|other, _| !prefix.covers(*other));
                assert_eq!(table.remove_covered(prefix), before - truth.len());
            }
            14 => self.exclude(prefix),
            18 => {
                F::add_to_kin(table, prefix);
                truth
                    .iter_mut()
                    .filter(|(other, _)| prefix.covers(**other))
                    .for_each(|(_, value)| *value += 1);
                // In order, so the shortest first.
                let covering = truth.iter_mut().filter(|(other, _)| other.covers(prefix));
                covering.zip(1..).for_each(|((_, value), place)| *value += place);
            }
            19 => table.shrink_to_fit(),
            _ if self.rng.u8(..16) > 0 => {
                F::retain(table, |prefix, _| prefix.len() % 2 == 0);
                truth.retain(|prefix, _| prefix.len() % 2 == 0);
            }
            15 => {
                *table = table.aggregate();
                self.take_aggregate();
            }
            16 => {
                table.clear();
                truth.clear();
            }
            _ => *table = truth.iter().map(|(&prefix, &value)| (prefix, value)).collect(),
        }
        if kind == 11 {
            std::mem::swap(&mut self.truth, &mut self.other_truth);
        }
    }

    /// Checks that the addresses of `prefix` have no match, that all others have the value they
    /// had, and that no route was inserted which nothing needs.
    fn exclude(&mut self, prefix: IpPrefix) {
        let before = self.truth.clone();
        self.table.exclude(prefix);
        self.truth = self.table.iter().map(|(prefix, &value)| (prefix, value)).collect();
        let keys = || before.keys().chain(self.truth.keys()).copied().chain([prefix]);
        let expected = parts(keys(), |address| {
            truth::lookup(&before, address).filter(|_| !prefix.contains(address)).map(|(_, value)| value)
        });
        let found = parts(keys(), |address| truth::lookup(&self.truth, address).map(|(_, value)| value));
        assert_eq!(found, expected, "without {prefix}");
        let used = parts(keys(), |address| truth::lookup(&self.truth, address).map(|(prefix, _)| prefix));
        for new in self.truth.keys().filter(|prefix| !before.contains_key(prefix)) {
            assert!(used.iter().any(|(_, _, used)| used == new), "{new} without {prefix}");
        }
        for stays in before.keys().filter(|other| !other.covers(prefix) && !prefix.covers(**other)) {
            assert_eq!(self.truth.get(stays), before.get(stays), "without {prefix}");
        }
    }

    /// Checks that the table answers as what it was made of, with no more routes.
    fn take_aggregate(&mut self) {
        let before = std::mem::take(&mut self.truth);
        self.truth = self.table.iter().map(|(prefix, &value)| (prefix, value)).collect();
        assert!(self.truth.len() <= before.len());
        let keys = || before.keys().chain(self.truth.keys()).copied();
        let answers =
            |truth: &Truth| parts(keys(), |address| truth::lookup(truth, address).map(|(_, value)| value));
        assert_eq!(answers(&self.truth), answers(&before));
    }
}

fn run<F: Changed>(family: Option<Family>) {
    let operations = std::env::var("FIBULA_OPERATIONS").map_or(5_000, |text| text.parse().unwrap());
    let mut pair = Pair::<F>::new(family);
    for at in 0..operations {
        if pair.rng.bool() {
            pair.change();
        } else {
            pair.question();
        }
        if at % 256 == 0 {
            pair.table.validate().unwrap();
        }
    }
}

macro_rules! by_definition {
    ($($name:ident $form:ty;)*) => {
        $(mod $name {
            use super::*;

            #[test]
            fn ipv4_operations_are_what_they_are_by_definition() {
                run::<$form>(Some(Family::Ipv4));
            }

            #[test]
            fn ipv6_operations_are_what_they_are_by_definition() {
                run::<$form>(Some(Family::Ipv6));
            }

            #[test]
            fn operations_of_both_families_are_what_they_are_by_definition() {
                run::<$form>(None);
            }
        })*
    };
}

by_definition! {
    per_route PerRoute;
    interned Interned;
    values_alone ValuesAlone;
}
