//! `GET /v1/lookup`: one address or prefix.

use crate::app::App;
use crate::channel::respond;
use crate::media::Media;
use crate::query::{Query, prefix_of};
use crate::refusal::Refusal;
use crate::served::{Served, asked};
use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use axum::response::Response;
use fibula::{IpPrefix, NextHop};
use std::io::Write;
use std::sync::Arc;

/// The parameters of `GET /v1/lookup`.
pub(crate) const PARAMETERS: &[&str] = &["addr", "table", "all"];

/// Answers with a row for each table that is asked, or with `all` for each route that covers what
/// is asked, longest first.
pub(crate) async fn lookup(
    State(app): State<Arc<App>>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let query = Query::of(&uri, PARAMETERS)?;
    let media = Media::accepted(&headers, &[Media::Json, Media::Ndjson], Media::Json)?;
    let addr = prefix_of("addr", query.needed("addr")?)?;
    let all = query.flag("all")?;
    let mut rows = Rows { out: Vec::with_capacity(256), media, any: false };
    let mut answer = |served: &Served| rows.of(served, addr, all);
    if query.get("table").is_some() {
        answer(&*app.table(&query, "table")?);
    } else {
        app.tables.iter().for_each(|(_, table)| answer(&table.get()));
    }
    app.metrics.lookups.inc_by(1);
    Ok(respond(rows.finish(), media.name()))
}

struct Rows {
    out: Vec<u8>,
    media: Media,
    any: bool,
}

impl Rows {
    fn of(&mut self, served: &Served, addr: IpPrefix, all: bool) {
        if !all {
            return self.row(served, addr, served.best(addr));
        }
        let mut covering = served.table.covering(addr).peekable();
        if covering.peek().is_none() {
            self.row(served, addr, None);
        }
        covering.for_each(|(prefix, &next_hop)| self.row(served, addr, Some((prefix, next_hop))));
    }

    fn row(&mut self, served: &Served, addr: IpPrefix, route: Option<(IpPrefix, NextHop)>) {
        if self.media == Media::Json {
            self.out.push(if self.any { b',' } else { b'[' });
        }
        self.any = true;
        let out = &mut self.out;
        // Memory can always be written.
        let _ = write!(out, "{{\"address\":\"{}\",", asked(addr));
        served.write_route(out, route);
        let _ = write!(out, ",\"table\":\"{}\",\"generation\":{}}}", served.name, served.generation);
        if self.media == Media::Ndjson {
            self.out.push(b'\n');
        }
    }

    fn finish(mut self) -> Vec<u8> {
        if self.media == Media::Json {
            self.out.extend_from_slice(b"]\n");
        }
        self.out
    }
}
