//! [`Patient`]: a session's bytes, as long as its messages come whole.

use std::io::{self, ErrorKind, Read};
use std::time::{Duration, Instant};

/// How long a message may take, and how long the first one may be waited for. Between messages a
/// router may be silent as long as it likes: BMP has none that only says that it is there.
pub(super) const PATIENCE: Duration = Duration::from_mins(1);

/// The bytes of a message up to the end of its length (RFC 7854 section 4.1).
const HEAD: usize = 5;

/// Reads what a router sends. A read of `input` ends after some time with [`ErrorKind::WouldBlock`]
/// or [`ErrorKind::TimedOut`], which ends the session inside of a message and before the first one.
pub(super) struct Patient<R> {
    input: R,
    patience: Duration,
    head: [u8; HEAD],
    /// The bytes of the head that have come.
    filled: usize,
    /// The bytes after the head that are missing.
    left: usize,
    /// When the message began that is not whole.
    begun: Option<Instant>,
}

impl<R> Patient<R> {
    pub(super) fn new(input: R, patience: Duration) -> Self {
        Self { input, patience, head: [0; HEAD], filled: 0, left: 0, begun: Some(Instant::now()) }
    }

    /// Notes which messages are whole.
    fn count(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if self.filled < HEAD {
                let taken = bytes.len().min(HEAD - self.filled);
                self.head[self.filled..self.filled + taken].copy_from_slice(&bytes[..taken]);
                self.filled += taken;
                bytes = &bytes[taken..];
                self.begun.get_or_insert_with(Instant::now);
                if self.filled == HEAD {
                    let [_, length @ ..] = self.head;
                    // One that is too short is an error of the session.
                    self.left = (u32::from_be_bytes(length) as usize).saturating_sub(HEAD);
                }
            }
            let taken = bytes.len().min(self.left);
            self.left -= taken;
            bytes = &bytes[taken..];
            if self.filled == HEAD && self.left == 0 {
                (self.filled, self.begun) = (0, None);
            }
        }
    }
}

impl<R: Read> Read for Patient<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = match self.input.read(buffer) {
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => None,
                read => Some(read?),
            };
            self.count(&buffer[..read.unwrap_or(0)]);
            if self.begun.is_some_and(|begun| begun.elapsed() > self.patience) {
                let seconds = self.patience.as_secs();
                let what = format!("no whole message came within {seconds} seconds");
                return Err(io::Error::new(ErrorKind::TimedOut, what));
            }
            if let Some(count) = read {
                return Ok(count);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    /// What reads return: bytes, or nothing in time.
    struct Script(VecDeque<Option<Vec<u8>>>);

    impl Read for Script {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            match self.0.pop_front() {
                None => Ok(0),
                Some(None) => Err(ErrorKind::WouldBlock.into()),
                Some(Some(bytes)) => {
                    buffer[..bytes.len()].copy_from_slice(&bytes);
                    Ok(bytes.len())
                }
            }
        }
    }

    fn read(patience: Duration, parts: &[Option<&[u8]>]) -> io::Result<usize> {
        let script = parts.iter().map(|part| part.map(<[u8]>::to_vec)).collect();
        io::copy(&mut Patient::new(Script(script), patience), &mut io::sink()).map(|bytes| bytes as usize)
    }

    #[test]
    fn silence_is_waited_for_between_messages_alone() {
        const MESSAGE: &[u8] = &[3, 0, 0, 0, 8, 4, 1, 2];
        let two = [MESSAGE, MESSAGE].concat();
        // However the messages are cut, they end at a boundary, after which silence is fine.
        for at in 1..two.len() {
            let parts = [Some(&two[..at]), Some(&two[at..]), None, None, Some(MESSAGE), None];
            assert_eq!(read(Duration::from_mins(1), &parts).unwrap(), 24, "cut at {at}");
        }
        // Without patience the first message must be there at once, and each whole.
        assert_eq!(read(Duration::ZERO, &[Some(MESSAGE), None, Some(&two), None]).unwrap(), 24);
        for parts in [&[None][..], &[Some(&MESSAGE[..3])], &[Some(MESSAGE), None, Some(&MESSAGE[..7])]] {
            let error = read(Duration::ZERO, parts).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::TimedOut);
        }
    }
}
