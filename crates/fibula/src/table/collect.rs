//! Tables from other collections, and the traits that collections have.

use super::form::Form;
use super::half::Half;
use super::{IpPrefix, Table};
use std::fmt;
use std::ops::Index;

/// Compiles once, when the iterator has ended. Of several routes with the same prefix the last is
/// kept. O(n) for input that is in order, O(n log n) for any other.
///
/// ```
/// use fibula::{Prefix, Table};
/// let prefixes = (0..=255_u32).map(|third| Prefix::containing(0x0A00_0000 | third << 8, 24));
/// let table: Table<u32> = prefixes.zip(0..).collect();
/// assert_eq!(table.lookup([10, 0, 7, 1]).unwrap().1, &7);
/// ```
impl<P: Into<IpPrefix>, V, F: Form<V>> FromIterator<(P, V)> for Table<V, F> {
    fn from_iter<I: IntoIterator<Item = (P, V)>>(routes: I) -> Self {
        let mut table = Self::default();
        table.extend(routes);
        table
    }
}

impl<P: Into<IpPrefix>, V, const N: usize> From<[(P, V); N]> for Table<V> {
    /// See [`FromIterator`].
    fn from(routes: [(P, V); N]) -> Self {
        routes.into_iter().collect()
    }
}

/// Compiles once, when the iterator has ended: by changes in place, or by a build where there are
/// many. If the iterator panics, the routes before it are in the table.
impl<P: Into<IpPrefix>, V, F: Form<V>> Extend<(P, V)> for Table<V, F> {
    fn extend<I: IntoIterator<Item = (P, V)>>(&mut self, routes: I) {
        if !self.is_empty() {
            let mut changes = self.edit();
            return routes.into_iter().for_each(|(prefix, value)| changes.insert(prefix.into(), value));
        }
        let (mut ipv4, mut ipv6) = (Vec::new(), Vec::new());
        for (prefix, value) in routes {
            match prefix.into() {
                IpPrefix::V4(prefix) => ipv4.push((prefix, value)),
                IpPrefix::V6(prefix) => ipv6.push((prefix, value)),
            }
        }
        let settings = self.ipv4.compiled.settings();
        *self = Self { ipv4: Half::of(ipv4, settings.clone()), ipv6: Half::of(ipv6, settings.clone()) };
    }
}

impl<V, F: Form<V>> Default for Table<V, F> {
    /// Returns an empty table. Allocates nothing.
    fn default() -> Self {
        Self::of(None)
    }
}

impl<V, F: Form<V, Store: Clone>> Clone for Table<V, F> {
    /// Clones the values, and copies the rest. O(n).
    fn clone(&self) -> Self {
        Self { ipv4: self.ipv4.clone(), ipv6: self.ipv6.clone() }
    }
}

/// As a map of prefix to value, in order.
impl<V: fmt::Debug, F: Form<V>> fmt::Debug for Table<V, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter().map(|(prefix, value)| (Text(prefix), value))).finish()
    }
}

/// A prefix whose debug form is its text.
pub(super) struct Text(pub(super) IpPrefix);

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// Two tables are equal if they have the same prefixes with equal values.
impl<V: PartialEq, F: Form<V>, G: Form<V>> PartialEq<Table<V, G>> for Table<V, F> {
    fn eq(&self, other: &Table<V, G>) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

impl<V: Eq, F: Form<V>> Eq for Table<V, F> {}

impl<P: Into<IpPrefix>, V, F: Form<V>> Index<P> for Table<V, F> {
    type Output = V;

    /// Returns the value of exactly this prefix.
    ///
    /// # Panics
    /// If the table does not have the prefix.
    fn index(&self, prefix: P) -> &V {
        self.get(prefix).expect("the table has the prefix")
    }
}
