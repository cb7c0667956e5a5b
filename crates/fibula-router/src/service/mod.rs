//! A router as a process: feeds, the control's loop, the socket that people ask, and metrics.
//!
//! ```text
//! thread fpm ───────┐
//! thread rtnetlink ─┤ Queue ──▶ the caller's thread: Control ──▶ Plane
//! thread socket ────┤  ▲
//! thread metrics ───┤  └ a request is work for the control's thread
//! thread signals ───┘
//! ```

#[doc(hidden)]
pub mod fuzzing;
mod http;
mod metrics;
mod process;
mod sampling;
mod socket;
mod systemd;

pub use socket::{Answer, Ask, Client};

use crate::Error;
use crate::config::Config;
use crate::control::{Control, run};
use crate::feed::{Queue, bfd, kernel, table, zebra};
use crate::plane::Plane;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Instant;

/// A queue of a router.
type Shared<P> = Arc<Queue<Control<P>>>;

/// Runs a router until SIGTERM or SIGINT. Returns its plane, which still forwards. SIGHUP has it
/// read the files of the ACLs again.
///
/// # Errors
/// If an address is not free, the table cannot be read, or the kernel refuses a socket. Nothing was
/// forwarded then.
pub fn serve<P: Plane + Send + 'static>(config: &Config, plane: P) -> Result<Control<P>, Error> {
    let mut control = Control::new(plane, config.settings());
    let queue: Shared<P> = Arc::new(Queue::with_room(config.limits.waiting()));
    let config = Arc::new(config.clone());
    let group = config.socket_group()?;
    let socket = socket::Server::listen(&config.socket, group, Arc::clone(&config), Arc::clone(&queue))?;
    let (tls, token) = config.metrics.access()?;
    if let Some(address) = config.metrics.listen {
        metrics::serve(address, tls, token, Arc::clone(&queue))?;
    }
    let routes = config.kernel.routes.unwrap_or(!config.fpm.enabled);
    let filter = kernel::Filter {
        routes,
        tables: config.kernel.tables.clone(),
        protocols: config.kernel.protocols.clone(),
    };
    if config.fpm.enabled {
        let options = zebra::Options { users: config.fpm.users()?, ..zebra::Options::default() };
        let server = zebra::Server::listen(&config.fpm.place(), options, Arc::clone(&queue))?;
        tracing::info!("FPM: listening at {}", server.address());
    }
    if let Some(table) = &config.table {
        table::tell(table, &queue)?;
    }
    if let Some(path) = &config.bfd {
        bfd::follow(path.clone(), Arc::clone(&queue))?;
    }
    kernel::follow(filter, kernel::ROOM, Arc::clone(&queue))?;
    control.set_asker(kernel::asker()?, Instant::now());
    if config.sampling.rate > 0 {
        control.set_sampler(sampling::sampler(&config.sampling)?, Instant::now());
    }
    let signals = Signals::new([SIGHUP, SIGTERM, SIGINT]).map_err(|error| Error::io("signals", error))?;
    let told = Arc::clone(&queue);
    thread::spawn(move || heed(signals, &config, &told));
    systemd::is_ready(&queue);
    let mut control = run(control, &queue);
    systemd::is_stopping();
    if let Err(error) = control.end_trace() {
        tracing::error!("a trace goes on: {error}");
    }
    drop(socket);
    Ok(control)
}

/// Does what signals say, until one ends the router.
fn heed<P: Plane + 'static>(mut signals: Signals, config: &Config, queue: &Shared<P>) {
    for signal in signals.forever() {
        if signal != SIGHUP {
            queue.fill(|batch| batch.is_last = true);
            return;
        }
        if let Answer::Error(error) = socket::answer(Ask::Reload, config, queue) {
            tracing::error!("the ACLs hold as they were: {error}");
        } else {
            tracing::info!("the ACLs were read again");
        }
    }
}

/// Has the control's thread do something, and waits for what it returns; `None` if it has ended.
fn ask<P, T: Send + 'static>(
    queue: &Queue<Control<P>>,
    question: impl FnOnce(&mut Control<P>) -> T + Send + 'static,
) -> Option<T> {
    let (sender, receiver) = mpsc::sync_channel(1);
    // Who asked may have gone.
    queue.fill(|batch| batch.requests.push(Box::new(move |control| drop(sender.send(question(control))))));
    receiver.recv().ok()
}
