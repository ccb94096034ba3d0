//! What may be written on the command line: every command and flag with its help. Data only; `command` acts on it.

mod bench;
mod messages;

pub(crate) use bench::*;
pub(crate) use messages::*;

use crate::argument::{ByteSize, CodecChoice, Delimiter, codec, portable};
use crate::command::records::arguments::RecordsArguments;
use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use std::path::PathBuf;
use tambour::CodecSpec;
use tambour::store::advise::Version;

/// Compressed tables in ClickHouse's own part format: import files, query them with SQL, check and inspect what is on disk.
#[derive(Debug, Parser)]
#[command(
    name = "tambour",
    version,
    max_term_width = 80,
    propagate_version = true,
    after_help = EXIT_CODES,
)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Flags of every command.
    #[command(flatten)]
    pub(crate) global: Global,
}

const EXIT_CODES: &str = "\
Data goes to standard output, everything else to standard error.
Exit codes: 0 ok, 1 error, 2 usage, 3 data corrupt, 4 limit exceeded,
5 unsupported format or codec, 130 interrupted.";

/// Flags of every command.
#[derive(Args, Clone, Debug)]
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

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Import(Box<ImportArguments>),
    Export(ExportArguments),
    Sql(SqlArguments),
    Optimize(OptimizeArguments),
    Salvage(SalvageArguments),
    Recompress(RecompressArguments),
    Verify(VerifyArguments),
    Inspect(InspectArguments),
    Advise(AdviseArguments),
    AttachScript(AttachScriptArguments),
    Compress(CompressArguments),
    Decompress(DecompressArguments),
    Records(RecordsArguments),
    Codecs(CodecsArguments),
    Messages(MessagesArguments),
    Bench(BenchArguments),
    Pages(crate::command::pages::arguments::PagesArguments),
    Completions(CompletionsArguments),
    Man(ManArguments),
}

/// Formats of interchange files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FileFormat {
    Csv,
    Tsv,
    Jsonl,
    Parquet,
    Arrow,
}

/// Formats of query results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ResultFormat {
    Table,
    Vertical,
    Csv,
    Tsv,
    Json,
    Jsonl,
    Markdown,
    Arrow,
    Parquet,
    /// Runs the query and shows nothing
    Null,
}

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

/// Which ClickHouse versions can attach what is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DialectName {
    /// ClickHouse 19.11 and later
    New,
    /// ClickHouse 18.16 and everything later
    Old,
}

/// How strings that may not be UTF-8 are treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum StringsName {
    /// Bytes that are not UTF-8 are an error
    Utf8,
    /// Any bytes
    Binary,
}

/// Import files into a table
///
/// Reads CSV, TSV, JSON lines, Parquet or Arrow files (also compressed: .zst), finds the types, sorts, partitions and writes
/// the parts of a table. The table shows all of the rows or, if anything goes wrong, none of them.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  tambour import flights.arrow --into flights --order-by time
  tambour import logs/*.csv.zst --into logs --order-by host,time \\
      --partition-by 'toYYYYMM(time)' --codec 'ZSTD(3)' --codec 'time=Delta(4),LZ4'
  zcat hits.tsv.gz | tambour import - --format tsv --into hits --create @hits.sql")]
pub(crate) struct ImportArguments {
    /// Files to read; `-` is standard input
    #[arg(value_name = "FILE", required = true, value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<PathBuf>,
    /// Directory of the table
    #[arg(long, value_name = "TABLE", value_hint = ValueHint::DirPath)]
    pub(crate) into: PathBuf,
    /// Add rows to the table if it exists
    #[arg(long, conflicts_with = "force")]
    pub(crate) append: bool,
    /// Replace the rows and the definition of the table if it exists
    #[arg(long)]
    pub(crate) force: bool,
    /// Print the result as one JSON object
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,

    /// Format of the files [default: by name, then by content]
    #[arg(long, value_name = "FORMAT", help_heading = "Reading")]
    pub(crate) format: Option<FileFormat>,
    /// What separates the fields of a CSV file: one character, or `tab`
    #[arg(long, value_name = "CHAR", help_heading = "Reading")]
    pub(crate) delimiter: Option<Delimiter>,
    /// The first line of CSV and TSV files has the names [default: found out]
    #[arg(long, help_heading = "Reading", overrides_with = "no_header")]
    pub(crate) header: bool,
    /// The first line of CSV and TSV files is data already
    #[arg(long, help_heading = "Reading")]
    pub(crate) no_header: bool,
    /// Leave out what the files have and the table of --create or --append does not [default: an error]
    #[arg(long, help_heading = "Reading")]
    pub(crate) skip_unknown: bool,
    /// Keep the types that files declare or texts look like [default: the smallest that hold the same values]
    #[arg(long, conflicts_with = "create", help_heading = "Reading")]
    pub(crate) keep_types: bool,
    /// Longest line or record that is accepted
    #[arg(long, value_name = "SIZE", default_value = "64MiB", help_heading = "Reading")]
    pub(crate) record_max: ByteSize,

    /// Sort by these columns or expressions
    #[arg(long, value_name = "KEY", help_heading = "Table")]
    pub(crate) order_by: Option<String>,
    /// Index only this prefix of the sorting key
    #[arg(long, value_name = "KEY", help_heading = "Table")]
    pub(crate) primary_key: Option<String>,
    /// One part per value of this, e.g. 'toYYYYMM(time)'
    #[arg(long, value_name = "KEY", help_heading = "Table")]
    pub(crate) partition_by: Option<String>,
    /// The table as a ClickHouse CREATE TABLE statement, or @FILE that holds it; nothing is inferred then
    #[arg(long, value_name = "SQL", help_heading = "Table")]
    #[arg(conflicts_with_all = ["order_by", "primary_key", "partition_by"])]
    pub(crate) create: Option<String>,
    /// Codec of all columns or of one: auto, 'auto(size)', 'ZSTD(3)', 'time=Delta(4),LZ4'; may be repeated. `auto`, the
    /// default, chooses each block's chain by its data, for balance, size or speed
    #[arg(long, value_name = "CODEC", help_heading = "Table")]
    pub(crate) codec: Vec<CodecChoice>,
    /// Whether only codecs may be used that ClickHouse reads
    #[arg(long, value_name = "yes|no", default_value = "yes", action = clap::ArgAction::Set)]
    #[arg(value_parser = portable, hide_possible_values = true, help_heading = "Table")]
    pub(crate) portable: bool,

    /// Parts for ClickHouse 19.11 and later (new), or 18.16 and later (old)
    #[arg(long, value_name = "DIALECT", default_value = "new", hide_possible_values = true)]
    #[arg(help_heading = "Writing")]
    pub(crate) dialect: DialectName,
    /// Most rows of a part
    #[arg(long, value_name = "N", help_heading = "Writing")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) rows_per_part: Option<u64>,
    /// Memory for rows that wait to be sorted and written
    #[arg(long, value_name = "SIZE", default_value = "1GiB", help_heading = "Writing")]
    pub(crate) memory: ByteSize,
    /// Threads [default: all processors]
    #[arg(long, value_name = "N", help_heading = "Writing")]
    #[arg(value_parser = thread_count)]
    pub(crate) threads: Option<usize>,
}

/// Export a table to a file
///
/// Writes every row of a table, in the order of its parts, as CSV, TSV, JSON lines, Parquet or Arrow. The file appears
/// when it is complete.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  tambour export flights flights.parquet
  tambour export flights - --format csv | head")]
pub(crate) struct ExportArguments {
    /// Directory of the table
    #[arg(value_name = "TABLE", value_hint = ValueHint::DirPath)]
    pub(crate) table: PathBuf,
    /// File to write; `-` is standard output
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// Format [default: by the file's name]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<FileFormat>,
    /// Only these columns, in this order
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) columns: Vec<String>,
    /// Replace the file if it exists
    #[arg(long)]
    pub(crate) force: bool,
    /// Strings must be UTF-8, or may hold any bytes
    #[arg(long, value_name = "KIND", default_value = "utf8", hide_possible_values = true)]
    pub(crate) strings: StringsName,
    /// Print the result as one JSON object (on standard error if FILE is `-`)
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

/// Query tables with SQL
///
/// The last argument that is not a directory is the query; without a query (and without -c, -f) an interactive shell
/// starts. A table's name is its directory's name; NAME=DIRECTORY gives it another. The tables system.parts,
/// system.columns and system.codecs tell what is on disk.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  tambour sql flights 'SELECT count(), avg(delay) FROM flights'
  tambour sql hits users -c 'SELECT ...' --format parquet > result.parquet
  tambour sql flights")]
pub(crate) struct SqlArguments {
    /// Directories of tables, then the query
    #[arg(value_name = "TABLE... [QUERY]", value_hint = ValueHint::DirPath)]
    pub(crate) arguments: Vec<String>,
    /// Run these statements; may be repeated
    #[arg(short = 'c', long = "command", value_name = "QUERY")]
    pub(crate) commands: Vec<String>,
    /// Run the statements of a file, after those of -c; `-` is standard input
    #[arg(short = 'f', long = "file", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: Option<PathBuf>,
    /// Format of results [default: table on a terminal, tsv otherwise]; a FORMAT clause in the query goes before it
    #[arg(long, value_name = "FORMAT", help_heading = "Output")]
    pub(crate) format: Option<ResultFormat>,
    /// CSV and TSV results begin with the column names [default: CSV does, TSV does not]
    #[arg(long, help_heading = "Output", overrides_with = "no_header")]
    pub(crate) header: bool,
    /// CSV and TSV results do not begin with the column names
    #[arg(long, help_heading = "Output")]
    pub(crate) no_header: bool,
    /// Most rows that the formats table and vertical show; 0 shows all
    #[arg(long, value_name = "N", default_value_t = 10_000, help_heading = "Output")]
    pub(crate) rows_max: usize,
    /// After each result, tell on standard error what was read, also when it is no terminal
    #[arg(long, help_heading = "Output")]
    pub(crate) stats: bool,
    /// Threads [default: all processors]
    #[arg(long, value_name = "N", value_parser = thread_count)]
    pub(crate) threads: Option<usize>,
    /// Strings must be UTF-8, or may hold any bytes
    #[arg(long, value_name = "KIND", default_value = "utf8", hide_possible_values = true)]
    pub(crate) strings: StringsName,
    /// The same result, rows in the same order, every time, by the same path through the decoders
    #[arg(long)]
    pub(crate) deterministic: bool,
}

/// Save what a damaged part still holds into a new table
///
/// Rows are kept where every column can be read; a column of which nothing can be read is left out. Each loss is printed;
/// the exit code is 6 if there is any.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  tambour salvage flights/all_1_1_0 --to saved")]
pub(crate) struct SalvageArguments {
    /// Directory of the part
    #[arg(value_name = "PART", value_hint = ValueHint::DirPath)]
    pub(crate) part: PathBuf,
    /// Directory of the new table
    #[arg(long, value_name = "TABLE", value_hint = ValueHint::DirPath)]
    pub(crate) to: PathBuf,
    /// Threads [default: all processors]
    #[arg(long, value_name = "N", value_parser = thread_count)]
    pub(crate) threads: Option<usize>,
    /// Print the result as one JSON object
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

/// Merge the parts of a table
///
/// Afterwards every partition has one part. The table shows the old parts or the new ones, nothing between.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  tambour optimize flights")]
pub(crate) struct OptimizeArguments {
    /// Directory of the table
    #[arg(value_name = "TABLE", value_hint = ValueHint::DirPath)]
    pub(crate) table: PathBuf,
    /// Memory for the merge
    #[arg(long, value_name = "SIZE", default_value = "1GiB")]
    pub(crate) memory: ByteSize,
    /// Threads [default: all processors]
    #[arg(long, value_name = "N", value_parser = thread_count)]
    pub(crate) threads: Option<usize>,
    /// Print the result as one JSON object
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

/// Give the parts of a table other codecs
///
/// Block by block, without sorting or rewriting rows; every block is decoded and compared before its part replaces the old
/// one. Parts are committed one by one: called again after an interruption, it goes on where it was.
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
    /// Whether only codecs may be used that ClickHouse reads
    #[arg(long, value_name = "yes|no", default_value = "yes", action = clap::ArgAction::Set)]
    #[arg(value_parser = portable, hide_possible_values = true)]
    pub(crate) portable: bool,
    /// Print the result as one JSON object
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

/// Read and check everything
///
/// Checks hashes of files, checksums of blocks, marks, indexes and every value. Prints all that is wrong, with its place;
/// the exit code is 3 then.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  tambour verify flights\n  tambour verify flights/all_1_1_0 --json"
)]
pub(crate) struct VerifyArguments {
    /// A table, a part, a file of blocks (.bin), or of frames (.lz4, .zst)
    #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) path: PathBuf,
    /// Dictionary of the frames
    #[arg(short = 'D', long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) dictionary: Option<PathBuf>,
    /// Print the result as one JSON object
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

/// Show what something is made of
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
    /// Also every block: offset, codec, sizes, checksum; of frames also literals, tables and sequences
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

/// Tell which codecs and types suit the columns
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
    /// Version of the ClickHouse that shall read the columns [default: 26.9]
    #[arg(long, value_name = "VERSION")]
    pub(crate) server: Option<Version>,
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
    /// Most memory for blocks under way
    #[arg(long, value_name = "SIZE", default_value = "1GiB")]
    pub(crate) memory: ByteSize,
}

/// Decompress a file or a stream
///
/// Reads ClickHouse's blocks, LZ4 frames (legacy ones as well) and zstd frames. Every checksum is verified; damage, a cut or
/// bytes behind the end are an error with exit code 3, and no file appears then.
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
    /// Most memory for blocks under way
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

/// List the codecs
///
/// Every codec family: its name, its method byte on disk, what it suits, and which variants of its code this processor runs.
#[derive(Args, Debug)]
pub(crate) struct CodecsArguments {
    /// Print the list as one JSON object
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

/// Print completions for a shell
#[derive(Args, Debug)]
#[command(
    after_help = "Example:\n  tambour completions bash > ~/.local/share/bash-completion/completions/tambour"
)]
pub(crate) struct CompletionsArguments {
    /// Shell
    #[arg(value_name = "SHELL")]
    pub(crate) shell: clap_complete::Shell,
}

/// Print the manual page, or write the pages of all commands
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  tambour man | man -l -\n  tambour man ~/.local/share/man/man1"
)]
pub(crate) struct ManArguments {
    /// Directory for one page per command
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) directory: Option<PathBuf>,
}

fn thread_count(text: &str) -> Result<usize, String> {
    match text.parse::<usize>() {
        Ok(0) => Err("at least one".to_owned()),
        Ok(count) if count <= 1024 => Ok(count),
        Ok(_) => Err("at most 1024".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}
