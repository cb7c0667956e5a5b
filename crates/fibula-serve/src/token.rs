//! [`Token`]: the secret that requests must carry.

use crate::Error;
use crate::refusal::Refusal;
use axum::http::header::AUTHORIZATION;
use axum::http::{HeaderMap, StatusCode};
use std::fs;
use std::path::Path;
use subtle::ConstantTimeEq;

/// A secret, of which nothing is printed.
pub(crate) struct Token(Vec<u8>);

impl Token {
    /// Reads the first line of a file.
    pub(crate) fn read(path: &Path) -> Result<Self, Error> {
        /// What nobody guesses has at least as many characters.
        const LEAST: usize = 16;
        let text = fs::read(path).map_err(|error| Error::new(format_args!("{}: {error}", path.display())))?;
        let line = text.split(|&byte| byte == b'\n').next().unwrap_or_default().trim_ascii();
        if line.len() < LEAST {
            let what = format!("a token of {} characters: expected at least {LEAST}", line.len());
            return Err(Error::new(format_args!("{}: {what}", path.display())));
        }
        Ok(Self(line.to_vec()))
    }

    /// Refuses a request without it. How long that takes does not tell how much of it was right.
    pub(crate) fn check(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let given = headers.get(AUTHORIZATION).and_then(|value| value.as_bytes().strip_prefix(b"Bearer "));
        match given {
            Some(given) if bool::from(given.ct_eq(&self.0)) => Ok(()),
            _ => {
                Err(Refusal::new(StatusCode::UNAUTHORIZED, "expected `Authorization: Bearer` and the token"))
            }
        }
    }
}
