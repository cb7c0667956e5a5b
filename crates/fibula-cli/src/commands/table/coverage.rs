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
/// from 0 to 1, with six digits.
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
        answered: &mut Answered<(Cover, u64)>,
    ) -> anyhow::Result<Option<Counts>>
    where
        IpPrefix: From<Prefix<A>>,
    {
        let set = others.addresses();
        let (mut counts, mut result) = ([0; 4], Ok(()));
        rib.each_with_covers(others, |route, covers| {
            let share = share(&set.within(route.prefix).collect(), &[route.prefix].into_iter().collect());
            let cover = match covers {
                [] if set.covers(route.prefix) => Cover::Several,
                [] if share > 0.0 => Cover::Partly,
                [] => Cover::None,
                _ => Cover::One,
            };
            counts[cover as usize] += 1;
            if result.is_ok() && (self.only.is_empty() || self.only.contains(&cover)) {
                let value = |_: &_| json!({ "cover": cover, "share": share }).to_string();
                result = answered.add(route.prefix.into(), NextHop::NONE, (cover, share.to_bits()), value);
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
            share: share(&all.intersection(&set), &all),
        }))
    }
}

/// Returns the part that some addresses are of all, of which there are some, with six digits.
fn share<A: Address>(some: &AddressSet<A>, all: &AddressSet<A>) -> f64 {
    let count = |set: &AddressSet<A>| set.count().map_or(2_f64.powi(128), |count| count as f64);
    // Downwards: what is not all is less than 1.
    (count(some) / count(all) * 1e6).floor() / 1e6
}
