//! [`Form`]: how a table keeps its values, and what its engine answers.

use super::classes::Classes;
use super::slots::Slots;
use super::store::{Sealed, Store};
use std::hash::Hash;

/// How a [`Table`](super::Table) keeps its values, which decides what its engine answers. Each form
/// has every lookup; they differ in what costs least.
///
/// | form | the engine answers | values | for |
/// | --- | --- | --- | --- |
/// | [`PerRoute`] | the route | any, each route's own | counters, state |
/// | [`Interned`] | value and length | equal ones once | next hops, with the prefix |
/// | [`ValuesAlone`] | the value | equal ones once | next hops, AS numbers, sets |
///
/// An engine merges neighbouring addresses with equal answers. So the fewer answers there are, the
/// smaller and faster it is. The prefix costs one more read in [`PerRoute`], and none in
/// [`Interned`], where the answer tells its length. In [`ValuesAlone`] it is a walk of the
/// [`Rib`](crate::Rib), some ten times a lookup of the value.
///
/// A family has at most 2^32 - 2 routes in [`PerRoute`], and as many different values in
/// [`ValuesAlone`]. In [`Interned`] it has at most 67,108,862 different values (IPv4) or 16,777,214
/// (IPv6).
///
/// The trait is sealed.
pub trait Form<V>: Sealed {
    #[doc(hidden)]
    type Store: Store<Value = V>;
}

/// The [form](Form) with a value of each route's own: it may be of any type, and be changed in
/// place. The default.
#[derive(Clone, Copy, Debug)]
pub struct PerRoute;

/// The [form](Form) that stores equal values once. With `LENGTHS`, the engine answers the number of
/// the value and the length of the prefix; without, that of the value alone.
///
/// ```
/// use fibula::{InternedTable, IpPrefix, ValueTable};
/// let routes = [("10.0.0.0/8", 7), ("10.1.0.0/16", 7), ("10.1.2.0/24", 9)];
/// let routes = routes.map(|(text, port)| (text.parse::<IpPrefix>().unwrap(), port));
/// let interned: InternedTable<u16> = routes.into_iter().collect();
/// let alone: ValueTable<u16> = routes.into_iter().collect();
/// assert_eq!(interned.lookup([10, 1, 9, 9]), Some((routes[1].0, &7)));
/// assert_eq!(alone.lookup([10, 1, 9, 9]), Some((routes[1].0, &7)));
/// assert_eq!(alone.lookup_value([10, 1, 2, 3]), Some(&9));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Interned<const LENGTHS: bool = true>;

/// The [form](Form) that stores equal values once, and whose engine answers the value alone.
pub type ValuesAlone = Interned<false>;

impl Sealed for PerRoute {}
impl<const LENGTHS: bool> Sealed for Interned<LENGTHS> {}

impl<V> Form<V> for PerRoute {
    type Store = Slots<V>;
}

impl<V: Clone + Eq + Hash, const LENGTHS: bool> Form<V> for Interned<LENGTHS> {
    type Store = Classes<V, LENGTHS>;
}
