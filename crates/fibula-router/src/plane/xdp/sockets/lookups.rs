//! [`Lookups`]: the compiled tables, one of each family for each id, by any engine.

use crate::Error;
use fibula::engine::{BEST, ENGINES, find};
use fibula::live::{Live, Reader, Settings};
use fibula::{Address, Change, Delta, Fib, Rib, Route};
use std::collections::BTreeMap;
use std::time::Duration;

/// Changes are published by calls alone.
const NEVER: Duration = Duration::from_secs(u32::MAX as u64);

/// The tables of one id.
#[derive(Debug)]
struct Pair {
    ipv4: Live<u32>,
    ipv6: Live<u128>,
}

/// What the forwarding thread reads of them.
#[derive(Debug)]
pub(super) struct Readers {
    pub(super) ipv4: Reader<u32>,
    pub(super) ipv6: Reader<u128>,
}

/// The tables that packets are looked up in, by their ids.
#[derive(Debug)]
pub(super) struct Lookups {
    by_id: BTreeMap<u32, Pair>,
}

/// Returns an empty table of an engine, or of the best one if the engine does not know the family.
fn empty<A: Address>(engine: &str) -> Result<Live<A>, Error> {
    let name = engine.split('/').next().unwrap_or_default();
    let knows = name == BEST || find(ENGINES, name)?.does(A::FAMILY);
    let rib = Rib::new();
    let fib = Fib::build(if knows { engine } else { BEST }, &rib)?;
    let settings = Settings { most_changes: usize::MAX, longest_delay: NEVER, ..Settings::default() };
    Ok(Live::new(rib, [fib], settings)?)
}

/// Publishes changes at once, or none of them.
fn follow<A: Address>(live: &mut Live<A>, deltas: &[Delta<A>]) -> Result<(), Error> {
    let published = publish(live, deltas);
    if published.is_err() {
        live.discard();
    }
    published
}

fn publish<A: Address>(live: &mut Live<A>, deltas: &[Delta<A>]) -> Result<(), Error> {
    for delta in deltas {
        let Delta { prefix, after, .. } = *delta;
        let change = if after.is_some() {
            Change::Announce(Route { prefix, next_hop: after })
        } else {
            Change::Withdraw(prefix)
        };
        live.change(change, Duration::ZERO)?;
    }
    Ok(live.publish()?)
}

impl Lookups {
    /// Makes empty tables.
    ///
    /// # Errors
    /// If there is no such engine.
    pub(super) fn new(ids: impl IntoIterator<Item = u32>, engine: &str) -> Result<Self, Error> {
        let pair = |id| Ok((id, Pair { ipv4: empty(engine)?, ipv6: empty(engine)? }));
        Ok(Self { by_id: ids.into_iter().map(pair).collect::<Result<_, Error>>()? })
    }

    /// Returns whether packets are looked up in a table.
    pub(super) fn has(&self, id: u32) -> bool {
        self.by_id.contains_key(&id)
    }

    pub(super) fn apply4(&mut self, id: u32, deltas: &[Delta<u32>]) -> Result<(), Error> {
        self.by_id.get_mut(&id).map_or(Ok(()), |pair| follow(&mut pair.ipv4, deltas))
    }

    pub(super) fn apply6(&mut self, id: u32, deltas: &[Delta<u128>]) -> Result<(), Error> {
        self.by_id.get_mut(&id).map_or(Ok(()), |pair| follow(&mut pair.ipv6, deltas))
    }

    /// Returns readers of the tables of an id.
    pub(super) fn readers(&self, id: u32) -> Option<Readers> {
        let pair = self.by_id.get(&id)?;
        Some(Readers { ipv4: pair.ipv4.reader(0), ipv6: pair.ipv6.reader(0) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fibula::NextHop;

    #[test]
    fn what_is_refused_is_not_published_later() {
        let rib = Rib::<u32>::new();
        let fib = Fib::build("radix", &rib).unwrap();
        let settings = Settings {
            stuck_after: Duration::ZERO,
            most_changes: usize::MAX,
            longest_delay: NEVER,
            ..Settings::default()
        };
        let mut live = Live::new(rib, [fib], settings).unwrap();
        let mut slow = live.reader(0);
        slow.guard();
        let announced = |at: u32| Delta {
            prefix: format!("10.0.{at}.0/24").parse().unwrap(),
            before: NextHop::NONE,
            after: NextHop(1),
        };
        // A reader that never rests holds tables up, until there is no room for another.
        let refused = (0..200).find(|&at| follow(&mut live, &[announced(at)]).is_err());
        let refused = announced(refused.expect("the reader holds it up"));
        slow.rest();
        follow(&mut live, &[announced(250)]).unwrap();
        assert!(live.rib().longest_match(refused.prefix.first()).is_none());
        assert!(live.rib().longest_match(announced(250).prefix.first()).is_some());
    }
}
