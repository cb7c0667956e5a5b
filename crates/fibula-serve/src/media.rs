//! [`Media`]: the formats of bodies, by the names that HTTP has for them.

use crate::refusal::Refusal;
use axum::http::header::{ACCEPT, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderName, StatusCode};

/// A format of questions and answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Media {
    /// One JSON array.
    Json,
    /// A JSON value a line.
    Ndjson,
    /// A line each.
    Text,
    /// A stream of Arrow's inter-process format.
    Arrow,
}

impl Media {
    const ALL: [Self; 4] = [Self::Json, Self::Ndjson, Self::Text, Self::Arrow];

    /// Returns its name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Ndjson => "application/x-ndjson",
            Self::Text => "text/plain",
            Self::Arrow => "application/vnd.apache.arrow.stream",
        }
    }

    fn of_name(name: &str) -> Option<Self> {
        if name.eq_ignore_ascii_case("application/ndjson") || name.eq_ignore_ascii_case("application/jsonl") {
            return Some(Self::Ndjson);
        }
        Self::ALL.into_iter().find(|media| media.name().eq_ignore_ascii_case(name))
    }

    /// Returns the format of a request's body; text if none is named, or the one that `curl -d`
    /// names without being asked.
    pub(crate) fn of_body(headers: &HeaderMap) -> Result<Self, Refusal> {
        const UNASKED: &str = "application/x-www-form-urlencoded";
        let Some(named) = text(headers, &CONTENT_TYPE)? else { return Ok(Self::Text) };
        let name = without_parameters(named);
        if name.eq_ignore_ascii_case(UNASKED) {
            return Ok(Self::Text);
        }
        Self::of_name(name).ok_or_else(|| {
            let what = format!("Content-Type {name:?}: expected {}", names(&Self::ALL));
            Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, what)
        })
    }

    /// Returns the first format of `Accept` that is offered; `default` if any will do.
    pub(crate) fn accepted(headers: &HeaderMap, offered: &[Self], default: Self) -> Result<Self, Refusal> {
        let Some(accept) = text(headers, &ACCEPT)? else { return Ok(default) };
        for name in accept.split(',').map(without_parameters) {
            if matches!(name, "*/*" | "application/*" | "") {
                return Ok(default);
            }
            if let Some(media) = Self::of_name(name).filter(|media| offered.contains(media)) {
                return Ok(media);
            }
        }
        let what = format!("Accept: expected {}", names(offered));
        Err(Refusal::new(StatusCode::NOT_ACCEPTABLE, what))
    }
}

fn names(all: &[Media]) -> String {
    all.iter().map(|media| media.name()).collect::<Vec<_>>().join(", ")
}

fn without_parameters(name: &str) -> &str {
    name.split(';').next().unwrap_or_default().trim()
}

fn text<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Result<Option<&'h str>, Refusal> {
    let value = headers.get(name).map(|value| value.to_str());
    value.transpose().map_err(|_| Refusal::bad(format_args!("{name} is no text")))
}
