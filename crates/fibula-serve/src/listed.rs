//! `/v1/routes` and `/v1/diff`: rows about tables, written while they are sent.

use crate::app::App;
use crate::channel::{Channel, Rows};
use crate::media::Media;
use crate::refusal::Refusal;
use crate::stream::GENERATION;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Uri};
use axum::response::Response;
use fibula_page::{Query, Which, differences};
use std::sync::Arc;

/// The parameters of `/v1/routes`.
pub(crate) const ROUTES: &[&str] = &["table", "covered-by", "covering", "value", "limit"];

/// The parameters of `/v1/diff`.
pub(crate) const DIFF: &[&str] = &["from", "to", "limit"];

/// Says that there are more rows than the answer has.
const TRUNCATED: HeaderName = HeaderName::from_static("fibula-truncated");

/// Answers `/v1/routes`.
pub(crate) async fn routes(
    State(app): State<Arc<App>>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let query = Query::of(uri.query(), ROUTES)?;
    let served = app.table(&query, "table")?;
    let which = Which::asked(&query)?;
    let answer = Answer::of(&app, &query, &headers)?;
    let (limit, asked, of) = (answer.limit, which.clone(), Arc::clone(&served));
    // To find those of a value, all routes are walked.
    let is_truncated = app.walk(move || of.routes(&asked).nth(limit).is_some()).await?;
    let mut response = answer.write({
        let served = Arc::clone(&served);
        move |limit, rows| {
            served.routes(&which).take(limit).all(|(prefix, next_hop)| {
                rows.row(|out| {
                    out.push(b'{');
                    served.write_route(out, Some((prefix, next_hop)));
                    out.push(b'}');
                })
            })
        }
    });
    response.headers_mut().insert(GENERATION, HeaderValue::from(served.generation));
    if is_truncated {
        response.headers_mut().insert(TRUNCATED, HeaderValue::from_static("true"));
    }
    Ok(response)
}

/// Answers `/v1/diff`.
pub(crate) async fn diff(
    State(app): State<Arc<App>>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let query = Query::of(uri.query(), DIFF)?;
    let [from, to] = [app.named(query.needed("from")?)?, app.named(query.needed("to")?)?];
    let answer = Answer::of(&app, &query, &headers)?;
    let limit = answer.limit;
    let (one, other) = (Arc::clone(&from), Arc::clone(&to));
    // Two full tables take some 100 ms to compare.
    let is_truncated = app.walk(move || differences(&one, &other).nth(limit).is_some()).await?;
    let generations = format!("{}, {}", from.generation, to.generation);
    let mut response = answer.write(move |limit, rows| {
        differences(&from, &to)
            .take(limit)
            .all(|difference| rows.row(|out| difference.write(out, &from, &to)))
    });
    response
        .headers_mut()
        .insert(GENERATION, HeaderValue::try_from(generations).map_err(|_| Refusal::bug())?);
    if is_truncated {
        response.headers_mut().insert(TRUNCATED, HeaderValue::from_static("true"));
    }
    Ok(response)
}

/// How rows are answered.
struct Answer {
    media: Media,
    limit: usize,
}

impl Answer {
    fn of(app: &App, query: &Query<'_>, headers: &HeaderMap) -> Result<Self, Refusal> {
        let media = Media::accepted(headers, &[Media::Json, Media::Ndjson], Media::Json)?;
        let most = app.settings.limits.rows;
        let limit = query.number("limit")?.unwrap_or(most);
        if limit > most {
            return Err(Refusal::bad(format_args!(
                "limit: {limit} is more than the {most} rows of an answer"
            )));
        }
        Ok(Self { media, limit })
    }

    /// Answers by `rows`, which writes rows until it has written the limit that it is given, or one
    /// cannot be sent. It has a thread of its own, in which it may wait for the client.
    fn write(self, rows: impl FnOnce(usize, &mut Rows) -> bool + Send + 'static) -> Response {
        let (parts, channel) = Channel::new();
        tokio::task::spawn_blocking(move || {
            let mut out = Rows::new(parts, self.media == Media::Json);
            if rows(self.limit, &mut out) {
                out.finish();
            }
        });
        channel.respond(self.media.name())
    }
}
