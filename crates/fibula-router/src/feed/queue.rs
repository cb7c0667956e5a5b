//! [`Queue`]: what feeds have read and the control has not applied yet.

use super::bfd::Gateways;
use super::{Feed, Session};
use crate::message::{Conf, Event, Link, Neighbour, Object, Rule, Selector, Target};
use fibula::{Family, IpPrefix};
use hashbrown::HashMap;
use std::fmt;
use std::net::IpAddr;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// What makes a route of a feed another route than the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RouteKey {
    /// The feed that has it.
    pub feed: Feed,
    /// The id of the table.
    pub table: u32,
    /// The metric where a feed has several routes of one prefix, else 0.
    pub metric: u32,
    /// The destination.
    pub prefix: IpPrefix,
    /// The packets that it is for, if it is not for all to that destination.
    pub selector: Option<Selector>,
}

/// The name of a next-hop object: a new session may use an id for something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectKey {
    /// The feed that has it.
    pub feed: Feed,
    /// The session in which it was told.
    pub session: u32,
    /// Its id.
    pub id: u32,
}

/// The last that a feed said of a route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteUpdate {
    /// The session in which it said so.
    pub session: u32,
    /// The metric.
    pub metric: u32,
    /// Who made the route, as `rtm_protocol` says it.
    pub protocol: u8,
    /// Where it leads; `None` if it is gone.
    pub target: Option<Target>,
    /// Where it must have led to be gone, if another route of its key may be there.
    pub was: Option<Target>,
}

/// Something, and the session in which it was said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamped<T> {
    /// The session's number.
    pub session: u32,
    /// What was said.
    pub value: T,
}

/// The beginning and the end of what a feed says again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// A session begins. What its feed said before holds until it has had time to say it again.
    Begun(Session),
    /// The feed has said everything again: what is older is gone.
    Complete(Session),
    /// The session has ended. What it said holds.
    Ended(Session),
}

/// Work for the thread that has the control `C`.
pub type Request<C> = Box<dyn FnOnce(&mut C) + Send>;

/// What came since the last batch. Of each thing only the last message is kept.
pub struct Batch<C> {
    /// Routes.
    pub routes: HashMap<RouteKey, RouteUpdate>,
    /// Next-hop objects; `None` if they are gone.
    pub objects: HashMap<ObjectKey, Option<Object>>,
    /// Network interfaces by their indices.
    pub links: HashMap<u32, Stamped<Option<Link>>>,
    /// Neighbours by interface and address.
    pub neighbours: HashMap<(u32, IpAddr), Stamped<Option<Neighbour>>>,
    /// The ports of stations, by bridge and MAC address.
    pub stations: HashMap<(u32, [u8; 6]), Stamped<Option<u32>>>,
    /// The kernel's settings, by interface (`None` for all) and family.
    pub confs: HashMap<(Option<u32>, Family), Conf>,
    /// The kernel's rules, if they have changed.
    pub rules: Option<Vec<Rule>>,
    /// The last that BFD says of all gateways, if it has said something.
    pub bfd: Option<Gateways>,
    /// Beginnings and ends, in their order.
    pub marks: Vec<Mark>,
    /// When bytes arrived, and the number of messages that ended in them.
    pub arrivals: Vec<(Instant, u64)>,
    /// Messages of no use to a router.
    pub ignored: u64,
    /// Connections that ended because of a malformed message.
    pub malformed: u64,
    /// Connections to a feed that were refused.
    pub strangers: u64,
    /// Routes and objects that were left out because too many were not applied yet.
    pub left_out: u64,
    /// More of what came at once follows: nobody is quiet yet.
    pub has_more: bool,
    /// Questions of status and commands.
    pub requests: Vec<Request<C>>,
    /// The router ends.
    pub is_last: bool,
}

impl<C> Default for Batch<C> {
    fn default() -> Self {
        Self {
            routes: HashMap::new(),
            objects: HashMap::new(),
            links: HashMap::new(),
            neighbours: HashMap::new(),
            stations: HashMap::new(),
            confs: HashMap::new(),
            rules: None,
            bfd: None,
            marks: Vec::new(),
            arrivals: Vec::new(),
            ignored: 0,
            malformed: 0,
            strangers: 0,
            left_out: 0,
            has_more: false,
            requests: Vec::new(),
            is_last: false,
        }
    }
}

impl<C> fmt::Debug for Batch<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batch")
            .field("routes", &self.routes.len())
            .field("objects", &self.objects.len())
            .field("marks", &self.marks)
            .finish_non_exhaustive()
    }
}

impl<C> Batch<C> {
    /// Adds an event of a session.
    pub fn add(&mut self, session: Session, event: Event) {
        let Session { feed, number } = session;
        match event {
            Event::Route { table, prefix, metric, protocol, target } => {
                let key_metric = if feed.has_metrics() { metric } else { 0 };
                let key = RouteKey { feed, table, metric: key_metric, prefix, selector: None };
                self.routes.insert(key, RouteUpdate { session: number, metric, protocol, target, was: None });
            }
            Event::Gone { table, prefix, metric, was } => {
                let key_metric = if feed.has_metrics() { metric } else { 0 };
                let key = RouteKey { feed, table, metric: key_metric, prefix, selector: None };
                let update = self.routes.get(&key).filter(|update| update.session == number);
                let target = update.and_then(|update| update.target.as_ref());
                if target.is_none_or(|target| *target == was) {
                    let (protocol, was) = (0, target.is_none().then_some(was));
                    let gone = RouteUpdate { session: number, metric, protocol, target: None, was };
                    self.routes.insert(key, gone);
                }
            }
            Event::Partial { table, prefix, metric, protocol, selector, legs } => {
                let key_metric = if feed.has_metrics() { metric } else { 0 };
                let key = RouteKey { feed, table, metric: key_metric, prefix, selector: Some(selector) };
                let target = legs.map(Target::Kernel);
                self.routes.insert(key, RouteUpdate { session: number, metric, protocol, target, was: None });
            }
            Event::Object { id, object } => {
                self.objects.insert(ObjectKey { feed, session: number, id }, object);
            }
            Event::Link { index, link } => {
                self.links.insert(index, Stamped { session: number, value: link });
            }
            Event::Neighbour { interface, address, neighbour } => {
                let stamped = Stamped { session: number, value: neighbour };
                self.neighbours.insert((interface, address), stamped);
            }
            Event::Station { bridge, mac, port } => {
                self.stations.insert((bridge, mac), Stamped { session: number, value: port });
            }
            Event::Conf { interface, family, conf } => {
                let known = self.confs.entry((interface, family)).or_default();
                *known = known.then(conf);
            }
        }
    }

    /// Divides a batch into pieces of at most `most` routes, so that something else can be done in
    /// between. Objects, links and neighbours are in the first piece, and the ends of sessions in
    /// the last.
    pub fn pieces(mut self, most: usize) -> impl Iterator<Item = Self> {
        let mut routes = std::mem::take(&mut self.routes).into_iter();
        let is_begin = |mark: &Mark| matches!(mark, Mark::Begun(_));
        let (begun, ends): (Vec<Mark>, Vec<Mark>) =
            std::mem::take(&mut self.marks).into_iter().partition(is_begin);
        let mut last = Some((ends, std::mem::take(&mut self.arrivals)));
        self.marks = begun;
        let mut first = Some(self);
        std::iter::from_fn(move || {
            last.as_ref()?;
            let mut piece = first.take().unwrap_or_default();
            piece.routes = routes.by_ref().take(most).collect();
            piece.has_more = routes.len() > 0;
            if !piece.has_more
                && let Some((ends, arrivals)) = last.take()
            {
                piece.marks.extend(ends);
                piece.arrivals = arrivals;
            }
            Some(piece)
        })
    }

    /// Returns whether there is nothing in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.arrivals.is_empty()
            && self.marks.is_empty()
            && self.requests.is_empty()
            && self.bfd.is_none()
            && self.rules.is_none()
            && self.malformed + self.strangers + self.left_out == 0
            && !self.is_last
    }
}

/// A batch that feeds fill and the control takes. Feeds wait for nobody but each other.
#[derive(Debug)]
pub struct Queue<C> {
    batch: Mutex<Batch<C>>,
    arrived: Condvar,
    /// How many routes, and how many objects, wait at most.
    most: usize,
}

impl<C> Default for Queue<C> {
    fn default() -> Self {
        Self::with_room(usize::MAX)
    }
}

impl<C> Queue<C> {
    /// Creates a queue in which at most `most` routes and as many next-hop objects wait. What
    /// comes beyond is left out and counted.
    #[must_use]
    pub fn with_room(most: usize) -> Self {
        Self { batch: Mutex::default(), arrived: Condvar::new(), most }
    }

    /// Changes the batch, and wakes the control.
    pub fn fill(&self, fill: impl FnOnce(&mut Batch<C>)) {
        fill(&mut self.lock());
        self.arrived.notify_one();
    }

    /// Adds what was read from bytes that arrived at one moment. Without an event it wakes nobody:
    /// of a thousand routes a second that another feed tells, the kernel tells every one too.
    pub fn add(&self, session: Session, arrived: Instant, ignored: u64, events: impl Iterator<Item = Event>) {
        let mut batch = self.lock();
        batch.ignored += ignored;
        let mut count = 0;
        for event in events {
            count += 1;
            if batch.routes.len().max(batch.objects.len()) < self.most {
                batch.add(session, event);
            } else {
                batch.left_out += 1;
            }
        }
        if count > 0 {
            batch.arrivals.push((arrived, count));
            drop(batch);
            self.arrived.notify_one();
        }
    }

    /// Takes the batch. Waits until there is something in it, or until `deadline`. After the first
    /// message it waits for others for as long as `gather`.
    #[must_use]
    pub fn take(&self, deadline: Option<Instant>, gather: Duration) -> Batch<C> {
        let mut batch = self.lock();
        while batch.is_empty() {
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            batch = match left {
                None => self.arrived.wait(batch).unwrap_or_else(PoisonError::into_inner),
                Some(left) if left.is_zero() => break,
                Some(left) => {
                    self.arrived.wait_timeout(batch, left).unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
        if !batch.arrivals.is_empty() && !gather.is_zero() {
            drop(batch);
            thread::sleep(gather);
            batch = self.lock();
        }
        std::mem::take(&mut batch)
    }

    /// Takes what cannot wait until the control has applied a batch: the requests, and whether the
    /// router ends.
    pub(crate) fn take_urgent(&self) -> (Vec<Request<C>>, bool) {
        let mut batch = self.lock();
        (std::mem::take(&mut batch.requests), batch.is_last)
    }

    /// Takes what BFD says, for which there is no time either.
    pub(crate) fn take_bfd(&self) -> Option<Gateways> {
        self.lock().bfd.take()
    }

    fn lock(&self) -> MutexGuard<'_, Batch<C>> {
        // A batch is whole after each message, whoever panicked in between.
        self.batch.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SESSION: Session = Session { feed: Feed::Fpm, number: 1 };

    fn route(metric: u32, target: Option<Target>) -> Event {
        let prefix = "192.0.2.0/24".parse().unwrap();
        Event::Route { table: 254, prefix, metric, protocol: 186, target }
    }

    #[test]
    fn a_delete_and_an_add_become_one_update() {
        let queue = Queue::<()>::default();
        let events = [route(20, None), route(30, Some(Target::Blackhole))];
        queue.add(SESSION, Instant::now(), 0, events.into_iter());
        let batch = queue.take(None, Duration::ZERO);
        let update =
            RouteUpdate { session: 1, metric: 30, protocol: 186, target: Some(Target::Blackhole), was: None };
        assert_eq!(batch.routes.into_values().collect::<Vec<_>>(), [update]);
        assert_eq!(batch.arrivals[0].1, 2);
        assert!(queue.take(Some(Instant::now()), Duration::ZERO).is_empty());
    }

    #[test]
    fn a_batch_is_divided_and_sessions_end_in_its_last_piece() {
        let queue = Queue::<()>::with_room(5);
        let event = |n: u8| {
            let prefix = format!("192.0.2.{n}/32").parse().unwrap();
            Event::Route { table: 254, prefix, metric: 0, protocol: 4, target: None }
        };
        queue.fill(|batch| batch.marks.extend([Mark::Begun(SESSION), Mark::Ended(SESSION)]));
        queue.add(SESSION, Instant::now(), 0, (0..9).map(event));
        queue.fill(|batch| batch.requests.push(Box::new(|()| ())));
        let batch = queue.take(None, Duration::ZERO);
        assert_eq!((batch.routes.len(), batch.left_out), (5, 4));
        let pieces: Vec<Batch<()>> = batch.pieces(2).collect();
        let shape = |piece: &Batch<()>| (piece.routes.len(), piece.marks.clone(), piece.has_more);
        let shapes: Vec<_> = pieces.iter().map(shape).collect();
        let (begun, ended) = (vec![Mark::Begun(SESSION)], vec![Mark::Ended(SESSION)]);
        assert_eq!(shapes, [(2, begun, true), (2, vec![], true), (1, ended, false)]);
        assert_eq!(pieces.iter().map(|piece| piece.arrivals.len()).sum::<usize>(), 1);
        assert_eq!(Batch::<()>::default().pieces(2).count(), 1);
    }

    #[test]
    fn the_kernel_has_a_route_for_each_metric() {
        let mut batch = Batch::<()>::default();
        for metric in [20, 30] {
            batch.add(Session { feed: Feed::Kernel, number: 1 }, route(metric, None));
        }
        assert_eq!(batch.routes.len(), 2);
    }
}
