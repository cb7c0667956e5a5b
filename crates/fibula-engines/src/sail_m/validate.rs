//! What must hold of tables that share an overlay.

use super::overlay::{Chunks, slot16};
use super::{CHUNK, NODES16, SailM};
use fibula::engine::Width;
use fibula::rib::Range;
use fibula::{Prefix, Rib};
use std::collections::BTreeMap;

/// See [`SailM::validate`].
pub(super) fn validate<W: Width>(engine: &SailM<W>, ribs: &[&Rib<u32>]) -> Result<(), String> {
    let overlay = &engine.overlay;
    let [chunks24, chunks32] = [overlay.below16.len(), overlay.below24.len()];
    let slots = [NODES16 + chunks24 * CHUNK, chunks32 * CHUNK];
    let had = (engine.tables.len(), overlay.slots());
    if had != (ribs.len(), slots[0]) {
        return Err(format!("{had:?} tables and bits, expected {:?}", (ribs.len(), slots[0])));
    }
    for (id, table) in engine.tables.iter().enumerate() {
        let had = [table.upper.len(), table.lower.len()];
        if had != slots {
            return Err(format!("{had:?} slots in N16 with N24 and N32 of table {id}, expected {slots:?}"));
        }
    }
    check_chunks(engine, &overlay.below16, ribs, 16)?;
    check_chunks(engine, &overlay.below24, ribs, 24)?;
    for (table, rib) in ribs.iter().enumerate() {
        rib.ranges().try_for_each(|range| check_range(engine, table, range))?;
    }
    Ok(())
}

/// Checks that exactly the nodes of a level that are internal in some table have a chunk, and that
/// it counts the routes there.
fn check_chunks<W: Width>(
    engine: &SailM<W>,
    chunks: &Chunks,
    ribs: &[&Rib<u32>],
    level: u8,
) -> Result<(), String> {
    let overlay = &engine.overlay;
    let mut routes: BTreeMap<u32, u32> = BTreeMap::new();
    for route in ribs.iter().flat_map(|rib| rib.iter()).filter(|route| route.prefix.len() > level) {
        *routes.entry(Prefix::containing(route.prefix.first(), level).first()).or_default() += 1;
    }
    let nodes = if level == 16 { 0..NODES16 } else { NODES16..overlay.slots() };
    let internal = overlay.internal(nodes.clone()).count();
    if (internal, chunks.len()) != (routes.len(), routes.len()) {
        let (chunks, routes) = (chunks.len(), routes.len());
        return Err(format!(
            "{internal} bits and {chunks} chunks for {routes} internal nodes of level {level}"
        ));
    }
    let speaks = |&slot: &usize| engine.tables.iter().any(|table| table.upper[slot] != W::default());
    if let Some(slot) = overlay.internal(nodes).find(speaks) {
        return Err(format!("a next hop at the internal slot {slot}"));
    }
    for (chunk, owner, counted) in chunks.iter() {
        let slot = if level == 16 { slot16(owner) } else { overlay.below(owner) };
        let hangs = !overlay.is_answered(slot) && overlay.chunk(slot) == chunk;
        if !hangs || routes.get(&owner) != Some(&counted) {
            let routes = routes.get(&owner);
            return Err(format!(
                "chunk {chunk} below level {level}: {counted} routes at {owner:#X}, {routes:?}"
            ));
        }
    }
    Ok(())
}

/// Checks that one table answers a range of addresses with its next hop.
fn check_range<W: Width>(engine: &SailM<W>, table: usize, range: Range<u32>) -> Result<(), String> {
    let mut wrong = None;
    engine.overlay.runs(range.first, range.last, |run| {
        let slots = engine.tables[table].slots(run.clone());
        if slots.iter().any(|next_hop| next_hop.widen() != range.next_hop) {
            wrong = Some(run);
        }
    });
    wrong.map_or(Ok(()), |run| Err(format!("table {table}, slots {run:?}: not all answer {range:?}")))
}
