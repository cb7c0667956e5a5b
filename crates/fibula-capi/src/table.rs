//! [`Table`]: routes of both families with values of 64 bits, and their engines.

use crate::error::Failure;
use crate::values::Values;
use fibula::engine::{BEST, Config, ENGINES};
use fibula::{Address, Change, Delta, ErrorKind, Fib, IpPrefix, Limit, NextHop, Prefix, Rib, Route};
use std::sync::Arc;

/// How a table is compiled, and how much it may take.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    /// The specification of the engine.
    pub(crate) engine: String,
    pub(crate) config: Config,
    /// The most bytes it may take; `None` for no limit.
    pub(crate) max_bytes: Option<usize>,
}

impl Default for Options {
    fn default() -> Self {
        Self { engine: BEST.to_owned(), config: Config::default(), max_bytes: None }
    }
}

fn build<A: Address>(rib: &Rib<A>, options: &Options) -> Result<Fib<A>, fibula::Error> {
    Fib::build_from(ENGINES, &options.engine, rib, options.config.clone())
}

/// A change that C asks for: a value, or none where a route is removed.
pub(crate) type Asked = (IpPrefix, Option<u64>);

/// The routes of one family and their engine; without routes there is none.
#[derive(Debug)]
pub(crate) struct Half<A: Address> {
    pub(crate) rib: Rib<A>,
    pub(crate) fib: Option<Fib<A>>,
}

impl<A: Address> Default for Half<A> {
    fn default() -> Self {
        Self { rib: Rib::new(), fib: None }
    }
}

impl<A: Address> Half<A> {
    fn copied(&self) -> Result<Self, fibula::Error> {
        let fib = self.fib.as_ref().map(|fib| fib.copied(&self.rib)).transpose()?;
        Ok(Self { rib: self.rib.clone(), fib })
    }

    /// Makes changes, or none of them.
    fn apply(&mut self, changes: Vec<Change<A>>, options: &Options) -> Result<Vec<Delta<A>>, fibula::Error> {
        let deltas = self.rib.apply_all(changes).deltas;
        if let Err(error) = self.follow(&deltas, options) {
            self.rib.take_back(&deltas);
            return Err(error);
        }
        Ok(deltas)
    }

    /// Takes changes back that [`apply`](Self::apply) made.
    fn take_back(&mut self, deltas: &[Delta<A>], options: &Options) -> Result<(), fibula::Error> {
        let inverse: Vec<_> = deltas.iter().rev().map(|delta| delta.inverse()).collect();
        self.rib.take_back(deltas);
        self.follow(&inverse, options)
    }

    fn follow(&mut self, deltas: &[Delta<A>], options: &Options) -> Result<(), fibula::Error> {
        match &mut self.fib {
            _ if deltas.is_empty() => {}
            _ if self.rib.is_empty() => self.fib = None,
            Some(fib) => drop(fib.apply(&self.rib, deltas)?),
            None => self.fib = Some(build(&self.rib, options)?),
        }
        Ok(())
    }

    fn bytes(&self) -> usize {
        self.rib.memory().total() + self.fib.as_ref().map_or(0, |fib| fib.memory().total())
    }

    /// Returns the index of the longest matching prefix.
    #[inline(always)]
    pub(crate) fn lookup(&self, address: A) -> NextHop {
        self.fib.as_ref().map_or(NextHop::NONE, |fib| fib.lookup_index(address))
    }
}

/// Routes of both families; see the [module](self).
#[derive(Debug, Default)]
pub(crate) struct Table {
    pub(crate) ipv4: Half<u32>,
    pub(crate) ipv6: Half<u128>,
    pub(crate) values: Values,
    /// The texts that values stand for, in a table that was read from a file.
    pub(crate) texts: Arc<[String]>,
    options: Options,
}

/// A family, which has half of a table.
pub(crate) trait Family: Address {
    fn half(table: &Table) -> &Half<Self>;
}

impl Family for u32 {
    fn half(table: &Table) -> &Half<Self> {
        &table.ipv4
    }
}

impl Family for u128 {
    fn half(table: &Table) -> &Half<Self> {
        &table.ipv6
    }
}

impl Table {
    pub(crate) fn new(options: Options) -> Result<Self, Failure> {
        // Says at once if there is no such engine, which may be of one family.
        if options.engine != BEST {
            let ipv4 = build(&Rib::<u32>::new(), &options).map(drop);
            ipv4.or_else(|error| match error.kind() {
                ErrorKind::Family => build(&Rib::<u128>::new(), &options).map(drop),
                _ => Err(error),
            })?;
        }
        Ok(Self { options, ..Self::default() })
    }

    /// Returns a copy with engines of its own.
    pub(crate) fn copy(&self) -> Result<Self, fibula::Error> {
        let (ipv4, ipv6) = (self.ipv4.copied()?, self.ipv6.copied()?);
        let (values, texts) = (self.values.clone(), Arc::clone(&self.texts));
        Ok(Self { ipv4, ipv6, values, texts, options: self.options.clone() })
    }

    /// Returns a table of the same options without routes.
    pub(crate) fn emptied(&self) -> Self {
        Self { options: self.options.clone(), ..Self::default() }
    }

    /// Returns a table of some routes of this one, whose values have other indices.
    fn again(&self, ipv4: &Rib<u32>, ipv6: &Rib<u128>) -> Result<Self, fibula::Error> {
        let mut table = self.emptied();
        let value = |next_hop| Some(self.values.get(next_hop));
        let ipv4 = ipv4.iter().map(|route| (route.prefix.into(), value(route.next_hop)));
        let ipv6 = ipv6.iter().map(|route| (route.prefix.into(), value(route.next_hop)));
        table.apply(ipv4.chain(ipv6))?;
        table.texts = Arc::clone(&self.texts);
        Ok(table)
    }

    /// Returns a copy in which the values have the indices from 1 on without a gap.
    pub(crate) fn packed(&self) -> Result<Self, fibula::Error> {
        self.again(&self.ipv4.rib, &self.ipv6.rib)
    }

    /// Returns the fewest routes that give every address the same value.
    pub(crate) fn aggregate(&self) -> Result<Self, fibula::Error> {
        self.again(&self.ipv4.rib.aggregate(), &self.ipv6.rib.aggregate())
    }

    pub(crate) fn len(&self) -> usize {
        self.ipv4.rib.len() + self.ipv6.rib.len()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.ipv4.bytes() + self.ipv6.bytes() + self.values.bytes()
    }

    fn check_bytes(&self) -> Result<(), Limit> {
        let max = self.options.max_bytes.unwrap_or(usize::MAX);
        Limit::check("bytes of the table", self.bytes() as u64, max as u64)
    }

    /// Makes changes in order, or none of them. Compiles once. Returns how many routes it changed.
    pub(crate) fn apply(&mut self, asked: impl IntoIterator<Item = Asked>) -> Result<usize, fibula::Error> {
        let (mut ipv4, mut ipv6, mut touched) = (Vec::new(), Vec::new(), Vec::new());
        let mut gathered = Ok(());
        for (prefix, value) in asked {
            let next_hop = match value.map(|value| self.values.index_of(value)).transpose() {
                Ok(next_hop) => next_hop,
                Err(error) => {
                    gathered = Err(error);
                    break;
                }
            };
            touched.extend(next_hop);
            match prefix {
                IpPrefix::V4(prefix) => ipv4.push(change(prefix, next_hop)),
                IpPrefix::V6(prefix) => ipv6.push(change(prefix, next_hop)),
            }
        }
        let changed = gathered.and_then(|()| self.apply_both(ipv4, ipv6));
        if let Ok((ipv4, ipv6)) = &changed {
            self.count(ipv4);
            self.count(ipv6);
        }
        for next_hop in touched {
            self.values.drop_unused(next_hop);
        }
        if changed.is_err() && self.check_bytes().is_err() {
            self.shrink_to_fit();
        }
        changed.map(|(ipv4, ipv6)| ipv4.len() + ipv6.len())
    }

    /// Frees what a refused change has left: it would make the table refuse all others. Where that
    /// cannot be done, the table stays as it is.
    fn shrink_to_fit(&mut self) {
        self.values.shrink_to_fit();
        if let (Ok(ipv4), Ok(ipv6)) = (self.ipv4.copied(), self.ipv6.copied()) {
            (self.ipv4, self.ipv6) = (ipv4, ipv6);
        }
    }

    /// Changes both families, or none.
    #[allow(clippy::type_complexity, reason = "what either family came to")]
    fn apply_both(
        &mut self,
        ipv4: Vec<Change<u32>>,
        ipv6: Vec<Change<u128>>,
    ) -> Result<(Vec<Delta<u32>>, Vec<Delta<u128>>), fibula::Error> {
        let ipv4 = self.ipv4.apply(ipv4, &self.options)?;
        let ipv6 = match self.ipv6.apply(ipv6, &self.options) {
            Ok(ipv6) => ipv6,
            Err(error) => {
                self.ipv4.take_back(&ipv4, &self.options)?;
                return Err(error);
            }
        };
        if let Err(limit) = self.check_bytes() {
            self.ipv4.take_back(&ipv4, &self.options)?;
            self.ipv6.take_back(&ipv6, &self.options)?;
            return Err(limit.into());
        }
        Ok((ipv4, ipv6))
    }

    /// Counts the routes of each value after changes.
    fn count<A: Address>(&mut self, deltas: &[Delta<A>]) {
        for delta in deltas.iter().filter(|delta| delta.after.is_some()) {
            self.values.retain(delta.after);
        }
        for delta in deltas.iter().filter(|delta| delta.before.is_some()) {
            self.values.release(delta.before);
        }
    }

    /// Returns the value of a route.
    pub(crate) fn get(&self, prefix: IpPrefix) -> Option<u64> {
        let next_hop = match prefix {
            IpPrefix::V4(prefix) => self.ipv4.rib.get(prefix),
            IpPrefix::V6(prefix) => self.ipv6.rib.get(prefix),
        };
        next_hop.map(|next_hop| self.values.get(next_hop))
    }
}

fn change<A: Address>(prefix: Prefix<A>, next_hop: Option<NextHop>) -> Change<A> {
    match next_hop {
        Some(next_hop) => Change::Announce(Route { prefix, next_hop }),
        None => Change::Withdraw(prefix),
    }
}
