//! [`HandUp`]: frames back into the kernel, as if they had just come in by their interface.
//!
//! The kernel can run an XDP program on a frame of the caller's, on behalf of an interface, and do
//! with it what the program says (`BPF_F_TEST_XDP_LIVE_FRAMES`, Linux 5.18). The program says
//! `XDP_PASS`. So the kernel takes the frame as one of that interface: it answers with ICMP,
//! resolves neighbours, or delivers it to a socket. A TUN or veth interface of our own would need
//! addresses and routes, and the kernel would see all packets come in by it.
//!
//! One call costs tens of microseconds. So a thread of its own does it, and takes from a queue that
//! drops what it has no room for: packets that the kernel must see cannot slow down the others.

use super::programs::Programs;
use crate::Error;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

/// The frames that may wait.
const WAITING: usize = 1024;

/// A frame, the interface and the queue that it came in by.
type Frame = (u32, u32, Vec<u8>);

/// The way to the thread that hands frames to the kernel. The thread ends when this is dropped.
#[derive(Debug)]
pub(super) struct HandUp {
    /// `Some` until it is dropped.
    frames: Option<SyncSender<Frame>>,
    thread: Option<JoinHandle<()>>,
}

impl HandUp {
    /// Starts the thread.
    ///
    /// # Errors
    /// If there is no thread.
    pub(super) fn start(programs: Arc<Programs>) -> Result<Self, Error> {
        let (sender, frames) = sync_channel(WAITING);
        let thread = thread::Builder::new().name("hand-up".into());
        let thread = thread.spawn(move || run(&programs, &frames));
        let thread = thread.map_err(|error| Error::io("start a thread", error))?;
        Ok(Self { frames: Some(sender), thread: Some(thread) })
    }

    /// Takes a frame; returns whether there was room.
    pub(super) fn take(&self, interface: u32, queue: u32, frame: &[u8]) -> bool {
        let frame = (interface, queue, frame.to_vec());
        self.frames.as_ref().is_some_and(|frames| frames.try_send(frame).is_ok())
    }
}

impl Drop for HandUp {
    fn drop(&mut self) {
        self.frames = None;
        if let Some(thread) = self.thread.take() {
            // A panic there has been printed.
            let _ = thread.join();
        }
    }
}

fn run(programs: &Programs, frames: &Receiver<Frame>) {
    while let Ok((interface, queue, mut frame)) = frames.recv() {
        if let Err(error) = programs.hand_up(interface, queue, &mut frame) {
            tracing::debug!("a frame of interface {interface} to the kernel: {error}");
        }
    }
}
