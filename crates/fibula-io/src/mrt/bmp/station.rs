//! [`Station`]: where routers connect to and speak BMP.

use super::patience::{PATIENCE, Patient};
use super::{Session, View, Views};
use crate::mrt::Event;
use crate::{Damage, Report};
use std::collections::HashMap;
use std::io::BufReader;
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use std::{io, thread};

/// The most sessions at once.
pub const SESSIONS_MAX: usize = 256;

/// The messages that wait for whoever takes them. A router that sends more waits, by TCP.
const WAITING_MAX: usize = 4096;

/// What happened in the session of a router.
#[derive(Debug)]
pub enum Told {
    /// It has begun. What the router said in a session before is stale.
    Began,
    /// A route or a peer changed, in one of the views that are followed.
    Event(Arc<View>, Event),
    /// A message could not be read.
    Damage(Damage),
    /// It has ended, with what was left out of it, and the name that the router gave itself.
    Ended(Report, Option<String>),
    /// It was refused: there are [`SESSIONS_MAX`].
    Refused,
    /// It was refused: it is none that may connect.
    Unknown,
}

/// A station that listens. Each session has a thread. A router that connects again ends its session
/// before: the newest counts.
#[derive(Debug)]
pub struct Station {
    address: SocketAddr,
    told: Receiver<(IpAddr, u64, Told)>,
    /// The number of each router's newest session.
    newest: HashMap<IpAddr, u64>,
    connections: Connections,
}

/// The connection of each router's newest session.
type Connections = Arc<Mutex<HashMap<IpAddr, (u64, TcpStream)>>>;

impl Station {
    /// Listens at an address.
    ///
    /// # Errors
    /// If that is not possible.
    pub fn listen(address: impl ToSocketAddrs, views: impl Into<Views>) -> io::Result<Self> {
        Self::listen_to(address, views, |_| true)
    }

    /// Listens at an address, for the routers that `may_connect` accepts.
    ///
    /// # Errors
    /// If that is not possible.
    pub fn listen_to(
        address: impl ToSocketAddrs,
        views: impl Into<Views>,
        may_connect: impl Fn(IpAddr) -> bool + Send + 'static,
    ) -> io::Result<Self> {
        let views = views.into();
        let listener = TcpListener::bind(address)?;
        let address = listener.local_addr()?;
        let (tell, told) = sync_channel(WAITING_MAX);
        let connections = Connections::default();
        let shared = Arc::clone(&connections);
        thread::spawn(move || accept(&listener, &views, may_connect, &tell, &shared));
        Ok(Self { address, told, newest: HashMap::new(), connections })
    }

    /// Ends the session of a router. What it said before may still come.
    pub fn close(&self, router: IpAddr) {
        let known = self.connections.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, stream)) = known.get(&router) {
            // One that has ended already needs no more. What was sent and not read ends a session
            // by a reset, or the router would wait for minutes until it may send more.
            #[cfg(target_os = "linux")]
            let _ = rustix::net::sockopt::set_socket_linger(stream, Some(Duration::ZERO));
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// Returns the address that it listens at.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Iterator for Station {
    type Item = (IpAddr, Told);

    /// Waits for what happens next. What an older session of a router has left is passed over.
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let (router, number, told) = self.told.recv().ok()?;
            match told {
                Told::Began => {
                    self.newest.insert(router, number);
                }
                Told::Refused | Told::Unknown => {}
                _ if self.newest.get(&router) != Some(&number) => continue,
                Told::Ended(..) => {
                    self.newest.remove(&router);
                }
                Told::Event(..) | Told::Damage(_) => {}
            }
            return Some((router, told));
        }
    }
}

fn accept(
    listener: &TcpListener,
    views: &Views,
    may_connect: impl Fn(IpAddr) -> bool,
    tell: &SyncSender<(IpAddr, u64, Told)>,
    connections: &Connections,
) {
    for (number, stream) in (0..).zip(listener.incoming()) {
        // A router that has gone before it was accepted.
        let Ok(stream) = stream else { continue };
        let (Ok(peer), Ok(copy)) = (stream.peer_addr(), stream.try_clone()) else { continue };
        let router = peer.ip().to_canonical();
        if !may_connect(router) {
            if tell.send((router, number, Told::Unknown)).is_err() {
                return;
            }
            continue;
        }
        let mut known = connections.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= SESSIONS_MAX && !known.contains_key(&router) {
            drop(known);
            if tell.send((router, number, Told::Refused)).is_err() {
                return;
            }
            continue;
        }
        // Without these a router that has vanished would seem to be silent for ever.
        let _ = keep_alive(&stream);
        if let Some((_, before)) = known.insert(router, (number, copy)) {
            // Its thread then ends. If it has ended already, there is nothing to do.
            let _ = before.shutdown(Shutdown::Both);
        }
        drop(known);
        if tell.send((router, number, Told::Began)).is_err() {
            return;
        }
        let (tell, connections, views) = (tell.clone(), Arc::clone(connections), views.clone());
        thread::spawn(move || {
            let stream = Patient::new(stream, PATIENCE);
            let mut session = Session::new(BufReader::with_capacity(1 << 16, stream), views);
            while let Some(event) = session.next_of() {
                let of_view = |(view, event)| Told::Event(Arc::clone(session.view(view)), event);
                let told = event.map_or_else(Told::Damage, of_view);
                if tell.send((router, number, told)).is_err() {
                    return;
                }
            }
            let mut known = connections.lock().unwrap_or_else(PoisonError::into_inner);
            if known.get(&router).is_some_and(|(newest, _)| *newest == number) {
                known.remove(&router);
            }
            drop(known);
            let name = session.name().map(ToOwned::to_owned);
            let _ = tell.send((router, number, Told::Ended(session.report().clone(), name)));
        });
    }
}

/// Lets reads end after the patience, and the system ask a silent router whether it is still there.
fn keep_alive(stream: &TcpStream) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    #[cfg(target_os = "linux")]
    {
        use rustix::net::sockopt;
        // One that does not answer for two minutes has gone.
        sockopt::set_socket_keepalive(stream, true)?;
        sockopt::set_tcp_keepidle(stream, Duration::from_mins(1))?;
        sockopt::set_tcp_keepintvl(stream, Duration::from_secs(15))?;
        sockopt::set_tcp_keepcnt(stream, 4)?;
    }
    Ok(())
}
