//! Reads the routes that a snapshot keeps.

use super::builder::Builder;
use crate::Damage;
use fibula::snapshot::Snapshot;
use fibula::{Address, Error, Family, Route};

/// Reads the routes of a snapshot.
pub(super) fn read(bytes: &[u8], builder: &mut Builder) -> Result<(), Damage> {
    let damage = |error: Error| Damage::byte(0, error.to_string());
    let snapshot = Snapshot::from_bytes(bytes).map_err(damage)?;
    builder.next_hops = snapshot.next_hops().map_err(damage)?;
    match snapshot.family() {
        Family::Ipv4 => builder.ipv4 = routes(&snapshot).map_err(damage)?,
        Family::Ipv6 => builder.ipv6 = routes(&snapshot).map_err(damage)?,
    }
    Ok(())
}

fn routes<A: Address>(snapshot: &Snapshot) -> Result<Vec<Route<A>>, Error> {
    Ok(snapshot.rib()?.iter().collect())
}
