//! [`App`]: what all requests share, and the thread that follows the files.

use crate::events::Events;
use crate::feed::{Feeds, TICK};
use crate::files::{Failure, Followed};
use crate::metrics::Metrics;
use crate::refusal::Refusal;
use crate::served::Served;
use crate::{Error, Settings};
use fibula_access::Token;
use fibula_io::Source;
use fibula_io::rov::Vrps;
use fibula_io::table::{ReadOptions, read};
use fibula_page::{Pictures, Query, plain_name, shortened};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Instant;
use tokio::sync::{Semaphore, watch};

/// What all requests share.
pub(crate) struct App {
    pub(crate) settings: Settings,
    /// The tables of files.
    pub(crate) files: Vec<(String, Followed<Served>)>,
    pub(crate) feeds: Feeds,
    pub(crate) vrps: Option<Followed<Vrps>>,
    pub(crate) token: Option<Token>,
    pub(crate) metrics: Metrics,
    pub(crate) events: Events,
    pub(crate) pictures: Pictures,
    /// Who walks a whole table for a question has one of these: so the others have a processor.
    pub(crate) walks: Arc<Semaphore>,
    pub(crate) started: Instant,
    /// Whether the service ends.
    pub(crate) stop: watch::Sender<bool>,
    /// Wakes the thread that follows the files.
    wake: Mutex<Sender<()>>,
}

impl App {
    /// Reads all files, and follows them in a thread of its own as long as this is there.
    pub(crate) fn start(settings: Settings) -> Result<Arc<Self>, Error> {
        let mut files: Vec<(String, Followed<Served>)> = Vec::new();
        for (name, path) in &settings.tables {
            if name.is_empty() || plain_name(name) != *name {
                let what = "expected letters, digits, _, - and .";
                return Err(Error::new(format_args!("the name {name:?} of a table: {what}")));
            }
            if files.iter().any(|(other, _)| other == name) {
                return Err(Error::new(format_args!("two tables are called {name}")));
            }
            let (options, called) = (settings.options.clone(), name.clone());
            let followed = Followed::open(path.clone(), move |path, generation| {
                let source = Source::File(path.to_owned());
                let loaded = read(&source, &options).map_err(|error| error.to_string())?;
                Ok(Served::new(&called, path, generation, loaded))
            });
            files.push((name.clone(), followed.map_err(Error::new)?));
        }
        let vrps = settings.vrps.clone().map(|path| Followed::open(path, |path, _| payloads(path)));
        let token = settings.token_file.as_deref().map(Token::read).transpose().map_err(Error::new)?;
        let (wake, woken) = channel();
        let app = Arc::new(Self {
            vrps: vrps.transpose().map_err(Error::new)?,
            files,
            feeds: Feeds::default(),
            token,
            metrics: Metrics::default(),
            events: Events::default(),
            pictures: Pictures::default(),
            walks: Arc::new(Semaphore::new(thread::available_parallelism().map_or(1, usize::from))),
            started: Instant::now(),
            stop: watch::Sender::new(false),
            wake: Mutex::new(wake),
            settings,
        });
        let (poll, followed) = (app.settings.poll, Arc::downgrade(&app));
        let follow = move || {
            loop {
                let asked = match woken.recv_timeout(poll) {
                    Ok(()) => true,
                    Err(RecvTimeoutError::Timeout) => false,
                    Err(RecvTimeoutError::Disconnected) => return,
                };
                let Some(app) = followed.upgrade() else { return };
                app.follow(asked);
            }
        };
        thread::Builder::new().name("files".into()).spawn(follow).map_err(Error::new)?;
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
        // The thread is there as long as this is.
        let _ = self.wake.lock().unwrap_or_else(PoisonError::into_inner).send(());
    }

    fn follow(&self, asked: bool) {
        for (_, table) in &self.files {
            if let Some(old) = table.follow(asked, self.settings.tell) {
                self.events.replaced(&old, &table.get());
            }
        }
        if let Some(vrps) = &self.vrps {
            vrps.follow(asked, self.settings.tell);
        }
    }

    /// Does something that walks a whole table, in a thread of its own, when its turn has come.
    /// Who goes away meanwhile loses the turn.
    pub(crate) async fn walk<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Refusal> {
        let turn = Arc::clone(&self.walks).acquire_owned().await.map_err(|_| Refusal::bug())?;
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
            Ok([only]) => Ok(only),
            Err(all) => {
                let names = names(&all);
                Err(Refusal::bad(format_args!("parameter {parameter} is missing: expected {names}")))
            }
        }
    }

    /// Returns a table by its name, as it is now.
    pub(crate) fn named(&self, name: &str) -> Result<Arc<Served>, Refusal> {
        let all = self.tables();
        let found = all.iter().find(|served| served.name == name);
        found.map(Arc::clone).ok_or_else(|| {
            let names = names(&all);
            Refusal::absent(format_args!("no table {:?}: expected {names}", shortened(name)))
        })
    }

    /// Returns why tables are older than their files, or not fed any more, by name.
    pub(crate) fn failures(&self) -> BTreeMap<String, Failure> {
        let mut all = self.feeds.failures();
        all.extend(self.files.iter().filter_map(|(name, file)| Some((name.clone(), file.failure()?))));
        all
    }
}

fn names(tables: &[Arc<Served>]) -> String {
    let names: Vec<&str> = tables.iter().map(|served| served.name.as_str()).collect();
    if names.is_empty() { "none yet".into() } else { names.join(", ") }
}

/// Reads RPKI payloads.
fn payloads(path: &Path) -> Result<Vrps, String> {
    let source = Source::File(path.to_owned());
    let (vrps, _) = Vrps::read(&source, &ReadOptions::default()).map_err(|error| error.to_string())?;
    Ok(vrps)
}
