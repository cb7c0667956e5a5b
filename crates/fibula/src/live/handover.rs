//! [`Handover`]: publishes whole values, one after another, and takes them back to be changed.

use super::quiescent::{Publisher, Subscriber};
use super::waiting::Stuck;
use crate::{Error, ErrorKind};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// What a publication does when readers may still be reading the copy that it needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How often it looks again, and yields the processor before each time. By default 1000 times.
    pub attempts: u32,
    /// How many tables, besides the published one, may wait for readers. Below that it copies the
    /// published table, in O(n); from there on it fails. By default 4. With 1 it never copies for
    /// this reason.
    pub most_retired: usize,
    /// How long it sleeps before it fails; as
    /// [`live::Settings::stuck_after`](crate::live::Settings::stuck_after). By default 10 s.
    pub stuck_after: Duration,
}

impl Settings {
    /// Neither waits for readers nor copies because of them.
    pub(crate) const AT_ONCE: Self = Self { attempts: 0, most_retired: 1, stuck_after: Duration::ZERO };
}

impl Default for Settings {
    fn default() -> Self {
        Self { attempts: 1000, most_retired: 4, stuck_after: Duration::from_secs(10) }
    }
}

/// The writer's end of what is published whole.
#[derive(Debug)]
pub struct Handover<T> {
    publisher: Publisher<T>,
    stuck: Stuck,
}

impl<T> Handover<T> {
    /// Publishes a first value.
    #[must_use]
    pub fn new(first: T) -> Self {
        Self { publisher: Publisher::new(Arc::new(first)), stuck: Stuck::default() }
    }

    /// Returns a new reader.
    #[must_use]
    pub fn reader(&self) -> ReaderOf<T> {
        ReaderOf { subscriber: self.publisher.subscribe() }
    }

    /// Returns what is published.
    #[must_use]
    pub fn current(&self) -> &T {
        self.publisher.current()
    }

    /// Returns the number of values, besides the published one, that are kept.
    #[must_use]
    pub fn retired(&self) -> usize {
        self.publisher.retired().count()
    }

    /// Publishes a value: every guard taken from now on shows it.
    pub fn publish(&mut self, next: T) {
        self.publisher.publish(Arc::new(next));
    }

    /// Takes back the value that was published before, if all readers have passed it. Waits as
    /// `settings` say. `None` if the caller is to make another.
    ///
    /// # Errors
    /// Of kind [`ErrorKind::ReadersHeldUp`], if readers hold up [`Settings::most_retired`] values.
    pub fn take_back(&mut self, settings: Settings) -> Result<Option<T>, Error> {
        let Settings { attempts, most_retired, stuck_after } = settings;
        let mut attempt = 0;
        loop {
            if let Some(value) = self.publisher.take_back() {
                self.stuck.forget();
                return Ok(Arc::into_inner(value));
            }
            let retired = self.retired();
            if retired == 0 || attempt == attempts && retired < most_retired {
                return Ok(None);
            }
            if attempt == attempts {
                break;
            }
            attempt += 1;
            std::thread::yield_now();
        }
        let mut waiting = self.stuck.patience(self.publisher.oldest_retired(), stuck_after);
        let mut spare = None;
        waiting.until(|| {
            spare = self.publisher.take_back();
            spare.is_some() || self.publisher.retired().count() < most_retired
        });
        let retired = self.retired();
        if spare.is_none() && retired >= most_retired {
            // A reader that nobody waited for is not stuck.
            if !stuck_after.is_zero() {
                self.stuck.remember(self.publisher.oldest_retired());
            }
            return Err(held_up(retired));
        }
        self.stuck.forget();
        Ok(spare.and_then(Arc::into_inner))
    }
}

fn held_up(tables: usize) -> Error {
    let text = format!("a reader neither takes guards nor rests: {tables} tables wait for it");
    Error::new(ErrorKind::ReadersHeldUp, text)
}

/// One thread's way to a value that is published whole, such as a [`Table`](crate::Table).
///
/// A clone is another reader, which rests. A reader that is dropped holds nothing up. Readers may
/// outlive their writer, and then see what it published last.
pub struct ReaderOf<T> {
    subscriber: Subscriber<T>,
}

impl<T> ReaderOf<T> {
    /// Returns what is published now. It stays as it is for as long as it is borrowed. Never waits.
    #[inline]
    pub fn guard(&mut self) -> &T {
        self.subscriber.guard()
    }

    /// Reads nothing until the next guard: to be called before waiting for packets, a lock, or
    /// sleep. One store; the guard after it costs a fence.
    #[inline]
    pub fn rest(&mut self) {
        self.subscriber.rest();
    }
}

impl<T> Clone for ReaderOf<T> {
    fn clone(&self) -> Self {
        Self { subscriber: self.subscriber.clone() }
    }
}

impl<T> fmt::Debug for ReaderOf<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReaderOf").finish_non_exhaustive()
    }
}
