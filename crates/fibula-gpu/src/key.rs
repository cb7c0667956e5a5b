//! [`Key`] and [`Answer`]: addresses and next hops as kernels take and give them.

use fibula::Address;
use fibula::engine::Width;
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// An address whose bytes in memory are what a kernel reads: 4 for IPv4, 16 for IPv6, least significant first.
pub trait Key: Address + IntoBytes + Immutable {}

impl Key for u32 {}
impl Key for u128 {}

#[cfg(not(target_endian = "little"))]
compile_error!("a card reads integers least significant byte first, as the host must");

/// An answer whose bytes are what a kernel writes.
pub trait Answer: Width + FromBytes {}

impl Answer for u8 {}
impl Answer for u16 {}
impl Answer for u32 {}
