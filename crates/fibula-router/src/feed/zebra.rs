//! [`Server`]: listens for zebra's FPM connections, and decides which of them is zebra.
//!
//! A connection is of no effect until a whole frame came by it: then it is a session. There is one
//! session at a time. While it lives, no other connection becomes one, so nobody takes it over. A
//! connection by which no frame comes is closed.
//!
//! ```text
//! accept ─▶ user? ─▶ a thread: first whole frame ─▶ is there a session? ─no─▶ session ─▶ queue
//!             └ no: closed      └ none in time: closed       └ yes, and it does not end: closed
//! ```
//! The user is that of the process at the other end, which the kernel tells of a Unix socket and of
//! a TCP connection within this network namespace. A peer on another machine has none, and is taken
//! only where anybody is.

use super::fpm::read_with;
use super::{Mark, Queue, Session};
use crate::Error;
use crate::feed::Feed;
use rustix::net::sockopt;
use std::fmt;
use std::fs;
use std::io::{self, BufRead, BufReader, Read};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How long a connection waits for the session before it to end: zebra was restarted, and its
/// last bytes are still read.
const HANDOVER: Duration = Duration::from_secs(1);

/// How many connections there are at most.
const CONNECTIONS: usize = 16;

/// A TCP peer that has vanished is known to have after this time without a sign, and this many
/// questions at this interval.
const KEEPALIVE: (Duration, u32, Duration) = (Duration::from_secs(30), 3, Duration::from_secs(5));

/// Where zebra connects to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A TCP address.
    Tcp(SocketAddr),
    /// A Unix socket. What is there from a process that was killed is replaced.
    Unix(PathBuf),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(path) => path.display().fmt(f),
        }
    }
}

/// Which connections are taken for zebra.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The user ids of the processes that may connect; `None` means anybody, on any machine.
    pub users: Option<Vec<u32>>,
    /// How long the first frame may take to come.
    pub first: Duration,
}

impl Default for Options {
    /// Anybody, who is given ten seconds.
    fn default() -> Self {
        Self { users: None, first: Duration::from_secs(10) }
    }
}

enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

/// A connection.
enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Stream {
    fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.set_read_timeout(timeout),
            Self::Unix(stream) => stream.set_read_timeout(timeout),
        }
    }

    fn end(&self) {
        // It may have ended already.
        let _ = match self {
            Self::Tcp(stream) => stream.shutdown(Shutdown::Both),
            Self::Unix(stream) => stream.shutdown(Shutdown::Both),
        };
    }

    /// Returns the user of the process at the other end; `None` if it is on another machine.
    fn user(&self) -> io::Result<Option<u32>> {
        match self {
            Self::Tcp(stream) => tcp_user(stream.peer_addr()?, stream.local_addr()?),
            Self::Unix(stream) => Ok(Some(sockopt::socket_peercred(stream.as_fd())?.uid.as_raw())),
        }
    }
}

impl Listener {
    fn accept(&self) -> io::Result<(Stream, String)> {
        match self {
            Self::Tcp(listener) => {
                let (stream, from) = listener.accept()?;
                let (idle, count, interval) = KEEPALIVE;
                sockopt::set_socket_keepalive(&stream, true)?;
                sockopt::set_tcp_keepidle(&stream, idle)?;
                sockopt::set_tcp_keepcnt(&stream, count)?;
                sockopt::set_tcp_keepintvl(&stream, interval)?;
                Ok((Stream::Tcp(stream), from.to_string()))
            }
            Self::Unix(listener) => Ok((Stream::Unix(listener.accept()?.0), "its socket".into())),
        }
    }
}

/// The server that zebra connects to. It listens as long as the process lives.
#[derive(Debug)]
pub struct Server {
    address: Place,
}

impl Server {
    /// Listens at a place.
    ///
    /// # Errors
    /// If the place cannot be listened at.
    pub fn listen<C: 'static>(at: &Place, options: Options, queue: Arc<Queue<C>>) -> Result<Self, Error> {
        let system = |error| Error::io(format!("FPM at {at}"), error);
        let (listener, address) = match at {
            Place::Tcp(address) => {
                let listener = TcpListener::bind(address).map_err(system)?;
                let address = Place::Tcp(listener.local_addr().map_err(system)?);
                (Listener::Tcp(listener), address)
            }
            Place::Unix(path) => (Listener::Unix(unix(path).map_err(system)?), at.clone()),
        };
        let shared = Arc::new(Sessions { queue, options, state: Mutex::default(), ended: Condvar::new() });
        let serve = move || serve(&listener, &shared);
        thread::Builder::new().name("fpm".into()).spawn(serve).map_err(system)?;
        Ok(Self { address })
    }

    /// Returns the place that it listens at.
    #[must_use]
    pub fn address(&self) -> &Place {
        &self.address
    }

    /// Returns the TCP address that it listens at.
    #[must_use]
    pub fn tcp_address(&self) -> Option<SocketAddr> {
        if let Place::Tcp(address) = self.address { Some(address) } else { None }
    }
}

/// Listens at a Unix socket. One where nobody listens was left by a process that was killed, and is
/// replaced.
///
/// # Errors
/// If somebody listens there, or the kernel refuses.
pub(crate) fn unix(path: &std::path::Path) -> io::Result<UnixListener> {
    if UnixStream::connect(path).is_ok() {
        return Err(io::Error::new(io::ErrorKind::AddrInUse, "another router answers there"));
    }
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    UnixListener::bind(path)
}

/// The sessions of a server.
struct Sessions<C> {
    queue: Arc<Queue<C>>,
    options: Options,
    state: Mutex<State>,
    ended: Condvar,
}

#[derive(Default)]
struct State {
    /// The number of the last session, from 1 on.
    last: u32,
    is_alive: bool,
}

impl<C> Sessions<C> {
    /// Begins a session unless there is one that does not end soon.
    fn begin(&self) -> Option<Session> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.ended.wait_timeout_while(state, HANDOVER, |state| state.is_alive);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner).0;
        if state.is_alive {
            return None;
        }
        (state.is_alive, state.last) = (true, state.last + 1);
        let session = Session { feed: Feed::Fpm, number: state.last };
        self.queue.fill(|batch| batch.marks.push(Mark::Begun(session)));
        Some(session)
    }

    fn end(&self, session: Session, is_malformed: bool) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        self.queue.fill(|batch| {
            batch.malformed += u64::from(is_malformed);
            batch.marks.push(Mark::Ended(session));
        });
        state.is_alive = false;
        self.ended.notify_all();
    }

    fn refuse(&self) {
        self.queue.fill(|batch| batch.strangers += 1);
    }
}

/// Accepts connections, each with a thread of its own.
fn serve<C: 'static>(listener: &Listener, sessions: &Arc<Sessions<C>>) {
    let count = Arc::new(AtomicUsize::new(0));
    loop {
        let (stream, from) = match listener.accept() {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::error!("FPM: no connection accepted: {error}");
                thread::sleep(Duration::from_secs(1));
                continue;
            }
        };
        if let Err(why) = may(&stream, sessions.options.users.as_deref()) {
            tracing::warn!("FPM: connection from {from} refused: {why}");
            sessions.refuse();
            continue;
        }
        if count.load(Ordering::Relaxed) >= CONNECTIONS {
            tracing::warn!("FPM: connection from {from} refused: there are {CONNECTIONS} already");
            sessions.refuse();
            continue;
        }
        count.fetch_add(1, Ordering::Relaxed);
        let (sessions, count) = (Arc::clone(sessions), Arc::clone(&count));
        thread::spawn(move || {
            follow(&stream, &from, &sessions);
            stream.end();
            count.fetch_sub(1, Ordering::Relaxed);
        });
    }
}

/// Says why a connection is not of a user that is taken for zebra.
fn may(stream: &Stream, users: Option<&[u32]>) -> Result<(), String> {
    let Some(users) = users else { return Ok(()) };
    match stream.user() {
        Ok(Some(user)) if users.contains(&user) => Ok(()),
        Ok(Some(user)) => Err(format!("it is of user {user}; `fpm.users` names who may")),
        Ok(None) => Err("it is of no process here; `fpm.users = []` takes it".into()),
        Err(error) => Err(error.to_string()),
    }
}

/// Reads a stream whose first frame must come in time.
struct Timed<'a> {
    stream: &'a Stream,
    deadline: Option<Instant>,
}

impl Read for Timed<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(deadline) = self.deadline {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            self.stream.set_read_timeout(Some(left))?;
        }
        let read = match self.stream {
            Stream::Tcp(stream) => (&*stream).read(buffer),
            Stream::Unix(stream) => (&*stream).read(buffer),
        };
        let late = |error: io::Error| match error.kind() {
            io::ErrorKind::WouldBlock => io::Error::new(io::ErrorKind::TimedOut, "no frame came in time"),
            _ => error,
        };
        read.map_err(late)
    }
}

/// Reads a connection to its end, and says how it ended.
fn follow<C>(stream: &Stream, from: &str, sessions: &Sessions<C>) {
    let mut session = None;
    let mut timed = Timed { stream, deadline: Some(Instant::now() + sessions.options.first) };
    let end = read_with(&mut timed, &sessions.queue, |timed| {
        session = sessions.begin();
        timed.deadline = None;
        stream.set_read_timeout(None).ok()?;
        session.inspect(|session| tracing::info!("FPM: zebra at {from}, session {}", session.number))
    });
    let Some(session) = session else {
        match end {
            Ok(_) => tracing::warn!("FPM: connection from {from} refused: no frame, or a session lives"),
            Err(error) => tracing::warn!("FPM: connection from {from} refused: {error}"),
        }
        return sessions.refuse();
    };
    let number = session.number;
    match &end {
        Ok(0) => tracing::info!("FPM: session {number} ended; its routes stay"),
        Ok(rest) => tracing::warn!("FPM: session {number} ended with {rest} bytes of a cut frame"),
        Err(error) => tracing::error!("FPM: session {number}: {error}; waiting for a new one"),
    }
    sessions.end(session, matches!(end, Err(Error::Fpm(_))));
}

/// Returns the user who has the other end of a TCP connection, by the kernel's list of those in the
/// network namespace of this thread.
fn tcp_user(peer: SocketAddr, here: SocketAddr) -> io::Result<Option<u32>> {
    let plain = |address: SocketAddr| SocketAddr::new(address.ip().to_canonical(), address.port());
    let (peer, here) = (plain(peer), plain(here));
    for (file, length) in [("/proc/thread-self/net/tcp", 8), ("/proc/thread-self/net/tcp6", 32)] {
        let Ok(file) = fs::File::open(file) else { continue };
        for line in BufReader::new(file).lines().skip(1) {
            let line = line?;
            let mut fields = line.split_whitespace().skip(1);
            let (Some(local), Some(remote), Some(state)) = (fields.next(), fields.next(), fields.next())
            else {
                continue;
            };
            // A connection that is closing (another state than 01) may have no user any more.
            let is_it = state == "01"
                && address(local, length).map(plain) == Some(peer)
                && address(remote, length).map(plain) == Some(here);
            if is_it {
                return Ok(fields.nth(3).and_then(|user| user.parse().ok()));
            }
        }
    }
    Ok(None)
}

/// Reads an address of that list: words of 32 bits in the host's order, and the port.
fn address(text: &str, length: usize) -> Option<SocketAddr> {
    let (words, port) = text.split_once(':')?;
    let words = words.get(..length)?;
    let bytes: Vec<u8> = (0..length / 8)
        .map(|at| u32::from_str_radix(&words[8 * at..8 * at + 8], 16).ok().map(u32::to_ne_bytes))
        .collect::<Option<Vec<_>>>()?
        .concat();
    let ip: IpAddr = match bytes.as_slice() {
        &[a, b, c, d] => [a, b, c, d].into(),
        bytes => <[u8; 16]>::try_from(bytes).ok()?.into(),
    };
    Some(SocketAddr::new(ip, u16::from_str_radix(port, 16).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_user_of_a_connection_is_known() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (stream, _) = listener.accept().unwrap();
        let user = Stream::Tcp(stream).user().unwrap();
        assert_eq!(user, Some(nix::unistd::geteuid().as_raw()));
        let elsewhere: SocketAddr = "192.0.2.1:179".parse().unwrap();
        assert_eq!(tcp_user(elsewhere, client.local_addr().unwrap()).unwrap(), None);
        let (one, _other) = UnixStream::pair().unwrap();
        assert_eq!(Stream::Unix(one).user().unwrap(), user);
    }
}
