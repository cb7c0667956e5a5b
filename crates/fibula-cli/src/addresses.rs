//! The options for reading addresses, the same for every command that looks them up.

use clap::Args;
use fibula_io::address::{Embedded, Found, clean};

/// How addresses are read.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Reading addresses")]
pub(crate) struct Addresses {
    /// Look up ::ffff:a.b.c.d among the IPv4 routes, as the IPv4 address that it is
    #[arg(long)]
    map_ipv4: bool,
    /// Look up IPv6 addresses of these kinds as the IPv4 address they hold: mapped, 6to4, teredo,
    /// nat64, nat64=PREFIX, with commas between them, or none
    #[arg(long, value_name = "KINDS", conflicts_with = "map_ipv4")]
    embedded: Option<Embedded>,
    /// Leave out white space, brackets, a port, a zone and /32 or /128 around an address
    #[arg(long)]
    pub(crate) clean: bool,
}

impl Addresses {
    /// Returns the addresses that are looked up as IPv4 ones; `None` if the options do not say.
    pub(crate) fn asked(&self) -> Option<Embedded> {
        self.embedded.clone().or_else(|| self.map_ipv4.then(Embedded::mapped))
    }

    /// Returns what a text is that was found to be no address as it is.
    pub(crate) fn cleaned(&self, text: &[u8]) -> Found {
        if self.clean { clean(text) } else { Found::Invalid }
    }
}
