//! MRT applied to a table: dumps as they are, updates one after the other.

use super::builder::{Builder, Kept};
use super::layouts::{Layout, Looks, Reader};
use super::{ReadOptions, Value};
use crate::mrt::{BEFORE_DUMP, Event, Events, Paths, PeerChoice, What};
use crate::{Damage, Place};
use fibula::NextHop;
use std::collections::HashMap;
use std::io::Read;
use std::time::Duration;

pub(super) const LAYOUT: Layout = Layout {
    looks: Looks::Begins(crate::mrt::looks_like),
    reader: Reader::Stream(read),
    writer: None,
    endings: &["mrt"],
};

fn read(input: &mut dyn Read, options: &ReadOptions, builder: &mut Builder) -> Result<(), Damage> {
    let mut replay = Replay::new(options, None)?;
    if builder.kept == Kept::Chosen {
        replay.paths.drop_what_dumps_do_not_choose();
    }
    replay.feed(input, options, builder)?;
    replay.finish(builder)
}

/// The events of one file after the other, applied to a table.
pub(super) struct Replay {
    paths: Paths,
    /// The offset of the last event.
    end: u64,
    /// The time after which events are not applied.
    until: Option<Duration>,
}

impl Replay {
    /// With a time `until`, later events are not applied.
    pub(super) fn new(options: &ReadOptions, until: Option<Duration>) -> Result<Self, Damage> {
        let choice = PeerChoice::parse(options.peer.as_deref()).map_err(|what| Damage::byte(0, what))?;
        Ok(Self { paths: Paths::new(choice, options.value), end: 0, until })
    }

    /// Applies the events of a file.
    pub(super) fn feed(
        &mut self,
        input: &mut dyn Read,
        options: &ReadOptions,
        builder: &mut Builder,
    ) -> Result<(), Damage> {
        let mut events = Events::with(input, options.add_path).detailed(options.value == Value::Route);
        for event in &mut events {
            match event {
                Ok(event) => {
                    self.end = event.offset;
                    let place = Place::Byte(event.offset);
                    if self.takes(&event)? && !self.paths.apply(&event) {
                        builder.left_out(place, BEFORE_DUMP)?;
                    }
                    if self.paths.lacks_some() {
                        builder.kept = Kept::TooFew;
                        return Err(Damage { place, what: "the dump is followed by changes of it".into() });
                    }
                    builder.beside(Place::Byte(self.end), self.paths.bytes())?;
                }
                Err(damage) => builder.damaged(damage)?,
            }
        }
        builder.notes(events.report().notes.iter().cloned())
    }

    /// Returns whether an event is one of those up to the time that is asked for.
    fn takes(&self, event: &Event) -> Result<bool, Damage> {
        let Some(until) = self.until.filter(|until| event.time > *until) else { return Ok(true) };
        if matches!(event.what, What::Announce { dumped: Some(_), .. }) {
            let (dumped, until) = (event.time.as_secs(), until.as_secs());
            let what = format!("the table was dumped at {dumped}, after the time {until} that is asked for");
            return Err(Damage::byte(event.offset, what));
        }
        Ok(false)
    }

    /// Adds what the events have left to the tables.
    pub(super) fn finish(&mut self, builder: &mut Builder) -> Result<(), Damage> {
        finish(&mut self.paths, Place::Byte(self.end), builder)
    }
}

/// Adds the answer for every prefix.
pub(super) fn finish(paths: &mut Paths, end: Place, builder: &mut Builder) -> Result<(), Damage> {
    if let Some(what) = paths.unmatched() {
        builder.damaged(Damage { place: end, what })?;
    }
    // Next hops are numbered in the order of the table, without those of paths that did not win.
    let mut numbers: HashMap<u32, NextHop> = HashMap::new();
    for (prefix, value) in paths.answers() {
        let next_hop = match numbers.get(&value) {
            Some(&next_hop) => next_hop,
            None => builder.intern(end, paths.value(value).clone())?,
        };
        numbers.insert(value, next_hop);
        builder.push(end, prefix, next_hop)?;
    }
    Ok(())
}
