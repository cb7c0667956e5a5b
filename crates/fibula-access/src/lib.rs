//! Who may ask a service by HTTP: the certificate that the service shows, and the token that
//! requests carry.
#![forbid(unsafe_code)]

use http::HeaderMap;
use http::header::AUTHORIZATION;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::fmt::Display;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use subtle::ConstantTimeEq;
pub use tokio_rustls::TlsAcceptor;

/// Why a file cannot be used. The text is one line and names the file.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Error(String);

impl Error {
    fn of(path: &Path, what: impl Display) -> Self {
        Self(format!("{}: {what}", path.display()))
    }
}

/// Reads a certificate's chain and its key, in PEM. TLS 1.2 and 1.3 are spoken.
///
/// # Errors
/// If a file cannot be read, or the key is not that of the certificate.
pub fn acceptor(chain: &Path, key: &Path) -> Result<TlsAcceptor, Error> {
    let certificates = CertificateDer::pem_file_iter(chain).and_then(Iterator::collect);
    let certificates: Vec<_> = certificates.map_err(|error| Error::of(chain, error))?;
    let private = PrivateKeyDer::from_pem_file(key).map_err(|error| Error::of(key, error))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(certificates, private));
    Ok(Arc::new(config.map_err(|error| Error::of(chain, error))?).into())
}

/// A secret, of which nothing is printed.
pub struct Token(Vec<u8>);

impl Token {
    /// What a request lacks that has no token, or another one.
    pub const EXPECTED: &str = "expected `Authorization: Bearer` and the token";

    /// Reads the first line of a file.
    ///
    /// # Errors
    /// If the file cannot be read, or the token has fewer than 16 characters.
    pub fn read(path: &Path) -> Result<Self, Error> {
        /// What nobody guesses has at least as many characters.
        const LEAST: usize = 16;
        let text = fs::read(path).map_err(|error| Error::of(path, error))?;
        let line = text.split(|&byte| byte == b'\n').next().unwrap_or_default().trim_ascii();
        if line.len() < LEAST {
            let what = format!("a token of {} characters: expected at least {LEAST}", line.len());
            return Err(Error::of(path, what));
        }
        Ok(Self(line.to_vec()))
    }

    /// Returns whether a request has it. How long that takes does not tell how much of another one
    /// is right.
    #[must_use]
    pub fn is_in(&self, headers: &HeaderMap) -> bool {
        let given =
            headers.get(AUTHORIZATION).and_then(|value| value.as_bytes().split_at_checked(SCHEME.len()));
        // The case of a scheme means nothing (RFC 9110 section 11.1).
        let given = given.filter(|(scheme, _)| scheme.eq_ignore_ascii_case(SCHEME)).map(|(_, given)| given);
        given.is_some_and(|given| given.trim_ascii_start().ct_eq(&self.0).into())
    }
}

/// What the token comes after.
const SCHEME: &[u8] = b"bearer ";

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    #[test]
    fn a_token_comes_after_bearer_in_any_case() {
        let token = Token(b"0123456789abcdef".to_vec());
        let is_in = |value: &'static str| {
            token.is_in(&HeaderMap::from_iter([(AUTHORIZATION, HeaderValue::from_static(value))]))
        };
        for value in ["Bearer 0123456789abcdef", "bearer 0123456789abcdef", "BEARER  0123456789abcdef"] {
            assert!(is_in(value), "{value}");
        }
        for value in [
            "",
            "Bearer",
            "Bearer ",
            "Basic 0123456789abcdef",
            "bearer0123456789abcdef",
            "Bearer 0123456789abcde",
        ] {
            assert!(!is_in(value), "{value}");
        }
        assert!(!token.is_in(&HeaderMap::new()));
    }
}
