//! [`Rib::memory`]: the bytes of the routes.

use super::Rib;
use crate::Address;
use crate::memory::Memory;

impl<A: Address> Rib<A> {
    /// Returns the bytes that the table has allocated. O(1).
    ///
    /// ```
    /// use fibula::{NextHop, Prefix, Rib, Route};
    /// let routes = (0..1000).map(|at| Route { prefix: Prefix::host(at), next_hop: NextHop(1) });
    /// let rib: Rib<u32> = routes.collect();
    /// assert!((9_000..10_000).contains(&rib.memory().total()));
    /// assert_eq!(Rib::<u128>::new().memory().total(), 0);
    /// ```
    #[must_use]
    pub fn memory(&self) -> Memory {
        Memory::new().off_chip("routes", self.bytes())
    }

    pub(crate) fn bytes(&self) -> usize {
        self.routes.bytes()
    }
}
