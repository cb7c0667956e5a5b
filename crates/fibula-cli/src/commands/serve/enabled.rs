//! The service as a process: its settings, its signals and its end.

use super::Arguments;
use crate::exit::{Verdict, tell};
use crate::feed::{Feed, Listener};
use anyhow::{anyhow, ensure};
use fibula_io::follow::Followed;
use fibula_io::mrt::Event;
use fibula_io::table::Value;
use fibula_serve::{Handle, Limits, Server, Settings};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::collections::BTreeSet;
use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};

/// Serves until a signal ends it.
pub(super) fn run(arguments: Arguments) -> anyhow::Result<Verdict> {
    let Arguments { tables, follow, policy, listen, vrps, router, token_file, poll, reading, .. } = arguments;
    let mut names = BTreeSet::new();
    let inputs = follow.iter().filter(|(_, feed)| matches!(feed, Feed::Input(_)));
    for (name, _) in inputs {
        ensure!(names.insert(name), "two feeds are called {name}");
        ensure!(tables.iter().all(|(table, _)| table != name), "a table and a feed are called {name}");
    }
    let settings = Settings {
        options: reading.options(Value::NextHop, None)?,
        vrps,
        router,
        poll,
        limits: Limits {
            body: usize::try_from(arguments.max_body.0).unwrap_or(usize::MAX),
            rows: arguments.max_rows.get(),
            time: arguments.max_time,
            head_time: arguments.max_idle,
            connections: arguments.max_connections.get(),
        },
        token_file,
        tls: arguments.tls_cert.zip(arguments.tls_key),
        tell: |line| tell(line),
        ..Settings::new(tables)
    };
    allow_connections();
    Runtime::new()?.block_on(async {
        let server = Server::bind(settings, listen)?;
        let scheme = if server.is_tls() { "https" } else { "http" };
        tell(format_args!("listening at {scheme}://{}", server.address()?));
        signals(server.handle())?;
        for (name, feed) in follow {
            let value = reading.value.unwrap_or_default();
            let followed = Followed::new(reading.peer.as_deref(), value, reading.budget()?);
            let followed = followed.map_err(|what| anyhow!(what))?;
            let mut fed = Fed { name, followed, handle: server.handle() };
            let reading = reading.clone();
            // It waits for its input, whatever the service does.
            std::thread::spawn(move || match feed.follow(&reading, policy, &mut fed) {
                Ok(_) => tell(format_args!("{}: the feed has ended", fed.name)),
                Err(error) => {
                    fed.handle.fail(&fed.name, format_args!("{error:#}"));
                    tell(format_args!("{}: the feed has ended: {error:#}", fed.name));
                }
            });
        }
        server.run().await;
        anyhow::Ok(())
    })?;
    Ok(Verdict::Good)
}

/// Lets the process have as many connections as the system allows it: each is an open file. Where
/// it may not, the service has those that it may have.
fn allow_connections() {
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}

/// What a feed tells, as tables of the service.
struct Fed {
    /// The name of the table, unless a router tells it.
    name: String,
    followed: Followed,
    handle: Handle,
}

impl Listener for Fed {
    fn event(&mut self, router: Option<&str>, event: &Event) -> anyhow::Result<Option<String>> {
        let table = router.unwrap_or(&self.name);
        let change = |prefix, value: Option<&_>| self.handle.change(table, prefix, value);
        Ok(self.followed.play(table, event, change).err())
    }

    fn forget(&mut self, router: &str) -> usize {
        self.handle.forget(router);
        self.followed.forget(router)
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
