//! Parquet files.

use super::facts::{Facts, is_text};
use super::{Columns, SAMPLE_ROWS, Target, guarded};
use crate::FileError;
use crate::pipeline::{Exit, Gone, Line};
use crate::source::open_file;
use arrow_schema::{DataType as Arrow, Field, Fields, Schema, SchemaRef};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader,
    ParquetRecordBatchReaderBuilder,
};
use parquet::basic::LogicalType;
use parquet::errors::ParquetError;
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use parquet::file::statistics::Statistics;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tambour_part::DataType;
use tambour_part::types::TYPE_KEY;

/// Bytes of a row group that are worth a job of their own.
const BATCH_ROWS: usize = 8_192;

/// A sample has this many row groups at most, ...
const PIECES: usize = 8;
/// ... and this many rows of each.
const PIECE_ROWS: usize = 1 << 17;

/// A Parquet file whose footer has been read and checked.
#[derive(Clone, Debug)]
pub(crate) struct ParquetFile {
    pub(crate) path: PathBuf,
    pub(crate) bytes: u64,
    metadata: ArrowReaderMetadata,
}

fn parquet_error(path: &Path, place: impl Into<String>) -> impl FnOnce(ParquetError) -> FileError {
    let (path, place) = (path.to_owned(), place.into());
    move |source| FileError::Parquet { path, place, source }
}

impl ParquetFile {
    pub(crate) fn open(path: &Path) -> Result<Self, FileError> {
        let (file, bytes) = open_file(path)?;
        if bytes == 0 {
            return Err(FileError::Empty { path: path.to_owned(), what: "the file is empty" });
        }
        let metadata = guarded(path, || {
            ArrowReaderMetadata::load(&file, ArrowReaderOptions::new())
                .map_err(parquet_error(path, "footer"))
        })?;
        check(path, bytes, metadata.metadata())?;
        Ok(Self { path: path.to_owned(), bytes, metadata })
    }

    pub(crate) fn schema(&self) -> &SchemaRef {
        self.metadata.schema()
    }

    fn groups(&self) -> &[RowGroupMetaData] {
        self.metadata.metadata().row_groups()
    }

    /// The columns as a table would have them. With `scan`, statistics are not believed and all is read.
    /// Different texts are counted only if `count`.
    pub(crate) fn columns(&self, scan: bool, count: bool) -> Result<Columns, FileError> {
        let fields = self.schema().fields();
        let mut facts = vec![Facts::default(); fields.len()];
        let (mut unknown, mut texts) = (Vec::new(), Vec::new());
        for (index, field) in fields.iter().enumerate() {
            // What the file says of itself in our own words needs no look.
            let named = field.metadata().contains_key(TYPE_KEY);
            if !named && (scan || !self.by_statistics(index, field, &mut facts[index])) {
                unknown.push(index);
            } else if !named && count && is_text(field.data_type()) {
                texts.push(index);
            }
        }
        self.observe(&unknown, (usize::MAX, count), &mut facts)?;
        self.observe(&texts, (SAMPLE_ROWS, count), &mut facts)?;
        let decide = |(field, facts): (&Arc<Field>, &Facts)| {
            let data_type = facts.decide(field).map_err(|source| FileError::Type {
                path: self.path.clone(),
                column: field.name().clone(),
                data_type: field.data_type().to_string(),
                source: Box::new(source),
            })?;
            Ok((field.name().clone(), data_type))
        };
        let mut columns: Columns =
            fields.iter().zip(&facts).map(decide).collect::<Result<_, FileError>>()?;
        for (index, (_, data_type)) in columns.iter_mut().enumerate() {
            if self.is_uuid(index) {
                *data_type = as_uuid(std::mem::replace(data_type, DataType::Uuid));
            }
        }
        Ok(columns)
    }

    /// True for a flat column that the file calls a UUID, of which the Arrow type says only that it has 16 bytes.
    fn is_uuid(&self, index: usize) -> bool {
        let schema = self.metadata.parquet_schema();
        let leaf =
            (0..schema.num_columns()).find(|&leaf| schema.get_column_root_idx(leaf) == index);
        leaf.is_some_and(|leaf| schema.column(leaf).logical_type_ref() == Some(&LogicalType::Uuid))
    }

    /// Bounds of an integer column by the statistics of all row groups, if they say so.
    pub(crate) fn range(&self, name: &str) -> Option<(i128, i128)> {
        let index = self.schema().index_of(name).ok()?;
        let is_signed = self.schema().field(index).data_type().is_signed_integer();
        let schema = self.metadata.parquet_schema();
        let leaf =
            (0..schema.num_columns()).find(|&leaf| schema.get_column_root_idx(leaf) == index)?;
        let mut bounds: Option<(i128, i128)> = None;
        for group in self.groups() {
            let (least, greatest): (i128, i128) = match group.column(leaf).statistics()? {
                // The order of unsigned numbers is another one than that of the bits that hold them.
                Statistics::Int32(range) if is_signed => {
                    ((*range.min_opt()?).into(), (*range.max_opt()?).into())
                }
                Statistics::Int64(range) if is_signed => {
                    ((*range.min_opt()?).into(), (*range.max_opt()?).into())
                }
                _ => return None,
            };
            let (low, high) = bounds.unwrap_or((least, greatest));
            bounds = Some((low.min(least), high.max(greatest)));
        }
        bounds
    }

    /// Names of the columns whose types the file states in our own words, or that are dictionaries.
    pub(crate) fn stated(&self) -> impl Iterator<Item = &str> {
        super::stated(self.schema())
    }

    /// Whether a sample of row groups leaves out rows.
    pub(crate) fn is_sampled(&self) -> bool {
        let long = |group: &RowGroupMetaData| {
            usize::try_from(group.num_rows()).is_ok_and(|rows| rows > PIECE_ROWS)
        };
        self.groups().len() > PIECES || self.groups().iter().any(long)
    }

    /// Facts of a flat column from the statistics of its row groups; false if they do not say enough.
    fn by_statistics(&self, index: usize, field: &Field, facts: &mut Facts) -> bool {
        if field.data_type().is_nested() {
            return false;
        }
        let schema = self.metadata.parquet_schema();
        let leaf =
            (0..schema.num_columns()).find(|&leaf| schema.get_column_root_idx(leaf) == index);
        let Some(leaf) = leaf else { return false };
        for group in self.groups() {
            let Some(statistics) = group.column(leaf).statistics() else {
                return !field.is_nullable() && !needs_range(field);
            };
            match statistics.null_count_opt() {
                Some(count) => facts.nulls |= count > 0,
                None if field.is_nullable() => return false,
                None => {}
            }
            if needs_range(field) {
                match statistics {
                    Statistics::Int32(range) => {
                        if let (Some(&least), Some(&most)) = (range.min_opt(), range.max_opt()) {
                            facts.include(i64::from(least), i64::from(most));
                        }
                    }
                    _ => return false,
                }
            }
        }
        true
    }

    /// Reads columns to see what they hold.
    fn observe(
        &self,
        columns: &[usize],
        (rows, count): (usize, bool),
        facts: &mut [Facts],
    ) -> Result<(), FileError> {
        if columns.is_empty() {
            return Ok(());
        }
        guarded(&self.path, || {
            let mask =
                ProjectionMask::roots(self.metadata.parquet_schema(), columns.iter().copied());
            let reader = self.builder(self.metadata.clone())?.with_projection(mask);
            let place = "while looking for NULLs and types";
            let reader = reader.with_batch_size(BATCH_ROWS).with_limit(rows).build();
            let reader = reader.map_err(parquet_error(&self.path, place))?;
            let mut seen = 0;
            for batch in reader {
                let batch =
                    batch.map_err(|e| super::arrow_error(&self.path, place.to_owned(), e))?;
                let texts = count && seen < SAMPLE_ROWS;
                for (array, &index) in batch.columns().iter().zip(columns) {
                    facts[index].observe(array, texts);
                }
                seen += batch.num_rows();
            }
            Ok(())
        })
    }

    fn builder(
        &self,
        metadata: ArrowReaderMetadata,
    ) -> Result<ParquetRecordBatchReaderBuilder<std::fs::File>, FileError> {
        // A file of its own for each reader: they move its position.
        let (file, _) = open_file(&self.path)?;
        Ok(ParquetRecordBatchReaderBuilder::new_with_metadata(file, metadata))
    }

    /// Asks the reader for strings in the form in which the table wants them, so that nothing is copied later.
    fn hinted(&self, target: &Target) -> ArrowReaderMetadata {
        let mut fields: Vec<Arc<Field>> = self.schema().fields().iter().cloned().collect();
        for (reading, source) in target.readings.iter().zip(&target.mapping) {
            let Some(field) = source.and_then(|index| fields.get_mut(index)) else { continue };
            let wanted = match (&reading.column.data_type, reading.column.data_type.unwrapped()) {
                (DataType::LowCardinality(_), DataType::String) => {
                    Arrow::Dictionary(Box::new(Arrow::Int32), Box::new(Arrow::Utf8))
                }
                (_, DataType::String) => Arrow::Utf8View,
                _ => continue,
            };
            // Bytes that the file does not call text keep their form here: whether they are UTF-8 is looked at afterwards.
            let is_utf8 =
                |it: &Arrow| matches!(it, Arrow::Utf8 | Arrow::LargeUtf8 | Arrow::Utf8View);
            if is_utf8(field.data_type())
                || matches!(field.data_type(), Arrow::Dictionary(_, value) if is_utf8(value))
            {
                *field = Arc::new(field.as_ref().clone().with_data_type(wanted));
            }
        }
        let schema =
            Schema::new_with_metadata(Fields::from(fields), self.schema().metadata().clone());
        let options = ArrowReaderOptions::new().with_schema(Arc::new(schema));
        let hinted = ArrowReaderMetadata::try_new(Arc::clone(self.metadata.metadata()), options);
        // A hint that does not go with the file is not an error: the arrays are brought into form afterwards.
        hinted.unwrap_or_else(|_| self.metadata.clone())
    }

    /// Adds a job for every row group; for a sample of some groups only, and of some of their rows.
    pub(crate) fn feed(
        &self,
        line: &Line,
        target: &Arc<Target>,
        (batch_rows, is_sample): (usize, bool),
        progress: &Arc<AtomicU64>,
    ) -> Result<(), Gone> {
        let hinted = self.hinted(target);
        let mut rows_before = 0;
        let groups = self.groups().len() as u64;
        let step = if is_sample { self.groups().len().div_ceil(PIECES).max(1) } else { 1 };
        let rows_max = if is_sample { PIECE_ROWS } else { usize::MAX };
        for (index, group) in self.groups().iter().enumerate() {
            if !index.is_multiple_of(step) {
                continue;
            }
            let (file, metadata, target) = (self.clone(), hinted.clone(), Arc::clone(target));
            let progress = Arc::clone(progress);
            let share =
                self.bytes * (index as u64 + 1) / groups - self.bytes * index as u64 / groups;
            line.push(move |exit| {
                let job = Group { index, rows_before, rows_max, batch_rows, share, progress };
                if let Err(error) = guarded(&file.path, || job.run(&file, metadata, &target, exit))
                {
                    // If nobody wants it, nobody misses it.
                    let _ = exit.send(Err(error));
                }
            })?;
            rows_before += u64::try_from(group.num_rows()).unwrap_or(0);
        }
        Ok(())
    }
}

fn needs_range(field: &Field) -> bool {
    *field.data_type() == Arrow::Date32
}

/// A row group to be read.
struct Group {
    index: usize,
    rows_before: u64,
    rows_max: usize,
    batch_rows: usize,
    /// Its part of the file's bytes.
    share: u64,
    progress: Arc<AtomicU64>,
}

impl Group {
    fn run(
        self,
        file: &ParquetFile,
        metadata: ArrowReaderMetadata,
        target: &Target,
        exit: &Exit,
    ) -> Result<(), FileError> {
        let place = format!("row group {}", self.index);
        let wanted = target.mapping.iter().flatten().copied();
        let mask = ProjectionMask::roots(metadata.parquet_schema(), wanted);
        let target = projected(target);
        let builder = file.builder(metadata)?.with_projection(mask);
        let builder = builder.with_row_groups(vec![self.index]).with_batch_size(self.batch_rows);
        let builder =
            if self.rows_max == usize::MAX { builder } else { builder.with_limit(self.rows_max) };
        let reader: ParquetRecordBatchReader =
            builder.build().map_err(parquet_error(&file.path, place.clone()))?;
        let mut rows = 0;
        for batch in reader {
            let batch = batch.map_err(|e| super::arrow_error(&file.path, place.clone(), e))?;
            let fitted = target.batch(&file.path, &batch, self.rows_before + rows)?;
            rows += batch.num_rows() as u64;
            if exit.send(Ok(fitted)).is_err() {
                return Ok(());
            }
        }
        let expected = u64::try_from(file.groups()[self.index].num_rows()).unwrap_or(0);
        let expected = expected.min(self.rows_max as u64);
        if rows != expected {
            let reason = format!("{place} has {rows} rows, the footer says {expected}");
            return Err(FileError::Damaged { path: file.path.clone(), reason });
        }
        self.progress.fetch_add(self.share, Ordering::Relaxed);
        Ok(())
    }
}

/// The target with its fields counted among those that are read.
fn projected(target: &Target) -> Target {
    let mut wanted: Vec<usize> = target.mapping.iter().flatten().copied().collect();
    wanted.sort_unstable();
    wanted.dedup();
    let mapping = target.mapping.iter().map(|index| wanted.binary_search(&(*index)?).ok());
    Target {
        readings: Arc::clone(&target.readings),
        schema: Arc::clone(&target.schema),
        mapping: mapping.collect(),
    }
}

/// Checks what the footer says against the size of the file, before any of it decides over memory.
fn check(path: &Path, bytes: u64, metadata: &ParquetMetaData) -> Result<(), FileError> {
    let damaged = |reason: String| Err(FileError::Damaged { path: path.to_owned(), reason });
    let mut rows = 0_i64;
    for (index, group) in metadata.row_groups().iter().enumerate() {
        let more = rows.checked_add(group.num_rows()).filter(|_| group.num_rows() >= 0);
        let Some(sum) = more else {
            return damaged(format!("row group {index}: impossible row count"));
        };
        rows = sum;
        for column in group.columns() {
            let name = column.column_path();
            let dictionary = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
            let start = u64::try_from(dictionary.min(column.data_page_offset()));
            let length = u64::try_from(column.compressed_size());
            let (Ok(start), Ok(length)) = (start, length) else {
                return damaged(format!(
                    "row group {index}, column {name}: negative offset or size"
                ));
            };
            if start.checked_add(length).is_none_or(|end| end > bytes) {
                return damaged(format!("row group {index}, column {name}: is outside the file"));
            }
            let flat = column.column_descr().max_rep_level() == 0;
            if column.num_values() < 0 || flat && column.num_values() != group.num_rows() {
                return damaged(format!(
                    "row group {index}, column {name}: {} values in {} rows",
                    column.num_values(),
                    group.num_rows()
                ));
            }
        }
    }
    let stated = metadata.file_metadata().num_rows();
    if stated != rows {
        return damaged(format!("the footer says {stated} rows, its row groups {rows}"));
    }
    Ok(())
}

/// 16 bytes as a UUID; other types stay, such as lists of UUIDs or what our own metadata names.
fn as_uuid(data_type: DataType) -> DataType {
    match data_type {
        DataType::FixedString(16) => DataType::Uuid,
        DataType::Nullable(inner) => DataType::Nullable(Box::new(as_uuid(*inner))),
        other => other,
    }
}
