//! Files into a table: all rows or none.

mod batches;
mod definition;
mod error;
mod options;
mod widen;

pub use batches::{BatchSource, BatchesInMemory, collect_batches, import_batches};
pub use error::{Clause, ImportError};
pub use options::{ImportOptions, ImportTypes};
pub use widen::TypeChange;
use widen::Widening;

use crate::{Error, Table};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use tambour_files::{FileError, Input};
use tambour_storage::disk;
use tambour_table::insert::{Insert, InsertSummary};
use tambour_table::schema::TableDefinition;

/// Imports CSV, TSV, JSON lines, Parquet or Arrow files (also compressed ones) into a table and opens it. `-` is standard
/// input.
///
/// Types that nobody gave are inferred. Where a later row contradicts them, the files are read again with wider ones, also
/// where rows are added to a table ([`ImportOptions::append`]); the table shows all of the rows or, if anything goes wrong, none of them.
///
/// ```
/// use tambour::ImportOptions;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let directory = tempfile::tempdir()?;
/// # let (csv, hits) = (directory.path().join("hits.csv"), directory.path().join("hits"));
/// std::fs::write(&csv, "page,visits\n/,3\n/about,1\n")?;
/// let table = tambour::import([&csv], &hits, &ImportOptions::default())?;
/// assert_eq!(table.rows(), 2);
/// # Ok(())
/// # }
/// ```
pub fn import<P: AsRef<Path>>(
    files: impl IntoIterator<Item = P>,
    table: impl AsRef<Path>,
    options: &ImportOptions,
) -> Result<Table, Error> {
    let table = table.as_ref();
    import_with(files, table, options, &mut |_| ControlFlow::Continue(()))?;
    Table::open(table)
}

/// The same; tells how far it is, and stops where the callback says [`ControlFlow::Break`]: with [`Error::Interrupted`], and
/// the table as it was.
///
/// ```
/// use std::ops::ControlFlow;
/// use tambour::{Error, ImportEvent, ImportOptions};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let directory = tempfile::tempdir()?;
/// # let (csv, hits) = (directory.path().join("hits.csv"), directory.path().join("hits"));
/// std::fs::write(&csv, "page,visits\n/,3\n/about,1\n")?;
/// let options = ImportOptions::default();
/// let summary = tambour::import_with([&csv], &hits, &options, &mut |event| {
///     if let ImportEvent::Rows { rows, .. } = event {
///         println!("{rows} rows");
///     }
///     ControlFlow::Continue(())
/// })?;
/// assert_eq!(summary.written.rows, 2);
///
/// let stopped = tambour::import_with([&csv], &hits, &options.append(), &mut |_| ControlFlow::Break(()));
/// assert!(matches!(stopped, Err(Error::Interrupted)));
/// # Ok(())
/// # }
/// ```
pub fn import_with<P: AsRef<Path>>(
    files: impl IntoIterator<Item = P>,
    table: impl AsRef<Path>,
    options: &ImportOptions,
    progress: &mut dyn FnMut(ImportEvent<'_>) -> ControlFlow<()>,
) -> Result<ImportSummary, Error> {
    let files: Vec<PathBuf> = files.into_iter().map(|file| file.as_ref().to_owned()).collect();
    let path = table.as_ref();
    let mut given = definition::given(path, options)?;
    let inserting = options.inserting(definition::seen(options, given.as_ref()));
    let mut widening = Widening::of(path, &files, options, given.as_ref());
    widening.add_columns(given.as_mut())?;
    let mut input = open(&files, options, &mut given, &mut widening)?;
    let mut tell = |event: ImportEvent<'_>| match progress(event) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(Error::Interrupted),
    };
    tell(ImportEvent::Opened { bytes_total: input.bytes_total() })?;
    loop {
        let definition = match &given {
            Some(definition) => definition.clone(),
            None => definition::inferred(path, options, input.columns())?,
        };
        tell(ImportEvent::Schema(&definition))?;
        definition.refuse_constraints()?;
        let mut insert = Insert::begin(&disk(), path, &definition, inserting.clone())?;
        match copy(&mut input, &mut insert, &mut tell) {
            Ok(()) => {
                let written = insert.commit_if(&mut || tell(ImportEvent::Written))?;
                let bytes_read = input.bytes_total().unwrap_or_else(|| input.bytes_read());
                let changes = widening.changes();
                return Ok(ImportSummary { definition, bytes_read, written, changes });
            }
            Err(Error::File(reason @ FileError::Widen { .. })) => {
                insert.abort()?;
                tell(ImportEvent::Restart(&reason))?;
                input.restart()?;
            }
            Err(Error::File(reason)) => {
                insert.abort()?;
                let reason = widening.widen(given.as_mut(), reason)?;
                tell(ImportEvent::Restart(&reason))?;
                input = open(&files, options, &mut given, &mut widening)?;
            }
            Err(error) => {
                insert.abort()?;
                return Err(error);
            }
        }
    }
}

/// The definition of a table that files are imported into by several processes: types are inferred from the beginning of
/// each file.
#[cfg(feature = "cluster")]
pub(crate) fn definition_of(
    files: &[PathBuf],
    path: &Path,
    options: &ImportOptions,
) -> Result<TableDefinition, Error> {
    if let Some(definition) = definition::given(path, options)? {
        return Ok(definition);
    }
    let input = Input::open(files, options.reading(None)?)?;
    definition::inferred(path, options, input.columns())
}

/// How the parts of an import are written.
#[cfg(feature = "cluster")]
pub(crate) fn options_of(options: &ImportOptions) -> tambour_table::insert::InsertOptions {
    options.inserting(None)
}

/// Opens the files, for a table that is widened until it has what they have.
fn open(
    files: &[PathBuf],
    options: &ImportOptions,
    given: &mut Option<TableDefinition>,
    widening: &mut Widening<'_>,
) -> Result<Input, Error> {
    loop {
        match Input::open(files, options.reading(given.as_ref())?) {
            Ok(input) => return Ok(input),
            Err(reason) => widening.widen(given.as_mut(), reason)?,
        };
    }
}

/// All batches, from the files to the table.
fn copy(
    input: &mut Input,
    insert: &mut Insert,
    tell: &mut impl FnMut(ImportEvent<'_>) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut rows = 0;
    while let Some(batch) = input.next_batch() {
        let batch = batch?;
        rows += batch.num_rows() as u64;
        insert.write(batch)?;
        tell(ImportEvent::Rows { rows, bytes: input.bytes_read() })?;
    }
    tell(ImportEvent::Committing)
}

/// How far an import is; see [`import_with`].
///
/// ```
/// use std::ops::ControlFlow;
/// use tambour::{ImportEvent, ImportOptions};
///
/// # let directory = tempfile::tempdir()?;
/// # let (csv, hits) = (directory.path().join("hits.csv"), directory.path().join("hits"));
/// std::fs::write(&csv, "page,visits\n/,3\n/about,1\n")?;
/// let mut told = Vec::new();
/// tambour::import_with([&csv], &hits, &ImportOptions::default(), &mut |event| {
///     told.push(match event {
///         ImportEvent::Opened { .. } => "opened",
///         ImportEvent::Schema(_) => "schema",
///         ImportEvent::Rows { .. } => "rows",
///         ImportEvent::Committing => "committing",
///         ImportEvent::Written => "written",
///         _ => "other",
///     });
///     ControlFlow::Continue(())
/// })?;
/// assert_eq!(told, ["opened", "schema", "rows", "committing", "written"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum ImportEvent<'a> {
    /// The files are open, and their types are known.
    Opened {
        /// Bytes of all files, unless one of them is a stream.
        bytes_total: Option<u64>,
    },
    /// Rows are going to be written into a table like this.
    Schema(&'a TableDefinition),
    /// Some rows more were read.
    Rows {
        /// Rows so far.
        rows: u64,
        /// Bytes of the files so far.
        bytes: u64,
    },
    /// A row contradicts the inferred types, or does not fit the table that it is added to: all files are read again, with wider
    /// ones. A [`ImportEvent::Schema`] follows.
    Restart(&'a FileError),
    /// All rows are read; sorted runs are merged, and the commit follows.
    Committing,
    /// Everything is written, and the commit is the next step: the last moment to stop.
    Written,
}

/// What an import did; see [`import_with`].
///
/// ```
/// use std::ops::ControlFlow;
/// use tambour::ImportOptions;
///
/// # let directory = tempfile::tempdir()?;
/// # let (csv, hits) = (directory.path().join("hits.csv"), directory.path().join("hits"));
/// std::fs::write(&csv, "page,visits\n/,3\n/about,1\n")?;
/// let go_on = &mut |_: tambour::ImportEvent<'_>| ControlFlow::Continue(());
/// let summary = tambour::import_with([&csv], &hits, &ImportOptions::default(), go_on)?;
/// assert_eq!(summary.bytes_read, 25);
/// assert_eq!((summary.written.rows, summary.written.parts), (2, 1));
/// assert_eq!(summary.definition.name, "hits");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ImportSummary {
    /// The table as it was defined.
    pub definition: TableDefinition,
    /// Bytes of the files.
    pub bytes_read: u64,
    /// Rows, parts and bytes on disk.
    pub written: InsertSummary,
    /// What rows that were appended have changed of the table's columns.
    pub changes: Vec<TypeChange>,
}
