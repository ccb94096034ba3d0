//! Batches that a program hands over into a table: all rows or none.

use super::{ImportEvent, ImportOptions, ImportSummary, definition};
use crate::Error;
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use std::ops::ControlFlow;
use std::path::Path;
use tambour_files::{Handed, Survey};
use tambour_part::types::Column;
use tambour_storage::disk;
use tambour_table::insert::Insert;

/// Batches that somebody hands over, one after the other.
pub trait BatchSource<E> {
    /// The schema of all of them.
    fn schema(&self) -> SchemaRef;
    /// The next batch.
    fn next_batch(&mut self) -> Result<Option<RecordBatch>, E>;
    /// Begins again, if the batches can be handed over once more; otherwise `false`, and nothing happens.
    fn restart(&mut self) -> Result<bool, E>;
}

/// Batches that are in memory.
///
/// ```
/// use std::ops::ControlFlow;
/// use tambour::{BatchesInMemory, ImportOptions};
/// # use tambour::arrow_array::{ArrayRef, Int64Array, RecordBatch};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let directory = tempfile::tempdir()?;
/// # let hits = directory.path().join("hits");
/// let visits = std::sync::Arc::new(Int64Array::from(vec![30, 1, 40])) as ArrayRef;
/// let batch = RecordBatch::try_from_iter([("visits", visits)])?;
/// let mut rows = BatchesInMemory::new(batch.schema(), vec![batch]);
/// let options = ImportOptions::default().order_by("visits");
/// let summary = tambour::import_batches::<tambour::Error>(&mut rows, &hits, &options, &mut |_| {
///     ControlFlow::Continue(())
/// })?;
/// assert_eq!(summary.written.rows, 3);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct BatchesInMemory {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
    next: usize,
}

impl BatchesInMemory {
    /// Batches of one schema.
    pub fn new(schema: SchemaRef, batches: Vec<RecordBatch>) -> Self {
        Self { schema, batches, next: 0 }
    }
}

impl<E> BatchSource<E> for BatchesInMemory {
    fn schema(&self) -> SchemaRef {
        SchemaRef::clone(&self.schema)
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>, E> {
        let batch = self.batches.get(self.next).cloned();
        self.next += usize::from(batch.is_some());
        Ok(batch)
    }

    fn restart(&mut self) -> Result<bool, E> {
        self.next = 0;
        Ok(true)
    }
}

/// Imports batches as [`import_with`](crate::import_with) does files. Where nothing says which types the columns have, the
/// batches are read twice if they can be, and a column is Nullable only if it has a NULL; otherwise if its field may have.
pub fn import_batches<E: From<Error>>(
    source: &mut dyn BatchSource<E>,
    table: impl AsRef<Path>,
    options: &ImportOptions,
    progress: &mut dyn FnMut(ImportEvent<'_>) -> ControlFlow<()>,
) -> Result<ImportSummary, E> {
    let path = table.as_ref();
    let mut tell = |event: ImportEvent<'_>| match progress(event) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(E::from(Error::Interrupted)),
    };
    tell(ImportEvent::Opened { bytes_total: None })?;
    let given = definition::given(path, options)?;
    let inserting = options.inserting(definition::seen(options, given.as_ref()));
    let definition = match given {
        Some(definition) => definition,
        None => definition::inferred(path, options, &surveyed(source)?)?,
    };
    tell(ImportEvent::Schema(&definition))?;
    definition.refuse_constraints().map_err(Error::from)?;
    let columns = definition.plain_columns();
    let skip = options.skip_unknown_columns;
    let handed = Handed::stored(&source.schema(), &columns, skip).map_err(Error::from)?;
    let mut insert = Insert::begin(&disk(), path, &definition, inserting).map_err(Error::from)?;
    match copy(source, handed, &mut insert, &mut tell) {
        Ok(bytes_read) => {
            let mut refused = None;
            let written = insert.commit_if(&mut || {
                tell(ImportEvent::Written).map_err(|error| {
                    refused = Some(error);
                    Error::Interrupted
                })
            });
            let written = written.map_err(|error| refused.unwrap_or_else(|| E::from(error)))?;
            Ok(ImportSummary { definition, bytes_read, written, changes: Vec::new() })
        }
        Err(error) => {
            insert.abort().map_err(Error::from)?;
            Err(error)
        }
    }
}

/// All rows of a source in the form that tables have, with their schema: for a query over them.
pub fn collect_batches<E: From<Error>>(
    source: &mut dyn BatchSource<E>,
) -> Result<(SchemaRef, Vec<RecordBatch>), E> {
    let columns = Survey::stated(source.schema()).columns().map_err(Error::from)?;
    let mut handed =
        Handed::with_columns(&source.schema(), &columns, false).map_err(Error::from)?;
    let mut batches = Vec::new();
    while let Some(batch) = source.next_batch()? {
        batches.push(handed.batch(&batch).map_err(Error::from)?);
    }
    Ok((SchemaRef::clone(handed.schema()), batches))
}

/// The columns that a table of the batches has.
fn surveyed<E: From<Error>>(source: &mut dyn BatchSource<E>) -> Result<Vec<Column>, E> {
    if !source.restart()? {
        return Ok(Survey::stated(source.schema()).columns().map_err(Error::from)?);
    }
    let mut survey = Survey::new(source.schema());
    while let Some(batch) = source.next_batch()? {
        survey.observe(&batch);
    }
    source.restart()?;
    Ok(survey.columns().map_err(Error::from)?)
}

/// Bytes of the rows of a batch, which may be a slice of a larger one.
fn bytes_of(batch: &RecordBatch) -> u64 {
    let sizes = batch.columns().iter().map(|column| column.to_data().get_slice_memory_size());
    sizes.map(|size| size.map_or(0, |size| size as u64)).sum()
}

/// All batches, into the table; their bytes in memory.
fn copy<E: From<Error>>(
    source: &mut dyn BatchSource<E>,
    mut handed: Handed,
    insert: &mut Insert,
    tell: &mut impl FnMut(ImportEvent<'_>) -> Result<(), E>,
) -> Result<u64, E> {
    let (mut rows, mut bytes) = (0, 0);
    while let Some(batch) = source.next_batch()? {
        rows += batch.num_rows() as u64;
        bytes += bytes_of(&batch);
        let fitted = handed.batch(&batch).map_err(Error::from)?;
        insert.write(fitted).map_err(Error::from)?;
        tell(ImportEvent::Rows { rows, bytes })?;
    }
    tell(ImportEvent::Committing)?;
    Ok(bytes)
}
