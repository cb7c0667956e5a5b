//! [`Key`] and [`Answer`]: addresses and next hops as kernels read and write them.

use crate::table::any::{self, AnyTable};
use fibula::engine::{Width, WidthBits};
use fibula::{Address, Error, Rib};
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// An address whose bytes in memory are what a kernel reads: 4 for IPv4, 16 for IPv6, least
/// significant first.
pub trait Key: Address + IntoBytes + Immutable {
    /// Compiles a table of a layout that does this family; see
    /// [`compile`](crate::table::any::compile).
    #[doc(hidden)]
    fn compile(name: &str, width: WidthBits, rib: &Rib<Self>) -> Result<Box<dyn AnyTable<Self>>, Error>;
}

impl Key for u32 {
    fn compile(name: &str, width: WidthBits, rib: &Rib<Self>) -> Result<Box<dyn AnyTable<Self>>, Error> {
        any::ipv4(name, width, rib)
    }
}

impl Key for u128 {
    fn compile(name: &str, width: WidthBits, rib: &Rib<Self>) -> Result<Box<dyn AnyTable<Self>>, Error> {
        any::ipv6(name, width, rib)
    }
}

#[cfg(not(target_endian = "little"))]
compile_error!("a card reads integers least significant byte first, as the host must");

/// An answer whose bytes are what a kernel writes.
pub trait Answer: Width + FromBytes {}

impl Answer for u8 {}
impl Answer for u16 {}
impl Answer for u32 {}
