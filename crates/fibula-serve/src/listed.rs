//! `/v1/routes` and `/v1/diff`: rows about tables, written while they are sent.

use crate::app::App;
use crate::media::Media;
use crate::refusal::Refusal;
use crate::rows::{Frame, Listing, list};
use crate::served::Served;
use crate::shares::Share;
use crate::stream::GENERATION;
use crate::tag::Tag;
use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Uri};
use axum::response::Response;
use fibula::{IpPrefix, NextHop};
use fibula_page::{Beside, DIFF, Difference, Page, Query, Which, differences};
use std::sync::Arc;

/// Says that there are more rows than the answer has.
pub(crate) const TRUNCATED: HeaderName = HeaderName::from_static("fibula-truncated");

/// Says how many rows there are.
pub(crate) const TOTAL: HeaderName = HeaderName::from_static("fibula-total");

/// Some routes of a table.
struct Routes {
    served: Arc<Served>,
    which: Which,
    beside: Beside,
}

impl Listing for Routes {
    type Row = (IpPrefix, NextHop);

    fn rows(&self) -> Box<dyn Iterator<Item = Self::Row> + Send + '_> {
        self.served.routes(&self.which)
    }

    fn write(&self, route: Self::Row, out: &mut Vec<u8>) {
        out.push(b'{');
        self.served.write_route(out, Some(route));
        self.beside.write(out, &self.served, Some(route));
        out.push(b'}');
    }
}

/// What is not the same in two tables.
struct Differences {
    from: Arc<Served>,
    to: Arc<Served>,
}

impl Listing for Differences {
    type Row = Difference;

    fn rows(&self) -> Box<dyn Iterator<Item = Difference> + Send + '_> {
        Box::new(differences(&self.from, &self.to))
    }

    fn write(&self, difference: Difference, out: &mut Vec<u8>) {
        difference.write(out, &self.from, &self.to);
    }
}

/// Answers `/v1/routes`.
pub(crate) async fn routes(
    State(app): State<Arc<App>>,
    Extension(share): Extension<Arc<Share>>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let query = Query::of(uri.query(), Which::KNOWN)?;
    let served = app.table(&query, "table")?;
    let tables = [Arc::clone(&served)];
    let (beside, generations) = app.beside();
    let listing = Routes { served, which: Which::asked(&query)?, beside };
    answer(&app, &share, listing, (&tables, &generations), &query, &headers).await
}

/// Answers `/v1/diff`.
pub(crate) async fn diff(
    State(app): State<Arc<App>>,
    Extension(share): Extension<Arc<Share>>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let query = Query::of(uri.query(), DIFF)?;
    let [from, to] = [app.named(query.needed("from")?)?, app.named(query.needed("to")?)?];
    let tables = [Arc::clone(&from), Arc::clone(&to)];
    answer(&app, &share, Differences { from, to }, (&tables, &[]), &query, &headers).await
}

/// Answers with rows about some tables and what is beside them, as many as are asked for.
async fn answer(
    app: &Arc<App>,
    share: &Arc<Share>,
    listing: impl Listing,
    (tables, beside): (&[Arc<Served>], &[u64]),
    query: &Query<'_>,
    headers: &HeaderMap,
) -> Result<Response, Refusal> {
    let media = Media::accepted(headers, &[Media::Json, Media::Ndjson], Media::Json)?;
    let most = app.settings.limits.rows;
    let page = Page::asked(query)?;
    let limit = page.limit.unwrap_or(most);
    if limit > most {
        return Err(Refusal::bad(format_args!("limit: {limit} is more than the {most} rows of an answer")));
    }
    let tag = Tag::of(tables, beside, media.name());
    if let Some(unchanged) = tag.unchanged(headers) {
        return Ok(unchanged);
    }
    let listing = Arc::new(listing);
    let all = Arc::clone(&listing);
    // Two full tables take some 100 ms to compare, and to find the routes of a value, all are
    // walked.
    let end = page.offset.saturating_add(limit);
    let counted = move || {
        let total = page.total(|| all.rows().count());
        (total.map_or_else(|| all.rows().nth(end).is_some(), |total| total > end), total)
    };
    let (is_truncated, total) = app.walk(share, counted).await?;
    let mut response = list(app, share, listing, (page.offset, limit), Frame::of(media), media.name());
    let headers = response.headers_mut();
    let generations: Vec<String> = tables.iter().map(|served| served.generation.to_string()).collect();
    let generations = HeaderValue::try_from(generations.join(", "));
    headers.insert(GENERATION, generations.map_err(|_| Refusal::bug())?);
    if let Some(total) = total {
        headers.insert(TOTAL, total.into());
    }
    if is_truncated {
        headers.insert(TRUNCATED, HeaderValue::from_static("true"));
    }
    Ok(tag.tagged(response))
}
