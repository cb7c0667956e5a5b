//! `GET /v1/lookup`: one address or prefix.

use crate::app::App;
use crate::channel::respond;
use crate::media::Media;
use crate::refusal::Refusal;
use crate::tag::Tag;
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
    let (beside, generations) = app.beside();
    let mut matches = Matches::new(addr, query.flag("all")?, media == Media::Json, &beside);
    let tables = match query.get("table") {
        Some(name) => vec![app.named(name)?],
        None => app.answering()?,
    };
    app.metrics.lookups.inc_by(1);
    let tag = Tag::of(&tables, &generations, media.name());
    if let Some(unchanged) = tag.unchanged(&headers) {
        return Ok(unchanged);
    }
    for served in &tables {
        matches.add(served);
    }
    Ok(tag.tagged(respond(matches.finish(), media.name())))
}
