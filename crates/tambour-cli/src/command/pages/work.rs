//! Actions that read and write pages: load, scan, update, compact.

use super::arguments::{CompactArguments, LoadArguments, ScanArguments, UpdateArguments};
use super::{check_apart, is_store, opened, options, tell};
use crate::clock::Start;
use crate::exit::Failure;
use crate::output::progress::Total;
use crate::output::{Console, quantity};
use anyhow::Context;
use serde_json::json;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::Path;
use tambour::page::{Access, DictionaryReport, Durability, Stat, Store};

/// Pages from the start of a file that a dictionary is trained on.
const TRAINING_BYTES: usize = 32 << 20;
/// Said once where punching is not supported.
const NO_HOLES: &str =
    "the file system does not support holes: ranges are padded with zeros and take their space";

/// Appends the pages of a file.
pub(super) fn load(arguments: &LoadArguments, console: Console) -> anyhow::Result<()> {
    let (mut source, length) = source(&arguments.file)?;
    let mut store = if is_store(&arguments.store) {
        opened(&arguments.store, Access::Write)?
    } else {
        Store::create(&arguments.store, &options(&arguments.make)?)?
    };
    let before = store.counts();
    let first = store.len();
    let mut page = first;
    let mut progress = console.progress("load", length);
    let place = || arguments.file.display().to_string();
    let mut ahead: Vec<Vec<u8>> = Vec::new();
    let mut trained = None;
    if arguments.train {
        while ahead.len() * store.page_bytes() < TRAINING_BYTES {
            let content = next_page(&mut source, store.page_bytes()).with_context(place)?;
            let Some(content) = content else { break };
            ahead.push(content);
        }
        trained = Some(store.train_dict(&ahead)?);
    }
    let mut ahead = ahead.into_iter();
    let durability = if arguments.sync { Durability::Sync } else { Durability::Async };
    let mut bytes = 0_u64;
    loop {
        let page_bytes = store.page_bytes();
        let mut batch = store.batch()?;
        let mut filled = 0;
        while filled < arguments.batch.0 {
            let content = match ahead.next() {
                Some(content) => Some(content),
                None => next_page(&mut source, page_bytes).with_context(place)?,
            };
            let Some(content) = content else { break };
            batch.put(page, &content)?;
            page += 1;
            filled += page_bytes as u64;
        }
        if batch.is_empty() {
            break;
        }
        batch.commit(durability)?;
        bytes += filled;
        progress.update(bytes, 0);
    }
    store.checkpoint()?;
    let time = progress.elapsed();
    drop(progress);
    if let Some(trained) = &trained {
        console.note(told_dictionary(trained));
    }
    if !store.has_holes() {
        console.note(NO_HOLES);
    }
    let stat = store.stat(false)?;
    let mut facts = vec![
        ("store", json!(arguments.store.display().to_string())),
        ("pages", json!(page - first)),
        ("bytes", json!(bytes)),
        ("seconds", json!(time.as_secs_f64())),
        ("bytes_written", json!(stat.counts.bytes_written - before.bytes_written)),
        ("file_bytes", json!(stat.file_bytes())),
        ("allocated_bytes", json!(stat.allocated_bytes())),
        ("image_bytes", json!(stat.image_bytes)),
        ("dictionary_bytes", json!(stat.dictionaries.1)),
        ("generation", json!(stat.generation)),
    ];
    facts.extend(grown(&stat));
    store.close()?;
    tell(arguments.json, "load", &facts)
}

/// What a load took, by the count of the files' blocks and by the file system's own: see `pages doctor`.
fn grown(stat: &Stat) -> Vec<(&'static str, serde_json::Value)> {
    let Some(growth) = stat.growth else { return Vec::new() };
    vec![("allocated_more", json!(growth.allocated)), ("free_space_less", json!(growth.used))]
}

/// What came of the training, in words.
fn told_dictionary(trained: &DictionaryReport) -> String {
    match trained.kept {
        Some(size) => format!(
            "a dictionary of {} makes other pages {:.2}x smaller, {:.2}x without",
            quantity::bytes(size as u64),
            trained.ratio(),
            trained.held_out_bytes as f64 / trained.bytes_without.max(1) as f64,
        ),
        None => "no dictionary made other pages smaller, so none is kept".to_owned(),
    }
}

/// The file to load, and how long it is if that is known.
fn source(path: &Path) -> anyhow::Result<(Box<dyn Read>, Total)> {
    if path == Path::new("-") {
        return Ok((Box::new(std::io::stdin().lock()), Total::Unknown));
    }
    let file = File::open(path).with_context(|| path.display().to_string())?;
    let length = file.metadata().with_context(|| path.display().to_string())?.len();
    Ok((Box::new(std::io::BufReader::with_capacity(1 << 20, file)), Total::Bytes(length)))
}

/// The next page, filled up with zeros at the end of the file; `None` after it.
fn next_page(source: &mut dyn Read, page_bytes: usize) -> std::io::Result<Option<Vec<u8>>> {
    let mut content = Vec::with_capacity(page_bytes);
    source.take(page_bytes as u64).read_to_end(&mut content)?;
    if content.is_empty() {
        return Ok(None);
    }
    content.resize(page_bytes, 0);
    Ok(Some(content))
}

/// Reads all pages.
pub(super) fn scan(arguments: &ScanArguments, console: Console) -> anyhow::Result<()> {
    let store = opened(&arguments.store, Access::Read)?;
    if let Some(path) = &arguments.output {
        check_apart(&arguments.store, path)?;
    }
    let output = match &arguments.output {
        Some(path) if path.exists() && !arguments.force => {
            let text = format!("{} exists: --force replaces it", path.display());
            return Err(Failure::Conflict(text).into());
        }
        Some(path) => Some((File::create(path).with_context(|| path.display().to_string())?, path)),
        None => None,
    };
    let page_bytes = store.page_bytes() as u64;
    let mut reader = store.reader();
    let mut pages = 0_u64;
    let mut progress = console.progress("scan", Total::Bytes(store.len() * page_bytes));
    let mut written = Ok(());
    reader.scan(arguments.pages.clone(), &mut |page, content| {
        pages += 1;
        if let Some((file, _)) = &output
            && written.is_ok()
        {
            written = file.write_all_at(content, page * page_bytes);
        }
        progress.update(pages * page_bytes, 0);
    })?;
    let time = progress.elapsed();
    drop(progress);
    if let Some((_, path)) = &output {
        written.with_context(|| path.display().to_string())?;
    }
    let facts = [
        ("store", json!(arguments.store.display().to_string())),
        ("pages", json!(pages)),
        ("bytes", json!(pages * page_bytes)),
        ("bytes_read", json!(store.counts().bytes_read)),
        ("seconds", json!(time.as_secs_f64())),
        ("bytes_per_second", json!(quantity::per_second(pages * page_bytes, time))),
    ];
    tell(arguments.json, "scan", &facts)
}

/// Changes random pages.
pub(super) fn update(arguments: &UpdateArguments, console: Console) -> anyhow::Result<()> {
    let mut store = opened(&arguments.store, Access::Write)?;
    let pages: Vec<u64> = store.pages().collect();
    if pages.is_empty() {
        let text = format!("{}: the store has no pages to change", arguments.store.display());
        return Err(Failure::NotFound(text).into());
    }
    let durability = if arguments.asynchronous { Durability::Async } else { Durability::Sync };
    let before = store.counts();
    let mut seed = arguments.seed;
    let mut draw = |end: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 20) % end
    };
    let mut content = vec![0; store.page_bytes()];
    let mut progress = console.progress("update", Total::Rows(arguments.count));
    let mut done = 0;
    while done < arguments.count {
        let count = arguments.batch.min(arguments.count - done);
        let mut reader = store.reader();
        let mut batch = store.batch()?;
        for _ in 0..count {
            let page = pages[usize::try_from(draw(pages.len() as u64))?];
            reader.read(page, &mut content)?;
            let at = usize::try_from(draw(content.len() as u64 / 4))? * 4;
            let value = u32::try_from(draw(1 << 32))?;
            content[at..at + 4].copy_from_slice(&value.to_le_bytes());
            batch.put(page, &content)?;
        }
        drop(reader);
        batch.commit(durability)?;
        done += count;
        progress.update(0, done);
    }
    store.checkpoint()?;
    let time = progress.elapsed();
    drop(progress);
    let after = store.counts();
    let bytes_written = after.bytes_written - before.bytes_written;
    let facts = [
        ("store", json!(arguments.store.display().to_string())),
        ("updates", json!(done)),
        ("batch", json!(arguments.batch)),
        ("seconds", json!(time.as_secs_f64())),
        ("bytes_written", json!(bytes_written)),
        ("bytes_per_update", json!(bytes_written as f64 / done.max(1) as f64)),
        ("commits", json!(after.commits - before.commits)),
        ("checkpoints", json!(after.checkpoints - before.checkpoints)),
        ("syncs", json!(after.syncs - before.syncs)),
        ("punches", json!(after.punches - before.punches)),
        ("reservations", json!(after.reservations - before.reservations)),
    ];
    store.close()?;
    tell(arguments.json, "update", &facts)
}

/// Compacts a store.
pub(super) fn compact(arguments: &CompactArguments, console: Console) -> anyhow::Result<()> {
    let mut store = opened(&arguments.store, Access::Write)?;
    let start = Start::now();
    let done = store.compact(arguments.budget.map_or(u64::MAX, |budget| budget.0))?;
    console.detail(format_args!("{} in {}", done.moved, quantity::seconds(start.elapsed())));
    let facts = [
        ("store", json!(arguments.store.display().to_string())),
        ("moved", json!(done.moved)),
        ("moved_bytes", json!(done.moved_bytes)),
        ("before_bytes", json!(done.before)),
        ("after_bytes", json!(done.after)),
    ];
    store.close()?;
    tell(arguments.json, "compact", &facts)
}
