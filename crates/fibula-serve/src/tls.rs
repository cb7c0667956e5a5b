//! Certificates.

use crate::Error;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::path::Path;
use std::sync::Arc;
use tokio_rustls::TlsAcceptor;

/// Reads a certificate's chain and its key.
pub(crate) fn acceptor(chain: &Path, key: &Path) -> Result<TlsAcceptor, Error> {
    let of =
        |path: &Path, what: &dyn std::fmt::Display| Error::new(format_args!("{}: {what}", path.display()));
    let certificates = CertificateDer::pem_file_iter(chain).and_then(Iterator::collect);
    let certificates: Vec<_> = certificates.map_err(|error| of(chain, &error))?;
    let private = PrivateKeyDer::from_pem_file(key).map_err(|error| of(key, &error))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(certificates, private));
    Ok(Arc::new(config.map_err(|error| of(chain, &error))?).into())
}
