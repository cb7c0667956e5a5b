//! What happens to the interfaces while the plane forwards: they go, come back, get another MAC
//! address, lose the program, or no longer send what is redirected to them.

use super::drivers::longest_sent;
use super::{Mode, Xdp, interfaces};
use crate::Error;
use crate::feed::kernel;
use crate::plane::{Adjacency, Plane};
use std::path::Path;

impl Xdp {
    /// Attaches the program again where it is not, and returns what is wrong with each interface.
    pub(super) fn watched(&mut self) -> Vec<(String, Option<String>)> {
        if self.generation.is_none() || self.options.mode == Mode::Unattached {
            return Vec::new();
        }
        let all = self.find_again().and_then(|()| self.follow_senders());
        let name = self.program_name();
        let mut rows: Vec<(String, Option<String>)> = Vec::with_capacity(self.interfaces.len());
        for interface in &self.interfaces {
            let wrong = match (&interface.wrong, &all) {
                (Some(wrong), _) => Some(wrong.clone()),
                (None, Err(error)) => Some(error.to_string()),
                (None, Ok(())) if !interface.tags.is_empty() => None,
                (None, Ok(())) => {
                    let program = self.generation.as_mut().map(|it| it.program(name));
                    let attached = program.transpose().and_then(|program| match program {
                        Some(program) => self.pins.attach(program, interface, self.options.mode),
                        None => Ok(()),
                    });
                    attached.err().map(|error| error.to_string())
                }
            };
            match rows.iter_mut().find(|row| row.0 == interface.name) {
                Some(row) => row.1 = row.1.take().or(wrong),
                None => rows.push((interface.name.clone(), wrong)),
            }
        }
        rows
    }

    /// Finds the interfaces by their names again. If one is another now, all get a new generation.
    fn find_again(&mut self) -> Result<(), Error> {
        let found = interfaces::all(&self.options.interfaces, &self.ports, &kernel::links()?);
        if found != self.interfaces {
            tracing::warn!("interfaces have gone, come back or changed");
            found.iter().try_for_each(|interface| self.add_table(interface.table))?;
            (self.interfaces, self.are_stale) = (found, true);
        }
        if !Path::new(self.pins.folder()).exists() {
            // Somebody has detached the plane. Its counters begin again.
            self.lock = Some(self.pins.create()?);
            self.are_stale = true;
        }
        if self.are_stale {
            self.switch()?;
            self.pins.detach_all_but(&self.interfaces)?;
        }
        Ok(())
    }

    /// Returns what the program does for an adjacency: what its interface cannot send goes to the
    /// kernel.
    pub(super) fn sendable(&mut self, adjacency: Adjacency) -> Adjacency {
        let Adjacency::Resolved { interface, routed, source, destination, vlan, mtu } = adjacency else {
            return adjacency;
        };
        if self.options.mode != Mode::Native {
            return adjacency;
        }
        match *self.senders.entry(interface).or_insert_with(|| longest_sent(interface)) {
            0 => Adjacency::Unresolved { routed },
            longest => {
                Adjacency::Resolved { interface, routed, source, destination, vlan, mtu: mtu.min(longest) }
            }
        }
    }

    /// Asks again which interfaces can send. Packets to those that cannot go to the kernel.
    pub(super) fn follow_senders(&mut self) -> Result<(), Error> {
        if self.options.mode != Mode::Native {
            return Ok(());
        }
        let mut changed = Vec::new();
        for (&interface, longest) in &mut self.senders {
            let now = longest_sent(interface);
            if now != *longest {
                changed.push(interface);
                *longest = now;
            }
        }
        let is_of = |adjacency: &Adjacency| match adjacency {
            Adjacency::Resolved { interface, .. } => changed.contains(interface),
            Adjacency::Unresolved { .. } => false,
        };
        self.unfollowed.extend(self.wanted.iter().filter(|(_, it)| is_of(it)).map(|(&id, _)| id));
        while let Some(&id) = self.unfollowed.first() {
            if let Some(&adjacency) = self.wanted.get(&id) {
                self.set_adjacency(id, adjacency)?;
            }
            self.unfollowed.remove(&id);
        }
        Ok(())
    }
}
