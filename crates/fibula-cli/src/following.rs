//! [`Following`]: tables that feeds change while addresses are looked up in them.

use crate::exit::{Verdict, tell};
use crate::feed::{Feed, Listener, PolicyName, Routers, SERVED, views};
use crate::reading::Reading;
use anyhow::ensure;
use fibula_io::follow::{Excess, Followed};
use fibula_io::mrt::Event;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

/// The tables as they are now. A feed changes them while nobody holds the lock.
#[derive(Clone, Debug)]
struct Shared(Arc<(Mutex<()>, Mutex<Followed>)>);

impl Shared {
    /// Takes turns: a feed that always has more would else keep lookups waiting for long.
    fn lock(&self) -> MutexGuard<'_, Followed> {
        let (turn, followed) = &*self.0;
        let _turn = turn.lock().unwrap_or_else(PoisonError::into_inner);
        // An event is applied whole, whoever panicked after it.
        followed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Listener for Shared {
    fn charge(&mut self, table: &str, router: &str) {
        self.lock().charge(table, router);
    }

    fn event(&mut self, router: Option<&str>, event: &Event) -> anyhow::Result<Option<Excess>> {
        Ok(self.lock().play(router.unwrap_or_default(), event, |_, _| {}).err())
    }

    fn lose(&mut self, router: &str) -> usize {
        self.lock().lose(router)
    }

    fn forget(&mut self, router: &str) -> usize {
        self.lock().forget(router)
    }
}

/// Tables that feeds change.
#[derive(Debug)]
pub(crate) struct Following {
    shared: Shared,
    by_router: bool,
    whole: bool,
    has_failed: Arc<AtomicBool>,
}

impl Following {
    /// Applies the files among `feeds` whole, in their order. From the first pipe on they are
    /// followed by a thread of their own. `input` is where the addresses come from.
    pub(crate) fn start(
        feeds: &[Feed],
        policy: PolicyName,
        reading: &Reading,
        input: &str,
    ) -> anyhow::Result<Self> {
        let by_router = feeds.iter().any(|feed| matches!(feed, Feed::Bmp(_)));
        ensure!(
            by_router || policy == PolicyName::default(),
            "--policy is for routers (--follow bmp:ADDRESS)"
        );
        if by_router {
            ensure!(views(&[policy], reading)?.is_one(), "--vrf: a router is asked by one table");
        }
        ensure!(!by_router || feeds.len() == 1, "routers cannot be followed beside files");
        ensure!(!feeds.iter().any(|feed| matches!(feed, Feed::RisLive(_) | Feed::Routes(_))), SERVED);
        let takes_input = input == "-" && feeds.contains(&Feed::Input("-".into()));
        ensure!(!takes_input, "standard input is the addresses, not a feed");
        reading.beside_feed();
        reading.of_tables(0)?;
        let value = reading.value.unwrap_or_default();
        let followed = Followed::new(reading.peer.as_deref(), value, reading.budget()?);
        let followed = Mutex::new(followed.map_err(anyhow::Error::msg)?.compiled());
        let mut shared = Shared(Arc::new((Mutex::default(), followed)));
        let is_whole = |feed: &&Feed| matches!(feed, Feed::Input(path) if fs::metadata(path).is_ok_and(|file| file.is_file()));
        let (files, pipes) = feeds.split_at(feeds.iter().take_while(is_whole).count());
        let mut whole = true;
        for feed in files {
            whole &= feed.follow(reading, &[policy], &Routers::default(), &mut shared)? == Verdict::Good;
        }
        let has_failed = Arc::new(AtomicBool::new(false));
        let beside = (pipes.to_vec(), reading.clone(), shared.clone(), Arc::clone(&has_failed));
        thread::spawn(move || {
            let (feeds, reading, mut shared, has_failed) = beside;
            for feed in &feeds {
                match feed.follow(&reading, &[policy], &Routers::default(), &mut shared) {
                    Ok(Verdict::Good) => {}
                    other => {
                        has_failed.store(true, Ordering::Relaxed);
                        // Addresses go on to be looked up in what was told before.
                        other.map_or_else(|error| tell(format_args!("{error:#}")), drop);
                        return;
                    }
                }
            }
        });
        Ok(Self { shared, by_router, whole, has_failed })
    }

    /// Returns whether there is a table for each router.
    pub(crate) fn by_router(&self) -> bool {
        self.by_router
    }

    /// Holds the tables as they are now.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Followed> {
        self.shared.lock()
    }

    /// Returns whether all feeds were good so far.
    pub(crate) fn verdict(&self) -> Verdict {
        Verdict::good_if(self.whole && !self.has_failed.load(Ordering::Relaxed))
    }
}
