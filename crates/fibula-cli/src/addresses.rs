//! The options for reading addresses, the same for every command that looks them up.

use clap::Args;
use fibula::Address;
use fibula_io::address::{Embedded, Found, Window, clean, find};
use std::net::IpAddr;

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

    /// Returns the address that a text is looked up as, if it is one.
    #[cfg_attr(not(feature = "enrich"), allow(dead_code, reason = "only records are read so"))]
    pub(crate) fn read(&self, text: &[u8]) -> Option<IpAddr> {
        let found = match find(Window::of(text)) {
            Found::Invalid => self.cleaned(text),
            found => found,
        };
        match (found, self.asked()) {
            (Found::Ipv6(address), Some(embedded)) => {
                Some(embedded.ipv4(address).map_or_else(|| address.to_ip(), Address::to_ip))
            }
            _ => found.ip(),
        }
    }

    /// Returns what a text is that was found to be no address as it is.
    pub(crate) fn cleaned(&self, text: &[u8]) -> Found {
        if self.clean { clean(text) } else { Found::Invalid }
    }
}
