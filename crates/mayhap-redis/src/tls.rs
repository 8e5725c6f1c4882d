//! TLS by rustls: trusted authorities and the client certificate.

use crate::address::Node;
use crate::{Address, LinkError};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Arc;

/// A complete handshake.
pub(crate) fn begin<S: Read + Write>(
    address: &Address,
    node: &Node,
    mut socket: S,
) -> Result<Box<StreamOwned<ClientConnection, S>>, LinkError> {
    let refuse = |what: String| LinkError::Tls { address: address.node_name(node), what };
    let name = server_name(address, node)?;
    let connection = ClientConnection::new(config(address, node)?, name);
    let mut connection = connection.map_err(|error| refuse(message(&error)))?;
    while connection.is_handshaking() {
        connection.complete_io(&mut socket).map_err(|error| failed(address, node, &error))?;
    }
    Ok(Box::new(StreamOwned::new(connection, socket)))
}

/// A server that was reached and ends the handshake does not speak TLS, or rejects us.
pub(crate) fn failed(address: &Address, node: &Node, error: &io::Error) -> LinkError {
    let name = address.node_name(node);
    match LinkError::of_io(&name, error) {
        LinkError::Unreachable { address, .. }
            if matches!(
                error.kind(),
                io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset
            ) =>
        {
            let what = "the server ended the handshake; does it speak TLS? redis:// is without";
            LinkError::Unreachable { address, what: what.to_owned() }
        }
        error => error,
    }
}

pub(crate) fn server_name(
    address: &Address,
    node: &Node,
) -> Result<ServerName<'static>, LinkError> {
    ServerName::try_from(node.host.clone()).map_err(|error| LinkError::Tls {
        address: address.node_name(node),
        what: error.to_string(),
    })
}

/// Read again for every connection, so that renewed certificates are used.
pub(crate) fn config(address: &Address, node: &Node) -> Result<Arc<ClientConfig>, LinkError> {
    let refuse = |what: String| LinkError::Tls { address: address.node_name(node), what };
    let certificates = address.certificates();
    let mut roots = RootCertStore::empty();
    match &certificates.authority {
        Some(file) => {
            for authority in read(file).map_err(refuse)? {
                roots.add(authority).map_err(|error| refuse(named(file, &message(&error))))?;
            }
        }
        None => {
            let system = rustls_native_certs::load_native_certs();
            roots.add_parsable_certificates(system.certs);
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| refuse(message(&error)))?
        .with_root_certificates(roots);
    let config = match &certificates.client {
        None => config.with_no_client_auth(),
        Some((certificate, key)) => {
            let chain = read(certificate).map_err(refuse)?;
            let secret = PrivateKeyDer::from_pem_file(key)
                .map_err(|error| refuse(named(key, &error.to_string())))?;
            let shown = config.with_client_auth_cert(chain, secret);
            shown.map_err(|error| refuse(named(certificate, &message(&error))))?
        }
    };
    Ok(Arc::new(config))
}

/// All certificates of a file; there must be one.
fn read(file: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let read = CertificateDer::pem_file_iter(file).and_then(Iterator::collect);
    let read: Vec<_> = read.map_err(|error| named(file, &error.to_string()))?;
    if read.is_empty() { Err(named(file, "no certificate in it")) } else { Ok(read) }
}

fn named(file: &Path, what: &str) -> String {
    format!("{}: {what}", file.display())
}

/// The message for a server without TLS.
pub(crate) const PLAIN: &str = "the server does not speak it; write redis://… or redis+cluster://…";

/// An error for users, with a hint.
pub(crate) fn message(error: &rustls::Error) -> String {
    use rustls::AlertDescription::{CertificateRequired, HandshakeFailure};
    match error {
        rustls::Error::InvalidMessage(_) => PLAIN.to_owned(),
        rustls::Error::AlertReceived(CertificateRequired | HandshakeFailure) => {
            format!(
                "{error}; a server may want a certificate: cert=FILE and key=FILE in the address"
            )
        }
        error => error.to_string(),
    }
}
