//! `POST /v1/lookup`: the addresses of a body, answered while they come.
//!
//! ```text
//! body ──▶ Input: lines, elements ──▶ Asked ──▶ Output: rows of JSON or text, batches ──▶ parts
//!     └──▶ Decoder: batches of Arrow ─────────────┘
//! ```
//!
//! Memory is bounded: a block of the body, its rows, and the parts of the answer that the client
//! has not read. All is answered by the table that was there when the request came.

mod arrow;
mod asked;
mod input;
mod output;

use crate::app::App;
use crate::channel::{Channel, Cut, PART, Parts};
use crate::media::Media;
use crate::refusal::Refusal;
use crate::routes::AsItComes;
use crate::served::Served;
use crate::shares::Share;
use arrow::{Batches, Decoder};
use arrow_array::Array;
use asked::Asked;
use axum::Extension;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::header::CONTENT_LENGTH;
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::Response;
use fibula_page::Query;
use hyper::body::Body as _;
use input::Input;
use output::Output;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;
use tokio::sync::oneshot;

/// The parameters of `POST /v1/lookup`.
pub(crate) const PARAMETERS: &[&str] = &["table", "column", "prefix"];

/// The generation of the table that answers.
pub(crate) const GENERATION: HeaderName = HeaderName::from_static("fibula-generation");

/// How long the reason of an error has to leave before its connection ends.
const PARTING: Duration = Duration::from_millis(50);

/// Answers the addresses of a body, in order.
pub(crate) async fn lookup(
    State(app): State<Arc<App>>,
    Extension(share): Extension<Arc<Share>>,
    request: Request,
) -> Result<Response, Refusal> {
    let (head, body) = request.into_parts();
    let query = Query::of(head.uri.query(), PARAMETERS)?;
    let served = app.table(&query, "table")?;
    let asked = Media::of_body(&head.headers)?;
    let offered = [Media::Json, Media::Ndjson, Media::Text, Media::Arrow];
    let media = Media::accepted(&head.headers, &offered, asked)?;
    if [asked, media].contains(&Media::Arrow) {
        let table = Arc::clone(&served);
        app.walk(&share, move || table.prepare()).await?;
    }
    let output = Output::new(media, || Batches::new(&served, query.flag("prefix")?))?;
    let source = match asked {
        Media::Arrow => Source::Arrow(Decoder::new(query.get("column").map(str::to_owned))),
        media => Source::Text(Input::new(media)),
    };
    // A line may become many times as long. Arrays are not copied, so they come as they are.
    let longest = if asked == Media::Arrow { usize::MAX } else { PART };
    let most = app.settings.limits.body;
    let body = Limited { body, rest: Bytes::new(), longest, left: most, most };
    let told = head.headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    if told.is_some_and(|length| length > body.most as u64) {
        return Err(body.refuse());
    }
    let (parts, channel) = Channel::new();
    let (begun, has_begun) = oneshot::channel();
    let generation = served.generation;
    let answering = Answering {
        app,
        share,
        served,
        output,
        parts,
        begun: Some(begun),
        asked: Asked::default(),
        block: Vec::new(),
    };
    tokio::spawn(answering.run(source, body));
    // Up to the first part an error has a status of its own.
    has_begun.await.unwrap_or_else(|_| Err(Refusal::bug()))?;
    let mut response = channel.respond(media.name());
    response.headers_mut().insert(GENERATION, HeaderValue::from(generation));
    response.extensions_mut().insert(AsItComes);
    Ok(response)
}

/// A body of at most some bytes.
struct Limited {
    body: Body,
    /// What came and was not taken yet.
    rest: Bytes,
    /// The most bytes that are taken at once.
    longest: usize,
    left: usize,
    most: usize,
}

impl Limited {
    fn refuse(&self) -> Refusal {
        Refusal::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            format_args!("the body is longer than {} bytes", self.most),
        )
    }

    /// Returns the next part; `None` at the end. Pending if it must be waited for and may not.
    async fn next(&mut self, may_wait: bool) -> Poll<Result<Option<Bytes>, Refusal>> {
        loop {
            if !self.rest.is_empty() {
                let part = self.rest.split_to(self.longest.min(self.rest.len()));
                return Poll::Ready(Ok(Some(part)));
            }
            let frame = poll_fn(|context| match Pin::new(&mut self.body).poll_frame(context) {
                Poll::Pending if !may_wait => Poll::Ready(None),
                polled => polled.map(Some),
            });
            let Some(frame) = frame.await else { return Poll::Pending };
            match frame.transpose() {
                Err(error) => {
                    return Poll::Ready(Err(Refusal::bad(format_args!("the body ended early: {error}"))));
                }
                Ok(None) => return Poll::Ready(Ok(None)),
                Ok(Some(frame)) => {
                    let Ok(data) = frame.into_data() else { continue };
                    if data.len() > self.left {
                        return Poll::Ready(Err(self.refuse()));
                    }
                    self.left -= data.len();
                    self.rest = data;
                }
            }
        }
    }
}

/// What reads the body.
enum Source {
    Text(Input),
    Arrow(Decoder),
}

/// A body that is being answered.
struct Answering {
    app: Arc<App>,
    share: Arc<Share>,
    served: Arc<Served>,
    output: Output,
    parts: Parts,
    /// Told before the first part, or why there is none.
    begun: Option<oneshot::Sender<Result<(), Refusal>>>,
    asked: Asked,
    /// What was read and not understood yet.
    block: Vec<u8>,
}

/// Nobody reads the answer any more, or an error was told.
struct Over;

impl Answering {
    async fn run(mut self, mut source: Source, mut body: Limited) {
        match self.all(&mut source, &mut body).await {
            Ok(Ok(())) | Err(Over) => {}
            Ok(Err(refusal)) => self.refuse(refusal).await,
        }
    }

    async fn all(&mut self, source: &mut Source, body: &mut Limited) -> Result<Result<(), Refusal>, Over> {
        loop {
            let part = match body.next(false).await {
                Poll::Ready(part) => part,
                Poll::Pending => {
                    // A client may wait for its answers before it asks more.
                    if self.output.waiting() > 0 {
                        self.send().await?;
                    }
                    match body.next(true).await {
                        Poll::Ready(part) => part,
                        Poll::Pending => continue,
                    }
                }
            };
            let part = match part {
                Ok(part) => part,
                Err(refusal) => return Ok(Err(refusal)),
            };
            let is_last = part.is_none();
            let turn = self.share.part(&self.app.share).await;
            let answered = turn.and_then(|_turn| self.answer(source, part));
            if let Err(refusal) = answered {
                return Ok(Err(refusal));
            }
            if is_last {
                if let Err(refusal) = self.output.finish() {
                    return Ok(Err(refusal));
                }
                return self.send().await.map(Ok);
            }
            if self.output.waiting() >= PART {
                self.send().await?;
            }
            // Others have their turn.
            tokio::task::yield_now().await;
        }
    }

    /// Answers a part of the body; `None` is its end.
    fn answer(&mut self, source: &mut Source, part: Option<Bytes>) -> Result<(), Refusal> {
        let Self { app, served, output, asked, block, .. } = self;
        let mut rows = 0;
        match (source, part) {
            (Source::Text(input), part) => {
                let is_last = part.is_none();
                block.extend_from_slice(&part.unwrap_or_default());
                asked.clear();
                let read = input.read(block, is_last, asked);
                // The rows before a wrong one are answered.
                rows += asked.len();
                output.write(served, block, asked)?;
                block.drain(..read?);
            }
            (Source::Arrow(decoder), Some(part)) => decoder.read(part, |column, first| {
                rows += column.len();
                match output {
                    Output::Arrow(batches) => batches.write_column(served, column, first),
                    Output::Rows { .. } => {
                        let texts = arrow::texts(column, first)?;
                        let values = texts.values().as_slice();
                        asked.clear();
                        for (row, ends) in texts.offsets().windows(2).enumerate() {
                            let (start, end) = (ends[0] as usize, ends[1] as usize);
                            if texts.is_null(row) {
                                asked.push_null();
                            } else {
                                asked.push(values, start, end - start);
                            }
                        }
                        output.write(served, values, asked)
                    }
                }
            })?,
            (Source::Arrow(decoder), None) => decoder.finish()?,
        }
        app.metrics.lookups.inc_by(rows as u64);
        Ok(())
    }

    /// Sends what waits.
    async fn send(&mut self) -> Result<(), Over> {
        if let Some(begun) = self.begun.take() {
            begun.send(Ok(())).map_err(|_| Over)?;
        }
        for part in self.output.take() {
            self.parts.send(Ok(part)).await.map_err(|_| Over)?;
        }
        Ok(())
    }

    /// Tells an error: by a status if no part was sent, else as the last part of an answer that is
    /// cut off after it.
    async fn refuse(mut self, refusal: Refusal) {
        if let Some(begun) = self.begun.take() {
            // Nobody may be there any more.
            let _ = begun.send(Err(refusal));
            return;
        }
        if self.send().await.is_ok() {
            if matches!(self.output, Output::Rows { .. }) {
                let _ = self.parts.send(Ok(format!("{}\n", refusal.json()).into())).await;
            }
            tokio::time::sleep(PARTING).await;
            let _ = self.parts.send(Err(Cut)).await;
        }
    }
}
