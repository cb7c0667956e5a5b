//! [`list`]: rows about tables as a body, written while it is sent.
//!
//! A reader that is slow has two parts of the body and an iterator, but no thread: a part is
//! written when there is room for it, in a turn at the processor.

use crate::app::App;
use crate::channel::Channel;
use crate::media::Media;
use crate::shares::Share;
use axum::response::Response;
use std::sync::Arc;
use tokio::task::block_in_place;

/// The bytes after which a part is sent.
const PART: usize = 32 << 10;

/// The most parts that wait for a slow reader.
const PARTS: usize = 2;

/// Rows about tables, which it holds.
pub(crate) trait Listing: Send + Sync + 'static {
    /// What a row is about.
    type Row: Send;

    /// Returns all rows, in order.
    fn rows(&self) -> Box<dyn Iterator<Item = Self::Row> + Send + '_>;

    /// Writes a row.
    fn write(&self, row: Self::Row, out: &mut Vec<u8>);
}

/// What is written around rows.
pub(crate) struct Frame {
    pub(crate) open: String,
    pub(crate) between: &'static str,
    pub(crate) after_each: &'static str,
    pub(crate) close: &'static str,
}

impl Frame {
    /// Returns that of a JSON array, or of a line each.
    pub(crate) fn of(media: Media) -> Self {
        if media == Media::Json {
            return Self { open: "[".into(), between: ",", after_each: "\n", close: "]\n" };
        }
        Self { open: String::new(), between: "", after_each: "\n", close: "" }
    }
}

/// Answers with at most `limit` rows after the first `offset`.
pub(crate) fn list(
    app: &Arc<App>,
    share: &Arc<Share>,
    listing: Arc<impl Listing>,
    (offset, limit): (usize, usize),
    frame: Frame,
    media: &'static str,
) -> Response {
    let (parts, channel) = Channel::of_parts(PARTS);
    let (app, share) = (Arc::clone(app), Arc::clone(share));
    tokio::spawn(async move {
        let mut rows = listing.rows().skip(offset).take(limit);
        let mut out = frame.open.into_bytes();
        let mut is_first = true;
        loop {
            let Ok(turn) = share.walk(&app.share).await else { return };
            let is_over = block_in_place(|| {
                while out.len() < PART {
                    let Some(row) = rows.next() else {
                        out.extend_from_slice(frame.close.as_bytes());
                        return true;
                    };
                    out.extend_from_slice(if is_first { "" } else { frame.between }.as_bytes());
                    is_first = false;
                    listing.write(row, &mut out);
                    out.extend_from_slice(frame.after_each.as_bytes());
                }
                false
            });
            drop(turn);
            let part = std::mem::replace(&mut out, Vec::with_capacity(PART + PART / 4));
            if parts.send(Ok(part.into())).await.is_err() || is_over {
                return;
            }
        }
    });
    channel.respond(media)
}
