//! [`Views`]: the compiled tables of both families.

use super::Fib;
use crate::View;
use crate::{Address, Error, NextHop, Rib};
use std::net::IpAddr;

type Boxed<A> = Box<dyn View<A>>;

/// The compiled tables of both families, or of one: an address of the other has no route. The
/// indices of both belong to one dictionary.
///
/// ```
/// use fibula::{NextHop, Rib, Views};
/// let (mut ipv4, mut ipv6) = (Rib::new(), Rib::new());
/// ipv4.insert("192.0.2.0/24".parse()?, NextHop(1));
/// ipv6.insert("2001:db8::/32".parse()?, NextHop(2));
/// let views = Views::of(&ipv4, &ipv6)?;
/// let addresses = ["192.0.2.7", "2001:db8::7", "::1"].map(|text| text.parse().unwrap());
/// let answers = addresses.map(|address| views.lookup(address));
/// assert_eq!(answers, [NextHop(1), NextHop(2), NextHop::NONE]);
/// # Ok::<(), fibula::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Views {
    ipv4: Option<Boxed<u32>>,
    ipv6: Option<Boxed<u128>>,
}

impl Views {
    /// Compiles the tables of both families by the engines that fit them best.
    ///
    /// # Errors
    /// If no engine holds a table.
    pub fn of(ipv4: &Rib<u32>, ipv6: &Rib<u128>) -> Result<Self, Error> {
        Ok(Self { ipv4: compile(ipv4)?, ipv6: compile(ipv6)? })
    }

    /// Returns the view of the IPv4 table. `None` if there is none.
    #[must_use]
    pub fn ipv4(&self) -> Option<&dyn View<u32>> {
        self.ipv4.as_deref()
    }

    /// Returns the view of the IPv6 table. `None` if there is none.
    #[must_use]
    pub fn ipv6(&self) -> Option<&dyn View<u128>> {
        self.ipv6.as_deref()
    }

    /// Returns the views themselves.
    #[must_use]
    pub fn into_views(self) -> (Option<Boxed<u32>>, Option<Boxed<u128>>) {
        (self.ipv4, self.ipv6)
    }

    /// Returns the index of the answer for one address; [`NextHop::NONE`] if no route matches.
    #[inline]
    #[must_use]
    pub fn lookup(&self, address: IpAddr) -> NextHop {
        match address {
            IpAddr::V4(address) => {
                self.ipv4.as_ref().map_or(NextHop::NONE, |view| view.lookup_index(address.to_bits()))
            }
            IpAddr::V6(address) => {
                self.ipv6.as_ref().map_or(NextHop::NONE, |view| view.lookup_index(address.to_bits()))
            }
        }
    }

    /// Writes the index of the answer for `addresses[i]` to `indices[i]`.
    ///
    /// # Panics
    /// If the two differ in length.
    pub fn lookup_ipv4(&self, addresses: &[u32], indices: &mut [NextHop]) {
        look_up(self.ipv4(), addresses, indices);
    }

    /// As [`lookup_ipv4`](Views::lookup_ipv4).
    ///
    /// # Panics
    /// If the two differ in length.
    pub fn lookup_ipv6(&self, addresses: &[u128], indices: &mut [NextHop]) {
        look_up(self.ipv6(), addresses, indices);
    }
}

/// Compiles a family that has routes.
fn compile<A: Address>(rib: &Rib<A>) -> Result<Option<Box<dyn View<A>>>, Error> {
    if rib.is_empty() { Ok(None) } else { Ok(Some(Fib::new(rib)?.into())) }
}

fn look_up<A: Address>(view: Option<&dyn View<A>>, addresses: &[A], indices: &mut [NextHop]) {
    match view {
        Some(view) => view.lookup_batch(addresses, indices),
        None => indices.fill(NextHop::NONE),
    }
}

impl From<(Option<Boxed<u32>>, Option<Boxed<u128>>)> for Views {
    fn from((ipv4, ipv6): (Option<Boxed<u32>>, Option<Boxed<u128>>)) -> Self {
        Self { ipv4, ipv6 }
    }
}
