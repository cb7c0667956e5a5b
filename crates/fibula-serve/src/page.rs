//! The page, and what only it asks: maps as tiles, what their colours mean, and figures.

use crate::app::App;
use crate::channel::respond;
use crate::refusal::Refusal;
use crate::shares::Share;
use crate::tag::Tag;
use axum::body::Body;
use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderMap, HeaderValue, Uri};
use axum::response::Response;
use axum::routing::get;
use axum::{Extension, Router};
use fibula_page::{Asked, By, FILES, LEGEND, Query, TILE, family};
use std::sync::Arc;

/// The parameters of `/v1/figures`.
pub(crate) const FIGURES: &[&str] = &["table"];

/// The module that reads dropped files: empty where it was not built.
const MODULE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/module.wasm"));

/// Adds the files of the page. They tell nothing of the tables, so they need no token.
pub(crate) fn files<S: Clone + Send + Sync + 'static>(router: Router<S>) -> Router<S> {
    let files = FILES.iter().fold(router, |router, file| {
        router.route(
            file.path,
            get(move |headers: HeaderMap| async move { kept(&headers, file.text, file.media) }),
        )
    });
    // The page shows what there is.
    let parts = if MODULE.is_empty() { "{\"reader\":false}" } else { "{\"reader\":true}" };
    let files = files.route(
        "/page/parts.json",
        get(move |headers: HeaderMap| async move { kept(&headers, parts, "application/json") }),
    );
    if MODULE.is_empty() {
        return files;
    }
    let module = |headers: HeaderMap| async move { kept(&headers, MODULE, "application/wasm") };
    files.route("/page/module.wasm", get(module))
}

/// Answers with a file, unless the browser has it already.
fn kept(headers: &HeaderMap, body: impl Into<Body>, media: &'static str) -> Response {
    let tag = Tag::of(&[], &[], media);
    let response = tag.unchanged(headers).unwrap_or_else(|| tag.tagged(respond(body, media)));
    guarded(response)
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
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    drawn(app, &share, uri, &headers, TILE, "image/png", |picture, query| Ok(picture.tile(query)?)).await
}

/// Answers `/v1/legend`: what the colours of a map mean.
pub(crate) async fn legend(
    State(app): State<Arc<App>>,
    Extension(share): Extension<Arc<Share>>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let legend =
        |picture: &fibula_page::Picture, _: &Query<'_>| Ok(picture.legend().to_string().into_bytes());
    drawn(app, &share, uri, &headers, LEGEND, "application/json", legend).await
}

/// Answers by the map that a question is about, which may be made for it.
async fn drawn(
    app: Arc<App>,
    share: &Share,
    uri: Uri,
    headers: &HeaderMap,
    known: &'static [&'static str],
    media: &'static str,
    what: fn(&fibula_page::Picture, &Query<'_>) -> Result<Vec<u8>, Refusal>,
) -> Result<Response, Refusal> {
    let tables = {
        let query = Query::of(uri.query(), known)?;
        let shown = app.table(&query, "table")?;
        let before = query.get("against").map(|name| app.named(name)).transpose()?;
        family(&query)?;
        By::asked(&query)?;
        [shown].into_iter().chain(before).collect::<Vec<_>>()
    };
    // A map of a table that changes may be some seconds older than the table.
    let tag = tables.iter().all(|served| !served.is_fed()).then(|| Tag::of(&tables, &[], media));
    if let Some(unchanged) = tag.as_ref().and_then(|tag| tag.unchanged(headers)) {
        return Ok(unchanged);
    }
    let held = Arc::clone(&app);
    let work = move || {
        let query = Query::of(uri.query(), known)?;
        let [shown, before @ ..] = &tables[..] else { return Err(Refusal::bug()) };
        let before = before.first().map(|before| &***before);
        let asked = Asked { shown, before, family: family(&query)?, by: By::asked(&query)? };
        held.pictures.with(asked, |picture| what(picture, &query))
    };
    let response = respond(app.walk(share, work).await??, media);
    Ok(match tag {
        Some(tag) => tag.tagged(response),
        None => response,
    })
}

/// Answers `/v1/figures`: lengths, nesting and values of a table.
pub(crate) async fn figures(
    State(app): State<Arc<App>>,
    Extension(share): Extension<Arc<Share>>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let tables = [app.table(&Query::of(uri.query(), FIGURES)?, "table")?];
    let tag = Tag::of(&tables, &[], "json");
    if let Some(unchanged) = tag.unchanged(&headers) {
        return Ok(unchanged);
    }
    let [served] = tables;
    let figures = app.walk(&share, move || served.figures().to_string()).await?;
    Ok(tag.tagged(respond(figures, "application/json")))
}
