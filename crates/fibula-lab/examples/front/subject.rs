//! [`Subject`]: what is measured.

use fibula::table::form::Form;
use fibula::{Address, Fib, IpPrefix, NextHop, Rib, Route, Table};
use prefix_trie::PrefixMap;

/// The addresses of a call.
const CALL: usize = 256;

/// An address as `prefix-trie` has it.
pub(crate) trait Key: Address {}

impl Key for u32 {}
impl Key for u128 {}

/// Returns what tells a route from others in a sum.
pub(crate) fn told(len: u8, next_hop: NextHop) -> u64 {
    u64::from(next_hop.0) << 8 | u64::from(len)
}

/// A table of routes. Each way to look addresses up returns a sum of the answers, or `None` if the
/// table does not know prefixes, or does not change.
pub(crate) trait Subject<A: Key> {
    fn of(routes: &[Route<A>]) -> Self
    where
        Self: Sized;
    fn values(&self, addresses: &[A]) -> u64;
    fn routes(&self, addresses: &[A]) -> Option<u64>;
    fn values_in_calls(&self, addresses: &[A]) -> u64;
    fn routes_in_calls(&self, addresses: &[A]) -> Option<u64>;
    fn insert(&mut self, routes: &[Route<A>]) -> Option<u64>;
    fn remove(&mut self, routes: &[Route<A>]) -> Option<u64>;
}

/// A table and its engine, which answers next hops.
pub(crate) struct Compiled<A: Address> {
    fib: Fib<A>,
}

impl<A: Key> Subject<A> for Compiled<A> {
    fn of(routes: &[Route<A>]) -> Self {
        let rib: Rib<A> = routes.iter().copied().collect();
        Self { fib: Fib::new(&rib).expect("an engine holds the table") }
    }

    fn values(&self, addresses: &[A]) -> u64 {
        addresses.iter().map(|&address| u64::from(self.fib.lookup_index(address).0)).sum()
    }

    fn routes(&self, _addresses: &[A]) -> Option<u64> {
        None
    }

    fn values_in_calls(&self, addresses: &[A]) -> u64 {
        let mut found = [NextHop::NONE; CALL];
        let sums = addresses.chunks(CALL).map(|call| {
            let found = &mut found[..call.len()];
            self.fib.lookup_batch(call, found);
            found.iter().map(|next_hop| u64::from(next_hop.0)).sum::<u64>()
        });
        sums.sum()
    }

    fn routes_in_calls(&self, _addresses: &[A]) -> Option<u64> {
        None
    }

    fn insert(&mut self, _routes: &[Route<A>]) -> Option<u64> {
        None
    }

    fn remove(&mut self, _routes: &[Route<A>]) -> Option<u64> {
        None
    }
}

/// The lookups of a table by the family of its addresses.
macro_rules! table {
    ($address:ty, $lookup:ident, $each:ident) => {
        impl<F: Form<u32>> Subject<$address> for Table<u32, F> {
            fn of(routes: &[Route<$address>]) -> Self {
                routes.iter().map(|route| (route.prefix, route.next_hop.0)).collect()
            }

            fn values(&self, addresses: &[$address]) -> u64 {
                let value = |address: &$address| self.lookup_value(address.to_ip()).copied().unwrap_or(0);
                addresses.iter().map(|address| u64::from(value(address))).sum()
            }

            fn routes(&self, addresses: &[$address]) -> Option<u64> {
                let told = |address: &$address| {
                    self.$lookup(*address).map_or(0, |(prefix, &value)| told(prefix.len(), NextHop(value)))
                };
                Some(addresses.iter().map(told).sum())
            }

            fn values_in_calls(&self, addresses: &[$address]) -> u64 {
                let mut sum = 0;
                for call in addresses.chunks(CALL) {
                    self.$each(call, |_, found| sum += found.value().map_or(0, |&value| u64::from(value)));
                }
                sum
            }

            fn routes_in_calls(&self, addresses: &[$address]) -> Option<u64> {
                let mut sum = 0;
                for call in addresses.chunks(CALL) {
                    self.$each(call, |_, found| {
                        let route = found.route();
                        sum += route.map_or(0, |(prefix, &value)| told(prefix.len(), NextHop(value)));
                    });
                }
                Some(sum)
            }

            fn insert(&mut self, routes: &[Route<$address>]) -> Option<u64> {
                let insert = |route: &Route<$address>| Table::insert(self, route.prefix, route.next_hop.0);
                Some(routes.iter().filter_map(insert).map(u64::from).sum())
            }

            fn remove(&mut self, routes: &[Route<$address>]) -> Option<u64> {
                let remove = |route: &Route<$address>| Table::remove(self, IpPrefix::from(route.prefix));
                Some(routes.iter().filter_map(remove).map(u64::from).sum())
            }
        }

        impl Subject<$address> for PrefixMap<($address, u8), u32> {
            fn of(routes: &[Route<$address>]) -> Self {
                let mut map = Self::new();
                for route in routes {
                    map.insert((route.prefix.first(), route.prefix.len()), route.next_hop.0);
                }
                map
            }

            fn values(&self, addresses: &[$address]) -> u64 {
                let value = |&address: &$address| self.get_lpm(&(address, <$address>::BITS as u8));
                addresses.iter().filter_map(value).map(|(_, &value)| u64::from(value)).sum()
            }

            fn routes(&self, addresses: &[$address]) -> Option<u64> {
                let route = |&address: &$address| self.get_lpm(&(address, <$address>::BITS as u8));
                let told = |((_, len), &value): ((_, u8), &u32)| told(len, NextHop(value));
                Some(addresses.iter().filter_map(route).map(told).sum())
            }

            fn values_in_calls(&self, addresses: &[$address]) -> u64 {
                Subject::values(self, addresses)
            }

            fn routes_in_calls(&self, addresses: &[$address]) -> Option<u64> {
                Subject::routes(self, addresses)
            }

            fn insert(&mut self, routes: &[Route<$address>]) -> Option<u64> {
                for route in routes {
                    PrefixMap::insert(self, (route.prefix.first(), route.prefix.len()), route.next_hop.0);
                }
                Some(0)
            }

            fn remove(&mut self, routes: &[Route<$address>]) -> Option<u64> {
                let remove = |route: &Route<$address>| {
                    PrefixMap::remove(self, &(route.prefix.first(), route.prefix.len()))
                };
                Some(routes.iter().filter_map(remove).map(u64::from).sum())
            }
        }
    };
}

table!(u32, lookup_ipv4, lookup_each_ipv4);
table!(u128, lookup_ipv6, lookup_each_ipv6);
