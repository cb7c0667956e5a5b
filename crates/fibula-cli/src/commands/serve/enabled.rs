//! The service as a process: its settings, its signals and its end.

use super::Arguments;
use crate::exit::{Verdict, tell};
use crate::feed::routes::{self, Origin};
use crate::feed::{Feed, Listener};
use anyhow::{Context, anyhow, bail, ensure};
use fibula::{IpPrefix, NextHopInfo};
use fibula_io::follow::{Excess, Followed};
use fibula_io::mrt::Event;
use fibula_io::mrt::bmp::SESSIONS_MAX;
use fibula_io::table::Value;
use fibula_serve::{Handle, Limits, Server, Settings};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::collections::BTreeSet;
use std::num::NonZero;
use std::path::Path;
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
            let routers = routers.clone();
            let handle = server.handle();
            let reading = reading.clone();
            let is_endless = is_endless(&feed);
            // It waits for its input, whatever the service does.
            std::thread::spawn(move || {
                let result = match feed {
                    Feed::Routes(origin) => {
                        let mut table = Table { origin, name: &name, handle: &handle };
                        routes::follow(origin, &reading, &mut table).map(|never| match never {})
                    }
                    feed => feed.follow(
                        &reading,
                        policy,
                        &routers,
                        &mut Fed { name: &name, followed, handle: &handle },
                    ),
                };
                match result {
                    Ok(_) => {
                        if is_endless {
                            handle.fail(&name, "the feed has ended");
                        }
                        tell(format_args!("{name}: the feed has ended"));
                    }
                    Err(error) => {
                        handle.fail(&name, format_args!("{error:#}"));
                        tell(format_args!("{name}: the feed has ended: {error:#}"));
                    }
                }
            });
        }
        server.run().await;
        anyhow::Ok(())
    })?;
    Ok(Verdict::Good)
}

/// Returns whether more would have come after the end of a feed: of a file all has, of a pipe it
/// has not.
fn is_endless(feed: &Feed) -> bool {
    let Feed::Input(path) = feed else { return true };
    !Path::new(if path == "-" { "/dev/stdin" } else { path }).is_file()
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
struct Fed<'s> {
    /// The name of the table, unless a router tells it.
    name: &'s str,
    followed: Followed,
    handle: &'s Handle,
}

impl Listener for Fed<'_> {
    fn event(&mut self, router: Option<&str>, event: &Event) -> anyhow::Result<Option<Excess>> {
        let table = router.unwrap_or(self.name);
        let was_stale = self.followed.is_stale(table);
        let change = |prefix, value: Option<&_>| self.handle.change(table, prefix, value);
        let played = self.followed.play(table, event, change);
        if was_stale && !self.followed.is_stale(table) {
            self.handle.recover(table);
        }
        Ok(played.err())
    }

    fn lose(&mut self, router: &str) -> usize {
        let count = self.followed.lose(router);
        if count > 0 {
            self.handle.fail(router, "the router has gone, or has not told all of its routes again");
        }
        count
    }

    fn forget(&mut self, router: &str) -> usize {
        self.handle.forget(router);
        self.followed.forget(router)
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
