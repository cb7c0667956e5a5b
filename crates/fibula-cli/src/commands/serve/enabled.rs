//! The service as a process: its settings, its signals and its end.

use super::Arguments;
use crate::exit::{Verdict, tell};
use fibula_io::table::Value;
use fibula_serve::{Handle, Limits, Server, Settings};
use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};

/// Serves until a signal ends it.
pub(super) fn run(arguments: Arguments) -> anyhow::Result<Verdict> {
    let Arguments { tables, listen, vrps, token_file, poll, reading, .. } = arguments;
    let settings = Settings {
        options: reading.options(Value::NextHop, None)?,
        vrps,
        poll,
        limits: Limits {
            body: usize::try_from(arguments.max_body.0).unwrap_or(usize::MAX),
            rows: arguments.max_rows.get(),
            time: arguments.max_time,
            head_time: arguments.max_idle,
            connections: arguments.max_connections.get(),
        },
        token_file,
        tls: arguments.tls_cert.zip(arguments.tls_key),
        tell: |line| tell(line),
        ..Settings::new(tables)
    };
    Runtime::new()?.block_on(async {
        let server = Server::bind(settings, listen).await?;
        let scheme = if server.is_tls() { "https" } else { "http" };
        tell(format_args!("listening at {scheme}://{}", server.address()?));
        signals(server.handle())?;
        server.run().await;
        anyhow::Ok(())
    })?;
    Ok(Verdict::Good)
}

/// Follows the process's signals.
fn signals(handle: Handle) -> anyhow::Result<()> {
    let mut reload = signal(SignalKind::hangup())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    tokio::spawn(async move {
        loop {
            tokio::select! {
                _ = reload.recv() => handle.reload(),
                _ = terminate.recv() => break,
                _ = interrupt.recv() => break,
            }
        }
        handle.stop();
    });
    Ok(())
}
