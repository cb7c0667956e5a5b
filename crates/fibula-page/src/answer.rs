//! [`answer`]: the questions of the page to tables in memory, without a service.

use crate::picture::family;
use crate::query::{DIFF, LEGEND, Page, TILE};
use crate::{Asked, Beside, By, Matches, Picture, Pictures, Query, Shown, Which, differences, prefix_of};

/// The rows of an answer about a table, unless a question wants less.
const ROWS: usize = 1_000;

/// What a question is answered with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// JSON, or a tile as PNG.
    pub body: Vec<u8>,
    /// Whether there are more rows than it has.
    pub is_truncated: bool,
    /// How many rows there are, if that was asked.
    pub total: Option<usize>,
}

impl Answer {
    fn json(value: &serde_json::Value) -> Self {
        Self { body: value.to_string().into_bytes(), is_truncated: false, total: None }
    }

    /// Collects the rows that `write` writes, as an array.
    fn rows<R>(page: Page, all: impl Iterator<Item = R>, write: impl Fn(&mut Vec<u8>, R)) -> Self {
        let mut body = vec![b'['];
        let mut rows = all.skip(page.offset);
        for (at, row) in rows.by_ref().take(page.limit.unwrap_or(ROWS)).enumerate() {
            if at > 0 {
                body.push(b',');
            }
            write(&mut body, row);
        }
        body.push(b']');
        let is_truncated = rows.next().is_some();
        Self { body, is_truncated, total: None }
    }
}

/// Answers a question as the service does: its path and its parameters. A table that it does not
/// name is the first.
///
/// # Errors
/// If something is asked that is not there: one sentence that names it.
pub fn answer(tables: &[Shown], pictures: &Pictures, question: &str) -> Result<Answer, String> {
    let (path, query) = match question.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (question, None),
    };
    let of = |known: &[&str]| Query::of(query, known);
    let named = |query: &Query<'_>, parameter: &str| {
        let name = query.get(parameter);
        let found = tables.iter().find(|shown| name.is_none_or(|name| shown.name == name));
        found.ok_or_else(|| format!("no table {:?}", name.unwrap_or_default()))
    };
    match path {
        "/v1/tables" => Ok(Answer::json(&tables.iter().map(Shown::about).collect())),
        "/v1/lookup" => {
            let query = of(&["addr", "table", "all"])?;
            let addr = prefix_of("addr", query.needed("addr")?)?;
            let beside = Beside::default();
            let mut matches = Matches::new(addr, query.flag("all")?, true, &beside);
            match query.get("table") {
                Some(_) => matches.add(named(&query, "table")?),
                None => tables.iter().for_each(|shown| matches.add(shown)),
            }
            Ok(Answer { body: matches.finish(), is_truncated: false, total: None })
        }
        "/v1/routes" => {
            let query = of(Which::KNOWN)?;
            let shown = named(&query, "table")?;
            let (page, which) = (Page::asked(&query)?, Which::asked(&query)?);
            let answer = Answer::rows(page, shown.routes(&which), |out, route| {
                out.push(b'{');
                shown.write_route(out, Some(route));
                out.push(b'}');
            });
            Ok(Answer { total: page.total(|| shown.routes(&which).count()), ..answer })
        }
        "/v1/diff" => {
            let query = of(DIFF)?;
            query.needed("from").and(query.needed("to"))?;
            let (from, to) = (named(&query, "from")?, named(&query, "to")?);
            let page = Page::asked(&query)?;
            let answer =
                Answer::rows(page, differences(from, to), |out, difference| difference.write(out, from, to));
            Ok(Answer { total: page.total(|| differences(from, to).count()), ..answer })
        }
        "/v1/figures" => Ok(Answer::json(named(&of(&["table"])?, "table")?.figures())),
        "/v1/legend" | "/v1/tile" => {
            let is_tile = path == "/v1/tile";
            let query = of(if is_tile { TILE } else { LEGEND })?;
            let before = query.get("against").map(|_| named(&query, "against")).transpose()?;
            let (family, by) = (family(&query)?, By::asked(&query)?);
            let asked = Asked { shown: named(&query, "table")?, before, family, by };
            if !is_tile {
                return Ok(Answer::json(&pictures.with(asked, Picture::legend)));
            }
            let body = pictures.with(asked, |picture| picture.tile(&query))?;
            Ok(Answer { body, is_truncated: false, total: None })
        }
        _ => Err("a file in the browser has no answer to this".into()),
    }
}
