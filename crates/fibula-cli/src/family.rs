//! `--family`, the same for every command that has it.

use clap::ValueEnum;

/// [`fibula::Family`] on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FamilyName {
    /// 32-bit addresses
    Ipv4,
    /// 128-bit addresses
    Ipv6,
}
