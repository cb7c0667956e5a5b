//! Draws a trace.

use super::{BURST, TraceKind, ZIPF_DESTINATIONS, deep, file, leaves};
use crate::generate::{Random, Weights};
use crate::{Error, Kind, Note, Place, Report, Source};
use fibula::engine::{Config, Entry};
use fibula::{Address, Family, Fib, Prefix, Rib};
use std::collections::HashMap;
use std::net::IpAddr;

/// A kind, a table and a stream of draws.
pub(super) struct Drawing<'a, A: Address> {
    engines: &'static [Entry],
    kind: &'a TraceKind,
    rib: &'a Rib<A>,
    random: Random,
    /// What was left out of a file.
    report: Report,
}

impl<'a, A: Address> Drawing<'a, A> {
    pub(super) fn new(engines: &'static [Entry], kind: &'a TraceKind, rib: &'a Rib<A>, seed: u64) -> Self {
        // Different kinds of one seed share no draws, and neither do the families.
        let name = kind.name().bytes().fold(u64::from(A::BITS), |name, byte| name << 7 ^ u64::from(byte));
        Self { engines, kind, rib, random: Random::new(seed, name), report: Report::default() }
    }

    pub(super) fn addresses(mut self, count: usize) -> Result<(Vec<A>, Report), Error> {
        Ok((self.drawn(count)?, self.report))
    }

    /// Reads a file, and notes what was left out.
    fn file(&mut self, source: &Source) -> Result<Vec<IpAddr>, Error> {
        let (all, report) = file::read(source)?;
        self.report = report;
        Ok(all)
    }

    fn drawn(&mut self, count: usize) -> Result<Vec<A>, Error> {
        match self.kind {
            TraceKind::Random => self.random(count),
            TraceKind::Prefix => {
                let prefixes = self.prefixes()?;
                Ok(self.draw(&prefixes, count))
            }
            TraceKind::Match => {
                let leaves = self.leaves()?;
                Ok(self.draw(&leaves, count))
            }
            TraceKind::Zipf => self.zipf(count),
            TraceKind::Sequential => self.sequential(count),
            TraceKind::Repeat => {
                let prefixes = self.prefixes()?;
                let burst = self.draw(&prefixes, BURST);
                Ok(burst.into_iter().cycle().take(count).collect())
            }
            TraceKind::Deep(engine) => self.deep(engine.as_deref(), count),
            TraceKind::Miss(percent) => self.miss(count, *percent),
            TraceKind::File(source) => {
                let all = self.file(source)?;
                let other = all.iter().position(|&address| A::from_ip(address).is_none());
                let count_all = all.len();
                let own: Vec<A> = all.into_iter().filter_map(A::from_ip).collect();
                if let Some(first) = other {
                    let (what, count) =
                        ("address of the other family".into(), (count_all - own.len()) as u64);
                    let first = Place::Row(first as u64 + 1);
                    self.report.add(Note { kind: Kind::LeftOut, what, count, first });
                }
                if own.is_empty() {
                    return Err(Error::of(source, format!("holds no {} address", A::FAMILY)));
                }
                Ok(own.into_iter().cycle().take(count).collect())
            }
            TraceKind::Mapped(source) => self.mapped(source, count),
        }
    }

    fn refused(&self, why: &str) -> Error {
        Error::argument("trace", &self.kind.to_string(), why)
    }

    /// Returns all prefixes of the table. At least one is needed.
    fn prefixes(&self) -> Result<Vec<Prefix<A>>, Error> {
        if self.rib.is_empty() {
            return Err(self.refused(&format!("the {} table has no route to draw from", A::FAMILY)));
        }
        Ok(self.rib.iter().map(|route| route.prefix).collect())
    }

    fn leaves(&self) -> Result<Vec<Prefix<A>>, Error> {
        self.prefixes()?;
        Ok(leaves::longest_leaves(self.rib))
    }

    /// Draws a prefix uniformly, an address uniformly in it, and so on.
    fn draw(&mut self, prefixes: &[Prefix<A>], count: usize) -> Vec<A> {
        let random = &mut self.random;
        (0..count).filter_map(|_| random.one_of(prefixes).map(|prefix| random.within(prefix))).collect()
    }

    fn random(&mut self, count: usize) -> Result<Vec<A>, Error> {
        if A::FAMILY == Family::Ipv6 {
            return Err(
                self.refused("IPv4 only: of uniform IPv6 addresses 99.9 % end at the root of any table")
            );
        }
        let unicast = |address: &A| {
            let first = address.bits(0, 8);
            (1..=223).contains(&first) && first != 10 && first != 127
        };
        let random = &mut self.random;
        Ok(std::iter::repeat_with(|| random.address()).filter(unicast).take(count).collect())
    }

    fn zipf(&mut self, count: usize) -> Result<Vec<A>, Error> {
        let prefixes = self.prefixes()?;
        let destinations = self.draw(&prefixes, ZIPF_DESTINATIONS);
        let ranks = Weights::zipf(ZIPF_DESTINATIONS);
        let random = &mut self.random;
        Ok((0..count).map(|_| destinations[ranks.draw(random)]).collect())
    }

    fn sequential(&mut self, count: usize) -> Result<Vec<A>, Error> {
        let prefixes = self.prefixes()?;
        let start = self.random.one_of(&prefixes).map_or(A::ZERO, Prefix::first);
        let bits = A::BITS.min(64);
        let first = start.bits(0, bits);
        Ok((0..count as u64).map(|i| A::from_bits(first.wrapping_add(i), 0, bits)).collect())
    }

    fn deep(&mut self, engine: Option<&str>, count: usize) -> Result<Vec<A>, Error> {
        let engine = engine.ok_or_else(|| self.refused("expected an engine, as in deep=dxr"))?;
        let (leaves, prefixes) = (self.leaves()?, self.prefixes()?);
        let fib = Fib::build_from(self.engines, engine, self.rib, Config::default());
        let fib = fib.map_err(|error| self.refused(&error.to_string()))?;
        let mut candidates = self.draw(&leaves, deep::DRAWN / 2);
        candidates.extend(self.draw(&prefixes, deep::DRAWN / 2));
        let deepest = deep::deepest(&fib, candidates);
        let random = &mut self.random;
        Ok((0..count).filter_map(|_| random.one_of(&deepest)).collect())
    }

    fn miss(&mut self, count: usize, percent: u8) -> Result<Vec<A>, Error> {
        let prefixes = if percent == 0 { Vec::new() } else { self.prefixes()? };
        let gaps = self.rib.ranges().filter(|range| !range.next_hop.is_some());
        let gaps: Vec<(A, A)> = gaps.map(|gap| (gap.first, gap.last)).collect();
        if gaps.is_empty() && percent < 100 {
            return Err(self.refused(&format!("the {} table has a route for every address", A::FAMILY)));
        }
        let random = &mut self.random;
        let mut one = || {
            if random.chance(u32::from(percent) * 10) {
                random.one_of(&prefixes).map(|prefix| random.within(prefix))
            } else {
                random.one_of(&gaps).map(|(first, last)| between(random, first, last))
            }
        };
        Ok((0..count).filter_map(|_| one()).collect())
    }

    fn mapped(&mut self, source: &Source, count: usize) -> Result<Vec<A>, Error> {
        let leaves = self.leaves()?;
        let real = self.file(source)?;
        if real.is_empty() {
            return Err(Error::of(source, "holds no address"));
        }
        let random = &mut self.random;
        let mut stands_for = HashMap::new();
        let mut map = |ip| {
            *stands_for
                .entry(ip)
                .or_insert_with(|| random.one_of(&leaves).map_or(A::ZERO, |leaf| random.within(leaf)))
        };
        let mapped: Vec<A> = real.into_iter().map(&mut map).collect();
        Ok(mapped.into_iter().cycle().take(count).collect())
    }
}

/// Draws an address uniformly from an interval.
fn between<A: Address>(random: &mut Random, first: A, last: A) -> A {
    // Drawn from the smallest power of two that holds the interval. A draw past its end is drawn
    // again.
    let width = last.to_u128() - first.to_u128();
    let zeros = width.leading_zeros();
    let mask = u128::MAX.checked_shr(zeros).unwrap_or(0);
    loop {
        let wide = if width >> 64 == 0 { 0 } else { u128::from(random.word()) << 64 };
        let offset = (wide | u128::from(random.word())) & mask;
        if offset <= width
            && let Some(address) = A::from_u128(first.to_u128() + offset)
        {
            return address;
        }
    }
}
