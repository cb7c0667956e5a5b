//! MRT applied to a table: dumps as they are, updates one after the other.

use super::ReadOptions;
use super::builder::Builder;
use crate::mrt::{Events, Paths, PeerChoice};
use crate::{Damage, Place};
use fibula::NextHop;
use std::collections::HashMap;
use std::io::Read;

pub(super) fn read(input: &mut dyn Read, options: &ReadOptions, builder: &mut Builder) -> Result<(), Damage> {
    let choice = PeerChoice::parse(options.peer.as_deref()).map_err(|what| Damage::byte(0, what))?;
    let mut paths = Paths::new(choice, options.value);
    let mut end = 0;
    for event in Events::new(input) {
        match event {
            Ok(event) => {
                end = event.offset;
                paths.play(&event, |_, _| {});
            }
            Err(damage) => builder.damaged(damage)?,
        }
    }
    if let Some(what) = paths.unmatched() {
        builder.damaged(Damage::byte(end, what))?;
    }
    // Next hops are numbered in the order of the table, without those of paths that did not win.
    let mut numbers: HashMap<u32, NextHop> = HashMap::new();
    for (prefix, value) in paths.best() {
        let next_hop = match numbers.get(&value) {
            Some(&next_hop) => next_hop,
            None => builder.intern(Place::Byte(end), paths.value(value).clone())?,
        };
        numbers.insert(value, next_hop);
        builder.push(prefix, next_hop);
    }
    Ok(())
}
