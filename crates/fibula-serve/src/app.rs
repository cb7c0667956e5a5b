//! [`App`]: what all requests share, and the thread that follows the files.

use crate::events::Events;
use crate::files::Followed;
use crate::metrics::Metrics;
use crate::query::{Query, shortened};
use crate::refusal::Refusal;
use crate::served::Served;
use crate::{Error, Settings, token};
use fibula_io::Source;
use fibula_io::rov::Vrps;
use fibula_io::table::{ReadOptions, read};
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Instant;
use tokio::sync::watch;

/// What all requests share.
pub(crate) struct App {
    pub(crate) settings: Settings,
    pub(crate) tables: Vec<(String, Followed<Served>)>,
    pub(crate) vrps: Option<Followed<Vrps>>,
    pub(crate) token: Option<token::Token>,
    pub(crate) metrics: Metrics,
    pub(crate) events: Events,
    pub(crate) started: Instant,
    /// Whether the service ends.
    pub(crate) stop: watch::Sender<bool>,
    /// Wakes the thread that follows the files.
    wake: Mutex<Sender<()>>,
}

impl App {
    /// Reads all files, and follows them in a thread of its own as long as this is there.
    pub(crate) fn start(settings: Settings) -> Result<Arc<Self>, Error> {
        if settings.tables.is_empty() {
            return Err(Error::new("no table to serve"));
        }
        let mut tables: Vec<(String, Followed<Served>)> = Vec::new();
        for (name, path) in &settings.tables {
            let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "_-.".contains(letter);
            if name.is_empty() || !name.chars().all(is_plain) {
                let what = "expected letters, digits, _, - and .";
                return Err(Error::new(format_args!("the name {name:?} of a table: {what}")));
            }
            if tables.iter().any(|(other, _)| other == name) {
                return Err(Error::new(format_args!("two tables are called {name}")));
            }
            let (options, called) = (settings.options.clone(), name.clone());
            let followed = Followed::open(path.clone(), move |path, generation| {
                let source = Source::File(path.to_owned());
                let loaded = read(&source, &options).map_err(|error| error.to_string())?;
                let served = Served::new(&called, generation, loaded);
                served.map_err(|error| format!("{source}: {error}"))
            });
            tables.push((name.clone(), followed.map_err(Error::new)?));
        }
        let vrps = settings.vrps.clone().map(|path| Followed::open(path, |path, _| payloads(path)));
        let token = settings.token_file.as_deref().map(token::Token::read).transpose()?;
        let (wake, woken) = channel();
        let app = Arc::new(Self {
            vrps: vrps.transpose().map_err(Error::new)?,
            tables,
            token,
            metrics: Metrics::default(),
            events: Events::default(),
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
        Ok(app)
    }

    /// Asks for all files to be read again.
    pub(crate) fn reload(&self) {
        // The thread is there as long as this is.
        let _ = self.wake.lock().unwrap_or_else(PoisonError::into_inner).send(());
    }

    fn follow(&self, asked: bool) {
        for (_, table) in &self.tables {
            if let Some(old) = table.follow(asked, self.settings.tell) {
                self.events.replaced(&old, &table.get());
            }
        }
        if let Some(vrps) = &self.vrps {
            vrps.follow(asked, self.settings.tell);
        }
    }

    /// Returns the table that a request names by `parameter`, as it is now; the only one if it
    /// names none.
    pub(crate) fn table(&self, query: &Query<'_>, parameter: &str) -> Result<Arc<Served>, Refusal> {
        match (query.get(parameter), self.tables.as_slice()) {
            (Some(name), _) => self.named(name),
            (None, [(_, only)]) => Ok(only.get()),
            (None, _) => {
                Err(Refusal::bad(format_args!("parameter {parameter} is missing: expected {}", self.names())))
            }
        }
    }

    /// Returns a table by its name, as it is now.
    pub(crate) fn named(&self, name: &str) -> Result<Arc<Served>, Refusal> {
        let found = self.tables.iter().find(|(known, _)| known == name);
        found.map(|(_, table)| table.get()).ok_or_else(|| {
            Refusal::absent(format_args!("no table {:?}: expected {}", shortened(name), self.names()))
        })
    }

    fn names(&self) -> String {
        let names: Vec<&str> = self.tables.iter().map(|(name, _)| name.as_str()).collect();
        names.join(", ")
    }
}

/// Reads RPKI payloads.
fn payloads(path: &Path) -> Result<Vrps, String> {
    let source = Source::File(path.to_owned());
    let (vrps, _) = Vrps::read(&source, &ReadOptions::default()).map_err(|error| error.to_string())?;
    Ok(vrps)
}
