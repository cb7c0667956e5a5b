//! Iterators over a [`Table`](super::Table), all in order: IPv4 before IPv6, by address, then by
//! length.

use super::form::Form;
use super::half::Half;
use super::slots::Slots;
use super::store::Store;
use super::{IpPrefix, Table};
use crate::{Address, Prefix, Route, rib};
use std::fmt;
use std::iter::FusedIterator;
use std::vec;

/// The routes of one family.
struct HalfIter<'t, A: Address, V> {
    routes: rib::Iter<'t, A>,
    slots: &'t Slots<V>,
}

impl<'t, A: Address, V> HalfIter<'t, A, V> {
    fn of(half: &'t Half<A, impl Store<Value = V>>) -> Self {
        Self { routes: half.rib().iter(), slots: half.store.slots() }
    }

    fn value(&self, route: Route<A>) -> Option<(Prefix<A>, &'t V)> {
        Some((route.prefix, self.slots.value(route.next_hop)?))
    }
}

impl<A: Address, V> Clone for HalfIter<'_, A, V> {
    fn clone(&self) -> Self {
        Self { routes: self.routes.clone(), slots: self.slots }
    }
}

/// The routes of one family, with the values to change.
struct HalfIterMut<'t, A: Address, V> {
    routes: rib::Iter<'t, A>,
    /// By index. Each is taken once.
    values: Vec<Option<&'t mut V>>,
}

impl<'t, A: Address, V> HalfIterMut<'t, A, V> {
    fn of(half: &'t mut Half<A, Slots<V>>) -> Self {
        Self { routes: half.compiled.rib().iter(), values: half.store.values_mut() }
    }

    fn value(&mut self, route: Route<A>) -> Option<(Prefix<A>, &'t mut V)> {
        let value = self.values.get_mut(route.next_hop.0 as usize)?.take()?;
        Some((route.prefix, value))
    }
}

/// Walks the routes of one family, each with its value.
macro_rules! by_route {
    ($half:ident, $value:ty) => {
        impl<'t, A: Address, V> Iterator for $half<'t, A, V> {
            type Item = (Prefix<A>, $value);

            fn next(&mut self) -> Option<Self::Item> {
                let route = self.routes.next()?;
                self.value(route)
            }

            fn size_hint(&self) -> (usize, Option<usize>) {
                self.routes.size_hint()
            }
        }

        impl<A: Address, V> DoubleEndedIterator for $half<'_, A, V> {
            fn next_back(&mut self) -> Option<Self::Item> {
                let route = self.routes.next_back()?;
                self.value(route)
            }
        }

        impl<A: Address, V> ExactSizeIterator for $half<'_, A, V> {}
    };
}

by_route!(HalfIter, &'t V);
by_route!(HalfIterMut, &'t mut V);

/// The routes of one family, with their values.
type HalfIntoIter<A, V> = vec::IntoIter<(Prefix<A>, V)>;

/// Takes the routes of one family out of the table. O(n).
fn taken<A: Address, S: Store>(half: Half<A, S>) -> HalfIntoIter<A, S::Value> {
    let Half { mut store, compiled } = half;
    let routes = compiled.rib().iter();
    let routes = routes.filter_map(|route| Some((route.prefix, store.remove(route.next_hop)?)));
    routes.collect::<Vec<_>>().into_iter()
}

/// An iterator over both families.
macro_rules! both_families {
    ($(#[$page:meta])* $name:ident<$($life:lifetime,)? V>, $half:ident, $value:ty) => {
        $(#[$page])*
        pub struct $name<$($life,)? V> {
            ipv4: $half<$($life,)? u32, V>,
            ipv6: $half<$($life,)? u128, V>,
        }

        impl<$($life,)? V> Iterator for $name<$($life,)? V> {
            type Item = (IpPrefix, $value);

            fn next(&mut self) -> Option<Self::Item> {
                if let Some((prefix, value)) = self.ipv4.next() {
                    return Some((prefix.into(), value));
                }
                self.ipv6.next().map(|(prefix, value)| (prefix.into(), value))
            }

            fn size_hint(&self) -> (usize, Option<usize>) {
                let left = self.ipv4.len() + self.ipv6.len();
                (left, Some(left))
            }
        }

        impl<$($life,)? V> DoubleEndedIterator for $name<$($life,)? V> {
            fn next_back(&mut self) -> Option<Self::Item> {
                if let Some((prefix, value)) = self.ipv6.next_back() {
                    return Some((prefix.into(), value));
                }
                self.ipv4.next_back().map(|(prefix, value)| (prefix.into(), value))
            }
        }

        impl<$($life,)? V> ExactSizeIterator for $name<$($life,)? V> {}
        impl<$($life,)? V> FusedIterator for $name<$($life,)? V> {}

        impl<$($life,)? V> fmt::Debug for $name<$($life,)? V> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name)).field("left", &self.len()).finish()
            }
        }
    };
}

both_families!(
    /// The routes of a [`Table`] in order; see [`Table::iter`].
    Iter<'t, V>, HalfIter, &'t V
);
both_families!(
    /// The routes of a [`Table`] in order, with the values to change; see [`Table::iter_mut`].
    IterMut<'t, V>, HalfIterMut, &'t mut V
);
both_families!(
    /// The routes of a [`Table`] in order, taken out of it; see
    /// [`Table::into_iter`](IntoIterator::into_iter).
    IntoIter<V>, HalfIntoIter, V
);

impl<V> Clone for Iter<'_, V> {
    fn clone(&self) -> Self {
        Self { ipv4: self.ipv4.clone(), ipv6: self.ipv6.clone() }
    }
}

/// One part of what another iterator yields.
macro_rules! part {
    ($(#[$page:meta])* $name:ident<$($life:lifetime,)? V>, $whole:ident, $item:ty, $which:tt) => {
        $(#[$page])*
        pub struct $name<$($life,)? V>($whole<$($life,)? V>);

        impl<$($life,)? V> Iterator for $name<$($life,)? V> {
            type Item = $item;

            fn next(&mut self) -> Option<Self::Item> {
                self.0.next().map(|route| route.$which)
            }

            fn size_hint(&self) -> (usize, Option<usize>) {
                self.0.size_hint()
            }
        }

        impl<$($life,)? V> DoubleEndedIterator for $name<$($life,)? V> {
            fn next_back(&mut self) -> Option<Self::Item> {
                self.0.next_back().map(|route| route.$which)
            }
        }

        impl<$($life,)? V> ExactSizeIterator for $name<$($life,)? V> {}
        impl<$($life,)? V> FusedIterator for $name<$($life,)? V> {}

        impl<$($life,)? V> fmt::Debug for $name<$($life,)? V> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name)).field("left", &self.len()).finish()
            }
        }
    };
}

part!(
    /// The prefixes of a [`Table`] in order; see [`Table::keys`].
    Keys<'t, V>, Iter, IpPrefix, 0
);
part!(
    /// The values of a [`Table`] in order of prefix; see [`Table::values`].
    Values<'t, V>, Iter, &'t V, 1
);
part!(
    /// The values of a [`Table`] in order of prefix, to change; see [`Table::values_mut`].
    ValuesMut<'t, V>, IterMut, &'t mut V, 1
);
part!(
    /// The prefixes of a [`Table`] in order; see [`Table::into_keys`].
    IntoKeys<V>, IntoIter, IpPrefix, 0
);
part!(
    /// The values of a [`Table`] in order of prefix, taken out of it; see [`Table::into_values`].
    IntoValues<V>, IntoIter, V, 1
);

impl<V> Clone for Keys<'_, V> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<V> Clone for Values<'_, V> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<V, F: Form<V>> Table<V, F> {
    /// Returns the routes in order: IPv4 before IPv6, by address, then by length.
    ///
    /// ```
    /// use fibula::{IpPrefix, Table};
    /// let mut table = Table::new();
    /// for text in ["2001:db8::/32", "10.1.0.0/16", "10.0.0.0/8"] {
    ///     table.insert(text.parse::<IpPrefix>()?, text);
    /// }
    /// let prefixes: Vec<String> = table.keys().map(|prefix| prefix.to_string()).collect();
    /// assert_eq!(prefixes, ["10.0.0.0/8", "10.1.0.0/16", "2001:db8::/32"]);
    /// # Ok::<(), fibula::Error>(())
    /// ```
    #[must_use]
    pub fn iter(&self) -> Iter<'_, V> {
        Iter { ipv4: HalfIter::of(&self.ipv4), ipv6: HalfIter::of(&self.ipv6) }
    }

    /// Returns the IPv4 routes in order.
    ///
    /// ```
    /// use fibula::{IpPrefix, Prefix, Table};
    /// let prefixes = ["::/0", "10.0.0.0/8"].map(|text| text.parse::<IpPrefix>().unwrap());
    /// let table = Table::from(prefixes.map(|prefix| (prefix, prefix.len())));
    /// let routes: Vec<(Prefix<u32>, &u8)> = table.iter_ipv4().collect();
    /// assert_eq!(routes, [("10.0.0.0/8".parse()?, &8)]);
    /// # Ok::<(), fibula::Error>(())
    /// ```
    #[must_use]
    pub fn iter_ipv4(&self) -> impl DoubleEndedIterator<Item = (Prefix<u32>, &V)> {
        self.ipv4.iter()
    }

    /// Returns the IPv6 routes in order; see [`iter_ipv4`](Table::iter_ipv4).
    #[must_use]
    pub fn iter_ipv6(&self) -> impl DoubleEndedIterator<Item = (Prefix<u128>, &V)> {
        self.ipv6.iter()
    }

    /// Returns the prefixes in order.
    #[must_use]
    pub fn keys(&self) -> Keys<'_, V> {
        Keys(self.iter())
    }

    /// Returns the values in order of prefix.
    #[must_use]
    pub fn values(&self) -> Values<'_, V> {
        Values(self.iter())
    }

    /// Takes the prefixes out of the table, in order.
    #[must_use]
    pub fn into_keys(self) -> IntoKeys<V> {
        IntoKeys(self.into_iter())
    }

    /// Takes the values out of the table, in order of prefix.
    #[must_use]
    pub fn into_values(self) -> IntoValues<V> {
        IntoValues(self.into_iter())
    }
}

impl<V> Table<V> {
    /// Returns the routes in order, with the values to change. O(n) to begin: allocates one pointer
    /// a route.
    #[must_use]
    pub fn iter_mut(&mut self) -> IterMut<'_, V> {
        IterMut { ipv4: HalfIterMut::of(&mut self.ipv4), ipv6: HalfIterMut::of(&mut self.ipv6) }
    }

    /// Returns the values in order of prefix, to change them. Costs as [`Table::iter_mut`].
    #[must_use]
    pub fn values_mut(&mut self) -> ValuesMut<'_, V> {
        ValuesMut(self.iter_mut())
    }
}

impl<'t, V, F: Form<V>> IntoIterator for &'t Table<V, F> {
    type Item = (IpPrefix, &'t V);
    type IntoIter = Iter<'t, V>;

    fn into_iter(self) -> Iter<'t, V> {
        self.iter()
    }
}

impl<'t, V> IntoIterator for &'t mut Table<V> {
    type Item = (IpPrefix, &'t mut V);
    type IntoIter = IterMut<'t, V>;

    fn into_iter(self) -> IterMut<'t, V> {
        self.iter_mut()
    }
}

/// Takes the routes out of the table, in order. O(n) to begin.
impl<V, F: Form<V>> IntoIterator for Table<V, F> {
    type Item = (IpPrefix, V);
    type IntoIter = IntoIter<V>;

    fn into_iter(self) -> IntoIter<V> {
        IntoIter { ipv4: taken(self.ipv4), ipv6: taken(self.ipv6) }
    }
}
