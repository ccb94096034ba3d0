//! What may be written on the command line: every command and flag with its help. Data only; `command` acts on it.

#[cfg(feature = "cluster")]
mod cluster;
mod files;
mod messages;
mod streams;
mod tables;

#[cfg(feature = "cluster")]
pub(crate) use cluster::*;
pub(crate) use files::*;
pub(crate) use messages::*;
pub(crate) use streams::*;
pub(crate) use tables::*;

use crate::command::records::arguments::RecordsArguments;
use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use std::ffi::OsString;
use std::path::PathBuf;

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
    #[cfg(feature = "cluster")]
    Worker(WorkerArguments),
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

/// List the codecs
///
/// Every codec family: its name, its method byte on disk, what it suits, and which variants of its code this processor runs.
#[derive(Args, Debug)]
pub(crate) struct CodecsArguments {
    /// Print the list as one JSON object
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

/// Measure what this machine does
///
/// Runs the program `tambour-bench` that stands beside this one, with the same arguments; where it is not built, says how to
/// build it. It links the libraries that Tambour is compared with, and this program does not.
///
/// Figures are medians of processor time; contenders take turns in one process, and every output is checked.
#[derive(Args, Debug)]
#[command(arg_required_else_help = true)]
#[command(after_help = "\
Benchmarks:
  decode    How fast LZ4 blocks are decoded
  codecs    Every codec and chain on columns of each type
  columns   What a scan of each column costs
  integers  Encoding and decoding of integers
  hashes    Hashing of keys and whole columns
  messages  Compression of messages on many connections
  pages     Stores of pages, packed and with holes
  records   Random reads of small records
  search    The advisor's search against an exhaustive one

Examples:
  tambour bench decode
  tambour bench decode --data columns/ --rounds 20 --out results --frontier
  tambour bench decode --help")]
pub(crate) struct BenchArguments {
    /// The benchmark, and its arguments
    #[arg(value_name = "BENCHMARK", trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) words: Vec<OsString>,
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
