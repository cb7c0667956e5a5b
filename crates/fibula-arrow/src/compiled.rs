//! [`Compiled`]: a table ready to answer columns, however it was read.

use crate::{Error, Families, Lookups, Values};
use fibula::snapshot::Snapshot;
use fibula::{Address, Family, Fib, NextHop, NextHops, Rib, View};
use fibula_io::table::Tables;

/// The compiled tables of one or both families, and the values of their next hops.
///
/// A snapshot of one family answers the other's addresses with "no route".
/// [`and`](Compiled::and) joins two.
#[derive(Debug)]
pub struct Compiled {
    ipv4: Option<Box<dyn View<u32>>>,
    ipv6: Option<Box<dyn View<u128>>>,
    /// The common index for each index of the IPv6 table; `None` if it is the same.
    ipv6_indices: Option<Vec<NextHop>>,
    next_hops: NextHops,
    values: Values,
}

impl Compiled {
    /// Compiles both families of a table by the engines that fit it best.
    ///
    /// # Errors
    /// If no engine holds the table.
    pub fn of_tables(tables: &Tables) -> Result<Self, Error> {
        let (ipv4, ipv6) = (compile(&tables.ipv4)?, compile(&tables.ipv6)?);
        Ok(Self::new(ipv4, ipv6, tables.next_hops.clone()))
    }

    /// Takes a snapshot, whose arrays are read in place.
    ///
    /// # Errors
    /// If its engine is not in this program, or a section is not what the engine needs.
    pub fn of_snapshot(snapshot: &Snapshot) -> Result<Self, Error> {
        let next_hops = snapshot.next_hops().map_err(Error::other)?;
        Ok(match snapshot.family() {
            Family::Ipv4 => Self::new(Some(snapshot.view().map_err(Error::other)?), None, next_hops),
            Family::Ipv6 => Self::new(None, Some(snapshot.view().map_err(Error::other)?), next_hops),
        })
    }

    fn new(ipv4: Option<Box<dyn View<u32>>>, ipv6: Option<Box<dyn View<u128>>>, next_hops: NextHops) -> Self {
        let values = Values::of(&next_hops);
        Self { ipv4, ipv6, ipv6_indices: None, next_hops, values }
    }

    /// Joins the table of one family and that of the other, with one dictionary of values.
    /// O(next hops).
    ///
    /// # Errors
    /// If both have routes of the same family, or together too many next hops.
    pub fn and(self, other: Self) -> Result<Self, Error> {
        let (mut ipv4, ipv6) = match (&self.ipv6, &other.ipv4) {
            (None, None) => (self, other),
            _ => (other, self),
        };
        if ipv4.ipv6.is_some() || ipv6.ipv4.is_some() {
            return Err(Error::other("two tables of the same family cannot be joined"));
        }
        let infos = ipv6.next_hops.iter().map(|(_, info)| ipv4.next_hops.intern(info.clone()));
        let indices: Result<Vec<NextHop>, fibula::Error> =
            std::iter::once(Ok(NextHop::NONE)).chain(infos).collect();
        let indices = indices.map_err(Error::other)?;
        // A table may have been joined before.
        let indices = match ipv6.ipv6_indices {
            Some(before) => before.iter().map(|index| indices[index.0 as usize]).collect(),
            None => indices,
        };
        let values = Values::of(&ipv4.next_hops);
        Ok(Self { ipv6: ipv6.ipv6, ipv6_indices: Some(indices), values, ..ipv4 })
    }

    /// Returns the lookups of both families.
    #[must_use]
    pub fn families(&self) -> Families<'_> {
        Families {
            ipv4: self.ipv4.as_deref(),
            ipv6: self.ipv6.as_deref(),
            ipv6_indices: self.ipv6_indices.as_deref(),
        }
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
        self.families().ipv4(addresses, indices);
    }

    fn ipv6(&self, addresses: &[u128], indices: &mut [NextHop]) {
        self.families().ipv6(addresses, indices);
    }
}

/// Compiles a family that has routes.
fn compile<A: Address>(rib: &Rib<A>) -> Result<Option<Box<dyn View<A>>>, Error> {
    if rib.is_empty() {
        return Ok(None);
    }
    Ok(Some(Fib::new(rib).map_err(Error::other)?.into()))
}
