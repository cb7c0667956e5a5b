//! Parallel work on all cores: for builds, and for updates that touch half the table.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{available_parallelism, scope};

/// Returns the results of `work` for each part, in order. Threads take parts one by one; there is
/// one thread for each core, the caller's included. With one core or one part no thread is started.
///
/// Pass several times as many parts as there are cores, because parts are never equally large.
///
/// ```
/// use fibula::parts::blocks::parallel::in_parallel;
/// assert_eq!(in_parallel(&[1, 2, 3], |part| part * part), [1, 4, 9]);
/// ```
///
/// # Panics
/// If `work` panics.
pub fn in_parallel<P: Sync, T: Send>(parts: &[P], work: impl Fn(&P) -> T + Sync) -> Vec<T> {
    let cores = available_parallelism().map_or(1, usize::from);
    if cores.min(parts.len()) <= 1 {
        return parts.iter().map(work).collect();
    }
    let next = AtomicUsize::new(0);
    let done: Vec<Mutex<Option<T>>> = parts.iter().map(|_| Mutex::new(None)).collect();
    let take = || {
        while let Some((part, place)) = {
            let index = next.fetch_add(1, Ordering::Relaxed);
            parts.get(index).zip(done.get(index))
        } {
            let made = work(part);
            *place.lock().expect("nobody panics while it is held") = Some(made);
        }
    };
    scope(|scope| {
        for _ in 1..cores.min(parts.len()) {
            scope.spawn(take);
        }
        take();
    });
    let made = done.into_iter().map(|place| place.into_inner().expect("as above"));
    made.map(|made| made.expect("every part was taken")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_is_done_once_and_in_order() {
        let calls = AtomicUsize::new(0);
        for count in [0, 1, 2, 100] {
            let parts: Vec<usize> = (0..count).collect();
            let made = in_parallel(&parts, |&part| {
                calls.fetch_add(1, Ordering::Relaxed);
                part * 2
            });
            assert_eq!(made, parts.iter().map(|part| part * 2).collect::<Vec<_>>());
        }
        assert_eq!(calls.into_inner(), 103);
    }
}
