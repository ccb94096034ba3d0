//! Files in and out, and queries: `import`, `export`, `sql`.

use super::tables::{LockArguments, ReadingArguments};
use crate::argument::{ByteSize, CodecChoice, Delimiter, portable, thread_count};
use clap::{Args, ValueEnum, ValueHint};
use std::path::PathBuf;
use tambour::ImportTypes;

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
    /// One of ClickHouse's, in its bytes
    #[value(skip)]
    ClickHouse(tambour::files::ResultFormat),
}

/// A format of results: our words are in lower case, ClickHouse's names are spelled as there.
fn result_format(text: &str) -> Result<ResultFormat, String> {
    if tambour::files::ResultFormat::is_spelled(text)
        && let Some(format) = tambour::files::ResultFormat::of(text)
    {
        return Ok(ResultFormat::ClickHouse(format));
    }
    ResultFormat::from_str(text, false).map_err(|_| {
        let ours = ResultFormat::value_variants().iter().filter_map(ValueEnum::to_possible_value);
        let names: Vec<String> = ours.map(|value| value.get_name().to_owned()).collect();
        format!("there are {}, and ClickHouse's, like CSVWithNames", names.join(", "))
    })
}

/// A value for `{name:Type}` in statements.
fn parameter(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("it is written name=value")?;
    Ok((name.to_owned(), value.to_owned()))
}

/// Which types columns get that nobody gave one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Types {
    /// Those of the source, and dictionaries for texts
    Natural,
    /// The smallest that hold the values
    Smallest,
    /// Those of the source
    Keep,
}

impl From<Types> for ImportTypes {
    fn from(types: Types) -> Self {
        match types {
            Types::Natural => Self::Natural,
            Types::Smallest => Self::Smallest,
            Types::Keep => Self::Keep,
        }
    }
}

/// Which ClickHouse versions can attach what is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DialectName {
    /// ClickHouse 19.11 and later, with codecs that it knows
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
    /// Add rows to the table if it exists; columns that do not hold them get wider types, and new ones are added
    #[arg(long, conflicts_with = "force")]
    pub(crate) append: bool,
    /// Replace the rows and the definition of the table if it exists
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) lock: LockArguments,
    /// Print the result as one JSON object
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,

    /// Format of the files [default: by name, then by content]
    #[arg(long, value_name = "FORMAT", help_heading = "Reading")]
    pub(crate) format: Option<FileFormat>,
    /// What separates the fields of a CSV file: one character, or `tab`
    #[arg(long, value_name = "CHAR", help_heading = "Reading")]
    pub(crate) delimiter: Option<Delimiter>,
    /// The first line of CSV and TSV files has the names [default: detected]
    #[arg(long, help_heading = "Reading", overrides_with = "no_header")]
    pub(crate) header: bool,
    /// The first line of CSV and TSV files is data
    #[arg(long, help_heading = "Reading")]
    pub(crate) no_header: bool,
    /// Leave out columns that the table of --create or --append does not have [default: an error]
    #[arg(long, help_heading = "Reading")]
    pub(crate) skip_unknown: bool,
    /// Types of columns: those of the source with dictionaries for texts, the smallest that hold the values, or exactly those
    /// of the source
    #[arg(
        long,
        value_name = "natural|smallest|keep",
        help_heading = "Reading",
        hide_possible_values = true
    )]
    #[arg(value_enum, default_value = "natural", conflicts_with = "create")]
    pub(crate) types: Types,
    /// The same as --types keep
    #[arg(long, conflicts_with_all = ["create", "types"], help_heading = "Reading")]
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
    /// The table as a ClickHouse CREATE TABLE statement, or @FILE that holds it; then nothing is inferred
    #[arg(long, value_name = "SQL", help_heading = "Table")]
    #[arg(conflicts_with_all = ["order_by", "primary_key", "partition_by"])]
    pub(crate) create: Option<String>,
    /// Codec of all columns or of one: auto, 'auto(size)', 'ZSTD(3)', 'time=Delta(4),LZ4'; may be repeated. `auto`, the
    /// default, chooses each block's chain by its data, for balance, size or speed
    #[arg(long, value_name = "CODEC", help_heading = "Table")]
    pub(crate) codec: Vec<CodecChoice>,
    /// Use only codecs that ClickHouse can read
    #[arg(long, value_name = "yes|no", default_value = "yes", action = clap::ArgAction::Set)]
    #[arg(value_parser = portable, hide_possible_values = true, help_heading = "Table")]
    pub(crate) portable: bool,

    /// Parts for ClickHouse 19.11 and later with codecs that it knows (new; auto: 26.8), or 18.16 and later (old)
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
    /// Let workers import the files.
    #[cfg(feature = "cluster")]
    #[command(flatten)]
    pub(crate) cluster: super::ErrandArguments,
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
    #[command(flatten)]
    pub(crate) reading: ReadingArguments,
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
/// system.columns and system.codecs describe what is on disk.
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
    /// Format of results [default: table on a terminal, tsv otherwise]: table, vertical, csv, tsv, json, jsonl, markdown,
    /// arrow, parquet, null; names as ClickHouse spells them (CSVWithNames, JSONEachRow, ...) give ClickHouse's bytes. A
    /// FORMAT clause in the query takes precedence
    #[arg(long, value_name = "FORMAT", value_parser = result_format, help_heading = "Output")]
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
    /// After each result, tell on standard error what was read, also when it is not a terminal
    #[arg(long, help_heading = "Output")]
    pub(crate) stats: bool,
    /// Go on with the next statement of a script after an error; the exit code is that of the last error
    #[arg(long)]
    pub(crate) ignore_error: bool,
    /// Let INSERT, UPDATE, DELETE, ALTER, TRUNCATE and OPTIMIZE change the tables; without it they are only read
    #[arg(long)]
    pub(crate) write: bool,
    /// A directory of tables, opened by their names; with --write, CREATE, DROP and RENAME TABLE work in it
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) database: Option<PathBuf>,
    /// DROP and TRUNCATE do not ask on a terminal
    #[arg(long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) lock: LockArguments,
    /// A value for {name:Type} in the statements; may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = parameter)]
    pub(crate) param: Vec<(String, String)>,
    /// Memory for sorts, joins, groups and rows to write, which go to files past it [default: half of the machine's]
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<ByteSize>,
    /// Keep decoded blocks of small reads, up to this many bytes: the same rows are found faster the next time [default: none]
    #[arg(long, value_name = "SIZE")]
    pub(crate) block_cache: Option<ByteSize>,
    #[command(flatten)]
    pub(crate) reading: ReadingArguments,
    /// Threads [default: all processors]
    #[arg(long, value_name = "N", value_parser = thread_count)]
    pub(crate) threads: Option<usize>,
    /// Strings must be UTF-8, or may hold any bytes
    #[arg(long, value_name = "KIND", default_value = "utf8", hide_possible_values = true)]
    pub(crate) strings: StringsName,
    /// Give the same result every time: rows in the same order, by the same path through the decoders
    #[arg(long)]
    pub(crate) deterministic: bool,
    /// Run queries on several workers.
    #[cfg(feature = "cluster")]
    #[command(flatten)]
    pub(crate) cluster: super::ClusterArguments,
}
