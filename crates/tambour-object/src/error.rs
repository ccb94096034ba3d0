//! Errors of stores: the URL, what went wrong, and what to type.

use crate::settings::wanted;
use std::io::{self, ErrorKind};
use std::path::PathBuf;
use std::sync::Arc;
use tambour_codec::Kind;

/// An error of a store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The URL cannot be read.
    #[error("{url}: {problem}")]
    Address {
        /// The URL.
        url: String,
        /// What is wrong with it.
        problem: String,
    },
    /// No credentials are set.
    #[error("{url}: no credentials are set: {wanted}")]
    NoCredentials {
        /// The store.
        url: String,
        /// What to set.
        wanted: String,
    },
    /// The settings do not make a client.
    #[error("{url}: settings in the environment")]
    Settings {
        /// The store.
        url: String,
        /// Why.
        #[source]
        cause: object_store::Error,
    },
    /// A setting of Tambour's own does not parse.
    #[error("{name}={value:?}: expected {expected}")]
    Setting {
        /// The variable.
        name: &'static str,
        /// What it is set to.
        value: String,
        /// What it may be.
        expected: &'static str,
    },
    /// The threads of the requests cannot be started, or have gone.
    #[error("cannot start threads for requests")]
    Threads {
        /// Why.
        #[source]
        cause: io::Error,
    },
    /// A request was given up before it had an answer.
    #[error("{url}: the request was given up")]
    GivenUp {
        /// The object.
        url: String,
    },
    /// The object does not exist.
    #[error("{url}: the object does not exist")]
    NotFound {
        /// The object.
        url: String,
    },
    /// The store refuses.
    #[error("{url}: the store refuses to give it; check the credentials and their rights")]
    Denied {
        /// The object or directory.
        url: String,
        /// What it said.
        #[source]
        cause: object_store::Error,
    },
    /// The object is another one than was opened.
    #[error("{url}: changed while it was read; open it again")]
    Changed {
        /// The object.
        url: String,
    },
    /// An answer ended early, again and again.
    #[error("{url}: the answer ended early: expected {expected} bytes from {offset}, got {got}")]
    Short {
        /// The object.
        url: String,
        /// Where the bytes begin.
        offset: u64,
        /// How many were asked for.
        expected: u64,
        /// How many came.
        got: u64,
    },
    /// Any other failure, after the last retry.
    #[error("{url}: {hint}")]
    Request {
        /// The object or directory.
        url: String,
        /// What to do about it.
        hint: String,
        /// What happened.
        #[source]
        cause: object_store::Error,
    },
    /// A directory cannot be listed.
    #[error("{url}: {problem}")]
    Listing {
        /// The directory.
        url: String,
        /// Why.
        problem: String,
    },
    /// The metadata of an object-store disk is damaged, or its objects are not those that it names.
    #[error("{path:?}: the metadata of a file on an object-store disk: {problem}")]
    Metadata {
        /// The metadata.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// Nobody said where the objects of a disk lie.
    #[error(
        "{path:?} is the metadata of a file on an object-store disk: set {name}=s3://bucket/prefix, the URL of the disk's \
         endpoint, or to a directory with a copy of its objects"
    )]
    NoDisk {
        /// The metadata.
        path: PathBuf,
        /// The variable to set.
        name: String,
    },
    /// The objects of a disk do not lie where somebody said.
    #[error("{name}={value:?}: expected the URL of an object store, or a directory")]
    DiskPlace {
        /// The variable.
        name: String,
        /// What it is set to.
        value: String,
    },
}

impl StoreError {
    /// The kind of this error.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Address { .. }
            | Self::NoCredentials { .. }
            | Self::Setting { .. }
            | Self::NoDisk { .. }
            | Self::DiskPlace { .. } => Kind::Argument,
            Self::Metadata { .. } => Kind::Corrupt,
            Self::NotFound { .. } => Kind::NotFound,
            Self::Changed { .. } => Kind::Conflict,
            Self::Listing { .. } => Kind::Unsupported,
            _ => Kind::Io,
        }
    }

    /// From what a request for `url` answered.
    pub(crate) fn request(url: &str, cause: object_store::Error) -> Self {
        use object_store::Error as E;
        let url = url.to_owned();
        match cause {
            E::NotFound { .. } => Self::NotFound { url },
            E::Precondition { .. } => Self::Changed { url },
            E::PermissionDenied { .. } | E::Unauthenticated { .. } => Self::Denied { url, cause },
            E::InvalidPath { source } => {
                let problem = format!(
                    "an object there has a name that no path can have: {source}; rename or move it"
                );
                Self::Listing { url, problem }
            }
            // The machine's own service was the last hope for credentials.
            _ if SERVICES.iter().any(|service| chain(&cause).contains(service)) => {
                Self::NoCredentials { wanted: wanted(&url).to_owned(), url }
            }
            // Refused listings have no variant of their own.
            _ if REFUSALS.iter().any(|status| chain(&cause).contains(status)) => {
                Self::Denied { url, cause }
            }
            _ => Self::Request { url, hint: hint(&cause).to_owned(), cause },
        }
    }
}

/// What a store says to those who may not.
const REFUSALS: [&str; 2] = ["status code: 401", "status code: 403"];

/// Where the machines of clouds get credentials.
const SERVICES: [&str; 2] = ["169.254.169.254", "metadata.google.internal"];

/// What to do about a failure, as far as its text tells.
fn hint(cause: &object_store::Error) -> &'static str {
    let text = chain(cause);
    if text.contains("Received redirect") || text.contains("301 Moved") {
        "the store sends elsewhere; set AWS_REGION to the bucket's region"
    } else if text.contains("non-partial response") {
        "the server gives no ranges of files, which reading needs"
    } else if text.contains("status code: 4") {
        "the store does not take the request"
    } else if text.contains("invalid list response") {
        "the listing cannot be read"
    } else {
        "no answer, after all retries"
    }
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(error) = next {
        text.push_str(&error.to_string());
        next = error.source();
    }
    text
}

/// The error of a [`tambour_storage::Storage`].
pub(crate) fn io(error: Arc<StoreError>) -> io::Error {
    let kind = match error.as_ref() {
        StoreError::NotFound { .. } => ErrorKind::NotFound,
        StoreError::Denied { .. } | StoreError::NoCredentials { .. } => ErrorKind::PermissionDenied,
        StoreError::Changed { .. } => ErrorKind::StaleNetworkFileHandle,
        StoreError::Short { .. } => ErrorKind::ConnectionAborted,
        StoreError::Listing { .. } => ErrorKind::Unsupported,
        StoreError::Address { .. } | StoreError::NoDisk { .. } | StoreError::DiskPlace { .. } => {
            ErrorKind::InvalidInput
        }
        StoreError::Metadata { .. } => ErrorKind::InvalidData,
        _ => ErrorKind::Other,
    };
    io::Error::new(kind, error)
}
