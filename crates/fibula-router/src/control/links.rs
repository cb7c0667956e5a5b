//! What a batch says of links, neighbours and settings, and what the kernel's rules make of links.

use super::Control;
use crate::feed::Batch;
use crate::message::Rule;
use crate::plane::Plane;
use crate::routes::MAIN;
use fibula::Family;
use std::collections::HashSet;
use std::net::IpAddr;

impl<P: Plane> Control<P> {
    /// Takes what a batch says of links, stations, neighbours, settings, rules and BFD. Returns the
    /// neighbours that came or went.
    pub(super) fn follow_links(&mut self, batch: &mut Batch<Self>) -> Vec<IpAddr> {
        let have_links_changed = !batch.links.is_empty();
        for (index, link) in batch.links.drain() {
            self.adjacencies.set_link(index, link);
        }
        for (key, station) in batch.stations.drain() {
            self.adjacencies.set_station(key, station);
        }
        if have_links_changed {
            let without = self.adjacencies.links().filter(|(_, link)| link.ipv6_mtu.is_none());
            self.confs.set_without_ipv6(without.map(|(index, _)| index).collect());
        }
        if let Some(rules) = batch.rules.take() {
            self.follow_rules(Some(rules));
        } else if have_links_changed && !self.rules.is_empty() {
            self.follow_rules(None);
        }
        for (key, conf) in batch.confs.drain() {
            self.confs.set(key, conf);
        }
        let have_gateways_changed = batch.bfd.take().is_some_and(|bfd| self.adjacencies.set_gateways(bfd));
        if have_gateways_changed || (have_links_changed && self.adjacencies.has_held()) {
            self.next_hops.follow_gateways(&self.adjacencies);
        }
        let mut neighbours = Vec::new();
        for (key, neighbour) in batch.neighbours.drain() {
            if self.adjacencies.set_neighbour(key, neighbour) {
                neighbours.push(key.1);
            }
        }
        neighbours
    }

    /// Leaves packets that a rule may concern to the kernel. A rule that has a whole interface
    /// looked up in the table that it has here says nothing new, and ends what others say of it.
    fn follow_rules(&mut self, rules: Option<Vec<Rule>>) {
        if !self.settings.obeys_rules {
            return;
        }
        self.rules = rules.unwrap_or_else(|| std::mem::take(&mut self.rules));
        let mut ruled = HashSet::new();
        for (index, link) in self.adjacencies.links() {
            for family in [Family::Ipv4, Family::Ipv6] {
                let is_of_it = |rule: &&Rule| {
                    rule.ipv6 == (family == Family::Ipv6)
                        && rule.interface.as_ref().is_none_or(|name| *name == link.name)
                };
                let first = self.rules.iter().find(is_of_it);
                let table = self.settings.tables.get(&link.name).copied().unwrap_or(MAIN);
                if first.is_some_and(|rule| rule.table != Some(table) || rule.interface.is_none()) {
                    ruled.insert((index, family));
                }
            }
        }
        self.confs.set_ruled(ruled);
    }
}
