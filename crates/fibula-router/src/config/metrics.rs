//! [`Metrics`]: who may ask for them, and where.

use super::usage;
use crate::Error;
use fibula_access::{TlsAcceptor, Token};
use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;

/// `/metrics` for Prometheus: a section, or an address where anybody may ask.
// Of itself: what is derived reads the section.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, remote = "Self")]
pub struct Metrics {
    /// Where it is served; nowhere if left out.
    pub listen: Option<SocketAddr>,
    /// A file whose first line is the token that requests must carry.
    pub token_file: Option<PathBuf>,
    /// A file with a certificate's chain, in PEM. Then TLS is spoken.
    pub tls_cert: Option<PathBuf>,
    /// A file with its key.
    pub tls_key: Option<PathBuf>,
}

impl Metrics {
    /// Reads the files that say who may ask.
    ///
    /// # Errors
    /// If one cannot be used, or has no use without another key.
    pub fn access(&self) -> Result<(Option<TlsAcceptor>, Option<Token>), Error> {
        let Self { listen, token_file, tls_cert, tls_key } = self;
        let tls = match (tls_cert, tls_key) {
            (Some(chain), Some(key)) => Some(fibula_access::acceptor(chain, key)?),
            (None, None) => None,
            _ => return Err(usage("`metrics.tls_cert` and `metrics.tls_key` need each other")),
        };
        let token = token_file.as_deref().map(Token::read).transpose()?;
        if listen.is_none() && (tls.is_some() || token.is_some()) {
            return Err(usage("`metrics` needs `listen`, an address"));
        }
        Ok((tls, token))
    }
}

impl<'de> Deserialize<'de> for Metrics {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Written)
    }
}

/// What is written of [`Metrics`].
struct Written;

impl<'de> Visitor<'de> for Written {
    type Value = Metrics;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an address, or a section with `listen`")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Metrics, E> {
        let listen = text.parse().map_err(|error| E::custom(format!("{text:?}: {error}")))?;
        Ok(Metrics { listen: Some(listen), ..Metrics::default() })
    }

    fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<Metrics, M::Error> {
        Metrics::deserialize(MapAccessDeserializer::new(map))
    }
}

#[cfg(test)]
mod tests {
    use crate::config::Config;

    #[test]
    fn who_may_ask_is_read_or_refused() {
        let metrics = |text: &str| Config::parse(text).unwrap().metrics.access().map(drop);
        let refused = |text: &str| metrics(text).unwrap_err().to_string();
        assert!(metrics("metrics.listen = '[::1]:9629'").is_ok());
        let one = refused("metrics = { listen = '[::1]:9629', tls_cert = '/none' }");
        assert_eq!(one, "`metrics.tls_cert` and `metrics.tls_key` need each other");
        let none = "metrics = { listen = '[::1]:9629', token_file = '/none' }";
        assert!(refused(none).starts_with("/none: "));
        assert_eq!(refused("metrics.token_file = '/etc/passwd'"), "`metrics` needs `listen`, an address");
    }

    #[test]
    fn an_address_alone_is_where_it_is_served() {
        let [short, long] = ["metrics = '[::1]:9629'", "metrics.listen = '[::1]:9629'"];
        assert_eq!(Config::parse(short).unwrap(), Config::parse(long).unwrap());
        let error = |text: &str| Config::parse(text).unwrap_err().to_string();
        for (text, what) in [("metrics = 9629", "a section"), ("metrics = 'x'", "x"), ("metrics.x = 1", "x")]
        {
            let error = error(text);
            assert!(error.contains("line 1") && error.contains(what), "{error}");
        }
    }
}
