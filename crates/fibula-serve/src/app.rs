//! [`App`]: what all requests share, and the threads that follow the files.

use crate::events::Events;
use crate::feed::{Feeds, TICK};
use crate::files::{Counts, Failure, Followed, Rules, Turns};
use crate::host::Hosts;
use crate::metrics::Metrics;
use crate::refusal::Refusal;
use crate::served::Served;
use crate::shares::Share;
use crate::{Error, Settings};
use axum::http::StatusCode;
use fibula_access::{TlsAcceptor, Token, acceptor};
use fibula_io::as_names::AsNames;
use fibula_io::rov::Vrps;
use fibula_io::table::{ReadOptions, read};
use fibula_page::{Beside, Pictures, Query, plain_name, shortened};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// How long a file waits for another one that is being read.
const PATIENCE: Duration = Duration::from_secs(30);

/// What all requests share.
pub(crate) struct App {
    pub(crate) settings: Settings,
    /// The tables of files.
    pub(crate) files: Vec<(String, Followed<Served>)>,
    pub(crate) feeds: Feeds,
    pub(crate) vrps: Option<Followed<Vrps>>,
    pub(crate) names: Option<Followed<AsNames>>,
    pub(crate) token: Option<Followed<Token>>,
    pub(crate) tls: Option<Followed<TlsAcceptor>>,
    pub(crate) hosts: Hosts,
    pub(crate) metrics: Metrics,
    pub(crate) events: Events,
    pub(crate) pictures: Pictures,
    /// What all clients together may do at the same time.
    pub(crate) share: Share,
    pub(crate) started: Instant,
    /// Whether the service ends.
    pub(crate) stop: watch::Sender<bool>,
    /// Wake the threads that follow the files. One call waits at most: more ask for the same.
    wake: Vec<SyncSender<()>>,
}

impl App {
    /// Reads all files, and follows each in a thread of its own as long as this is there.
    pub(crate) fn start(settings: Settings, address: SocketAddr) -> Result<Arc<Self>, Error> {
        let (tell, rules) = (
            settings.tell,
            Rules {
                shrink: settings.shrink,
                time: settings.read_time,
                turns: Arc::new(Turns::new(PATIENCE)),
            },
        );
        let (token, tls) = (token(&settings, &rules)?, certificate(&settings, &rules)?);
        let mut files: Vec<(String, Followed<Served>)> = Vec::new();
        for (name, path) in &settings.tables {
            if name.is_empty() || plain_name(name) != *name {
                let what = "expected letters, digits, _, - and .";
                return Err(Error::new(format_args!("the name {name:?} of a table: {what}")));
            }
            if files.iter().any(|(other, _)| other == name) {
                return Err(Error::new(format_args!("two tables are called {name}")));
            }
            let options = ReadOptions { regular_only: true, ..settings.options.clone() };
            let called = name.clone();
            let followed = Followed::open(path.clone(), rules.clone(), tell, move |path, generation| {
                let source = fibula_io::Source::File(path.to_owned());
                let loaded = read(&source, &options).map_err(|error| error.to_string())?;
                let served = Served::new(&called, path, generation, loaded);
                let (ipv4, ipv6) = (served.table.len_ipv4(), served.table.len_ipv6());
                Ok((served, vec![("IPv4 routes", ipv4), ("IPv6 routes", ipv6)]))
            });
            files.push((name.clone(), followed.map_err(Error::new)?));
        }
        let vrps = settings.vrps.clone();
        let vrps = vrps.map(|path| Followed::open(path, rules.clone(), tell, |path, _| payloads(path)));
        let names = settings.as_names.clone();
        let names = names.map(|path| Followed::open(path, rules, tell, |path, _| as_names(path)));
        let others = [
            (Source::Vrps, vrps.is_some()),
            (Source::Names, names.is_some()),
            (Source::Token, token.is_some()),
            (Source::Tls, tls.is_some()),
        ];
        let others = others.into_iter().filter_map(|(source, is_there)| is_there.then_some(source));
        let sources: Vec<Source> = (0..files.len()).map(Source::Table).chain(others).collect();
        let (wake, woken): (Vec<_>, Vec<_>) = sources.iter().map(|_| sync_channel(1)).unzip();
        let is_open = address.ip().to_canonical().is_loopback() && token.is_none();
        let app = Arc::new(Self {
            vrps: vrps.transpose().map_err(Error::new)?,
            names: names.transpose().map_err(Error::new)?,
            files,
            feeds: Feeds::default(),
            token,
            tls,
            hosts: Hosts::new(is_open, &settings.hosts),
            metrics: Metrics::default(),
            events: Events::default(),
            pictures: Pictures::default(),
            share: Share::new(settings.limits.connections),
            started: Instant::now(),
            stop: watch::Sender::new(false),
            wake,
            settings,
        });
        for (source, woken) in sources.into_iter().zip(woken) {
            app.follow(source, woken)?;
        }
        let fed = Arc::downgrade(&app);
        let publish = move || {
            while let Some(app) = fed.upgrade() {
                app.feeds.publish(&app.events);
                drop(app);
                thread::sleep(TICK);
            }
        };
        thread::Builder::new().name("feeds".into()).spawn(publish).map_err(Error::new)?;
        Ok(app)
    }

    /// Asks for all files to be read again.
    pub(crate) fn reload(&self) {
        // Each thread is there as long as this is, or asked already.
        for wake in &self.wake {
            let _ = wake.try_send(());
        }
    }

    /// Follows one file in a thread of its own: one that takes long holds up no other.
    fn follow(self: &Arc<Self>, source: Source, woken: Receiver<()>) -> Result<(), Error> {
        let (poll, followed) = (self.settings.poll, Arc::downgrade(self));
        let follow = move || {
            loop {
                let asked = match woken.recv_timeout(poll) {
                    Ok(()) => true,
                    Err(RecvTimeoutError::Timeout) => false,
                    Err(RecvTimeoutError::Disconnected) => return,
                };
                let Some(app) = followed.upgrade() else { return };
                let tell = app.settings.tell;
                match source {
                    Source::Table(at) => {
                        let (_, table) = &app.files[at];
                        if let Some(old) = table.follow(asked, tell) {
                            app.events.replaced(&old, &table.get());
                        }
                    }
                    Source::Vrps => drop(app.vrps.as_ref().map(|vrps| vrps.follow(asked, tell))),
                    Source::Names => drop(app.names.as_ref().map(|names| names.follow(asked, tell))),
                    Source::Token => drop(app.token.as_ref().map(|token| token.follow(asked, tell))),
                    Source::Tls => drop(app.tls.as_ref().map(|tls| tls.follow(asked, tell))),
                }
            }
        };
        thread::Builder::new().name("file".into()).spawn(follow).map(drop).map_err(Error::new)
    }

    /// Does something that walks a whole table, in a thread of its own, when the turn of its client
    /// has come. Who goes away meanwhile loses the turn.
    pub(crate) async fn walk<T: Send + 'static>(
        &self,
        client: &Share,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Refusal> {
        let turn = client.walk(&self.share).await?;
        let work = move || {
            let _turn = turn;
            work()
        };
        tokio::task::spawn_blocking(work).await.map_err(|_| Refusal::bug())
    }

    /// Returns all tables, as they are now. A file's hides a feed's of the same name.
    pub(crate) fn tables(&self) -> Vec<Arc<Served>> {
        let is_free = |served: &Arc<Served>| self.files.iter().all(|(name, _)| *name != served.name);
        self.files.iter().map(|(_, table)| table.get()).chain(self.feeds.tables().filter(is_free)).collect()
    }

    /// Returns the table that a request names by `parameter`, as it is now; the only one if it
    /// names none.
    pub(crate) fn table(&self, query: &Query<'_>, parameter: &str) -> Result<Arc<Served>, Refusal> {
        if let Some(name) = query.get(parameter) {
            return self.named(name);
        }
        match <[_; 1]>::try_from(self.tables()) {
            Ok([only]) => self.named(&only.name),
            Err(all) => {
                let names = names(&all);
                Err(Refusal::bad(format_args!("parameter {parameter} is missing: expected {names}")))
            }
        }
    }

    /// Returns all tables, as they are now, to answer from them. Refuses where one is unread, which
    /// would answer that there is no route.
    pub(crate) fn answering(&self) -> Result<Vec<Arc<Served>>, Refusal> {
        self.files.iter().try_for_each(|(name, table)| refuse_unread(name, table))?;
        Ok(self.tables())
    }

    /// Returns a table by its name, as it is now, to answer from it.
    pub(crate) fn named(&self, name: &str) -> Result<Arc<Served>, Refusal> {
        if let Some((_, table)) = self.files.iter().find(|(other, _)| other == name) {
            refuse_unread(name, table)?;
        }
        let all = self.tables();
        let found = all.iter().find(|served| served.name == name);
        found.map(Arc::clone).ok_or_else(|| {
            let names = names(&all);
            Refusal::absent(format_args!("no table {:?}: expected {names}", shortened(name)))
        })
    }

    /// Returns the RPKI payloads, to answer from them.
    pub(crate) fn payloads(&self) -> Result<Arc<Vrps>, Refusal> {
        let Some(vrps) = &self.vrps else {
            return Err(Refusal::absent("no RPKI payloads: the service was started without --vrps"));
        };
        refuse_unread(VRPS, vrps)?;
        Ok(vrps.get())
    }

    /// Returns what is said of routes beside their values, and of which generations of the files. A
    /// file that has held nothing so far says nothing.
    pub(crate) fn beside(&self) -> (Beside, [u64; 2]) {
        fn of<T>(file: Option<&Followed<T>>) -> (Option<Arc<T>>, u64) {
            // What is newer than its generation is only asked for once more.
            let generation = file.map_or(0, Followed::generation);
            (file.filter(|file| !file.is_unread()).map(Followed::get), generation)
        }
        let (names, of_names) = of(self.names.as_ref());
        let (vrps, of_vrps) = of(self.vrps.as_ref());
        (Beside { names, vrps }, [of_names, of_vrps])
    }

    /// Returns why tables are older than their files, or not fed any more, by name. Those of other
    /// files are options, which no table can have.
    pub(crate) fn failures(&self) -> BTreeMap<String, Failure> {
        let mut all = self.feeds.failures();
        all.extend(self.files.iter().filter_map(|(name, file)| Some((name.clone(), file.failure()?))));
        all.extend(self.vrps.iter().filter_map(|vrps| Some((VRPS.to_owned(), vrps.failure()?))));
        all.extend(self.names.iter().filter_map(|names| Some((AS_NAMES.to_owned(), names.failure()?))));
        all.extend(self.token.iter().filter_map(|token| Some((TOKEN.to_owned(), token.failure()?))));
        all.extend(self.tls.iter().filter_map(|tls| Some((TLS.to_owned(), tls.failure()?))));
        all
    }
}

/// What other files are called beside the names of tables.
const VRPS: &str = "--vrps";
const AS_NAMES: &str = "--as-names";
const TOKEN: &str = "--token-file";
const TLS: &str = "--tls-cert";

/// A file that is followed.
#[derive(Clone, Copy, Debug)]
enum Source {
    /// That of a table, by its index.
    Table(usize),
    Vrps,
    Names,
    Token,
    Tls,
}

/// Reads the token. The one that was read last counts until another one is there.
fn token(settings: &Settings, rules: &Rules) -> Result<Option<Followed<Token>>, Error> {
    let read = |path: &Path, _| Ok((Token::read(path).map_err(|error| error.to_string())?, Counts::new()));
    let path = settings.token_file.clone();
    let token = path.map(|path| Followed::open(path, rules.uncounted(), settings.tell, read));
    token.transpose().map_err(Error::new)
}

/// Reads the certificate with its key. It is shown to those who connect after it was read.
fn certificate(settings: &Settings, rules: &Rules) -> Result<Option<Followed<TlsAcceptor>>, Error> {
    let Some((chain, key)) = settings.tls.clone() else { return Ok(None) };
    let of_chain = key.clone();
    let read = move |chain: &Path, _| {
        Ok((acceptor(chain, &of_chain).map_err(|error| error.to_string())?, Counts::new()))
    };
    let tls = Followed::open_both(chain, Some(key), rules.uncounted(), settings.tell, read);
    tls.map(Some).map_err(Error::new)
}

/// Refuses to answer from a file that has held nothing so far.
fn refuse_unread<T>(name: &str, file: &Followed<T>) -> Result<(), Refusal> {
    if !file.is_unread() {
        return Ok(());
    }
    let why = file.failure().map_or_else(String::new, |failure| format!(": {}", failure.what));
    Err(Refusal::new(StatusCode::SERVICE_UNAVAILABLE, format_args!("{name} is unread{why}")))
}

fn names(tables: &[Arc<Served>]) -> String {
    let names: Vec<&str> = tables.iter().map(|served| served.name.as_str()).collect();
    if names.is_empty() { "none yet".into() } else { names.join(", ") }
}

/// Reads RPKI payloads.
fn payloads(path: &Path) -> Result<(Vrps, Counts), String> {
    let source = fibula_io::Source::File(path.to_owned());
    let options = ReadOptions { regular_only: true, ..ReadOptions::default() };
    let (vrps, loaded) = Vrps::read(&source, &options).map_err(|error| error.to_string())?;
    let kept = usize::try_from(loaded.report.kept).unwrap_or(usize::MAX);
    Ok((vrps, vec![("prefixes with RPKI payloads", kept)]))
}

/// Reads the names of ASes.
fn as_names(path: &Path) -> Result<(AsNames, Counts), String> {
    let names =
        AsNames::read(&fibula_io::Source::File(path.to_owned())).map_err(|error| error.to_string())?;
    let count = names.len();
    Ok((names, vec![("names of ASes", count)]))
}
