//! Opening a part that is too damaged for [`super::open`]: takes what can be taken and says what cannot.
//!
//! Blocks and marks carry checksums and are checked when they are read; here only what says what they are must be good: the
//! columns, from columns.txt or from the table. Marks that are lost are found again ([`rebuild`]).

use super::marks::{GRANULARITY_DEFAULT, has_rows, load, marks_file};
use super::open::{
    COUNT_FILE, Columns, CompactShape, Read, compact_marks, find_format, is_serialization_lost,
    open_compact, refuse_foreign, refuse_unbacked, sort_columns,
};
use super::rebuild;
use super::{
    COMPACT_FILE, CompactLayout, OpenOptions, Part, PartFiles, StoredColumn, UnreadableColumn,
    file_hash,
};
use crate::column::{Layout, streams};
use crate::manifest::columns::{self, COLUMNS_FILE, ColumnLine};
use crate::manifest::guard::{GUARD_BYTES_MAX, GUARD_FILE, Guard, files_hash};
use crate::manifest::substreams::{self, SUBSTREAMS_FILE};
use crate::manifest::{COUNT_BYTES_MAX, TEXT_BYTES_MAX, parse_count};
use crate::mark::{Granules, MarkFormat, Marks, total};
use crate::name::escape;
use crate::types::{Column, DataType};
use crate::{PartError, Place};
use std::collections::{BTreeMap, HashMap};
use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;
use tambour_storage::Storage;

/// Opens what is left of a part. Columns whose files are gone or whose marks are not there are unreadable; files are taken
/// as they are where checksums.txt says otherwise, since blocks have checksums of their own.
pub(super) fn open(
    storage: &Arc<dyn Storage>,
    path: &Path,
    options: &OpenOptions,
) -> Result<Part, PartError> {
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default().to_owned();
    let mut files = PartFiles::list(storage, path)?;
    files.damaged = true;
    refuse_foreign(&files, &name)?;
    // Where checksums.txt cannot be read, the small files are unproven: then they are taken as they are, too.
    let _ = files.load_sums();
    files.doubt_sums();
    let (columns_file, lines) = lines(&files, options)?;
    if is_other_sums(&files, &columns_file, &lines, options) {
        files.forget_sums();
    }
    let format = find_format(&files)?;
    let mut columns = sort_columns(&files, lines, format)?;
    let stated = count(&files);
    let opened = if format.is_compact() {
        open_as_compact(&files, format, &mut columns, stated, options)?
    } else {
        open_wide(&files, format, &mut columns, stated, options)?
    };
    let Opened { granules, compact, marks, rebuilt } = opened;
    let rows = granules.total();
    refuse_unbacked(&files, rows)?;
    let values = BTreeMap::new();
    let read = Read { name, rows, columns, values, format, granules, compact, marks, rebuilt };
    Ok(read.part(files, &columns_file))
}

/// True if checksums.txt is sound and yet not this part's: the part has another hash than its table knows, and columns.txt,
/// which is all else that the hash covers, says what the table says.
fn is_other_sums(
    files: &PartFiles,
    columns_file: &[u8],
    lines: &[ColumnLine],
    options: &OpenOptions,
) -> bool {
    let (Some(hash), Some(known)) = (&options.content_hash, &options.columns) else { return false };
    let is_same = |(line, column): (&ColumnLine, &Column)| {
        let data_type = line.type_text.parse();
        line.name == column.name && data_type.is_ok_and(|it: DataType| it == column.data_type)
    };
    files.content_hash(columns_file) != *hash
        && lines.len() == known.len()
        && lines.iter().zip(known).all(is_same)
}

/// The bytes of columns.txt and the columns: those that it lists, or those of the table if it is lost. A wrong name or type would
/// make wrong values of good blocks, so where it says something else than the table, it must be proven.
fn lines(
    files: &PartFiles,
    options: &OpenOptions,
) -> Result<(Vec<u8>, Vec<ColumnLine>), PartError> {
    let read = || {
        let bytes = files.read(COLUMNS_FILE, TEXT_BYTES_MAX)?;
        let lines = columns::parse(&files.path_of(COLUMNS_FILE), &bytes)?;
        let is_proven = is_proven(files, &bytes)?;
        Ok((bytes, lines, is_proven))
    };
    let Some(known) = &options.columns else {
        let (bytes, mut lines, is_proven) = read()?;
        if !is_proven {
            rename(files, &mut lines);
        }
        return Ok((bytes, lines));
    };
    let agrees = |line: &ColumnLine| {
        let found = known.iter().find(|column| column.name == line.name);
        match found {
            Some(column) => line.type_text.parse().is_ok_and(|it: DataType| it == column.data_type),
            None => line.name.starts_with('_'),
        }
    };
    match read() {
        Ok((bytes, lines, is_proven)) if is_proven || lines.iter().all(agrees) => {
            Ok((bytes, lines))
        }
        _ => Ok((Vec::new(), known_lines(files, known))),
    }
}

/// Gives a column the name of `columns_substreams.txt` where columns.txt has another one: there it stands in the names of the
/// streams, too, and neither file has a hash.
fn rename(files: &PartFiles, lines: &mut [ColumnLine]) {
    let listed = files.read(SUBSTREAMS_FILE, TEXT_BYTES_MAX);
    let listed = listed.and_then(|it| substreams::parse(&files.path_of(SUBSTREAMS_FILE), &it));
    let Ok(listed) = listed else { return };
    let count = lines.len();
    // More than one damaged name is another list.
    let mut other = lines.iter_mut().zip(&listed).filter(|(line, (name, _))| line.name != *name);
    let (Some((line, (name, streams))), None) = (other.next(), other.next()) else { return };
    let stem = escape(name);
    let is_named = streams.iter().any(|stream| stream.starts_with(&stem));
    if listed.len() == count && is_named {
        line.name.clone_from(name);
    }
}

/// The table's columns that the part has files of, in the order of the part.
fn known_lines(files: &PartFiles, known: &[Column]) -> Vec<ColumnLine> {
    let line = |column: &Column| ColumnLine {
        name: column.name.clone(),
        type_text: column.data_type.to_string(),
    };
    let find = |name: &str| known.iter().find(|column| column.name == name);
    if files.has(COMPACT_FILE) {
        let listed = files.read(SUBSTREAMS_FILE, TEXT_BYTES_MAX);
        let listed = listed.and_then(|it| substreams::parse(&files.path_of(SUBSTREAMS_FILE), &it));
        let listed = listed.unwrap_or_default();
        let listed: Option<Vec<ColumnLine>> =
            listed.iter().map(|(name, _)| find(name).map(line)).collect();
        return match listed {
            Some(listed) if !listed.is_empty() => listed,
            _ => known.iter().map(line).collect(),
        };
    }
    let is_there = |column: &&Column| {
        let streams = streams(&column.name, &column.data_type, &Layout::default());
        streams.iter().any(|stream| {
            let name = format!("{}.bin", files.stem(&stream.name.0));
            files.has(&name) || files.sum(&name).is_some()
        })
    };
    known.iter().filter(is_there).map(line).collect()
}

/// True if what Tambour noted of columns.txt proves it; an error if it contradicts it.
fn is_proven(files: &PartFiles, columns_file: &[u8]) -> Result<bool, PartError> {
    if !files.has(GUARD_FILE) {
        return Ok(false);
    }
    let bytes = files.read(GUARD_FILE, GUARD_BYTES_MAX);
    let guard = bytes.and_then(|bytes| Guard::parse(&files.path_of(GUARD_FILE), &bytes));
    // A damaged note proves nothing.
    let Ok(guard) = guard else { return Ok(false) };
    if files.sums.as_ref().is_some_and(|sums| guard.files != files_hash(sums)) {
        // The part was rewritten by others since.
        return Ok(false);
    }
    files.check_hash(COLUMNS_FILE, "hash", guard.columns_file, file_hash(columns_file))?;
    Ok(true)
}

fn count(files: &PartFiles) -> Result<u64, PartError> {
    let bytes = files.read(COUNT_FILE, COUNT_BYTES_MAX)?;
    parse_count(&files.path_of(COUNT_FILE), &bytes)
}

/// Where the values of a part are.
#[derive(Default)]
struct Opened {
    granules: Granules,
    compact: Option<CompactLayout>,
    marks: HashMap<String, Arc<Marks>>,
    rebuilt: Vec<String>,
}

/// By the marks of a compact part, or by reading all of it where they are lost.
fn open_as_compact(
    files: &PartFiles,
    format: MarkFormat,
    columns: &mut Columns,
    stated: Result<u64, PartError>,
    options: &OpenOptions,
) -> Result<Opened, PartError> {
    let error = match open_compact(files, format, columns, None) {
        Ok((granules, compact)) => {
            if compact.substreams.is_none() && is_serialization_lost(files) {
                try_layouts(files, columns, &compact.marks, &granules);
            }
            return Ok(Opened { granules, compact: Some(compact), ..Opened::default() });
        }
        Err(error) => error,
    };
    let shape = CompactShape::of(files, format, columns)?;
    let (Ok(rows), Some(all)) = (stated, columns.all()) else { return Err(error) };
    let known = rebuild::Known {
        columns: all,
        substreams: shape.substreams.as_deref(),
        rows,
        granularity: options.index_granularity.unwrap_or(GRANULARITY_DEFAULT),
    };
    let name = compact_marks(format);
    let marks = rebuild::compact(files, &known).map_err(|why| {
        let reason = format!("{error}, and what data.bin holds does not say where: {why}");
        PartError::malformed(files.place(&name), reason)
    })?;
    let granules = Granules::adaptive(&files.path_of(&name), &marks.rows, rows)?;
    let (compact, rebuilt) = (Some(shape.with(marks)), vec![name]);
    Ok(Opened { granules, compact, rebuilt, ..Opened::default() })
}

/// Sorts out the columns without files, and takes the granules from the first marks that are good. The marks of others are found
/// again where they are lost.
fn open_wide(
    files: &PartFiles,
    format: MarkFormat,
    columns: &mut Columns,
    stated: Result<u64, PartError>,
    options: &OpenOptions,
) -> Result<Opened, PartError> {
    let mut found: Option<Granules> = None;
    let mut first_error = None;
    let mut faults = Vec::new();
    let stated = stated.ok().or_else(|| rebuild::count(files, &columns.stored));
    for column in std::mem::take(&mut columns.stored) {
        let granules = granules_of(files, format, &column, stated, options);
        let fault = match (granules, &found) {
            (Ok(granules), None) => {
                found = Some(granules);
                None
            }
            (Ok(granules), Some(known)) if granules.rows == known.rows => None,
            (Ok(_), Some(_)) => Some("its marks do not fit those of other columns".to_owned()),
            (Err(error), _) => {
                let reason = error.to_string();
                first_error.get_or_insert(error);
                Some(reason)
            }
        };
        columns.stored.push(column);
        faults.push(fault);
    }
    let granules = match (found, first_error) {
        (Some(found), _) => found,
        (None, Some(error)) => supposed(files, stated, options).ok_or(error)?,
        (None, None) => {
            let place = Place::file(&files.path);
            return Err(PartError::malformed(place, "none of its columns can be read"));
        }
    };
    let mut opened = Opened { granules, ..Opened::default() };
    for (column, fault) in std::mem::take(&mut columns.stored).into_iter().zip(faults) {
        match fault.and_then(|fault| opened.rebuild(files, format, &column, fault).err()) {
            None => columns.stored.push(column),
            Some(reason) => columns.unreadable.push(unreadable(&column, reason)),
        }
    }
    if let Some(fault) = mask_fault(files, format, columns, &opened.granules, stated, options)
        && let Some(mask) = columns.row_exists.take()
    {
        match opened.rebuild(files, format, &mask, fault) {
            Ok(()) => columns.row_exists = Some(mask),
            Err(reason) => {
                let reason = format!("{reason}; rows that a lightweight delete hid are back");
                columns.unreadable.push(unreadable(&mask, reason));
            }
        }
    }
    Ok(opened)
}

/// Finds out how the columns of a compact part are laid out of which only the values say it.
fn try_layouts(files: &PartFiles, columns: &mut Columns, marks: &Marks, granules: &Granules) {
    for column in std::mem::take(&mut columns.stored) {
        if let Some(column) = rebuild::layout(files, &column, marks, granules) {
            columns.stored.push(column);
        } else {
            // As another layout, its bytes might be other values.
            let reason = "serialization.json is lost, and its values do not say how they lie";
            columns.unreadable.push(unreadable(&column, reason.to_owned()));
        }
    }
}

fn unreadable(column: &StoredColumn, reason: String) -> UnreadableColumn {
    let Column { name, data_type } = &column.column;
    UnreadableColumn { name: name.clone(), type_text: data_type.to_string(), reason }
}

/// The granules of a part of which no column has marks any more: streams are read from their starts, so that only their sum
/// must be right.
fn supposed(files: &PartFiles, stated: Option<u64>, options: &OpenOptions) -> Option<Granules> {
    let rows = stated?;
    let granularity = options.index_granularity.unwrap_or(GRANULARITY_DEFAULT).max(1);
    let records = usize::try_from(rows.div_ceil(granularity)).ok()?;
    refuse_unbacked(files, rows).ok()?;
    Granules::fixed(&files.path, records, granularity, rows).ok()
}

impl Opened {
    /// Finds the marks of a column again; the fault if that cannot be.
    fn rebuild(
        &mut self,
        files: &PartFiles,
        format: MarkFormat,
        column: &StoredColumn,
        fault: String,
    ) -> Result<(), String> {
        let stems = column.streams.iter().map(|stream| files.stem(&stream.name.0));
        let stems: Vec<String> = stems.collect();
        if !stems.iter().all(|stem| files.has(&format!("{stem}.bin"))) {
            return Err(fault);
        }
        let marks = rebuild::wide(files, column, &self.granules);
        let marks =
            marks.map_err(|why| format!("{fault}, and its streams do not say where: {why}"))?;
        for (stem, marks) in marks {
            let name = marks_file(&stem, format);
            if load(files, &name, format, 1).is_err() && !self.rebuilt.contains(&name) {
                self.rebuilt.push(name);
            }
            self.marks.insert(stem, Arc::new(marks));
        }
        Ok(())
    }
}

/// Why the mask of deleted rows cannot be read at all. Without this, every row would be lost with it.
fn mask_fault(
    files: &PartFiles,
    format: MarkFormat,
    columns: &Columns,
    found: &Granules,
    stated: Option<u64>,
    options: &OpenOptions,
) -> Option<String> {
    let mask = columns.row_exists.as_ref()?;
    match granules_of(files, format, mask, stated, options) {
        Ok(granules) if granules.rows == found.rows => None,
        Ok(_) => Some("its marks do not fit those of other columns".to_owned()),
        Err(error) => Some(error.to_string()),
    }
}

/// The granules by the marks of one column, all of whose files are there.
fn granules_of(
    files: &PartFiles,
    format: MarkFormat,
    column: &StoredColumn,
    stated: Option<u64>,
    options: &OpenOptions,
) -> Result<Granules, PartError> {
    let mut granules = None;
    for stream in &column.streams {
        let stem = files.stem(&stream.name.0);
        for name in [format!("{stem}.bin"), marks_file(&stem, format)] {
            if !files.has(&name) {
                return Err(PartError::Missing { place: Box::new(files.place(&name)) });
            }
        }
        let name = marks_file(&stem, format);
        let marks = load(files, &name, format, 1)?;
        let path = files.path_of(&name);
        granules = Some(if has_rows(format) {
            // What the marks say was checked by their hash; count.txt may be lost.
            Granules::adaptive(&path, &marks.rows, total(&marks.rows))?
        } else {
            let rows = stated
                .ok_or_else(|| PartError::Missing { place: Box::new(files.place(COUNT_FILE)) })?;
            let one = if marks.records() == 1 { rows } else { GRANULARITY_DEFAULT };
            let granularity = options.index_granularity.unwrap_or(one);
            Granules::fixed(&path, marks.records(), granularity, rows)?
        });
    }
    granules.ok_or_else(|| PartError::malformed(Place::file(&files.path), "it has no streams"))
}
