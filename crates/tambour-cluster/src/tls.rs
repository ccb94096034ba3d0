//! Encryption of connections, by rustls: a worker shows a certificate, and whoever calls it checks that certificate.

use crate::error::ClusterError;
use tonic::transport::{Certificate, ClientTlsConfig, Identity, ServerTlsConfig};
use url::{Host, Url};

/// What a worker shows to those who call it. All fields are PEM.
#[derive(Clone)]
pub struct TlsIdentity {
    /// The certificate for the host's name or address, with the intermediate ones after it.
    pub certificate: Vec<u8>,
    /// Its private key.
    pub key: Vec<u8>,
}

impl std::fmt::Debug for TlsIdentity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TlsIdentity(..)")
    }
}

impl TlsIdentity {
    pub(crate) fn config(&self) -> ServerTlsConfig {
        ServerTlsConfig::new().identity(Identity::from_pem(&self.certificate, &self.key))
    }
}

/// The certificates, in PEM, that those of workers are checked against. With one, connections are encrypted.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Authority(Vec<u8>);

impl Authority {
    pub(crate) fn new(pem: &[u8]) -> Result<Self, ClusterError> {
        // What is none of its certificates is passed over by the reader of PEM: a key or an empty file would trust nobody.
        let begin = b"-----BEGIN CERTIFICATE-----";
        if !pem.windows(begin.len()).any(|window| window == begin) {
            let problem = "the file of the authority has no certificate in PEM form".to_owned();
            return Err(ClusterError::Tls { problem });
        }
        Ok(Self(pem.to_vec()))
    }
    /// How a worker is called.
    pub(crate) fn config(&self, url: &Url) -> ClientTlsConfig {
        let config = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(&self.0));
        match url.host() {
            // A certificate names an address without the brackets of a URL.
            Some(Host::Ipv6(address)) => config.domain_name(address.to_string()),
            Some(host) => config.domain_name(host.to_string()),
            None => config,
        }
    }
}

impl std::fmt::Debug for Authority {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Authority(..)")
    }
}
