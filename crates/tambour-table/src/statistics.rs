//! Statistics of parts, kept beside them: what is known of the values of each granule without reading it.
//!
//! Each part has a file of its own, named by the hash of the part's contents: `tambour_statistics/<hash>`
//! (docs/format/statistics.md). A part without one is read as ever. A file that is damaged, or of another part, is an error
//! here and nowhere else: who asks tells it and reads the rows. So nothing waits for these files to be durable.

use super::sidecar::hex;
use crate::TableError;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tambour_kernel::hash::sip_hash_128;
use tambour_part::part::ReadRequest;
use tambour_part::statistics::{ColumnStatistics, Gatherer, Summary};
use tambour_part::types::{Column, Strings};
use tambour_part::{Part, PartError};
use tambour_storage::{ReadAt, Storage, commit};

/// The directory of the files, in the table's.
pub(super) const DIRECTORY: &str = "tambour_statistics";
/// The schema that this version reads and writes.
const SCHEMA: &str = "tambour/statistics/1";
/// Most bytes of a head: room for some 100 000 columns.
const HEAD_MAX: u64 = 32 << 20;
/// Bytes that are read at first.
const HEAD_USUAL: u64 = 64 << 10;
/// Bytes of a check and the line feeds around it.
const CHECK_BYTES: usize = 34;

/// The first line of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    schema: String,
    /// Hash of the contents of the part.
    part: String,
    rows: u64,
    granules: u64,
    columns: Vec<HeadColumn>,
}

/// A column, all its granules together, and where the granules are told apart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct HeadColumn {
    name: String,
    #[serde(rename = "type")]
    data_type: String,
    nulls: u64,
    nans: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    least: Option<i128>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    greatest: Option<i128>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sum: Option<i128>,
    /// Bytes of a value in the records of granules.
    width: usize,
    /// Where the records begin, counted from the end of the head.
    offset: u64,
    check: String,
}

/// What is known of a part.
#[derive(Debug)]
pub struct PartStatistics {
    path: PathBuf,
    head: Head,
    file: Arc<dyn ReadAt>,
    /// Where the records begin.
    start: u64,
}

/// Bytes of the record of a granule.
fn record_bytes(width: usize) -> usize {
    8 + 3 * width
}

/// The file of a part.
fn path_of(table: &Path, hash: &str) -> PathBuf {
    table.join(DIRECTORY).join(hash)
}

/// Bytes that hold all numbers of a column.
fn width_of(granules: &[Summary]) -> usize {
    let values = granules.iter().flat_map(|it| {
        let (least, greatest) = it.extremes.unwrap_or_default();
        [least, greatest, it.sum.unwrap_or_default()]
    });
    let bits = values.map(|value| 129 - (value ^ (value >> 127)).leading_zeros()).max();
    (bits.unwrap_or(1).div_ceil(8) as usize).next_power_of_two()
}

/// The records of the granules of a column; none if a granule has more rows than they can count.
fn records(granules: &[Summary], width: usize) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(granules.len() * record_bytes(width));
    for granule in granules {
        for count in [granule.nulls, granule.nans] {
            bytes.extend_from_slice(&u32::try_from(count).ok()?.to_le_bytes());
        }
        let (least, greatest) = granule.extremes.unwrap_or_default();
        for value in [least, greatest, granule.sum.unwrap_or_default()] {
            bytes.extend_from_slice(value.to_le_bytes().get(..width)?);
        }
    }
    Some(bytes)
}

/// The file for statistics of a part.
fn to_bytes(
    hash: &str,
    granules: &[u64],
    statistics: &[ColumnStatistics],
) -> Result<Vec<u8>, serde_json::Error> {
    let mut head = Head {
        schema: SCHEMA.to_owned(),
        part: hash.to_owned(),
        rows: granules.iter().sum(),
        granules: granules.len() as u64,
        columns: Vec::new(),
    };
    let mut body = Vec::new();
    for column in statistics {
        let is_whole = column.granules.iter().map(|it| it.rows).eq(granules.iter().copied());
        let width = width_of(&column.granules);
        let Some(records) = records(&column.granules, width).filter(|_| is_whole) else { continue };
        let total = column.total();
        head.columns.push(HeadColumn {
            name: column.column.name.clone(),
            data_type: column.column.data_type.to_string(),
            nulls: total.nulls,
            nans: total.nans,
            least: total.extremes.map(|it| it.0),
            greatest: total.extremes.map(|it| it.1),
            sum: total.sum,
            width,
            offset: body.len() as u64,
            check: hex(&sip_hash_128(&records)),
        });
        body.extend(records);
    }
    let mut bytes = serde_json::to_vec(&head)?;
    let check = hex(&sip_hash_128(&bytes));
    bytes.extend_from_slice(format!("\n{check}\n").as_bytes());
    bytes.extend(body);
    Ok(bytes)
}

/// Keeps statistics of a part. What goes wrong goes by: a part without them is read as ever.
pub(super) fn keep(
    storage: &dyn Storage,
    table: &Path,
    part: &Part,
    statistics: &[ColumnStatistics],
) {
    if part.rows() == 0 || statistics.is_empty() || part.has_deleted_rows() {
        return;
    }
    let hash = part.content_hash();
    let Ok(bytes) = to_bytes(&hash, part.granules(), statistics) else { return };
    // It is there already for all parts but the first.
    let _ = storage.create_directory(&table.join(DIRECTORY));
    let path = path_of(table, &hash);
    // A part of the same contents may have been here before.
    let _ = storage.remove_file(&path);
    let written = storage.create(&path).and_then(|mut file| file.write_all(&bytes));
    if written.is_err() {
        let _ = storage.remove_file(&path);
    }
}

/// Keeps statistics of a part that has the values of another one, or else those of its rows.
pub(super) fn keep_again(
    storage: &dyn Storage,
    table: &Path,
    old: &Part,
    new: &Arc<Part>,
) -> Result<(), TableError> {
    let known = PartStatistics::open(storage, table, old).ok().flatten();
    let known = known.filter(|_| old.granules() == new.granules());
    let known = known.and_then(|it| it.columns(old).ok());
    let statistics = match known {
        Some(known) => known,
        None => of_rows(new).map_err(TableError::part(table, new.name()))?,
    };
    keep(storage, table, new, &statistics);
    Ok(())
}

/// What is kept of a part; nothing if that is nothing, or damaged.
pub(super) fn known(storage: &dyn Storage, table: &Path, part: &Part) -> Vec<ColumnStatistics> {
    let known = PartStatistics::open(storage, table, part).ok().flatten();
    known.and_then(|it| it.columns(part).ok()).unwrap_or_default()
}

/// The statistics of a part, by its rows.
pub(super) fn of_rows(part: &Arc<Part>) -> Result<Vec<ColumnStatistics>, PartError> {
    let mut gathered = Vec::new();
    for (index, column) in part.columns().iter().enumerate() {
        let is_stored = part.stored_columns().any(|stored| stored == column);
        let Some(mut gatherer) = Gatherer::new(column).filter(|_| is_stored) else { continue };
        let request = ReadRequest {
            columns: vec![index],
            granules: std::iter::once(0..part.granules().len()).collect(),
            batch_rows: 1,
            strings: Strings::Binary,
        };
        for batch in part.read(request)? {
            gatherer.add(batch?.column(0), true);
        }
        gathered.extend(gatherer.finish());
    }
    Ok(gathered)
}

/// Removes the files of all parts but these.
pub(super) fn sweep(storage: &dyn Storage, table: &Path, live: &HashSet<&str>) {
    // Files that stay are in nobody's way.
    let directory = table.join(DIRECTORY);
    let Ok(entries) = storage.list(&directory) else { return };
    if live.is_empty() {
        let _ = commit::remove_directory(storage, &directory);
        return;
    }
    for entry in entries.iter().filter(|entry| !live.contains(entry.name.as_str())) {
        let _ = storage.remove_file(&directory.join(&entry.name));
    }
}

impl PartStatistics {
    /// The statistics that are kept of a part; none if there is no file of them.
    ///
    /// # Errors
    /// The file is damaged, of another version or of another part.
    pub fn open(
        storage: &dyn Storage,
        table: &Path,
        part: &Part,
    ) -> Result<Option<Self>, TableError> {
        let hash = part.content_hash();
        let path = path_of(table, &hash);
        let file = match storage.open(&path) {
            Ok(file) => file,
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                return Ok(None);
            }
            Err(error) => return Err(TableError::file("open", &path)(error)),
        };
        let wrong = |problem: String| TableError::Statistics { path: path.clone(), problem };
        let head = read_head(file.as_ref()).map_err(TableError::file("read", &path))?;
        let Some((line, check)) = head.as_deref().and_then(split_head) else {
            return Err(wrong("it has no head".to_owned()));
        };
        if check != hex(&sip_hash_128(line)).as_bytes() {
            return Err(wrong("its head does not fit its check".to_owned()));
        }
        let start = (line.len() + CHECK_BYTES) as u64;
        let head: Head = serde_json::from_slice(line).map_err(|it| wrong(it.to_string()))?;
        if head.schema != SCHEMA {
            return Err(wrong(format!("expected schema {SCHEMA:?}, got {:?}", head.schema)));
        }
        let is_same = head.part == hash
            && head.rows == part.rows()
            && head.granules == part.granules().len() as u64;
        if !is_same {
            return Err(wrong(format!("it is of part {}, not of {hash}", head.part)));
        }
        Ok(Some(Self { path, head, file, start }))
    }

    /// What is known of all rows of a column, which must be stored in the part in this type.
    pub fn total(&self, part: &Part, column: &Column) -> Option<Summary> {
        let found = self.find(part, column)?;
        Some(Summary {
            rows: self.head.rows,
            nulls: found.nulls,
            nans: found.nans,
            extremes: found.least.zip(found.greatest),
            sum: found.sum,
        })
    }

    /// What is known of each granule of a column.
    pub fn granules(
        &self,
        part: &Part,
        column: &Column,
    ) -> Result<Option<Vec<Summary>>, TableError> {
        let Some(found) = self.find(part, column) else { return Ok(None) };
        let wrong = |problem: &str| TableError::Statistics {
            path: self.path.clone(),
            problem: format!("column `{}`: {problem}", column.name),
        };
        if ![1, 2, 4, 8, 16].contains(&found.width) {
            return Err(wrong("no such width"));
        }
        let length = part.granules().len().checked_mul(record_bytes(found.width));
        let end = |length: usize| self.start.checked_add(found.offset)?.checked_add(length as u64);
        let length = length
            .filter(|length| end(*length).is_some_and(|end| end <= self.file.len()))
            .ok_or_else(|| wrong("its records are cut short"))?;
        let mut bytes = vec![0; length];
        self.file
            .read_exact_at(&mut bytes, self.start + found.offset)
            .map_err(TableError::file("read", &self.path))?;
        if hex(&sip_hash_128(&bytes)) != found.check {
            return Err(wrong("its records do not fit their check"));
        }
        let records = bytes.chunks_exact(record_bytes(found.width)).zip(part.granules());
        let has_sum = found.sum.is_some();
        let granules = records.map(|(record, rows)| summary(record, *rows, has_sum));
        let granules = granules.collect::<Option<Vec<_>>>();
        granules.map(Some).ok_or_else(|| wrong("its records contradict themselves"))
    }

    /// Statistics of all columns, granule by granule.
    pub(super) fn columns(&self, part: &Part) -> Result<Vec<ColumnStatistics>, TableError> {
        let mut all = Vec::new();
        for column in part.stored_columns() {
            if let Some(granules) = self.granules(part, column)? {
                all.push(ColumnStatistics { column: column.clone(), granules });
            }
        }
        Ok(all)
    }

    fn find(&self, part: &Part, column: &Column) -> Option<&HeadColumn> {
        let data_type = column.data_type.to_string();
        let found = self.head.columns.iter().find(|it| it.name == column.name)?;
        let is_stored = part.stored_columns().any(|stored| stored == column);
        (is_stored && !part.has_deleted_rows() && found.data_type == data_type).then_some(found)
    }
}

/// The beginning of a file, its head included; none if there is no end of it.
fn read_head(file: &dyn ReadAt) -> std::io::Result<Option<Vec<u8>>> {
    let mut wanted = HEAD_USUAL;
    loop {
        let length = file.len().min(wanted);
        let mut bytes = vec![0; usize::try_from(length).unwrap_or_default()];
        file.read_exact_at(&mut bytes, 0)?;
        if split_head(&bytes).is_some() {
            return Ok(Some(bytes));
        }
        if length == file.len() || wanted >= HEAD_MAX {
            return Ok(None);
        }
        wanted *= 8;
    }
}

/// The head's line and its check.
fn split_head(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = bytes.iter().position(|byte| *byte == b'\n')?;
    let check = bytes.get(end + 1..end + CHECK_BYTES - 1)?;
    let is_ended = bytes.get(end + CHECK_BYTES - 1) == Some(&b'\n');
    is_ended.then_some((bytes.get(..end)?, check))
}

/// A granule of a record; none of one that contradicts itself.
fn summary(record: &[u8], rows: u64, has_sum: bool) -> Option<Summary> {
    let (counts, values) = record.split_at_checked(8)?;
    let count = |at: usize| -> Option<u64> {
        Some(u64::from(u32::from_le_bytes(counts.get(at..at + 4)?.try_into().ok()?)))
    };
    let (nulls, nans) = (count(0)?, count(4)?);
    let width = values.len() / 3;
    let mut values = values.chunks_exact(width).map(|bytes| {
        let is_negative = bytes.last().is_some_and(|it| *it >= 0x80);
        let mut wide = if is_negative { [0xFF; 16] } else { [0; 16] };
        wide[..width].copy_from_slice(bytes);
        i128::from_le_bytes(wide)
    });
    let (least, greatest, sum) = (values.next()?, values.next()?, values.next()?);
    let others = nulls.checked_add(nans).filter(|others| *others <= rows)?;
    let extremes = (others < rows).then_some((least, greatest));
    Some(Summary { rows, nulls, nans, extremes, sum: has_sum.then_some(sum) })
}
