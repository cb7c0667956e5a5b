//! The event loop of a router.

use super::Control;
use crate::feed::Queue;
use crate::plane::Plane;
use std::time::Instant;

/// Applies what feeds put into the queue, until it says that the router ends. Returns the control.
pub fn run<P: Plane>(mut control: Control<P>, queue: &Queue<Control<P>>) -> Control<P> {
    loop {
        let mut batch = queue.take(control.deadline(), control.settings.gather);
        let requests = std::mem::take(&mut batch.requests);
        let is_last = batch.is_last;
        control.apply(batch, Instant::now());
        for request in requests {
            request(&mut control);
        }
        if is_last {
            return control;
        }
    }
}
