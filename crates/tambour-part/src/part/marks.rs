//! The marks of an opened part's streams: read and checked when a stream is first used, then kept.

use super::{CompactLayout, Part, PartFiles, StoredColumn};
use crate::PartError;
use crate::column::StreamKind;
use crate::manifest::MARKS_BYTES_MAX;
use crate::mark::{Granules, MarkFormat, MarkShape, Marks};
use crate::stream::headers::Headers;
use crate::stream::whole;
use crate::types::DataType;
use std::sync::{Arc, PoisonError};

/// ClickHouse's default for `index_granularity`.
pub(super) const GRANULARITY_DEFAULT: u64 = 8192;

/// Reads one mark file with records of `width` marks.
pub(super) fn load(
    files: &PartFiles,
    name: &str,
    format: MarkFormat,
    width: usize,
) -> Result<Marks, PartError> {
    let bytes = files.read(name, MARKS_BYTES_MAX)?;
    let path = files.path_of(name);
    let records =
        if format.compressed { whole::decode(&path, &bytes, 0, MARKS_BYTES_MAX)? } else { bytes };
    Marks::parse(&path, &records, format, width)
}

impl Part {
    /// Name of the mark file of a stream of a wide part.
    pub(crate) fn marks_name(&self, stem: &str) -> String {
        marks_file(stem, self.format)
    }

    /// The marks of a stream of a wide part, checked against the granules of the part and the length of the stream.
    pub(crate) fn stream_marks(&self, stem: &str) -> Result<Arc<Marks>, PartError> {
        let known = self.marks.lock().unwrap_or_else(PoisonError::into_inner).get(stem).cloned();
        if let Some(marks) = known {
            return Ok(marks);
        }
        let name = self.marks_name(stem);
        let marks = Arc::new(load(&self.files, &name, self.format, 1)?);
        self.check_marks(&name, &marks)?;
        let length = self.files.reachable_length(&format!("{stem}.bin"));
        marks.check(&self.files.path_of(&name), length, self.granules.len())?;
        let mut cache = self.marks.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(Arc::clone(cache.entry(stem.to_owned()).or_insert(marks)))
    }

    fn check_marks(&self, name: &str, marks: &Marks) -> Result<(), PartError> {
        let (expected, got) = (self.granules.records(), marks.records());
        if expected != got {
            let place = self.files.place(name);
            return Err(PartError::mismatch(place, "number of marks", expected as u64, got as u64));
        }
        let differs = marks.rows.iter().zip(&self.granules.rows).position(|(a, b)| a != b);
        if let Some(granule) = differs {
            let place = self.files.place(name);
            let reason =
                format!("granule {granule} has other rows than in the part's first column");
            return Err(PartError::malformed(place, reason));
        }
        Ok(())
    }
}

/// How many rows a granule has in a part whose marks do not say it.
pub(super) fn fixed_granules(
    files: &PartFiles,
    columns: &[StoredColumn],
    marks_of: impl Fn(&str) -> Result<Marks, PartError>,
    rows: u64,
    wanted: Option<u64>,
) -> Result<Granules, PartError> {
    let measured = columns.iter().find_map(measurable);
    let Some((stream, width)) = measured else {
        let Some(stream) = columns.iter().find_map(|column| column.streams.first()) else {
            return Ok(Granules::default());
        };
        let stem = files.stem(&stream.name.0);
        let marks = marks_of(&stem)?;
        let path = files.path_of(&stem);
        return Granules::fixed(
            &path,
            marks.records(),
            wanted.unwrap_or(GRANULARITY_DEFAULT),
            rows,
        );
    };
    let stem = files.stem(&stream);
    let marks = marks_of(&stem)?;
    let path = files.path_of(&format!("{stem}.bin"));
    let measured = measure(files, &stem, &marks, width)?;
    let single = marks.records() == 1;
    let granularity = match (measured, wanted) {
        (Some(measured), Some(wanted)) if measured != wanted => {
            let place = files.place(&format!("{stem}.bin"));
            return Err(PartError::mismatch(place, "index_granularity", wanted, measured));
        }
        (Some(granularity), _) | (None, Some(granularity)) => granularity,
        // One granule holds all rows, whatever the table's setting is.
        (None, None) if single => rows,
        (None, None) => GRANULARITY_DEFAULT,
    };
    Granules::fixed(&path, marks.records(), granularity, rows)
}

/// A stream that has the same number of bytes for every row, and that number.
pub(super) fn measurable(column: &StoredColumn) -> Option<(String, u64)> {
    if column.layout.sparse || !column.layout.elements.is_empty() {
        return None;
    }
    let first = column.streams.first()?;
    let width = match &column.column.data_type {
        // The null map has one byte per row, the sizes of arrays eight.
        DataType::Nullable(_) => 1,
        DataType::Array(_) | DataType::Map(_, _) if column.streams.len() > 1 => {
            // Sizes come first, after the prefixes of dictionaries.
            let sizes = column.streams.iter().find(|stream| stream.kind == StreamKind::Helper)?;
            return Some((sizes.name.0.clone(), 8));
        }
        DataType::LowCardinality(_) => return None,
        other => other.fixed_width()? as u64,
    };
    (width > 0).then(|| (first.name.0.clone(), width))
}

/// Rows between the first two marks of a stream with `width` bytes per row; `None` if there are no two.
fn measure(
    files: &PartFiles,
    stem: &str,
    marks: &Marks,
    width: u64,
) -> Result<Option<u64>, PartError> {
    let (Some(first), Some(second)) = (marks.mark(0, 0), marks.mark(1, 0)) else { return Ok(None) };
    let name = format!("{stem}.bin");
    let path = files.path_of(&name);
    let file = files.open(&name)?;
    let mut bytes = second.offset;
    for block in Headers::new(file.as_ref(), &path, first.block) {
        let block = block?;
        if block.start >= second.block {
            break;
        }
        bytes = bytes.saturating_add(u64::from(block.header.uncompressed_size));
    }
    let bytes = bytes.checked_sub(first.offset).filter(|bytes| bytes.is_multiple_of(width));
    let granularity = bytes.map(|bytes| bytes / width).filter(|rows| *rows > 0);
    granularity.map(Some).ok_or_else(|| {
        PartError::malformed(
            files.place(&name),
            "the first two marks are not a whole number of rows apart",
        )
    })
}

/// Checks the marks of a compact part.
pub(super) fn check_compact(
    files: &PartFiles,
    name: &str,
    compact: &CompactLayout,
    granules: &Granules,
    length: u64,
) -> Result<(), PartError> {
    compact.marks.check(&files.path_of(name), length, granules.len())
}

/// True if the records of this format hold the rows of their granule.
pub(super) fn has_rows(format: MarkFormat) -> bool {
    format.shape != MarkShape::Fixed
}

/// Name of the mark file of a stream.
pub(super) fn marks_file(stem: &str, format: MarkFormat) -> String {
    format!("{stem}.{}", format.extension)
}
