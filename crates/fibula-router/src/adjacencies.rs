//! [`Adjacencies`]: links and neighbours, and what a packet needs to reach a neighbour.

use crate::Error;
use crate::feed::Stamped;
use crate::feed::bfd::Gateways;
use crate::message::{Kind, Link, Neighbour, Vlan};
use crate::plane::{Adjacency, AdjacencyId, Plane};
use crate::pool::Pool;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;

/// A neighbour by interface and address. Without an address it is the link itself: a destination
/// there, which the kernel must resolve.
pub(crate) type Neighbours = (u32, Option<IpAddr>);

/// How many links carry each other at most, as a VLAN on a bridge of VLANs does.
const DEPTH: usize = 4;

/// An adjacency in use.
#[derive(Debug)]
struct Entry {
    key: Neighbours,
    uses: u32,
    /// What the plane was told last.
    told: Option<Adjacency>,
    /// Whether the kernel was asked for it since it was known, or its link came up.
    is_asked: bool,
}

/// Links, neighbours and the adjacencies that next hops use.
///
/// A change of a neighbour costs one adjacency, and one of a link those of the link.
#[derive(Debug)]
pub(crate) struct Adjacencies {
    links: HashMap<u32, Stamped<Link>>,
    neighbours: BTreeMap<(IpAddr, u32), Stamped<Neighbour>>,
    /// The ports of stations, by bridge and MAC address.
    stations: HashMap<(u32, [u8; 6]), Stamped<u32>>,
    entries: Pool<Entry>,
    ids: HashMap<Neighbours, AdjacencyId>,
    /// Adjacencies that the plane may have to be told.
    changed: BTreeSet<AdjacencyId>,
    /// Whether that is any of them: a link or a station has changed.
    have_links_changed: bool,
    /// What BFD says; `None` if nobody follows it.
    gateways: Option<Gateways>,
}

impl Adjacencies {
    pub(crate) fn new() -> Self {
        Self {
            links: HashMap::new(),
            neighbours: BTreeMap::new(),
            stations: HashMap::new(),
            entries: Pool::new(0),
            ids: HashMap::new(),
            changed: BTreeSet::new(),
            have_links_changed: false,
            gateways: None,
        }
    }

    /// Sets or removes a link.
    pub(crate) fn set_link(&mut self, index: u32, link: Stamped<Option<Link>>) {
        let Stamped { session, value } = link;
        let before = match value {
            Some(value) => self
                .links
                .insert(index, Stamped { session, value: value.clone() })
                .is_none_or(|before| before.value != value),
            None => self.links.remove(&index).is_some(),
        };
        // Frames of one link leave by others: a VLAN's, a bridge's.
        self.have_links_changed |= before;
    }

    /// Sets or removes the port that leads to a station of a bridge.
    pub(crate) fn set_station(&mut self, key: (u32, [u8; 6]), port: Stamped<Option<u32>>) {
        let Stamped { session, value } = port;
        let was = match value {
            Some(value) => self.stations.insert(key, Stamped { session, value }),
            None => self.stations.remove(&key),
        };
        self.have_links_changed |= was.map(|was| was.value) != value;
    }

    /// Sets or removes a neighbour. Returns whether it came or went: one without a MAC address is
    /// none.
    pub(crate) fn set_neighbour(
        &mut self,
        (interface, address): (u32, IpAddr),
        neighbour: Stamped<Option<Neighbour>>,
    ) -> bool {
        let Stamped { session, value } = neighbour;
        let was = match value {
            Some(value) => self.neighbours.insert((address, interface), Stamped { session, value }),
            None => self.neighbours.remove(&(address, interface)),
        };
        self.changed.extend(self.ids.get(&(interface, Some(address))));
        let has_mac = |neighbour: Option<Neighbour>| neighbour.is_some_and(|it| it.mac.is_some());
        has_mac(was.map(|was| was.value)) != has_mac(value)
    }

    /// Removes the links, stations and neighbours that the kernel did not say again in a session.
    /// Returns the neighbours.
    pub(crate) fn sweep(&mut self, session: u32) -> Vec<(u32, IpAddr)> {
        let links: Vec<u32> =
            self.links.iter().filter(|(_, link)| link.session < session).map(|(&index, _)| index).collect();
        for index in links {
            self.set_link(index, Stamped { session, value: None });
        }
        let stations = self.stations.len();
        self.stations.retain(|_, port| port.session >= session);
        self.have_links_changed |= self.stations.len() != stations;
        let old = self.neighbours.iter().filter(|(_, neighbour)| neighbour.session < session);
        let old: Vec<(u32, IpAddr)> = old.map(|(&(address, interface), _)| (interface, address)).collect();
        for &key in &old {
            self.set_neighbour(key, Stamped { session, value: None });
        }
        old
    }

    /// Returns the neighbours whose addresses are from `first` to `last`, with their interfaces,
    /// those without a MAC address too. O(log n) and those found.
    pub(crate) fn neighbours_between(
        &self,
        first: IpAddr,
        last: IpAddr,
    ) -> impl Iterator<Item = (u32, IpAddr)> {
        self.neighbours
            .range((first, 0)..=(last, u32::MAX))
            .map(|(&(address, interface), _)| (interface, address))
    }

    /// Returns all neighbours.
    pub(crate) fn neighbours(&self) -> impl Iterator<Item = (u32, IpAddr)> {
        self.neighbours.keys().map(|&(address, interface)| (interface, address))
    }

    /// Sets what BFD says. Returns whether other gateways are held down now.
    pub(crate) fn set_gateways(&mut self, gateways: Gateways) -> bool {
        let before = self.gateways.replace(gateways).map(|before| before.held).unwrap_or_default();
        self.gateways.as_ref().is_some_and(|now| now.held != before)
    }

    /// Returns what BFD says.
    pub(crate) fn gateways(&self) -> Option<&Gateways> {
        self.gateways.as_ref()
    }

    /// Returns whether BFD holds any gateway down.
    pub(crate) fn has_held(&self) -> bool {
        self.gateways.as_ref().is_some_and(|gateways| !gateways.held.is_empty())
    }

    /// Returns whether BFD holds a gateway down: no packet may be sent there.
    pub(crate) fn is_held(&self, (interface, address): Neighbours) -> bool {
        let (Some(gateways), Some(address)) = (&self.gateways, address) else { return false };
        // First the one on any interface.
        let of_it = gateways.held.range((address, None)..).take_while(|gateway| gateway.0 == address);
        let is_here = |name: &String| self.links.get(&interface).is_some_and(|link| link.value.name == *name);
        of_it.map(|gateway| &gateway.1).any(|name| name.as_ref().is_none_or(is_here))
    }

    /// Returns whether a neighbour is known, with its MAC address.
    pub(crate) fn has_neighbour(&self, interface: u32, address: IpAddr) -> bool {
        self.neighbours.get(&(address, interface)).is_some_and(|neighbour| neighbour.value.mac.is_some())
    }

    /// Returns the links by their indices.
    pub(crate) fn links(&self) -> impl Iterator<Item = (u32, &Link)> {
        self.links.iter().map(|(&index, link)| (index, &link.value))
    }

    /// Returns the name of a link, or its index where it is not known.
    pub(crate) fn link_name(&self, index: u32) -> String {
        self.links.get(&index).map_or_else(|| index.to_string(), |link| link.value.name.clone())
    }

    /// Returns whether the kernel uses routes by a link: it is enabled, or not known.
    pub(crate) fn is_enabled(&self, index: u32) -> bool {
        self.links.get(&index).is_none_or(|link| link.value.is_enabled)
    }

    /// Returns the adjacencies that the plane needs and the kernel must ask for: it has not heard
    /// of them for a while, or does not know them and was not asked yet. One that does not answer
    /// is not asked again: the kernel gets its packets, and asks by itself.
    pub(crate) fn take_questions(&mut self) -> Vec<(u32, IpAddr)> {
        let mut found = Vec::new();
        for entry in self.entries.iter_mut() {
            let (interface, Some(address)) = entry.key else { continue };
            if !self.links.get(&interface).is_some_and(|link| link.value.is_up) {
                entry.is_asked = false;
                continue;
            }
            let neighbour = self.neighbours.get(&(address, interface)).map(|neighbour| neighbour.value);
            let is_known = neighbour.is_some_and(|neighbour| neighbour.mac.is_some());
            if neighbour.is_some_and(|neighbour| is_known && neighbour.is_stale)
                || (!is_known && !entry.is_asked)
            {
                found.push((interface, address));
            }
            entry.is_asked = !is_known;
        }
        found
    }

    /// Returns the adjacency of a neighbour, which has one use more now.
    pub(crate) fn acquire(&mut self, key: Neighbours) -> AdjacencyId {
        let entries = &mut self.entries;
        let id = *self.ids.entry(key).or_insert_with(|| {
            AdjacencyId(entries.insert(Entry { key, uses: 0, told: None, is_asked: false }))
        });
        if let Some(entry) = self.entries.get_mut(id.0) {
            entry.uses += 1;
            if entry.told.is_none() {
                self.changed.insert(id);
            }
        }
        id
    }

    /// Ends one use of an adjacency.
    pub(crate) fn release(&mut self, id: AdjacencyId) {
        let Some(entry) = self.entries.get_mut(id.0) else { return };
        entry.uses -= 1;
        if entry.uses == 0 {
            self.ids.remove(&entry.key);
            self.changed.remove(&id);
            self.entries.remove(id.0);
        }
    }

    /// Returns the neighbour of an adjacency.
    pub(crate) fn key(&self, id: AdjacencyId) -> Option<Neighbours> {
        self.entries.get(id.0).map(|entry| entry.key)
    }

    /// Returns what a packet needs to reach a neighbour.
    pub(crate) fn resolve(&self, (interface, address): Neighbours) -> Adjacency {
        self.find(interface, address).unwrap_or(Adjacency::Unresolved { routed: interface })
    }

    fn find(&self, interface: u32, address: Option<IpAddr>) -> Option<Adjacency> {
        let link = &self.links.get(&interface)?.value;
        let destination = self.neighbours.get(&(address?, interface))?.value.mac?;
        let (mut sender, mut vlan, mut mtu) = (interface, None, link.mtu);
        if address.is_some_and(|address| address.is_ipv6()) {
            mtu = mtu.min(link.ipv6_mtu?);
        }
        for _ in 0..DEPTH {
            let carrier = &self.links.get(&sender)?.value;
            if !carrier.is_up {
                return None;
            }
            mtu = mtu.min(carrier.mtu);
            sender = match carrier.kind {
                Kind::Vlan(Vlan { parent, id }) if vlan.is_none() => {
                    vlan = Some(id);
                    parent
                }
                Kind::Bridge { has_vlans: false } => self.stations.get(&(sender, destination))?.value,
                Kind::Device | Kind::Bond => {
                    let mtu = mtu.min(u16::MAX.into()) as u16;
                    return Some(Adjacency::Resolved {
                        interface: sender,
                        routed: interface,
                        source: link.mac?,
                        destination,
                        vlan,
                        mtu,
                    });
                }
                _ => return None,
            };
        }
        None
    }

    /// Returns whether any neighbour is reached as an adjacency says. O(neighbours).
    pub(crate) fn is_there(&self, adjacency: &Adjacency) -> bool {
        let told = |adjacency: &Adjacency| match *adjacency {
            Adjacency::Resolved { interface, routed, source, destination, vlan, .. } => {
                Some((interface, routed, source, destination, vlan))
            }
            Adjacency::Unresolved { .. } => None,
        };
        self.neighbours().any(|(interface, address)| {
            self.find(interface, Some(address)).is_some_and(|now| told(&now) == told(adjacency))
        })
    }

    /// Tells the plane what changed.
    pub(crate) fn tell(&mut self, plane: &mut impl Plane) -> Result<(), Error> {
        if std::mem::take(&mut self.have_links_changed) {
            self.changed.extend(self.ids.values());
        }
        while let Some(&id) = self.changed.first() {
            let now = self.key(id).map(|key| self.resolve(key));
            if let (Some(now), Some(entry)) = (now, self.entries.get_mut(id.0))
                && entry.told != Some(now)
            {
                plane.set_adjacency(id, now)?;
                entry.told = Some(now);
            }
            self.changed.remove(&id);
        }
        Ok(())
    }

    /// Returns the number of adjacencies.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns the number of adjacencies whose neighbours' MAC addresses are not known.
    pub(crate) fn unresolved(&self) -> usize {
        let unresolved = |entry: &Entry| !matches!(entry.told, Some(Adjacency::Resolved { .. }));
        self.entries.iter().filter(|(_, entry)| unresolved(entry)).count()
    }

    /// Returns the number of neighbours.
    pub(crate) fn neighbour_count(&self) -> usize {
        self.neighbours.len()
    }

    /// Returns the number of indices that wait for a grace period.
    pub(crate) fn retired(&self) -> usize {
        self.entries.retired()
    }

    /// Frees the indices that waited: a grace period has ended.
    pub(crate) fn recycle(&mut self) {
        self.entries.recycle();
    }
}
