//! `fibula table coverage`: how much of each route other tables match.

use super::answered::{Answered, Answering};
use crate::exit::Verdict;
use crate::operand::{Operand, check_standard_input, sources};
use crate::output::Output;
use crate::reading::{Reading, verdict};
use clap::{Args, ValueEnum};
use fibula::rib::AddressSet;
use fibula::{Address, IpPrefix, NextHop, Prefix, Rib};
use fibula_io::Source;
use fibula_io::table::Value;
use serde::Serialize;
use serde_json::json;

/// Show how much of a table's addresses other tables cover, route by route
///
/// Each value becomes an object: `cover`, which is one (a single route of the sets covers it),
/// several (only together), partly or none, and `share`, the part of its addresses that is covered,
/// from 0 to 1, with six digits, rounded down.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// What covers: tables, files or `-`; or a prefix, an address or a range such as
    /// 192.0.2.1-192.0.2.9
    #[arg(required = true, value_name = "SET")]
    sets: Vec<Operand>,
    /// The table to read, a file or `-`
    #[arg(short, long, default_value = "-", value_name = "TABLE")]
    input: String,
    /// Only routes with one of these answers, with commas between them
    #[arg(long, value_enum, value_name = "ANSWERS", value_delimiter = ',')]
    only: Vec<Cover>,
    #[command(flatten)]
    answering: Answering,
    #[command(flatten)]
    reading: Reading,
}

/// What covers a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
enum Cover {
    /// A single route
    One,
    /// Several routes, together
    Several,
    /// Some of its addresses are covered
    Partly,
    /// Nothing
    None,
}

/// The routes of a family by what covers them, and the part of all their addresses that is covered.
#[derive(Debug, Serialize)]
struct Counts {
    family: String,
    routes: usize,
    one: usize,
    several: usize,
    partly: usize,
    none: usize,
    share: f64,
}

impl Arguments {
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Verdict> {
        let input = Source::from(self.input.as_str());
        check_standard_input(sources(&self.sets).chain([&input]))?;
        self.reading.of_tables(1 + sources(&self.sets).count())?;
        let (mut ipv4, mut ipv6) = (Vec::new(), Vec::new());
        let mut whole = true;
        for set in &self.sets {
            let (tables, verdict) = set.read(&self.reading)?;
            whole &= verdict == Verdict::Good;
            ipv4.extend(&tables.ipv4);
            ipv6.extend(&tables.ipv6);
        }
        let loaded = self.reading.read_for(&input, Value::NextHop)?;
        whole &= verdict(&loaded) == Verdict::Good;
        let mut answered = Answered::new();
        let ipv4 = self.family(&loaded.tables.ipv4, &ipv4.into_iter().collect(), &mut answered)?;
        let ipv6 = self.family(&loaded.tables.ipv6, &ipv6.into_iter().collect(), &mut answered)?;
        self.answering.finish(answered, [ipv4, ipv6].into_iter().flatten(), output)?;
        Ok(Verdict::good_if(whole))
    }

    /// Answers the routes of a family. Returns its counts, if it has routes.
    fn family<A: Address>(
        &self,
        rib: &Rib<A>,
        others: &Rib<A>,
        answered: &mut Answered<(Cover, u32)>,
    ) -> anyhow::Result<Option<Counts>>
    where
        IpPrefix: From<Prefix<A>>,
    {
        let set = others.addresses();
        let (mut counts, mut result) = ([0; 4], Ok(()));
        rib.each_with_covers(others, |route, covers| {
            let some: AddressSet<A> = set.within(route.prefix).collect();
            let share =
                millionths(some.count(), [route.prefix].into_iter().collect::<AddressSet<A>>().count());
            let cover = match covers {
                [] if set.covers(route.prefix) => Cover::Several,
                [] if !some.is_empty() => Cover::Partly,
                [] => Cover::None,
                _ => Cover::One,
            };
            counts[cover as usize] += 1;
            if result.is_ok() && (self.only.is_empty() || self.only.contains(&cover)) {
                let value = |_: &_| json!({ "cover": cover, "share": as_share(share) }).to_string();
                result = answered.add(route.prefix.into(), NextHop::NONE, (cover, share), value);
            }
        });
        result?;
        let all = rib.addresses();
        let [one, several, partly, none] = counts;
        Ok((!rib.is_empty()).then(|| Counts {
            family: A::FAMILY.to_string(),
            routes: rib.len(),
            one,
            several,
            partly,
            none,
            share: as_share(millionths(all.intersection(&set).count(), all.count())),
        }))
    }
}

const MILLION: u32 = 1_000_000;

/// Returns how many millionths some addresses are of all, rounded down, so that what is not all is
/// less than a million. `None` is the number of all addresses of IPv6, 2^128.
fn millionths(some: Option<u128>, all: Option<u128>) -> u32 {
    if some == all {
        return MILLION;
    }
    // Long division, digit by digit: the sum of ten remainders may be past 128 bits.
    let (all, mut rest) = (all.unwrap_or(0), some.unwrap_or(0));
    (0..6).fold(0, |found, _| {
        let (mut digit, mut sum) = (0, 0_u128);
        for _ in 0..10 {
            // 2^128 is 0 here, and what it lacks to it is right all the same.
            let lacking = all.wrapping_sub(rest);
            (digit, sum) =
                if rest > 0 && sum >= lacking { (digit + 1, sum - lacking) } else { (digit, sum + rest) };
        }
        rest = sum;
        found * 10 + digit
    })
}

fn as_share(millionths: u32) -> f64 {
    f64::from(millionths) / f64::from(MILLION)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_exact_to_the_last_address() {
        let ipv6 = |len: u32| 1_u128 << (128 - len);
        assert_eq!(millionths(Some(8), Some(1 << 24)), 0);
        assert_eq!(millionths(Some(ipv6(32) - 1), Some(ipv6(32))), 999_999);
        assert_eq!(millionths(Some(ipv6(32)), Some(ipv6(32))), MILLION);
        assert_eq!(millionths(Some(u128::MAX), None), 999_999);
        assert_eq!(millionths(Some(ipv6(1)), None), 500_000);
        assert_eq!((millionths(Some(0), None), millionths(None, None)), (0, MILLION));
        assert_eq!(millionths(Some(1), Some(3)), 333_333);
        assert_eq!(millionths(Some(u128::MAX / 3 * 2), Some(u128::MAX)), 666_666);
    }
}
