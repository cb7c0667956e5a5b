//! [`Compiled`]: a table ready to answer columns, however it was read.

use crate::{Error, Lookups, Values};
use fibula::engine::ENGINES;
use fibula::snapshot::Snapshot;
use fibula::{NextHop, NextHops, Views};
use fibula_io::table::Tables;

/// The compiled tables of one or both families, and the values of their next hops.
#[derive(Debug)]
pub struct Compiled {
    views: Views,
    next_hops: NextHops,
    values: Values,
}

impl Compiled {
    /// Compiles both families of a table by the engines that fit it best.
    ///
    /// # Errors
    /// If no engine holds the table.
    pub fn of_tables(tables: &Tables) -> Result<Self, Error> {
        let views = Views::of(&tables.ipv4, &tables.ipv6).map_err(Error::other)?;
        Ok(Self::new(views, tables.next_hops.clone()))
    }

    /// Takes a snapshot, whose arrays are read in place.
    ///
    /// # Errors
    /// If its engine is not in this program, or a section is not what the engine needs.
    pub fn of_snapshot(snapshot: &Snapshot) -> Result<Self, Error> {
        let next_hops = snapshot.next_hops().map_err(Error::other)?;
        Ok(Self::new(snapshot.views_from(ENGINES).map_err(Error::other)?, next_hops))
    }

    fn new(views: Views, next_hops: NextHops) -> Self {
        let values = Values::of(&next_hops);
        Self { views, next_hops, values }
    }

    /// Returns the values of the indices that lookups give.
    #[must_use]
    pub fn values(&self) -> &Values {
        &self.values
    }

    /// Returns the next hops of the indices that lookups give.
    #[must_use]
    pub fn next_hops(&self) -> &NextHops {
        &self.next_hops
    }
}

impl Lookups for Compiled {
    fn ipv4(&self, addresses: &[u32], indices: &mut [NextHop]) {
        self.views.lookup_ipv4(addresses, indices);
    }

    fn ipv6(&self, addresses: &[u128], indices: &mut [NextHop]) {
        self.views.lookup_ipv6(addresses, indices);
    }
}
