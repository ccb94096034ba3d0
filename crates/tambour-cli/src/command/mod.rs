//! The commands, one room each.

pub(crate) mod advise;
pub(crate) mod attach_script;
pub(crate) mod bench;
pub(crate) mod codecs;
pub(crate) mod compress;
pub(crate) mod decompress;
mod dictionary;
pub(crate) mod export;
pub(crate) mod import;
pub(crate) mod inspect;
pub(crate) mod manual;
pub(crate) mod messages;
pub(crate) mod optimize;
pub(crate) mod pages;
pub(crate) mod recompress;
pub(crate) mod records;
pub(crate) mod salvage;
pub(crate) mod sql;
mod stream;
pub(crate) mod target;
pub(crate) mod verify;
#[cfg(feature = "cluster")]
pub(crate) mod worker;

use crate::cli::{DialectName, FileFormat, Goal, StreamFormat, StringsName};
use tambour::codec::choose::Objective;
use tambour::codec::frame;
use tambour::files::Format;
use tambour::part::types::Strings;
use tambour::part::write::Dialect;

impl From<FileFormat> for Format {
    fn from(format: FileFormat) -> Self {
        match format {
            FileFormat::Csv => Self::Csv,
            FileFormat::Tsv => Self::Tsv,
            FileFormat::Jsonl => Self::JsonLines,
            FileFormat::Parquet => Self::Parquet,
            FileFormat::Arrow => Self::ArrowIpc,
        }
    }
}

impl From<Goal> for Objective {
    fn from(goal: Goal) -> Self {
        match goal {
            Goal::Size => Self::Size,
            Goal::Balance => Self::Balance,
            Goal::Speed => Self::Speed,
        }
    }
}

impl From<StreamFormat> for frame::Format {
    fn from(format: StreamFormat) -> Self {
        match format {
            StreamFormat::Block => Self::Block,
            StreamFormat::Lz4 => Self::Lz4,
            StreamFormat::Zstd => Self::Zstd,
        }
    }
}

impl From<DialectName> for Dialect {
    fn from(name: DialectName) -> Self {
        match name {
            DialectName::New => Self::New,
            DialectName::Old => Self::Old,
        }
    }
}

impl From<StringsName> for Strings {
    fn from(name: StringsName) -> Self {
        match name {
            StringsName::Utf8 => Self::Utf8,
            StringsName::Binary => Self::Binary,
        }
    }
}

/// Threads to use: as asked, or one per processor.
fn threads(asked: Option<usize>) -> usize {
    asked.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
}
