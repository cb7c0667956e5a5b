//! MRT applied to a table: dumps as they are, updates one after the other.

use super::builder::Builder;
use super::layouts::{Layout, Looks, Reader};
use super::{ReadOptions, Value};
use crate::mrt::{Events, Paths, PeerChoice};
use crate::{Damage, Place};
use fibula::NextHop;
use std::collections::HashMap;
use std::io::Read;

pub(super) const LAYOUT: Layout = Layout {
    looks: Looks::Begins(crate::mrt::looks_like),
    reader: Reader::Stream(read),
    writer: None,
    endings: &["mrt"],
};

fn read(input: &mut dyn Read, options: &ReadOptions, builder: &mut Builder) -> Result<(), Damage> {
    let choice = PeerChoice::parse(options.peer.as_deref()).map_err(|what| Damage::byte(0, what))?;
    let mut paths = Paths::new(choice, options.value);
    let mut end = 0;
    let mut events = Events::with(input, options.add_path).detailed(options.value == Value::Route);
    for event in &mut events {
        match event {
            Ok(event) => {
                end = event.offset;
                paths.play(&event, |_, _| {});
                builder.beside(Place::Byte(end), paths.bytes())?;
            }
            Err(damage) => builder.damaged(damage)?,
        }
    }
    builder.notes(events.report().notes.iter().cloned())?;
    finish(&paths, options.value, Place::Byte(end), builder)
}

/// Adds the best path of every prefix, or the origins of all.
pub(super) fn finish(paths: &Paths, value: Value, end: Place, builder: &mut Builder) -> Result<(), Damage> {
    if let Some(what) = paths.unmatched() {
        builder.damaged(Damage { place: end, what })?;
    }
    if value == Value::Origins {
        return paths
            .origins()
            .into_iter()
            .try_for_each(|(prefix, origins)| builder.route(end, prefix, origins));
    }
    // Next hops are numbered in the order of the table, without those of paths that did not win.
    let mut numbers: HashMap<u32, NextHop> = HashMap::new();
    for (prefix, value) in paths.best() {
        let next_hop = match numbers.get(&value) {
            Some(&next_hop) => next_hop,
            None => builder.intern(end, paths.value(value).clone())?,
        };
        numbers.insert(value, next_hop);
        builder.push(end, prefix, next_hop)?;
    }
    Ok(())
}
