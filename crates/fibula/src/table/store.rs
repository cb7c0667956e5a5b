//! [`Store`]: the values of one family, by next hop.

use super::slots::Slots;
use crate::{Address, Error, NextHop, Prefix, Rib};

/// What keeps other crates from adding forms.
pub trait Sealed {}

/// What became of the value that a route should get.
#[allow(unreachable_pub, reason = "older compilers do not see that a public trait names it")]
pub enum Replaced<V> {
    /// It took the place of this one.
    Was(V),
    /// It is equal to the one that the route has, and not needed.
    Equal(V),
    /// It needs a next hop of its own.
    Apart(V),
}

/// The values of the routes of one family. What the next hop of a route is, each
/// [form](super::form::Form) says for itself.
#[allow(unreachable_pub, reason = "older compilers do not see that a public trait is bound by it")]
pub trait Store: Sized {
    /// What a route leads to.
    type Value;

    /// Creates a store without values, of a family of `bits` bits. Allocates nothing.
    fn new(bits: u8) -> Self;

    /// Reserves room for `routes` more routes, as far as each needs some.
    fn reserve(&mut self, routes: usize);

    /// Gives back the room that is not used. O(n).
    fn shrink_to_fit(&mut self);

    /// Takes in the value of a new route whose prefix is `len` bits long. Returns its next hop.
    /// Nothing has changed if this fails or panics. O(1) amortised.
    ///
    /// # Errors
    /// If there are as many values as the [form](super::form::Form) can number.
    fn try_add(&mut self, len: u8, value: Self::Value) -> Result<NextHop, Error>;

    /// As [`Store::try_add`].
    ///
    /// # Panics
    /// Where that fails.
    fn add(&mut self, len: u8, value: Self::Value) -> NextHop {
        self.try_add(len, value).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Gives the route of this next hop another value, if it keeps its next hop then. Nothing has
    /// changed if this panics. O(1).
    fn replace(&mut self, next_hop: NextHop, value: Self::Value) -> Replaced<Self::Value>;

    /// Takes note that a route of this next hop is gone. Returns the value if no other route has
    /// it. O(1).
    fn release(&mut self, next_hop: NextHop) -> Option<Self::Value>;

    /// As [`Store::release`], and returns the value in any case. `None` if no route has that next
    /// hop. O(1).
    fn remove(&mut self, next_hop: NextHop) -> Option<Self::Value>;

    /// Returns the values.
    fn slots(&self) -> &Slots<Self::Value>;

    /// Returns the longest matching prefix of `address` and its value, where `next_hop` is what the
    /// engine answers.
    fn matching<A: Address>(
        &self,
        rib: &Rib<A>,
        next_hop: NextHop,
        address: A,
    ) -> Option<(Prefix<A>, &Self::Value)>;

    /// Returns the bytes allocated, without what values own elsewhere.
    fn bytes(&self) -> usize;

    /// Checks that the routes have the values that they should; for tests.
    ///
    /// # Errors
    /// With the first contradiction found.
    #[cfg(any(test, feature = "engines"))]
    fn validate<A: Address>(&self, rib: &Rib<A>) -> Result<(), String>;
}
