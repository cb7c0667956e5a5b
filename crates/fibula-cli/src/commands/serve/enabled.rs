//! The service as a process: its settings, its signals and its end.

use super::Arguments;
use crate::exit::{Verdict, tell};
use crate::feed::routes::{self, Origin};
use crate::feed::{Feed, Listener, PolicyName, Routers, ris_live};
use crate::reading::Reading;
use anyhow::{Context, anyhow, bail, ensure};
use fibula::{IpPrefix, NextHopInfo};
use fibula_io::follow::{Excess, Expired, Followed};
use fibula_io::mrt::bmp::SESSIONS_MAX;
use fibula_io::mrt::{Event, Peer, What};
use fibula_io::table::Value;
use fibula_serve::{Handle, Limits, Server, Settings};
use humantime::format_duration;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::num::NonZero;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};

/// Serves until a signal ends it.
pub(super) fn run(arguments: Arguments) -> anyhow::Result<Verdict> {
    let Arguments {
        tables, follow, policy, routers, listen, vrps, router, token_file, poll, reading, ..
    } = arguments;
    let mut names = BTreeSet::new();
    for (name, _) in follow.iter().filter(|(_, feed)| !matches!(feed, Feed::Bmp(_))) {
        ensure!(names.insert(name), "two feeds are called {name}");
        ensure!(tables.iter().all(|(table, _)| table != name), "a table and a feed are called {name}");
    }
    for (name, feed) in &follow {
        let Feed::Routes(origin) = feed else { continue };
        routes::check()?;
        let mut others = tables.iter().map(|(table, _)| table).chain(names.iter().copied());
        if let Some(other) = others.find(|other| origin.has(name, other)) {
            bail!("{other} may be a table of the feed {name} too");
        }
    }
    if !follow.is_empty() {
        reading.beside_feed();
    }
    reading.of_tables(tables.len())?;
    let wanted = arguments.max_connections.get();
    let (connections, files) = connections(wanted, &follow)?;
    let settings = Settings {
        options: reading.options(Value::NextHop, None)?,
        vrps,
        as_names: arguments.as_names,
        router,
        poll,
        shrink: arguments.shrink,
        read_time: arguments.max_read,
        limits: Limits {
            body: usize::try_from(arguments.max_body.0).unwrap_or(usize::MAX),
            rows: arguments.max_rows.get(),
            time: arguments.max_time,
            head_time: arguments.max_idle,
            connections,
            per_client: arguments.max_per_client.map_or(connections.div_ceil(2), NonZero::get),
        },
        token_file,
        tls: arguments.tls_cert.zip(arguments.tls_key),
        origins: arguments.cors,
        hosts: arguments.host,
        tell: |line| tell(line),
        ..Settings::new(tables)
    };
    Runtime::new()?.block_on(async {
        let server = Server::bind(settings, listen)?;
        let scheme = if server.is_tls() { "https" } else { "http" };
        tell(format_args!("listening at {scheme}://{}", server.address()?));
        if connections < wanted {
            tell(format_args!("the limit of {files} open files allows {connections} connections"));
        }
        signals(server.handle())?;
        for (name, feed) in follow {
            let value = reading.value.unwrap_or_default();
            let followed = Followed::new(reading.peer.as_deref(), value, reading.budget()?);
            let followed = followed.map_err(|what| anyhow!(what))?.sharing(routers.bmp_share);
            let (routers, policy) = (routers.clone(), policy.clone());
            let fed = Fed::new(name, followed, server.handle());
            expire(&fed, arguments.max_stale);
            let reading = reading.clone();
            // It waits for its input, whatever the service does.
            std::thread::spawn(move || {
                give_way();
                match feed {
                    Feed::Routes(origin) => {
                        let mut table = Table { origin, name: &fed.name, handle: &fed.handle };
                        let followed = routes::follow(origin, &reading, &mut table);
                        fed.end(followed.map(|never| match never {}), None);
                    }
                    feed => follow_again(&feed, &reading, &policy, &routers, fed),
                }
            });
        }
        server.run().await;
        anyhow::Ok(())
    })?;
    Ok(Verdict::Good)
}

/// Lets answers go before this thread, and before those that it starts: routers that tell all that
/// they have would share the processors with one request.
fn give_way() {
    // Elsewhere only the process has a priority. Without one all go on as they would.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::setpriority_process(None, 5);
}

/// The least and the most time until a feed that has ended is opened again.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_mins(1));

/// Follows a feed. A pipe or a connection that has ended is opened again, ever later unless it has
/// told something.
fn follow_again(
    feed: &Feed,
    reading: &Reading,
    policies: &[PolicyName],
    routers: &Routers,
    mut fed: Arc<Fed>,
) {
    let is_pipe = matches!(feed, Feed::Input(path) if path != "-" && !Path::new(path).is_file());
    // Of a file all has come at its end, of standard input more would have.
    let is_whole =
        matches!(feed, Feed::Input(path) if !is_pipe && (path != "-" || Path::new("/dev/stdin").is_file()));
    let is_opened_again = is_pipe || matches!(feed, Feed::RisLive(_));
    if is_whole {
        fed.handle.load(&fed.name, "the file has not been read to its end");
    } else if matches!(feed, Feed::RisLive(_)) {
        fed.handle.load(&fed.name, "the server has not confirmed the subscription");
    }
    let (least, most) = PAUSES;
    let mut pause = least;
    loop {
        let before = fed.known().events;
        let followed = match feed {
            Feed::RisLive(subscription) => {
                ris_live::follow(subscription, &mut fed).map(|never| match never {})
            }
            feed => feed.follow(reading, policies, routers, &mut fed),
        };
        if fed.known().events > before {
            pause = least;
        }
        let again = is_opened_again.then_some(pause);
        if is_whole && followed.is_ok() {
            fed.handle.recover(&fed.name);
            return tell(format_args!("{}: the feed has ended", fed.name));
        }
        fed.end(followed.map(drop), again);
        if again.is_none() {
            return;
        }
        std::thread::sleep(pause);
        pause = most.min(2 * pause);
    }
}

/// Returns how many connections there may be, `wanted` at most, and how many open files: each
/// connection is one. Raises the limit of these as far as the process may.
fn connections(wanted: usize, feeds: &[(String, Feed)]) -> anyhow::Result<(usize, u64)> {
    /// Tables that are read, feeds, and the files of the runtime.
    const OTHERS: usize = 64;
    /// Each session of a router is two open files.
    const STATION: usize = 2 * SESSIONS_MAX;
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
    let Some(limit) = getrlimit(Resource::Nofile).current else { return Ok((wanted, u64::MAX)) };
    let stations = feeds.iter().filter(|(_, feed)| matches!(feed, Feed::Bmp(_))).count();
    let others = OTHERS + Limits::SPARE + STATION * stations;
    let left = usize::try_from(limit).unwrap_or(usize::MAX).checked_sub(others).filter(|&left| left > 0);
    let left =
        left.with_context(|| format!("the limit of {limit} open files: expected more than {others}"))?;
    Ok((wanted.min(left), limit))
}

/// What a feed tells, as tables of the service.
struct Fed {
    /// The name of the table, unless a router tells it.
    name: String,
    handle: Handle,
    known: Mutex<Known>,
}

/// What is known of the tables of a feed.
struct Known {
    followed: Followed,
    events: u64,
    /// Whether the feed has ended, and told nothing since.
    is_ended: bool,
    /// Since when tables are stale.
    stale: HashMap<String, Instant>,
    /// The tables whose source has not told all for the first time, each with the peers that have
    /// not said that they have (End-of-RIB).
    loading: HashMap<String, HashSet<Peer>>,
}

impl Fed {
    fn new(name: String, followed: Followed, handle: Handle) -> Arc<Self> {
        let (stale, loading) = (HashMap::new(), HashMap::new());
        Arc::new(Self {
            name,
            handle,
            known: Mutex::new(Known { followed, events: 0, is_ended: false, stale, loading }),
        })
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        // An event is applied whole, whoever panicked after it.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells that the feed has ended, and when it is opened again, if it is. What it has told stays
    /// as it is.
    fn end(&self, followed: anyhow::Result<()>, again: Option<Duration>) {
        let name = &self.name;
        let again = again.map(|pause| format!("; it is opened again in {}", format_duration(pause)));
        let again = again.unwrap_or_default();
        match followed {
            Ok(()) => {
                self.handle.fail(name, "the feed has ended");
                tell(format_args!("{name}: the feed has ended{again}"));
            }
            Err(error) => {
                self.handle.fail(name, format_args!("{error:#}"));
                tell(format_args!("{name}: the feed has ended: {error:#}{again}"));
            }
        }
        let mut known = self.known();
        known.is_ended = true;
        if known.followed.lose(name) > 0 {
            known.stale.entry(name.clone()).or_insert_with(Instant::now);
        }
    }

    /// Drops what has been stale for longer than `most`.
    fn expire(&self, most: Duration) {
        let Known { followed, stale, is_ended, .. } = &mut *self.known();
        let overdue = stale.extract_if(|_, since| since.elapsed() > most);
        for (table, _) in overdue {
            let before = followed.len(&table);
            let change = |prefix, value: Option<&_>| self.handle.change(&table, prefix, value);
            let expired = followed.expire(&table, change);
            let (left, most) = (followed.len(&table), format_duration(most));
            tell(format_args!("{table}: {} prefixes were stale for {most} and are dropped", before - left));
            // What a feed that is away has now is not known.
            let is_away = *is_ended && table == self.name;
            match expired {
                // At once: routers wait meanwhile.
                Expired::All if is_away => self.handle.clear(&table),
                Expired::All => self.handle.forget(&table),
                Expired::Some | Expired::Nothing if is_away => {}
                Expired::Some | Expired::Nothing => self.handle.recover(&table),
            }
        }
    }
}

/// Looks, as long as the feed is followed, whether something has been stale for longer than `most`.
fn expire(fed: &Arc<Fed>, most: Duration) {
    let fed = Arc::downgrade(fed);
    std::thread::spawn(move || {
        while let Some(fed) = fed.upgrade() {
            fed.expire(most);
            drop(fed);
            std::thread::sleep(most.min(Duration::from_millis(200)));
        }
    });
}

impl Known {
    /// Returns whether an event is the last that a table was loading for.
    fn is_loaded(&mut self, table: &str, event: &Event) -> bool {
        let Some(peers) = self.loading.get_mut(table) else { return false };
        match event.what {
            What::EndOfRib { .. } => {
                peers.remove(&event.peer);
                peers.is_empty()
            }
            What::State { to, .. } if to != 6 => {
                peers.remove(&event.peer);
                false
            }
            What::Announce { .. } | What::Withdraw { .. } | What::Open | What::State { .. } => {
                peers.insert(event.peer);
                false
            }
        }
    }
}

impl Listener for Arc<Fed> {
    fn charge(&mut self, table: &str, router: &str) {
        self.known().followed.charge(table, router);
    }

    fn event(&mut self, router: Option<&str>, event: &Event) -> anyhow::Result<Option<Excess>> {
        let table = router.unwrap_or(&self.name);
        let mut known = self.known();
        known.events += 1;
        let was_stale = std::mem::take(&mut known.is_ended) || known.followed.is_stale(table);
        let change = |prefix, value: Option<&_>| self.handle.change(table, prefix, value);
        let played = known.followed.play(table, event, change);
        let is_loaded = known.is_loaded(table, event);
        if is_loaded {
            known.loading.remove(table);
        }
        if is_loaded || was_stale && !known.followed.is_stale(table) {
            known.stale.remove(table);
            self.handle.recover(table);
        }
        Ok(played.err())
    }

    fn lose(&mut self, router: &str) -> usize {
        let mut known = self.known();
        let count = known.followed.lose(router);
        if count > 0 {
            known.loading.remove(router);
            known.stale.entry(router.to_owned()).or_insert_with(Instant::now);
            self.handle.fail(router, "the router has gone, or has not told all of its routes again");
        } else {
            known.loading.insert(router.to_owned(), HashSet::new());
            self.handle.load(router, "the router has not told all of its routes (End-of-RIB)");
        }
        count
    }

    fn forget(&mut self, router: &str) -> usize {
        let mut known = self.known();
        known.loading.remove(router);
        known.stale.remove(router);
        self.handle.forget(router);
        known.followed.forget(router)
    }
}

impl ris_live::Listener for Arc<Fed> {
    fn subscribed(&mut self) {
        let mut known = self.known();
        let name = &self.name;
        known.is_ended = false;
        tell(format_args!("{name}: the server has confirmed the subscription"));
        if known.followed.is_stale(name) {
            let what = "what was told before the connection was lost, and not again since, may be gone";
            self.handle.fail(name, what);
        } else {
            self.handle.recover(name);
        }
    }

    fn bad(&mut self, what: &str) {
        let count = self.handle.bad(&self.name);
        // A server that only sends such messages does not fill the log.
        if count.is_power_of_two() {
            tell(format_args!("{}: {what} (passed over, {count} so far)", self.name));
        }
    }
}

/// The routing tables of an origin, as tables of the service.
struct Table<'s> {
    origin: Origin,
    /// The name of the main one.
    name: &'s str,
    handle: &'s Handle,
}

impl routes::Listener for Table<'_> {
    fn route(&mut self, table: u32, prefix: IpPrefix, value: Option<&NextHopInfo>) {
        self.handle.change(&self.origin.table(self.name, table), prefix, value);
    }

    fn limit(&mut self, what: &str) {
        self.handle.fail(self.name, format_args!("routes are left out: {what}"));
    }
}

/// Follows the process's signals.
fn signals(handle: Handle) -> anyhow::Result<()> {
    let mut reload = signal(SignalKind::hangup())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    tokio::spawn(async move {
        loop {
            tokio::select! {
                _ = reload.recv() => handle.reload(),
                _ = terminate.recv() => break,
                _ = interrupt.recv() => break,
            }
        }
        handle.stop();
    });
    Ok(())
}
