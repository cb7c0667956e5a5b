//! [`AfXdp`]: a plane in user space. A small XDP program hands frames to AF_XDP sockets, a thread
//! of this process looks their addresses up by any engine, and they leave by sockets again.
//!
//! ```text
//! frame ─▶ XDP program ─┬─▶ socket ─▶ forwarding thread ─┬─▶ socket of the leaving interface
//!                       │     batches through an engine  ├─▶ hand-up thread ─▶ the kernel
//!                       │                                └─▶ dropped
//!                       └─▶ the kernel: whatever no route may forward, and local addresses
//! ```
//! `docs/router-sockets.md` says what is chosen and why.
//!
//! # Changes
//! A table is a [`Live`](fibula::live::Live) of fibula: an engine that can is changed in place, any
//! other is changed or built beside the one that packets are looked up in. Actions and adjacencies
//! are behind a lock, which the forwarding thread holds for the decisions of a batch and the
//! control's thread for one change. A batch is looked up first and decided after. So a next hop
//! that it found is known: its action was set before its route.
//!
//! A grace period ends with the batch that is handled when it begins.
//!
//! # Sockets
//! The crate `xdp` has the rings. It needs no C library. It does not bind a socket to the memory of
//! another (`XDP_SHARED_UMEM`), so each socket registers the same memory for itself (`ports.rs`).
//!
//! # Limits
//! One forwarding thread; frames of 1,784 bytes; 255 interfaces that packets come in by; next hops
//! from 65,536 on are not counted.

mod flow;
mod forwarder;
mod hand_up;
mod header;
mod lookups;
mod ports;
mod programs;
mod shared;

use super::cells::Cells;
use super::counters::{Count, Counts, Reason};
use super::ecmp::Ecmp;
use super::interfaces::Interface;
use super::own::Own;
use super::{Attachment, Mode, PORT_MAX};
use crate::Error;
use crate::plane::{Action, Adjacency, AdjacencyId, Counter, Plane, ReversePath, Routes, Rules};
use fibula::{ErrorKind, Limit, NextHop};
use forwarder::{Forwarder, Source};
use hand_up::HandUp;
use lookups::Lookups;
use ports::Ports;
use programs::{Hosts, Programs};
use shared::Shared;
use std::fs;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{self, JoinHandle};

/// What an AF_XDP plane is made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The interfaces that packets come in by.
    pub interfaces: Vec<Attachment>,
    /// How the program runs on them.
    pub mode: Mode,
    /// The specification of the engine, as in `poptrie`. A family that it does not know is looked
    /// up by the best one.
    pub engine: String,
    /// How flows are told apart.
    pub ecmp: Ecmp,
}

impl Options {
    /// Refuses what an interface asks for and this plane does not have.
    ///
    /// # Errors
    /// If there is something. The error names both.
    pub fn check(&self) -> Result<(), Error> {
        for Attachment { interface, tags, urpf, acl, .. } in &self.interfaces {
            let asked =
                [("VLANs", !tags.is_empty()), ("`urpf`", *urpf != ReversePath::Off), ("ACLs", acl.is_some())];
            if let Some((what, _)) = asked.into_iter().find(|asked| asked.1) {
                let text = format!("interface {interface}: the plane `af-xdp` has no {what}");
                return Err(fibula::Error::new(ErrorKind::Usage, text).into());
            }
        }
        Ok(())
    }
}

/// A neighbour that is resolved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Neighbour {
    interface: u32,
    source: [u8; 6],
    destination: [u8; 6],
    vlan: Option<u16>,
    mtu: u16,
}

impl Neighbour {
    fn of(adjacency: Adjacency) -> Option<Self> {
        let Adjacency::Resolved { interface, source, destination, vlan, mtu, .. } = adjacency else {
            return None;
        };
        Some(Self { interface, source, destination, vlan, mtu })
    }
}

/// A plane in user space. It forwards as long as it lives.
#[derive(Debug)]
pub struct AfXdp {
    options: Options,
    interfaces: Vec<Interface>,
    /// The number of queues of each interface.
    queues: Vec<u32>,
    lookups: Lookups,
    shared: Arc<Shared>,
    hosts: Hosts,
    programs: Arc<Programs>,
    /// What the program reads of the interfaces.
    words: Cells,
    own: Own,
    /// What the program reads of it.
    ours: Cells,
    forwarder: Option<JoinHandle<()>>,
    /// How many of the interfaces have the program.
    attached: usize,
    /// How each socket was bound.
    facts: Vec<String>,
}

/// Returns the number of queues that an interface receives by, as sysfs shows it; 1 where sysfs is
/// of another network namespace.
fn queues(name: &str) -> u32 {
    let entries = fs::read_dir(format!("/sys/class/net/{name}/queues")).into_iter().flatten().flatten();
    let receiving = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("rx-"));
    (receiving.count() as u32).max(1)
}

impl AfXdp {
    /// Prepares a plane: loads its programs, and attaches nothing yet.
    ///
    /// # Errors
    /// If an interface or the engine does not exist, there are more than 255 interfaces, one asks
    /// for what this plane does not have, or the kernel fails.
    pub fn open(options: Options) -> Result<Self, Error> {
        options.check()?;
        let max = u64::from(PORT_MAX);
        Limit::check("interfaces", options.interfaces.len() as u64, max).map_err(fibula::Error::from)?;
        let mut interfaces = Vec::with_capacity(options.interfaces.len());
        for (attachment, port) in options.interfaces.iter().zip(1..) {
            let interface = Interface::find(&attachment.interface, attachment.table)?;
            interfaces.push(Interface { port, ..interface });
        }
        let queues: Vec<u32> = interfaces.iter().map(|interface| queues(&interface.name)).collect();
        let firsts: Vec<u32> = (0..queues.len()).map(|at| queues[..at].iter().sum()).collect();
        let lookups = Lookups::new(interfaces.iter().map(|interface| interface.table), &options.engine)?;
        let sockets = queues.iter().sum();
        let (programs, hosts, [words, ours]) = Programs::load(&interfaces, &firsts, sockets, options.mode)?;
        Ok(Self {
            shared: Arc::new(Shared::new(interfaces.len(), options.ecmp)),
            programs: Arc::new(programs),
            words,
            own: Own::default(),
            ours,
            options,
            interfaces,
            queues,
            lookups,
            hosts,
            forwarder: None,
            attached: 0,
            facts: Vec::new(),
        })
    }

    /// Returns the name of each interface that packets come in by, and its counts.
    ///
    /// # Errors
    /// If the kernel fails.
    pub fn interface_counts(&self) -> Result<Vec<(&str, Counts)>, Error> {
        let mut rows = Vec::with_capacity(self.interfaces.len());
        for (at, interface) in self.interfaces.iter().enumerate() {
            let of_program = self.programs.of_port(interface.port)?;
            let here = self.shared.state().of_interface(at);
            let sum = |reason: usize| [of_program.of[reason], here.of[reason]].into_iter().sum();
            rows.push((interface.name.as_str(), Counts { of: std::array::from_fn(sum) }));
        }
        Ok(rows)
    }

    /// Opens the sockets and starts the forwarding thread. Until the program is attached no frame
    /// comes.
    fn forward(&mut self) -> Result<(), Error> {
        self.facts.clear();
        let indices = self.interfaces.iter().map(|interface| interface.index);
        let interfaces: Vec<(u32, u32)> = indices.zip(self.queues.iter().copied()).collect();
        let ports = Ports::open(&interfaces, self.options.mode == Mode::Generic)?;
        let mut sources = Vec::with_capacity(ports.len());
        for port in 0..ports.len() {
            let (index, queue, socket, is_zero_copy) = ports.about(port);
            let at = interfaces.iter().position(|of| of.0 == index).expect("it is one of these");
            sources.push(Source { interface: at, readers: at });
            let (name, how) = (&self.interfaces[at].name, if is_zero_copy { "zero copy" } else { "copies" });
            self.facts.push(format!("{name} queue {queue}: {} XDP, {how}", self.options.mode));
            self.programs.set_socket(port as u32, socket)?;
        }
        let readers = self.interfaces.iter().map(|interface| self.lookups.readers(interface.table));
        let readers = readers.map(|readers| readers.expect("each interface's table has been added"));
        let forwarder = Forwarder {
            ports,
            sources,
            readers: readers.collect(),
            shared: Arc::clone(&self.shared),
            hand_up: HandUp::start(Arc::clone(&self.programs))?,
            ecmp: self.options.ecmp,
        };
        let thread = thread::Builder::new().name("forward".into()).spawn(move || forwarder.run());
        self.forwarder = Some(thread.map_err(|error| Error::io("start a thread", error))?);
        Ok(())
    }
}

impl Plane for AfXdp {
    fn set_adjacency(&mut self, id: AdjacencyId, adjacency: Adjacency) -> Result<(), Error> {
        super::actions::check_id(id)?;
        self.shared.state().set_adjacency(id, adjacency);
        Ok(())
    }

    fn set_action(&mut self, next_hop: NextHop, action: &Action) -> Result<(), Error> {
        super::actions::check_next_hop(next_hop)?;
        if let Action::Forward(legs) | Action::ByKernel(legs) = action {
            super::actions::check(legs)?;
        }
        let is_of_kernel = matches!(action, Action::ToKernel | Action::ByKernel(_));
        self.shared.state().set_action(next_hop, action.clone());
        self.hosts.set_next_hop(next_hop, is_of_kernel)
    }

    fn apply(&mut self, table: u32, routes: Routes<'_>) -> Result<(), Error> {
        if !self.lookups.has(table) {
            return Ok(());
        }
        let shared = Arc::clone(&self.shared);
        let is_of_kernel = |next_hop| shared.state().is_of_kernel(next_hop);
        match routes {
            Routes::V4(_, deltas) => {
                self.lookups.apply4(table, deltas)?;
                self.hosts.follow(table, deltas, is_of_kernel);
            }
            Routes::V6(_, deltas) => {
                self.lookups.apply6(table, deltas)?;
                self.hosts.follow(table, deltas, is_of_kernel);
            }
        }
        Ok(())
    }

    fn set_own_address(&mut self, address: Ipv4Addr, is_own: bool) {
        let (index, word) = self.own.set(address, is_own);
        self.ours.store(index, std::iter::once(word));
    }

    fn set_rules(&mut self, interface: u32, rules: Rules) -> Result<(), Error> {
        let mut first = 0;
        for (it, queues) in self.interfaces.iter().zip(&self.queues) {
            if it.index == interface {
                self.words.store(Programs::place(it), Programs::words(it, first, rules).into_iter());
            }
            first += queues;
        }
        Ok(())
    }

    fn grace_period(&mut self) -> Result<(), Error> {
        let is_over = || self.forwarder.as_ref().is_none_or(JoinHandle::is_finished);
        self.shared.grace_period(is_over);
        Ok(())
    }

    fn start(&mut self) -> Result<(), Error> {
        if self.forwarder.is_none() {
            self.forward()?;
        }
        for interface in &self.interfaces[self.attached..] {
            self.programs.attach(interface, self.options.mode)?;
            self.attached += 1;
        }
        Ok(())
    }

    fn watch(&mut self) -> Vec<(String, Option<String>)> {
        let attached = &self.interfaces[..self.attached];
        let row = |interface: &Interface| {
            let wrong = match Interface::find(&interface.name, interface.table) {
                Ok(now) if (now.index, now.address) == (interface.index, interface.address) => None,
                Ok(_) => Some("it is another interface now: start the router again".into()),
                Err(error) => Some(error.to_string()),
            };
            (interface.name.clone(), wrong)
        };
        attached.iter().map(row).collect()
    }

    fn counters(&self) -> Result<Vec<Counter>, Error> {
        let counter = |name: &'static str, label: Option<String>, count: Count| Counter {
            name: name.into(),
            label,
            packets: count.packets,
            bytes: count.bytes,
        };
        let mut counters = Vec::new();
        for (interface, counts) in self.interface_counts()? {
            let of = |reason: Reason| counter(reason.name(), Some(interface.to_owned()), counts.of(reason));
            counters.extend(Reason::ALL.map(of));
        }
        let state = self.shared.state();
        let (lost, of_next_hops) = (Count { packets: state.lost, bytes: 0 }, state.of_next_hops());
        drop(state);
        let of_next_hops = of_next_hops.into_iter();
        counters.extend(of_next_hops.map(|(at, count)| counter("next_hop", Some(at.to_string()), count)));
        counters.push(counter("lost", None, lost));
        Ok(counters)
    }

    fn facts(&self) -> Vec<String> {
        let engine = format!("AF_XDP, engine {}", self.options.engine);
        std::iter::once(engine).chain(self.facts.iter().cloned()).collect()
    }
}

impl Drop for AfXdp {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        if let Some(forwarder) = self.forwarder.take() {
            // A panic there has been printed.
            let _ = forwarder.join();
        }
    }
}
