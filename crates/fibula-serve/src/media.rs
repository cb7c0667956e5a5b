//! [`Media`]: the formats of bodies, by the names that HTTP has for them.

use crate::refusal::Refusal;
use axum::http::header::{ACCEPT, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderName, StatusCode};
use std::cmp::Reverse;

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

    /// Returns how narrow a range of `Accept` is that has this format; `None` if it has not.
    fn narrowness(self, range: &str) -> Option<u8> {
        if Self::of_name(range) == Some(self) {
            return Some(2);
        }
        let (kind, _) = self.name().split_once('/')?;
        match range.split_once('/')? {
            ("*", "*") => Some(0),
            (range, "*") if range.eq_ignore_ascii_case(kind) => Some(1),
            _ => None,
        }
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

    /// Returns the offered format that `Accept` weighs most (RFC 9110 section 12.5.1). Of several,
    /// it is the one that is named first; of one range the `default`, or the first offered.
    pub(crate) fn accepted(headers: &HeaderMap, offered: &[Self], default: Self) -> Result<Self, Refusal> {
        let Some(accept) = text(headers, &ACCEPT)?.filter(|accept| !accept.trim().is_empty()) else {
            return Ok(default);
        };
        let ranges: Vec<(&str, u16)> =
            accept.split(',').map(|range| (without_parameters(range), weight(range))).collect();
        let weighed = offered.iter().rev().filter_map(|&media| {
            let of_range = |(at, &(range, weight)): (usize, &(&str, u16))| {
                Some((media.narrowness(range)?, weight, Reverse(at)))
            };
            // The narrowest range decides.
            let (_, weight, at) = ranges.iter().enumerate().filter_map(of_range).max()?;
            (weight > 0).then_some((weight, at, media == default, media))
        });
        if let Some((.., media)) = weighed.max_by_key(|&(weight, at, is_default, _)| (weight, at, is_default))
        {
            return Ok(media);
        }
        let what = format!("Accept: expected {}", names(offered));
        Err(Refusal::new(StatusCode::NOT_ACCEPTABLE, what))
    }
}

/// Returns the weight of a range of `Accept`, in thousandths; that of one that is none is 0.
fn weight(range: &str) -> u16 {
    let mut parameters = range.split(';').skip(1).filter_map(|parameter| parameter.split_once('='));
    let given = parameters.find(|(name, _)| name.trim().eq_ignore_ascii_case("q"));
    let Some((_, text)) = given else { return 1000 };
    let weight = text.trim().parse::<f32>().ok().filter(|weight| (0.0..=1.0).contains(weight));
    (weight.unwrap_or(0.0) * 1e3).round() as u16
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

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    #[test]
    fn the_format_that_weighs_most_is_taken() {
        const OFFERED: [Media; 3] = [Media::Json, Media::Ndjson, Media::Text];
        for (accept, expected) in [
            ("", Some(Media::Json)),
            ("*/*", Some(Media::Json)),
            ("application/*", Some(Media::Json)),
            ("text/*", Some(Media::Text)),
            ("application/x-ndjson, application/json", Some(Media::Ndjson)),
            ("application/x-ndjson;q=0.1, application/json", Some(Media::Json)),
            ("application/json;q=0, application/x-ndjson", Some(Media::Ndjson)),
            ("application/json;q=0, */*;q=0.5", Some(Media::Ndjson)),
            ("*/*;q=0.1, text/plain; q=0.2", Some(Media::Text)),
            ("application/JSONL; charset=utf-8 ;Q=1.0", Some(Media::Ndjson)),
            ("text/html, application/xhtml+xml, */*;q=0.8", Some(Media::Json)),
            ("text/html", None),
            ("*/*;q=0", None),
            ("application/json;q=many", None),
            ("application/vnd.apache.arrow.stream", None),
        ] {
            let headers = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static(accept))]);
            let found = Media::accepted(&headers, &OFFERED, Media::Json);
            assert_eq!(found.ok(), expected, "{accept}");
        }
    }
}
