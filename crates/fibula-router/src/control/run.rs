//! The event loop of a router.

use super::Control;
use crate::feed::Queue;
use crate::plane::Plane;
use std::time::Instant;

/// How many routes are applied before requests are served: the plane has them in a fraction of a
/// second.
const PIECE: usize = 1 << 15;

/// Applies what feeds put into the queue, until it says that the router ends. Returns the control.
///
/// Requests are served between pieces of a batch, and what BFD says is followed, so they do not
/// wait for all of it. A router that is to end leaves the rest of a batch unapplied.
pub fn run<P: Plane>(mut control: Control<P>, queue: &Queue<Control<P>>) -> Control<P> {
    loop {
        let mut batch = queue.take(control.deadline(), control.settings.gather);
        let mut requests = std::mem::take(&mut batch.requests);
        let mut is_last = batch.is_last;
        for mut piece in batch.pieces(PIECE) {
            // A gateway that fails does not wait for the rest of a full table.
            piece.bfd = queue.take_bfd().or(piece.bfd);
            control.apply(piece, Instant::now());
            let (more, ends) = queue.take_urgent();
            requests.extend(more);
            for request in requests.drain(..) {
                request(&mut control);
            }
            is_last |= ends;
            if is_last {
                return control;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::Settings;
    use crate::feed::bfd::Gateways;
    use crate::feed::{Feed, Session};
    use crate::message::{Event, Target};
    use crate::plane::memory::Memory;
    use std::sync::{Arc, mpsc};
    use std::time::Instant;

    #[test]
    fn requests_bfd_and_the_end_do_not_wait_for_a_whole_batch() {
        let queue = Arc::new(Queue::default());
        let session = Session { feed: Feed::Table, number: 1 };
        let event = |n: u32| Event::Route {
            table: 254,
            prefix: fibula::IpPrefix::host(std::net::Ipv4Addr::from_bits(n)),
            metric: 0,
            protocol: 4,
            target: Some(Target::Blackhole),
        };
        queue.add(session, Instant::now(), 0, (0..3 * PIECE as u32).map(event));
        let (sender, receiver) = mpsc::channel();
        let shared = Arc::clone(&queue);
        queue.fill(|batch| {
            batch.requests.push(Box::new(move |control: &mut Control<Memory>| {
                sender.send(control.status().tables[0].ipv4).unwrap();
                let bfd = Some(Gateways { connected: true, ..Gateways::default() });
                shared.fill(|batch| (batch.bfd, batch.is_last) = (bfd, true));
            }));
        });
        let control = run(Control::new(Memory::with_engine("oracle"), Settings::default()), &queue);
        assert_eq!(receiver.recv().unwrap(), PIECE);
        assert_eq!(control.status().tables[0].ipv4, 2 * PIECE);
        assert!(control.status().bfd.is_some_and(|bfd| bfd.connected), "in the second piece");
    }
}
