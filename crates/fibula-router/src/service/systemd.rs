//! What systemd is told, if it runs this process (`sd_notify(3)`).

use super::{Shared, ask};
use crate::plane::Plane;
use sd_notify::NotifyState::{Ready, Stopping, Watchdog};
use sd_notify::{NotifyState, notify, watchdog_enabled};
use std::thread;

fn tell(state: NotifyState<'_>) {
    if let Err(error) = notify(&[state]) {
        tracing::warn!("systemd: {error}");
    }
}

/// Tells that the router serves, and from then on that its control's thread answers, twice as often
/// as systemd wants.
pub(super) fn is_ready<P: Plane + 'static>(queue: &Shared<P>) {
    tell(Ready);
    let Some(interval) = watchdog_enabled() else { return };
    let queue = Shared::clone(queue);
    thread::spawn(move || {
        while ask(&queue, |_| ()).is_some() {
            tell(Watchdog);
            thread::sleep(interval / 2);
        }
    });
}

/// Tells that the router ends.
pub(super) fn is_stopping() {
    tell(Stopping);
}
