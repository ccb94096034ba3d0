//! Errors of clusters.

use std::net::SocketAddr;
use tambour_codec::Kind;
use tambour_sql::SqlError;

/// An error before a query runs; those of running queries are [`SqlError`]s that name the worker.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClusterError {
    /// The address of a worker is not one.
    #[error("{address:?} is not the address of a worker: write host:port")]
    Address {
        /// As written.
        address: String,
    },
    /// No worker was given, or one twice.
    #[error("workers: {problem}")]
    Workers {
        /// What is wrong.
        problem: String,
    },
    /// A worker does not answer.
    #[error("worker {worker}: {problem}")]
    Unreachable {
        /// Its address.
        worker: String,
        /// What came instead of an answer.
        problem: String,
    },
    /// A worker runs another version.
    #[error("worker {worker} runs {got}, this is {expected}: start the same version everywhere")]
    Version {
        /// Its address.
        worker: String,
        /// The version here.
        expected: String,
        /// The version there.
        got: String,
    },
    /// The worker cannot use its root.
    #[error("root {root}")]
    Root {
        /// The directory.
        root: String,
        /// Why.
        #[source]
        cause: std::io::Error,
    },
    /// The worker cannot listen.
    #[error("listen on {address}")]
    Listen {
        /// Where.
        address: String,
        /// Why.
        #[source]
        cause: std::io::Error,
    },
    /// An address that others can reach, without a token.
    #[error(
        "{address} can be reached from other machines: give --token-file, or listen on 127.0.0.1"
    )]
    Open {
        /// Where it was to listen.
        address: SocketAddr,
    },
    /// A certificate or key cannot be used.
    #[error("TLS: {problem}")]
    Tls {
        /// What is wrong.
        problem: String,
    },
    /// The server ended.
    #[error("the server ended: {problem}")]
    Server {
        /// Why.
        problem: String,
    },
    /// A worker did not do what it was sent for.
    #[error("worker {worker}: {problem}")]
    Refused {
        /// Its address.
        worker: String,
        /// Why not.
        problem: String,
    },
    /// The session cannot be made.
    #[error(transparent)]
    Sql(#[from] SqlError),
}

impl ClusterError {
    /// The kind of this error.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Address { .. } | Self::Workers { .. } | Self::Open { .. } | Self::Tls { .. } => {
                Kind::Argument
            }
            Self::Version { .. } => Kind::Conflict,
            Self::Unreachable { .. }
            | Self::Root { .. }
            | Self::Listen { .. }
            | Self::Refused { .. }
            | Self::Server { .. } => Kind::Io,
            Self::Sql(error) => error.kind(),
        }
    }
}
