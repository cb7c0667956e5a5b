//! What happens to the interfaces while the plane forwards: they go, come back, get another MAC
//! address, lose the program, or no longer send what is redirected to them.

use super::drivers::can_send;
use super::interfaces::Interface;
use super::{Mode, Xdp};
use crate::Error;
use crate::plane::{Adjacency, AdjacencyId, Plane};
use std::path::Path;

impl Xdp {
    /// Attaches the program again where it is not, and returns what is wrong with each interface.
    pub(super) fn watched(&mut self) -> Vec<(String, Option<String>)> {
        if self.generation.is_none() || self.options.mode == Mode::Unattached {
            return Vec::new();
        }
        let all = self.find_again().and_then(|()| self.follow_senders());
        let mut rows = Vec::with_capacity(self.interfaces.len());
        for interface in self.interfaces.iter().filter(|interface| interface.tags.is_empty()) {
            let wrong = match (interface.index, &all) {
                (0, _) => Some("there is no interface of this name".into()),
                (_, Err(error)) => Some(error.to_string()),
                (_, Ok(())) => {
                    let program = self.generation.as_mut().map(|it| it.program(self.source.program));
                    let attached = program.transpose().and_then(|program| match program {
                        Some(program) => self.pins.attach(program, interface, self.options.mode),
                        None => Ok(()),
                    });
                    attached.err().map(|error| error.to_string())
                }
            };
            rows.push((interface.name.clone(), wrong));
        }
        rows
    }

    /// Finds the interfaces by their names again. If one is another now, all get a new generation.
    fn find_again(&mut self) -> Result<(), Error> {
        let mut has_changed = false;
        for interface in &mut self.interfaces {
            let found = Interface::find(&interface.name, interface.table).ok();
            let (index, address) = found.map_or((0, [0; 6]), |found| (found.index, found.address));
            if (index, address) != (interface.index, interface.address) {
                tracing::warn!("interface {} has gone, come back or changed its MAC address", interface.name);
                (interface.index, interface.address, has_changed) = (index, address, true);
            }
        }
        if !Path::new(self.pins.folder()).exists() {
            // Somebody has detached the plane. Its counters begin again.
            self.lock = Some(self.pins.create()?);
            has_changed = true;
        }
        if has_changed {
            self.switch()?;
            self.pins.detach_all_but(&self.interfaces)?;
        }
        Ok(())
    }

    /// Returns whether frames can be redirected to the interface of an adjacency.
    pub(super) fn sends(&mut self, adjacency: Adjacency) -> bool {
        let Adjacency::Resolved { interface, .. } = adjacency else { return true };
        let is_native = self.options.mode == Mode::Native;
        !is_native || *self.senders.entry(interface).or_insert_with(|| can_send(interface))
    }

    /// Asks again which interfaces can send. Packets to those that cannot go to the kernel.
    pub(super) fn follow_senders(&mut self) -> Result<(), Error> {
        if self.options.mode != Mode::Native {
            return Ok(());
        }
        let mut changed = Vec::new();
        for (&interface, can) in &mut self.senders {
            let now = can_send(interface);
            if now != *can {
                changed.push(interface);
                *can = now;
            }
        }
        let is_of = |adjacency: &Adjacency| match adjacency {
            Adjacency::Resolved { interface, .. } => changed.contains(interface),
            Adjacency::Unresolved => false,
        };
        let of_those: Vec<(AdjacencyId, Adjacency)> =
            self.wanted.iter().filter(|(_, it)| is_of(it)).map(|(&id, &it)| (id, it)).collect();
        of_those.into_iter().try_for_each(|(id, adjacency)| self.set_adjacency(id, adjacency))
    }
}
