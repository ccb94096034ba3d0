//! One page: out of a store, and into it.

use super::{check_apart, opened};
use crate::exit::Failure;
use crate::output::{Console, quantity, stdout};
use anyhow::Context;
use clap::{Args, ValueHint};
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use tambour::page::{Access, Durability};

/// Write one page to standard output, or into a file
#[derive(Args, Debug)]
pub(crate) struct GetArguments {
    /// File of the store
    #[arg(value_name = "STORE", value_hint = ValueHint::FilePath)]
    store: PathBuf,
    /// Number of the page
    #[arg(value_name = "PAGE")]
    page: u64,
    /// Write into this file
    #[arg(short, long, value_name = "OUT", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,
    /// Replace the output if it exists
    #[arg(long)]
    force: bool,
}

/// Set the content of one page, durably
///
/// The file must have as many bytes as a page, or fewer with --pad.
#[derive(Args, Debug)]
pub(crate) struct PutArguments {
    /// File of the store
    #[arg(value_name = "STORE", value_hint = ValueHint::FilePath)]
    store: PathBuf,
    /// Number of the page; one that is not there is made
    #[arg(value_name = "PAGE")]
    page: u64,
    /// File with the content; `-` is standard input
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    file: PathBuf,
    /// Fill a shorter content up with zeros
    #[arg(long)]
    pad: bool,
}

/// Writes a page out.
pub(super) fn get(arguments: &GetArguments) -> anyhow::Result<()> {
    let mut store = opened(&arguments.store, Access::Read)?;
    if !store.contains(arguments.page) {
        let text = format!(
            "{}: page {} was never written, or was freed; the store has {}, the last of them {}",
            arguments.store.display(),
            arguments.page,
            quantity::counted(store.pages().count() as u64, "page", "pages"),
            store.pages().last().map_or_else(|| "none".to_owned(), |page| page.to_string()),
        );
        return Err(Failure::NotFound(text).into());
    }
    let mut content = vec![0; store.page_bytes()];
    store.read(arguments.page, &mut content)?;
    let Some(path) = &arguments.output else {
        let mut target = stdout::data();
        target.write_all(&content)?;
        return Ok(target.flush()?);
    };
    check_apart(&arguments.store, path)?;
    let named = || path.display().to_string();
    let mut options = File::options();
    let opened = if arguments.force {
        options.write(true).create(true).truncate(true).open(path)
    } else {
        options.write(true).create_new(true).open(path)
    };
    match opened {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            let text = format!("{} exists: --force replaces it", path.display());
            Err(Failure::Conflict(text).into())
        }
        opened => opened.with_context(named)?.write_all(&content).with_context(named),
    }
}

/// Takes a page in.
pub(super) fn put(arguments: &PutArguments, console: Console) -> anyhow::Result<()> {
    let mut store = opened(&arguments.store, Access::Write)?;
    let page_bytes = store.page_bytes();
    // One byte more than fits tells that there is too much, and not how much.
    let limit = page_bytes as u64 + 1;
    let mut content = Vec::new();
    if arguments.file == Path::new("-") {
        std::io::stdin().lock().take(limit).read_to_end(&mut content)?;
    } else {
        let named = || arguments.file.display().to_string();
        let file = File::open(&arguments.file).with_context(named)?;
        file.take(limit).read_to_end(&mut content).with_context(named)?;
    }
    let length = content.len();
    if length > page_bytes || length < page_bytes && !arguments.pad {
        let (more, hint) =
            if length > page_bytes { ("more than ", "") } else { ("", "; --pad adds zeros") };
        let got = length.min(page_bytes);
        let text = format!(
            "{}: pages of this store have {page_bytes} bytes, got {more}{got}{hint}",
            arguments.file.display()
        );
        return Err(Failure::Usage(text).into());
    }
    content.resize(page_bytes, 0);
    let mut batch = store.batch()?;
    batch.put(arguments.page, &content)?;
    let generation = batch.commit(Durability::Sync)?;
    store.close()?;
    console.note(format!("page {}, generation {generation}", arguments.page));
    Ok(())
}
