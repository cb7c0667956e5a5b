//! FPM: zebra connects by TCP and tells its routes, as netlink messages in frames.
//!
//! ```text
//! byte   0         1         2..4                        4..length
//!        version 1 type 1    length, big endian, with    one or more netlink messages,
//!                            these four bytes            in the order of the host's bytes
//! ```
//! A frame is taken whole or not at all: zebra replaces a route by a delete and an add in one
//! frame.
//! A frame that is malformed ends the connection, and zebra connects again and says everything
//! again. Who may connect, and which connection is a session, is for the server (`zebra`).
//!
//! zebra says neither when it has said everything nor, when it exits, that its routes are gone.
//! What a new session did not say again is removed after a quiet time (see [`super`]).
//!
//! An IPv4 route over an IPv6 next hop comes with the IPv6 gateway only from a zebra that uses
//! next-hop groups (its default). Without them the gateway is 169.254.0.1, for which zebra makes a
//! neighbour entry in the kernel. It is resolved like any other.

use super::{Queue, Session};
use crate::message::{Event, Malformed, Message, Messages};
use std::io::{self, Read};
use std::time::Instant;

/// The port that zebra connects to unless it is told another.
pub const PORT: u16 = 2620;

/// The bytes of a frame before its messages.
pub const HEADER: usize = 4;

/// How much is read at once, in bytes.
const READ: usize = 1 << 16;

/// A stream of frames that is cut or malformed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A frame does not begin as one of netlink messages.
    #[error("FPM frame {frame}: {what}")]
    Frame {
        /// Counts the frames of a connection, from 1 on.
        frame: u64,
        /// What is wrong with it.
        what: String,
    },
    /// A message of a frame.
    #[error("FPM frame {frame}: {message}")]
    Message {
        /// Counts the frames of a connection, from 1 on.
        frame: u64,
        /// The message.
        message: Malformed,
    },
}

/// Cuts a stream of bytes into frames, and these into events.
#[derive(Debug, Default)]
pub struct Frames {
    /// What was read and not yet taken: `bytes[taken..]`.
    bytes: Vec<u8>,
    taken: usize,
    count: u64,
    /// Messages of no use to a router.
    ignored: u64,
}

impl Frames {
    /// Adds bytes of the stream.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.taken);
        self.taken = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// Adds the events of the next frame to `events`. Returns whether a whole frame was there.
    ///
    /// # Errors
    /// If the frame is malformed; nothing of it is in `events` then. The stream is of no use any
    /// more.
    pub fn take(&mut self, events: &mut Vec<Event>) -> Result<bool, Error> {
        let rest = &self.bytes[self.taken..];
        let Some(&[version, kind, high, low]) = rest.first_chunk::<HEADER>() else { return Ok(false) };
        let frame = self.count + 1;
        let wrong = |what| Err(Error::Frame { frame, what });
        match (version, kind) {
            (1, 1) => {}
            (1, 2) => return wrong("it is protobuf; load zebra's module `dplane_fpm_nl`".into()),
            _ => {
                return wrong(format!(
                    "it begins with {version:#04x} {kind:#04x}, not with version 1, type 1"
                ));
            }
        }
        let length = usize::from(u16::from_be_bytes([high, low]));
        if length < HEADER {
            return wrong(format!("its length is {length}"));
        }
        let Some(messages) = rest.get(HEADER..length) else { return Ok(false) };
        let before = events.len();
        for message in Messages::new(messages) {
            match message {
                Ok(Message::Event(
                    event @ (Event::Route { .. } | Event::Partial { .. } | Event::Object { .. }),
                )) => {
                    events.push(event);
                }
                Ok(_) => self.ignored += 1,
                Err(message) => {
                    events.truncate(before);
                    return Err(Error::Message { frame, message });
                }
            }
        }
        (self.count, self.taken) = (frame, self.taken + length);
        Ok(true)
    }

    /// Returns the number of bytes of a frame that has not come whole.
    #[must_use]
    pub fn rest(&self) -> usize {
        self.bytes.len() - self.taken
    }
}

/// Reads a stream to its end into a queue. Returns the number of bytes of a cut frame at its end.
///
/// # Errors
/// If the stream cannot be read, or is malformed. The frames before are in the queue.
pub fn read<C>(mut stream: impl Read, session: Session, queue: &Queue<C>) -> Result<usize, crate::Error> {
    read_with(&mut stream, queue, |_| Some(session))
}

/// As [`read`], for a session that begins when its first whole frame has come. Without a session
/// the rest of the stream is not read.
pub(super) fn read_with<R: Read, C>(
    stream: &mut R,
    queue: &Queue<C>,
    mut begin: impl FnMut(&mut R) -> Option<Session>,
) -> Result<usize, crate::Error> {
    let mut frames = Frames::default();
    let mut buffer = vec![0; READ];
    let mut events = Vec::new();
    let mut session = None;
    loop {
        let count = match stream.read(&mut buffer) {
            Ok(0) => return Ok(frames.rest()),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(crate::Error::io("FPM connection", error)),
        };
        let arrived = Instant::now();
        frames.push(&buffer[..count]);
        let end = loop {
            match frames.take(&mut events) {
                Ok(true) => {}
                end => break end,
            }
        };
        if frames.count > 0 && session.is_none() {
            session = begin(stream);
            if session.is_none() {
                return Ok(frames.rest());
            }
        }
        if let Some(session) = session {
            queue.add(session, arrived, std::mem::take(&mut frames.ignored), events.drain(..));
        }
        end?;
    }
}
