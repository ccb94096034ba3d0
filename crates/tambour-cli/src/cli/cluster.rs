//! What may be written of workers.

use crate::argument::{ByteSize, thread_count};
use clap::{Args, ValueHint};
use std::path::PathBuf;

/// The workers of a query.
#[derive(Args, Clone, Debug)]
pub(crate) struct ClusterArguments {
    /// Run queries on these workers (`tambour worker`), which see the same directories [default: those of TAMBOUR_WORKERS]
    #[arg(long, value_name = "HOST:PORT,...", value_delimiter = ',', help_heading = "Workers")]
    pub(crate) workers: Vec<String>,
    #[command(flatten)]
    pub(crate) access: AccessArguments,
}

/// Workers that do other work than queries.
#[derive(Args, Clone, Debug)]
pub(crate) struct ErrandArguments {
    /// Let these workers do it (`tambour worker`), which see the same directories
    #[arg(long, value_name = "HOST:PORT,...", value_delimiter = ',', help_heading = "Workers")]
    pub(crate) workers: Vec<String>,
    #[command(flatten)]
    pub(crate) access: AccessArguments,
}

/// What workers ask for, and how they are checked.
#[derive(Args, Clone, Debug)]
pub(crate) struct AccessArguments {
    /// A file with the token that the workers ask for
    #[arg(
        long,
        value_name = "FILE",
        value_hint = ValueHint::FilePath,
        help_heading = "Workers"
    )]
    pub(crate) token_file: Option<PathBuf>,
    /// Encrypt connections, and check the workers' certificates against those of this PEM file
    #[arg(
        long,
        value_name = "FILE",
        value_hint = ValueHint::FilePath,
        help_heading = "Workers"
    )]
    pub(crate) tls_ca: Option<PathBuf>,
}

/// Run parts of other processes' queries
///
/// Waits for `tambour sql --workers` (and `verify`, `import`) and reads the tables below a directory for it, until it gets SIGTERM or Ctrl-C. Without
/// --token-file it listens on this machine only. With --tls-cert and --tls-key connections are encrypted.
#[derive(Args, Debug)]
#[command(after_help = "\
Example:
  tambour worker --listen 127.0.0.1:7100 --root /data &
  tambour worker --listen 127.0.0.1:7101 --root /data &
  tambour sql /data/hits --workers 127.0.0.1:7100,127.0.0.1:7101 \\
    'SELECT count() FROM hits'")]
pub(crate) struct WorkerArguments {
    /// Where to listen; port 0 takes a free one
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:7100")]
    pub(crate) listen: String,
    /// Tables below this directory are read, no others
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) root: PathBuf,
    /// Write below --root, too, for `tambour import --workers`
    #[arg(long)]
    pub(crate) write: bool,
    /// Memory for sorts, joins and groups of all queries, which go to temporary files past it [default: half of the machine's]
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<ByteSize>,
    /// Threads [default: all processors]
    #[arg(long, value_name = "N", value_parser = thread_count)]
    pub(crate) threads: Option<usize>,
    /// Encrypt connections: the certificate of this worker, in PEM
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// The private key of --tls-cert, in PEM
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,
    /// Certificates, in PEM, that those of other workers are checked against [default: --tls-cert]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "tls_cert")]
    pub(crate) tls_ca: Option<PathBuf>,
    /// A file with a token that queries must bring
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) token_file: Option<PathBuf>,
}
