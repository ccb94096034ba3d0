//! What is done with tables and their parts: `salvage`, `optimize`, `recompress`, `verify`, `inspect`, `advise`, `attach-script`.

use super::FileFormat;
use crate::argument::{ByteSize, CodecChoice, portable, thread_count};
use clap::{Args, ValueEnum, ValueHint};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tambour::advise::Version;
use tambour::kernel::map::explain_cuts;
use tambour::storage::lock::set_patience;
use tambour::storage::{Reading, Storage, disk_read};
use tambour::table::store::{is_url, storage_of, with_disks};

/// What does not go with `--watch`.
#[cfg(feature = "cluster")]
const WITHOUT_WATCH: [&str; 3] = ["codec", "lock_wait", "workers"];
#[cfg(not(feature = "cluster"))]
const WITHOUT_WATCH: [&str; 2] = ["codec", "lock_wait"];

/// Save what a damaged part still holds into a new table
///
/// Rows are kept where every column can be read; a column of which nothing can be read is left out. Names and types come from
/// the table around the part if the part has lost them. Each loss is printed; the exit code is 6 if there is any.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  tambour salvage flights/all_1_1_0 --to saved")]
pub(crate) struct SalvageArguments {
    /// Directory of the part
    #[arg(value_name = "PART", value_hint = ValueHint::DirPath)]
    pub(crate) part: PathBuf,
    /// Directory of the new table
    #[arg(long, value_name = "TABLE", value_hint = ValueHint::DirPath)]
    pub(crate) to: PathBuf,
    /// Keep rows of which some columns are lost, with defaults there [default: leave them out]
    #[arg(long)]
    pub(crate) fill: bool,
    /// The table as a CREATE TABLE statement, or @FILE that holds it, if no file beside the part says it
    #[arg(long, value_name = "SQL")]
    pub(crate) create: Option<String>,
    /// Threads [default: all processors]
    #[arg(long, value_name = "N", value_parser = thread_count)]
    pub(crate) threads: Option<usize>,
    /// Print the result as one JSON object
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

/// What a command does while another process writes to its table.
#[derive(Args, Debug)]
pub(crate) struct LockArguments {
    /// While another process writes to the table, wait this long for it [default: say who it is, at once]
    #[arg(long, value_name = "SECONDS")]
    pub(crate) lock_wait: Option<u32>,
}

impl LockArguments {
    /// From now on this process waits so long.
    pub(crate) fn apply(&self) {
        if let Some(seconds) = self.lock_wait {
            set_patience(Duration::from_secs(seconds.into()));
        }
    }
}

/// How the files of a table are read.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct ReadingArguments {
    /// Read the table's files through the page cache, past it, or as memory: buffered, direct, mmap [default: buffered]
    #[arg(long, value_name = "HOW", hide_possible_values = true)]
    pub(crate) io: Option<ReadingName>,
}

/// Ways of reading files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReadingName {
    /// Through the system's page cache
    Buffered,
    /// Past it: O_DIRECT
    Direct,
    /// As memory
    Mmap,
}

impl ReadingArguments {
    /// The disk, read so; the store of a URL, which is read in one way only.
    pub(crate) fn storage_of(self, path: &Path) -> anyhow::Result<Arc<dyn Storage>> {
        if is_url(path) {
            return Ok(storage_of(path)?);
        }
        let reading = match self.io {
            None | Some(ReadingName::Buffered) => Reading::Buffered,
            Some(ReadingName::Direct) => Reading::Direct,
            Some(ReadingName::Mmap) => {
                explain_cuts();
                Reading::Mapped
            }
        };
        Ok(with_disks(disk_read(reading), path))
    }
}

/// Merge the parts of a table
///
/// Afterwards every partition has one part, with a file per stream. The table shows either the old parts or the
/// new ones. With --codec all parts are rewritten, even single ones. With --watch it goes on as a server does: it merges a few parts at
/// a time, whenever it is worth it, until SIGTERM or Ctrl-C, and lets other writers go first.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  tambour optimize flights\n  \
                  tambour optimize flights --codec 'auto(size)' --codec 'time=Delta(4),LZ4'\n  \
                  tambour optimize --watch flights visits")]
pub(crate) struct OptimizeArguments {
    /// Directory of the table; several with --watch
    #[arg(value_name = "TABLE", value_hint = ValueHint::DirPath, required = true)]
    pub(crate) tables: Vec<PathBuf>,
    /// Merge parts in the background until SIGTERM or Ctrl-C
    #[arg(long, conflicts_with_all = WITHOUT_WATCH)]
    pub(crate) watch: bool,
    /// Bytes of the parts that --watch merges at once, at most
    #[arg(long, value_name = "SIZE", default_value = "150GiB", requires = "watch")]
    pub(crate) merge_max: ByteSize,
    /// Codec of all columns or of one, as for import; may be repeated
    #[arg(long, value_name = "CODEC")]
    pub(crate) codec: Vec<CodecChoice>,
    /// Use only codecs that ClickHouse can read
    #[arg(long, value_name = "yes|no", default_value = "yes", action = clap::ArgAction::Set)]
    #[arg(value_parser = portable, hide_possible_values = true)]
    pub(crate) portable: bool,
    /// Keep rows and values that have expired by the table's TTL
    #[arg(long)]
    pub(crate) keep_expired: bool,
    /// Memory for the merge
    #[arg(long, value_name = "SIZE", default_value = "1GiB")]
    pub(crate) memory: ByteSize,
    /// Threads [default: all processors]
    #[arg(long, value_name = "N", value_parser = thread_count)]
    pub(crate) threads: Option<usize>,
    #[command(flatten)]
    pub(crate) lock: LockArguments,
    /// Print the result as one JSON object; with --watch, one per merge and line
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    /// Let workers merge the partitions of a table.
    #[cfg(feature = "cluster")]
    #[command(flatten)]
    pub(crate) cluster: super::ErrandArguments,
}

/// Give the parts of a table other codecs
///
/// Block by block, without sorting or rewriting rows; every block is decoded and compared before its part replaces the old
/// one. Parts are committed one by one: after an interruption, call it again and it continues where it stopped.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  tambour recompress flights --codec 'auto(size)'\n  \
                  tambour recompress flights --codec 'ZSTD(3)' --codec 'time=Delta(4),LZ4'")]
pub(crate) struct RecompressArguments {
    /// Directory of the table
    #[arg(value_name = "TABLE", value_hint = ValueHint::DirPath)]
    pub(crate) table: PathBuf,
    /// Codec of all columns or of one, as for import; may be repeated
    #[arg(long, value_name = "CODEC", required = true)]
    pub(crate) codec: Vec<CodecChoice>,
    /// Use only codecs that ClickHouse can read
    #[arg(long, value_name = "yes|no", default_value = "yes", action = clap::ArgAction::Set)]
    #[arg(value_parser = portable, hide_possible_values = true)]
    pub(crate) portable: bool,
    #[command(flatten)]
    pub(crate) lock: LockArguments,
    /// Print the result as one JSON object
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    /// Let workers write the partitions of a table.
    #[cfg(feature = "cluster")]
    #[command(flatten)]
    pub(crate) cluster: super::ErrandArguments,
}

/// Read and check everything
///
/// Checks hashes of files, checksums of blocks, marks, indexes and every value. Prints everything that is wrong, with its place;
/// the exit code is then 3.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  tambour verify flights\n  tambour verify flights/all_1_1_0 --json"
)]
pub(crate) struct VerifyArguments {
    /// A table, a part, a file of blocks (.bin), or of frames (.lz4, .zst)
    #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) path: PathBuf,
    #[command(flatten)]
    pub(crate) reading: ReadingArguments,
    /// Dictionary of the frames
    #[arg(short = 'D', long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) dictionary: Option<PathBuf>,
    /// Print the result as one JSON object
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    /// Let workers verify the parts of a table.
    #[cfg(feature = "cluster")]
    #[command(flatten)]
    pub(crate) cluster: super::ErrandArguments,
}

/// Show what a table, a part or a file contains
///
/// A table, a part or a file of blocks (.bin): files, columns, types, codecs, sizes, granules, index. A file of LZ4 or zstd
/// frames: headers, blocks, literals, tables, sequences, and where the bytes went.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  tambour inspect flights
  tambour inspect flights/all_1_1_0/delay.bin --blocks
  tambour inspect backup.zst --stats")]
pub(crate) struct InspectArguments {
    /// A table, a part, a file of blocks (.bin), or of frames (.lz4, .zst)
    #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) path: PathBuf,
    /// Also every block: offset, codec, sizes, checksum, and what is inside: literals, tables, sequences, headers of codecs
    #[arg(long)]
    pub(crate) blocks: bool,
    /// Also decode: lengths and offsets of matches, and what the choice among LZ4 decoders learned
    #[arg(long)]
    pub(crate) stats: bool,
    /// Dictionary of the frames
    #[arg(short = 'D', long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) dictionary: Option<PathBuf>,
    /// Print everything as one JSON object
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

/// What advice is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Goal {
    Size,
    Balance,
    Speed,
}

/// Advise on codecs and types for the columns
///
/// Measures chains of codecs on a sample of a table or of files (CSV, TSV, JSON lines, Parquet, Arrow): bytes, and the speed
/// of decoding. Every chain that is named was decoded and compared.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  tambour advise flights
  tambour advise hits.csv --goal size --server 24.8
  tambour advise flights --alter > alter.sql
  tambour advise hits.parquet --out advice")]
pub(crate) struct AdviseArguments {
    /// A table, or files that would become one
    #[arg(value_name = "TABLE|FILE", required = true, value_hint = ValueHint::AnyPath)]
    pub(crate) paths: Vec<PathBuf>,
    /// What counts: size, balance, speed
    #[arg(long, value_name = "GOAL", default_value = "balance", hide_possible_values = true)]
    pub(crate) goal: Goal,
    /// ClickHouse version that has to read the columns [default: 26.9]
    #[arg(long, value_name = "VERSION")]
    pub(crate) server: Option<Version>,
    /// Recommend only codecs that ClickHouse can read
    #[arg(long, value_name = "yes|no", default_value = "yes", action = clap::ArgAction::Set)]
    #[arg(value_parser = portable, hide_possible_values = true)]
    pub(crate) portable: bool,
    /// Measure every chain on all of the sample; takes much longer, and finds little more
    #[arg(long)]
    pub(crate) exhaustive: bool,
    /// Print ALTER TABLE statements
    #[arg(long, help_heading = "Output")]
    pub(crate) alter: bool,
    /// Also write DIR/report.html
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, help_heading = "Output")]
    pub(crate) out: Option<PathBuf>,
    /// Print everything as one JSON object
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    /// Format of the files [default: by name and content]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<FileFormat>,
    /// Threads [default: all processors]
    #[arg(short = 'T', long, value_name = "N", value_parser = thread_count)]
    pub(crate) threads: Option<usize>,
    /// Let workers measure the columns of a table.
    #[cfg(feature = "cluster")]
    #[command(flatten)]
    pub(crate) cluster: super::ErrandArguments,
}

/// Print the commands that attach a table to ClickHouse
///
/// A shell script: CREATE TABLE, copies of the parts, ALTER TABLE ... ATTACH PART. Nothing is run.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  tambour attach-script flights | sh
  tambour attach-script flights --host ch1 --host ch2
  tambour attach-script flights --sql")]
pub(crate) struct AttachScriptArguments {
    /// Directory of the table
    #[arg(value_name = "TABLE", value_hint = ValueHint::DirPath)]
    pub(crate) table: PathBuf,
    /// Database on the server
    #[arg(long, default_value = "default")]
    pub(crate) database: String,
    /// Name of the table on the server [default: as here]
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// Directory of the server's data
    #[arg(long, value_name = "DIRECTORY", default_value = "/var/lib/clickhouse")]
    pub(crate) data: PathBuf,
    /// Spread the parts over these hosts, by size; copies go over ssh. May be repeated
    #[arg(long = "host", value_name = "HOST", conflicts_with = "from")]
    pub(crate) hosts: Vec<String>,
    /// Only the SQL statements, no copy commands
    #[arg(long)]
    pub(crate) sql: bool,
    /// ATTACH TABLE ... FROM in place of ATTACH PART: one statement takes all parts from user_files
    #[arg(long)]
    pub(crate) from: bool,
}
