//! [`Lookups`]: what answers for a column.

use fibula::table::form::{Form, PerRoute};
use fibula::{NextHop, Table, Views};

/// The lookups of both families, which give indices of one dictionary.
///
/// Implemented for [`Views`] (compiled tables), [`Compiled`](crate::Compiled) (a table that was
/// read or opened), [`TableValues`] (a [`Table`] of values with indices) and [`Table`] (whether a
/// route matches).
pub trait Lookups: Sync {
    /// Writes the index of the answer for `addresses[i]` to `indices[i]`; [`NextHop::NONE`] where
    /// no route matches. The two have the same length.
    fn ipv4(&self, addresses: &[u32], indices: &mut [NextHop]);

    /// As [`ipv4`](Lookups::ipv4).
    fn ipv6(&self, addresses: &[u128], indices: &mut [NextHop]);
}

impl Lookups for Views {
    fn ipv4(&self, addresses: &[u32], indices: &mut [NextHop]) {
        self.lookup_ipv4(addresses, indices);
    }

    fn ipv6(&self, addresses: &[u128], indices: &mut [NextHop]) {
        self.lookup_ipv6(addresses, indices);
    }
}

/// A [`Table`] whose values have an index in a dictionary of the caller's. Costs one more load an
/// address than [`Views`], that of the value.
///
/// ```
/// use fibula::{IpPrefix, NextHop, Table};
/// use fibula_arrow::{Invalid, TableValues, lookup};
/// let mut table: Table<u32> = Table::new();
/// table.insert("192.0.2.0/24".parse::<IpPrefix>()?, 3);
/// let values = TableValues::new(&table, |&value| NextHop(value));
/// let column = arrow_array::UInt32Array::from(vec![0xC000_0201, 0]);
/// let indices = lookup(&column, &values, Invalid::Error).unwrap();
/// assert_eq!(indices.iter().collect::<Vec<_>>(), [Some(3), None]);
/// # Ok::<(), fibula::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct TableValues<'t, V, I, F: Form<V> = PerRoute> {
    table: &'t Table<V, F>,
    index: I,
}

impl<'t, V, I: Fn(&V) -> NextHop, F: Form<V>> TableValues<'t, V, I, F> {
    /// Answers from `table` with `index` of the value.
    pub fn new(table: &'t Table<V, F>, index: I) -> Self {
        Self { table, index }
    }
}

impl<V, I: Fn(&V) -> NextHop + Sync, F: Form<V>> Lookups for TableValues<'_, V, I, F>
where
    Table<V, F>: Sync,
{
    fn ipv4(&self, addresses: &[u32], indices: &mut [NextHop]) {
        self.table.lookup_each_ipv4(addresses, |at, found| {
            indices[at] = found.value().map_or(NextHop::NONE, &self.index);
        });
    }

    fn ipv6(&self, addresses: &[u128], indices: &mut [NextHop]) {
        self.table.lookup_each_ipv6(addresses, |at, found| {
            indices[at] = found.value().map_or(NextHop::NONE, &self.index);
        });
    }
}

/// 1 where a route matches, for [`contains`](crate::contains).
impl<V, F: Form<V>> Lookups for Table<V, F>
where
    Table<V, F>: Sync,
{
    fn ipv4(&self, addresses: &[u32], indices: &mut [NextHop]) {
        self.lookup_each_ipv4(addresses, |at, found| indices[at] = NextHop(found.is_some().into()));
    }

    fn ipv6(&self, addresses: &[u128], indices: &mut [NextHop]) {
        self.lookup_each_ipv6(addresses, |at, found| indices[at] = NextHop(found.is_some().into()));
    }
}
