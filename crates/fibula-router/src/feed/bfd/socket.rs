//! The thread that has bfdd's control socket.

use super::messages::{Messages, question};
use super::sessions::Sessions;
use super::{Gateway, Gateways};
use crate::Error;
use crate::feed::Queue;
use crate::plane::xdp::Finding;
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// How often bfdd is asked for everything again. One that has not answered until the next time
/// hangs, and is as one that has gone.
const ASK: Duration = Duration::from_secs(10);

/// How long to wait before bfdd is connected to again, at first and at most.
const WAIT: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(5)];

/// How many gateways are logged of one change.
const LOGGED: usize = 16;

/// Begins to follow bfdd, in a thread of its own, as long as the process lives.
///
/// # Errors
/// If the kernel gives no thread.
pub fn follow<C: 'static>(path: PathBuf, queue: Arc<Queue<C>>) -> Result<(), Error> {
    let mut follower = Follower { path, queue, told: None };
    let run = move || follower.run();
    let thread = thread::Builder::new().name("bfd".into()).spawn(run);
    thread.map_err(|error| Error::io("a thread", error))?;
    Ok(())
}

/// Says whether bfdd is there. It need not be: it may start later.
#[must_use]
pub fn check(path: &Path) -> Finding {
    let what = format!("BFD at {}", path.display());
    let (wrong, note) = match UnixStream::connect(path) {
        Ok(_) => (None, "bfdd listens: gateways whose sessions fail are held down".into()),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::ConnectionRefused) => {
            (None, format!("{error}: until bfdd is there, no gateway is held down"))
        }
        Err(error) => (Some(error.to_string()), "no gateway is held down".into()),
    };
    Finding { what, wrong, note: Some(note) }
}

struct Follower<C> {
    path: PathBuf,
    queue: Arc<Queue<C>>,
    /// What was told last.
    told: Option<Gateways>,
}

impl<C> Follower<C> {
    fn run(&mut self) {
        let [first, longest] = WAIT;
        let (mut wait, mut logged) = (first, None);
        loop {
            let error = self.connection();
            let was_connected = self.told.as_ref().is_some_and(|told| told.connected);
            // Nothing is known of any gateway now.
            self.tell(&Sessions::default());
            if was_connected {
                (wait, logged) = (first, None);
            }
            let text = error.to_string();
            if logged.as_ref() != Some(&text) {
                tracing::warn!("BFD at {}: {text}; no gateway is held down", self.path.display());
                logged = Some(text);
            }
            thread::sleep(wait);
            wait = longest.min(2 * wait);
        }
    }

    /// Reads a connection to its end. Returns how it ended.
    fn connection(&mut self) -> io::Error {
        let mut stream = match UnixStream::connect(&self.path) {
            Ok(stream) => stream,
            Err(error) => return error,
        };
        if let Err(error) = stream.set_write_timeout(Some(ASK)) {
            return error;
        }
        let (mut messages, mut sessions) = (Messages::default(), Sessions::default());
        let mut buffer = vec![0; 1 << 16];
        let (mut ask_at, mut is_asked) = (Instant::now(), false);
        loop {
            let now = Instant::now();
            if now >= ask_at {
                if is_asked {
                    let text = format!("it has not answered for {} seconds", ASK.as_secs());
                    return io::Error::new(ErrorKind::TimedOut, text);
                }
                if let Err(error) = stream.write_all(&question()) {
                    return error;
                }
                (ask_at, is_asked) = (now + ASK, true);
            }
            let next = sessions.expire(now).map_or(ask_at, |next| next.min(ask_at));
            self.tell(&sessions);
            // A timeout of zero would be none.
            let timeout = next.saturating_duration_since(now).max(Duration::from_millis(1));
            let read = stream.set_read_timeout(Some(timeout)).and_then(|()| stream.read(&mut buffer));
            let count = match read {
                Ok(0) => return io::Error::new(ErrorKind::UnexpectedEof, "bfdd has gone"),
                Ok(count) => count,
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => 0,
                Err(error) => return error,
            };
            messages.push(&buffer[..count]);
            let mut ignored = 0;
            loop {
                match messages.take() {
                    Ok(Some(message)) => ignored += u64::from(!sessions.apply(message, Instant::now())),
                    Ok(None) => break,
                    Err(error) => {
                        self.queue.fill(|batch| batch.malformed += 1);
                        return io::Error::new(ErrorKind::InvalidData, error);
                    }
                }
            }
            // Whatever it says, bfdd lives.
            is_asked &= count == 0;
            if ignored > 0 {
                self.queue.fill(|batch| batch.ignored += ignored);
            }
        }
    }

    /// Tells the control what has changed, and logs which gateways.
    fn tell(&mut self, sessions: &Sessions) {
        let gateways = sessions.gateways();
        if self.told.as_ref() == Some(&gateways) {
            return;
        }
        let before = self.told.take().unwrap_or_default();
        if gateways.connected && !before.connected {
            tracing::info!("BFD at {}: connected", self.path.display());
        }
        for gateway in gateways.held.difference(&before.held).take(LOGGED) {
            tracing::warn!("BFD: {} is held down: {}", name(gateway), sessions.why(gateway));
        }
        for gateway in before.held.difference(&gateways.held).take(LOGGED) {
            tracing::info!("BFD: {} is not held down any more", name(gateway));
        }
        self.told = Some(gateways.clone());
        self.queue.fill(|batch| batch.bfd = Some(gateways));
    }
}

fn name((address, interface): &Gateway) -> String {
    match interface {
        Some(interface) => format!("{address} dev {interface:?}"),
        None => address.to_string(),
    }
}
