//! Opening: reads the small files in the order in which each makes the next one checkable.

use super::layouts::Shown;
use super::marks::{check_compact, fixed_granules, has_rows, load, marks_file};
use super::{
    COMPACT_FILE, CompactLayout, OpenOptions, PROJECTION_SUFFIX, Part, PartFiles,
    SKIP_INDEX_PREFIX, StoredColumn, UnreadableColumn, file_hash,
};
use crate::column::streams;
use crate::manifest::columns::{self, COLUMNS_FILE, ColumnLine};
use crate::manifest::guard::{GUARD_BYTES_MAX, GUARD_FILE, Guard, files_hash};
use crate::manifest::serialization::{SERIALIZATION_FILE, Serialization};
use crate::manifest::substreams::{self, SUBSTREAMS_FILE};
use crate::manifest::{COUNT_BYTES_MAX, TEXT_BYTES_MAX, VALUES_BYTES_MAX, parse_count};
use crate::mark::{FORMATS, Granules, MarkFormat, MarkShape, Marks, total};
use crate::partition::{self, PARTITION_FILE};
use crate::types::{Column, DataType};
use crate::{PartError, Place};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::OsStr;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};
use tambour_storage::Storage;

/// Name of the file with the number of rows.
pub(super) const COUNT_FILE: &str = "count.txt";
/// Name of the one file of packed part storage.
const PACKED_FILE: &str = "data.packed";
/// Start of the directory name of a patch part.
const PATCH_PREFIX: &str = "patch-";
/// The mask of lightweight deletes.
pub(crate) const ROW_EXISTS: &str = "_row_exists";
/// Rows that any part may claim.
const ROWS_UNBACKED: u64 = 1 << 27;
/// Rows that it may claim on top for each byte on disk. A granule of nothing but defaults takes three bytes at least, its
/// mark alone.
const ROWS_PER_BYTE: u64 = 1 << 14;
/// Columns of ClickHouse's own that no user asked for.
const SYSTEM_COLUMNS: [&str; 3] = [ROW_EXISTS, "_block_number", "_block_offset"];

/// The columns of a part, sorted by what can be done with them.
#[derive(Debug, Default)]
pub(super) struct Columns {
    pub(super) stored: Vec<StoredColumn>,
    pub(super) row_exists: Option<StoredColumn>,
    pub(super) unreadable: Vec<UnreadableColumn>,
    /// ClickHouse's own, but for the mask.
    hidden: Vec<StoredColumn>,
    /// Names of all, in the order of columns.txt.
    names: Vec<String>,
}

impl Columns {
    /// All whose streams are known.
    fn known(&self) -> impl Iterator<Item = &StoredColumn> {
        self.stored.iter().chain(&self.row_exists)
    }

    /// All there are, in the order of columns.txt; `None` if something is not known of one.
    pub(super) fn all(&self) -> Option<Vec<&StoredColumn>> {
        let mut all: Vec<&StoredColumn> = self.known().chain(&self.hidden).collect();
        all.sort_unstable_by_key(|stored| stored.position);
        (all.len() == self.names.len()).then_some(all)
    }
}

pub(super) fn open(
    storage: &Arc<dyn Storage>,
    path: &Path,
    options: &OpenOptions,
) -> Result<Part, PartError> {
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default().to_owned();
    let mut files = PartFiles::list(storage, path)?;
    files.renamed_to.clone_from(&options.renamed_to);
    refuse_foreign(&files, &name)?;
    files.load_sums()?;
    if files.has(GUARD_FILE) {
        // What Tambour wrote had checksums; only without both files it may be a part of old.
        files.require_sums()?;
    }
    for (name, _, presence) in files.listed() {
        // Rows can be read without indexes and projections; who reads one looks at its files.
        if !name.starts_with(SKIP_INDEX_PREFIX) && !name.ends_with(PROJECTION_SUFFIX) {
            presence?;
        }
    }
    let columns_file = files.read(COLUMNS_FILE, TEXT_BYTES_MAX)?;
    let lines = columns::parse(&files.path_of(COLUMNS_FILE), &columns_file)?;
    let guard = read_guard(&files, &columns_file)?;
    let count_file = files.read(COUNT_FILE, COUNT_BYTES_MAX)?;
    let rows = parse_count(&files.path_of(COUNT_FILE), &count_file)?;
    refuse_unbacked(&files, rows)?;
    let values = read_values(&files, &name)?;

    let format = find_format(&files)?;
    let columns = sort_columns(&files, lines, format)?;
    let (granules, compact) = if format.is_compact() {
        let (granules, compact) = open_compact(&files, format, &columns, Some(rows))?;
        (granules, Some(compact))
    } else {
        let stated = options.index_granularity.or(guard.map(|guard| guard.index_granularity));
        (open_wide(&files, format, &columns, rows, stated)?, None)
    };
    let (marks, rebuilt) = (HashMap::new(), Vec::new());
    let read = Read { name, rows, columns, values, format, granules, compact, marks, rebuilt };
    Ok(read.part(files, &columns_file))
}

/// What was read of a part.
pub(super) struct Read {
    pub(super) name: String,
    pub(super) rows: u64,
    pub(super) columns: Columns,
    pub(super) values: BTreeMap<String, Vec<u8>>,
    pub(super) format: MarkFormat,
    pub(super) granules: Granules,
    pub(super) compact: Option<CompactLayout>,
    /// Marks that were found again, by the stems of their streams.
    pub(super) marks: HashMap<String, Arc<Marks>>,
    /// The files in the place of which they are.
    pub(super) rebuilt: Vec<String>,
}

impl Read {
    /// The part.
    pub(super) fn part(self, files: PartFiles, columns_file: &[u8]) -> Part {
        let Self { name, rows, columns, values, format, granules, compact, marks, rebuilt } = self;
        Part {
            content_hash: files.content_hash(columns_file),
            files,
            name,
            rows,
            columns: columns.stored.iter().map(|stored| stored.column.clone()).collect(),
            stored: columns.stored,
            row_exists: columns.row_exists,
            unreadable: columns.unreadable,
            format,
            granules,
            compact,
            marks: Mutex::new(marks),
            rebuilt,
            values,
            index: Mutex::new(None),
            sizes: OnceLock::new(),
            view: None,
            blocks: OnceLock::new(),
            held: None,
        }
    }
}

/// Refuses what looks like a part but is read in other ways.
pub(super) fn refuse_foreign(files: &PartFiles, name: &str) -> Result<(), PartError> {
    let place = || Place::file(&files.path);
    if name.starts_with(PATCH_PREFIX) {
        return Err(PartError::unsupported(place(), "a patch part"));
    }
    if files.has(PACKED_FILE) {
        return Err(PartError::unsupported(place(), "packed part storage"));
    }
    Ok(())
}

/// Refuses more rows than so few bytes can be about: reading them would take time in proportion to the claim.
pub(super) fn refuse_unbacked(files: &PartFiles, rows: u64) -> Result<(), PartError> {
    let bytes: u64 = files.lengths.values().sum();
    let limit = bytes.saturating_mul(ROWS_PER_BYTE).saturating_add(ROWS_UNBACKED);
    if rows <= limit {
        return Ok(());
    }
    Err(PartError::limit(files.place(COUNT_FILE), "number of rows", limit, rows))
}

/// Reads `partition.dat` and the ranges; compares the partition with the directory's name.
fn read_values(files: &PartFiles, name: &str) -> Result<BTreeMap<String, Vec<u8>>, PartError> {
    let mut values = BTreeMap::new();
    for file in files.lengths.keys() {
        let extension = Path::new(file).extension();
        let range = file.starts_with("minmax_") && extension.is_some_and(|e| e == "idx");
        if range || file == PARTITION_FILE {
            values.insert(file.clone(), files.read(file, VALUES_BYTES_MAX)?);
        }
    }
    if let Some(month) = partition::month_of_old_name(name)
        && !values.contains_key(PARTITION_FILE)
    {
        values.insert(PARTITION_FILE.to_owned(), month.to_le_bytes().to_vec());
    }
    if let Some(id) = partition::id_of_name(name) {
        let stored = values.get(PARTITION_FILE).map(Vec::as_slice);
        if !partition::id_fits(id, stored) {
            let reason = format!("partition.dat does not belong to partition {id} of the name");
            return Err(PartError::malformed(files.place(PARTITION_FILE), reason));
        }
    }
    Ok(values)
}

/// Reads `tambour.txt`; if the part is as Tambour wrote it, `columns.txt` must be so too.
fn read_guard(files: &PartFiles, columns_file: &[u8]) -> Result<Option<Guard>, PartError> {
    let Some(sums) = files.sums.as_ref().filter(|_| files.has(GUARD_FILE)) else { return Ok(None) };
    let bytes = files.read(GUARD_FILE, GUARD_BYTES_MAX)?;
    let guard = Guard::parse(&files.path_of(GUARD_FILE), &bytes)?;
    if guard.files != files_hash(sums) {
        return Ok(None);
    }
    files.check_hash(COLUMNS_FILE, "hash", guard.columns_file, file_hash(columns_file))?;
    Ok(Some(guard))
}

/// Finds the one form of marks that the part has.
pub(super) fn find_format(files: &PartFiles) -> Result<MarkFormat, PartError> {
    let compact = files.has(COMPACT_FILE)
        && FORMATS.iter().any(|f| f.is_compact() && files.has(&compact_marks(*f)));
    let present = |format: &MarkFormat| {
        if format.is_compact() {
            return files.has(&compact_marks(*format));
        }
        // Skip indexes of compact parts have wide marks of their own.
        !compact
            && files.lengths.keys().any(|name| {
                !name.starts_with(SKIP_INDEX_PREFIX)
                    && name.rsplit_once('.').is_some_and(|(_, e)| e == format.extension)
            })
    };
    let mut found = FORMATS.into_iter().filter(present);
    let Some(format) = found.next().or_else(|| lost_format(files)) else {
        return Err(PartError::malformed(Place::file(&files.path), "it has no mark files"));
    };
    if let Some(other) = found.next() {
        let reason = format!("there are both .{} and .{} files", format.extension, other.extension);
        return Err(PartError::malformed(Place::file(&files.path), reason));
    }
    Ok(format)
}

/// The form of marks of a damaged part that has none any more, as checksums.txt says, or that of today's servers.
fn lost_format(files: &PartFiles) -> Option<MarkFormat> {
    if !files.damaged {
        return None;
    }
    let is_compact = files.has(COMPACT_FILE);
    let is_listed = |format: &&MarkFormat| {
        let is_its = |name: &String| {
            !name.starts_with(SKIP_INDEX_PREFIX)
                && name.rsplit_once('.').is_some_and(|(_, e)| e == format.extension)
        };
        format.is_compact() == is_compact
            && files.sums.iter().flat_map(|sums| sums.files.keys()).any(is_its)
    };
    let shape = match (is_compact, files.has(SUBSTREAMS_FILE)) {
        (true, true) => MarkShape::PerSubstream,
        (true, false) => MarkShape::PerColumn,
        (false, _) => MarkShape::Adaptive,
    };
    let listed = FORMATS.iter().find(is_listed);
    listed.or_else(|| FORMATS.iter().find(|format| format.shape == shape)).copied()
}

pub(super) fn compact_marks(format: MarkFormat) -> String {
    format!("data.{}", format.extension)
}

fn read_serialization(files: &PartFiles) -> Result<Serialization, PartError> {
    if !files.has(SERIALIZATION_FILE) {
        return Ok(Serialization::default());
    }
    let bytes = files.read(SERIALIZATION_FILE, TEXT_BYTES_MAX)?;
    Serialization::parse(&files.path_of(SERIALIZATION_FILE), &bytes)
}

/// True if nothing says how the columns of a damaged part are laid out. A part in which all of them are plain has no file that says it.
pub(super) fn is_serialization_lost(files: &PartFiles) -> bool {
    if files.has(SERIALIZATION_FILE) {
        return read_serialization(files).is_err();
    }
    files.sums.is_none() || files.sum(SERIALIZATION_FILE).is_some()
}

/// Parses types and layouts; a column that is not understood does not hinder the others.
pub(super) fn sort_columns(
    files: &PartFiles,
    lines: Vec<ColumnLine>,
    format: MarkFormat,
) -> Result<Columns, PartError> {
    let read = read_serialization(files);
    // What is lost of a damaged part shows in the names of its streams.
    let is_lost = files.damaged && (read.is_err() || !files.has(SERIALIZATION_FILE));
    let serialization = if is_lost { Serialization::default() } else { read? };
    let shown = if is_lost { Shown::of(files) } else { Shown::default() };
    if lines.is_empty() {
        return Err(PartError::malformed(files.place(COLUMNS_FILE), "there are no columns"));
    }
    let mut columns = Columns::default();
    for (position, line) in lines.into_iter().enumerate() {
        columns.names.push(line.name.clone());
        let data_type: Result<DataType, _> = line.type_text.parse();
        let understood = match (data_type, serialization.layout(&line.name)) {
            (Ok(data_type), Ok(layout)) => Ok((data_type, layout)),
            (Err(PartError::UnknownType { reason, .. }), _) => Err(reason.into_owned()),
            (Err(error), _) => Err(error.to_string()),
            (_, Err(kind)) => Err(format!("serialization kind {kind:?} is not supported")),
        };
        let (data_type, mut layout) = match understood {
            Ok(understood) => understood,
            Err(reason) => {
                let unreadable =
                    UnreadableColumn { name: line.name, type_text: line.type_text, reason };
                if unreadable.name == ROW_EXISTS {
                    let place = Place::column(ROW_EXISTS).at(0);
                    return Err(PartError::unsupported(place, unreadable.type_text));
                }
                columns.unreadable.push(unreadable);
                continue;
            }
        };
        layout.compact = format.is_compact();
        if is_lost {
            layout = shown.layout(&line.name, &data_type, layout);
        }
        let stored = StoredColumn {
            streams: streams(&line.name, &data_type, &layout),
            column: Column { name: line.name, data_type },
            layout,
            position,
        };
        if stored.column.name == ROW_EXISTS {
            if stored.column.data_type != DataType::UInt8 {
                let place = files.place(COLUMNS_FILE).of_column(ROW_EXISTS);
                return Err(PartError::malformed(place, "the mask is not a UInt8"));
            }
            columns.row_exists = Some(stored);
        } else if SYSTEM_COLUMNS.contains(&stored.column.name.as_str()) {
            columns.hidden.push(stored);
        } else {
            columns.stored.push(stored);
        }
    }
    let known: HashSet<&str> = columns.names.iter().map(String::as_str).collect();
    if let Some(name) = serialization.names().find(|name| !known.contains(name)) {
        let place = files.place(SERIALIZATION_FILE).of_column(name);
        return Err(PartError::malformed(place, "column is not in columns.txt"));
    }
    Ok(columns)
}

fn open_wide(
    files: &PartFiles,
    format: MarkFormat,
    columns: &Columns,
    rows: u64,
    index_granularity: Option<u64>,
) -> Result<Granules, PartError> {
    let marks_name = |stem: &str| marks_file(stem, format);
    let stems: Vec<String> = columns
        .known()
        .flat_map(|column| &column.streams)
        .map(|stream| files.stem(&stream.name.0))
        .collect();
    for stem in &stems {
        files.require(&format!("{stem}.bin"))?;
        files.require(&marks_name(stem))?;
    }
    let granules = if has_rows(format) {
        let extension = |name: &&String| {
            name.rsplit_once('.').is_some_and(|(_, e)| e == format.extension)
                && !name.starts_with(SKIP_INDEX_PREFIX)
        };
        // A part without any readable column still has rows.
        let first = stems.first().map(|stem| marks_name(stem));
        let first = first.or_else(|| files.lengths.keys().find(extension).cloned());
        let first = first.unwrap_or_default();
        let marks = load(files, &first, format, 1)?;
        Granules::adaptive(&files.path_of(&first), &marks.rows, rows)?
    } else {
        let known: Vec<StoredColumn> = columns.known().cloned().collect();
        let marks_of = |stem: &str| load(files, &marks_name(stem), format, 1);
        fixed_granules(files, &known, marks_of, rows, index_granularity)?
    };
    check_mark_sizes(files, format, &granules, stems.iter().map(|stem| marks_name(stem)))?;
    Ok(granules)
}

/// Every mark file has a record per granule. Those of compressed ones are known only where checksums.txt has the size.
fn check_mark_sizes(
    files: &PartFiles,
    format: MarkFormat,
    granules: &Granules,
    names: impl Iterator<Item = String>,
) -> Result<(), PartError> {
    let expected = granules.records() as u64 * format.record_bytes(1);
    for name in names {
        let size = if format.compressed {
            let contents = files.sum(&name).and_then(|sum| sum.contents);
            contents.map_or(expected, |(size, _)| size)
        } else {
            files.length(&name)
        };
        if size != expected {
            return Err(PartError::mismatch(files.place(&name), "size", expected, size));
        }
    }
    Ok(())
}

pub(super) fn open_compact(
    files: &PartFiles,
    format: MarkFormat,
    columns: &Columns,
    rows: Option<u64>,
) -> Result<(Granules, CompactLayout), PartError> {
    let shape = CompactShape::of(files, format, columns)?;
    let name = compact_marks(format);
    let marks = load(files, &name, format, shape.width)?;
    let rows = rows.unwrap_or_else(|| total(&marks.rows));
    let granules = Granules::adaptive(&files.path_of(&name), &marks.rows, rows)?;
    let compact = shape.with(marks);
    check_compact(files, &name, &compact, &granules, files.reachable_length(COMPACT_FILE))?;
    Ok((granules, compact))
}

/// What the records of a compact part's marks are of.
pub(super) struct CompactShape {
    /// First mark of each column.
    bases: Vec<usize>,
    /// Marks of a record.
    width: usize,
    /// The substreams of each column, if marks are per substream.
    pub(super) substreams: Option<Vec<Vec<String>>>,
}

impl CompactShape {
    pub(super) fn of(
        files: &PartFiles,
        format: MarkFormat,
        columns: &Columns,
    ) -> Result<Self, PartError> {
        files.require(COMPACT_FILE)?;
        if format.shape != MarkShape::PerSubstream {
            let width = columns.names.len();
            return Ok(Self { bases: (0..width).collect(), width, substreams: None });
        }
        let substreams = match read_substreams(files, columns) {
            Err(_) if files.damaged && columns.unreadable.is_empty() => computed(columns),
            read => read?,
        };
        let mut bases = Vec::new();
        let mut width = 0;
        for streams in &substreams {
            bases.push(width);
            width += streams.len();
        }
        Ok(Self { bases, width, substreams: Some(substreams) })
    }

    /// The layout with these marks.
    pub(super) fn with(self, marks: Marks) -> CompactLayout {
        CompactLayout { marks, bases: self.bases, substreams: self.substreams }
    }
}

/// The substreams that the types of all columns have.
fn computed(columns: &Columns) -> Vec<Vec<String>> {
    let mut substreams = vec![Vec::new(); columns.names.len()];
    for column in columns.known() {
        if let Some(listed) = substreams.get_mut(column.position) {
            *listed = column.streams.iter().map(|stream| stream.name.0.clone()).collect();
        }
    }
    substreams
}

/// The substreams of all columns in the order of columns.txt, checked against what the types have.
fn read_substreams(files: &PartFiles, columns: &Columns) -> Result<Vec<Vec<String>>, PartError> {
    let bytes = files.read(SUBSTREAMS_FILE, TEXT_BYTES_MAX)?;
    let listed = substreams::parse(&files.path_of(SUBSTREAMS_FILE), &bytes)?;
    let place = || files.place(SUBSTREAMS_FILE);
    if !listed.iter().map(|(name, _)| name).eq(&columns.names) {
        return Err(PartError::malformed(place(), "columns are not those of columns.txt"));
    }
    let substreams: Vec<Vec<String>> = listed.into_iter().map(|(_, streams)| streams).collect();
    for column in columns.known() {
        let listed = substreams.get(column.position).map_or(&[][..], Vec::as_slice);
        if !column.streams.iter().map(|stream| &stream.name.0).eq(listed) {
            let place = place().of_column(&column.column.name);
            let reason = format!("streams are {listed:?}, other than its type has");
            return Err(PartError::malformed(place, reason));
        }
    }
    Ok(substreams)
}
