//! A stream of FPM frames: it is refused, or it ends in tables; the plane checks that each route
//! leads to something that it knows. Told again, the stream leaves the same routes.
#![no_main]

use fibula_router::control::{Control, Settings};
use fibula_router::feed::{Feed, Mark, Queue, Session, fpm};
use fibula_router::plane::memory::Memory;
use libfuzzer_sys::fuzz_target;
use std::time::{Duration, Instant};

fuzz_target!(|bytes: &[u8]| {
    let settings = Settings { feeds: vec![Feed::Fpm], ..Settings::default() };
    let mut control = Control::new(Memory::with_engine("oracle"), settings);
    let queue = Queue::default();
    let now = Instant::now();
    let mut tables = None;
    for number in 1..=2 {
        let session = Session { feed: Feed::Fpm, number };
        queue.fill(|batch| batch.marks.push(Mark::Begun(session)));
        let _ = fpm::read(bytes, session, &queue);
        control.apply(queue.take(None, Duration::ZERO), now);
        let sizes = control.status().tables;
        assert!(tables.is_none_or(|tables| tables == sizes));
        tables = Some(sizes);
    }
});
