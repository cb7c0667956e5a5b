//! Conversions from and to the prefixes of other crates, each a feature.
//!
//! A prefix of theirs may have bits set after its length; ours never has. They are cleared, as
//! `ipnet`'s `trunc` does.

/// The conversions of one crate: its two types and the type of either, and what tells the address
/// and the length.
macro_rules! conversions {
    ($module:ident: $v4:ident, $v6:ident, $either:ident, $address:ident, $len:ident) => {
        mod $module {
            use crate::{IpPrefix, Prefix};
            use std::net::{Ipv4Addr, Ipv6Addr};
            use $module::{$either, $v4, $v6};

            const LEN: &str = "a prefix is no longer than its family's addresses";

            /// Bits after the length are cleared.
            impl From<$v4> for Prefix<u32> {
                fn from(net: $v4) -> Self {
                    Self::containing(net.$address().to_bits(), net.$len())
                }
            }

            /// Bits after the length are cleared.
            impl From<$v6> for Prefix<u128> {
                fn from(net: $v6) -> Self {
                    Self::containing(net.$address().to_bits(), net.$len())
                }
            }

            /// Bits after the length are cleared.
            impl From<$v4> for IpPrefix {
                fn from(net: $v4) -> Self {
                    Self::V4(net.into())
                }
            }

            /// Bits after the length are cleared.
            impl From<$v6> for IpPrefix {
                fn from(net: $v6) -> Self {
                    Self::V6(net.into())
                }
            }

            /// Bits after the length are cleared.
            impl From<$either> for IpPrefix {
                fn from(net: $either) -> Self {
                    match net {
                        $either::V4(net) => net.into(),
                        $either::V6(net) => net.into(),
                    }
                }
            }

            impl From<Prefix<u32>> for $v4 {
                fn from(prefix: Prefix<u32>) -> Self {
                    Self::new(Ipv4Addr::from_bits(prefix.first()), prefix.len()).expect(LEN)
                }
            }

            impl From<Prefix<u128>> for $v6 {
                fn from(prefix: Prefix<u128>) -> Self {
                    Self::new(Ipv6Addr::from_bits(prefix.first()), prefix.len()).expect(LEN)
                }
            }

            impl From<Prefix<u32>> for $either {
                fn from(prefix: Prefix<u32>) -> Self {
                    Self::V4(prefix.into())
                }
            }

            impl From<Prefix<u128>> for $either {
                fn from(prefix: Prefix<u128>) -> Self {
                    Self::V6(prefix.into())
                }
            }

            impl From<IpPrefix> for $either {
                fn from(prefix: IpPrefix) -> Self {
                    match prefix {
                        IpPrefix::V4(prefix) => prefix.into(),
                        IpPrefix::V6(prefix) => prefix.into(),
                    }
                }
            }
        }
    };
}

#[cfg(feature = "cidr")]
conversions!(cidr: Ipv4Cidr, Ipv6Cidr, IpCidr, first_address, network_length);
#[cfg(feature = "ip_network")]
conversions!(ip_network: Ipv4Network, Ipv6Network, IpNetwork, network_address, netmask);
#[cfg(feature = "ipnet")]
conversions!(ipnet: Ipv4Net, Ipv6Net, IpNet, addr, prefix_len);
#[cfg(feature = "ipnetwork")]
conversions!(ipnetwork: Ipv4Network, Ipv6Network, IpNetwork, ip, prefix);
