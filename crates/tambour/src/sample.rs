//! The rows that advice is made from: of files, or of a table's or a part's granules.

use crate::{Error, ImportEvent, Table};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use tambour_files::{FileError, Input, ReadOptions};
use tambour_part::Part;
use tambour_part::part::ReadRequest;
use tambour_part::types::{Column, Strings};
use tambour_storage::disk;
use tambour_table::advise::{Advice, AdviseOptions, Intake, Present, Sample, advise};
use tambour_table::scan::{Scan, ScanRange, ScanRequest};

/// Rows of a table that are read; of more, granules spread over all are.
const ROWS_MAX: u64 = 2_000_000;
/// Granules that are read together.
const GRANULES: usize = 8;
/// Rows that travel together.
const BATCH_ROWS: usize = 16_384;

/// A sample of rows, and what is known of their columns: what [`Sampled::advise`] measures codecs and types on.
///
/// ```
/// use std::ops::ControlFlow;
/// use tambour::files::ReadOptions;
/// use tambour::table::advise::AdviseOptions;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let directory = tempfile::tempdir()?;
/// # let csv = directory.path().join("hits.csv");
/// std::fs::write(&csv, "page,visits\n/,3\n/about,1\n")?;
/// let go_on = &mut |_: tambour::ImportEvent<'_>| ControlFlow::Continue(());
/// let sampled = tambour::Sampled::files([&csv], ReadOptions::default(), go_on)?;
/// // Decoding is measured by the caller's clock; this one stands still, so that sizes alone count.
/// let advice = sampled.advise(&AdviseOptions::new(|| std::time::Duration::ZERO))?;
/// assert_eq!(advice.rows, 2);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct Sampled {
    /// The rows.
    pub sample: Sample,
    /// For each column its codec and its bytes, if it has them already.
    pub present: Vec<Present>,
}

/// What sampling is told; it answers whether to go on.
type Progress<'a> = dyn FnMut(ImportEvent<'_>) -> ControlFlow<()> + 'a;

fn tell(progress: &mut Progress<'_>, event: ImportEvent<'_>) -> Result<(), Error> {
    match progress(event) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(Error::Interrupted),
    }
}

impl Sampled {
    /// Rows of files that would become a table.
    pub fn files<P: AsRef<Path>>(
        files: impl IntoIterator<Item = P>,
        options: ReadOptions,
        progress: &mut Progress<'_>,
    ) -> Result<Self, Error> {
        let files: Vec<_> = files.into_iter().map(|file| file.as_ref().to_owned()).collect();
        let mut input = Input::open(&files, ReadOptions { batch_rows: BATCH_ROWS, ..options })?;
        tell(progress, ImportEvent::Opened { bytes_total: input.bytes_total() })?;
        let sample = loop {
            let mut intake = Intake::new(input.columns().to_vec());
            match take(&mut input, &mut intake, progress) {
                Ok(()) => break intake.finish(None)?,
                // A later row contradicts the types: with all of them known, again from the start.
                Err(Error::File(FileError::Widen { .. })) => input.restart()?,
                Err(error) => return Err(error),
            }
        };
        Ok(Self { present: vec![Present::default(); input.columns().len()], sample })
    }

    /// Rows of a table, from granules that are spread over all of it.
    pub fn table(table: &Table, progress: &mut Progress<'_>) -> Result<Self, Error> {
        let columns: Vec<Column> = table.columns().to_vec();
        let request = ScanRequest {
            columns: columns.iter().map(|column| column.name.clone()).collect(),
            batch_rows: BATCH_ROWS,
            ..ScanRequest::default()
        };
        let (mut scan, _) = Scan::plan(table, &request)?;
        thin(&mut scan, table);
        let mut intake = Intake::new(columns.clone());
        let mut rows = 0;
        for partition in 0..scan.partitions.len() {
            for batch in scan.run(partition, table.storage(), Some(table))? {
                let batch = batch?;
                rows += batch.num_rows() as u64;
                intake.push(&batch)?;
                tell(progress, ImportEvent::Rows { rows, bytes: 0 })?;
            }
        }
        let sample = intake.finish(Some(table.rows()))?;
        let present = columns.iter().map(|column| present(table, column));
        Ok(Self { present: present.collect::<Result<_, _>>()?, sample })
    }

    /// Rows of a single part.
    pub fn part(path: impl AsRef<Path>, progress: &mut Progress<'_>) -> Result<Self, Error> {
        let part = Arc::new(Part::open(&disk(), path.as_ref())?);
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
        let mut rows = 0;
        for batch in part.read(request)? {
            let batch = batch?;
            rows += batch.num_rows() as u64;
            intake.push(&batch)?;
            tell(progress, ImportEvent::Rows { rows, bytes: 0 })?;
        }
        let sample = intake.finish(Some(part.rows()))?;
        // What most blocks of a column really have.
        let present = part.column_sizes()?.into_iter().map(|size| Present {
            codec: size.codecs.first().and_then(|codec| codec.parse().ok()),
            on_disk: Some(size.compressed),
        });
        Ok(Self { present: present.collect(), sample })
    }

    /// Measures chains of codecs and types on the sample; see [`tambour_table::advise`].
    pub fn advise(&self, options: &AdviseOptions) -> Result<Advice, Error> {
        Ok(advise(&self.sample, &self.present, options)?)
    }
}

fn take(input: &mut Input, intake: &mut Intake, progress: &mut Progress<'_>) -> Result<(), Error> {
    let mut rows = 0;
    while let Some(batch) = input.next_batch() {
        let batch = batch?;
        rows += batch.num_rows() as u64;
        intake.push(&batch)?;
        tell(progress, ImportEvent::Rows { rows, bytes: input.bytes_read() })?;
    }
    Ok(())
}

/// What the table says of a column, and what its files take.
fn present(table: &Table, column: &Column) -> Result<Present, Error> {
    let defined = table.definition().and_then(|definition| {
        definition.columns.iter().find(|defined| defined.column.name == column.name)
    });
    let mut on_disk = 0;
    for part in table.parts() {
        for (own, size) in part.columns().iter().zip(part.column_sizes()?) {
            if own.name == column.name {
                on_disk += size.compressed;
            }
        }
    }
    let codec = defined.and_then(|defined| defined.codec.clone());
    Ok(Present { codec, on_disk: Some(on_disk) })
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
