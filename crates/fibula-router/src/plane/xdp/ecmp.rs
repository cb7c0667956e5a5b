//! [`Ecmp`]: how the flows are told apart that several legs share.

use serde::Deserialize;

/// What of a packet is hashed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Hashed {
    /// Both addresses.
    L3,
    /// Both addresses, the protocol and the ports.
    #[default]
    L4,
    /// The same of the packet that an IPIP or GRE packet carries; of others as [`L4`](Self::L4).
    Inner,
}

/// How flows are told apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Ecmp {
    /// What is hashed.
    pub hash: Hashed,
    /// Whether the flow label of IPv6 is hashed too (RFC 6438).
    pub flow_label: bool,
    /// Whether the SPI of ESP is hashed too, as ports are.
    pub spi: bool,
    /// Each seed divides the flows otherwise.
    pub seed: u64,
}

impl Ecmp {
    /// Returns what the program reads (`bpf/flow.h`).
    pub(super) fn constants(self) -> [(&'static str, u32); 3] {
        [
            ("hashed", self.hash as u32),
            ("hashes_label", self.flow_label.into()),
            ("hashes_spi", self.spi.into()),
        ]
    }

    /// Returns the seed as it is combined with a flow: seeds are small numbers, and flows differ in
    /// few bits.
    pub(super) fn mask(self) -> u64 {
        mixed(self.seed)
    }
}

/// Mixes all bits of a value into each. 0 stays 0.
fn mixed(mut value: u64) -> u64 {
    value ^= value >> 32;
    value = value.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    value ^= value >> 29;
    value = value.wrapping_mul(0xBF58_476D_1CE4_E5B9);
    value ^ value >> 32
}
