//! The routes that a control of the router keeps.

use super::{Listener, Origin};
use crate::exit::tell;
use crate::reading::Reading;
use anyhow::bail;
use fibula_router::config::Fpm;
use fibula_router::control::{Control, Limits, Noted, Settings, Told, mirror};
use fibula_router::feed::kernel::{self, Filter};
use fibula_router::feed::zebra::{Options, Place, Server};
use fibula_router::feed::{Feed, Queue};
use std::convert::Infallible;
use std::io::{self, Write};
use std::sync::{Arc, Once};
use std::time::Duration;
use tracing_subscriber::EnvFilter;

/// Whether routes can be followed.
pub(super) const IS_THERE: bool = true;

/// How long a change waits for others: half as long as it then waits to be published.
const GATHER: Duration = Duration::from_millis(10);

/// The memory of a route in the control, in bytes, about: two maps have it.
const ROUTE_BYTES: u64 = 128;

/// Follows routes until the process is ended.
///
/// # Errors
/// If the address cannot be listened at, or the kernel tells nothing.
pub(crate) fn follow(
    origin: Origin,
    reading: &Reading,
    listener: &mut impl Listener,
) -> anyhow::Result<Infallible> {
    static LOG: Once = Once::new();
    LOG.call_once(log);
    let budget = reading.budget()?;
    let most = usize::try_from(budget.routes.min(budget.memory / ROUTE_BYTES)).unwrap_or(usize::MAX);
    let limits = Limits { routes: most.min(Limits::default().routes), ..Limits::default() };
    let queue: Arc<Queue<Control<Noted>>> = Arc::new(Queue::with_room(limits.waiting()));
    let (feeds, tables) = match origin {
        Origin::Fpm(address) => {
            let options = Options { users: Fpm::default().users()?, ..Options::default() };
            let server = Server::listen(&Place::Tcp(address), options, Arc::clone(&queue))?;
            tell(format_args!("FPM: listening at {}", server.address()));
            // The kernel has the names of zebra's interfaces.
            (vec![Feed::Fpm, Feed::Kernel], Vec::new())
        }
        Origin::Kernel(table) => (vec![Feed::Kernel], Vec::from_iter(table)),
    };
    let routes = matches!(origin, Origin::Kernel(_));
    kernel::follow(Filter { routes, tables, protocols: Vec::new() }, kernel::ROOM, Arc::clone(&queue))?;
    let settings = Settings { feeds, gather: GATHER, limits, ..Settings::default() };
    mirror(settings, reading.value.unwrap_or_default(), &queue, |told| match told {
        Told::Route { table, prefix, value } => listener.route(table, prefix, value),
        Told::Limit(limit) => listener.limit(limit),
    });
    bail!("the thread that reads has ended")
}

/// Has the lines of feeds, and the warnings of the rest, told as those of the service are.
fn log() {
    let lines = tracing_subscriber::fmt().without_time().with_level(false).with_target(false);
    let filter = EnvFilter::new("fibula_router=warn,fibula_router::feed=info");
    lines.with_ansi(false).with_env_filter(filter).with_writer(|| Lines).init();
}

/// Tells each line that is written.
struct Lines;

impl Write for Lines {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        tell(String::from_utf8_lossy(line).trim_end());
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
