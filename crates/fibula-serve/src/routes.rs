//! The routes: which path is answered by what.

use crate::app::App;
use crate::metrics::PerRoute;
use crate::refusal::Refusal;
use crate::{bird, events, listed, listing, lookup, metrics, openapi, page, race, router, rov, stream};
use axum::Router;
use axum::extract::{Request, State};
use axum::handler::Handler;
use axum::http::header::{CACHE_CONTROL, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get};
use fibula_access::Token;
use std::sync::Arc;
use std::time::Instant;
use tower_http::catch_panic::CatchPanicLayer;

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
    route("GET", "/v1/routes", listed::ROUTES),
    route("GET", "/v1/diff", listed::DIFF),
    route("GET", "/v1/rov", rov::PARAMETERS),
    route("GET", "/v1/figures", page::FIGURES),
    route("GET", "/v1/legend", page::LEGEND),
    route("GET", "/v1/tile", page::TILE),
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
pub(crate) fn all(app: &Arc<App>) -> Router {
    let add = |router: Router<Arc<App>>, path: &'static str, methods: MethodRouter<Arc<App>>| {
        let gate =
            Gate { app: Arc::clone(app), metrics: app.metrics.route(path), is_open: OPEN.contains(&path) };
        let methods = methods.fallback(|| async {
            Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "this path has no such method")
        });
        router.route(path, methods.layer(from_fn_with_state(Arc::new(gate), pass)))
    };
    let paths: [(&'static str, MethodRouter<Arc<App>>); _] = [
        ("/v1/lookup", get(lookup::lookup).post(stream::lookup)),
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
    page::files(router)
        .fallback_service(fallback.with_state(()))
        .layer(CatchPanicLayer::custom(panicked))
        .with_state(Arc::clone(app))
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
        Some(token) if !gate.is_open => token.is_in(request.headers()),
        _ => true,
    };
    let mut response = if permitted {
        next.run(request).await
    } else {
        Refusal::new(StatusCode::UNAUTHORIZED, Token::EXPECTED).into_response()
    };
    let headers = response.headers_mut();
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
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
