//! The same part with some of its rows hidden: a lightweight delete. The column `_row_exists` says which rows are there; all other
//! files are those of the old part, under another name.

use super::column::{ColumnEncoder, Piece};
use super::recode::seal;
use crate::column::Layout;
use crate::manifest::TEXT_BYTES_MAX;
use crate::manifest::checksums::CHECKSUMS_FILE;
use crate::manifest::columns::{self, COLUMNS_FILE};
use crate::manifest::guard::GUARD_FILE;
use crate::manifest::substreams::{self, SUBSTREAMS_FILE};
use crate::part::{Form, Part, ROW_EXISTS, file_hash};
use crate::read::PartReader;
use crate::stream::write::write_file;
use crate::types::{Column, DataType, Strings};
use crate::{PartError, Place};
use arrow_array::cast::AsArray;
use arrow_array::types::UInt8Type;
use arrow_array::{ArrayRef, UInt8Array};
use arrow_buffer::BooleanBuffer;
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;
use tambour_codec::spec::CodecSpec;
use tambour_storage::Storage;

/// Rows of an older mask that are read at a time.
const BATCH_ROWS: usize = 1 << 20;

/// True of a part that can have a mask: a wide one of the new dialect, without projections (they would show the rows), whose
/// older mask, if it has one, is a plain column.
pub fn can_mask(part: &Part) -> bool {
    let is_plain = part.row_exists.as_ref().is_none_or(|mask| !mask.layout.sparse);
    let format = part.format;
    let is_new = ["mrk2", "cmrk2"].contains(&format.extension) && part.has_final_mark();
    let is_whole = part.files.directories.is_empty() && part.files.sums.is_some();
    part.form() == Form::Wide && is_new && is_whole && is_plain
}

/// Writes a part into a new directory in which rows are hidden: those whose bit is set, counted over the rows that the part shows.
/// The rows that are left. On an error the directory is left as it is, for the caller to remove. Files that are only linked are
/// not synced.
pub fn mask(
    part: &Arc<Part>,
    storage: &Arc<dyn Storage>,
    target: &Path,
    deleted: &BooleanBuffer,
) -> Result<u64, PartError> {
    let (Some(before), true) = (part.files.sums.clone(), can_mask(part)) else {
        let what = "a mask of deleted rows for a part that is compact, old or has projections";
        return Err(PartError::unsupported(Place::file(part.path()), what));
    };
    let exists = exists(part, deleted)?;
    let left = exists.iter().map(|exists| u64::from(*exists)).sum();
    let created = storage.create_directory(target);
    created.map_err(|cause| PartError::io(target, "create directory", cause))?;

    let mut sums = before.clone();
    let mut replaced: HashSet<String> =
        [CHECKSUMS_FILE, COLUMNS_FILE, GUARD_FILE, SUBSTREAMS_FILE].map(str::to_owned).into();
    for stream in part.row_exists.iter().flat_map(|mask| &mask.streams) {
        let stem = part.files.stem(&stream.name.0);
        for name in [part.marks_name(&stem), format!("{stem}.bin")] {
            sums.files.remove(&name);
            replaced.insert(name);
        }
    }
    sums.files.extend(write_mask(part, storage, target, exists)?);
    let columns_file = write_lists(part, storage, target)?;
    seal(part, (storage, target), &before, sums, Some(file_hash(&columns_file)))?;
    for name in part.files.lengths.keys().filter(|name| !replaced.contains(*name)) {
        let linked = storage.link(&part.files.path_of(name), &target.join(name));
        linked.map_err(|cause| PartError::io(&target.join(name), "link", cause))?;
    }
    let synced = storage.sync_directory(target);
    synced.map_err(|cause| PartError::io(target, "sync directory", cause))?;
    Ok(left)
}

/// One for each stored row that is there, zero for one that is not.
fn exists(part: &Arc<Part>, deleted: &BooleanBuffer) -> Result<Vec<u8>, PartError> {
    let rows = usize::try_from(part.rows()).unwrap_or(usize::MAX);
    let mut exists = match &part.row_exists {
        None => vec![1; rows],
        Some(mask) => {
            let mut exists = Vec::with_capacity(rows);
            let reader = PartReader::unmasked(part, mask.clone(), Strings::Binary, BATCH_ROWS)?;
            for batch in reader {
                let batch = batch?;
                let values = batch.column(0).as_primitive::<UInt8Type>().values();
                exists.extend(values.iter().map(|value| u8::from(*value != 0)));
            }
            exists
        }
    };
    let mut shown = 0;
    for exists in exists.iter_mut().filter(|exists| **exists != 0) {
        if shown < deleted.len() && deleted.value(shown) {
            *exists = 0;
        }
        shown += 1;
    }
    if exists.len() != rows || deleted.len() > shown {
        let reason = format!("a mask of {} rows for a part that shows {shown}", deleted.len());
        return Err(PartError::argument(reason));
    }
    Ok(exists)
}

/// The files of the mask.
fn write_mask(
    part: &Part,
    storage: &Arc<dyn Storage>,
    target: &Path,
    exists: Vec<u8>,
) -> Result<Vec<(String, crate::manifest::checksums::FileSum)>, PartError> {
    let codec = CodecSpec::lz4();
    let place = (storage, target);
    let layout = (&Layout::default(), 0);
    let mut encoder = ColumnEncoder::new(place, &column(), &codec, layout, &mut HashMap::new())?;
    let mut pieces = Vec::with_capacity(part.granules().len());
    let mut start = 0;
    for rows in part.granules() {
        let rows = usize::try_from(*rows).unwrap_or(usize::MAX);
        pieces.push(Piece { start, rows, opens: true });
        start += rows;
    }
    let values: ArrayRef = Arc::new(UInt8Array::from(exists));
    encoder.write(&values, &pieces)?;
    encoder.finish(storage, target, part.mark_extension(), Some(part.granules()))
}

fn column() -> Column {
    Column { name: ROW_EXISTS.to_owned(), data_type: DataType::UInt8 }
}

/// The lists of columns, with the mask among them; the bytes of `columns.txt`.
fn write_lists(
    part: &Part,
    storage: &Arc<dyn Storage>,
    target: &Path,
) -> Result<Vec<u8>, PartError> {
    let files = &part.files;
    let is_listed = part.row_exists.is_some();
    let mut columns_file = files.read(COLUMNS_FILE, TEXT_BYTES_MAX)?;
    if !is_listed {
        let path = files.path_of(COLUMNS_FILE);
        columns_file = columns::appended(&path, &columns_file, &column())?.into_bytes();
    }
    write_file(storage, target.join(COLUMNS_FILE), &columns_file)?;
    if files.has(SUBSTREAMS_FILE) {
        let mut text = files.read(SUBSTREAMS_FILE, TEXT_BYTES_MAX)?;
        if !is_listed {
            let path = files.path_of(SUBSTREAMS_FILE);
            text = substreams::appended(&path, &text, ROW_EXISTS)?.into_bytes();
        }
        write_file(storage, target.join(SUBSTREAMS_FILE), &text)?;
    }
    Ok(columns_file)
}
