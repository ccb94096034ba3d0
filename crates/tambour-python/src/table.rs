//! Tables: opened, scanned, written, merged, verified.

use crate::buffer::{PathArgument, codec};
use crate::carrow::{capsule, naive};
use crate::failure::{Failure, argument};
use crate::filter::{Condition, condition};
use crate::scan::{Wish, zone_of};
use crate::source::Source;
use crate::stream::Stream;
use crate::work;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{SystemTime, UNIX_EPOCH};
use tambour::index::verify;
use tambour::part::types::{Strings, arrow_schema};
use tambour::storage::disk;
use tambour::table::TableError;
use tambour::table::insert::{Existing, InsertSummary};
use tambour::table::merge::{OptimizeOptions, optimize_with};
use tambour::table::recompress::recompress;
use tambour::table::salvage::{SalvageOptions, salvage};
use tambour::table::store::storage_of;
use tambour::{AttachOptions, CodecSpec, ExportOptions, ImportEvent, ImportOptions, ImportTypes};

/// A table: what it was when it was opened or last changed through this handle.
#[pyclass(frozen, module = "tambour._internal")]
pub(crate) struct Table {
    table: RwLock<tambour::Table>,
    /// Held while the table is written: other threads wait, as for a store.
    writing: Mutex<()>,
}

impl Table {
    /// The table as it is now.
    pub(crate) fn snapshot(&self) -> tambour::Table {
        self.table.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn replace(&self, table: tambour::Table) {
        *self.table.write().unwrap_or_else(PoisonError::into_inner) = table;
    }

    /// Does something to the table on the disk, and looks at it again.
    fn change<T: Send>(
        &self,
        py: Python<'_>,
        change: impl FnOnce(&mut work::Watch, &Path) -> Result<T, Failure> + Send,
    ) -> PyResult<T> {
        let path = self.snapshot().path().to_owned();
        let (changed, table) = work::detached(py, |watch| {
            let _alone = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
            let changed = change(watch, &path)?;
            Ok((changed, tambour::Table::open(&path)?))
        })?;
        self.replace(table);
        Ok(changed)
    }
}

/// Codecs as Python says them: of columns, or of all others (`None`).
type Codecs = Vec<(Option<String>, String)>;

fn parsed(codecs: &Codecs) -> Result<Vec<(Option<String>, CodecSpec)>, Failure> {
    codecs.iter().map(|(column, text)| Ok((column.clone(), codec(text)?))).collect()
}

/// The codec that a column gets: its own, or that of all.
fn chosen(codecs: &[(Option<String>, CodecSpec)], column: &str) -> Option<CodecSpec> {
    let own = codecs.iter().rev().find(|(name, _)| name.as_deref() == Some(column));
    let all = codecs.iter().rev().find(|(name, _)| name.is_none());
    own.or(all).map(|(_, codec)| codec.clone())
}

/// Codecs for columns that the table has.
fn known(
    table: &tambour::Table,
    codecs: &Codecs,
) -> Result<Vec<(Option<String>, CodecSpec)>, Failure> {
    for name in codecs.iter().filter_map(|(column, _)| column.as_ref()) {
        if !table.columns().iter().any(|column| column.name == *name) {
            let names: Vec<&str> = table.columns().iter().map(|it| it.name.as_str()).collect();
            let text = format!("no column {name:?}; there are: {}", names.join(", "));
            return Err(Failure::Said(tambour::Kind::NotFound, text));
        }
    }
    parsed(codecs)
}

#[pymethods]
impl Table {
    /// Opens a table, a directory of parts, or a part.
    #[new]
    fn open(py: Python<'_>, path: PathArgument) -> PyResult<Self> {
        let table = work::detached(py, |_| Ok(tambour::Table::open(&path)?))?;
        Ok(Self { table: RwLock::new(table), writing: Mutex::new(()) })
    }

    /// Looks at the table again.
    fn refresh(&self, py: Python<'_>) -> PyResult<()> {
        self.change(py, |_, _| Ok(()))
    }

    /// Its name.
    #[getter]
    fn name(&self) -> String {
        self.snapshot().name().to_owned()
    }

    /// Its directory.
    #[getter]
    fn path(&self) -> std::path::PathBuf {
        self.snapshot().path().to_owned()
    }

    /// Rows of all parts.
    #[getter]
    fn rows(&self) -> u64 {
        self.snapshot().rows()
    }

    /// Rows that are seen: without those that lightweight deletes hide. Reads nothing but their masks.
    fn count(&self, py: Python<'_>) -> PyResult<u64> {
        let table = self.snapshot();
        if !table.has_deleted_rows() {
            return Ok(table.rows());
        }
        work::detached(py, move |_| {
            let batches = table.scan().columns([""; 0]).batches()?;
            let mut rows = 0;
            for batch in batches {
                rows += batch?.num_rows() as u64;
            }
            Ok(rows)
        })
    }

    /// The CREATE TABLE statement, if it is known.
    #[getter]
    fn statement(&self) -> Option<String> {
        self.snapshot().definition().map(ToString::to_string)
    }

    /// Names and types of the columns.
    fn column_types(&self) -> Vec<(String, String)> {
        let column = |it: &tambour::Column| (it.name.clone(), it.data_type.to_string());
        self.snapshot().columns().iter().map(column).collect()
    }

    /// A dictionary for each column: sizes in bytes, and codecs.
    fn columns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let table = self.snapshot();
        let sizes = work::detached(py, |_| sizes(&table))?;
        let list = PyList::empty(py);
        for column in table.columns() {
            let size = sizes.get(&column.name).cloned().unwrap_or_default();
            let entry = PyDict::new(py);
            entry.set_item("name", &column.name)?;
            entry.set_item("type", column.data_type.to_string())?;
            entry.set_item("codec", declared(&table, &column.name))?;
            entry.set_item("compressed", size.compressed)?;
            entry.set_item("uncompressed", size.uncompressed)?;
            entry.set_item("codecs", size.codecs)?;
            list.append(entry)?;
        }
        Ok(list)
    }

    /// A dictionary for each part.
    fn parts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let table = self.snapshot();
        let list = PyList::empty(py);
        for part in table.parts() {
            let entry = PyDict::new(py);
            entry.set_item("name", part.name())?;
            entry.set_item("path", part.path().to_string_lossy())?;
            entry.set_item("rows", part.rows())?;
            entry.set_item("bytes_on_disk", part.bytes_on_disk())?;
            let is_wide = part.form() == tambour::part::part::Form::Wide;
            entry.set_item("form", if is_wide { "wide" } else { "compact" })?;
            entry.set_item("granules", part.granules().len())?;
            list.append(entry)?;
        }
        Ok(list)
    }

    /// The schema, in a capsule.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = arrow_schema(self.snapshot().columns(), Strings::Utf8);
        capsule::schema(py, &naive::schema(&Arc::new(schema)))
    }

    /// Begins to read rows.
    #[pyo3(signature = (columns = None, filter = None, limit = None, binary = false))]
    fn scan(
        &self,
        py: Python<'_>,
        columns: Option<Vec<String>>,
        filter: Option<Bound<'_, PyAny>>,
        limit: Option<u64>,
        binary: bool,
    ) -> PyResult<Stream> {
        let table = self.snapshot();
        let zones = |name: &str| zone_of(&table, name);
        let condition = filter.map(|filter| condition(&filter, &zones)).transpose()?;
        work::detached(py, move |_| {
            let wish = Wish { columns, limit, binary };
            match condition {
                None => Ok(wish.scan(&table, None)?),
                Some(Condition::Filter(filter, text)) => {
                    match (wish.scan(&table, Some(filter)), text) {
                        // It parses, and the scan cannot do it: another expression.
                        (Err(error), Some(text)) if error.kind() == tambour::Kind::Unsupported => {
                            wish.sql(&table, &text, error.into())
                        }
                        (result, _) => Ok(result?),
                    }
                }
                Some(Condition::Sql(text, reason)) => wish.sql(&table, &text, reason),
            }
        })
    }

    /// Adds rows; how many.
    fn append(
        &self,
        py: Python<'_>,
        data: &Bound<'_, PyAny>,
        wishes: ImportWishes,
    ) -> PyResult<u64> {
        let mut source = Source::of(data)?;
        let options = wishes.options()?;
        let written = self.change(py, |watch, path| {
            // An import would make a table that is gone anew, with other types.
            tambour::Table::open(path)?;
            let mut tell = |event: ImportEvent<'_>| watch.event(&event);
            Ok(tambour::import_batches(&mut source, path, &options, &mut tell)?.written)
        })?;
        Ok(written.rows)
    }

    /// Merges the parts of each partition; how many parts there were and are.
    fn optimize(
        &self,
        py: Python<'_>,
        codecs: Codecs,
        memory_bytes: Option<u64>,
        threads: usize,
    ) -> PyResult<(u64, u64)> {
        let codecs = known(&self.snapshot(), &codecs)?;
        let since = SystemTime::now().duration_since(UNIX_EPOCH).ok();
        let now = since.and_then(|it| i64::try_from(it.as_secs()).ok());
        let mut options = OptimizeOptions { threads, now, ..OptimizeOptions::default() };
        if let Some(bytes) = memory_bytes {
            options.memory_bytes = bytes;
        }
        let summary = self.change(py, |watch, path| {
            let choose = |column: &str| chosen(&codecs, column);
            let choose: Option<&tambour::table::schema::ChooseCodec<'_>> =
                if codecs.is_empty() { None } else { Some(&choose) };
            Ok(optimize_with(&disk(), path, &options, choose, &mut |_| watch.leave())?)
        })?;
        Ok((summary.parts_before, summary.parts_after))
    }

    /// Gives columns other codecs; bytes before and after.
    fn recompress(&self, py: Python<'_>, codecs: Codecs) -> PyResult<(u64, u64)> {
        let codecs = known(&self.snapshot(), &codecs)?;
        let summary = self.change(py, |watch, path| {
            let choose = |column: &str| chosen(&codecs, column);
            Ok(recompress(&disk(), path, &choose, &mut |_| watch.leave())?)
        })?;
        Ok((summary.bytes_before, summary.bytes_after))
    }

    /// Writes all rows into a file; how many.
    fn export(
        &self,
        py: Python<'_>,
        path: PathArgument,
        columns: Vec<String>,
        format: Option<&str>,
        replace: bool,
    ) -> PyResult<u64> {
        let table = self.snapshot();
        let mut options = ExportOptions::default();
        options.columns = columns;
        options.format = format.map(file_format).transpose()?;
        options.replace = replace;
        work::detached(py, |watch| Ok(table.export_with(&path, &options, &mut |_| watch.flow())?))
    }

    /// The commands that attach the parts to a server.
    fn attach_script(
        &self,
        database: String,
        name: Option<String>,
        hosts: Vec<String>,
        sql: bool,
    ) -> PyResult<Option<String>> {
        let mut options = AttachOptions::default();
        options.database = database;
        options.name = name;
        options.hosts = hosts;
        options.sql = sql;
        let table = self.snapshot();
        match table.own_codec().map_err(Failure::from)? {
            None => Ok(table.attach_script(&options)),
            Some(place) => {
                let what = format!(
                    "{place} is Tambour's own, and ClickHouse does not read it: recompress"
                );
                Err(Failure::Said(tambour::Kind::Unsupported, what).into())
            }
        }
    }
}

/// Bytes of a column in all parts.
#[derive(Clone, Default)]
struct Size {
    compressed: u64,
    uncompressed: u64,
    codecs: Vec<String>,
}

fn sizes(table: &tambour::Table) -> Result<BTreeMap<String, Size>, Failure> {
    let mut sizes: BTreeMap<String, Size> = BTreeMap::new();
    for part in table.parts() {
        // The table says that the part is there: a file of it that is not found is damage.
        let found = part.column_sizes().map_err(TableError::part(table.path(), part.name()))?;
        for (column, found) in part.columns().iter().zip(found) {
            let size = sizes.entry(column.name.clone()).or_default();
            size.compressed += found.compressed;
            size.uncompressed += found.uncompressed;
            for codec in found.codecs {
                if !size.codecs.contains(&codec) {
                    size.codecs.push(codec);
                }
            }
        }
    }
    Ok(sizes)
}

/// The codec of a column as its table declares it.
fn declared(table: &tambour::Table, column: &str) -> Option<String> {
    let columns = &table.definition()?.columns;
    let found = columns.iter().find(|defined| defined.column.name == column)?;
    found.codec.as_ref().map(ToString::to_string)
}

/// The format of files by its name.
fn file_format(name: &str) -> Result<tambour::files::Format, Failure> {
    use tambour::files::Format;
    Format::by_extension(Path::new(&format!("file.{name}"))).ok_or_else(|| {
        argument(format!("format {name:?}: there are csv, tsv, jsonl, parquet and arrow"))
    })
}

/// How to import, as Python says it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct ImportWishes {
    exists: String,
    order_by: Option<String>,
    primary_key: Option<String>,
    partition_by: Option<String>,
    codecs: Codecs,
    definition: Option<String>,
    portable: bool,
    types: String,
    format: Option<String>,
    header: Option<bool>,
    delimiter: Option<String>,
    skip_unknown_columns: bool,
    rows_per_part: Option<u64>,
    memory_bytes: Option<u64>,
    threads: Option<usize>,
}

impl ImportWishes {
    /// The options of the library.
    fn options(self) -> Result<ImportOptions, Failure> {
        let mut options = ImportOptions::default();
        options.existing = match self.exists.as_str() {
            "error" => Existing::Refuse,
            "append" => Existing::Append,
            "replace" => Existing::Replace,
            other => {
                return Err(argument(format!("exists={other:?}: say error, append or replace")));
            }
        };
        options.order_by = self.order_by;
        options.primary_key = self.primary_key;
        options.partition_by = self.partition_by;
        options.codecs = parsed(&self.codecs)?;
        if let Some(statement) = &self.definition {
            let parsed = tambour::TableDefinition::parse(statement)?;
            options.definition = Some(parsed);
        }
        options.portable = self.portable;
        options.types = match self.types.as_str() {
            "natural" => ImportTypes::Natural,
            "smallest" => ImportTypes::Smallest,
            "keep" => ImportTypes::Keep,
            other => {
                return Err(argument(format!("types={other:?}: say natural, smallest or keep")));
            }
        };
        options.format = self.format.as_deref().map(file_format).transpose()?;
        options.header = self.header;
        options.delimiter = match self.delimiter.as_deref().map(str::as_bytes) {
            None => None,
            Some([byte]) => Some(*byte),
            Some(_) => return Err(argument("the delimiter is one ASCII character")),
        };
        options.skip_unknown_columns = self.skip_unknown_columns;
        options.rows_per_part = self.rows_per_part;
        if let Some(bytes) = self.memory_bytes {
            options.memory_bytes = bytes;
        }
        if let Some(threads) = self.threads {
            options.threads = threads;
        }
        Ok(options)
    }
}

/// Imports files; `progress` is called with what was done so far: a word, rows, bytes, bytes of all.
#[pyfunction]
pub(crate) fn import_files(
    py: Python<'_>,
    files: Vec<PathArgument>,
    table: PathArgument,
    wishes: ImportWishes,
    progress: Option<Py<PyAny>>,
) -> PyResult<(u64, u64, u64)> {
    let options = wishes.options()?;
    let written = work::detached(py, |watch| {
        let mut teller = Teller { progress, total: None };
        let mut raised = None;
        let result = tambour::import_with(&files, &table, &options, &mut |event| {
            let flow = watch.event(&event);
            if let Err(failure) = teller.tell(event) {
                raised = Some(failure);
                return ControlFlow::Break(());
            }
            flow
        });
        match raised {
            Some(failure) => Err(failure),
            None => Ok(result?.written),
        }
    })?;
    Ok(summed(&written))
}

fn summed(written: &InsertSummary) -> (u64, u64, u64) {
    (written.rows, written.uncompressed, written.compressed)
}

/// Tells Python how far an import is.
struct Teller {
    progress: Option<Py<PyAny>>,
    total: Option<u64>,
}

impl Teller {
    fn tell(&mut self, event: ImportEvent<'_>) -> Result<(), Failure> {
        let Some(progress) = &self.progress else { return Ok(()) };
        let said = match event {
            ImportEvent::Opened { bytes_total } => {
                self.total = bytes_total;
                ("opened", 0, 0)
            }
            ImportEvent::Rows { rows, bytes } => ("rows", rows, bytes),
            ImportEvent::Restart(_) => ("restart", 0, 0),
            ImportEvent::Committing => ("committing", 0, 0),
            _ => return Ok(()),
        };
        let (what, rows, bytes) = said;
        Python::attach(|py| progress.call1(py, (what, rows, bytes, self.total)))?;
        Ok(())
    }
}

/// Imports batches that an object hands over; rows, bytes before and after compression.
#[pyfunction]
pub(crate) fn import_data(
    py: Python<'_>,
    data: &Bound<'_, PyAny>,
    table: PathArgument,
    wishes: ImportWishes,
) -> PyResult<(u64, u64, u64)> {
    let mut source = Source::of(data)?;
    let options = wishes.options()?;
    let written = work::detached(py, |watch| {
        let mut tell = |event: ImportEvent<'_>| watch.event(&event);
        Ok(tambour::import_batches(&mut source, &table, &options, &mut tell)?.written)
    })?;
    Ok(summed(&written))
}

/// Verifies a table, a directory of parts or a part: counts, and the damage as exceptions.
#[pyfunction]
pub(crate) fn verify_table(
    py: Python<'_>,
    path: PathArgument,
) -> PyResult<(Bound<'_, PyDict>, Vec<Py<PyAny>>)> {
    let seen = work::detached(py, |watch| {
        Ok(verify(&storage_of(&path)?, &path, &mut |_| watch.leave())?)
    })?;
    let counts = PyDict::new(py);
    counts.set_item("parts", seen.parts)?;
    counts.set_item("files", seen.files)?;
    counts.set_item("blocks", seen.blocks)?;
    counts.set_item("bytes", seen.bytes)?;
    counts.set_item("rows", seen.rows)?;
    let raised = |error| {
        let error = PyErr::from(Failure::from(error));
        error.into_value(py).into_any()
    };
    Ok((counts, seen.damage.into_iter().map(raised).collect()))
}

/// A loss: the column, its first and last row in the part, and the reason.
type Lost = (String, Option<(u64, u64)>, String);

/// Salvages a part into a new table: rows, rows saved, columns saved, and the losses.
#[pyfunction]
pub(crate) fn salvage_part(
    py: Python<'_>,
    part: PathArgument,
    to: PathArgument,
    threads: usize,
) -> PyResult<(u64, u64, usize, Vec<Lost>)> {
    let options = SalvageOptions { threads, ..SalvageOptions::default() };
    let saved = work::detached(py, |_| Ok(salvage(&disk(), &part, &to, &options)?))?;
    let loss = |loss: tambour::table::salvage::Loss| {
        (loss.column, loss.rows.map(|rows| (rows.start, rows.end)), loss.reason)
    };
    let losses = saved.losses.into_iter().map(loss).collect();
    Ok((saved.rows, saved.rows_saved, saved.columns_saved, losses))
}
