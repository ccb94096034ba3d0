//! What may be written on the command line of `tambour-bench`: every benchmark and flag with its help. Data only.

use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use std::path::PathBuf;
use tambour_report::quantity::ByteSize;

/// Measure what this machine does
///
/// Figures are medians of processor time; contenders take turns in one process, and every output is checked.
#[derive(Debug, Parser)]
#[command(
    name = "tambour-bench",
    // People call it as a command of the other program, which runs this one.
    bin_name = "tambour bench",
    version,
    max_term_width = 80,
    propagate_version = true
)]
#[command(after_help = "\
Examples:
  tambour bench decode
  tambour bench decode --data columns/ --rounds 20 --out results --frontier")]
pub(crate) struct Cli {
    /// What to measure
    #[command(subcommand)]
    pub(crate) benchmark: Benchmark,
    /// Flags of every benchmark.
    #[command(flatten)]
    pub(crate) global: Global,
}

/// Flags of every benchmark; those that `tambour` has for every command.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct Global {
    /// Colours; `auto` means on a terminal, unless NO_COLOR is set
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        hide_possible_values = true
    )]
    #[arg(help_heading = "Output")]
    pub(crate) color: When,
    /// Progress on standard error: auto, always, never, or json (one object per line and second)
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        hide_possible_values = true
    )]
    #[arg(help_heading = "Output")]
    pub(crate) progress: ProgressWhen,
    /// Say more
    #[arg(short, long, global = true, help_heading = "Output", conflicts_with = "quiet")]
    pub(crate) verbose: bool,
    /// Say nothing but errors
    #[arg(short, long, global = true, help_heading = "Output")]
    pub(crate) quiet: bool,
}

/// When something is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum When {
    Auto,
    Always,
    Never,
}

/// When and how progress is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProgressWhen {
    Auto,
    Always,
    Never,
    Json,
}

/// Where results go.
#[derive(Args, Clone, Debug)]
pub(crate) struct Output {
    /// Write CSV files and report.html into this directory
    #[arg(long, value_name = "DIR", help_heading = "Output", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,
    /// Print the result as one JSON object
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

/// The benchmarks.
#[derive(Debug, Subcommand)]
pub(crate) enum Benchmark {
    Decode(DecodeArguments),
    Codecs(CodecsArguments),
    Columns(ColumnsArguments),
    /// Measure encoding and decoding of integers
    ///
    /// The ticket's histograms, document ids and others, as LEB128, StreamVByte and packed blocks, by every variant of the
    /// kernels and by other crates: bits per value and values per second.
    Integers(KernelArguments),
    /// Measure hashing of keys and whole columns
    ///
    /// Keys of 4, 8 and 16 bytes, strings and long inputs: functions called per key, inlined, and columns by every variant,
    /// against C xxHash and other crates.
    Hashes(KernelArguments),
    Messages(MessagesArguments),
    Pages(PagesArguments),
    Records(RecordsArguments),
    Search(SearchArguments),
}

impl Benchmark {
    /// Where its results go.
    pub(crate) fn output(&self) -> &Output {
        match self {
            Self::Decode(arguments) => &arguments.output,
            Self::Codecs(arguments) => &arguments.output,
            Self::Columns(arguments) => &arguments.output,
            Self::Integers(arguments) | Self::Hashes(arguments) => &arguments.output,
            Self::Messages(arguments) => &arguments.output,
            Self::Pages(arguments) => &arguments.output,
            Self::Records(arguments) => &arguments.output,
            Self::Search(arguments) => &arguments.output,
        }
    }
}

// How the loops over integers and keys are measured; the help is that of the variants.
#[derive(Args, Debug)]
pub(crate) struct KernelArguments {
    /// Turns of every contender
    #[arg(long, value_name = "N", default_value_t = 15)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) rounds: u16,
    /// Values or keys of a column [default: 65536 values, 4096 keys]
    #[arg(long, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u32).range(128..=16_777_216))]
    pub(crate) values: Option<u32>,
    /// Where results go.
    #[command(flatten)]
    pub(crate) output: Output,
}

/// Measure every codec and chain on columns of each type
///
/// Each codec that suits a type and each chain that the choice knows, on generated columns and on those of your data: ratio,
/// speed of encoding, and of decoding by every variant of the decoders; every output is compared with its source. At the end
/// the nanoseconds per byte of each codec alone, beside the prices that the choice reckons with.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  tambour bench codecs
  tambour bench codecs --data flights --data birds.csv --rounds 15 --out results")]
pub(crate) struct CodecsArguments {
    /// Tables, parts or files whose columns take part, beside the generated ones
    #[arg(long, value_name = "PATH", num_args = 1.., value_hint = ValueHint::AnyPath)]
    pub(crate) data: Vec<PathBuf>,
    /// Bytes of a column; longer ones are cut
    #[arg(long, value_name = "SIZE", default_value = "1MiB")]
    pub(crate) size: ByteSize,
    /// Turns of every contender
    #[arg(long, value_name = "N", default_value_t = 5)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) rounds: u16,
    /// Where results go.
    #[command(flatten)]
    pub(crate) output: Output,
}

/// Measure what a scan of each column costs
///
/// Each column with its present codec, with the advisor's best chains for size, speed and balance, and with plain LZ4 and
/// ZSTD(1): bytes, and speed of decoding on one thread. Every output is compared with its source.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  tambour bench columns --data flights
  tambour bench columns --data flights/all_1_1_0 --data birds.csv --out results")]
pub(crate) struct ColumnsArguments {
    /// Tables, parts or files [default: the files in ./data]
    #[arg(long, value_name = "PATH", num_args = 1.., value_hint = ValueHint::AnyPath)]
    pub(crate) data: Vec<PathBuf>,
    /// Read the tables whole instead, cold and warm: through the page cache, past it, and as memory
    #[arg(long, requires = "data")]
    pub(crate) io: bool,
    /// Turns of every chain
    #[arg(long, value_name = "N", default_value_t = 7)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) rounds: u16,
    /// Where results go.
    #[command(flatten)]
    pub(crate) output: Output,
}

/// Measure compression of messages on many connections
///
/// Messages of a protocol on ten thousand connections: zstd streams, zstd per message, and tambour's messages with and
/// without pins. Ratio, messages per second, memory. The streams take about 3 GB.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  tambour bench messages
  tambour bench messages --data calls.jsonl --connections 1000 --out results")]
pub(crate) struct MessagesArguments {
    /// Files of messages, one per line; the first fifth trains the dictionaries [default: generated calls]
    #[arg(long, value_name = "PATH", num_args = 1.., value_hint = ValueHint::AnyPath)]
    pub(crate) data: Vec<PathBuf>,
    /// Connections
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) connections: u32,
    /// Passes of every contender
    #[arg(long, value_name = "N", default_value_t = 3)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) rounds: u16,
    /// Where results go.
    #[command(flatten)]
    pub(crate) output: Output,
}

/// Measure stores of pages, packed and with holes
///
/// Generated rows of an access log and of metrics, laid out in pages as a B-tree has them: final size, time and bytes of the
/// load, time of a scan, time and bytes of random durable updates, for every page size, codec and layout.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  tambour bench pages --dir /dev/shm --out results
  cargo xtask mariadb /tmp/mariadb
  cargo run --release -p tambour-bench --features mariadb -- pages --mariadb /tmp/mariadb")]
pub(crate) struct PagesArguments {
    /// Directory for the stores, best on a file system in memory [default: /dev/shm, or the temporary directory]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) dir: Option<PathBuf>,
    /// Bytes of pages of each kind of rows
    #[arg(long, value_name = "SIZE", default_value = "64MiB")]
    pub(crate) size: ByteSize,
    /// Random updates
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    pub(crate) updates: u64,
    /// Also measure a MariaDB server, whose packages are unpacked there (builds with the feature `mariadb`)
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) mariadb: Option<PathBuf>,
    /// Also measure every promise of the page store
    #[arg(long)]
    pub(crate) promises: bool,
    /// Where results go.
    #[command(flatten)]
    pub(crate) output: Output,
}

/// Measure how fast LZ4 blocks are decoded
///
/// Files are cut into blocks of 64 KiB that C lz4 compresses; every variant of the decoder, the selector and C lz4 itself
/// decode them. Prints speeds per file, means, and one line per machine: speeds in GB/s of C lz4 (ref), of the selector
/// (adapt) and of the best variant (max), and their ratios.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  tambour bench decode
  tambour bench decode --data columns/ --rounds 20 --out results --frontier")]
pub(crate) struct DecodeArguments {
    /// Files, or directories of files [default: columns of TPC-H, the files in ./data, columns of three compressibilities]
    #[arg(long, value_name = "PATH", num_args = 1.., value_hint = ValueHint::AnyPath)]
    pub(crate) data: Vec<PathBuf>,
    /// Passes of every contender over every file
    #[arg(long, value_name = "N", default_value_t = 10)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) rounds: u16,
    /// Also measure other formats and compressors: speed against ratio
    #[arg(long)]
    pub(crate) frontier: bool,
    /// Where results go.
    #[command(flatten)]
    pub(crate) output: Output,
}

/// Measure random reads of small records
///
/// The record store against libzstd with a frame per record, with a dictionary (the reference) and without; every record is
/// compared. Reads in random order, one by one and many at once.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  tambour bench records
  tambour bench records --data events.jsonl --bytes 220MB --out results")]
pub(crate) struct RecordsArguments {
    /// Files of records, one per line, beside the generated log
    #[arg(long, value_name = "FILE", num_args = 1.., value_hint = ValueHint::FilePath)]
    pub(crate) data: Vec<PathBuf>,
    /// Raw bytes of the generated log
    #[arg(long, value_name = "SIZE", default_value = "12MB")]
    pub(crate) bytes: ByteSize,
    /// Passes of every contender
    #[arg(long, value_name = "N", default_value_t = 5)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) rounds: u16,
    /// Reads of a pass
    #[arg(long, value_name = "N", default_value_t = 200_000)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) reads: u32,
    /// Where results go.
    #[command(flatten)]
    pub(crate) output: Output,
}

/// Measure the advisor's search against an exhaustive one
///
/// What `tambour advise` does, and the same with every chain of the list on every block: processor time of both, and what the
/// recommendations of the short search cost by the figures of the exhaustive one.
#[derive(Args, Debug)]
#[command(after_help = "\
Example:
  tambour bench search --data flights.csv --data birds")]
pub(crate) struct SearchArguments {
    /// Tables, parts or files [default: the files in ./data]
    #[arg(long, value_name = "PATH", num_args = 1.., value_hint = ValueHint::AnyPath)]
    pub(crate) data: Vec<PathBuf>,
    /// Where results go.
    #[command(flatten)]
    pub(crate) output: Output,
}
