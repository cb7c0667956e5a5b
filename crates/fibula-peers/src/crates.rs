//! Crates that do longest-prefix match. Their interfaces take one address at a time.

use fibula::engine::Memory;
use fibula::engine::{About, Config, Cost, Engine, Entry, Lookup, Meter, Update, Updates, Width};
use fibula::parts::arch::Isa;
use fibula::{Address, Delta, Error, NextHop, Prefix, Rib, engine_entry};
use ip_network_table_deps_treebitmap::IpLookupTable;
use prefix_trie::PrefixMap;
use std::marker::PhantomData;
use std::net::{Ipv4Addr, Ipv6Addr};

/// All engines of crates.
pub(crate) static ENGINES: [Entry; 2] =
    [engine_entry!(TREEBITMAP, [ipv4 ipv6] TreeBitmap), engine_entry!(PREFIX_TRIE, [ipv4 ipv6] PrefixTrie)];

const fn about(name: &'static str, paper: &'static str, year: u16) -> About {
    About { name, paper, year, updates: Updates::InPlace, ..About::DEFAULT }
}

static TREEBITMAP: About =
    about("peer:treebitmap", "crate ip_network_table-deps-treebitmap 0.5, IpLookupTable", 2021);
static PREFIX_TRIE: About = about("peer:prefix-trie", "crate prefix-trie 0.10, PrefixMap", 2026);

/// A crate's table, with the operations of this project's engines.
pub(crate) trait Table<A, W>: Send + Sync + 'static {
    fn empty() -> Self;
    fn insert(&mut self, prefix: Prefix<A>, next_hop: W);
    fn remove(&mut self, prefix: Prefix<A>);
    fn find(&self, address: A) -> Option<W>;
    /// Returns the bytes that it reports.
    fn bytes(&self) -> usize;
}

/// An address type of the crates.
pub(crate) trait Key: Address {
    type Standard: ip_network_table_deps_treebitmap::address::Address + Send + Sync + 'static;
    fn standard(self) -> Self::Standard;
}

impl Key for u32 {
    type Standard = Ipv4Addr;
    fn standard(self) -> Ipv4Addr {
        Ipv4Addr::from_bits(self)
    }
}

impl Key for u128 {
    type Standard = Ipv6Addr;
    fn standard(self) -> Ipv6Addr {
        Ipv6Addr::from_bits(self)
    }
}

impl<A: Key, W: Width> Table<A, W> for IpLookupTable<A::Standard, W> {
    fn empty() -> Self {
        Self::new()
    }

    fn insert(&mut self, prefix: Prefix<A>, next_hop: W) {
        Self::insert(self, prefix.first().standard(), prefix.len().into(), next_hop);
    }

    fn remove(&mut self, prefix: Prefix<A>) {
        Self::remove(self, prefix.first().standard(), prefix.len().into());
    }

    #[inline(always)]
    fn find(&self, address: A) -> Option<W> {
        self.longest_match(address.standard()).map(|(_, _, &next_hop)| next_hop)
    }

    fn bytes(&self) -> usize {
        let (nodes, results) = self.mem_usage();
        nodes + results
    }
}

macro_rules! prefix_map {
    ($address:ty) => {
        impl<W: Width> Table<$address, W> for PrefixMap<($address, u8), W> {
            fn empty() -> Self {
                Self::new()
            }

            fn insert(&mut self, prefix: Prefix<$address>, next_hop: W) {
                Self::insert(self, (prefix.first(), prefix.len()), next_hop);
            }

            fn remove(&mut self, prefix: Prefix<$address>) {
                Self::remove(self, &(prefix.first(), prefix.len()));
            }

            #[inline(always)]
            fn find(&self, address: $address) -> Option<W> {
                self.get_lpm(&(address, <$address>::BITS as u8)).map(|(_, &next_hop)| next_hop)
            }

            fn bytes(&self) -> usize {
                self.mem_size()
            }
        }
    };
}

prefix_map!(u32);
prefix_map!(u128);

/// A crate's table as an engine.
pub(crate) struct OneByOne<T, W>(T, PhantomData<W>);

pub(crate) type TreeBitmap<A, W> = OneByOne<IpLookupTable<<A as Key>::Standard, W>, W>;
pub(crate) type PrefixTrie<A, W> = OneByOne<PrefixMap<(A, u8), W>, W>;

impl<T, W: Width> OneByOne<T, W> {
    fn change<A: Address>(&mut self, prefix: Prefix<A>, next_hop: NextHop)
    where
        T: Table<A, W>,
    {
        if next_hop.is_some() {
            self.0.insert(prefix, W::narrow(next_hop));
        } else {
            self.0.remove(prefix);
        }
    }
}

impl<A: Address, W: Width, T: Table<A, W>> Lookup<A> for OneByOne<T, W> {
    type Width = W;

    #[inline(always)]
    fn lookup_metered<M: Meter>(&self, address: A, _: &mut M) -> W {
        self.0.find(address).unwrap_or_default()
    }

    #[inline(always)]
    fn lookup_batch<I: Isa>(&self, _: I, addresses: &[A], next_hops: &mut [W]) {
        for (&address, next_hop) in addresses.iter().zip(next_hops) {
            *next_hop = self.0.find(address).unwrap_or_default();
        }
    }
}

impl<A: Address, W: Width, T: Table<A, W>> Engine<A> for OneByOne<T, W> {
    type View = Self;

    fn build(rib: &Rib<A>, _: &Config) -> Result<Self, Error> {
        let mut engine = Self(T::empty(), PhantomData);
        rib.iter().for_each(|route| engine.change(route.prefix, route.next_hop));
        Ok(engine)
    }

    fn view(&self) -> &Self {
        self
    }

    fn apply(&mut self, _: &Rib<A>, deltas: &[Delta<A>]) -> Update {
        for delta in deltas {
            self.change(delta.prefix, delta.after);
        }
        Update::Applied(Cost::default())
    }

    fn memory(&self) -> Memory {
        Memory::new().off_chip("table", self.0.bytes())
    }
}
