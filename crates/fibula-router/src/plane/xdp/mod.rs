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
//! # Refused steps
//! A step changes what this process knows, then the maps. If the kernel refuses, what is known goes
//! back to what it was. So the same step told again is a change again, and one that is not told
//! again is in no later generation.
//!
//! # Limits
//! 2^26 next hops, adjacencies and buckets; 255 interfaces that packets come in by; next hops from
//! 65,536 on are not counted.

mod acls;
mod actions;
mod cells;
mod check;
mod counters;
mod drivers;
mod ecmp;
mod errors;
mod faults;
mod filters;
mod forwarding;
mod generation;
mod grace;
mod inherited;
mod interfaces;
mod own;
mod payload;
mod pins;
mod probe;
#[cfg(test)]
mod refused;
pub mod study;
mod tables;
mod traces;
mod tunnels;
mod watch;

pub use check::{Finding, check};
pub use counters::{Count, Counts, Reason};
pub use ecmp::{Ecmp, Hashed};
pub use probe::{Probe, Verdict};
pub use tunnels::Tunnel;

use super::{Adjacency, AdjacencyId, Plane, ReversePath, Routes, Rules};
use crate::Error;
use crate::acl::Acl;
use crate::feed::kernel;
use crate::routes::MAIN;
use actions::{Actions, Adjacencies};
use counters::Counters;
use fibula::{Limit, NextHop};
use filters::Filters;
use generation::{COUNTERS, Contents, Generation, OF_LINES, Source};
use inherited::{ADJACENCIES, Inherited};
use interfaces::Interface;
use own::Own;
use pins::Pins;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs::File;
use tables::Tables;
use traces::Tracing;

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
    /// The VLAN whose packets these are: no tag for what has none (or a priority alone), an 802.1Q
    /// tag, or two tags with the outer one first. From 1 to 4094.
    pub tags: Vec<u16>,
    /// What sources its packets may have. Those of other packets are dropped, in both families.
    pub urpf: ReversePath,
    /// The index of its ACL among those of the [`Options`].
    pub acl: Option<u8>,
}

impl Attachment {
    /// Returns an interface by its name, for the kernel's main table and any packet.
    pub fn of(interface: impl Into<String>) -> Self {
        let (tags, urpf) = (Vec::new(), ReversePath::Off);
        Self { interface: interface.into(), table: MAIN, tags, urpf, acl: None }
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
    /// The ACLs that interfaces have.
    pub acls: Vec<Acl>,
    /// Of how many packets one is sampled; 0 for none.
    pub sample_rate: u32,
    /// How flows are told apart.
    pub ecmp: Ecmp,
    /// The tunnels whose packets are forwarded.
    pub tunnels: Vec<Tunnel>,
}

impl Options {
    /// Returns a plane without ACLs, samples and tunnels.
    #[must_use]
    pub fn new(name: impl Into<String>, interfaces: Vec<Attachment>, mode: Mode) -> Self {
        let (acls, tunnels, sample_rate, ecmp) = (Vec::new(), Vec::new(), 0, Ecmp::default());
        Self { name: name.into(), interfaces, mode, acls, sample_rate, ecmp, tunnels }
    }
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
    filters: Filters,
    /// The ids of tables, in the order in which they are stored.
    ids: Vec<u32>,
    ipv4: Tables<u32>,
    ipv6: Tables<u128>,
    actions: Actions,
    adjacencies: Adjacencies,
    /// What the control told of each adjacency, and the longest packet that each interface sends.
    wanted: BTreeMap<AdjacencyId, Adjacency>,
    senders: BTreeMap<u32, u16>,
    /// Adjacencies of interfaces that send otherwise now, until what forwards has it.
    unfollowed: BTreeSet<AdjacencyId>,
    /// What forwards, once the plane has been started.
    generation: Option<Generation>,
    /// What an earlier process left forwarding, until then.
    inherited: Option<Inherited>,
    /// How many there have been.
    generations: u64,
    /// The packets that somebody looks for.
    tracing: Option<Tracing>,
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
        let filters = Filters::new(options.acls.clone())?;
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
            inherited: None,
            generations: 0,
            tracing: None,
            ports,
            interfaces,
            are_stale: false,
            rules: BTreeMap::new(),
            own: Own::default(),
            filters,
            wanted: BTreeMap::new(),
            senders: BTreeMap::new(),
            unfollowed: BTreeSet::new(),
            lock,
        };
        if !pinned.is_empty() {
            plane.inherited = Inherited::open(&plane.pins)?;
        }
        plane.make_filters()?;
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

    /// Returns all that a generation is filled with.
    fn contents(&self) -> Contents<'_> {
        Contents {
            ipv4: &self.ipv4,
            ipv6: &self.ipv6,
            actions: &self.actions,
            adjacencies: &self.adjacencies,
            interfaces: &self.interfaces,
            rules: &self.rules,
            own: &self.own,
            filters: &self.filters,
            sample_rate: self.options.sample_rate,
            ecmp: self.options.ecmp,
            tunnels: &self.options.tunnels,
            ids: &self.ids,
        }
    }

    /// Loads a new generation with all there is, without showing it to packets.
    fn load(&self) -> Result<Generation, Error> {
        Generation::new(&self.source, self.contents())
    }

    /// Replaces the generation that forwards by a new one, on all interfaces or on none.
    fn switch(&mut self) -> Result<(), Error> {
        if let Some(old) = self.replace_generation()? {
            self.filters.carry(old.map(OF_LINES));
        }
        Ok(())
    }

    /// As [`switch`](Self::switch). Returns the generation that forwarded, if there was one.
    fn replace_generation(&mut self) -> Result<Option<Generation>, Error> {
        let mut new = self.load()?;
        self.look_on(&mut new)?;
        let name = self.program_name();
        let program = new.program(name)?;
        if self.options.mode != Mode::Unattached {
            let found = self.pins.links()?;
            let attached: Vec<&Interface> = self.interfaces.iter().filter(|it| it.tags.is_empty()).collect();
            for (at, &interface) in attached.iter().enumerate() {
                let Err(error) = self.pins.attach(program, interface, self.options.mode) else { continue };
                // Those before go back to what they had. That has just worked, and if it does not
                // now, the error that came first says more.
                match &mut self.generation {
                    Some(old) => {
                        let old = old.program(name)?;
                        for &interface in &attached[..at] {
                            let _ = self.pins.attach(old, interface, self.options.mode);
                        }
                    }
                    // What a process before this one left forwards, by its tables or by these.
                    None => {
                        let _ = self.pins.detach_new(&found);
                    }
                }
                return Err(error);
            }
        }
        if self.source.pins.is_some()
            && let Err(error) = self.pins.keep_map(ADJACENCIES, new.map(ADJACENCIES))
        {
            tracing::warn!("{error}: a router that takes over cannot follow neighbours before it forwards");
        }
        self.inherited = None;
        let mut old = self.generation.replace(new);
        self.are_stale = false;
        self.generations += 1;
        if let Some(old) = &mut old {
            self.keep_told(old);
        }
        Ok(old)
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

    /// Writes an adjacency to what forwards.
    fn write_adjacency(&mut self, id: AdjacencyId, adjacency: Adjacency) -> Result<(), Error> {
        let Some(generation) = &mut self.generation else { return Ok(()) };
        let interface = match adjacency {
            Adjacency::Resolved { interface, .. } => Some(interface),
            Adjacency::Unresolved { .. } => None,
        };
        let fitted = generation.write_adjacency(&self.adjacencies, id, interface)?;
        self.grow_unless(fitted)
    }

    /// Applies changes of a table, also to what forwards.
    fn apply_routes(&mut self, table: u32, routes: Routes<'_>) -> Result<(), Error> {
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
        self.grow_unless(fitted)
    }

    /// Switches to a new generation if a plane that forwards could not hold a change.
    fn grow_unless(&mut self, fitted: bool) -> Result<(), Error> {
        if fitted || self.generation.is_none() { Ok(()) } else { self.switch() }
    }
}
