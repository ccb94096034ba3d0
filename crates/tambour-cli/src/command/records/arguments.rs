//! What may be written after `tambour records`.

use crate::argument::ByteSize;
use clap::{Args, Subcommand, ValueEnum, ValueHint};
use std::ffi::OsString;
use std::path::PathBuf;

/// Keep small records: an append-only log, compressed record by record, read by id
///
/// A record store is a directory. Each of its categories is a log with its own ids, counted from 0, and its own dictionaries.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  tambour records create events
  tambour records append events app.jsonl --time timestamp
  tambour records seal events
  tambour records get events 17 4711
  tambour records train app.jsonl --report report.html")]
pub(crate) struct RecordsArguments {
    /// What to do
    #[command(subcommand)]
    pub(crate) action: RecordsAction,
}

/// What can be done with record stores.
#[derive(Debug, Subcommand)]
pub(crate) enum RecordsAction {
    /// Make an empty store
    Create(CreateArguments),
    /// Append records from files; they are durable when the command ends
    Append(AppendArguments),
    /// Print records by their ids or keys
    Get(GetArguments),
    /// Print records in order: a range of ids, or of times
    Scan(ScanArguments),
    /// Delete records by their keys
    Delete(DeleteArguments),
    /// Reclaim the space of records that were updated or deleted
    Compact(CompactArguments),
    /// Print the last records, and with -f those that follow
    Tail(TailArguments),
    /// Write a dictionary to a file that `zstd -D` takes, or use one of a file
    Dictionary(DictionaryArguments),
    /// Compress full segments for good: train, encode again, index
    Seal(SealArguments),
    /// Train a dictionary for a store, or measure whether one pays off
    Train(TrainArguments),
    /// Show what a store contains
    Stat(StatArguments),
    /// Print the records that match a query, as `error AND (disk OR "file system") NOT test conn*`
    Search(SearchArguments),
    /// Read and check everything
    Verify(VerifyRecordsArguments),
    /// Write all records to a file, as `append` reads them
    Export(ExportRecordsArguments),
    /// Copy what is intact in a damaged store into a new one
    Salvage(SalvageRecordsArguments),
    /// Drop the oldest segments
    Retain(RetainArguments),
}

/// How records stand in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RecordFormat {
    /// One per line
    Lines,
    /// One JSON value per line; empty lines are left out, other lines that are not JSON are an error
    Jsonl,
    /// Each preceded by its length, four bytes little-endian
    Length,
    /// Each followed by a NUL
    Nul,
}

/// Indexes of segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RecordIndex {
    /// All words of the records
    Words,
}

/// Codecs of segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RecordCodec {
    /// Fastest to read
    Lz4,
    /// Smallest
    Zstd,
    /// As they are
    Raw,
}

/// Makes a store.
#[derive(Args, Debug)]
pub(crate) struct CreateArguments {
    /// Directory of the store
    #[arg(value_name = "STORE", value_hint = ValueHint::DirPath)]
    pub(crate) store: PathBuf,
    /// Raw bytes of a segment, 1 KiB to 256 MiB
    #[arg(long, value_name = "SIZE", default_value = "64MiB")]
    pub(crate) segment: ByteSize,
    /// Codec of sealed segments
    #[arg(long, value_name = "CODEC", default_value = "lz4")]
    pub(crate) codec: RecordCodec,
}

/// Store and category.
#[derive(Args, Clone, Debug)]
pub(crate) struct LogArguments {
    /// Directory of the store
    #[arg(value_name = "STORE", value_hint = ValueHint::DirPath)]
    pub(crate) store: PathBuf,
    /// Category
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub(crate) category: String,
}

/// Appends.
#[derive(Args, Clone, Debug)]
pub(crate) struct AppendArguments {
    /// Where to
    #[command(flatten)]
    pub(crate) log: LogArguments,
    /// Files to read; `-` is standard input [default: standard input]
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<PathBuf>,
    /// How records stand in the files [default: jsonl for .jsonl, .ndjson and .json, else lines]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<RecordFormat>,
    /// Field of JSON records that is their time: RFC 3339, or a number of --time-unit
    #[arg(long, value_name = "FIELD")]
    pub(crate) time: Option<String>,
    /// Unit of times that are numbers
    #[arg(long, value_name = "UNIT", default_value = "ms")]
    pub(crate) time_unit: TimeUnit,
    /// Field of JSON records that is their key, a text or a whole number: a later record takes the place of one with the same key
    #[arg(long, value_name = "FIELD")]
    pub(crate) key: Option<String>,
    /// Give segments that are sealed an index, for `records search`
    #[arg(long, value_name = "WHAT")]
    pub(crate) index: Option<RecordIndex>,
    /// Records per commit
    #[arg(long, value_name = "N", default_value_t = 1000)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) batch: u32,
    /// Milliseconds after which records that came through a pipe are durable and seen by readers
    #[arg(long, value_name = "MS", default_value_t = 200)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=3_600_000))]
    pub(crate) flush: u32,
    /// Leave out the first records of the first file: those that an earlier call says are in
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) skip: u64,
    /// Seal segments as they get full
    #[arg(long)]
    pub(crate) seal: bool,
    /// Print a JSON object with the ids of each commit, on a line of its own, once it is durable
    #[arg(long, help_heading = "Output", conflicts_with = "json")]
    pub(crate) ack: bool,
    /// Print the result as one JSON object
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

/// Units of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TimeUnit {
    S,
    Ms,
    Us,
}

/// Reads by id.
#[derive(Args, Debug)]
pub(crate) struct GetArguments {
    /// Where from
    #[command(flatten)]
    pub(crate) log: LogArguments,
    /// Ids
    #[arg(value_name = "ID", required_unless_present = "key", conflicts_with = "key")]
    pub(crate) ids: Vec<u64>,
    /// Key of a record; may be repeated
    #[arg(long, value_name = "KEY")]
    pub(crate) key: Vec<OsString>,
    /// All records of the key that are there, oldest first, and not only the last
    #[arg(long, requires = "key")]
    pub(crate) all: bool,
    /// How to write them
    #[arg(long, value_name = "FORMAT", default_value = "lines")]
    pub(crate) format: RecordFormat,
}

/// Reads in order.
#[derive(Args, Debug)]
pub(crate) struct ScanArguments {
    /// Where from
    #[command(flatten)]
    pub(crate) log: LogArguments,
    /// First id
    #[arg(long, value_name = "ID", default_value_t = 0)]
    pub(crate) from: u64,
    /// The id after the last
    #[arg(long, value_name = "ID")]
    pub(crate) to: Option<u64>,
    /// Also records that were updated or deleted later
    #[arg(long, conflicts_with_all = ["since", "until"])]
    pub(crate) all: bool,
    /// Only records of this time or later: RFC 3339, or microseconds since 1970
    #[arg(long, value_name = "TIME", conflicts_with_all = ["from", "to"])]
    pub(crate) since: Option<String>,
    /// Only records before this time
    #[arg(long, value_name = "TIME", conflicts_with_all = ["from", "to"])]
    pub(crate) until: Option<String>,
    /// Most records
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u64>,
    /// How to write them
    #[arg(long, value_name = "FORMAT", default_value = "lines")]
    pub(crate) format: RecordFormat,
}

/// Deletes.
#[derive(Args, Debug)]
pub(crate) struct DeleteArguments {
    /// Where
    #[command(flatten)]
    pub(crate) log: LogArguments,
    /// Key of a record; may be repeated
    #[arg(long, value_name = "KEY", required = true)]
    pub(crate) key: Vec<OsString>,
}

/// Compacts.
#[derive(Args, Debug)]
pub(crate) struct CompactArguments {
    /// What
    #[command(flatten)]
    pub(crate) log: LogArguments,
    /// Leave segments alone of which less than this many percent can be reclaimed
    #[arg(long, value_name = "PERCENT", default_value_t = 10)]
    #[arg(value_parser = clap::value_parser!(u8).range(0..=100))]
    pub(crate) least: u8,
    /// Print the result as one JSON object
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

/// Follows.
#[derive(Args, Debug)]
pub(crate) struct TailArguments {
    /// Where from
    #[command(flatten)]
    pub(crate) log: LogArguments,
    /// Most records to begin with
    #[arg(short = 'n', long, value_name = "N", default_value_t = 10)]
    pub(crate) lines: u64,
    /// Go on with records as they are appended
    #[arg(short, long)]
    pub(crate) follow: bool,
    /// Milliseconds between looks for more
    #[arg(long, value_name = "MS", default_value_t = 100)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=3_600_000))]
    pub(crate) interval: u32,
    /// How to write them
    #[arg(long, value_name = "FORMAT", default_value = "lines")]
    pub(crate) format: RecordFormat,
}

/// Dictionaries in files.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  tambour records dictionary export events events.dict
  zstd -D events.dict one.json
  tambour records dictionary import events other.dict")]
pub(crate) struct DictionaryArguments {
    /// What to do
    #[command(subcommand)]
    pub(crate) action: DictionaryAction,
}

/// What can be done with dictionaries.
#[derive(Debug, Subcommand)]
pub(crate) enum DictionaryAction {
    /// Write the latest dictionary, or that of the segment which holds --id, to a file
    Export {
        /// Where from
        #[command(flatten)]
        log: LogArguments,
        /// File to write
        #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
        file: PathBuf,
        /// A record of the segment whose dictionary is wanted
        #[arg(long, value_name = "ID")]
        id: Option<u64>,
        /// Replace the file if it exists
        #[arg(long)]
        force: bool,
    },
    /// Begin the next segment with the dictionary of a file
    Import {
        /// Where to
        #[command(flatten)]
        log: LogArguments,
        /// A dictionary as `zstd --train` writes it, or any bytes
        #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
        file: PathBuf,
    },
}

/// Seals.
#[derive(Args, Debug)]
pub(crate) struct SealArguments {
    /// What
    #[command(flatten)]
    pub(crate) log: LogArguments,
    /// Codec [default: that of the store]
    #[arg(long, value_name = "CODEC")]
    pub(crate) codec: Option<RecordCodec>,
    /// Level of the codec: 1 to 9 for lz4, up to 22 for zstd
    #[arg(long, value_name = "N")]
    pub(crate) level: Option<i32>,
    /// Longest dictionary
    #[arg(long, value_name = "SIZE", default_value = "64KiB")]
    pub(crate) dictionary: ByteSize,
    /// Records of a group, 1 to 16 [default: found by trial, see --floor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=16))]
    pub(crate) group: Option<u8>,
    /// Reads per second and thread that groups must leave
    #[arg(long, value_name = "N", default_value_t = 5_000_000, conflicts_with = "group")]
    pub(crate) floor: u64,
    /// Only segments that are full, not the one that is open
    #[arg(long)]
    pub(crate) full_only: bool,
    /// Print the result as one JSON object
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

/// Trains.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  tambour records train app.jsonl --report report.html
  tambour records train app.jsonl --into events")]
pub(crate) struct TrainArguments {
    /// Records to learn from
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// How records stand in the file [default: by its name]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<RecordFormat>,
    /// Measure blocks, dictionaries and levels: a table, a recommendation, and this page with both plots
    #[arg(long, value_name = "PAGE", num_args = 0..=1, default_missing_value = "report.html")]
    pub(crate) report: Option<PathBuf>,
    /// Store whose next segments use the dictionary
    #[arg(long, value_name = "STORE", value_hint = ValueHint::DirPath)]
    pub(crate) into: Option<PathBuf>,
    /// Its category
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub(crate) category: String,
    /// Longest dictionary
    #[arg(long, value_name = "SIZE", default_value = "64KiB")]
    pub(crate) dictionary: ByteSize,
    /// Print the result as one JSON object
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

/// Names a store.
#[derive(Args, Debug)]
pub(crate) struct StatArguments {
    /// Directory of the store
    #[arg(value_name = "STORE", value_hint = ValueHint::DirPath)]
    pub(crate) store: PathBuf,
    /// Print the result as one JSON object
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

/// Searches.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  tambour records search events 'error AND disk NOT test' --limit 100
  tambour records search events '\"connection reset\" OR timeout*' --count")]
pub(crate) struct SearchArguments {
    /// Where
    #[command(flatten)]
    pub(crate) log: LogArguments,
    /// Words, "phrases in quotes", beginnings* of words, with AND, OR, NOT and parentheses
    #[arg(value_name = "QUERY")]
    pub(crate) query: String,
    /// Most hits
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u64>,
    /// Print how many records match, and not the records
    #[arg(long, conflicts_with = "limit")]
    pub(crate) count: bool,
    /// How to write the records
    #[arg(long, value_name = "FORMAT", default_value = "lines")]
    pub(crate) format: RecordFormat,
    /// Print the hits with their ids, and how the search went, as one JSON object
    #[arg(long, help_heading = "Output", conflicts_with = "format")]
    pub(crate) json: bool,
}

/// Verifies.
#[derive(Args, Debug)]
pub(crate) struct VerifyRecordsArguments {
    /// What
    #[command(flatten)]
    pub(crate) what: StatArguments,
    /// First make indexes of words again that are lost or damaged
    #[arg(long)]
    pub(crate) repair: bool,
}

/// Exports.
#[derive(Args, Debug)]
pub(crate) struct ExportRecordsArguments {
    /// Where from
    #[command(flatten)]
    pub(crate) log: LogArguments,
    /// File to write; `-` is standard output
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// How to write the records
    #[arg(long, value_name = "FORMAT", default_value = "lines")]
    pub(crate) format: RecordFormat,
    /// Replace the file if it exists
    #[arg(long)]
    pub(crate) force: bool,
}

/// Salvages.
#[derive(Args, Debug)]
pub(crate) struct SalvageRecordsArguments {
    /// The damaged store
    #[arg(value_name = "STORE", value_hint = ValueHint::DirPath)]
    pub(crate) store: PathBuf,
    /// The store to make
    #[arg(long, value_name = "STORE", value_hint = ValueHint::DirPath)]
    pub(crate) to: PathBuf,
    /// Print the result as one JSON object
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

/// Drops.
#[derive(Args, Debug)]
pub(crate) struct RetainArguments {
    /// What
    #[command(flatten)]
    pub(crate) log: LogArguments,
    /// Drop segments whose latest record is older: RFC 3339, or microseconds since 1970
    #[arg(long, value_name = "TIME", required_unless_present = "bytes")]
    pub(crate) before: Option<String>,
    /// Drop the oldest segments until the files take no more than this
    #[arg(long, value_name = "SIZE")]
    pub(crate) bytes: Option<ByteSize>,
    /// Print the result as one JSON object
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

impl RecordsAction {
    /// Whether the result is one JSON object.
    pub(crate) fn json(&self) -> bool {
        match self {
            Self::Append(arguments) => arguments.json,
            Self::Seal(arguments) => arguments.json,
            Self::Compact(arguments) => arguments.json,
            Self::Train(arguments) => arguments.json,
            Self::Stat(arguments) => arguments.json,
            Self::Verify(arguments) => arguments.what.json,
            Self::Search(arguments) => arguments.json,
            Self::Salvage(arguments) => arguments.json,
            Self::Retain(arguments) => arguments.json,
            Self::Create(_) | Self::Get(_) | Self::Scan(_) | Self::Export(_) => false,
            Self::Tail(_) | Self::Dictionary(_) | Self::Delete(_) => false,
        }
    }
}
