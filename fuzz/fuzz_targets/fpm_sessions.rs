//! zebra over time: sessions that begin, say something, are cut, say nothing, and are followed by
//! others. In the end a last session says three routes, and they alone are left.
#![no_main]

use fibula::{IpPrefix, Prefix};
use fibula_router::control::{Control, Settings};
use fibula_router::feed::{Feed, Mark, Queue, Session, fpm, writer};
use fibula_router::message::{Event, Target};
use fibula_router::plane::memory::Memory;
use libfuzzer_sys::fuzz_target;
use std::time::{Duration, Instant};

/// A router without a clock.
struct Router {
    control: Control<Memory>,
    queue: Queue<Control<Memory>>,
    session: Session,
    now: Instant,
}

impl Router {
    fn mark(&mut self, mark: Mark) {
        self.queue.fill(|batch| batch.marks.push(mark));
    }

    fn begin(&mut self) {
        self.mark(Mark::Ended(self.session));
        self.session.number += 1;
        self.mark(Mark::Begun(self.session));
    }

    fn say(&mut self, frames: &[u8]) {
        // A malformed stream ends its session.
        if fpm::read(frames, self.session, &self.queue).is_err() {
            self.begin();
        }
    }

    fn pass(&mut self, time: Duration) {
        self.now += time;
        self.control.apply(self.queue.take(Some(Instant::now()), Duration::ZERO), self.now);
    }
}

/// One of 256 routes, of either family and of one of four tables.
fn route(number: u8, is_there: bool) -> Event {
    let prefix = if number.is_multiple_of(2) {
        IpPrefix::from(Prefix::<u32>::containing(u32::from(number) << 20, 8 + number % 16))
    } else {
        IpPrefix::from(Prefix::<u128>::containing(u128::from(number) << 100, 16 + number % 32))
    };
    let target = is_there.then_some(if number % 3 == 0 { Target::Blackhole } else { Target::Unreachable });
    Event::Route { table: 10 + u32::from(number % 4), prefix, metric: 0, protocol: 186, target }
}

fuzz_target!(|bytes: &[u8]| {
    let settings = Settings { feeds: vec![Feed::Fpm], ..Settings::default() };
    let (quiet, hold) = (settings.quiet, settings.hold);
    let mut router = Router {
        control: Control::new(Memory::with_engine("oracle"), settings),
        queue: Queue::default(),
        session: Session { feed: Feed::Fpm, number: 1 },
        now: Instant::now(),
    };
    router.mark(Mark::Begun(router.session));
    let mut rest = bytes;
    while let [what, argument, after @ ..] = rest {
        rest = after;
        match what % 8 {
            0 => router.begin(),
            1 => router.mark(Mark::Ended(router.session)),
            2 => router.mark(Mark::Complete(router.session)),
            3 => router.pass(Duration::from_secs(u64::from(*argument))),
            4 => {
                let (raw, after) = rest.split_at(rest.len().min(usize::from(*argument)));
                rest = after;
                router.say(raw);
            }
            5 => router.say(&writer::frame(&[route(*argument, false)])),
            _ => router.say(&writer::frame(&[route(*argument, true), route(argument.wrapping_add(1), true)])),
        }
    }
    router.begin();
    let last = [route(0, true), route(1, true), route(255, true)];
    router.say(&writer::frame(&last));
    router.pass(Duration::ZERO);
    router.pass(quiet + hold);
    router.pass(quiet + hold);
    let left: usize = router.control.status().tables.iter().map(|table| table.ipv4 + table.ipv6).sum();
    assert_eq!(left, last.len(), "{:?}", router.control.status());
});
