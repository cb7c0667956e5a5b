//! [`Entry`]: one prefix of a table, with or without a value.

use super::{IpPrefix, Table};
use crate::NextHop;
use std::fmt;

/// One prefix of a [`Table`], from [`Table::entry`].
///
/// ```
/// use fibula::{IpPrefix, Table};
/// let mut packets: Table<u64> = Table::new();
/// let prefix: IpPrefix = "192.0.2.0/24".parse()?;
/// for _ in 0..3 {
///     *packets.entry(prefix).or_default() += 1;
/// }
/// assert_eq!(packets.get(prefix), Some(&3));
/// # Ok::<(), fibula::Error>(())
/// ```
#[derive(Debug)]
pub enum Entry<'t, V> {
    /// The prefix has a value.
    Occupied(OccupiedEntry<'t, V>),
    /// The prefix has no value.
    Vacant(VacantEntry<'t, V>),
}

impl<'t, V> Entry<'t, V> {
    pub(super) fn of(table: &'t mut Table<V>, prefix: IpPrefix) -> Self {
        match table.index(prefix) {
            Some(index) => Self::Occupied(OccupiedEntry { table, prefix, index }),
            None => Self::Vacant(VacantEntry { table, prefix }),
        }
    }

    /// Returns the prefix.
    #[must_use]
    pub fn key(&self) -> IpPrefix {
        match self {
            Self::Occupied(entry) => entry.prefix,
            Self::Vacant(entry) => entry.prefix,
        }
    }

    /// Changes the value, if there is one.
    #[allow(clippy::return_self_not_must_use, reason = "the change is often all that is wanted")]
    pub fn and_modify(mut self, change: impl FnOnce(&mut V)) -> Self {
        if let Self::Occupied(entry) = &mut self {
            change(entry.get_mut());
        }
        self
    }

    /// Returns the value, after inserting `default` if there is none.
    pub fn or_insert(self, default: V) -> &'t mut V {
        self.or_insert_with(|| default)
    }

    /// Returns the value, after inserting what `default` returns if there is none. If `default`
    /// panics, the table is as before.
    pub fn or_insert_with(self, default: impl FnOnce() -> V) -> &'t mut V {
        self.or_insert_with_key(|_| default())
    }

    /// As [`Entry::or_insert_with`], with the prefix as the argument of `default`.
    pub fn or_insert_with_key(self, default: impl FnOnce(IpPrefix) -> V) -> &'t mut V {
        match self {
            Self::Occupied(entry) => entry.into_mut(),
            Self::Vacant(entry) => {
                let value = default(entry.prefix);
                entry.insert(value)
            }
        }
    }

    /// Returns the value, after inserting `V::default()` if there is none.
    pub fn or_default(self) -> &'t mut V
    where
        V: Default,
    {
        self.or_insert_with(V::default)
    }

    /// Gives the prefix a value, and returns its entry.
    pub fn insert_entry(self, value: V) -> OccupiedEntry<'t, V> {
        match self {
            Self::Occupied(mut entry) => {
                entry.insert(value);
                entry
            }
            Self::Vacant(entry) => entry.insert_entry(value),
        }
    }
}

/// A prefix that has a value.
pub struct OccupiedEntry<'t, V> {
    table: &'t mut Table<V>,
    prefix: IpPrefix,
    index: NextHop,
}

impl<'t, V> OccupiedEntry<'t, V> {
    /// Returns the prefix.
    #[must_use]
    pub fn key(&self) -> IpPrefix {
        self.prefix
    }

    /// Returns the value.
    ///
    /// # Panics
    /// Never: an occupied entry has a value.
    #[must_use]
    pub fn get(&self) -> &V {
        self.table.value_at(self.prefix, self.index)
    }

    /// Returns the value, to change it.
    #[must_use]
    pub fn get_mut(&mut self) -> &mut V {
        self.table.value_at_mut(self.prefix, self.index)
    }

    /// Returns the value, to change it for as long as the table is borrowed.
    #[must_use]
    pub fn into_mut(self) -> &'t mut V {
        self.table.value_at_mut(self.prefix, self.index)
    }

    /// Replaces the value, and returns the one before.
    pub fn insert(&mut self, value: V) -> V {
        std::mem::replace(self.get_mut(), value)
    }

    /// Removes the route, and returns its value.
    #[allow(clippy::must_use_candidate, reason = "it removes")]
    pub fn remove(self) -> V {
        self.remove_entry().1
    }

    /// Removes the route, and returns its prefix and value.
    ///
    /// # Panics
    /// Never: an occupied entry has a value.
    #[allow(clippy::must_use_candidate, reason = "it removes")]
    pub fn remove_entry(self) -> (IpPrefix, V) {
        (self.prefix, self.table.remove(self.prefix).expect("an occupied entry has a value"))
    }
}

/// A prefix that has no value.
pub struct VacantEntry<'t, V> {
    table: &'t mut Table<V>,
    prefix: IpPrefix,
}

impl<'t, V> VacantEntry<'t, V> {
    /// Returns the prefix.
    #[must_use]
    pub fn key(&self) -> IpPrefix {
        self.prefix
    }

    /// Returns the prefix.
    #[must_use]
    pub fn into_key(self) -> IpPrefix {
        self.prefix
    }

    /// Inserts the route, and returns its value.
    pub fn insert(self, value: V) -> &'t mut V {
        self.insert_entry(value).into_mut()
    }

    /// Inserts the route, and returns its entry.
    pub fn insert_entry(self, value: V) -> OccupiedEntry<'t, V> {
        let index = match self.prefix {
            IpPrefix::V4(prefix) => self.table.ipv4.insert_new(prefix, value),
            IpPrefix::V6(prefix) => self.table.ipv6.insert_new(prefix, value),
        };
        OccupiedEntry { table: self.table, prefix: self.prefix, index }
    }
}

impl<V: fmt::Debug> fmt::Debug for OccupiedEntry<'_, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OccupiedEntry").field("key", &self.key()).field("value", self.get()).finish()
    }
}

impl<V> fmt::Debug for VacantEntry<'_, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("VacantEntry").field(&self.key()).finish()
    }
}

const HAS_VALUE: &str = "the index of a prefix has a value";

impl<V> Table<V> {
    fn index(&self, prefix: IpPrefix) -> Option<NextHop> {
        match prefix {
            IpPrefix::V4(prefix) => self.ipv4.index(prefix),
            IpPrefix::V6(prefix) => self.ipv6.index(prefix),
        }
    }

    fn value_at(&self, prefix: IpPrefix, index: NextHop) -> &V {
        let value = match prefix {
            IpPrefix::V4(_) => self.ipv4.store.value(index),
            IpPrefix::V6(_) => self.ipv6.store.value(index),
        };
        value.expect(HAS_VALUE)
    }

    fn value_at_mut(&mut self, prefix: IpPrefix, index: NextHop) -> &mut V {
        let value = match prefix {
            IpPrefix::V4(_) => self.ipv4.value_mut(index),
            IpPrefix::V6(_) => self.ipv6.value_mut(index),
        };
        value.expect(HAS_VALUE)
    }
}
