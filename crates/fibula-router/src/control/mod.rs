//! [`Control`]: keeps what feeds tell, and tells a [`Plane`] what changed.
//!
//! ```text
//! batch ─▶ links, neighbours ─▶ next-hop objects ─▶ routes ─▶ plane: adjacencies, actions, routes
//!                                                                 └▶ a grace period, now and then
//! ```
//! It has no thread, no socket and no clock of its own: whoever has it passes batches and the time.
//! [`run`] does so for a router, and [`mirror`] for somebody who keeps the routes as values.

mod links;
#[cfg(feature = "daemon")]
mod mirror;
mod report;
mod run;
mod settings;
mod traces;

#[cfg(feature = "daemon")]
pub use mirror::{Noted, Told, mirror};
pub use report::{FeedRow, LinkRow, LookupRow, NextHopRow, RouteRow, Status, Way};
pub use run::run;
pub use settings::{Limits, Settings};
pub use traces::{LookFor, PacketRow, SentRow, TraceRow, Traces};

use crate::Error;
use crate::adjacencies::Adjacencies;
use crate::confs::Confs;
use crate::feed::{Batch, Feed, Mark, ObjectKey, RouteKey, Session};
use crate::message::{Rule, Target};
use crate::next_hops::NextHops;
use crate::plane::{Plane, Sample};
use crate::routes::{News, Tables};
use fibula::Limit;
use hdrhistogram::Histogram;
use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::time::{Duration, Instant};
use traces::Traced;

/// Indices that wait for a grace period before one is asked for. One may take milliseconds, so that
/// many indices share it.
const RETIRED_MAX: usize = 1024;

/// How long to wait before the plane is told again what it refused.
const RETRY: Duration = Duration::from_secs(1);

/// The part of the tables that they grow by while a first session tells everything, and a number
/// of prefixes that is no growth.
const GROWTH: (usize, usize) = (64, 64);

/// How often the plane looks whether it is attached, beside when a link changes.
const WATCH: Duration = Duration::from_secs(5);

/// How often samples are taken from the plane.
const SAMPLE: Duration = Duration::from_millis(100);

/// How often the kernel is asked for neighbours that the plane needs.
const ASK: Duration = Duration::from_secs(5);

/// What has happened since the beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Counts {
    /// Messages of feeds.
    pub messages: u64,
    /// Messages of no use to a router.
    pub ignored: u64,
    /// Connections that ended because of a malformed message.
    pub malformed: u64,
    /// Batches that were applied.
    pub batches: u64,
    /// Changed prefixes that the plane was told.
    pub changes: u64,
    /// Times that the plane refused something.
    pub refused: u64,
    /// Routes that a new session did not tell again.
    pub swept: u64,
    /// Grace periods.
    pub grace_periods: u64,
    /// Connections to a feed that were refused.
    pub strangers: u64,
    /// Routes and next-hop objects that were left out because a limit was reached.
    pub left_out: u64,
}

/// The state of a feed.
#[derive(Clone, Copy, Debug, Default)]
struct FeedState {
    session: u32,
    is_connected: bool,
    /// Since when the session is quiet, until what is older has been removed.
    quiet_since: Option<Instant>,
    /// How many routes there were before the session, and how many it has told or removed.
    before: usize,
    heard: usize,
    /// When what it did not tell is removed, however much that is.
    hold_until: Option<Instant>,
    /// How many prefixes there were when the first session was last found to grow.
    grown_to: usize,
    /// Whether a session has told everything.
    is_complete: bool,
}

impl FeedState {
    /// Returns when the session is complete if nothing more comes; `None` if it is not then.
    fn due_at(&self, settings: &Settings) -> Option<Instant> {
        let quiet = self.quiet_since?.checked_add(settings.quiet)?;
        match self.heard {
            heard if heard >= self.wanted(settings) => Some(quiet),
            heard if heard < settings.least => None,
            _ => self.hold_until.map(|hold| hold.max(quiet)),
        }
    }

    /// Returns how many routes a session must tell or remove so that it need not be waited for.
    fn wanted(&self, settings: &Settings) -> usize {
        ((self.before as f64 * settings.share).ceil() as usize).max(settings.least)
    }
}

/// Takes samples of packets, and how many were lost so far.
pub type Sampler = Box<dyn FnMut(&[Sample], u64) + Send>;

/// Asks the kernel to resolve a neighbour on an interface.
pub type Asker = Box<dyn FnMut(u32, IpAddr) -> Result<(), Error> + Send>;

/// The routes, next hops, links and neighbours of a router, and its plane.
pub struct Control<P> {
    plane: P,
    settings: Settings,
    tables: Tables,
    next_hops: NextHops,
    adjacencies: Adjacencies,
    confs: Confs,
    /// The kernel's rules that are not its own.
    rules: Vec<Rule>,
    feeds: BTreeMap<Feed, FeedState>,
    counts: Counts,
    /// Nanoseconds from the arrival of a message's last byte until the plane had the change.
    latency: Histogram<u64>,
    asker: Option<Asker>,
    ask_at: Option<Instant>,
    sampler: Option<Sampler>,
    sample_at: Option<Instant>,
    /// What somebody looks for, until they do not ask any more.
    traced: Option<Traced>,
    retry_at: Option<Instant>,
    error: Option<String>,
    /// The limit that was reached last, and told.
    limit: Option<String>,
    has_started: bool,
    watch_at: Option<Instant>,
    /// The interfaces of the plane, and what is wrong with each.
    attached: Vec<(String, Option<String>)>,
}

impl<P> fmt::Debug for Control<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Control").field("counts", &self.counts).finish_non_exhaustive()
    }
}

impl<P: Plane> Control<P> {
    /// Creates a control without routes.
    ///
    /// # Panics
    /// Never: the bounds of the histogram are legal.
    #[must_use]
    pub fn new(plane: P, settings: Settings) -> Self {
        let state = |feed| {
            let before = if feed == Feed::Fpm { plane.remembered() } else { 0 };
            FeedState { before, ..FeedState::default() }
        };
        let feeds = settings.feeds.iter().map(|&feed| (feed, state(feed))).collect();
        Self {
            plane,
            settings,
            tables: Tables::default(),
            next_hops: NextHops::new(),
            adjacencies: Adjacencies::new(),
            confs: Confs::default(),
            rules: Vec::new(),
            feeds,
            counts: Counts::default(),
            latency: Histogram::new(3).expect("three digits are legal"),
            asker: None,
            ask_at: None,
            sampler: None,
            sample_at: None,
            traced: None,
            retry_at: None,
            error: None,
            limit: None,
            has_started: false,
            watch_at: None,
            attached: Vec::new(),
        }
    }

    /// Has the kernel asked for neighbours that the plane needs and that are not fresh: packets
    /// that the plane forwards do not make the kernel ask.
    pub fn set_asker(&mut self, asker: Asker, now: Instant) {
        (self.asker, self.ask_at) = (Some(asker), Some(now));
    }

    /// Has somebody take the plane's samples.
    pub fn set_sampler(&mut self, sampler: Sampler, now: Instant) {
        (self.sampler, self.sample_at) = (Some(sampler), Some(now));
    }

    /// Returns the plane.
    pub fn plane(&self) -> &P {
        &self.plane
    }

    /// Returns the plane, to change it.
    pub fn plane_mut(&mut self) -> &mut P {
        &mut self.plane
    }

    /// Returns how often things happened.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Applies a batch, and does what is due.
    ///
    /// What the plane refuses is logged once and tried again later; everything else of the batch
    /// holds.
    pub fn apply(&mut self, mut batch: Batch<Self>, now: Instant) {
        for mark in &batch.marks {
            self.begin(*mark, now);
        }
        let have_links_changed = !batch.links.is_empty();
        let have_ways_changed =
            have_links_changed || !batch.stations.is_empty() || !batch.neighbours.is_empty();
        let mut neighbours = self.follow_links(&mut batch);
        let limits = self.settings.limits;
        let mut left_out = batch.left_out;
        let waiting = limits.waiting() as u64;
        let overflow = Limit { what: "routes that are not applied yet", had: waiting + 1, max: waiting };
        let mut reached = (left_out > 0).then_some(overflow);
        let mut dead = Vec::new();
        for (key, object) in batch.objects.drain() {
            if object.is_none() && key.feed == Feed::Kernel {
                dead.extend(self.next_hops.of_object(key));
            }
            if let Err(limit) = self.next_hops.set_object(key, object, limits.next_hops) {
                left_out += 1;
                reached = Some(limit);
            }
        }
        if self.next_hops.follow_objects() {
            neighbours.extend(self.adjacencies.neighbours().map(|(_, address)| address));
        }
        // The kernel removes the routes of an object with it, and does not say so.
        if !dead.is_empty() {
            self.tables.remove_to(&dead, &mut self.next_hops, &mut self.adjacencies);
        }
        for (key, mut update) in std::mem::take(&mut batch.routes) {
            let RouteKey { feed, .. } = key;
            update.target.take_if(|target| {
                matches!(*target, Target::Object(id) if feed == Feed::Kernel
                    && !self.next_hops.has_object(ObjectKey { feed, session: update.session, id }))
            });
            let updated =
                self.tables.update(key, update, &mut self.next_hops, &mut self.adjacencies, &limits);
            let news = updated.unwrap_or_else(|limit| {
                left_out += 1;
                reached = Some(limit);
                News::None
            });
            if let Some(feed) = self.feeds.get_mut(&key.feed).filter(|feed| feed.quiet_since.is_some()) {
                feed.heard += usize::from(news != News::None);
                if news == News::Again {
                    feed.quiet_since = Some(now);
                }
            }
        }
        self.tell_limit(left_out, reached);
        self.follow_growth(now);
        let complete = batch.marks.iter().filter_map(|mark| match *mark {
            Mark::Complete(session) => Some(session),
            _ => None,
        });
        let quiet = if batch.has_more { Vec::new() } else { self.quiet_sessions(now) };
        let complete: Vec<Session> = complete.chain(quiet).collect();
        for &session in &complete {
            neighbours.extend(self.sweep(session));
        }
        self.tables.follow_neighbours(&neighbours);
        let knows_ways = self.feeds.get(&Feed::Kernel).is_some_and(|feed| feed.is_complete);
        if !self.has_started && knows_ways && (have_ways_changed || !complete.is_empty()) {
            let Self { plane, adjacencies, .. } = self;
            plane.follow_inherited(&|adjacency| adjacencies.is_there(adjacency));
        }
        self.counts.messages += batch.arrivals.iter().map(|arrival| arrival.1).sum::<u64>();
        self.counts.ignored += batch.ignored;
        self.counts.malformed += batch.malformed;
        self.counts.strangers += batch.strangers;
        self.counts.batches += 1;
        self.commit(now);
        if self.watch_at.is_some_and(|at| have_links_changed || now >= at) {
            self.watch(now);
        }
        // Only now no route of the plane names an older object.
        for session in complete {
            self.next_hops.sweep(session.feed, session.number);
        }
        for (arrived, count) in batch.arrivals {
            // The histogram grows as far as its counts do.
            let _ = self.latency.record_n(arrived.elapsed().as_nanos() as u64, count);
        }
        self.ask(now);
        self.sample(now);
        self.end_forgotten_trace(now);
    }

    /// Counts what was left out, and says so once for each limit.
    fn tell_limit(&mut self, left_out: u64, reached: Option<Limit>) {
        self.counts.left_out += left_out;
        let Some(reached) = reached.map(|reached| reached.to_string()) else { return };
        if self.limit.as_ref() != Some(&reached) {
            tracing::error!("routes are left out: {reached}");
            self.limit = Some(reached);
        }
    }

    /// Returns when there is something to do even if no message comes.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        let quiet = self.feeds.values().filter_map(|feed| feed.due_at(&self.settings));
        let traced = self.traced.as_ref().map(|traced| traced.until);
        let others = [self.retry_at, self.ask_at, self.sample_at, self.watch_at, traced];
        quiet.chain(others.into_iter().flatten()).min()
    }

    /// Has the plane look whether it is attached.
    fn watch(&mut self, now: Instant) {
        if self.feeds.get(&Feed::Fpm).is_some_and(|feed| feed.is_complete) {
            self.plane.remember(self.tables.by_zebra());
        }
        let rows = self.plane.watch();
        for (interface, wrong) in rows.iter().filter(|row| !self.attached.contains(row)) {
            if let Some(wrong) = wrong {
                tracing::error!("interface {interface} does not forward: {wrong}");
            } else {
                tracing::info!("interface {interface} forwards");
            }
        }
        self.watch_at = (!rows.is_empty()).then_some(now + WATCH);
        self.attached = rows;
    }

    fn begin(&mut self, mark: Mark, now: Instant) {
        match mark {
            Mark::Begun(Session { feed, number }) => {
                let state = self.feeds.entry(feed).or_default();
                (state.session, state.is_connected, state.heard) = (number, true, 0);
                state.quiet_since = (feed == Feed::Fpm).then_some(now);
                // Until a session is complete, what forwards has what the process before had.
                let kept = if state.is_complete { 0 } else { self.plane.remembered() };
                state.before = self.tables.by_zebra().max(kept);
                if kept == 0 {
                    // A second session that tells little does not begin the time again.
                    state.hold_until = state.hold_until.or(now.checked_add(self.settings.hold));
                }
            }
            Mark::Ended(Session { feed, number }) => {
                let state = self.feeds.entry(feed).or_default();
                if state.session == number {
                    // A session that was cut has not said everything again.
                    (state.is_connected, state.quiet_since) = (false, None);
                }
            }
            Mark::Complete(_) => {}
        }
    }

    /// Notes that first sessions are not quiet while the tables grow. A process that takes over
    /// from another one forwards when a session is complete, and not by half a table.
    fn follow_growth(&mut self, now: Instant) {
        let told = self.tables.told();
        let (part, least) = GROWTH;
        let is_first = |state: &&mut FeedState| !state.is_complete && state.quiet_since.is_some();
        for state in self.feeds.values_mut().filter(is_first) {
            if told > state.grown_to + state.grown_to / part + least {
                (state.grown_to, state.quiet_since) = (told, Some(now));
            }
        }
    }

    /// Returns the sessions that have had time to say everything again.
    fn quiet_sessions(&self, now: Instant) -> Vec<Session> {
        let is_due = |state: &FeedState| state.due_at(&self.settings).is_some_and(|at| now >= at);
        let due = self.feeds.iter().filter(|(_, state)| is_due(state));
        due.map(|(&feed, state)| Session { feed, number: state.session }).collect()
    }

    /// Removes what is older than a session. Returns the addresses of neighbours that are gone.
    fn sweep(&mut self, session: Session) -> Vec<IpAddr> {
        let Session { feed, number } = session;
        let swept = self.tables.sweep(feed, number, &mut self.next_hops, &mut self.adjacencies);
        self.counts.swept += swept as u64;
        tracing::info!("{feed}: session {number} is complete, {swept} routes removed");
        let state = self.feeds.entry(feed).or_default();
        state.is_complete = true;
        // Another session may have begun since, in the same batch.
        if state.session == number {
            (state.quiet_since, state.hold_until) = (None, None);
        }
        if feed != Feed::Kernel {
            return Vec::new();
        }
        self.adjacencies.sweep(number).into_iter().map(|(_, address)| address).collect()
    }

    /// Tells the plane what changed.
    fn commit(&mut self, now: Instant) {
        self.retry_at = None;
        if let Err(error) = self.tell(now) {
            self.counts.refused += 1;
            self.retry_at = Some(now + RETRY);
            let text = error.to_string();
            if self.error.as_ref() != Some(&text) {
                tracing::error!("the plane goes on with what it had: {text}");
                self.error = Some(text);
            }
        } else if self.error.take().is_some() {
            tracing::info!("the plane has taken what it had refused");
        }
    }

    fn tell(&mut self, now: Instant) -> Result<(), Error> {
        let Self { plane, next_hops, adjacencies, tables, confs, .. } = self;
        let followed = confs.tell(plane);
        // A next hop that is refused keeps its routes back, and no others.
        let told = next_hops.tell(plane, adjacencies);
        let changes = tables.commit(plane, next_hops, adjacencies);
        if let Ok(changes) = changes {
            self.counts.changes += changes;
        }
        if next_hops.retired() + adjacencies.retired() >= RETIRED_MAX {
            plane.grace_period()?;
            next_hops.recycle();
            adjacencies.recycle();
            self.counts.grace_periods += 1;
        }
        if !self.has_started && self.feeds.values().all(|feed| feed.is_complete) {
            plane.start()?;
            self.has_started = true;
            tracing::info!("the plane forwards");
            self.watch_at = Some(now);
        }
        told.and(followed).and(changes.map(|_| ()))
    }

    /// Passes the plane's samples on.
    fn sample(&mut self, now: Instant) {
        let due = self.sample_at.is_some_and(|at| now >= at);
        let Some(sampler) = self.sampler.as_mut().filter(|_| due) else { return };
        self.sample_at = Some(now + SAMPLE);
        match self.plane.samples() {
            Ok((samples, lost)) => sampler(&samples, lost),
            Err(error) => tracing::warn!("{error}"),
        }
    }

    /// Asks the kernel for neighbours.
    fn ask(&mut self, now: Instant) {
        let Some(asker) = self.asker.as_mut().filter(|_| self.ask_at.is_some_and(|at| now >= at)) else {
            return;
        };
        self.ask_at = Some(now + ASK);
        for (interface, address) in self.adjacencies.take_questions() {
            if let Err(error) = asker(interface, address) {
                tracing::debug!("{address} on interface {interface}: {error}");
            }
        }
    }
}
