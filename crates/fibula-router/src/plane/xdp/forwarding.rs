//! What the control tells the plane, and what it asks.

use super::counters::{self, Count, Reason};
use super::generation::{COUNTERS, Generation, OF_LINES};
use super::{Mode, Xdp};
use crate::Error;
use crate::acl::Acl;
use crate::plane::{Action, Adjacency, AdjacencyId, Counter, Plane, Routes, Rules, Sample, Trace, Wanted};
use fibula::NextHop;
use std::net::Ipv4Addr;

impl Plane for Xdp {
    fn set_adjacency(&mut self, id: AdjacencyId, adjacency: Adjacency) -> Result<(), Error> {
        let sendable = self.sendable(adjacency);
        if self.generation.is_some() && self.adjacencies.is_settling(id) {
            self.grace_period()?;
        }
        if let Some(before) = self.adjacencies.set(id, sendable)? {
            let written = self.write_adjacency(id, sendable);
            if written.is_err() {
                self.adjacencies.take_back(&before);
            }
            written?;
        }
        self.wanted.insert(id, adjacency);
        Ok(())
    }

    fn set_action(&mut self, next_hop: NextHop, action: &Action) -> Result<(), Error> {
        let Some(written) = self.actions.set(next_hop, action)? else { return Ok(()) };
        let fitted = self.generation.as_ref().is_none_or(|it| it.write_action(&self.actions, &written));
        let taken = self.grow_unless(fitted);
        self.actions.settle(written, taken.is_ok());
        taken
    }

    fn apply(&mut self, table: u32, routes: Routes<'_>) -> Result<(), Error> {
        self.add_table(table)?;
        let applied = self.apply_routes(table, routes);
        if applied.is_err() {
            let taken_back = match routes {
                Routes::V4(rib, deltas) => self.ipv4.take_back(table, rib, deltas),
                Routes::V6(rib, deltas) => self.ipv6.take_back(table, rib, deltas),
            };
            if let Err(error) = taken_back {
                tracing::error!("table {table} has routes that were refused: {error}");
            }
        }
        applied?;
        if let Err(error) = self.reclaim() {
            // The change is made. What was replaced goes on waiting.
            tracing::error!("{error}");
        }
        Ok(())
    }

    fn set_own_address(&mut self, address: Ipv4Addr, is_own: bool) {
        let word = self.own.set(address, is_own);
        self.generation.iter().for_each(|generation| generation.write_own(word));
    }

    fn set_rules(&mut self, interface: u32, rules: Rules) -> Result<(), Error> {
        let before = self.rules.insert(interface, rules);
        let Some(generation) = &self.generation else { return Ok(()) };
        if !rules.checks_sources() || generation.checks_sources {
            let of_it = self.interfaces.iter().filter(|it| it.routed == interface && it.index > 0);
            of_it.into_iter().for_each(|it| generation.write_interface(it, &self.ids, rules));
            return Ok(());
        }
        let taken = self.switch();
        if taken.is_err() {
            self.rules.remove(&interface);
            self.rules.extend(before.map(|before| (interface, before)));
        }
        taken
    }

    fn set_acls(&mut self, acls: Vec<Acl>) -> Result<(), Error> {
        self.replace_acls(acls)
    }

    fn grace_period(&mut self) -> Result<(), Error> {
        if let Some(generation) = &mut self.generation {
            generation.grace.wait()?;
        }
        // The first frees what was replaced before the call before, the second the rest.
        self.readers_passed();
        self.readers_passed();
        self.adjacencies.readers_passed();
        Ok(())
    }

    fn start(&mut self) -> Result<(), Error> {
        if self.options.mode == Mode::Unattached {
            return self.switch();
        }
        let links = self.pins.links()?;
        self.switch()?;
        let generation = self.generation.as_mut().expect("it has just been made");
        for interface in &self.interfaces {
            if !links.iter().any(|link| link.port == interface.port) {
                counters::clear(generation.map_mut(COUNTERS[0]), interface.port)?;
            }
        }
        self.pins.detach_all_but(&self.interfaces)?;
        // A veth can send once it has a program.
        self.follow_senders()
    }

    fn follow_inherited(&mut self, is_there: &dyn Fn(&Adjacency) -> bool) {
        self.inherited.iter().for_each(|inherited| inherited.follow(is_there));
    }

    fn remember(&mut self, routes: usize) {
        if let Err(error) = self.pins.remember(routes) {
            tracing::warn!("{error}");
        }
    }

    fn remembered(&self) -> usize {
        self.pins.remembered()
    }

    fn watch(&mut self) -> Vec<(String, Option<String>)> {
        self.watched()
    }

    fn samples(&mut self) -> Result<(Vec<Sample>, u64), Error> {
        self.generation.as_mut().map_or_else(|| Ok((Vec::new(), 0)), Generation::samples)
    }

    fn look_for(&mut self, wanted: Option<&Wanted>) -> Result<(), Error> {
        self.set_traced(wanted)
    }

    fn traces(&mut self) -> Result<(Vec<Trace>, u64), Error> {
        self.told()
    }

    fn generation(&self) -> u64 {
        self.generations
    }

    fn facts(&self) -> Vec<String> {
        let cannot = self.senders.iter().filter(|(_, longest)| **longest == 0);
        cannot
            .map(|(index, _)| format!("interface {index} takes no redirected frames: the kernel sends them"))
            .collect()
    }

    /// Returns the packets of each interface by [`Reason`], and those that left by each next hop,
    /// where there were any.
    fn counters(&self) -> Result<Vec<Counter>, Error> {
        let counter = |name: &'static str, label: String, count: Count| Counter {
            name: name.into(),
            label: Some(label),
            packets: count.packets,
            bytes: count.bytes,
        };
        let mut counters = Vec::new();
        if self.generation.is_none() {
            return Ok(counters);
        }
        for (interface, counts) in self.interface_counts()? {
            let of = |reason: Reason| counter(reason.name(), interface.clone(), counts.of(reason));
            counters.extend(Reason::ALL.map(of));
        }
        let lines = self.filters.rows(self.started()?.map(OF_LINES))?;
        counters.extend(lines.into_iter().map(|(line, count)| counter("acl", line, count)));
        for next_hop in 1..self.actions.words().len() as u32 {
            if let Some(count) = self.next_hop_count(NextHop(next_hop))?.filter(|count| count.packets > 0) {
                counters.push(counter("next_hop", next_hop.to_string(), count));
            }
        }
        Ok(counters)
    }
}
