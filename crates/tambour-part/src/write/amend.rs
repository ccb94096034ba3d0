//! The same part with other columns: some have new values, some are gone, some have another name. What stays is not written again: the
//! files of the old part get a second name.

use super::column::{ColumnEncoder, Piece, learned_rows};
use super::recode::seal;
use super::{Dialect, check_dialect};
use crate::column::{StreamName, check_shared_sizes, streams};
use crate::manifest::TEXT_BYTES_MAX;
use crate::manifest::checksums::{CHECKSUMS_FILE, Checksums};
use crate::manifest::columns::{self, COLUMNS_FILE, ColumnLine};
use crate::manifest::guard::GUARD_FILE;
use crate::manifest::serialization::{self, SERIALIZATION_FILE, Serialization};
use crate::manifest::substreams::{self, SUBSTREAMS_FILE};
use crate::name::file_stem;
use crate::part::{Form, Part, SKIP_INDEX_PREFIX, StoredColumn, file_hash};
use crate::read::PartReader;
use crate::statistics::{ColumnStatistics, Gatherer};
use crate::stream::write::write_file;
use crate::types::{Column, DataType, Strings};
use crate::{PartError, Place};
use arrow_array::cast::AsArray;
use arrow_array::types::UInt8Type;
use arrow_array::{RecordBatch, UInt64Array};
use arrow_select::take::take_record_batch;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tambour_codec::spec::CodecSpec;
use tambour_storage::Storage;

/// Rows of a mask that are read at a time.
const BATCH_ROWS: usize = 1 << 20;

/// What becomes of the columns of a part.
#[derive(Clone, Debug, Default)]
pub struct Amendment {
    /// Columns that go.
    pub dropped: Vec<String>,
    /// Columns that get another name: the old one and the new one.
    pub renamed: Vec<(String, String)>,
    /// Columns that get values, in the place of one of the same name or as new ones.
    pub written: Vec<(Column, CodecSpec)>,
    /// True if skip indexes may be about other values from now on: they are left out, and servers read on without them.
    pub drops_indices: bool,
}

impl Amendment {
    /// The name that a column has from now on; nothing if it goes, or is written.
    fn kept(&self, name: &str) -> Option<String> {
        if self.dropped.iter().any(|it| it == name) {
            return None;
        }
        let renamed = self.renamed.iter().find(|(from, _)| from == name);
        let kept = renamed.map_or(name, |(_, to)| to);
        let is_written = self.written.iter().any(|(column, _)| column.name == kept);
        (!is_written).then(|| kept.to_owned())
    }
}

/// True of a part that can have other columns beside its old ones: a wide one with checksums and without projections, none of
/// whose other columns shares a file with one that is written.
pub fn can_amend(part: &Part, amendment: &Amendment) -> bool {
    let is_fixed = ["mrk", "cmrk"].contains(&part.mark_extension());
    let is_whole = part.form() == Form::Wide
        && part.files.directories.is_empty()
        && part.files.sums.is_some()
        && part.unreadable_columns().is_empty()
        && part.files.has(COLUMNS_FILE)
        && part.has_final_mark() != is_fixed;
    if !is_whole {
        return false;
    }
    let mut kept = HashSet::new();
    for column in part.stored.iter().chain(&part.row_exists) {
        if let Some(name) = amendment.kept(&column.column.name) {
            kept.extend(renamed_streams(column, &name));
        }
    }
    let Ok(serialization) = serialization_of(part) else { return false };
    let written = |column: &Column| {
        let streams = streams(&column.name, &column.data_type, &serialization.plain());
        streams.into_iter().map(|stream| stream.name)
    };
    // A column that another one of its Nested shares sizes with is only written together with it.
    let is_apart = amendment
        .written
        .iter()
        .all(|(column, _)| written(column).all(|stream| !kept.contains(&stream)));
    let is_anything = !kept.is_empty() || !amendment.written.is_empty();
    is_apart && is_anything
}

/// The names of a column's streams under another name.
fn renamed_streams(stored: &StoredColumn, name: &str) -> Vec<StreamName> {
    let streams = streams(name, &stored.column.data_type, &stored.layout);
    streams.into_iter().map(|stream| stream.name).collect()
}

fn serialization_of(part: &Part) -> Result<Serialization, PartError> {
    if !part.files.has(SERIALIZATION_FILE) {
        return Ok(Serialization::default());
    }
    let bytes = part.files.read(SERIALIZATION_FILE, TEXT_BYTES_MAX)?;
    Serialization::parse(&part.files.path_of(SERIALIZATION_FILE), &bytes)
}

/// Writes a part into a new directory that has the files of another one, but for some columns.
#[derive(Debug)]
pub struct Amender {
    part: Arc<Part>,
    storage: Arc<dyn Storage>,
    target: PathBuf,
    amendment: Amendment,
    columns: Vec<Column>,
    encoders: Vec<ColumnEncoder>,
    gatherers: Vec<Option<Gatherer>>,
    /// Where rows go: the granule, and rows in it so far.
    granule: usize,
    filled: u64,
    /// Stored rows so far.
    rows: u64,
    /// Of each stored row, whether it is there; nothing if all are, or all come.
    exists: Option<Vec<u8>>,
}

impl Amender {
    /// Creates the directory. An error of a part that is none for [`can_amend`].
    pub fn create(
        part: &Arc<Part>,
        storage: &Arc<dyn Storage>,
        target: &Path,
        amendment: Amendment,
    ) -> Result<Self, PartError> {
        let exists = match &part.row_exists {
            Some(mask) if !amendment.written.is_empty() => Some(read_mask(part, mask)?),
            _ => None,
        };
        let amender = Self::over_stored_rows(part, storage, target, amendment)?;
        Ok(Self { exists, ..amender })
    }

    /// The same, for values of every stored row, those included that a mask hides.
    pub(super) fn over_stored_rows(
        part: &Arc<Part>,
        storage: &Arc<dyn Storage>,
        target: &Path,
        amendment: Amendment,
    ) -> Result<Self, PartError> {
        if !can_amend(part, &amendment) {
            let what = "other columns beside the old ones of a part that is compact, has projections or no checksums";
            return Err(PartError::unsupported(Place::file(part.path()), what));
        }
        let is_old = !part.has_final_mark();
        let layout = serialization_of(part)?.plain();
        let is_dictionary =
            |column: &Column| matches!(column.data_type, DataType::LowCardinality(_));
        let dictionaries =
            amendment.written.iter().filter(|(column, _)| is_dictionary(column)).count();
        let mut owners = HashMap::new();
        let mut encoders = Vec::with_capacity(amendment.written.len());
        for (column, codec) in &amendment.written {
            let dialect = if is_old { Dialect::Old } else { Dialect::New };
            check_dialect(dialect, &column.name, codec)?;
            let codec = if is_old { codec.plain() } else { codec.clone() };
            let layout = (&layout, learned_rows(dictionaries));
            let place = (storage, target);
            encoders.push(ColumnEncoder::new(place, column, &codec, layout, &mut owners)?);
        }
        let created = storage.create_directory(target);
        created.map_err(|cause| PartError::io(target, "create directory", cause))?;
        let columns: Vec<Column> = amendment.written.iter().map(|(it, _)| it.clone()).collect();
        Ok(Self {
            part: Arc::clone(part),
            storage: Arc::clone(storage),
            target: target.to_owned(),
            gatherers: columns.iter().map(Gatherer::new).collect(),
            amendment,
            columns,
            encoders,
            granule: 0,
            filled: 0,
            rows: 0,
            exists: None,
        })
    }

    /// Appends values of the written columns, in their order, for the next rows that the part shows.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<(), PartError> {
        if batch.num_columns() != self.columns.len() {
            let wanted = self.columns.len();
            let reason = format!("batch has {} columns, {wanted} are written", batch.num_columns());
            return Err(PartError::argument(reason));
        }
        if batch.num_rows() == 0 {
            return Ok(());
        }
        let Some(exists) = &self.exists else { return self.append(batch) };
        let start = usize::try_from(self.rows).unwrap_or(usize::MAX);
        let mut shown = 0;
        let mut sources = Vec::with_capacity(batch.num_rows());
        for exists in exists.get(start..).unwrap_or_default() {
            if *exists != 0 {
                if shown == batch.num_rows() {
                    break;
                }
                shown += 1;
            }
            // A hidden row has the values of the one before: what they are matters to nobody.
            sources.push(shown.saturating_sub(1) as u64);
        }
        if shown < batch.num_rows() {
            return Err(self.too_many());
        }
        let spread = take_record_batch(batch, &UInt64Array::from(sources));
        self.append(&spread.map_err(|error| PartError::argument(error.to_string()))?)
    }

    fn too_many(&self) -> PartError {
        let reason = format!("more rows than the {} of the part", self.part.rows());
        PartError::value(Place::file(self.part.path()), reason)
    }

    /// Appends values of stored rows.
    fn append(&mut self, batch: &RecordBatch) -> Result<(), PartError> {
        check_shared_sizes(&self.columns, batch.columns(), self.rows)?;
        let mut pieces = Vec::new();
        let mut start = 0;
        while start < batch.num_rows() {
            let Some(rows) = self.part.granules().get(self.granule).copied() else {
                return Err(self.too_many());
            };
            let room = usize::try_from(rows - self.filled).unwrap_or(usize::MAX);
            let count = room.min(batch.num_rows() - start);
            pieces.push(Piece { start, rows: count, opens: self.filled == 0 });
            start += count;
            self.filled += count as u64;
            if self.filled == rows {
                (self.granule, self.filled) = (self.granule + 1, 0);
            }
        }
        let columns = self.encoders.iter_mut().zip(&mut self.gatherers).zip(batch.columns());
        for ((encoder, gatherer), values) in columns {
            if let Some(gatherer) = gatherer {
                let add = |piece: &Piece| {
                    gatherer.add(&values.slice(piece.start, piece.rows), piece.opens);
                };
                pieces.iter().for_each(add);
            }
            encoder.write(values, &pieces)?;
        }
        self.rows += batch.num_rows() as u64;
        Ok(())
    }

    /// Links what stays, writes the lists, and syncs the directory; the statistics of the written columns. Files that are only linked are
    /// not synced. On an error the directory is left as it is, for the caller to remove.
    pub fn finish(mut self) -> Result<Vec<ColumnStatistics>, PartError> {
        let (got, rows) = (self.rows, self.part.rows());
        if !self.columns.is_empty() && got != rows {
            let place = Place::file(self.part.path());
            return Err(PartError::mismatch(place, "number of rows written", rows, got));
        }
        let Some(before) = self.part.files.sums.clone() else {
            return Err(PartError::argument("a part without checksums"));
        };
        let mut sums = before.clone();
        self.link(&mut sums)?;
        let granules = self.part.has_final_mark().then(|| self.part.granules());
        let extension = self.part.mark_extension();
        for encoder in std::mem::take(&mut self.encoders) {
            let files = encoder.finish(&self.storage, &self.target, extension, granules)?;
            sums.files.extend(files);
        }
        let columns_file = self.write_lists(&mut sums)?;
        let place = (&self.storage, self.target.as_path());
        seal(&self.part, place, &before, sums, Some(file_hash(&columns_file)))?;
        let synced = self.storage.sync_directory(&self.target);
        synced.map_err(|cause| PartError::io(&self.target, "sync directory", cause))?;
        Ok(self.gatherers.into_iter().flatten().filter_map(Gatherer::finish).collect())
    }

    /// Gives every file that stays its name in the new part.
    fn link(&self, sums: &mut Checksums) -> Result<(), PartError> {
        let files = &self.part.files;
        // Where a file goes; nothing if it is left out.
        let mut moved: HashMap<String, Option<String>> = HashMap::new();
        for name in [CHECKSUMS_FILE, COLUMNS_FILE, GUARD_FILE, SUBSTREAMS_FILE, SERIALIZATION_FILE]
        {
            moved.insert(name.to_owned(), None);
        }
        for stored in self.part.stored.iter().chain(&self.part.row_exists) {
            let kept = self.amendment.kept(&stored.column.name);
            let targets = kept.map(|name| renamed_streams(stored, &name)).unwrap_or_default();
            for (at, stream) in stored.streams.iter().enumerate() {
                let stem = files.stem(&stream.name.0);
                let target = targets.get(at).map(|target| {
                    let is_same = *target == stream.name;
                    if is_same { stem.clone() } else { file_stem(&target.0).into_owned() }
                });
                for name in [format!("{stem}.bin"), self.part.marks_name(&stem)] {
                    let extension = name.strip_prefix(&stem).unwrap_or_default();
                    let target = target.as_ref().map(|target| format!("{target}{extension}"));
                    let known = moved.entry(name).or_default();
                    // Sizes of a Nested go with its last column.
                    *known = known.take().or(target);
                }
            }
        }
        sums.files.clear();
        for name in files.lengths.keys() {
            let is_stale = self.amendment.drops_indices && name.starts_with(SKIP_INDEX_PREFIX);
            let target = match moved.get(name) {
                _ if is_stale => continue,
                Some(None) => continue,
                Some(Some(target)) => target,
                None => name,
            };
            if let Some(sum) = files.sum(name) {
                sums.files.insert(target.clone(), *sum);
            }
            let linked = self.storage.link(&files.path_of(name), &self.target.join(target));
            linked.map_err(|cause| PartError::io(&self.target.join(target), "link", cause))?;
        }
        Ok(())
    }

    /// The lists of columns; the bytes of `columns.txt`.
    fn write_lists(&self, sums: &mut Checksums) -> Result<Vec<u8>, PartError> {
        let (files, storage) = (&self.part.files, &self.storage);
        let is_kept = |name: &str| self.amendment.kept(name);
        let path = files.path_of(COLUMNS_FILE);
        let old = columns::parse(&path, &files.read(COLUMNS_FILE, TEXT_BYTES_MAX)?)?;
        let mut lines = Vec::with_capacity(old.len());
        for ColumnLine { name, type_text } in old {
            lines.extend(is_kept(&name).map(|name| ColumnLine { name, type_text }));
        }
        lines.extend(self.columns.iter().map(|column| ColumnLine {
            name: column.name.clone(),
            type_text: column.data_type.to_string(),
        }));
        let columns_file = columns::print_lines(&lines).into_bytes();
        write_file(storage, self.target.join(COLUMNS_FILE), &columns_file)?;
        if files.has(SUBSTREAMS_FILE) {
            let path = files.path_of(SUBSTREAMS_FILE);
            let old = substreams::parse(&path, &files.read(SUBSTREAMS_FILE, TEXT_BYTES_MAX)?)?;
            let text = substreams::print(&self.substreams(old)?);
            write_file(storage, self.target.join(SUBSTREAMS_FILE), text.as_bytes())?;
        }
        if files.has(SERIALIZATION_FILE) {
            let path = files.path_of(SERIALIZATION_FILE);
            let old = files.read(SERIALIZATION_FILE, TEXT_BYTES_MAX)?;
            let text = serialization::amended(&path, &old, &is_kept)?;
            let sum = write_file(storage, self.target.join(SERIALIZATION_FILE), &text)?;
            sums.files.insert(SERIALIZATION_FILE.to_owned(), sum);
        }
        Ok(columns_file)
    }

    fn substreams(&self, old: substreams::Substreams) -> Result<substreams::Substreams, PartError> {
        let mut listed = Vec::with_capacity(old.len());
        for (column, names) in old {
            let Some(name) = self.amendment.kept(&column) else { continue };
            let mut stored = self.part.stored.iter().chain(&self.part.row_exists);
            let found = stored.find(|it| it.column.name == column).filter(|_| name != column);
            let names = match found {
                Some(stored) => renamed_streams(stored, &name).into_iter().map(|it| it.0).collect(),
                None => names,
            };
            listed.push((name, names));
        }
        let layout = serialization_of(&self.part)?.plain();
        for column in &self.columns {
            let streams = streams(&column.name, &column.data_type, &layout).into_iter();
            listed.push((column.name.clone(), streams.map(|it| it.name.0).collect()));
        }
        Ok(listed)
    }
}

/// One for each stored row that is there, zero for one that is not.
pub(super) fn read_mask(part: &Arc<Part>, mask: &StoredColumn) -> Result<Vec<u8>, PartError> {
    let rows = usize::try_from(part.rows()).unwrap_or(usize::MAX);
    let mut exists = Vec::with_capacity(rows);
    for batch in PartReader::unmasked(part, mask.clone(), Strings::Binary, BATCH_ROWS)? {
        let batch = batch?;
        let values = batch.column(0).as_primitive::<UInt8Type>().values();
        exists.extend(values.iter().map(|value| u8::from(*value != 0)));
    }
    Ok(exists)
}
