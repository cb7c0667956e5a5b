//! What a feed must know of routes to tell what a message of the kernel means.
//!
//! The kernel may have several routes of one prefix and metric, as one of fe80::/64 for each
//! interface, and what `ip route append` and `prepend` make. The first counts, as it does for the
//! kernel, and of IPv6 the first of those with the highest router preference. What changes one of
//! several makes the feed dump again.
//!
//! | what the kernel does not say | what the feed does |
//! | --- | --- |
//! | the IPv4 routes and the legs of IPv6 that go with an interface or an address | dumps again |
//! | the next-hop objects that go with an interface or its carrier | dumps again |
//! | the IPv4 routes that go with a next-hop object | the control removes them |
//! | what is left of an IPv6 route that loses a leg | dumps again |
//! | the MTU of IPv6 of a link, and whether it has IPv6 | looks at all links every five seconds |
//! | that a route of IPv6 has ended (`expires`) | dumps again at that time |
//! | when each leg of a route of IPv6 ends | leaves packets to the kernel |
//! | the routes of IPv6 without a gateway that are between legs | leaves packets to the kernel |
//! | the preference of each leg of a route of IPv6 beside another | leaves packets to the kernel |
//!
//! A message of a change may be older than the dump: the kernel tells it after it was made. So a
//! route that is gone is told with where it led, and one that leads elsewhere stays.

use crate::message::{AboutRoute, Event, Link, Object, Target};
use fibula::IpPrefix;
use netlink_packet_core::{NLM_F_APPEND, NLM_F_EXCL, NLM_F_REPLACE};
use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

/// How long after the end of a route the kernel is asked for it. It tells lifetimes in ticks of 10
/// ms, and counts them by its own clock.
const TICK: Duration = Duration::from_millis(30);

/// What the kernel tells routes apart by, but for their next hops: table, prefix and metric.
type Key = (u32, IpPrefix, u32);

/// What is known of routes, next-hop objects and links.
#[derive(Default)]
pub(super) struct Known {
    /// IPv6 routes of several legs.
    multipath: HashSet<Key>,
    /// IPv6 routes that are no leg of another one: they name no gateway.
    alone: HashSet<Key>,
    /// The routes of which there are several, and whether one of them names a next-hop object.
    several: HashMap<Key, bool>,
    /// IPv6 routes whose router preference is not the usual one.
    preferred: HashSet<Key>,
    /// The last route of the dump that is read.
    dumped: Option<Dumped>,
    /// When everything is to be asked for again: the first of the routes ends that have an end.
    ask_at: Option<Instant>,
    /// The routes that have an end.
    expiring: HashSet<Key>,
    /// The IPv6 routes of which a dump does not say all: legs that have ends of their own, or that
    /// other routes are between.
    unclear: HashSet<Key>,
    /// What the next-hop objects are called here, by the kernel's ids: an id that is used again has
    /// another name, since no route of the object before it is left.
    names: HashMap<u32, u32>,
    next_name: u32,
    /// Whether links are enabled, and up.
    states: HashMap<u32, (bool, bool)>,
}

/// What a dump has said of a key so far.
struct Dumped {
    key: Key,
    /// The router preference of the one that was taken.
    preference: i8,
    names_object: bool,
    /// Whether one has several legs. Each of these has a preference of its own, which is not told.
    has_legs: bool,
}

/// What becomes of an event.
#[derive(PartialEq, Eq)]
pub(super) enum Fate {
    Taken,
    /// It says nothing of what counts.
    Left,
    /// It does not say all that changed.
    Again,
}

impl Known {
    /// Forgets what a dump says again.
    pub(super) fn begin(&mut self) {
        self.multipath.clear();
        self.alone.clear();
        self.several.clear();
        self.preferred.clear();
        self.ask_at = None;
        self.states.clear();
    }

    /// Begins a dump of one kind.
    pub(super) fn begin_kind(&mut self) {
        self.dumped = None;
    }

    /// Returns when everything is to be asked for again, if at all.
    pub(super) fn ask_at(&self) -> Option<Instant> {
        self.ask_at
    }

    /// Has everything asked for again after a time at the latest.
    pub(super) fn ask_again_in(&mut self, left: Duration) {
        let end = Instant::now() + left;
        self.ask_at = Some(self.ask_at.map_or(end, |earlier| earlier.min(end)));
    }

    /// Returns what becomes of an event, which may be changed. One of a dump has no flags.
    /// `is_whole`: none of the kernel's routes is left out.
    pub(super) fn fate(
        &mut self,
        event: &mut Event,
        flags: Option<u16>,
        about: &AboutRoute,
        is_whole: bool,
    ) -> Fate {
        let fate = self.fate_by_kind(event, flags, about, is_whole);
        if fate == Fate::Taken {
            self.rename(event);
        }
        fate
    }

    fn fate_by_kind(
        &mut self,
        event: &mut Event,
        flags: Option<u16>,
        about: &AboutRoute,
        is_whole: bool,
    ) -> Fate {
        let is_all = match event {
            Event::Link { index, link } => self.is_all_of_link(*index, link.as_ref()),
            // Of several routes another one may be the first now.
            Event::Object { object: None, .. } => !self.several.values().any(|&names_object| names_object),
            Event::Route { table, prefix, metric, target, .. } => {
                let key = (*table, *prefix, *metric);
                if flags.is_some_and(|flags| flags & NLM_F_EXCL != 0) {
                    // It is the only one.
                    self.unclear.remove(&key);
                }
                if !self.note_lifetime(key, target.as_ref(), about.lifetime) {
                    return Fate::Left;
                }
                let fate = match flags {
                    None => self.fate_of_dumped(key, target.as_ref(), about),
                    Some(flags) => self.fate_of_route(key, target.as_ref(), (flags, is_whole), about),
                };
                if target.is_some() && self.unclear.contains(&key) {
                    *target = Some(Target::Kernel([].into()));
                }
                if target.is_none()
                    && let Some(was) = &about.was
                {
                    let (table, prefix, metric) = key;
                    *event = Event::Gone { table, prefix, metric, was: was.clone() };
                }
                return fate;
            }
            _ => true,
        };
        if is_all { Fate::Taken } else { Fate::Again }
    }

    /// Returns what becomes of a route of a dump, which has those of one key in their order. The
    /// kernel takes the first one, in IPv6 that of those with the highest router preference.
    fn fate_of_dumped(&mut self, key: Key, target: Option<&Target>, about: &AboutRoute) -> Fate {
        let &AboutRoute { names_object, preference, .. } = about;
        if preference != 0 {
            self.preferred.insert(key);
        }
        let has_legs = self.note_legs(key, target);
        let is_unknown = names_object && !matches!(target, Some(Target::Object(_)));
        if is_unknown {
            self.several.insert(key, true);
        }
        let Some(dumped) = self.dumped.as_mut().filter(|dumped| dumped.key == key) else {
            self.dumped = Some(Dumped { key, preference, names_object, has_legs });
            return Fate::Taken;
        };
        dumped.names_object |= names_object;
        dumped.has_legs |= has_legs;
        *self.several.entry(key).or_default() |= dumped.names_object;
        if dumped.has_legs && matches!(key.1, IpPrefix::V6(_)) {
            self.unclear.insert(key);
            return Fate::Taken;
        }
        if preference <= dumped.preference {
            return Fate::Left;
        }
        dumped.preference = preference;
        Fate::Taken
    }

    /// Returns what becomes of a change of a route, which says by its flags whether there were
    /// others.
    fn fate_of_route(
        &mut self,
        key: Key,
        target: Option<&Target>,
        (flags, is_whole): (u16, bool),
        about: &AboutRoute,
    ) -> Fate {
        let is_ipv6 = matches!(key.1, IpPrefix::V6(_));
        let (was_alone, had_legs) = (self.alone.remove(&key), self.multipath.remove(&key));
        let is_one_of_several = self.several.contains_key(&key);
        if target.is_none() {
            // Several links may have an address, and the message may be older than the dump.
            let is_address = about.was == Some(Target::Local);
            return if is_one_of_several || had_legs || is_address { Fate::Again } else { Fate::Taken };
        }
        if about.preference != 0 {
            self.preferred.insert(key);
        }
        let has_legs = self.note_legs(key, target);
        if about.names_object && !matches!(target, Some(Target::Object(_))) {
            self.several.insert(key, true);
        }
        if flags & (NLM_F_EXCL | NLM_F_REPLACE) != 0 {
            return if is_one_of_several { Fate::Again } else { Fate::Taken };
        }
        // In IPv6 it may be another leg of the one route that there was.
        if is_ipv6 && has_legs && !was_alone && !is_one_of_several {
            return Fate::Taken;
        }
        if is_ipv6 && was_alone != self.alone.contains(&key) {
            self.unclear.insert(key);
        }
        // The one before may name an object too.
        self.several.insert(key, true);
        let is_clear = is_whole && !(is_ipv6 && (has_legs || had_legs));
        if is_clear && (is_ipv6 || flags & NLM_F_APPEND != 0) && !self.preferred.contains(&key) {
            // It is behind all others.
            return Fate::Left;
        }
        if is_ipv6 || flags & NLM_F_APPEND != 0 || is_one_of_several { Fate::Again } else { Fate::Taken }
    }

    /// Notes whether an IPv6 route has several legs, which it then loses one by one, or may get
    /// none beside it. Returns the first.
    fn note_legs(&mut self, key: Key, target: Option<&Target>) -> bool {
        let has_several = target.is_some_and(Target::has_several_legs);
        if matches!(key.1, IpPrefix::V4(_)) {
            return has_several;
        }
        let set = |keys: &mut HashSet<Key>, is_in| if is_in { keys.insert(key) } else { keys.remove(&key) };
        set(&mut self.multipath, has_several);
        let legs = match target {
            Some(Target::Legs(legs) | Target::Kernel(legs)) => &legs[..],
            _ => &[],
        };
        set(&mut self.alone, legs.iter().all(|leg| leg.gateway.is_none()));
        has_several
    }

    /// Notes how long a route is taken. Returns whether it still is.
    fn note_lifetime(&mut self, key: Key, target: Option<&Target>, lifetime: Option<Duration>) -> bool {
        let was_expiring = self.expiring.remove(&key);
        let Some(there) = target else { return true };
        if there.has_several_legs() {
            // Each leg may have an end of its own, of which a dump tells one alone.
            if was_expiring || lifetime.is_some() {
                self.unclear.insert(key);
            }
            return true;
        }
        if let Some(left) = lifetime {
            self.expiring.insert(key);
            self.ask_again_in(left + TICK);
        } else if was_expiring {
            // It has no end any more, or ends within this tick.
            self.ask_again_in(TICK);
        }
        lifetime.is_none_or(|left| !left.is_zero())
    }

    /// Gives next-hop objects their names here.
    fn rename(&mut self, event: &mut Event) {
        match event {
            Event::Object { id, object: None } => {
                let name = self.name(*id);
                self.names.remove(id);
                *id = name;
            }
            Event::Object { id, object: Some(object) } => {
                *id = self.name(*id);
                if let Object::Group(members) = object {
                    members.iter_mut().for_each(|(id, _)| *id = self.name(*id));
                }
            }
            Event::Route { target: Some(Target::Object(id)), .. }
            | Event::Gone { was: Target::Object(id), .. } => *id = self.name(*id),
            _ => {}
        }
    }

    fn name(&mut self, id: u32) -> u32 {
        let next = &mut self.next_name;
        *self.names.entry(id).or_insert_with(|| {
            *next = next.wrapping_add(1);
            *next
        })
    }

    /// Returns whether no routes went with a link: those by it go when it is disabled, and
    /// next-hop objects when it loses its carrier.
    fn is_all_of_link(&mut self, index: u32, link: Option<&Link>) -> bool {
        let (is_enabled, is_up) = link.map_or((false, false), |link| (link.is_enabled, link.is_up));
        let (was_enabled, was_up) = self.states.insert(index, (is_enabled, is_up)).unwrap_or_default();
        if link.is_none() {
            self.states.remove(&index);
        }
        (is_enabled || !was_enabled) && (is_up || !was_up)
    }
}
