//! Other codecs for the parts of a table, one part after the other: each is committed as soon as it is done, so that what an
//! interruption costs is one part, and the same call again goes on where it was.

use super::locked::LockedTable;
use super::name::PartName;
use super::open::{open_live_part, open_part};
use super::shape::Work;
use super::sidecar::{LivePart, Sidecar};
use super::statistics;
use crate::TableError;
use crate::schema::{ChooseCodec, TableDefinition};
use std::path::Path;
use std::sync::Arc;
use tambour_codec::spec::CodecSpec;
use tambour_part::write::{check_recode, recode};
use tambour_storage::Storage;
use tambour_storage::commit::{self, Replaced};

/// The note of what is done; gone when all is.
const NOTE: &str = "tambour_recompress.txt";
/// Most bytes of it.
const NOTE_BYTES_MAX: u64 = 64 << 20;
const NOTE_HEADER: &str = "tambour recompress 1";

/// What was done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecompressSummary {
    /// Parts that were written anew.
    pub parts: u64,
    /// Parts that an earlier, interrupted call had done.
    pub parts_done_before: u64,
    /// Bytes of the columns of the parts written anew, before ...
    pub bytes_before: u64,
    /// ... and after.
    pub bytes_after: u64,
    /// The same, decoded.
    pub uncompressed: u64,
}

/// Writes all parts of a table with other codecs and puts these into its statement. `choose` gives the codec of a column,
/// or `None` if it stays what it is; columns without any get LZ4, as on writing. Every block is decoded and compared before
/// its part replaces the old one.
///
/// `progress` is told the bytes done so far, before coding.
pub fn recompress(
    storage: &Arc<dyn Storage>,
    path: &Path,
    choose: &ChooseCodec<'_>,
    progress: &mut dyn FnMut(u64),
) -> Result<RecompressSummary, TableError> {
    let mut table = LockedTable::acquire(storage, path, false, "recompressing")?;
    let result = recompress_locked(&mut table, choose, progress);
    if result.is_err() {
        table.discard();
    }
    result
}

fn recompress_locked(
    table: &mut LockedTable,
    choose: &ChooseCodec<'_>,
    progress: &mut dyn FnMut(u64),
) -> Result<RecompressSummary, TableError> {
    let path = table.path().to_owned();
    let Some((mut sidecar, definition)) = table.describe()? else {
        let problem = "it holds neither a sidecar nor parts";
        return Err(TableError::NotATable { path, problem });
    };
    let Some(mut definition) = definition else {
        return Err(TableError::DefinitionUnknown { table: path, operation: "recompressing" });
    };
    definition.choose_codecs(choose);
    let mut note = Note::read(table.storage().as_ref(), &path, definition.stored())?;
    sidecar.statement = definition.stored();
    let mut summary = RecompressSummary::default();
    // Before anything is written: half a table in other codecs helps nobody.
    for live in &sidecar.parts {
        let granularity = Some(definition.index_granularity());
        let part = open_live_part(table.storage(), &path, live, granularity)?;
        check_recode(&part, &|name| codec_of(&definition, name))
            .map_err(TableError::part(&path, &live.name))?;
    }
    for index in 0..sidecar.parts.len() {
        if note.done.contains(&sidecar.parts[index].hash) {
            summary.parts_done_before += 1;
            continue;
        }
        let (next, live) =
            replace_part(table, &definition, sidecar.clone(), index, &mut summary, progress)?;
        note.done.push(live.hash.clone());
        // Before the commit: a note of a part that never came to be does no harm.
        note.write(table.storage().as_ref(), &path)?;
        table.commit(next)?;
        let Some((now, _)) = table.describe()? else { break };
        sidecar = now;
    }
    if summary.parts == 0 {
        // The statement may be all that is left to do: parts whose bytes stay the same count as done after an interruption.
        table.commit(sidecar)?;
    }
    Note::remove(table.storage().as_ref(), &path)?;
    Ok(summary)
}

/// The codec of a column; of those that the statement does not name, LZ4.
fn codec_of(definition: &TableDefinition, name: &str) -> CodecSpec {
    let column = definition.columns.iter().find(|column| column.column.name == name);
    column.and_then(|column| column.codec.clone()).unwrap_or_else(CodecSpec::lz4)
}

/// Writes a part anew and puts it into the sidecar in place of the old one.
fn replace_part(
    table: &LockedTable,
    definition: &TableDefinition,
    mut next: Sidecar,
    index: usize,
    summary: &mut RecompressSummary,
    progress: &mut dyn FnMut(u64),
) -> Result<(Sidecar, LivePart), TableError> {
    let (storage, path) = (table.storage(), table.path());
    let old = next.parts[index].clone();
    let granularity = Some(definition.index_granularity());
    let part = Arc::new(open_live_part(storage, path, &old, granularity)?);
    let work = Work::begin(storage.as_ref(), path, next.next_block);
    let directory = work.directory();
    let codec = |name: &str| codec_of(definition, name);
    let done = summary.uncompressed;
    let mut told = |bytes| progress(done + bytes);
    let recoded = recode(&part, storage, &path.join(&directory), &codec, &mut told)
        .map_err(TableError::part(path, &old.name))?;
    let name = PartName::parse(&old.name).and_then(|name| PartName::merged(&[name]));
    let name = name.ok_or_else(|| TableError::Unsupported {
        path: path.to_owned(),
        what: "a part of a level above 4294967295".to_owned(),
    })?;
    let written = open_part(storage, &path.join(&directory), granularity)
        .map_err(TableError::part(path, &directory))?;
    let written = Arc::new(written);
    statistics::keep_again(storage.as_ref(), path, &part, &written)?;
    let live = LivePart::new(&name, Some(directory), written.content_hash(), written.rows());
    next.parts[index] = live.clone();
    next.removed.push(old.name);
    next.next_block += 1;
    summary.parts += 1;
    summary.bytes_before += recoded.bytes_before;
    summary.bytes_after += recoded.bytes_after;
    summary.uncompressed += recoded.uncompressed;
    Ok((next, live))
}

/// What an earlier call for the same statement has done.
struct Note {
    statement: String,
    /// Hashes of the new parts.
    done: Vec<String>,
}

impl Note {
    /// The note in the directory, if it is about the same codecs; an empty one otherwise.
    fn read(storage: &dyn Storage, path: &Path, statement: String) -> Result<Self, TableError> {
        let file = path.join(NOTE);
        let mut note = Self { statement, done: Vec::new() };
        if !commit::exists(storage, &file)? {
            return Ok(note);
        }
        let bytes = storage.read(&file, NOTE_BYTES_MAX).map_err(TableError::file("read", &file))?;
        let text = String::from_utf8_lossy(&bytes);
        // A damaged note is not a note: parts are only done once more.
        if let Some(hashes) = text.strip_prefix(&note.header()) {
            note.done = hashes.lines().map(str::to_owned).collect();
        }
        Ok(note)
    }

    fn header(&self) -> String {
        format!("{NOTE_HEADER}\n{:?}\n", self.statement)
    }

    fn write(&self, storage: &dyn Storage, path: &Path) -> Result<(), TableError> {
        let text = self.header() + &self.done.join("\n") + "\n";
        match commit::replace(storage, path, NOTE, text.as_bytes()) {
            Replaced::Durable => Ok(()),
            Replaced::Unchanged(error) | Replaced::Unknown(error) => Err(error.into()),
        }
    }

    fn remove(storage: &dyn Storage, path: &Path) -> Result<(), TableError> {
        for name in [NOTE.to_owned(), commit::aside(NOTE)] {
            let file = path.join(name);
            if commit::exists(storage, &file)? {
                commit::remove_file(storage, &file)?;
            }
        }
        Ok(())
    }
}

/// Other changes of a table make an end of a work that was interrupted; its note would do no harm, and be in the way.
pub(super) fn forget(table: &LockedTable) -> Result<(), TableError> {
    Note::remove(table.storage().as_ref(), table.path())
}
