//! [`Address`]: the two address families as plain integers, most significant bit first.

use crate::Rib;
use crate::engine::{Entry, Makers, Routes};
use crate::rib::{Firsts, Halves};
use std::fmt::{Debug, Display};
use std::hash::Hash;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// An address family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Family {
    /// 32-bit addresses.
    Ipv4,
    /// 128-bit addresses.
    Ipv6,
}

impl Display for Family {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Family::Ipv4 => "ipv4",
            Family::Ipv6 => "ipv6",
        })
    }
}

/// Keeps others from implementing the traits that the library alone implements, so that methods
/// may be added.
pub(crate) mod sealed {
    pub trait Sealed {}
    impl Sealed for u8 {}
    impl Sealed for u16 {}
    impl Sealed for u32 {}
    impl Sealed for u128 {}
}

/// An IP address as an unsigned integer in host byte order: `u32` for IPv4, `u128` for IPv6.
///
/// Bit 0 is the most significant bit, the first bit of a prefix. All operations are O(1) and total:
/// shifting by the whole width gives zero instead of a panic.
///
/// ```
/// use fibula::Address;
/// let a: u32 = "192.0.2.1".parse::<std::net::Ipv4Addr>().unwrap().to_bits();
/// assert_eq!(a.bits(0, 8), 192);
/// assert_eq!(a & u32::mask(24), a - 1);
/// assert_eq!(a.to_ip().to_string(), "192.0.2.1");
/// ```
pub trait Address:
    Copy
    + Ord
    + Hash
    + Default
    + Debug
    + Send
    + Sync
    + 'static
    + std::ops::BitAnd<Output = Self>
    + std::ops::BitOr<Output = Self>
    + std::ops::BitXor<Output = Self>
    + std::ops::Not<Output = Self>
    + FromBytes
    + IntoBytes
    + Immutable
    + sealed::Sealed
{
    /// How a table stores the first addresses of its routes.
    #[doc(hidden)]
    type Firsts: Firsts<Self>;
    /// The number of bits: 32 or 128.
    const BITS: u8;
    /// The family these addresses belong to.
    const FAMILY: Family;
    /// The first address of the space.
    const ZERO: Self;
    /// The last address of the space.
    const MAX: Self;

    /// Returns the mask of a prefix length: the first `len` bits set. `len` must be at most
    /// [`Self::BITS`].
    #[must_use]
    fn mask(len: u8) -> Self;

    /// Returns `count` bits from bit `offset` on, right-aligned; bits past the end of the address
    /// read as zero. `count` is at most 64.
    #[must_use]
    fn bits(self, offset: u8, count: u8) -> u64;

    /// Returns bit `index` (0 is the first of the address).
    #[must_use]
    fn bit(self, index: u8) -> bool {
        self.bits(index, 1) == 1
    }

    /// Returns the address with the low `count` bits of `value` placed from bit `offset` on, all
    /// others zero. The inverse of [`Self::bits`]; bits past the end are lost.
    #[must_use]
    fn from_bits(value: u64, offset: u8, count: u8) -> Self;

    /// Returns how many leading bits two addresses share.
    #[must_use]
    fn common_prefix_len(self, other: Self) -> u8;

    /// Returns the next address, or `None` after the last.
    #[must_use]
    fn next(self) -> Option<Self>;

    /// Returns the previous address, or `None` before the first.
    #[must_use]
    fn previous(self) -> Option<Self>;

    /// Returns the low 128 bits as an integer (IPv4 zero-extended), for hashing, distances and
    /// random draws.
    #[must_use]
    fn to_u128(self) -> u128;

    /// Returns the address of an integer, or `None` if it does not fit the family.
    #[must_use]
    fn from_u128(value: u128) -> Option<Self>;

    /// Returns the address in the standard library's type, for printing. A v4-mapped IPv6 address
    /// stays IPv6.
    #[must_use]
    fn to_ip(self) -> IpAddr;

    /// Returns the address of this family, or `None` for the other family.
    #[must_use]
    fn from_ip(ip: IpAddr) -> Option<Self>;

    /// Returns the address whose bytes are in network order.
    ///
    /// # Panics
    /// If there are not as many bytes as an address has.
    #[must_use]
    fn from_network_order(bytes: &[u8]) -> Self;

    /// Returns the constructors of an engine for this family, if the engine supports it.
    #[doc(hidden)]
    fn makers(entry: &Entry) -> Option<Makers<Self>>;

    /// Returns a table with its family.
    #[doc(hidden)]
    fn routes_of(rib: &Rib<Self>) -> Routes<'_>;
}

macro_rules! address {
    ($int:ty, $family:ident, $ip:ident, $variant:ident, $field:ident, $firsts:ty) => {
        impl Address for $int {
            type Firsts = $firsts;
            const BITS: u8 = <$int>::BITS as u8;
            const FAMILY: Family = Family::$family;
            const ZERO: Self = 0;
            const MAX: Self = <$int>::MAX;

            #[inline(always)]
            fn mask(len: u8) -> Self {
                debug_assert!(len <= <Self as Address>::BITS);
                if len == 0 { 0 } else { <$int>::MAX << (<Self as Address>::BITS - len) }
            }

            #[inline(always)]
            fn bits(self, offset: u8, count: u8) -> u64 {
                debug_assert!(count <= 64);
                if count == 0 || offset >= <Self as Address>::BITS {
                    return 0;
                }
                let left = self << offset;
                if count >= <Self as Address>::BITS {
                    return (left as u64) << (count - <Self as Address>::BITS);
                }
                (left >> (<Self as Address>::BITS - count)) as u64
            }

            #[inline(always)]
            fn from_bits(value: u64, offset: u8, count: u8) -> Self {
                debug_assert!(count <= 64);
                let end = u32::from(offset) + u32::from(count);
                let bits = u32::from(<Self as Address>::BITS);
                let value = if count < 64 { value & ((1 << count) - 1) } else { value };
                if end <= bits {
                    (value as $int).checked_shl(bits - end).unwrap_or(0)
                } else {
                    value.checked_shr(end - bits).unwrap_or(0) as $int
                }
            }

            #[inline(always)]
            fn common_prefix_len(self, other: Self) -> u8 {
                (self ^ other).leading_zeros() as u8
            }

            #[inline(always)]
            fn next(self) -> Option<Self> {
                self.checked_add(1)
            }

            #[inline(always)]
            fn previous(self) -> Option<Self> {
                self.checked_sub(1)
            }

            #[inline(always)]
            fn to_u128(self) -> u128 {
                self.into()
            }

            #[inline(always)]
            fn from_u128(value: u128) -> Option<Self> {
                value.try_into().ok()
            }

            fn to_ip(self) -> IpAddr {
                IpAddr::$variant($ip::from_bits(self))
            }

            fn from_ip(ip: IpAddr) -> Option<Self> {
                match ip {
                    IpAddr::$variant(ip) => Some(ip.to_bits()),
                    _ => None,
                }
            }

            #[inline(always)]
            fn from_network_order(bytes: &[u8]) -> Self {
                Self::from_be_bytes(bytes.try_into().expect("the bytes of one address"))
            }

            fn makers(entry: &Entry) -> Option<Makers<Self>> {
                entry.$field
            }

            fn routes_of(rib: &Rib<Self>) -> Routes<'_> {
                Routes::$family(rib)
            }
        }
    };
}

address!(u32, Ipv4, Ipv4Addr, V4, ipv4, Vec<u32>);
address!(u128, Ipv6, Ipv6Addr, V6, ipv6, Halves);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_read_past_the_end_as_zero() {
        assert_eq!(0xFFFF_FFFF_u32.bits(28, 8), 0xF0);
        assert_eq!(0xFFFF_FFFF_u32.bits(32, 8), 0);
        assert_eq!(0xFFFF_FFFF_u32.bits(0, 40), 0xFF_FFFF_FF00);
        assert_eq!(u128::MAX.bits(120, 16), 0xFF00);
        assert_eq!(u128::MAX.bits(0, 64), u64::MAX);
        assert_eq!(0x8000_0000_u32.bits(0, 0), 0);
    }

    #[test]
    fn from_bits_is_the_inverse_of_bits() {
        assert_eq!(u32::from_bits(0xC0, 0, 8), 0xC000_0000);
        assert_eq!(u32::from_bits(0xF0, 28, 8), 0xF);
        assert_eq!(u128::from_bits(0x2001, 0, 16), 0x2001 << 112);
        assert_eq!(u128::from_bits(u64::MAX, 64, 64), u128::from(u64::MAX));
        assert_eq!(u32::from_bits(0, 0, 0), 0);
        for offset in 0..=24 {
            assert_eq!(u32::from_bits(0xA5, offset, 8).bits(offset, 8), 0xA5);
        }
    }

    #[test]
    fn masks_at_both_ends() {
        assert_eq!((u32::mask(0), u32::mask(1), u32::mask(32)), (0, 1 << 31, u32::MAX));
        assert_eq!((u128::mask(0), u128::mask(128)), (0, u128::MAX));
    }

    #[test]
    fn a_v4_mapped_address_stays_ipv6() {
        let mapped: IpAddr = "::ffff:1.2.3.4".parse().unwrap();
        assert_eq!(u32::from_ip(mapped), None);
        assert_eq!(u128::from_ip(mapped).unwrap().to_ip(), mapped);
    }
}
