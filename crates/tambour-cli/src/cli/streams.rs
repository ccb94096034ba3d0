//! Compressed streams: `compress` and `decompress`.

use crate::argument::{ByteSize, codec, thread_count};
use clap::{Args, ValueEnum, ValueHint};
use std::path::PathBuf;
use tambour::CodecSpec;

/// Formats of compressed streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum StreamFormat {
    /// ClickHouse's blocks, as clickhouse-compressor has them
    Block,
    /// LZ4 frames, as lz4 has them
    Lz4,
    /// zstd frames, as zstd has them
    Zstd,
}

/// Compress a file or a stream
///
/// Writes ClickHouse's blocks, LZ4 frames or zstd frames. Blocks are compressed on all processors; the result does not
/// depend on their number. The output appears under its name when it is complete.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  tambour compress hits.tsv --format lz4
  tambour compress hits.tsv -o hits.bin --codec 'ZSTD(3)'
  pg_dump shop | tambour compress --format zstd --level 9 > shop.zst")]
pub(crate) struct CompressArguments {
    /// File to read; `-` is standard input [default: standard input]
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: Option<PathBuf>,
    /// What is written: where, and what becomes of FILE
    #[command(flatten)]
    pub(crate) place: PlaceArguments,
    /// Format: block, lz4, zstd
    #[arg(long, value_name = "FORMAT", default_value = "block", hide_possible_values = true)]
    #[arg(help_heading = "Writing")]
    pub(crate) format: StreamFormat,
    /// Codec of the format block [default: LZ4]
    #[arg(long, value_name = "CODEC", value_parser = codec, help_heading = "Writing")]
    pub(crate) codec: Option<CodecSpec>,
    /// Level of the formats lz4 and zstd, as their programs count; below 0 is faster [default: 1 for lz4, 3 for zstd]
    #[arg(long, value_name = "N", allow_negative_numbers = true, help_heading = "Writing")]
    pub(crate) level: Option<i32>,
    /// Content per block: any size for block, 64KiB, 256KiB, 1MiB or 4MiB for lz4; for zstd, content per frame [default:
    /// 1MiB for block, 4MiB for lz4, one frame for zstd]
    #[arg(long, value_name = "SIZE", help_heading = "Writing")]
    pub(crate) block_size: Option<ByteSize>,
    /// Let blocks of the format lz4 refer to earlier ones: smaller, but decompressed by one thread
    #[arg(long, help_heading = "Writing")]
    pub(crate) linked: bool,
    /// Add a checksum to every block of the format lz4
    #[arg(long, help_heading = "Writing")]
    pub(crate) block_checksums: bool,
    /// Dictionary of the formats lz4 and zstd; decompressing needs it, too
    #[arg(short = 'D', long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    #[arg(help_heading = "Writing")]
    pub(crate) dictionary: Option<PathBuf>,
    /// Threads [default: all processors]
    #[arg(short = 'T', long, value_name = "N", value_parser = thread_count)]
    pub(crate) threads: Option<usize>,
    /// Memory limit for blocks in progress
    #[arg(long, value_name = "SIZE", default_value = "1GiB")]
    pub(crate) memory: ByteSize,
}

/// Decompress a file or a stream
///
/// Reads ClickHouse's blocks, LZ4 frames (legacy ones too) and zstd frames. Every checksum is verified; damage, a cut or
/// trailing bytes are an error with exit code 3, and no file appears then.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  tambour decompress hits.tsv.lz4
  tambour decompress backup.zst --verify-first -c | restore
  curl -s https://example.org/hits.tsv.lz4 | tambour decompress | head")]
pub(crate) struct DecompressArguments {
    /// File to read; `-` is standard input [default: standard input]
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: Option<PathBuf>,
    /// What is written: where, and what becomes of FILE
    #[command(flatten)]
    pub(crate) place: PlaceArguments,
    /// Format: block, lz4, zstd [default: by the name's end .lz4 or .zst, then by content]
    #[arg(long, value_name = "FORMAT", hide_possible_values = true)]
    pub(crate) format: Option<StreamFormat>,
    /// Check the whole input before the first byte is written; it is read twice, which a pipe does not allow
    #[arg(long)]
    pub(crate) verify_first: bool,
    /// Dictionary that the frames were compressed with
    #[arg(short = 'D', long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) dictionary: Option<PathBuf>,
    /// Threads [default: all processors]
    #[arg(short = 'T', long, value_name = "N", value_parser = thread_count)]
    pub(crate) threads: Option<usize>,
    /// Memory limit for blocks in progress
    #[arg(long, value_name = "SIZE", default_value = "1GiB")]
    pub(crate) memory: ByteSize,
    /// Take the same path through the decoders every time, instead of the fastest by the clock
    #[arg(long)]
    pub(crate) deterministic: bool,
}

/// Where compressed and decompressed bytes go.
#[derive(Args, Clone, Debug)]
pub(crate) struct PlaceArguments {
    /// File to write; `-` is standard output [default: FILE with .lz4, .zst or .bin added or taken away; standard output if
    /// standard input is read]
    #[arg(short, long, value_name = "OUT", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
    /// Write to standard output
    #[arg(short = 'c', long, conflicts_with = "output")]
    pub(crate) stdout: bool,
    /// Replace the output if it exists
    #[arg(short, long)]
    pub(crate) force: bool,
    /// Keep FILE; it is always kept unless --rm is given
    #[arg(short, long, conflicts_with = "rm")]
    pub(crate) keep: bool,
    /// Remove FILE when the output is complete
    #[arg(long)]
    pub(crate) rm: bool,
    /// Print the result as one JSON object (on standard error if the output is standard output)
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}
