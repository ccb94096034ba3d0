//! `tambour records`: logs of small records.

pub(crate) mod arguments;
mod dictionary;
mod format;
mod import;
mod keys;
mod maintain;
mod read;
mod search;
mod stat;
mod tail;
mod train;
mod write;

use crate::output::Console;
use arguments::{RecordCodec, RecordsAction};
pub(crate) use stat::{inspect, verify};
use std::path::Path;
use tambour::record::{Codec, RecordStore};
use tambour::storage;

/// Does what was asked for.
pub(crate) fn run(action: &RecordsAction, console: Console) -> anyhow::Result<()> {
    match action {
        RecordsAction::Create(arguments) => write::create(arguments, console),
        RecordsAction::Append(arguments) => write::append(arguments, console),
        RecordsAction::Get(arguments) => read::get(arguments),
        RecordsAction::Scan(arguments) => read::scan(arguments),
        RecordsAction::Delete(arguments) => keys::delete(arguments, console),
        RecordsAction::Compact(arguments) => keys::compact(arguments, console),
        RecordsAction::Tail(arguments) => tail::run(arguments),
        RecordsAction::Dictionary(arguments) => dictionary::run(arguments, console),
        RecordsAction::Export(arguments) => read::export(arguments, console),
        RecordsAction::Seal(arguments) => maintain::seal(arguments, console),
        RecordsAction::Salvage(arguments) => maintain::salvage(arguments, console),
        RecordsAction::Retain(arguments) => maintain::retain(arguments, console),
        RecordsAction::Train(arguments) => train::run(arguments, console),
        RecordsAction::Stat(arguments) => stat::inspect(&arguments.store, arguments.json),
        RecordsAction::Search(arguments) => search::run(arguments, console),
        RecordsAction::Verify(arguments) => {
            if arguments.repair {
                search::repair(&arguments.what.store, console)?;
            }
            verify(&arguments.what.store, arguments.what.json, console)
        }
    }
}

/// Whether a path is a record store.
pub(crate) fn is_store(path: &Path) -> bool {
    RecordStore::is_at(storage::disk().as_ref(), path)
}

fn open(path: &Path) -> anyhow::Result<RecordStore> {
    Ok(RecordStore::open(&storage::disk(), path)?)
}

impl From<RecordCodec> for Codec {
    fn from(codec: RecordCodec) -> Self {
        match codec {
            RecordCodec::Lz4 => Self::Lz4,
            RecordCodec::Zstd => Self::Zstd,
            RecordCodec::Raw => Self::Raw,
        }
    }
}
