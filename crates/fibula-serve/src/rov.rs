//! `/v1/rov`: whether origins are authorised.

use crate::app::App;
use crate::channel::respond;
use crate::refusal::Refusal;
use axum::extract::State;
use axum::http::Uri;
use axum::response::Response;
use fibula::IpPrefix;
use fibula_io::mrt::as_number;
use fibula_io::rov::{Origins, Vrps};
use fibula_page::{Query, prefix_of};
use serde_json::{Value, json};
use std::sync::Arc;

/// The parameters of `/v1/rov`.
pub(crate) const PARAMETERS: &[&str] = &["table", "prefix", "origin"];

/// Answers with a row for each origin: the one that is given, or those that the table has for the
/// longest route that covers the prefix.
pub(crate) async fn rov(State(app): State<Arc<App>>, uri: Uri) -> Result<Response, Refusal> {
    let query = Query::of(uri.query(), PARAMETERS)?;
    let vrps = app.payloads()?;
    let prefix = prefix_of("prefix", query.needed("prefix")?)?;
    if let Some(origin) = query.get("origin") {
        let number = as_number(origin);
        let number = number.map_err(|_| Refusal::bad("origin: expected the number of an AS"))?;
        return Ok(answer([row(&vrps, prefix, Some(number))]));
    }
    let served = app.table(&query, "table")?;
    let route = served.table.get_lpm(prefix);
    let (prefix, next_hop) =
        route.ok_or_else(|| Refusal::absent(format_args!("{prefix}: no route covers it")))?;
    let origins = match served.next_hops.get(*next_hop).map_or(Origins::Unknown, Origins::of) {
        Origins::Unknown => {
            let what = "the value of this route names no origin: give origin, or read the table with \
                        --value origin-as";
            return Err(Refusal::bad(format_args!("{prefix}: {what}")));
        }
        Origins::One(origin) => vec![origin],
        Origins::Several(origins) => origins,
    };
    Ok(answer(origins.into_iter().map(|origin| row(&vrps, prefix, origin))))
}

fn answer(rows: impl IntoIterator<Item = Value>) -> Response {
    respond(Value::from_iter(rows).to_string(), "application/json")
}

fn row(vrps: &Vrps, prefix: IpPrefix, origin: Option<u32>) -> Value {
    let validity = vrps.validity(prefix, origin);
    json!({ "prefix": prefix.to_string(), "origin_as": origin, "rov": validity.name() })
}
