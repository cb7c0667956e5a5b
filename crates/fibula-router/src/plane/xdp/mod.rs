//! [`Xdp`]: a plane in the kernel. A program at each interface forwards packets by tables that this
//! process writes.
//!
//! # The tables
//! A table is fibula's own in its plain form ([`fibula_image`]): a root, nodes, leaves and, for
//! IPv6, chains, here in array maps whose memory this process maps. The program's lookup is the
//! text that the oracle judges as `gpu-mosaic` and `gpu-mosaic6` (`bpf/tables.h`).
//!
//! ```text
//! this process                        │ the kernel
//! table ── patch ──▶ mapped memory ═══╪═══ map ◀── program ◀── packet
//!   └─ what was freed waits           │     root word ─▶ node ─▶ leaves ─▶ next hop
//! ```
//! A change writes new nodes, leaves and chains at indices that nothing points to, then each word
//! of the root by one store. So a packet sees a route as it was before or as it is after. What was
//! replaced may still be read by a program that runs. It is reused after a grace period.
//!
//! # Grace periods
//! An XDP program runs with bottom halves disabled, which is an RCU read-side critical section. The
//! kernel replaces a map in a map only together with `synchronize_rcu()`
//! (`maybe_wait_bpf_programs`), so that "userspace, when we return to it, knows that all programs
//! that could be running use the new map value". So the plane replaces one that no program reads,
//! and has waited. `membarrier(2)` waits the same way, but not on one processor and not where some
//! run without timer ticks. A grace period takes milliseconds and no processor time, so a thread
//! waits for it when a lot has been freed, and changes go on (`grace.rs`). They wait too only when
//! far too much has been freed, and when the plane is told to.
//!
//! # Generations
//! Maps cannot grow. A table that outgrows its map, and answers that get wider, make a new
//! generation: the program is loaded again with larger maps, they are filled, and each interface's
//! link is switched to it by one call. A process that takes over from another one does the same.
//! See `generation.rs` and `pins.rs`.
//!
//! # Limits
//! 2^26 next hops, adjacencies and buckets; 255 interfaces that packets come in by; next hops from
//! 65,536 on are not counted.

mod actions;
mod cells;
mod check;
mod counters;
mod drivers;
mod errors;
mod generation;
mod grace;
mod interfaces;
mod own;
mod pins;
mod probe;
pub mod sockets;
pub mod study;
mod tables;
mod watch;

pub use check::{Finding, check, check_sockets};
pub use counters::{Count, Counts, Reason};
pub use probe::{Probe, Verdict};

use super::{Action, Adjacency, AdjacencyId, Counter, Plane, ReversePath, Routes, Rules};
use crate::Error;
use crate::feed::kernel;
use crate::routes::MAIN;
use actions::{Actions, Adjacencies};
use counters::Counters;
use fibula::{Limit, NextHop};
use generation::{COUNTERS, Contents, Generation, Source};
use interfaces::Interface;
use own::Own;
use pins::Pins;
use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::net::Ipv4Addr;
use tables::Tables;

/// The compiled program; `cargo xtask bpf` makes it.
static ROUTER: &[u8] = aya::include_bytes_aligned!("../../../bpf/router.o");

/// The greatest port of an interface's counters.
const PORT_MAX: u16 = 255;

/// How many nodes, leaves, chains and ends of a table may wait for a grace period before the plane
/// begins one, and before changes wait for it too.
const WAITING: usize = 512;
const WAITING_MAX: usize = 16_384;

/// How the program runs on an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// In the driver, before the kernel makes anything of a packet.
    Native,
    /// In the kernel, after the driver, where that has no XDP. It is slower.
    Generic,
    /// Not at all: only [probes](Xdp::probe) meet the program. Nothing is pinned.
    Unattached,
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Native => "native",
            Self::Generic => "generic",
            Self::Unattached => "unattached",
        })
    }
}

/// An interface that packets come in by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attachment {
    /// Its name.
    pub interface: String,
    /// The id of the table that its packets are looked up in. 254 is the kernel's main one, or the
    /// one of the VRF that has the interface.
    pub table: u32,
    /// The VLAN whose packets these are, in the plane in the kernel: no tag for what has none (or a
    /// priority alone), an 802.1Q tag, or two tags with the outer one first. From 1 to 4094.
    pub tags: Vec<u16>,
    /// What sources its packets may have, in the plane in the kernel. Those of other packets are
    /// dropped, in both families.
    pub urpf: ReversePath,
}

impl Attachment {
    /// Returns an interface by its name, for the kernel's main table and any source.
    pub fn of(interface: impl Into<String>) -> Self {
        Self { interface: interface.into(), table: MAIN, tags: Vec::new(), urpf: ReversePath::Off }
    }
}

/// What a plane is made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The plane's name. A plane of the same name takes over from an earlier process.
    pub name: String,
    /// The interfaces that packets come in by.
    pub interfaces: Vec<Attachment>,
    /// How the program runs on them.
    pub mode: Mode,
}

/// A plane in the kernel.
///
/// Dropping it, and even killing the process, leaves the program forwarding by the last tables.
/// [`detach`](Self::detach) ends that.
#[derive(Debug)]
pub struct Xdp {
    options: Options,
    source: Source,
    pins: Pins,
    /// The port of each interface of the options.
    ports: Vec<u16>,
    interfaces: Vec<Interface>,
    /// Whether they have changed since what forwards was loaded.
    are_stale: bool,
    /// What the kernel forwards of interfaces, by their indices.
    rules: BTreeMap<u32, Rules>,
    own: Own,
    /// The ids of tables, in the order in which they are stored.
    ids: Vec<u32>,
    ipv4: Tables<u32>,
    ipv6: Tables<u128>,
    actions: Actions,
    adjacencies: Adjacencies,
    /// What the control told of each adjacency, and the longest packet that each interface can send.
    wanted: BTreeMap<AdjacencyId, Adjacency>,
    senders: BTreeMap<u32, u16>,
    /// What forwards, once the plane has been started.
    generation: Option<Generation>,
    /// Keeps other processes from having a plane of this name.
    lock: Option<File>,
}

impl Xdp {
    /// Prepares a plane. What an earlier process left behind goes on forwarding until
    /// [`start`](Plane::start).
    ///
    /// # Errors
    /// If an interface does not exist, there are more than 255, or the kernel fails.
    pub fn open(options: Options) -> Result<Self, Error> {
        let folder = Pins::new(&options.name)?.folder().to_owned();
        let pins = (options.mode != Mode::Unattached).then_some(folder);
        let source =
            Source { object: ROUTER, program: "router", sizes: Vec::new(), constants: Vec::new(), pins };
        Self::with_source(options, source)
    }

    fn with_source(options: Options, source: Source) -> Result<Self, Error> {
        let pins = Pins::new(&options.name)?;
        let lock = if options.mode == Mode::Unattached { None } else { Some(pins.create()?) };
        let pinned = if source.pins.is_some() { pins.links()? } else { Vec::new() };
        let links = kernel::links()?;
        let mut taken: Vec<u16> = pinned.iter().map(|link| link.port).collect();
        let mut ports = Vec::with_capacity(options.interfaces.len());
        for attachment in &options.interfaces {
            let failed = |wrong| {
                Error::io(format!("interface {}", attachment.interface), std::io::Error::other(wrong))
            };
            let devices = interfaces::resolve(&links, attachment).map_err(failed)?;
            // Its counters go on.
            let untagged = devices.iter().filter(|device| device.tags.is_empty());
            let known = untagged.filter_map(|device| {
                pinned.iter().find(|link| link.interface == device.index && link.port > 0)
            });
            let free = || (1..=PORT_MAX).find(|port| !taken.contains(port));
            let port = known.map(|link| link.port).next().or_else(free);
            let port = port.ok_or(Limit {
                what: "interfaces",
                had: options.interfaces.len() as u64,
                max: PORT_MAX.into(),
            });
            let port = port.map_err(fibula::Error::from)?;
            taken.push(port);
            ports.push(port);
        }
        let interfaces = interfaces::all(&options.interfaces, &ports, &links);
        let mut plane = Self {
            options,
            source,
            pins,
            ids: Vec::new(),
            ipv4: Tables::default(),
            ipv6: Tables::default(),
            actions: Actions::default(),
            adjacencies: Adjacencies::default(),
            generation: None,
            ports,
            interfaces,
            are_stale: false,
            rules: BTreeMap::new(),
            own: Own::default(),
            wanted: BTreeMap::new(),
            senders: BTreeMap::new(),
            lock,
        };
        for id in plane.interfaces.iter().map(|interface| interface.table).collect::<Vec<_>>() {
            plane.add_table(id)?;
        }
        Ok(plane)
    }

    /// Detaches the program of the plane of this name from all interfaces, and removes its
    /// counters. The kernel forwards packets as it would have without the plane.
    ///
    /// # Errors
    /// If the kernel fails, or the name can be no plane's.
    pub fn detach(name: &str) -> Result<(), Error> {
        Pins::new(name)?.remove()
    }

    /// Returns the name of each interface that packets come in by, and its counts since the plane
    /// was first attached.
    ///
    /// # Errors
    /// If the plane was never started, or the kernel fails.
    pub fn interface_counts(&self) -> Result<Vec<(String, Counts)>, Error> {
        let counters = self.counters()?;
        // The devices of a bridge or a bond have its port.
        let counted: BTreeMap<u16, &str> =
            self.interfaces.iter().map(|it| (it.port, it.label.as_str())).filter(|it| it.0 > 0).collect();
        counted.into_iter().map(|(port, label)| Ok((label.to_owned(), counters.of_port(port)?))).collect()
    }

    /// Returns the packets that left by a next hop since the plane was first attached; `None` if
    /// its packets are not counted.
    ///
    /// # Errors
    /// As [`interface_counts`](Self::interface_counts).
    pub fn next_hop_count(&self, next_hop: NextHop) -> Result<Option<Count>, Error> {
        self.counters()?.of_next_hop(next_hop.0)
    }

    fn counters(&self) -> Result<Counters<'_>, Error> {
        let [of_ports, of_next_hops] = COUNTERS;
        let generation = self.started()?;
        Ok(Counters { of_ports: generation.map(of_ports), of_next_hops: generation.map(of_next_hops) })
    }

    fn started(&self) -> Result<&Generation, Error> {
        let error = || std::io::Error::other("it was not started");
        self.generation.as_ref().ok_or_else(|| Error::System { what: "the plane".into(), error: error() })
    }

    /// Makes sure that there is a table of this id, and a place for it.
    fn add_table(&mut self, id: u32) -> Result<(), Error> {
        self.ipv4.add(id)?;
        self.ipv6.add(id)?;
        if !self.ids.contains(&id) {
            self.ids.push(id);
        }
        Ok(())
    }

    /// Loads a new generation with all there is, without showing it to packets.
    fn load(&self) -> Result<Generation, Error> {
        let contents = Contents {
            ipv4: &self.ipv4,
            ipv6: &self.ipv6,
            actions: &self.actions,
            adjacencies: &self.adjacencies,
            interfaces: &self.interfaces,
            rules: &self.rules,
            own: &self.own,
            ids: &self.ids,
        };
        Generation::new(&self.source, contents)
    }

    /// Replaces the generation that forwards by a new one, on all interfaces or on none.
    fn switch(&mut self) -> Result<(), Error> {
        let mut new = self.load()?;
        let program = new.program(self.source.program)?;
        if self.options.mode != Mode::Unattached {
            let attached: Vec<&Interface> = self.interfaces.iter().filter(|it| it.tags.is_empty()).collect();
            for (at, &interface) in attached.iter().enumerate() {
                let Err(error) = self.pins.attach(program, interface, self.options.mode) else { continue };
                // Those before go back to what they had. That has just worked, and if it does not
                // now, the error that came first says more.
                match &mut self.generation {
                    Some(old) => {
                        let old = old.program(self.source.program)?;
                        for &interface in &attached[..at] {
                            let _ = self.pins.attach(old, interface, self.options.mode);
                        }
                    }
                    None => {
                        let _ = self.pins.detach_all_but(&[]);
                    }
                }
                return Err(error);
            }
        }
        self.generation = Some(new);
        self.are_stale = false;
        Ok(())
    }

    /// Reuses what was replaced, once a grace period has ended. Begins one if a lot waits, and
    /// waits for it if far too much does.
    fn reclaim(&mut self) -> Result<(), Error> {
        let Some(generation) = &mut self.generation else { return Ok(()) };
        if generation.grace.has_ended()? {
            self.readers_passed();
        }
        match self.ipv4.waiting().max(self.ipv6.waiting()) {
            WAITING_MAX.. => self.grace_period(),
            WAITING.. => {
                self.generation.iter_mut().for_each(|generation| generation.grace.begin());
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Frees what was replaced before the call before; a grace period has passed since then.
    fn readers_passed(&mut self) {
        self.ipv4.readers_passed();
        self.ipv6.readers_passed();
        self.actions.readers_passed();
    }

    /// Switches to a new generation if a plane that forwards could not hold a change.
    fn grow_unless(&mut self, fitted: bool) -> Result<(), Error> {
        if fitted || self.generation.is_none() { Ok(()) } else { self.switch() }
    }
}

impl Plane for Xdp {
    fn set_adjacency(&mut self, id: AdjacencyId, adjacency: Adjacency) -> Result<(), Error> {
        self.wanted.insert(id, adjacency);
        let adjacency = self.sendable(adjacency);
        if self.generation.is_some() && self.adjacencies.is_settling(id) {
            self.grace_period()?;
        }
        if !self.adjacencies.set(id, adjacency)? {
            return Ok(());
        }
        let Some(generation) = &mut self.generation else { return Ok(()) };
        let interface = match adjacency {
            Adjacency::Resolved { interface, .. } => Some(interface),
            Adjacency::Unresolved => None,
        };
        let fitted = generation.write_adjacency(&self.adjacencies, id, interface)?;
        self.grow_unless(fitted)
    }

    fn set_action(&mut self, next_hop: NextHop, action: &Action) -> Result<(), Error> {
        let Some(written) = self.actions.set(next_hop, action)? else { return Ok(()) };
        let Some(generation) = &self.generation else { return Ok(()) };
        let fitted = generation.write_action(&self.actions, &written);
        self.grow_unless(fitted)
    }

    fn apply(&mut self, table: u32, routes: Routes<'_>) -> Result<(), Error> {
        self.add_table(table)?;
        let (is_ipv4, patch) = match routes {
            Routes::V4(rib, deltas) => (true, self.ipv4.apply(table, rib, deltas)?),
            Routes::V6(rib, deltas) => (false, self.ipv6.apply(table, rib, deltas)?),
        };
        let Some(generation) = &mut self.generation else {
            // No packet meets the tables yet.
            self.readers_passed();
            return Ok(());
        };
        let fitted = patch.is_some_and(|patch| generation.apply(is_ipv4, table, &patch));
        self.grow_unless(fitted)?;
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
        self.rules.insert(interface, rules);
        let Some(generation) = &mut self.generation else { return Ok(()) };
        if rules.reverse_path != ReversePath::Off && !generation.checks_sources {
            return self.switch();
        }
        let of_it = self.interfaces.iter().filter(|it| it.routed == interface && it.index > 0);
        of_it.into_iter().try_for_each(|it| generation.write_interface(it, &self.ids, rules))
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
        for next_hop in 1..self.actions.words().len() as u32 {
            if let Some(count) = self.next_hop_count(NextHop(next_hop))?.filter(|count| count.packets > 0) {
                counters.push(counter("next_hop", next_hop.to_string(), count));
            }
        }
        Ok(counters)
    }
}
