//! [`Lookups`]: what answers for a column.

use fibula::{NextHop, Table, View};

/// The lookups of both families, which give indices of one dictionary.
///
/// Implemented for [`Families`] (compiled tables), [`Compiled`](crate::Compiled) (a table that was
/// read or opened), [`TableValues`] (a [`Table`] of values with indices) and [`Table`] (its
/// routes).
pub trait Lookups: Sync {
    /// Writes the index of the answer for `addresses[i]` to `indices[i]`; [`NextHop::NONE`] where
    /// no route matches. The two have the same length.
    fn ipv4(&self, addresses: &[u32], indices: &mut [NextHop]);

    /// As [`ipv4`](Lookups::ipv4).
    fn ipv6(&self, addresses: &[u128], indices: &mut [NextHop]);
}

/// The compiled tables of both families, or of one: addresses of the other have no route.
///
/// ```
/// use fibula::{Fib, NextHop, Rib};
/// use fibula_arrow::{Families, Invalid, lookup};
/// let mut rib: Rib<u32> = Rib::new();
/// rib.insert("192.0.2.0/24".parse()?, NextHop(7));
/// let fib = Fib::new(&rib)?;
/// let families = Families { ipv4: Some(&*fib), ..Families::default() };
/// let column = arrow_array::StringArray::from(vec!["192.0.2.1", "::1"]);
/// let indices = lookup(&column, &families, Invalid::Error).unwrap();
/// assert_eq!(indices.iter().collect::<Vec<_>>(), [Some(7), None]);
/// # Ok::<(), fibula::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Families<'t> {
    /// The IPv4 table.
    pub ipv4: Option<&'t dyn View<u32>>,
    /// The IPv6 table.
    pub ipv6: Option<&'t dyn View<u128>>,
    /// The index in the common dictionary for each index of the IPv6 table, which begins with
    /// [`NextHop::NONE`]. `None` if the tables share one, as [`Tables`](fibula_io::table::Tables)
    /// do.
    pub ipv6_indices: Option<&'t [NextHop]>,
}

impl Lookups for Families<'_> {
    fn ipv4(&self, addresses: &[u32], indices: &mut [NextHop]) {
        match self.ipv4 {
            Some(view) => view.lookup_batch(addresses, indices),
            None => indices.fill(NextHop::NONE),
        }
    }

    fn ipv6(&self, addresses: &[u128], indices: &mut [NextHop]) {
        match self.ipv6 {
            Some(view) => view.lookup_batch(addresses, indices),
            None => indices.fill(NextHop::NONE),
        }
        if let Some(common) = self.ipv6_indices {
            for index in indices {
                *index = common.get(index.0 as usize).copied().unwrap_or(NextHop::NONE);
            }
        }
    }
}

/// A [`Table`] whose values have an index in a dictionary of the caller's. Costs one more load an
/// address than [`Families`], that of the value.
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
