//! Samples of rows, from which advice on codecs is made: of files, or of a table's or a part's granules.

use crate::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tambour_advise::{Intake, Present, Sample};
use tambour_codec::spec::CodecSpec;
use tambour_files::{FileError, Input, ReadOptions};
use tambour_part::part::{ColumnSize, ReadRequest};
use tambour_part::types::{Column, Strings};
use tambour_part::{Part, PartError};
use tambour_table::scan::{Scan, ScanRange, ScanRequest};
use tambour_table::store::{is_url, storage_of};
use tambour_table::{PartName, Table};

/// Rows of a table that are read; of more, granules spread over all are.
const ROWS_MAX: u64 = 2_000_000;
/// Granules that are read together.
const GRANULES: usize = 8;
/// Rows that travel together.
const BATCH_ROWS: usize = 16_384;
/// Files by which a directory is known to be a part; any of them will do, so that a damaged part is still one.
const PART_FILES: [&str; 4] = ["columns.txt", "checksums.txt", "count.txt", "data.bin"];

/// A sample of rows, and what is known of their columns.
///
/// ```
/// # let directory = tempfile::tempdir()?;
/// let csv = directory.path().join("hits.csv");
/// std::fs::write(&csv, "page,visits\n/,3\n/about,1\n")?;
/// let rows = tambour::sample::of_files::<tambour::Error>(&[csv], Default::default(), &mut |_| Ok(()))?;
/// assert_eq!((rows.name.as_str(), rows.sample.rows(), rows.is_table), ("hits", 2, false));
/// assert_eq!(rows.present.len(), 2); // one for each column
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Rows {
    /// Name of the table, or one made of the file's.
    pub name: String,
    /// The rows.
    pub sample: Sample,
    /// Codecs and bytes on disk, in the order of the columns; nothing is known of those of files.
    pub present: Vec<Present>,
    /// The rows are those of a table or part, whose codecs are known.
    pub is_table: bool,
}

/// How far reading is.
///
/// ```
/// let seen = tambour::sample::Seen { bytes: 512, bytes_total: Some(2048), rows: 100 };
/// let percent = seen.bytes_total.map(|total| 100 * seen.bytes / total);
/// assert_eq!(percent, Some(25));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// Bytes of files that were read.
    pub bytes: u64,
    /// Bytes of all files, where that is known.
    pub bytes_total: Option<u64>,
    /// Rows that were read.
    pub rows: u64,
}

/// True if a directory is a part, by its name or by what is in it.
///
/// ```
/// use std::path::Path;
///
/// assert!(tambour::sample::is_part(Path::new("hits/all_1_1_0")));
/// assert!(!tambour::sample::is_part(Path::new("hits")));
/// ```
pub fn is_part(path: &Path) -> bool {
    let named = path.file_name().and_then(|name| name.to_str()).and_then(PartName::parse).is_some();
    named || PART_FILES.iter().any(|name| path.join(name).is_file())
}

/// Reads a table, a part or a file. `observe` is told how far that is; an error of it ends the reading.
///
/// ```
/// # let directory = tempfile::tempdir()?;
/// # let (csv, hits) = (directory.path().join("hits.csv"), directory.path().join("hits"));
/// # std::fs::write(&csv, "page,visits\n/,30\n/about,1\n/,40\n")?;
/// # let table = tambour::import([&csv], &hits, &tambour::ImportOptions::default())?;
/// let of_table = tambour::sample::of_path::<tambour::Error>(&hits, Default::default(), &mut |_| Ok(()))?;
/// let of_file = tambour::sample::of_path::<tambour::Error>(&csv, Default::default(), &mut |_| Ok(()))?;
/// assert_eq!((of_table.is_table, of_file.is_table), (true, false));
/// assert_eq!(of_table.sample.rows(), of_file.sample.rows());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn of_path<E: From<Error>>(
    path: &Path,
    options: ReadOptions,
    observe: &mut dyn FnMut(Seen) -> Result<(), E>,
) -> Result<Rows, E> {
    if !path.is_dir() && !is_url(path) {
        return of_files(&[path.to_path_buf()], options, observe);
    }
    if is_part(path) { of_part(path, observe) } else { of_table(path, observe) }
}

/// Reads files of one shape to their ends. `observe` is told how far that is; an error of it ends the reading.
///
/// ```
/// # let directory = tempfile::tempdir()?;
/// # let csv = directory.path().join("hits.csv");
/// # std::fs::write(&csv, "page,visits\n/,3\n/about,1\n")?;
/// // An error of the callback ends the reading and is what comes back.
/// let stop = &mut |_| Err(tambour::Error::Interrupted);
/// let stopped = tambour::sample::of_files(&[csv], Default::default(), stop);
/// assert!(matches!(stopped, Err(tambour::Error::Interrupted)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn of_files<E: From<Error>>(
    paths: &[PathBuf],
    options: ReadOptions,
    observe: &mut dyn FnMut(Seen) -> Result<(), E>,
) -> Result<Rows, E> {
    let options = ReadOptions { batch_rows: BATCH_ROWS, ..options };
    let mut input = Input::open(paths, options).map_err(Error::from)?;
    let bytes_total = input.bytes_total();
    let sample = loop {
        let mut intake = Intake::new(input.columns().to_vec());
        let mut rows = 0;
        let end = loop {
            match input.next_batch() {
                None => break Ok(()),
                Some(Ok(batch)) => {
                    rows += batch.num_rows() as u64;
                    intake.push(&batch).map_err(Error::from)?;
                    observe(Seen { bytes: input.bytes_read(), bytes_total, rows })?;
                }
                Some(Err(error)) => break Err(error),
            }
        };
        match end {
            Ok(()) => break intake.finish(None).map_err(Error::from)?,
            // A later row contradicts the types: with all of them known, again from the start.
            Err(FileError::Widen { .. }) => input.restart().map_err(Error::from)?,
            Err(error) => return Err(Error::from(error).into()),
        }
    };
    let present = vec![Present::default(); input.columns().len()];
    let name = paths.first().and_then(|path| path.file_stem()).unwrap_or_default();
    let name = name.to_string_lossy().split('.').next().unwrap_or_default().to_owned();
    Ok(Rows { name, sample, present, is_table: false })
}

/// Reads granules of a table that are spread over it. `observe` is told how far that is; an error of it ends the reading.
///
/// ```
/// # let directory = tempfile::tempdir()?;
/// # let (csv, hits) = (directory.path().join("hits.csv"), directory.path().join("hits"));
/// # std::fs::write(&csv, "page,visits\n/,30\n/about,1\n/,40\n")?;
/// # let table = tambour::import([&csv], &hits, &tambour::ImportOptions::default())?;
/// let rows = tambour::sample::of_table::<tambour::Error>(&hits, &mut |_| Ok(()))?;
/// assert_eq!(rows.sample.rows(), 3);
/// assert!(rows.present[0].on_disk.is_some()); // bytes that the column takes now
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn of_table<E: From<Error>>(
    path: &Path,
    observe: &mut dyn FnMut(Seen) -> Result<(), E>,
) -> Result<Rows, E> {
    of_opened(&Table::open(path).map_err(Error::from)?, observe)
}

/// The same of a table that is open.
///
/// ```
/// # let directory = tempfile::tempdir()?;
/// # let (csv, hits) = (directory.path().join("hits.csv"), directory.path().join("hits"));
/// # std::fs::write(&csv, "page,visits\n/,30\n/about,1\n/,40\n")?;
/// let table = tambour::import([&csv], &hits, &tambour::ImportOptions::default())?;
/// let rows = tambour::sample::of_opened::<tambour::Error>(&table, &mut |_| Ok(()))?;
/// assert_eq!(rows.name, "hits");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn of_opened<E: From<Error>>(
    table: &Table,
    observe: &mut dyn FnMut(Seen) -> Result<(), E>,
) -> Result<Rows, E> {
    let columns = table.columns().to_vec();
    of_columns(table, &columns, Intake::new(columns.clone()), observe)
}

/// Reads granules of some columns that are spread over the table, the same ones for all.
pub(crate) fn of_columns<E: From<Error>>(
    table: &Table,
    columns: &[Column],
    mut intake: Intake,
    observe: &mut dyn FnMut(Seen) -> Result<(), E>,
) -> Result<Rows, E> {
    let request = ScanRequest {
        columns: columns.iter().map(|column| column.name.clone()).collect(),
        batch_rows: BATCH_ROWS,
        ..ScanRequest::default()
    };
    let (mut scan, _) = Scan::plan(table, &request).map_err(Error::from)?;
    thin(&mut scan, table);
    let mut seen = Seen { bytes: 0, bytes_total: None, rows: 0 };
    for partition in 0..scan.partitions.len() {
        for batch in scan.run(partition, table.storage(), Some(table)).map_err(Error::from)? {
            let batch = batch.map_err(Error::from)?;
            seen.rows += batch.num_rows() as u64;
            intake.push(&batch).map_err(Error::from)?;
            observe(seen)?;
        }
    }
    let sample = intake.finish(Some(table.rows())).map_err(Error::from)?;
    let present = columns.iter().map(|column| present(table, column)).collect::<Result<_, _>>()?;
    Ok(Rows { name: table.name().to_owned(), sample, present, is_table: true })
}

fn of_part<E: From<Error>>(
    path: &Path,
    observe: &mut dyn FnMut(Seen) -> Result<(), E>,
) -> Result<Rows, E> {
    let part =
        Arc::new(Part::open(&storage_of(path).map_err(Error::from)?, path).map_err(Error::from)?);
    let columns: Vec<Column> = part.columns().to_vec();
    let count = part.granules().len();
    let stride = usize::try_from(part.rows().div_ceil(ROWS_MAX)).unwrap_or(usize::MAX).max(1);
    let runs = (0..count).step_by(GRANULES).enumerate();
    let kept = runs.filter(|(number, _)| number % stride == 0);
    let request = ReadRequest {
        columns: (0..columns.len()).collect(),
        granules: kept.map(|(_, start)| start..(start + GRANULES).min(count)).collect(),
        batch_rows: BATCH_ROWS,
        strings: Strings::Binary,
    };
    let mut intake = Intake::new(columns);
    let mut seen = Seen { bytes: 0, bytes_total: None, rows: 0 };
    for batch in part.read(request).map_err(Error::from)? {
        let batch = batch.map_err(Error::from)?;
        seen.rows += batch.num_rows() as u64;
        intake.push(&batch).map_err(Error::from)?;
        observe(seen)?;
    }
    let sample = intake.finish(Some(part.rows())).map_err(Error::from)?;
    // What most blocks of a column really have.
    let mut present = Vec::new();
    for size in part.column_sizes().map_err(Error::from)? {
        let codec = written(&part, &size).map_err(Error::from)?;
        present.push(Present { codec, on_disk: Some(size.compressed) });
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Rows { name, sample, present, is_table: true })
}

/// What the table says of a column, and what its files take.
fn present(table: &Table, column: &Column) -> Result<Present, Error> {
    let defined = table.definition().and_then(|definition| {
        definition.columns.iter().find(|defined| defined.column.name == column.name)
    });
    let (mut on_disk, mut most, mut seen) = (0, 0, None);
    for part in table.parts() {
        for (own, size) in part.columns().iter().zip(part.column_sizes()?) {
            if own.name == column.name {
                on_disk += size.compressed;
                if size.compressed > most {
                    most = size.compressed;
                    seen = written(part, &size)?;
                }
            }
        }
    }
    let codec = defined.and_then(|defined| defined.codec.clone()).or(seen);
    Ok(Present { codec, on_disk: Some(on_disk) })
}

/// What most blocks of a column have. They say a codec without its level, which the part may say of columns that name none.
fn written(part: &Part, size: &ColumnSize) -> Result<Option<CodecSpec>, PartError> {
    let parsed = |text: &String| text.parse::<CodecSpec>().ok();
    let names =
        |spec: &CodecSpec| spec.calls.iter().map(|call| call.name.clone()).collect::<Vec<_>>();
    let seen = size.codecs.first().and_then(parsed);
    let default = part.default_codec()?.as_ref().and_then(parsed);
    let is_default =
        matches!((&seen, &default), (Some(seen), Some(default)) if names(seen) == names(default));
    Ok(if is_default { default } else { seen })
}

/// Leaves runs of granules that are spread over a large table.
fn thin(scan: &mut Scan, table: &Table) {
    let rows = table.rows();
    if rows <= ROWS_MAX {
        return;
    }
    let stride = usize::try_from(rows.div_ceil(ROWS_MAX)).unwrap_or(usize::MAX);
    let mut number = 0;
    for ranges in &mut scan.partitions {
        let mut kept = Vec::new();
        for range in ranges.iter() {
            let sizes = table.parts().get(range.part).map_or(&[][..], |part| part.granules());
            for start in (range.start..range.end).step_by(GRANULES) {
                let end = (start + GRANULES).min(range.end);
                if number % stride == 0 {
                    let rows = sizes.get(start..end).unwrap_or_default().iter().sum();
                    kept.push(ScanRange { part: range.part, start, end, rows });
                }
                number += 1;
            }
        }
        *ranges = kept;
    }
}
