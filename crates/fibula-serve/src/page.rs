//! The page, and what only it asks: maps as tiles, what their colours mean, and figures.

use crate::app::App;
use crate::channel::respond;
use crate::refusal::Refusal;
use crate::shares::Share;
use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderValue, Uri};
use axum::response::Response;
use axum::routing::get;
use axum::{Extension, Router};
use fibula_page::{Asked, By, FILES, Query, family};
use std::sync::Arc;

/// The parameters of `/v1/tile`.
pub(crate) const TILE: &[&str] = &["table", "family", "by", "against", "zoom", "x", "y"];

/// The parameters of `/v1/legend`.
pub(crate) const LEGEND: &[&str] = &["table", "family", "by", "against"];

/// The parameters of `/v1/figures`.
pub(crate) const FIGURES: &[&str] = &["table"];

/// The module that reads dropped files: empty where it was not built.
const MODULE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/module.wasm"));

/// Adds the files of the page. They tell nothing of the tables, so they need no token.
pub(crate) fn files<S: Clone + Send + Sync + 'static>(router: Router<S>) -> Router<S> {
    let files = FILES.iter().fold(router, |router, file| {
        router.route(file.path, get(|| async { guarded(respond(file.text, file.media)) }))
    });
    if MODULE.is_empty() {
        return files;
    }
    files.route("/page/module.wasm", get(|| async { guarded(respond(MODULE, "application/wasm")) }))
}

/// Adds the headers that keep others out of the page.
fn guarded(mut response: Response) -> Response {
    for (name, value) in [
        (CONTENT_SECURITY_POLICY, fibula_page::CONTENT_SECURITY_POLICY),
        (REFERRER_POLICY, "no-referrer"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (CACHE_CONTROL, "no-cache"),
    ] {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

/// Answers `/v1/tile`: 256 pixels a side of a map, as PNG.
pub(crate) async fn tile(
    State(app): State<Arc<App>>,
    Extension(share): Extension<Arc<Share>>,
    uri: Uri,
) -> Result<Response, Refusal> {
    let png = drawn(app, &share, uri, TILE, |picture, query| Ok(picture.tile(query)?)).await?;
    Ok(respond(png, "image/png"))
}

/// Answers `/v1/legend`: what the colours of a map mean.
pub(crate) async fn legend(
    State(app): State<Arc<App>>,
    Extension(share): Extension<Arc<Share>>,
    uri: Uri,
) -> Result<Response, Refusal> {
    let legend = drawn(app, &share, uri, LEGEND, |picture, _| Ok(picture.legend().to_string())).await?;
    Ok(respond(legend, "application/json"))
}

/// Does something with the map that a question is about, which may be made for it.
async fn drawn<T: Send + 'static>(
    app: Arc<App>,
    share: &Share,
    uri: Uri,
    known: &'static [&'static str],
    what: fn(&fibula_page::Picture, &Query<'_>) -> Result<T, Refusal>,
) -> Result<T, Refusal> {
    let held = Arc::clone(&app);
    let work = move || {
        let query = Query::of(uri.query(), known)?;
        let shown = held.table(&query, "table")?;
        let before = query.get("against").map(|name| held.named(name)).transpose()?;
        let (family, by) = (family(&query)?, By::asked(&query)?);
        let asked = Asked { shown: &shown, before: before.as_ref().map(|before| &***before), family, by };
        held.pictures.with(asked, |picture| what(picture, &query))
    };
    app.walk(share, work).await?
}

/// Answers `/v1/figures`: lengths, nesting and values of a table.
pub(crate) async fn figures(
    State(app): State<Arc<App>>,
    Extension(share): Extension<Arc<Share>>,
    uri: Uri,
) -> Result<Response, Refusal> {
    let served = app.table(&Query::of(uri.query(), FIGURES)?, "table")?;
    let figures = app.walk(&share, move || served.figures().to_string()).await?;
    Ok(respond(figures, "application/json"))
}
