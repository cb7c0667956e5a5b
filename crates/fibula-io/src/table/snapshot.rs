//! Reads the routes that a snapshot keeps.

use super::builder::Builder;
use super::layouts::{Layout, Looks, Reader};
use crate::Damage;
use fibula::Error;
use fibula::snapshot::Snapshot;

pub(super) const LAYOUT: Layout = Layout {
    looks: Looks::Begins(|head| head.starts_with(&fibula::snapshot::MAGIC)),
    reader: Reader::Held(|bytes, _, builder| read(&bytes, builder)),
    writer: None,
    endings: &["fib"],
};

/// Reads the routes of a snapshot.
fn read(bytes: &[u8], builder: &mut Builder) -> Result<(), Damage> {
    let damage = |error: Error| Damage::byte(0, error.to_string());
    let snapshot = Snapshot::from_bytes(bytes).map_err(damage)?;
    builder.next_hops = snapshot.next_hops().map_err(damage)?;
    builder.ipv4 = snapshot.rib().map_err(damage)?.iter().collect();
    builder.ipv6 = snapshot.rib().map_err(damage)?.iter().collect();
    Ok(())
}
