//! [`Forwarder`]: the thread that forwards.
//!
//! ```text
//! socket ─▶ frames ─▶ headers ─▶ addresses ─▶ next hops ─▶ decisions ─┬─▶ written, by a socket
//!           a batch              of a family   in a batch              ├─▶ the kernel
//!                                                                      └─▶ dropped
//! ```

use super::Neighbour;
use super::hand_up::HandUp;
use super::header::{Destination, Header};
use super::lookups::Readers;
use super::ports::{BATCH, Ports};
use super::shared::{Shared, State};
use crate::plane::xdp::counters::Reason;
use crate::plane::xdp::ecmp::Ecmp;
use fibula::NextHop;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use xdp::Packet;
use xdp::slab::{HeapSlab, Slab};

/// Rounds without a packet before the thread waits for one.
const IDLE_ROUNDS: u32 = 64;

/// A socket that packets come in by, as the thread sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Source {
    /// The place of its interface among those that packets come in by.
    pub(super) interface: usize,
    /// The place of its table's readers.
    pub(super) readers: usize,
}

/// A packet of a batch.
struct Item {
    frame: Packet,
    header: Header,
}

/// What becomes of a packet.
enum Fate {
    Forward(usize, Neighbour),
    HandUp,
    Drop,
}

/// What the thread has.
pub(super) struct Forwarder {
    pub(super) ports: Ports,
    /// The first sockets are those that packets come in by, in the order of these.
    pub(super) sources: Vec<Source>,
    pub(super) readers: Vec<Readers>,
    pub(super) shared: Arc<Shared>,
    pub(super) hand_up: HandUp,
    pub(super) ecmp: Ecmp,
}

/// Memory of the thread that is used again in each batch.
struct Room {
    received: HeapSlab,
    items: Vec<Item>,
    fates: Vec<Fate>,
    ipv4: Vec<u32>,
    ipv6: Vec<u128>,
    next_hops4: Vec<NextHop>,
    next_hops6: Vec<NextHop>,
    /// The frames that leave by each socket.
    leaving: Vec<HeapSlab>,
}

impl Forwarder {
    /// Forwards until it is told to stop.
    pub(super) fn run(mut self) {
        let mut room = Room {
            received: HeapSlab::with_capacity(BATCH),
            items: Vec::with_capacity(BATCH),
            fates: Vec::with_capacity(BATCH),
            ipv4: Vec::with_capacity(BATCH),
            ipv6: Vec::with_capacity(BATCH),
            next_hops4: vec![NextHop::NONE; BATCH],
            next_hops6: vec![NextHop::NONE; BATCH],
            leaving: Vec::new(),
        };
        let (mut idle, mut refused) = (0, BTreeSet::new());
        while !self.shared.stop.load(Ordering::Relaxed) {
            self.open_leaving(&mut refused);
            room.leaving.resize_with(self.ports.len(), || HeapSlab::with_capacity(BATCH));
            let mut count = 0;
            for port in 0..self.sources.len() {
                self.shared.turn();
                count += self.batch(port, &mut room);
                self.shared.turn();
            }
            self.ports.turn_over();
            idle = if count > 0 { 0 } else { idle + 1 };
            if idle > IDLE_ROUNDS {
                self.ports.wait();
            }
        }
    }

    /// Opens sockets for interfaces that packets leave by. One that the kernel refuses is tried
    /// once: its packets go to the kernel.
    fn open_leaving(&mut self, refused: &mut BTreeSet<u32>) {
        let wanted = std::mem::take(&mut self.shared.state().leaving);
        for interface in wanted {
            if self.ports.leaving(interface, 0).is_none()
                && !refused.contains(&interface)
                && let Err(error) = self.ports.add(interface)
            {
                tracing::warn!("packets to interface {interface} go to the kernel: {error}");
                refused.insert(interface);
            }
        }
    }

    /// Handles the frames that came in by a socket. Returns their number.
    fn batch(&mut self, port: usize, room: &mut Room) -> usize {
        let count = self.ports.receive(port, &mut room.received);
        if count == 0 {
            return 0;
        }
        let (source, (interface, queue, ..)) = (self.sources[port], self.ports.about(port));
        while let Some(frame) = room.received.pop_back() {
            if let Some(header) = Header::read(&frame, self.ecmp) {
                room.items.push(Item { frame, header });
            } else {
                // The program lets none of these through.
                self.shared.state().count(source.interface, Reason::Malformed, frame.len());
                self.ports.free(frame);
            }
        }
        self.look_up(source, room);
        let mut state = self.shared.state();
        let (mut at4, mut at6) = (0, 0);
        for item in &room.items {
            let (next_hops, at) = match item.header.destination {
                Destination::V4(_) => (&room.next_hops4, &mut at4),
                Destination::V6(_) => (&room.next_hops6, &mut at6),
            };
            let next_hop = next_hops[*at];
            *at += 1;
            room.fates.push(fate(&mut state, &self.ports, source, queue, item, next_hop));
        }
        drop(state);
        let mut lost = 0;
        for (Item { mut frame, header }, fate) in room.items.drain(..).zip(room.fates.drain(..)) {
            match fate {
                Fate::Forward(port, neighbour)
                    if frame.adjust_tail(-header.excess(frame.len())).is_ok()
                        && frame.adjust_head(-header.growth(&neighbour)).is_ok() =>
                {
                    header.write(&mut frame, &neighbour);
                    if let Some(frame) = room.leaving[port].push_front(frame) {
                        self.ports.free(frame);
                    }
                }
                Fate::HandUp => {
                    lost += u64::from(!self.hand_up.take(interface, queue, &frame));
                    self.ports.free(frame);
                }
                Fate::Forward(..) | Fate::Drop => self.ports.free(frame),
            }
        }
        for (port, frames) in room.leaving.iter_mut().enumerate().filter(|(_, frames)| !frames.is_empty()) {
            lost += self.ports.send(port, frames) as u64;
        }
        if lost > 0 {
            self.shared.state().lost += lost;
        }
        count
    }

    /// Looks all destinations up, a batch of each family.
    fn look_up(&mut self, source: Source, room: &mut Room) {
        room.ipv4.clear();
        room.ipv6.clear();
        for item in &room.items {
            match item.header.destination {
                Destination::V4(address) => room.ipv4.push(address),
                Destination::V6(address) => room.ipv6.push(address),
            }
        }
        let readers = &mut self.readers[source.readers];
        if !room.ipv4.is_empty() {
            let next_hops = &mut room.next_hops4[..room.ipv4.len()];
            readers.ipv4.guard().lookup_batch(&room.ipv4, next_hops);
            // The next batch of this interface may come much later.
            readers.ipv4.rest();
        }
        if !room.ipv6.is_empty() {
            let next_hops = &mut room.next_hops6[..room.ipv6.len()];
            readers.ipv6.guard().lookup_batch(&room.ipv6, next_hops);
            readers.ipv6.rest();
        }
    }
}

/// Decides about a packet and counts it.
fn fate(
    state: &mut State,
    ports: &Ports,
    source: Source,
    queue: u32,
    item: &Item,
    next_hop: NextHop,
) -> Fate {
    let Item { frame, header } = item;
    let decided = state.decide(next_hop, header.flow).and_then(|neighbour| {
        let leaving = ports.leaving(neighbour.interface, queue);
        match leaving {
            _ if header.life <= 1 => Err(Reason::Expired),
            _ if header.length > neighbour.mtu.into() => Err(Reason::TooBig),
            Some(port) => Ok((port, neighbour)),
            None => Err(Reason::Unresolved),
        }
    });
    let reason = decided.err().unwrap_or(Reason::Forwarded);
    state.count(source.interface, reason, frame.len());
    match decided {
        Ok((port, neighbour)) => {
            state.count_next_hop(next_hop, frame.len());
            Fate::Forward(port, neighbour)
        }
        Err(Reason::Blackhole) => Fate::Drop,
        Err(_) => Fate::HandUp,
    }
}
