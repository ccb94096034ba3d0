//! `records dictionary`: dictionaries as files, for `zstd -D` and from `zstd --train`.

use super::arguments::{DictionaryAction, DictionaryArguments};
use super::{maintain, open};
use crate::exit::Failure;
use crate::output::{Console, quantity};
use anyhow::Context;
use tambour::record::{Codec, Dictionary, LZ4_DICTIONARY_BYTES_MAX, ViewOptions};

pub(super) fn run(arguments: &DictionaryArguments, console: Console) -> anyhow::Result<()> {
    match &arguments.action {
        DictionaryAction::Export { log, file, id, force } => {
            let store = open(&log.store)?;
            let view = store.view(&log.category, &ViewOptions { memory_bytes: 0 })?;
            let dictionary = match id {
                Some(id) => view.dictionary_of(*id)?,
                None => view.latest_dictionary(),
            };
            if dictionary.is_empty() {
                let problem =
                    "the store has no dictionary yet: `records seal` trains one where it pays";
                return Err(Failure::NotFound(problem.to_owned()).into());
            }
            let place = || file.display().to_string();
            if file.exists() && !force {
                let problem = format!("{}: exists; --force replaces it", place());
                return Err(Failure::Conflict(problem).into());
            }
            std::fs::write(file, dictionary.bytes()).with_context(place)?;
            let bytes = quantity::bytes(dictionary.bytes().len() as u64);
            console.note(format_args!("{}: {bytes}", place()));
        }
        DictionaryAction::Import { log, file } => {
            let place = || file.display().to_string();
            let bytes = std::fs::read(file).with_context(place)?;
            let dictionary = Dictionary::new(bytes).with_context(place)?;
            if dictionary.is_empty() {
                return Err(Failure::Conflict(format!("{}: is empty", place())).into());
            }
            let store = open(&log.store)?;
            let writer = store.writer(&log.category)?;
            maintain::tell_found(&writer, console);
            writer.use_dictionary(&dictionary).with_context(place)?;
            let bytes = quantity::bytes(dictionary.bytes().len() as u64);
            console.note(format_args!("the next segment begins with a dictionary of {bytes}"));
            if dictionary.bytes().len() > LZ4_DICTIONARY_BYTES_MAX
                && store.settings().codec == Codec::Lz4
            {
                console.note("LZ4 reaches its last 64 KiB only");
            }
        }
    }
    Ok(())
}
