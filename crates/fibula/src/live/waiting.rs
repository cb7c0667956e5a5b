//! [`Waiting`]: how a writer waits for readers, and when it calls one stuck.
//!
//! A healthy reader passes a quiescent state as soon as it runs. On a busy machine it may not run
//! for a long time. So the writer gives the processor away: it spins a little, then yields, then
//! sleeps for longer and longer. It counts only the time that it *asked* to sleep, and reads no
//! clock. Where other threads keep the processor, each sleep lasts longer than asked. The busier
//! the machine, the more time a reader gets.

use std::time::Duration;

/// The times that a wait looks again at once.
const SPINS: u32 = 64;
/// The times that it then yields the processor before it looks again.
const YIELDS: u32 = 64;
/// The first sleep. Each of the next is twice as long, up to [`LONGEST_SLEEP`].
const FIRST_SLEEP: Duration = Duration::from_micros(16);
/// The longest sleep: how late the writer may notice that a reader has passed.
const LONGEST_SLEEP: Duration = Duration::from_millis(1);

/// The sleep that is left for one or several waits.
#[derive(Debug)]
pub(crate) struct Waiting {
    left: Duration,
}

impl Waiting {
    /// Allows sleeps of `bound` in all.
    pub(crate) fn at_most(bound: Duration) -> Self {
        Self { left: bound }
    }

    /// Waits until `passed` returns true. Returns whether it did before the sleep was used up.
    pub(crate) fn until(&mut self, mut passed: impl FnMut() -> bool) -> bool {
        let (mut looks, mut sleep) = (0, FIRST_SLEEP);
        while !passed() {
            if self.left.is_zero() {
                return false;
            }
            looks += 1;
            if looks <= SPINS {
                std::hint::spin_loop();
            } else if looks <= SPINS + YIELDS {
                std::thread::yield_now();
            } else {
                let asked = sleep.min(self.left);
                std::thread::sleep(asked);
                self.left -= asked;
                sleep = (2 * sleep).min(LONGEST_SLEEP);
            }
        }
        true
    }
}

/// A writer's memory of the reader that it called stuck.
#[derive(Debug, Default)]
pub(crate) struct Stuck {
    /// The epoch of the oldest table that waited when a reader was last called stuck.
    oldest: Option<u64>,
}

impl Stuck {
    /// Forgets: readers have passed.
    pub(crate) fn forget(&mut self) {
        self.oldest = None;
    }

    /// Returns how long to wait for readers while the table of epoch `oldest` is the first that
    /// waits for them: `stuck_after`, or not at all if that was in vain before. So a reader that is
    /// stuck costs the writer that time once.
    pub(crate) fn patience(&self, oldest: Option<u64>, stuck_after: Duration) -> Waiting {
        Waiting::at_most(if self.oldest.is_some() && self.oldest == oldest {
            Duration::ZERO
        } else {
            stuck_after
        })
    }

    /// Remembers that waiting for the table of epoch `oldest` was in vain.
    pub(crate) fn remember(&mut self, oldest: Option<u64>) {
        self.oldest = oldest;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_ends_when_the_condition_holds_or_the_sleep_is_used_up() {
        let mut looks = 0;
        let mut waiting = Waiting::at_most(Duration::from_millis(3));
        assert!(waiting.until(|| {
            looks += 1;
            looks > SPINS + YIELDS + 2
        }));
        assert_eq!(waiting.left + 3 * FIRST_SLEEP, Duration::from_millis(3));
        assert!(!waiting.until(|| false));
        assert!(waiting.left.is_zero() && waiting.until(|| true) && !waiting.until(|| false));
    }

    #[test]
    fn who_was_called_stuck_is_not_waited_for_again_until_it_moves() {
        let (mut stuck, bound) = (Stuck::default(), Duration::from_secs(1));
        assert_eq!(stuck.patience(Some(3), bound).left, bound);
        stuck.remember(Some(3));
        assert_eq!(stuck.patience(Some(3), bound).left, Duration::ZERO);
        assert_eq!(stuck.patience(Some(4), bound).left, bound);
        stuck.forget();
        assert_eq!(stuck.patience(Some(3), bound).left, bound);
    }
}
