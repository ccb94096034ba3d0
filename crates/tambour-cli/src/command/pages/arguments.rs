//! What may be written after `tambour pages`.

use super::single::{GetArguments, PutArguments};
use super::sqlite::SqliteArguments;
use crate::argument::ByteSize;
use clap::{Args, Subcommand, ValueEnum, ValueHint};
use std::ops::Range;
use std::path::PathBuf;
use tambour::page::{Layout, Level, PageCodec};

/// Keep fixed-size pages compressed in one file
///
/// Pages are compressed one by one and read at random; batches of changes are whole or absent after a crash. The layout
/// `packed` puts images one after another; `holes` keeps each page at number times page size in a sparse file, with
/// the map and the journal beside it in FILE.map.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  tambour pages space database.ibd --out report
  tambour pages load store.pages database.ibd --page-size 16KiB --codec zstd:3 --train
  tambour pages get store.pages 17 --output page
  tambour pages sqlite import drums.db --into drums.pages
  tambour pages verify store.pages
  tambour pages backup store.pages - | ssh host tambour pages restore - store.pages")]
pub(crate) struct PagesArguments {
    /// What to do
    #[command(subcommand)]
    pub(crate) action: PagesAction,
}

/// The actions.
#[derive(Debug, Subcommand)]
pub(crate) enum PagesAction {
    Create(CreateArguments),
    Load(LoadArguments),
    Get(GetArguments),
    Put(PutArguments),
    Scan(ScanArguments),
    Update(UpdateArguments),
    Stat(StatArguments),
    Verify(PagesVerifyArguments),
    Backup(BackupArguments),
    Restore(RestoreArguments),
    Convert(ConvertArguments),
    Compact(CompactArguments),
    Sqlite(SqliteArguments),
    Space(SpaceArguments),
    Doctor(DoctorArguments),
}

impl PagesAction {
    /// True if the result is wanted as JSON.
    pub(crate) fn json(&self) -> bool {
        match self {
            Self::Create(_) | Self::Get(_) | Self::Put(_) => false,
            Self::Load(arguments) => arguments.json,
            Self::Scan(arguments) => arguments.json,
            Self::Update(arguments) => arguments.json,
            Self::Stat(arguments) => arguments.json,
            Self::Verify(arguments) => arguments.json,
            Self::Backup(arguments) => arguments.json,
            Self::Restore(arguments) => arguments.json,
            Self::Convert(arguments) => arguments.json,
            Self::Compact(arguments) => arguments.json,
            Self::Sqlite(arguments) => arguments.json(),
            Self::Space(arguments) => arguments.json,
            Self::Doctor(arguments) => arguments.json,
        }
    }
}

/// Where images lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LayoutName {
    /// One after another
    Packed,
    /// At number times page size, in a sparse file
    Holes,
}

impl From<LayoutName> for Layout {
    fn from(name: LayoutName) -> Self {
        match name {
            LayoutName::Packed => Self::Packed,
            LayoutName::Holes => Self::Holes,
        }
    }
}

/// How much `verify` looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LevelName {
    /// The header of each image
    Headers,
    /// Its checksum, too
    Checksums,
    /// Everything: each page is decoded
    Decode,
}

impl From<LevelName> for Level {
    fn from(name: LevelName) -> Self {
        match name {
            LevelName::Headers => Self::Headers,
            LevelName::Checksums => Self::Checksums,
            LevelName::Decode => Self::Decode,
        }
    }
}

fn codec(text: &str) -> Result<PageCodec, String> {
    text.parse::<PageCodec>().map_err(|error| error.to_string())
}

/// A range of pages: `10..20`, `10..`, `..20`.
fn range(text: &str) -> Result<Range<u64>, String> {
    let wrong = || "a range of pages is written 10..20, 10.. or ..20".to_owned();
    let (start, end) = text.split_once("..").ok_or_else(wrong)?;
    let number = |text: &str, default| match text {
        "" => Ok(default),
        text => text.parse::<u64>().map_err(|_| wrong()),
    };
    Ok(number(start, 0)?..number(end, u64::MAX)?)
}

/// What a store is made with.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct MakeArguments {
    /// Bytes of a page: a power of two from 4 KiB to 1 MiB
    #[arg(long, value_name = "SIZE", default_value = "16KiB")]
    pub(crate) page_size: ByteSize,
    /// Layout: packed, holes
    #[arg(long, value_name = "LAYOUT", default_value = "packed", hide_possible_values = true)]
    pub(crate) layout: LayoutName,
    /// Codec of new images: none, lz4, lz4:9, zstd:3, zlib:6
    #[arg(long, value_name = "CODEC", default_value = "zstd:3", value_parser = codec)]
    pub(crate) codec: PageCodec,
    /// What images are padded to: a power of two from 16 to 4096
    #[arg(long, value_name = "SIZE", default_value = "16")]
    pub(crate) granule: ByteSize,
}

/// Make an empty store
#[derive(Args, Debug)]
pub(crate) struct CreateArguments {
    /// File of the store
    #[arg(value_name = "STORE", value_hint = ValueHint::FilePath)]
    pub(crate) store: PathBuf,
    /// What it is made with
    #[command(flatten)]
    pub(crate) make: MakeArguments,
    /// Replace the store if it exists
    #[arg(long)]
    pub(crate) force: bool,
}

/// Append the pages of a file
///
/// The file holds raw pages one after another, or anything else: it is cut into pages, and the last one is filled up with
/// zeros. The store is created if it does not exist.
#[derive(Args, Debug)]
pub(crate) struct LoadArguments {
    /// File of the store
    #[arg(value_name = "STORE", value_hint = ValueHint::FilePath)]
    pub(crate) store: PathBuf,
    /// File with the pages; `-` is standard input
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// What the store is made with, if it is not there
    #[command(flatten)]
    pub(crate) make: MakeArguments,
    /// First train a dictionary on the start of the file; it is kept if it makes other pages smaller
    #[arg(long)]
    pub(crate) train: bool,
    /// Bytes of pages per commit
    #[arg(long, value_name = "SIZE", default_value = "1MiB")]
    pub(crate) batch: ByteSize,
    /// Make each commit durable on its own, not only all of them at the end
    #[arg(long)]
    pub(crate) sync: bool,
    /// Print the result as one JSON object
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

/// Read all pages in the order in which they lie on the disk
#[derive(Args, Debug)]
pub(crate) struct ScanArguments {
    /// File of the store
    #[arg(value_name = "STORE", value_hint = ValueHint::FilePath)]
    pub(crate) store: PathBuf,
    /// Only these pages: 10..20, 10.. or ..20
    #[arg(long, value_name = "RANGE", value_parser = range, default_value = "..", hide_default_value = true)]
    pub(crate) pages: Range<u64>,
    /// Write the raw pages into this file, each at its number times the page size
    #[arg(short, long, value_name = "OUT", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
    /// Replace the output if it exists
    #[arg(long)]
    pub(crate) force: bool,
    /// Print the result as one JSON object
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

/// Measure updates: change four bytes of random pages
///
/// The pages are changed for good.
#[derive(Args, Debug)]
pub(crate) struct UpdateArguments {
    /// File of the store
    #[arg(value_name = "STORE", value_hint = ValueHint::FilePath)]
    pub(crate) store: PathBuf,
    /// Pages to change
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    pub(crate) count: u64,
    /// Pages per commit
    #[arg(long, value_name = "N", default_value_t = 16)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=65536))]
    pub(crate) batch: u64,
    /// Which pages are drawn
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Do not wait for each commit to be durable
    #[arg(long = "async")]
    pub(crate) asynchronous: bool,
    /// Print the result as one JSON object
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

/// Show what a store takes, logically and on the disk
#[derive(Args, Debug)]
pub(crate) struct StatArguments {
    /// File of the store
    #[arg(value_name = "STORE", value_hint = ValueHint::FilePath)]
    pub(crate) store: PathBuf,
    /// Print the result as one JSON object
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

/// Check every page
///
/// Prints everything that is wrong, with page and place; the exit code is then 3.
#[derive(Args, Debug)]
pub(crate) struct PagesVerifyArguments {
    /// File of the store
    #[arg(value_name = "STORE", value_hint = ValueHint::FilePath)]
    pub(crate) store: PathBuf,
    /// How much: headers, checksums, decode
    #[arg(long, value_name = "LEVEL", default_value = "decode", hide_possible_values = true)]
    pub(crate) level: LevelName,
    /// Print the result as one JSON object
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

/// Write a backup: of everything, or of what changed after a generation
#[derive(Args, Debug)]
pub(crate) struct BackupArguments {
    /// File of the store
    #[arg(value_name = "STORE", value_hint = ValueHint::FilePath)]
    pub(crate) store: PathBuf,
    /// File to write; `-` is standard output
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// Only what changed after this generation; `stat` and each backup print the last one
    #[arg(long, value_name = "GENERATION", default_value_t = 0, hide_default_value = true)]
    pub(crate) since: u64,
    /// Replace the file if it exists
    #[arg(long)]
    pub(crate) force: bool,
    /// Print the result as one JSON object (on standard error if FILE is `-`)
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

/// Restore a backup
///
/// A full backup makes a new store; a backup of changes goes into the store that the backup before it made.
#[derive(Args, Debug)]
pub(crate) struct RestoreArguments {
    /// The backup; `-` is standard input
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// File of the store
    #[arg(value_name = "STORE", value_hint = ValueHint::FilePath)]
    pub(crate) store: PathBuf,
    /// Layout of a new store: packed, holes
    #[arg(long, value_name = "LAYOUT", default_value = "packed", hide_possible_values = true)]
    pub(crate) layout: LayoutName,
    /// Print the result as one JSON object
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

/// Rewrite a store in another layout
#[derive(Args, Debug)]
pub(crate) struct ConvertArguments {
    /// File of the store
    #[arg(value_name = "STORE", value_hint = ValueHint::FilePath)]
    pub(crate) store: PathBuf,
    /// File of the new store
    #[arg(value_name = "TARGET", value_hint = ValueHint::FilePath)]
    pub(crate) target: PathBuf,
    /// Layout of the new store: packed, holes
    #[arg(long, value_name = "LAYOUT", hide_possible_values = true)]
    pub(crate) layout: LayoutName,
    /// Print the result as one JSON object
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

/// Move images into gaps and cut the file
#[derive(Args, Debug)]
pub(crate) struct CompactArguments {
    /// File of the store
    #[arg(value_name = "STORE", value_hint = ValueHint::FilePath)]
    pub(crate) store: PathBuf,
    /// Most bytes of images to move [default: no limit]
    #[arg(long, value_name = "SIZE")]
    pub(crate) budget: Option<ByteSize>,
    /// Print the result as one JSON object
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

/// Show how much space a file would take as pages
///
/// Cuts the file into pages of several sizes, compresses them with several codecs, and tells what they take packed and with
/// holes, with and without a dictionary. With a dictionary, only pages that it was not trained on count.
#[derive(Args, Debug)]
pub(crate) struct SpaceArguments {
    /// The file
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// Page sizes
    #[arg(
        long,
        value_name = "SIZES",
        value_delimiter = ',',
        default_value = "4KiB,8KiB,16KiB,32KiB,64KiB"
    )]
    pub(crate) page_size: Vec<ByteSize>,
    /// Codecs
    #[arg(long, value_name = "CODECS", value_delimiter = ',', value_parser = codec, default_value = "lz4,zstd:1,zstd:3,zlib:6")]
    pub(crate) codec: Vec<PageCodec>,
    /// No dictionaries
    #[arg(long)]
    pub(crate) no_dictionary: bool,
    /// Look at this much of the file, from its start
    #[arg(long, value_name = "SIZE", default_value = "64MiB")]
    pub(crate) limit: ByteSize,
    /// Write CSV and report.html with a heat map into this directory
    #[arg(long, value_name = "DIR", help_heading = "Output", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,
    /// Print the result as one JSON object
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

/// Probe a file system for what surprises stores with holes
///
/// Writes and removes some 50 MB of probe files in the directory.
#[derive(Args, Debug)]
pub(crate) struct DoctorArguments {
    /// A directory on the file system
    #[arg(value_name = "PATH", value_hint = ValueHint::DirPath)]
    pub(crate) path: PathBuf,
    /// Print the result as one JSON object
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

#[cfg(test)]
mod tests {
    use super::range;

    #[test]
    fn ranges_as_people_write_them() {
        assert_eq!(range("..").unwrap(), 0..u64::MAX);
        assert_eq!(range("3..9").unwrap(), 3..9);
        assert_eq!(range("3..").unwrap(), 3..u64::MAX);
        assert!(range("3").is_err() && range("a..b").is_err());
    }
}
