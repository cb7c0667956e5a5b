//! `/v1/events`: what becomes of the tables, as server-sent events.

use crate::app::App;
use crate::channel::Channel;
use crate::connections::Endless;
use crate::refusal::Refusal;
use crate::served::Served;
use crate::shares::Share;
use axum::Extension;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::Uri;
use axum::response::Response;
use fibula::{IpPrefix, NextHop};
use fibula_page::{Change, Difference, Query, differences};
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::broadcast::{self, error::RecvError};

/// The changes that are told of one reload.
const CHANGES: usize = 1_000;

/// The reloads and publications that wait for a slow listener; it is told if it lost some.
const WAITING: usize = 16;

/// How often a listener hears something, even if nothing happens.
const PULSE: Duration = Duration::from_secs(15);

/// Tells listeners what happens.
pub(crate) struct Events(broadcast::Sender<Bytes>);

impl Default for Events {
    fn default() -> Self {
        Self(broadcast::channel(WAITING).0)
    }
}

impl Events {
    /// Tells that a table was replaced, and the first of its changes. Without listeners nothing is
    /// compared.
    pub(crate) fn replaced(&self, old: &Served, new: &Served) {
        if self.0.receiver_count() > 0 {
            self.tell("reload", old, new, differences(old, new), None);
        }
    }

    /// Tells that a feed has changed a table, how long the first change has waited until it was
    /// seen, and the first of the changes.
    pub(crate) fn changed(&self, old: &Served, new: &Served, changes: &[Change], waited: Duration) {
        if self.0.receiver_count() == 0 {
            return;
        }
        let prefixes: BTreeSet<IpPrefix> = changes.iter().map(|change| change.prefix).collect();
        let differences = prefixes.into_iter().map(|prefix| Difference {
            prefix,
            before: old.table.get(prefix).copied(),
            after: new.table.get(prefix).copied(),
        });
        let text =
            |served: &Served, next_hop: Option<NextHop>| next_hop.map(|next_hop| served.text(next_hop));
        let is_one = |one: &Difference| text(old, one.before) != text(new, one.after);
        self.tell("changes", old, new, differences.filter(is_one), Some(waited));
    }

    /// Tells that a table is not there any more.
    pub(crate) fn gone(&self, old: &Served) {
        let about = json!({ "table": old.name, "generation": old.generation });
        let _ = self.0.send(format!("event: gone\ndata: {about}\n\n").into());
    }

    fn tell(
        &self,
        event: &str,
        old: &Served,
        new: &Served,
        all: impl Iterator<Item = Difference>,
        waited: Option<Duration>,
    ) {
        let mut changes = Vec::new();
        let (mut added, mut removed, mut changed) = (0_usize, 0_usize, 0_usize);
        for (at, difference) in all.enumerate() {
            *match difference.change() {
                "added" => &mut added,
                "removed" => &mut removed,
                _ => &mut changed,
            } += 1;
            if at < CHANGES {
                changes.extend_from_slice(b"event: change\ndata: ");
                difference.write(&mut changes, old, new);
                changes.extend_from_slice(b"\n\n");
            }
        }
        let told = (added + removed + changed).min(CHANGES);
        let mut about = json!({
            "table": new.name, "generation": new.generation,
            "ipv4": new.table.len_ipv4(), "ipv6": new.table.len_ipv6(),
            "added": added, "removed": removed, "changed": changed, "told": told,
        });
        if let Some(waited) = waited {
            about["visible_ms"] = (waited.as_secs_f64() * 1e3).into();
        }
        let mut text = format!("event: {event}\ndata: {about}\n\n").into_bytes();
        text.append(&mut changes);
        // Without listeners by now nobody misses it.
        let _ = self.0.send(text.into());
    }
}

/// The parameters of `/v1/events`.
pub(crate) const PARAMETERS: &[&str] = &[];

/// Answers `/v1/events`: first an event `table` for each table, then what happens.
pub(crate) async fn events(
    State(app): State<Arc<App>>,
    Extension(share): Extension<Arc<Share>>,
    uri: Uri,
) -> Result<Response, Refusal> {
    Query::of(uri.query(), PARAMETERS)?;
    let turn = share.stream(&app.share)?;
    let mut happened = app.events.0.subscribe();
    // Few: an event may have all of its changes.
    let (parts, channel) = Channel::of_parts(2);
    let patience = app.settings.limits.time;
    let mut first = Vec::new();
    for table in app.tables() {
        let about = json!({ "table": table.name, "generation": table.generation });
        first.extend_from_slice(format!("event: table\ndata: {about}\n\n").as_bytes());
    }
    let mut stop = app.stop.subscribe();
    drop(app);
    tokio::spawn(async move {
        let _turn = turn;
        let mut next = Ok(Bytes::from(first));
        loop {
            let text = match next {
                Ok(text) => text,
                Err(RecvError::Lagged(lost)) => {
                    format!("event: lost\ndata: {}\n\n", json!({ "events": lost })).into()
                }
                Err(RecvError::Closed) => return,
            };
            // Who does not read for so long does not listen.
            match tokio::time::timeout(patience, parts.send(Ok(text))).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) | Err(_) => return,
            }
            next = tokio::select! {
                next = happened.recv() => next,
                () = parts.closed() => return,
                _ = stop.wait_for(|&stop| stop) => return,
                () = tokio::time::sleep(PULSE) => Ok(Bytes::from_static(b":\n\n")),
            };
        }
    });
    let mut response = channel.respond("text/event-stream");
    response.extensions_mut().insert(Endless);
    Ok(response)
}
