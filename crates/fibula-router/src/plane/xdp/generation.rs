//! [`Generation`]: a copy of the program with maps of its own.
//!
//! Maps cannot grow, and a program cannot read other maps than those it was loaded with. So what
//! does not fit makes a new generation: the program is loaded again with larger maps, they are
//! filled, and each interface's link is switched to it by one call. A packet meets either all of
//! the old or all of the new.

use super::actions::{Actions, Adjacencies, Written};
use super::cells::{CELL, CELL_WORDS, Cells};
use super::ecmp::Ecmp;
use super::faults;
use super::filters::Filters;
use super::grace::Grace;
use super::interfaces::Interface;
use super::own::{self, Own};
use super::tables::{Family, Regions, Tables};
use super::traces::Ring;
use super::tunnels::{self, Tunnel};
use crate::Error;
use crate::plane::{AdjacencyId, ReversePath, Rules, Sample};
use aya::maps::{DevMap, HashMap, Map, MapData, PerCpuArray, RingBuf};
use aya::programs::Xdp;
use aya::{Ebpf, EbpfLoader};
use fibula_image::table::{PARTS, Patch};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
#[cfg(test)]
use std::ops::Range;
use std::path::PathBuf;

/// The maps whose counts outlive a generation.
pub(super) const COUNTERS: [&str; 2] = ["of_ports", "of_next_hops"];

/// The map of what is counted of the lines of ACLs.
pub(super) const OF_LINES: &str = "of_lines";

/// The room for samples that wait, in bytes.
const SAMPLES: u32 = 1 << 20;

/// The words of an interface in its map.
pub(super) const INTERFACE_WORDS: usize = 4;

/// An object with programs, and how it is loaded.
#[derive(Clone, Debug)]
pub(super) struct Source {
    /// The compiled object.
    pub(super) object: &'static [u8],
    /// The program of it that forwards.
    pub(super) program: &'static str,
    /// The numbers of elements of maps that are not the tables'.
    pub(super) sizes: Vec<(&'static str, u32)>,
    /// The values of constants.
    pub(super) constants: Vec<(&'static str, u32)>,
    /// The folder where counters are pinned.
    pub(super) pins: Option<PathBuf>,
}

/// What a generation is filled with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Contents<'c> {
    pub(super) ipv4: &'c Tables<u32>,
    pub(super) ipv6: &'c Tables<u128>,
    pub(super) actions: &'c Actions,
    pub(super) adjacencies: &'c Adjacencies,
    pub(super) interfaces: &'c [Interface],
    pub(super) rules: &'c BTreeMap<u32, Rules>,
    pub(super) own: &'c Own,
    pub(super) filters: &'c Filters,
    pub(super) sample_rate: u32,
    pub(super) ecmp: Ecmp,
    pub(super) tunnels: &'c [Tunnel],
    /// The ids of the tables, in the order in which they are stored.
    pub(super) ids: &'c [u32],
}

/// The tables of a family in the maps.
#[derive(Debug)]
struct Half {
    regions: Regions,
    maps: [Option<Cells>; PARTS],
}

impl Half {
    fn new<A: Family>(ebpf: &Ebpf, tables: &Tables<A>, regions: Regions) -> Result<Self, Error> {
        let mut maps = [const { None }; PARTS];
        for (part, map) in maps.iter_mut().enumerate().filter(|&(part, _)| !A::MAPS[part].is_empty()) {
            *map = Some(mapped(ebpf, A::MAPS[part], regions.end[part].max(1))?);
        }
        tables.fill(&regions, &maps);
        Ok(Self { regions, maps })
    }
}

/// A ring of samples.
struct Samples(RingBuf<MapData>);

impl fmt::Debug for Samples {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Samples").finish_non_exhaustive()
    }
}

/// A loaded program and its maps.
#[derive(Debug)]
pub(super) struct Generation {
    ebpf: Ebpf,
    ipv4: Half,
    ipv6: Half,
    actions: Cells,
    buckets: Cells,
    adjacencies: Cells,
    interfaces: Cells,
    /// The bits of this machine's addresses.
    ours: Cells,
    /// What waits for the programs that run.
    pub(super) grace: Grace,
    /// The interfaces that packets can be redirected to have lower indices.
    devices: u32,
    /// Where each VLAN is among the interfaces: behind the devices.
    vlans: BTreeMap<[u32; 2], u32>,
    /// Whether the program looks at sources.
    pub(super) checks_sources: bool,
    /// Where the program puts samples.
    samples: Samples,
    /// Where the program that traces puts traces, once somebody has asked for some.
    pub(super) traces: Option<Ring>,
}

impl Generation {
    /// Creates the maps and fills them. No program is loaded yet.
    pub(super) fn new(source: &Source, contents: Contents<'_>) -> Result<Self, Error> {
        faults::call("load the XDP program")?;
        let (ipv4, ipv6) = (contents.ipv4.regions(contents.ids)?, contents.ipv6.regions(contents.ids)?);
        let sent_by = contents.adjacencies.interfaces();
        let greatest = contents.interfaces.iter().map(|interface| interface.index).chain(sent_by).max();
        let devices = (greatest.unwrap_or_default() + 64).next_power_of_two();
        let words = |words: usize| (words.div_ceil(CELL_WORDS)) as u32;
        let vlans: BTreeMap<[u32; 2], u32> =
            contents.interfaces.iter().filter_map(Interface::vlan).zip(devices..).collect();
        let places = devices as usize + vlans.len();
        let sizes = [
            ("actions", words(with_room(contents.actions.words().len()))),
            ("buckets", words(with_room(contents.actions.buckets().len()))),
            ("adjacencies", with_room(contents.adjacencies.cells().len()) as u32),
            ("interfaces", words(places * INTERFACE_WORDS)),
            ("ours", words(own::WORDS)),
        ];
        let filters = contents.filters.sizes();
        let mut loader = EbpfLoader::new();
        for (name, size) in sizes.iter().chain(&filters).chain(&source.sizes).copied() {
            loader.map_max_entries(name, size);
        }
        loader.map_max_entries("devices", devices);
        loader.map_max_entries("vlans", (vlans.len() as u32).max(1));
        let has_vlans = u32::from(!vlans.is_empty());
        loader.override_global("has_vlans", &has_vlans, true);
        let checks_sources = contents.interfaces.iter().any(|interface| interface.urpf != ReversePath::Off)
            || contents.rules.values().any(|rules| rules.checks_sources());
        let has_checks = u32::from(checks_sources);
        loader.override_global("has_checks", &has_checks, true);
        loader.override_global("sample_rate", &contents.sample_rate, true);
        let tunnel_count = contents.tunnels.len() as u32;
        loader.map_max_entries("tunnels", tunnel_count.max(1));
        loader.override_global("has_tunnels", &tunnel_count, true);
        let (hashed, hash_mask) = (contents.ecmp.constants(), contents.ecmp.mask());
        for (name, value) in &hashed {
            loader.override_global(name, value, true);
        }
        loader.override_global("hash_mask", &hash_mask, true);
        // A ring without samples is a page.
        loader.map_max_entries("samples", if contents.sample_rate > 0 { SAMPLES } else { 4096 });
        let set_cells = contents.filters.set_cells();
        loader.override_global("set_cells", &set_cells, true);
        let parts = <u32 as Family>::MAPS.into_iter().zip(ipv4.end);
        for (name, cells) in parts.chain(<u128 as Family>::MAPS.into_iter().zip(ipv6.end)) {
            loader.map_max_entries(name, cells.max(1));
        }
        loader.override_global(<u32 as Family>::WIDTH, &ipv4.width, true);
        loader.override_global(<u128 as Family>::WIDTH, &ipv6.width, true);
        for (name, value) in &source.constants {
            loader.override_global(name, value, true);
        }
        if let Some(folder) = &source.pins {
            for name in COUNTERS {
                loader.map_pin_path(name, folder.join(name));
            }
        }
        let mut ebpf =
            loader.load(source.object).map_err(|error| Error::of_chain("load the XDP program", &error))?;
        let samples = ebpf.take_map("samples").expect("the object has this map");
        let samples = RingBuf::try_from(samples).map(Samples);
        let samples = samples.map_err(|error| Error::of_chain("read samples", &error))?;
        let grace = Grace::start(ebpf.take_map("grace").expect("the object has this map"))?;
        let [actions, buckets, adjacencies, interfaces, ours] =
            sizes.map(|(name, size)| mapped(&ebpf, name, size));
        let mut generation = Self {
            ipv4: Half::new(&ebpf, contents.ipv4, ipv4)?,
            ipv6: Half::new(&ebpf, contents.ipv6, ipv6)?,
            actions: actions?,
            buckets: buckets?,
            adjacencies: adjacencies?,
            interfaces: interfaces?,
            ours: ours?,
            grace,
            devices,
            vlans,
            checks_sources,
            samples,
            traces: None,
            ebpf,
        };
        generation.actions.store(0, contents.actions.words().iter().copied());
        generation.buckets.store(0, contents.actions.buckets().iter().copied());
        generation.adjacencies.store(0, contents.adjacencies.cells().as_flattened().iter().copied());
        let [(sets, set_count), (fields, field_count), _] = filters;
        let sets = mapped(&generation.ebpf, sets, set_count)?;
        contents.filters.fill(&sets, &mapped(&generation.ebpf, fields, field_count)?);
        generation.ours.store(0, contents.own.words());
        tunnels::fill(&mut generation, contents.tunnels)?;
        generation.fill_vlans()?;
        for interface in contents.adjacencies.interfaces().collect::<BTreeSet<_>>() {
            generation.add_device(interface)?;
        }
        // Others are not there at the moment.
        for interface in contents.interfaces.iter().filter(|interface| interface.index > 0) {
            let rules = contents.rules.get(&interface.routed).copied().unwrap_or_default();
            generation.write_interface(interface, contents.ids, rules);
        }
        Ok(generation)
    }

    /// Tells the program where VLANs are.
    fn fill_vlans(&mut self) -> Result<(), Error> {
        let failed = |error: aya::maps::MapError| Error::of_chain("write a VLAN", &error);
        let vlans = self.vlans.clone();
        let mut map = HashMap::<_, [u32; 2], u32>::try_from(self.map_mut("vlans")).map_err(failed)?;
        vlans.iter().try_for_each(|(key, place)| map.insert(key, place, 0)).map_err(failed)
    }

    /// Loads a program into the kernel, once, and returns it.
    pub(super) fn program(&mut self, name: &str) -> Result<&mut Xdp, Error> {
        let failed = |error: &(dyn std::error::Error + 'static)| {
            Error::of_chain(format!("load the XDP program {name}"), error)
        };
        let program = self.ebpf.program_mut(name).expect("the object has this program");
        let program: &mut Xdp = program.try_into().map_err(|error| failed(&error))?;
        if program.fd().is_err() {
            faults::call("load the XDP program")?;
            program.load().map_err(|error| failed(&error))?;
        }
        Ok(program)
    }

    /// Returns a program that is loaded.
    pub(super) fn loaded(&self, name: &str) -> &Xdp {
        let program = self.ebpf.program(name).and_then(|program| program.try_into().ok());
        program.expect("the object has this program")
    }

    /// Returns a map.
    pub(super) fn map(&self, name: &str) -> &Map {
        self.ebpf.map(name).expect("the object has this map")
    }

    /// Returns a map that somebody else has from now on.
    pub(super) fn take_map(&mut self, name: &str) -> Map {
        self.ebpf.take_map(name).expect("the object has this map")
    }

    /// Returns a map, to change it.
    pub(super) fn map_mut(&mut self, name: &str) -> &mut Map {
        self.ebpf.map_mut(name).expect("the object has this map")
    }

    /// Applies a patch to a table. Returns whether it fitted.
    pub(super) fn apply(&mut self, is_ipv4: bool, id: u32, patch: &Patch) -> bool {
        let half = if is_ipv4 { &mut self.ipv4 } else { &mut self.ipv6 };
        half.regions.apply(id, patch, &half.maps)
    }

    /// Writes an action. Returns whether it fitted.
    pub(super) fn write_action(&self, actions: &Actions, written: &Written) -> bool {
        let words = |cells: &Cells| cells.count() * CELL_WORDS;
        if written.action >= words(&self.actions) || written.buckets.end > words(&self.buckets) {
            return false;
        }
        let buckets = &actions.buckets()[written.buckets.clone()];
        self.buckets.store(written.buckets.start, buckets.iter().copied());
        self.actions.store(written.action, std::iter::once(actions.words()[written.action]));
        true
    }

    /// Writes a word of the bits of this machine's addresses.
    pub(super) fn write_own(&self, (index, word): (usize, u32)) {
        self.ours.store(index, std::iter::once(word));
    }

    /// Writes what the program reads of an interface. The ids are those of the tables, in the order
    /// in which they are stored.
    pub(super) fn write_interface(&self, interface: &Interface, ids: &[u32], rules: Rules) {
        let place = ids.iter().position(|id| *id == interface.table);
        let words = interface.words(place.expect("each interface's table has been added") as u32, rules);
        let place = match interface.vlan() {
            Some(key) => self.vlans.get(&key).copied(),
            None => Some(interface.index).filter(|&index| index < self.devices),
        };
        // One that has come since is in the next generation.
        if let Some(place) = place {
            self.interfaces.store(place as usize * INTERFACE_WORDS, words.into_iter());
        }
    }

    /// Writes an adjacency. Returns whether it fitted.
    pub(super) fn write_adjacency(
        &mut self,
        adjacencies: &Adjacencies,
        id: AdjacencyId,
        interface: Option<u32>,
    ) -> Result<bool, Error> {
        let index = id.0 as usize;
        if index >= self.adjacencies.count() || interface.is_some_and(|interface| interface >= self.devices) {
            return Ok(false);
        }
        if let Some(interface) = interface {
            self.add_device(interface)?;
        }
        let [current, rest @ ..] = adjacencies.cells()[index];
        self.adjacencies.store(index * CELL_WORDS + 1, rest.into_iter());
        self.adjacencies.store(index * CELL_WORDS, std::iter::once(current));
        Ok(true)
    }

    /// Returns the samples since the last call, and how many found no room.
    pub(super) fn samples(&mut self) -> Result<(Vec<Sample>, u64), Error> {
        let mut samples = Vec::new();
        while let Some(item) = self.samples.0.next() {
            let word = |at: usize| item.get(4 * at..)?.first_chunk().map(|bytes| u32::from_ne_bytes(*bytes));
            let (Some(interface), Some(bytes), Some(taken)) = (word(0), word(1), word(2)) else { continue };
            let frame = item.get(12..12 + taken as usize).unwrap_or_default().to_vec();
            samples.push(Sample { interface, bytes, frame });
        }
        let failed = |error: aya::maps::MapError| Error::of_chain("read samples", &error);
        let lost = PerCpuArray::<_, u64>::try_from(self.map("lost_samples")).map_err(failed)?;
        Ok((samples, lost.get(&0, 0).map_err(failed)?.iter().sum()))
    }

    /// Lets packets be redirected to an interface. Where it does not exist any more, packets to it
    /// go to the kernel.
    pub(super) fn add_device(&mut self, interface: u32) -> Result<(), Error> {
        let what = || format!("redirect packets to interface {interface}");
        faults::call("redirect packets")?;
        let devices = DevMap::try_from(self.map_mut("devices")).map(|mut devices| {
            devices.set(interface, interface, None, 0).map_err(|error| Error::of_chain(what(), &error))
        });
        match devices.map_err(|error| Error::of_chain(what(), &error))? {
            Err(Error::System { error, .. })
                if [Some(libc::EINVAL), Some(libc::ENODEV)].contains(&error.raw_os_error()) =>
            {
                Ok(())
            }
            other => other,
        }
    }
}

#[cfg(test)]
impl Generation {
    /// Returns the names of the maps whose bytes are not what they are filled with.
    pub(super) fn differences(&self, contents: Contents<'_>) -> Vec<&'static str> {
        let begins = |cells: &Cells, words: &[u32]| cells.load(words.len()) == words;
        let run = |&word: &u32| super::actions::run_of(word).unwrap_or_default();
        let buckets = self.buckets.load(contents.actions.buckets().len());
        let are_buckets = |run: Range<usize>| buckets[run.clone()] == contents.actions.buckets()[run];
        let rules =
            |interface: &Interface| contents.rules.get(&interface.routed).copied().unwrap_or_default();
        let is_interface = |interface: &Interface| {
            let place = interface.vlan().map_or(interface.index, |key| self.vlans[&key]) as usize;
            let table = contents.ids.iter().position(|id| *id == interface.table).unwrap();
            let words = interface.words(table as u32, rules(interface));
            self.interfaces.load((place + 1) * INTERFACE_WORDS)[place * INTERFACE_WORDS..] == words
        };
        let own: Vec<u32> = contents.own.words().collect();
        let found = [
            ("actions", begins(&self.actions, contents.actions.words())),
            ("buckets", contents.actions.words().iter().map(run).all(are_buckets)),
            ("adjacencies", begins(&self.adjacencies, contents.adjacencies.cells().as_flattened())),
            ("interfaces", contents.interfaces.iter().all(is_interface)),
            ("ours", begins(&self.ours, &own)),
            ("tables of IPv4", contents.ipv4.are_in(&self.ipv4.regions, &self.ipv4.maps)),
            ("tables of IPv6", contents.ipv6.are_in(&self.ipv6.regions, &self.ipv6.maps)),
        ];
        found.into_iter().filter(|found| !found.1).map(|found| found.0).collect()
    }
}

/// Maps the memory of a map of cells that only a study has.
pub(super) fn cells_of(generation: &Generation, name: &str, cells: u32) -> Result<Cells, Error> {
    mapped(&generation.ebpf, name, cells)
}

/// Returns `len` with room to grow.
fn with_room(len: usize) -> usize {
    len + len / 4 + 1024
}

/// Maps the memory of a map of cells.
pub(super) fn mapped(ebpf: &Ebpf, name: &str, cells: u32) -> Result<Cells, Error> {
    match ebpf.map(name) {
        Some(Map::Array(data)) => Cells::map(name, data, cells),
        _ => unreachable!("the object has the array {name} of {CELL}-byte cells"),
    }
}
