//! [`Port`]: an AF_XDP socket of one queue of an interface, and its four rings.
//!
//! All sockets register the same memory, each for itself. To the kernel these are different
//! UMEMs, but a frame has the same offset in each: one that a socket received is sent by another
//! without a copy in this process.
#![allow(unsafe_code, reason = "frames are in memory that the kernel writes too")]

use crate::Error;
use hashbrown::HashMap;
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::net::SendFlags;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::time::Duration;
use xdp::nic::NicIndex;
use xdp::slab::{HeapSlab, Slab};
use xdp::socket::{SocketError, XdpSocket, XdpSocketBuilder};
use xdp::umem::{FrameSize, UmemCfgBuilder};
use xdp::{CompletionRing, FillRing, Packet, RingConfigBuilder, RxRing, TxRing, Umem};

/// The descriptors of a ring.
const RING: u32 = 2048;

/// The room that a frame may grow by at its beginning: a VLAN tag, and some to spare.
const HEAD_ROOM: u32 = 8;

/// The longest frame that a socket takes: what the kernel keeps before a frame is 256 bytes.
pub(super) const LONGEST: u32 = 2048 - 256 - HEAD_ROOM;

/// The frames that are handled at once, at most.
pub(super) const BATCH: usize = 64;

/// The memory of all frames, and the sockets that share it.
pub(super) struct Ports {
    // Dropped first: the memory outlives the sockets.
    sockets: Vec<Port>,
    umem: Umem,
    /// The first socket of each interface and their number: one a queue, in order.
    of_interfaces: HashMap<u32, (usize, u32)>,
}

/// A socket and its rings.
struct Port {
    interface: u32,
    queue: u32,
    is_zero_copy: bool,
    socket: XdpSocket,
    fill: FillRing,
    /// `None` if packets only leave by it.
    receive: Option<RxRing>,
    transmit: TxRing,
    completion: CompletionRing,
    /// Frames that the kernel has for packets that come in.
    filled: usize,
    /// Frames that the kernel has not yet sent.
    under_way: usize,
    /// Whether the kernel has not yet looked at all frames in the ring.
    is_left: bool,
}

fn failed(what: &str, interface: u32, error: SocketError) -> Error {
    let error = match error {
        SocketError::SocketCreation(error) | SocketError::Bind(error) => error,
        SocketError::SetSockOpt { inner, .. }
        | SocketError::GetSockOpt { inner, .. }
        | SocketError::RingMap { inner, .. } => inner,
    };
    Error::System { what: format!("{what} of interface {interface}"), error }
}

fn open(umem: &Umem, interface: u32, queue: u32, receives: bool, zero_copy: bool) -> Result<Port, Error> {
    let failed = |error| failed("AF_XDP socket", interface, error);
    let rings = RingConfigBuilder {
        rx_count: if receives { RING } else { 0 },
        tx_count: RING,
        fill_count: RING,
        completion_count: RING,
    };
    let rings = rings.build().expect("the counts are powers of two");
    let mut builder = XdpSocketBuilder::new().map_err(failed)?;
    let (rings, mut flags) = builder.build_rings(umem, rings).map_err(failed)?;
    if zero_copy {
        flags.force_zerocopy();
    } else {
        flags.force_copy();
    }
    let socket = builder.bind(NicIndex::new(interface), queue, flags).map_err(failed)?;
    Ok(Port {
        interface,
        queue,
        is_zero_copy: zero_copy,
        socket,
        fill: rings.fill_ring,
        receive: rings.rx_ring,
        transmit: rings.tx_ring.expect("its count is not zero"),
        completion: rings.completion_ring,
        filled: 0,
        under_way: 0,
        is_left: false,
    })
}

impl Port {
    fn descriptor(&self) -> BorrowedFd<'_> {
        // SAFETY: the socket is open as long as `self`, which the result borrows.
        unsafe { BorrowedFd::borrow_raw(self.socket.as_raw_fd()) }
    }

    /// Gives the kernel frames for packets that come in, and takes back those it has sent.
    fn turn_over(&mut self, umem: &mut Umem) {
        self.under_way -= self.completion.dequeue(umem, self.under_way);
        let wanted = RING as usize - self.filled;
        if self.receive.is_some() && wanted >= BATCH {
            // SAFETY: `Ports` drops its sockets before the memory.
            self.filled += unsafe { self.fill.enqueue(umem, wanted) };
        }
    }

    /// Has the kernel send what is in the ring. It takes 32 frames a call at most.
    fn kick(&mut self) {
        for _ in 0..=self.under_way / 32 {
            match rustix::net::send(self.descriptor(), &[], SendFlags::DONTWAIT) {
                Err(Errno::AGAIN) => self.is_left = true,
                // The queue of the interface is full, or it is down: later again.
                Err(_) => {
                    self.is_left = true;
                    return;
                }
                Ok(_) => {
                    self.is_left = false;
                    return;
                }
            }
        }
    }
}

impl Ports {
    /// Opens a socket for each queue of each interface that packets come in by, with zero copy
    /// where the driver has it. An interface is an index and a number of queues.
    ///
    /// # Errors
    /// If there is no memory, or the kernel refuses a socket.
    pub(super) fn open(interfaces: &[(u32, u32)], is_generic: bool) -> Result<Self, Error> {
        let queues =
            interfaces.iter().flat_map(|&(interface, count)| (0..count).map(move |at| (interface, at)));
        let queues: Vec<(u32, u32)> = queues.collect();
        let configuration = UmemCfgBuilder {
            frame_size: FrameSize::TwoK,
            head_room: HEAD_ROOM,
            // Those in the rings, and as many again on their way.
            frame_count: 2 * RING * (queues.len() as u32 + 1),
            ..UmemCfgBuilder::default()
        };
        let configuration = configuration.build().expect("the sizes are within their limits");
        let umem = Umem::map(configuration);
        let mut umem = umem.map_err(|error| Error::io("map the frames of AF_XDP sockets", error))?;
        let mut sockets = Vec::new();
        for (interface, queue) in queues {
            let zero_copy = (!is_generic).then(|| open(&umem, interface, queue, true, true));
            let mut port = match zero_copy {
                Some(Ok(port)) => port,
                _ => open(&umem, interface, queue, true, false)?,
            };
            port.turn_over(&mut umem);
            sockets.push(port);
        }
        let mut first = 0;
        let of_interfaces = interfaces.iter().map(|&(interface, count)| {
            first += count as usize;
            (interface, (first - count as usize, count))
        });
        Ok(Self { sockets, umem, of_interfaces: of_interfaces.collect() })
    }

    /// Opens a socket that packets only leave by.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub(super) fn add(&mut self, interface: u32) -> Result<(), Error> {
        let port = open(&self.umem, interface, 0, false, false)?;
        self.of_interfaces.insert(interface, (self.sockets.len(), 1));
        self.sockets.push(port);
        Ok(())
    }

    pub(super) fn len(&self) -> usize {
        self.sockets.len()
    }

    /// Returns interface and queue of a socket, its descriptor, and whether it has zero copy.
    pub(super) fn about(&self, port: usize) -> (u32, u32, RawFd, bool) {
        let Port { interface, queue, socket, is_zero_copy, .. } = &self.sockets[port];
        (*interface, *queue, socket.as_raw_fd(), *is_zero_copy)
    }

    /// Returns the socket that packets leave an interface by; that of the same queue, if it has as
    /// many.
    pub(super) fn leaving(&self, interface: u32, queue: u32) -> Option<usize> {
        self.of_interfaces.get(&interface).map(|&(first, count)| first + (queue % count) as usize)
    }

    /// Takes up to [`BATCH`] frames that came in.
    pub(super) fn receive(&mut self, port: usize, frames: &mut HeapSlab) -> usize {
        let port = &mut self.sockets[port];
        let Some(ring) = &mut port.receive else { return 0 };
        // SAFETY: the caller sends or frees all packets within a batch, while `self` and so the
        // memory lives.
        let count = unsafe { ring.recv(&self.umem, frames) };
        port.filled -= count;
        count
    }

    /// Puts frames into a ring; the kernel sends them after [`kick`](Self::kick). Returns how many
    /// there was no room for.
    pub(super) fn send(&mut self, port: usize, frames: &mut HeapSlab) -> usize {
        let Self { sockets, umem, .. } = self;
        let port = &mut sockets[port];
        if RING as usize - port.under_way < frames.len() {
            port.kick();
            port.turn_over(umem);
        }
        // SAFETY: `Ports` drops its sockets before the memory.
        port.under_way += unsafe { port.transmit.send(frames) };
        let lost = frames.len();
        while let Some(frame) = frames.pop_back() {
            umem.free_packet(frame);
        }
        port.is_left = true;
        lost
    }

    /// Frees a frame.
    pub(super) fn free(&mut self, frame: Packet) {
        self.umem.free_packet(frame);
    }

    /// Has the kernel send what is in the rings, and gives it frames for packets that come in.
    pub(super) fn turn_over(&mut self) {
        for port in &mut self.sockets {
            if port.is_left {
                port.kick();
            }
            port.turn_over(&mut self.umem);
        }
    }

    /// Waits until a frame has come in, or for a while: shortly if frames wait to be sent.
    pub(super) fn wait(&self) {
        let is_left = self.sockets.iter().any(|port| port.is_left);
        let receiving = self.sockets.iter().filter(|port| port.receive.is_some());
        let mut polled: Vec<PollFd<'_>> =
            receiving.map(|port| PollFd::from_borrowed_fd(port.descriptor(), PollFlags::IN)).collect();
        let timeout = Duration::from_millis(if is_left { 1 } else { 20 });
        let timeout = timeout.try_into().expect("it is short");
        // A signal ends it too, and the caller looks again.
        let _ = rustix::event::poll(&mut polled, Some(&timeout));
    }
}
