//! The routes: which path is answered by what.

use crate::Error;
use crate::app::App;
use crate::listed::{TOTAL, TRUNCATED};
use crate::metrics::PerRoute;
use crate::refusal::Refusal;
use crate::stream::GENERATION;
use crate::{bird, events, listed, listing, lookup, metrics, openapi, page, race, router, rov, stream};
use axum::Router;
use axum::extract::{Request, State};
use axum::handler::Handler;
use axum::http::header::{
    ACCEPT_ENCODING, AUTHORIZATION, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, ETAG, IF_NONE_MATCH,
    WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{Extensions, HeaderMap, HeaderValue, Method, StatusCode, Uri, Version};
use axum::middleware::{Next, from_fn_with_state, map_response};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, post};
use fibula_access::Token;
use fibula_page::{DIFF, LEGEND, TILE, Which};
use std::sync::Arc;
use std::time::Instant;
use tower_http::CompressionLevel;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{Predicate as _, SizeAbove};
use tower_http::cors::{AllowOrigin, CorsLayer};
use tower_http::decompression::RequestDecompressionLayer;

/// A path and what it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// `GET` or `POST`.
    pub method: &'static str,
    /// The path; what is in braces is any segment.
    pub path: &'static str,
    /// The parameters that the query may have.
    pub parameters: &'static [&'static str],
}

const fn route(method: &'static str, path: &'static str, parameters: &'static [&'static str]) -> Route {
    Route { method, path, parameters }
}

/// All routes but the files of the page.
pub const ROUTES: &[Route] = &[
    route("GET", "/v1/lookup", lookup::PARAMETERS),
    route("POST", "/v1/lookup", stream::PARAMETERS),
    route("GET", "/v1/tables", listing::PARAMETERS),
    route("GET", "/v1/routes", Which::KNOWN),
    route("GET", "/v1/diff", DIFF),
    route("GET", "/v1/rov", rov::PARAMETERS),
    route("GET", "/v1/figures", page::FIGURES),
    route("GET", "/v1/legend", LEGEND),
    route("GET", "/v1/tile", TILE),
    route("GET", "/v1/engines", race::PARAMETERS),
    route("GET", "/v1/events", events::PARAMETERS),
    route("GET", "/v1/router", router::PARAMETERS),
    route("GET", "/metrics", listing::PARAMETERS),
    route("GET", "/healthz", listing::PARAMETERS),
    route("GET", "/readyz", listing::PARAMETERS),
    route("GET", "/openapi.json", openapi::PARAMETERS),
    route("GET", "/status", bird::PARAMETERS),
    route("GET", "/protocols/bgp", bird::PARAMETERS),
    route("GET", "/protocols/short", bird::SHORT),
    route("GET", "/routes/protocol/{name}", bird::PARAMETERS),
    route("GET", "/routes/table/{name}", bird::PARAMETERS),
    route("GET", "/routes/table/{name}/filtered", bird::PARAMETERS),
    route("GET", "/routes/filtered/{name}", bird::PARAMETERS),
    route("GET", "/routes/noexport/{name}", bird::PARAMETERS),
    route("GET", "/routes/net/{net}", bird::PARAMETERS),
    route("GET", "/routes/prefix", bird::PREFIX),
];

/// The paths that need no token: a supervisor asks them, and they tell no routes.
const OPEN: [&str; 2] = ["/healthz", "/readyz"];

/// The paths that are answered however many connections there are.
pub(crate) const RESERVED: [&str; 3] = ["/healthz", "/readyz", "/metrics"];

/// The paths that only the page asks. A browser ends the connection of a question that it takes
/// back, so whoever sends no more has gone; others may still wait for the answer.
pub(crate) const WITHDRAWN: [&str; 5] =
    ["/v1/tile", "/v1/legend", "/v1/figures", "/v1/engines", "/v1/events"];

/// Returns the router of all routes, and of the page.
pub(crate) fn all(app: &Arc<App>) -> Result<Router, Error> {
    let add = |router: Router<Arc<App>>, path: &'static str, methods: MethodRouter<Arc<App>>| {
        let gate =
            Gate { app: Arc::clone(app), metrics: app.metrics.route(path), is_open: OPEN.contains(&path) };
        let methods = methods.fallback(|| async {
            Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "this path has no such method")
        });
        router.route(path, methods.layer(from_fn_with_state(Arc::new(gate), pass)))
    };
    let bodies = post(stream::lookup).layer(RequestDecompressionLayer::new()).layer(map_response(decoded));
    let paths: [(&'static str, MethodRouter<Arc<App>>); _] = [
        ("/v1/lookup", get(lookup::lookup).merge(bodies)),
        ("/v1/tables", get(listing::tables)),
        ("/v1/routes", get(listed::routes)),
        ("/v1/diff", get(listed::diff)),
        ("/v1/rov", get(rov::rov)),
        ("/v1/figures", get(page::figures)),
        ("/v1/legend", get(page::legend)),
        ("/v1/tile", get(page::tile)),
        ("/v1/engines", get(race::engines)),
        ("/v1/events", get(events::events)),
        ("/v1/router", get(router::router)),
        ("/metrics", get(metrics::metrics)),
        ("/healthz", get(listing::health)),
        ("/readyz", get(listing::ready)),
        ("/openapi.json", get(openapi::openapi)),
        ("/status", get(bird::status)),
        ("/protocols/bgp", get(bird::protocols)),
        ("/protocols/short", get(bird::protocols_short)),
        ("/routes/protocol/{name}", get(bird::routes)),
        ("/routes/table/{name}", get(bird::routes)),
        ("/routes/table/{name}/filtered", get(bird::no_routes)),
        ("/routes/filtered/{name}", get(bird::no_routes)),
        ("/routes/noexport/{name}", get(bird::no_routes)),
        ("/routes/net/{*net}", get(bird::net)),
        ("/routes/prefix", get(bird::prefix)),
    ];
    let router = paths.into_iter().fold(Router::new(), |router, (path, methods)| add(router, path, methods));
    let nowhere = Gate { app: Arc::clone(app), metrics: app.metrics.route("other"), is_open: false };
    let fallback = (|| async { Refusal::absent("nothing is at this path: see /openapi.json") })
        .layer(from_fn_with_state(Arc::new(nowhere), pass));
    let compression = CompressionLayer::new().quality(CompressionLevel::Fastest);
    let worth = SizeAbove::new(LEAST_COMPRESSED).and(is_compressed);
    let router = page::files(router)
        .fallback_service(fallback.with_state(()))
        .layer(compression.compress_when(worth))
        .layer(CatchPanicLayer::custom(panicked));
    let router = match origins(&app.settings.origins)? {
        Some(origins) => router.layer(
            CorsLayer::new()
                .allow_origin(origins)
                .allow_methods([Method::GET, Method::POST])
                .allow_headers([AUTHORIZATION, CONTENT_TYPE, CONTENT_ENCODING, IF_NONE_MATCH])
                .expose_headers([GENERATION, TRUNCATED, TOTAL, ETAG]),
        ),
        None => router,
    };
    Ok(router.with_state(Arc::clone(app)))
}

/// Says what is wrong with a body in another coding.
async fn decoded(response: Response) -> Response {
    if response.status() != StatusCode::UNSUPPORTED_MEDIA_TYPE
        || response.headers().contains_key(CONTENT_TYPE)
    {
        return response;
    }
    let what = "Content-Encoding: expected gzip, zstd or identity";
    let mut refused = Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, what).into_response();
    refused.headers_mut().insert(ACCEPT_ENCODING, HeaderValue::from_static("gzip, zstd"));
    refused
}

/// The least bytes of an answer that is compressed.
const LEAST_COMPRESSED: u16 = 1 << 10;

/// An answer with this extension is sent as it comes: whoever asks may wait for its beginning.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AsItComes;

/// Returns whether an answer is compressed for those who accept it: texts, and not pictures,
/// batches and events.
fn is_compressed(_: StatusCode, _: Version, headers: &HeaderMap, extensions: &Extensions) -> bool {
    const TYPES: [&str; 6] = [
        "application/json",
        "application/x-ndjson",
        "application/openmetrics-text",
        "application/wasm",
        "image/svg",
        "text/",
    ];
    let kind = headers.get(CONTENT_TYPE).map_or(&b""[..], HeaderValue::as_bytes);
    let is_text = TYPES.iter().any(|text| kind.starts_with(text.as_bytes()));
    is_text && !kind.starts_with(b"text/event-stream") && extensions.get::<AsItComes>().is_none()
}

/// Returns the origins whose pages may ask; `None` if none but this service's own may.
fn origins(all: &[String]) -> Result<Option<AllowOrigin>, Error> {
    if all.is_empty() {
        return Ok(None);
    }
    if all.iter().any(|origin| origin == "*") {
        return Ok(Some(AllowOrigin::any()));
    }
    let wrong =
        |origin: &str| Error::new(format_args!("{origin:?} is no origin: expected one as https://name"));
    let read = |origin: &String| {
        let is_one = Uri::try_from(origin)
            .is_ok_and(|uri| uri.scheme().is_some() && uri.authority().is_some() && !origin.ends_with('/'));
        HeaderValue::from_str(origin).ok().filter(|_| is_one).ok_or_else(|| wrong(origin))
    };
    Ok(Some(AllowOrigin::list(all.iter().map(read).collect::<Result<Vec<_>, _>>()?)))
}

/// What every request to a path passes.
struct Gate {
    app: Arc<App>,
    metrics: PerRoute,
    is_open: bool,
}

/// Lets a request with the token pass, and counts it.
async fn pass(State(gate): State<Arc<Gate>>, request: Request, next: Next) -> Response {
    let begin = Instant::now();
    let permitted = match &gate.app.token {
        Some(token) if !gate.is_open => token.get().is_in(request.headers()),
        _ => true,
    };
    let mut response = if permitted {
        next.run(request).await
    } else {
        Refusal::new(StatusCode::UNAUTHORIZED, Token::EXPECTED).into_response()
    };
    let headers = response.headers_mut();
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    // What has a tag is kept by whoever asked, who asks whether it is still so.
    let kept = if headers.contains_key(ETAG) { "private, no-cache" } else { "no-store" };
    headers.insert(CACHE_CONTROL, HeaderValue::from_static(kept));
    if response.status() == StatusCode::UNAUTHORIZED {
        response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    gate.metrics.count(response.status(), begin.elapsed());
    response
}

/// A request that makes a handler panic is refused, and the service goes on.
fn panicked(_: Box<dyn std::any::Any + Send>) -> Response {
    Refusal::bug().into_response()
}
