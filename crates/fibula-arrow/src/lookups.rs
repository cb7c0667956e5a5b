//! [`Lookups`]: what answers for a column.

use fibula::{NextHop, Table, Views};

/// The lookups of both families, which give indices of one dictionary.
///
/// Implemented for [`Views`] (compiled tables), [`Compiled`](crate::Compiled) (a table that was
/// read or opened), [`TableValues`] (a [`Table`] of values with indices) and [`Table`] (its
/// routes).
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
pub struct TableValues<'t, V, F> {
    table: &'t Table<V>,
    index: F,
}

impl<'t, V, F: Fn(&V) -> NextHop> TableValues<'t, V, F> {
    /// Answers from `table` with `index` of the value.
    pub fn new(table: &'t Table<V>, index: F) -> Self {
        Self { table, index }
    }
}

impl<V: Sync, F: Fn(&V) -> NextHop + Sync> Lookups for TableValues<'_, V, F> {
    fn ipv4(&self, addresses: &[u32], indices: &mut [NextHop]) {
        self.table.lookup_indices_ipv4(addresses, indices);
        for index in indices {
            *index =
                self.table.get_index_ipv4(*index).map_or(NextHop::NONE, |(_, value)| (self.index)(value));
        }
    }

    fn ipv6(&self, addresses: &[u128], indices: &mut [NextHop]) {
        self.table.lookup_indices_ipv6(addresses, indices);
        for index in indices {
            *index =
                self.table.get_index_ipv6(*index).map_or(NextHop::NONE, |(_, value)| (self.index)(value));
        }
    }
}

/// The indices of the routes, as [`Table::lookup_indices_ipv4`] gives them. Those of the two
/// families overlap, so this is for [`contains`](crate::contains), and for columns of one family.
impl<V: Sync> Lookups for Table<V> {
    fn ipv4(&self, addresses: &[u32], indices: &mut [NextHop]) {
        self.lookup_indices_ipv4(addresses, indices);
    }

    fn ipv6(&self, addresses: &[u128], indices: &mut [NextHop]) {
        self.lookup_indices_ipv6(addresses, indices);
    }
}
