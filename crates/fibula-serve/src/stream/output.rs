//! [`Output`]: the answers of rows, in any format.

use super::arrow::Batches;
use super::asked::Asked;
use crate::media::Media;
use crate::refusal::Refusal;
use crate::served::Served;
use axum::body::Bytes;
use fibula_page::write_prefix;

/// Writes answers.
pub(super) enum Output {
    /// A JSON array, or a line each.
    Rows { media: Media, out: Vec<u8>, any: bool },
    /// Batches of Arrow.
    Arrow(Box<Batches>),
}

impl Output {
    pub(super) fn new(
        media: Media,
        batches: impl FnOnce() -> Result<Batches, Refusal>,
    ) -> Result<Self, Refusal> {
        Ok(match media {
            Media::Arrow => Self::Arrow(Box::new(batches()?)),
            media => Self::Rows { media, out: Vec::new(), any: false },
        })
    }

    /// Answers rows.
    pub(super) fn write(&mut self, served: &Served, block: &[u8], asked: &mut Asked) -> Result<(), Refusal> {
        match self {
            Self::Arrow(batches) => batches.write_asked(served, block, asked),
            Self::Rows { media, out, any } => {
                let media = *media;
                asked.answer(served, block, |text, route| {
                    if media == Media::Text {
                        match route {
                            Some((prefix, next_hop)) => {
                                write_prefix(out, prefix);
                                out.push(b'\t');
                                out.extend_from_slice(served.text(next_hop).as_bytes());
                            }
                            None => out.extend_from_slice(b"-\t-"),
                        }
                        return out.push(b'\n');
                    }
                    if media == Media::Json {
                        out.push(if *any { b',' } else { b'[' });
                    }
                    *any = true;
                    match text {
                        Some(text) => {
                            out.extend_from_slice(b"{\"address\":\"");
                            out.extend_from_slice(text);
                            out.extend_from_slice(b"\",");
                        }
                        None => out.extend_from_slice(b"{\"address\":null,"),
                    }
                    served.write_route(out, route);
                    out.extend_from_slice(b"}\n");
                });
                Ok(())
            }
        }
    }

    /// Returns the bytes that wait to be sent.
    pub(super) fn waiting(&self) -> usize {
        match self {
            Self::Rows { out, .. } => out.len(),
            Self::Arrow(batches) => batches.waiting(),
        }
    }

    /// Takes what waits to be sent.
    pub(super) fn take(&mut self) -> Vec<Bytes> {
        match self {
            Self::Rows { out, .. } => {
                let room = out.len();
                vec![std::mem::replace(out, Vec::with_capacity(room)).into()]
            }
            Self::Arrow(batches) => batches.take(),
        }
    }

    /// Writes what comes after the last answer.
    pub(super) fn finish(&mut self) -> Result<(), Refusal> {
        match self {
            Self::Rows { media: Media::Json, out, any } => {
                out.extend_from_slice(if *any { b"]\n" } else { b"[]\n" });
                Ok(())
            }
            Self::Rows { .. } => Ok(()),
            Self::Arrow(batches) => batches.finish(),
        }
    }
}
