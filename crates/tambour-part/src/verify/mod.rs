//! Verifying: reads and checks everything that a part has, and goes on after each thing that is wrong.

mod bounds;

use crate::manifest::TEXT_BYTES_MAX;
use crate::manifest::substreams::{self, SUBSTREAMS_FILE};
use crate::part::{
    COMPACT_FILE, OpenOptions, PROJECTION_SUFFIX, Part, PartFiles, PartReader, SKIP_INDEX_PREFIX,
    StoredColumn, refuse_holes,
};
use crate::stream::{blocks, headers::BlockInfo};
use crate::types::Strings;
use crate::{PartError, Place};
use bounds::Bounds;
use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::sync::Arc;
use tambour_codec::Kind;
use tambour_kernel::hash::Hash128;
use tambour_storage::Storage;

/// Rows that are decoded at once.
const BATCH_ROWS: usize = 65_536;

/// One thing that `verify` found.
#[derive(Debug)]
pub struct Damage {
    /// What and where.
    pub error: PartError,
}

/// What `verify` saw.
#[derive(Debug, Default)]
pub struct Verification {
    /// Files looked at.
    pub files: u64,
    /// Blocks whose checksum was verified.
    pub blocks: u64,
    /// Compressed bytes read.
    pub bytes: u64,
    /// Rows decoded, per column all of them.
    pub rows: u64,
    /// All that is wrong; empty means good. A column that this version cannot read is listed too (kind `Unsupported`),
    /// since nothing is known of its values.
    pub damage: Vec<Damage>,
}

impl Verification {
    fn note<T>(&mut self, result: Result<T, PartError>) -> Option<T> {
        result.map_err(|error| self.damage.push(Damage { error })).ok()
    }
}

/// Blocks of each file, where all of them are good.
type FileBlocks = BTreeMap<String, Vec<BlockInfo>>;

/// Verifies an opened part.
pub(crate) fn verify(part: &Arc<Part>) -> Verification {
    let mut seen = Verification::default();
    // It can be read without, but then nobody knows whether all of it is there.
    seen.note(part.files.require_sums());
    let blocks = check_files(&part.files, &mut seen);
    check_part(part, &blocks, &mut seen);
    for name in part.projections() {
        if let Some(projection) = seen.note(part.projection(&name)) {
            check_projection(part, &Arc::new(projection), &mut seen);
        }
    }
    seen
}

/// Verifies a projection as the part that it is, and compares it with the list of its part.
fn check_projection(part: &Part, projection: &Arc<Part>, seen: &mut Verification) {
    let found = verify(projection);
    seen.files += found.files;
    seen.blocks += found.blocks;
    seen.bytes += found.bytes;
    seen.rows += found.rows;
    // Nobody reads the states of aggregates here, so one that cannot be read is not damage.
    seen.damage.extend(found.damage.into_iter().filter(|it| it.error.kind() != Kind::Unsupported));
    let directory = projection.path().file_name().unwrap_or_default().to_string_lossy();
    if let (Some(sum), Some(hash)) = (part.files.sum(&directory), projection.hash_of_sums()) {
        seen.note(part.files.check_hash(&directory, "hash", sum.hash, Hash128::from_bytes(hash)));
    }
}

/// Verifies what is in a directory, as far as possible.
pub(crate) fn verify_at(
    storage: &Arc<dyn Storage>,
    path: &Path,
    options: &OpenOptions,
) -> Verification {
    let mut seen = Verification::default();
    let opened = Part::open_with(storage, path, options).map(Arc::new);
    if let Some(part) = seen.note(opened) {
        return verify(&part);
    }
    // What kept the part from being opened is noted; the blocks of its files can still be looked at.
    if let Ok(mut files) = PartFiles::list(storage, path) {
        drop(files.load_sums());
        check_files(&files, &mut seen);
    }
    seen
}

/// Checks presence, sizes and hashes of all files and the blocks in them.
fn check_files(files: &PartFiles, seen: &mut Verification) -> FileBlocks {
    for (_, _, presence) in files.listed() {
        seen.note(presence);
    }
    for directory in &files.directories {
        let listed = files.sums.is_none() || files.sum(directory).is_some();
        if !(directory.ends_with(PROJECTION_SUFFIX) && listed) {
            let place = Box::new(files.place(directory));
            seen.note::<()>(Err(PartError::Unlisted { place }));
        }
    }
    let mut good = FileBlocks::new();
    for (name, length) in &files.lengths {
        seen.files += 1;
        if files.sums.is_some() && seen.note(files.require(name)).is_none() {
            continue;
        }
        seen.bytes += length;
        let mut errors = Vec::new();
        let blocks = check_file(files, name, &mut errors);
        let whole = errors.is_empty();
        seen.damage.extend(errors.into_iter().map(|error| Damage { error }));
        if let Some(blocks) = seen.note(blocks) {
            seen.blocks += blocks.len() as u64;
            if whole {
                good.insert(name.clone(), blocks);
            }
        }
    }
    good
}

/// True for a file that is a run of blocks. Of the files of skip indexes it is those that checksums.txt says so of.
fn has_blocks(files: &PartFiles, name: &str) -> bool {
    if name.starts_with(SKIP_INDEX_PREFIX) {
        return files.sum(name).is_some_and(|sum| sum.contents.is_some());
    }
    let Some((_, extension)) = name.rsplit_once('.') else { return false };
    matches!(extension, "bin" | "cidx" | "cmrk" | "cmrk2" | "cmrk3" | "cmrk4")
}

/// Checks one file against its sums; its blocks. What is wrong with single blocks goes to `errors`, and then the file's
/// sums say nothing more.
fn check_file(
    files: &PartFiles,
    name: &str,
    errors: &mut Vec<PartError>,
) -> Result<Vec<BlockInfo>, PartError> {
    let path = files.path_of(name);
    let file = files.storage.open(&path).map_err(|cause| PartError::io(&path, "open", cause))?;
    refuse_holes(file.as_ref(), &path)?;
    let scanned = blocks::scan(file.as_ref(), &path, has_blocks(files, name), errors)?;
    let Some(sum) = files.sum(name).filter(|sum| sum.size == scanned.size && errors.is_empty())
    else {
        return Ok(scanned.blocks);
    };
    files.check_hash(name, "hash", sum.hash, scanned.hash)?;
    // The contents of a compact part's data.bin are summed up in a way of their own.
    if let (Some((size, hash)), true) =
        (sum.contents, has_blocks(files, name) && name != COMPACT_FILE)
    {
        let (got_size, got_hash) = scanned.contents;
        if size != got_size {
            let place = files.place(name);
            return Err(PartError::mismatch(place, "size of the contents", size, got_size));
        }
        files.check_hash(name, "hash of the contents", hash, got_hash)?;
    }
    Ok(scanned.blocks)
}

/// Checks marks, index, values and ranges of an opened part.
fn check_part(part: &Arc<Part>, blocks: &FileBlocks, seen: &mut Verification) {
    for column in part.unreadable_columns() {
        let place = Place::file(part.path()).of_column(&column.name);
        let what = format!("type {} as it lies in the part", column.type_text);
        seen.note::<()>(Err(PartError::unsupported(place, what)));
    }
    check_substreams(part, seen);
    if part.has_primary_index() {
        // The entries cannot be told apart without the types of the key, which the part does not say.
        seen.note(part.index_bytes());
    }
    check_compact_marks(part, blocks, seen);
    let mut streams = HashSet::new();
    for column in part.stored.iter().chain(&part.row_exists) {
        let good_marks = part.compact.is_some() || {
            let stems = column.streams.iter().map(|stream| part.files.stem(&stream.name.0));
            let results: Vec<_> = stems
                .map(|stem| {
                    !streams.insert(stem.clone())
                        || seen.note(check_stream_marks(part, &stem, blocks)).is_some()
                })
                .collect();
            results.into_iter().all(|good| good)
        };
        let good_blocks = column_files(part, column).all(|file| blocks.contains_key(&file));
        if good_marks && good_blocks {
            let rows = seen.note(check_values(part, column));
            seen.rows += rows.unwrap_or(0);
        }
    }
}

/// The data files of a column.
fn column_files<'a>(
    part: &'a Part,
    column: &'a StoredColumn,
) -> Box<dyn Iterator<Item = String> + 'a> {
    if part.compact.is_some() {
        return Box::new(std::iter::once(COMPACT_FILE.to_owned()));
    }
    let stems = column.streams.iter().map(|stream| part.files.stem(&stream.name.0));
    Box::new(stems.map(|stem| format!("{stem}.bin")))
}

/// `columns_substreams.txt` is needed by some compact parts only, but where it is it must be right.
fn check_substreams(part: &Part, seen: &mut Verification) {
    let files = &part.files;
    if !files.has(SUBSTREAMS_FILE) {
        return;
    }
    let listed = files
        .read(SUBSTREAMS_FILE, TEXT_BYTES_MAX)
        .and_then(|bytes| substreams::parse(&files.path_of(SUBSTREAMS_FILE), &bytes));
    let Some(listed) = seen.note(listed) else { return };
    let listed: BTreeMap<String, Vec<String>> = listed.into_iter().collect();
    for column in part.stored.iter().chain(&part.row_exists) {
        let name = &column.column.name;
        let streams = listed.get(name);
        let wanted = column.streams.iter().map(|stream| &stream.name.0);
        if !streams.is_some_and(|streams| wanted.eq(streams)) {
            let place = files.place(SUBSTREAMS_FILE).of_column(name);
            let error = PartError::malformed(place, "streams are not those of its type");
            seen.note::<()>(Err(error));
        }
    }
}

/// Marks of a stream lead to starts of blocks and into them.
fn check_stream_marks(part: &Part, stem: &str, blocks: &FileBlocks) -> Result<(), PartError> {
    let marks = part.stream_marks(stem)?;
    let data = format!("{stem}.bin");
    let Some(blocks) = blocks.get(&data) else { return Ok(()) };
    check_places(part, &part.marks_name(stem), marks.of_stream(0), blocks, &data)
}

fn check_compact_marks(part: &Part, blocks: &FileBlocks, seen: &mut Verification) {
    let (Some(compact), Some(blocks)) = (&part.compact, blocks.get(COMPACT_FILE)) else { return };
    let name = format!("data.{}", part.mark_extension());
    for stream in 0..compact.marks.width() {
        let marks = compact.marks.of_stream(stream);
        let checked = check_places(part, &name, marks, blocks, COMPACT_FILE);
        if seen.note(checked).is_none() {
            return;
        }
    }
}

fn check_places(
    part: &Part,
    name: &str,
    marks: impl Iterator<Item = crate::mark::Mark>,
    blocks: &[BlockInfo],
    data: &str,
) -> Result<(), PartError> {
    let end = part.files.length(data);
    for (record, mark) in marks.enumerate() {
        let found = blocks.binary_search_by_key(&mark.block, |block| block.start);
        let size = match found.ok().and_then(|index| blocks.get(index)) {
            Some(block) => u64::from(block.header.uncompressed_size),
            None if mark.block == end => 0,
            None => {
                let reason =
                    format!("mark {record} leads to {}, where no block starts", mark.block);
                return Err(PartError::malformed(part.files.place(name), reason));
            }
        };
        if mark.offset > size {
            let place = part.files.place(name);
            return Err(PartError::mismatch(
                place,
                "offset of a mark in its block",
                size,
                mark.offset,
            ));
        }
    }
    Ok(())
}

/// Decodes all values of a column, and compares them with its range if it has one; the number of rows.
fn check_values(part: &Arc<Part>, column: &StoredColumn) -> Result<u64, PartError> {
    let bounds = Bounds::of(part, &column.column)?;
    let reader = PartReader::unmasked(part, column.clone(), Strings::Binary, BATCH_ROWS)?;
    let mut rows = 0;
    for batch in reader {
        let batch = batch?;
        if let Some(bounds) = &bounds {
            bounds.check(batch.column(0), rows)?;
        }
        rows += batch.num_rows() as u64;
    }
    if rows == part.rows() {
        return Ok(rows);
    }
    let place = Place::file(part.path()).of_column(&column.column.name);
    Err(PartError::mismatch(place, "number of rows", part.rows(), rows))
}
