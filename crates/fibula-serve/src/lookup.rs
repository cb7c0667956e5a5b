//! `GET /v1/lookup`: one address or prefix.

use crate::app::App;
use crate::channel::respond;
use crate::media::Media;
use crate::refusal::Refusal;
use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use axum::response::Response;
use fibula_page::{Matches, Query, prefix_of};
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
    let query = Query::of(uri.query(), PARAMETERS)?;
    let media = Media::accepted(&headers, &[Media::Json, Media::Ndjson], Media::Json)?;
    let addr = prefix_of("addr", query.needed("addr")?)?;
    let mut matches = Matches::new(addr, query.flag("all")?, media == Media::Json);
    if query.get("table").is_some() {
        matches.add(&*app.table(&query, "table")?);
    } else {
        app.answering()?.iter().for_each(|served| matches.add(served));
    }
    app.metrics.lookups.inc_by(1);
    Ok(respond(matches.finish(), media.name()))
}
