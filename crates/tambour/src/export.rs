//! A table into one file.

use crate::{Error, Table};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tambour_codec::Kind;
use tambour_files::{Format, output};
use tambour_part::types::{Column, Strings, arrow_schema};
use tambour_storage::Place;

/// Rows per batch at least; large enough for one Parquet row group to need few of them.
const BATCH_ROWS: usize = 65_536;
/// Bytes that are written at once.
const BUFFER_BYTES: usize = 1 << 20;

/// How to export; see [`Table::export_with`]. By default all columns, in the format that the file's name says, and an
/// existing file is an error.
///
/// ```
/// use tambour::files::Format;
///
/// let mut options = tambour::ExportOptions::default();
/// options.columns = vec!["page".to_owned()];
/// options.format = Some(Format::JsonLines);
/// options.replace = true;
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ExportOptions {
    /// Columns, in the order of the file; none: all.
    pub columns: Vec<String>,
    /// Format; by the name of the file if not given.
    pub format: Option<Format>,
    /// How strings are treated that may not be UTF-8.
    pub strings: Strings,
    /// Replace the file if it exists.
    pub replace: bool,
}

/// An export that cannot be done.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let directory = tempfile::tempdir()?;
/// # let (csv, hits) = (directory.path().join("hits.csv"), directory.path().join("hits"));
/// std::fs::write(&csv, "page,visits\n/,3\n")?;
/// let table = tambour::import([&csv], &hits, &tambour::ImportOptions::default())?;
/// let error = table.export(directory.path().join("hits.docx")).unwrap_err();
/// assert!(error.to_string().ends_with("no format by that name; there are: csv, tsv, jsonl, parquet, arrow"));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The file is there already.
    #[error("{} exists: `replace` replaces it", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// The name of the file is that of no format.
    #[error("{}: no format by that name; there are: csv, tsv, jsonl, parquet, arrow", path.display())]
    Format {
        /// The file.
        path: PathBuf,
    },
    /// A column that the table does not have.
    #[error("no column {column:?}; there are: {}", known.join(", "))]
    UnknownColumn {
        /// The column.
        column: String,
        /// The columns that there are.
        known: Vec<String>,
    },
    /// The file cannot be written.
    #[error("{}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        cause: io::Error,
    },
}

impl ExportError {
    /// The file, or the column, that it is about.
    pub(crate) fn place(&self) -> Place {
        match self {
            Self::Exists { path } | Self::Format { path } | Self::Io { path, .. } => {
                Place::file(path)
            }
            Self::UnknownColumn { column, .. } => Place::column(column),
        }
    }

    /// What a caller can do about it.
    ///
    /// ```
    /// use tambour::{ExportError, Kind};
    ///
    /// let error = ExportError::Exists { path: "hits.parquet".into() };
    /// assert_eq!(error.kind(), Kind::Conflict);
    /// assert_eq!(error.to_string(), "hits.parquet exists: `replace` replaces it");
    /// ```
    pub fn kind(&self) -> Kind {
        match self {
            Self::Exists { .. } => Kind::Conflict,
            Self::Format { .. } => Kind::Unsupported,
            Self::UnknownColumn { .. } => Kind::NotFound,
            Self::Io { .. } => Kind::Io,
        }
    }
    fn io(path: &Path) -> impl Fn(io::Error) -> Error {
        move |cause| Self::Io { path: path.to_owned(), cause }.into()
    }
}

/// What an export is told after each batch: the rows so far. It answers whether to go on.
///
/// ```
/// use std::ops::ControlFlow;
///
/// let mut seen = 0;
/// let progress: &mut tambour::ExportProgress<'_> = &mut |rows| {
///     seen = rows; // rows so far, not rows of this batch
///     if rows < 1_000_000 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
/// };
/// assert!(progress(65_536).is_continue());
/// assert!(progress(1_048_576).is_break());
/// assert_eq!(seen, 1_048_576);
/// ```
pub type ExportProgress<'a> = dyn FnMut(u64) -> ControlFlow<()> + 'a;

/// Writes beside the file and puts it in place when it is complete.
pub(crate) fn to_file(
    table: &Table,
    path: &Path,
    options: &ExportOptions,
    progress: &mut ExportProgress<'_>,
) -> Result<u64, Error> {
    let format = options.format.or_else(|| Format::by_extension(path));
    let format = format.ok_or_else(|| ExportError::Format { path: path.to_owned() })?;
    if !options.replace && path.exists() {
        return Err(ExportError::Exists { path: path.to_owned() }.into());
    }
    let aside = aside(path);
    let result = (|| {
        let place = ExportError::io(&aside);
        let file = File::create_new(&aside).map_err(&place)?;
        let mut target = BufWriter::with_capacity(BUFFER_BYTES, file);
        let rows = to_writer(table, &mut target, format, options, progress)?;
        let file = target.into_inner().map_err(|error| place(error.into_error()))?;
        file.sync_all().map_err(&place)?;
        std::fs::rename(&aside, path).map_err(ExportError::io(path))?;
        Ok(rows)
    })();
    if result.is_err() {
        // What is half written is of no use to anybody; that it cannot be removed is the smaller trouble.
        let _ = std::fs::remove_file(&aside);
    }
    result
}

/// All rows, in the order of the parts.
pub(crate) fn to_writer(
    table: &Table,
    target: &mut (dyn Write + Send),
    format: Format,
    options: &ExportOptions,
    progress: &mut ExportProgress<'_>,
) -> Result<u64, Error> {
    let columns = columns(table, &options.columns)?;
    let schema = Arc::new(arrow_schema(&columns, options.strings));
    let names = columns.into_iter().map(|column| column.name);
    let scan = table.scan().columns(names).batch_rows(BATCH_ROWS).strings(options.strings);
    let batches = scan.batches()?;
    let mut output = output(format, &schema, Box::new(target))?;
    let mut rows = 0;
    for batch in batches {
        let batch = batch?;
        output.write(&batch)?;
        rows += batch.num_rows() as u64;
        if progress(rows).is_break() {
            return Err(Error::Interrupted);
        }
    }
    output.finish()?;
    Ok(rows)
}

/// The columns that were asked for, or all.
fn columns(table: &Table, names: &[String]) -> Result<Vec<Column>, ExportError> {
    if names.is_empty() {
        return Ok(table.columns().to_vec());
    }
    let find = |name: &String| {
        let known = table.columns();
        known.iter().find(|column| column.name == *name).cloned().ok_or_else(|| {
            let known = known.iter().map(|column| column.name.clone()).collect();
            ExportError::UnknownColumn { column: name.clone(), known }
        })
    };
    names.iter().map(find).collect()
}

/// The name under which the file grows: hidden, in the same directory, so that the rename stays on one disk.
fn aside(path: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}.tmp", std::process::id()));
    path.with_file_name(name)
}
