//! `tambour bench`: what can be measured, and how.

use crate::argument::ByteSize;
use clap::{Args, Subcommand, ValueHint};
use std::path::PathBuf;

/// Measure what this machine does
///
/// Figures are medians of processor time; contenders take turns in one process, and every output is checked.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  tambour bench decode
  tambour bench decode --data columns/ --rounds 20 --out results --frontier")]
pub(crate) struct BenchArguments {
    /// What to measure
    #[command(subcommand)]
    pub(crate) benchmark: Benchmark,
}

/// The benchmarks.
#[derive(Debug, Subcommand)]
pub(crate) enum Benchmark {
    Decode(BenchDecodeArguments),
    Codecs(BenchCodecsArguments),
    Columns(BenchColumnsArguments),
    /// Measure encoding and decoding of integers
    ///
    /// The ticket's histograms, document ids and others, as LEB128, StreamVByte and packed blocks, by every variant of the
    /// kernels and by other crates: bits per value and values per second.
    Integers(BenchKernelArguments),
    /// Measure hashing of keys and whole columns
    ///
    /// Keys of 4, 8 and 16 bytes, strings and long inputs: functions called per key, inlined, and columns by every variant,
    /// against C xxHash and other crates.
    Hashes(BenchKernelArguments),
    Messages(BenchMessagesArguments),
    Pages(BenchPagesArguments),
    Records(BenchRecordsArguments),
}

// How the loops over integers and keys are measured; the help is that of the variants.
#[derive(Args, Debug)]
pub(crate) struct BenchKernelArguments {
    /// Turns of every contender
    #[arg(long, value_name = "N", default_value_t = 15)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) rounds: u16,
    /// Values or keys of a column [default: 65536 values, 4096 keys]
    #[arg(long, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u32).range(128..=16_777_216))]
    pub(crate) values: Option<u32>,
    /// Write CSV files and report.html into this directory
    #[arg(long, value_name = "DIR", help_heading = "Output", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,
    /// Print the result as one JSON object
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
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
pub(crate) struct BenchCodecsArguments {
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
    /// Write CSV and report.html into this directory
    #[arg(long, value_name = "DIR", help_heading = "Output", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,
    /// Print the result as one JSON object
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
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
pub(crate) struct BenchColumnsArguments {
    /// Tables, parts or files [default: the files in ./data]
    #[arg(long, value_name = "PATH", num_args = 1.., value_hint = ValueHint::AnyPath)]
    pub(crate) data: Vec<PathBuf>,
    /// Turns of every chain
    #[arg(long, value_name = "N", default_value_t = 7)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) rounds: u16,
    /// Write CSV and report.html into this directory
    #[arg(long, value_name = "DIR", help_heading = "Output", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,
    /// Print the result as one JSON object
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
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
pub(crate) struct BenchMessagesArguments {
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
    /// Write CSV files and report.html into this directory
    #[arg(long, value_name = "DIR", help_heading = "Output", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,
    /// Print the result as one JSON object
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
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
  cargo run --release -p tambour-cli --features tambour-bench/mariadb -- bench pages --mariadb /tmp/mariadb")]
pub(crate) struct BenchPagesArguments {
    /// Directory for the stores, best on a file system in memory [default: /dev/shm, or the temporary directory]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) dir: Option<PathBuf>,
    /// Bytes of pages of each kind of rows
    #[arg(long, value_name = "SIZE", default_value = "64MiB")]
    pub(crate) size: ByteSize,
    /// Random updates
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    pub(crate) updates: u64,
    /// Also measure a MariaDB server, whose packages are unpacked there (builds with the feature `tambour-bench/mariadb`)
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) mariadb: Option<PathBuf>,
    /// Also measure every promise of the page store
    #[arg(long)]
    pub(crate) promises: bool,
    /// Write CSV and report.html into this directory
    #[arg(long, value_name = "DIR", help_heading = "Output", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,
    /// Print the result as one JSON object
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
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
pub(crate) struct BenchDecodeArguments {
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
    /// Write CSV files and report.html into this directory
    #[arg(long, value_name = "DIR", help_heading = "Output", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,
    /// Print the result as one JSON object
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
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
pub(crate) struct BenchRecordsArguments {
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
    /// Write report.html into this directory
    #[arg(long, value_name = "DIR", help_heading = "Output", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,
    /// Print the result as one JSON object
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}
