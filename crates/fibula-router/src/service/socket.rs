//! The socket that people ask: a line of JSON in, a line of JSON out.

use super::{Shared, ask};
use crate::Error;
use crate::config::Config;
use crate::control::{LookFor, LookupRow, RouteRow, Status, Traces};
use crate::feed::zebra;
use crate::plane::{Counter, Plane};
use fibula::{Family, IpPrefix};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{IpAddr, Shutdown};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// How many routes an answer has at most: the control does nothing else while it collects them.
const PAGE: usize = 4096;

/// How long a question may take to come, once it has begun.
const PATIENCE: Duration = Duration::from_mins(1);

/// How many connections there are at most. A new one then ends the oldest.
const CONNECTIONS: usize = 64;

/// The greatest length of a question, in bytes.
const QUESTION: usize = 4096;

/// A question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ask {
    /// The router at a glance.
    Status,
    /// Some routes of a table.
    Routes {
        /// The id of the table.
        table: u32,
        /// Whether those of IPv6.
        ipv6: bool,
        /// The prefix after which they begin; at the first one if left out.
        after: Option<String>,
    },
    /// What answers for an address.
    Lookup {
        /// The id of the table.
        table: u32,
        /// The address.
        address: IpAddr,
    },
    /// What the plane has counted.
    Counters,
    /// How long messages took.
    Latencies,
    /// What became of packets since they were looked for last.
    Trace(LookFor),
    /// Nobody looks for packets any more.
    Untrace,
    /// The files of the ACLs have changed.
    Reload,
}

/// The answer to a question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Answer {
    /// The router at a glance.
    Status(Box<Status>),
    /// Some routes in order. There are more, unless there are none.
    Routes(Vec<RouteRow>),
    /// What answers for an address.
    Lookup(Box<LookupRow>),
    /// What the plane has counted.
    Counters(Vec<Counter>),
    /// How long messages took, from their arrival until the plane had them: nanoseconds, and the
    /// number of messages since the router began.
    Latencies(Vec<(u64, u64)>),
    /// What became of packets; of none before they are looked for, and after that.
    Traces(Traces),
    /// The ACLs that hold from now on: the name of each, and the number of its lines.
    Reloaded(Vec<(String, usize)>),
    /// The question has no answer.
    Error(String),
}

/// The server. Its socket is removed when it is dropped.
#[derive(Debug)]
pub(super) struct Server {
    path: PathBuf,
}

impl Server {
    /// Listens at a path, where nobody else may. The owner of the process may ask, and the members
    /// of a group.
    pub(super) fn listen<P: Plane + 'static>(
        path: &Path,
        group: Option<u32>,
        config: Arc<Config>,
        queue: Shared<P>,
    ) -> Result<Self, Error> {
        let system = |error| Error::io(path.display().to_string(), error);
        let listener = zebra::unix(path).map_err(system)?;
        let given = |error| Error::io(format!("give {} to `socket_group`", path.display()), error);
        // Nobody else may ask meanwhile.
        let mode = |mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).map_err(system);
        mode(0o600)?;
        if group.is_some() {
            chown(path, None, group).map_err(given)?;
            mode(0o660)?;
        }
        thread::Builder::new()
            .name("socket".into())
            .spawn(move || serve(&listener, &config, &queue))
            .map_err(system)?;
        Ok(Self { path: path.to_owned() })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Somebody may have removed it already.
        let _ = fs::remove_file(&self.path);
    }
}

fn serve<P: Plane + 'static>(listener: &UnixListener, config: &Arc<Config>, queue: &Shared<P>) {
    let mut connections = VecDeque::<Arc<UnixStream>>::new();
    for stream in listener.incoming() {
        let (config, queue) = (Arc::clone(config), Shared::clone(queue));
        match stream.map(Arc::new) {
            Ok(stream) => {
                // Those that have ended are held by nobody else.
                connections.retain(|connection| Arc::strong_count(connection) > 1);
                if connections.len() >= CONNECTIONS {
                    let oldest = connections.pop_front();
                    // It may have ended already.
                    let _ = oldest.map(|oldest| oldest.shutdown(Shutdown::Both));
                }
                connections.push_back(Arc::clone(&stream));
                thread::spawn(move || {
                    let timed = stream
                        .set_read_timeout(Some(PATIENCE))
                        .and_then(|()| stream.set_write_timeout(Some(PATIENCE)));
                    if let Err(error) = timed.and_then(|()| answer_all(&*stream, &*stream, &config, &queue)) {
                        tracing::debug!("socket: {error}");
                    }
                });
            }
            Err(error) => {
                tracing::error!("socket: {error}");
                thread::sleep(Duration::from_secs(1));
            }
        }
    }
}

/// Answers the questions of a connection, which come by `input`.
pub(super) fn answer_all<P: Plane + 'static>(
    input: impl Read,
    mut output: impl Write,
    config: &Config,
    queue: &Shared<P>,
) -> io::Result<()> {
    let mut reader = BufReader::new(input);
    loop {
        let mut line = Vec::new();
        let count = reader.by_ref().take(QUESTION as u64).read_until(b'\n', &mut line)?;
        if count == 0 {
            return Ok(());
        }
        let answer = match serde_json::from_slice(&line) {
            Ok(question) => answer(question, config, queue),
            Err(error) => Answer::Error(format!("the question: {error}")),
        };
        let mut line = serde_json::to_vec(&answer)?;
        line.push(b'\n');
        output.write_all(&line)?;
    }
}

pub(super) fn answer<P: Plane + 'static>(question: Ask, config: &Config, queue: &Shared<P>) -> Answer {
    let answer = match question {
        Ask::Status => ask(queue, |control| Answer::Status(Box::new(control.status()))),
        Ask::Routes { table, ipv6, after } => {
            let after = match after.map(|after| after.parse::<IpPrefix>()).transpose() {
                Ok(after) => after,
                Err(error) => return Answer::Error(error.to_string()),
            };
            let family = if ipv6 { Family::Ipv6 } else { Family::Ipv4 };
            ask(queue, move |control| {
                Answer::Routes(control.routes(table, family, after).take(PAGE).collect())
            })
        }
        Ask::Lookup { table, address } => {
            ask(queue, move |control| Answer::Lookup(Box::new(control.lookup(table, address))))
        }
        Ask::Counters => ask(queue, |control| match control.plane().counters() {
            Ok(counters) => Answer::Counters(counters),
            Err(error) => Answer::Error(error.to_string()),
        }),
        Ask::Latencies => ask(queue, |control| Answer::Latencies(control.latencies().collect())),
        Ask::Trace(what) => ask(queue, move |control| {
            control
                .trace(&what, Instant::now())
                .map_or_else(|error| Answer::Error(error.to_string()), Answer::Traces)
        }),
        Ask::Untrace => ask(queue, |control| match control.end_trace() {
            Ok(()) => Answer::Traces(Traces::default()),
            Err(error) => Answer::Error(error.to_string()),
        }),
        Ask::Reload => {
            let acls = match config.acls() {
                Ok(acls) => acls,
                Err(error) => return Answer::Error(error.to_string()),
            };
            ask(queue, move |control| {
                let rows = acls.iter().map(|acl| (acl.name.clone(), acl.lines.len())).collect();
                match control.plane_mut().set_acls(acls) {
                    Ok(()) => Answer::Reloaded(rows),
                    Err(error) => Answer::Error(error.to_string()),
                }
            })
        }
    };
    answer.unwrap_or_else(|| Answer::Error("the router ends".into()))
}

/// A connection to a router.
#[derive(Debug)]
pub struct Client {
    stream: BufReader<UnixStream>,
}

impl Client {
    /// Connects to a router.
    ///
    /// # Errors
    /// If none listens at `path`, or it belongs to somebody else.
    pub fn connect(path: &Path) -> Result<Self, Error> {
        let system = |error| Error::io(format!("no router at {}", path.display()), error);
        Ok(Self { stream: BufReader::new(UnixStream::connect(path).map_err(system)?) })
    }

    /// Asks, and waits for the answer.
    ///
    /// # Errors
    /// If the connection ends, or the router has no answer.
    pub fn ask(&mut self, question: &Ask) -> Result<Answer, Error> {
        let system = |error| Error::io("the router's socket", error);
        let mut line = serde_json::to_vec(question).map_err(|error| system(error.into()))?;
        line.push(b'\n');
        self.stream.get_mut().write_all(&line).map_err(system)?;
        line.clear();
        self.stream.read_until(b'\n', &mut line).map_err(system)?;
        match serde_json::from_slice(&line).map_err(|error| system(error.into()))? {
            Answer::Error(error) => Err(system(io::Error::other(error))),
            answer => Ok(answer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plane::memory::Memory;
    use rustix::process::{Gid, Uid};
    use rustix::thread::{set_thread_gid, set_thread_groups, set_thread_uid};

    /// Connects as a user of a group, and of other groups.
    fn connects(path: &Path, user: u32, group: u32, others: &[u32]) -> bool {
        let others: Vec<Gid> = others.iter().map(|&id| Gid::from_raw(id)).collect();
        let connect = || {
            // They are the thread's alone.
            set_thread_groups(&others).unwrap();
            set_thread_gid(Gid::from_raw(group)).unwrap();
            set_thread_uid(Uid::from_raw(user)).unwrap();
            Client::connect(path).is_ok()
        };
        thread::scope(|scope| scope.spawn(connect).join().unwrap())
    }

    #[test]
    fn members_of_the_group_may_ask_and_nobody_else() {
        if !nix::unistd::geteuid().is_root() {
            eprintln!("skipped: only root is several users");
            return;
        }
        let folder = std::env::temp_dir().join(format!("fibula-socket-{}", std::process::id()));
        let path = folder.join("router.sock");
        for (group, member) in [(Some(4711), true), (None, false)] {
            let server = Server::listen::<Memory>(&path, group, Arc::default(), Shared::default()).unwrap();
            fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
            assert!(connects(&path, 0, 0, &[]));
            assert_eq!(connects(&path, 4001, 4711, &[]), member);
            assert_eq!(connects(&path, 4001, 4001, &[4002, 4711]), member);
            assert!(!connects(&path, 4001, 4001, &[4002]));
            // The one before has ended, and the router starts again.
            drop(server);
        }
        fs::remove_dir(&folder).unwrap();
    }
}
