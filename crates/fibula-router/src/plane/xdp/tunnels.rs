//! [`Tunnel`]: what IPIP and GRE carry to this machine.

use super::generation::Generation;
use crate::Error;
use aya::maps::HashMap;
use serde::Deserialize;
use std::net::Ipv4Addr;

/// A tunnel over IPv4 that ends here, by IPIP or GRE. The plane forwards the packets that it
/// carries to this machine, and sends none into it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tunnel {
    /// The address of this end.
    pub local: Ipv4Addr,
    /// The address of the other end.
    pub remote: Ipv4Addr,
}

/// Tells the program of tunnels.
pub(super) fn fill(generation: &mut Generation, tunnels: &[Tunnel]) -> Result<(), Error> {
    let failed = |error: aya::maps::MapError| Error::of_chain("write a tunnel", &error);
    let mut map = HashMap::<_, [[u8; 4]; 2], u32>::try_from(generation.map_mut("tunnels")).map_err(failed)?;
    let ends = |tunnel: &Tunnel| [tunnel.local.octets(), tunnel.remote.octets()];
    tunnels.iter().try_for_each(|tunnel| map.insert(ends(tunnel), 0, 0)).map_err(failed)
}
