//! Rows of a table: some columns, those that match, this many of them.

use crate::{Error, Table};
use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{ArrowError, SchemaRef};
use std::sync::Arc;
use tambour_part::types::Strings;
use tambour_table::TableError;
use tambour_table::filter::{Filter, RowFilter};
use tambour_table::predicate::Predicate;
use tambour_table::scan::{Scan, ScanReader, ScanRequest};

/// A scan that is being described; [`Table::scan`] begins it and [`ScanBuilder::batches`] runs it.
///
/// ```
/// # use tambour::ImportOptions;
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let directory = tempfile::tempdir()?;
/// # let (csv, hits) = (directory.path().join("hits.csv"), directory.path().join("hits"));
/// # std::fs::write(&csv, "page,visits\n/,30\n/about,1\n/,40\n")?;
/// # let table = tambour::import([&csv], &hits, &ImportOptions::default())?;
/// let mut rows = 0;
/// for batch in table.scan().columns(["page"]).filter("visits > 10").limit(100).batches()? {
///     let batch = batch?;
///     assert_eq!(batch.schema().field(0).name(), "page");
///     rows += batch.num_rows();
/// }
/// assert_eq!(rows, 2);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "a scan reads nothing before `batches` is called"]
pub struct ScanBuilder<'t> {
    table: &'t Table,
    columns: Option<Vec<String>>,
    filters: Vec<Result<Filter, TableError>>,
    limit: Option<u64>,
    batch_rows: usize,
    strings: Strings,
}

impl<'t> ScanBuilder<'t> {
    pub(crate) fn new(table: &'t Table) -> Self {
        let request = ScanRequest::default();
        Self {
            table,
            columns: None,
            filters: Vec::new(),
            limit: None,
            batch_rows: request.batch_rows,
            strings: request.strings,
        }
    }
    /// Read these columns, in this order; otherwise all.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// # let (csv, hits) = (directory.path().join("hits.csv"), directory.path().join("hits"));
    /// # std::fs::write(&csv, "page,visits\n/,30\n/about,1\n/,40\n")?;
    /// # let table = tambour::import([&csv], &hits, &tambour::ImportOptions::default())?;
    /// let mut batches = table.scan().columns(["visits", "page"]).batches()?;
    /// let batch = batches.next().unwrap()?;
    /// assert_eq!(batch.schema().field(0).name(), "visits");
    ///
    /// let unknown = table.scan().columns(["time"]).batches().unwrap_err();
    /// assert_eq!(unknown.kind(), tambour::Kind::Argument);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn columns<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.columns = Some(names.into_iter().map(Into::into).collect());
        self
    }
    /// Read only rows for which a condition is true, like `visits > 10 AND page IN ('/', '/about')`. Of several all have to be
    /// true. [`Filter`] says what a condition may be.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// # let (csv, hits) = (directory.path().join("hits.csv"), directory.path().join("hits"));
    /// # std::fs::write(&csv, "page,visits\n/,30\n/about,1\n/,40\n")?;
    /// # let table = tambour::import([&csv], &hits, &tambour::ImportOptions::default())?;
    /// let mut rows = 0;
    /// for batch in table.scan().filter("visits > 10").filter("page = '/'").batches()? {
    ///     rows += batch?.num_rows();
    /// }
    /// assert_eq!(rows, 2);
    /// // A condition that does not parse is an error of `batches`, not of `filter`.
    /// assert!(table.scan().filter("visits >").batches().is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn filter(mut self, condition: &str) -> Self {
        self.filters.push(condition.parse());
        self
    }
    /// The same with a condition that is not a text.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// # let (csv, hits) = (directory.path().join("hits.csv"), directory.path().join("hits"));
    /// # std::fs::write(&csv, "page,visits\n/,30\n/about,1\n/,40\n")?;
    /// # let table = tambour::import([&csv], &hits, &tambour::ImportOptions::default())?;
    /// let condition: tambour::Filter = "visits > 10".parse()?;
    /// let rows: usize = table.scan().matching(condition).batches()?.map(|batch| batch.unwrap().num_rows()).sum();
    /// assert_eq!(rows, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn matching(mut self, condition: Filter) -> Self {
        self.filters.push(Ok(condition));
        self
    }
    /// Read at most this many rows.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// # let (csv, hits) = (directory.path().join("hits.csv"), directory.path().join("hits"));
    /// # std::fs::write(&csv, "page,visits\n/,30\n/about,1\n/,40\n")?;
    /// # let table = tambour::import([&csv], &hits, &tambour::ImportOptions::default())?;
    /// let rows: usize = table.scan().limit(2).batches()?.map(|batch| batch.unwrap().num_rows()).sum();
    /// assert_eq!(rows, 2);
    /// assert!(table.scan().limit(0).batches()?.next().is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn limit(mut self, rows: u64) -> Self {
        self.limit = Some(rows);
        self
    }
    /// Read this many rows at once, at least. Batches are whole granules, less the rows that do not match.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// # let (csv, hits) = (directory.path().join("hits.csv"), directory.path().join("hits"));
    /// # std::fs::write(&csv, "page,visits\n/,30\n/about,1\n/,40\n")?;
    /// # let table = tambour::import([&csv], &hits, &tambour::ImportOptions::default())?;
    /// // A granule is never split: three rows in one granule are one batch.
    /// let mut batches = table.scan().batch_rows(1).batches()?;
    /// assert_eq!(batches.next().unwrap()?.num_rows(), 3);
    /// assert!(batches.next().is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn batch_rows(mut self, rows: usize) -> Self {
        self.batch_rows = rows;
        self
    }
    /// How strings are handed out: as text, which is the default, or as bytes.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// # let (csv, hits) = (directory.path().join("hits.csv"), directory.path().join("hits"));
    /// # std::fs::write(&csv, "page,visits\n/,30\n/about,1\n/,40\n")?;
    /// # let table = tambour::import([&csv], &hits, &tambour::ImportOptions::default())?;
    /// use tambour::arrow_schema::DataType;
    /// use tambour::part::types::Strings;
    ///
    /// // Bytes hold strings that are not UTF-8; as text those are an error.
    /// let bytes = table.scan().columns(["page"]).strings(Strings::Binary).batches()?;
    /// assert_eq!(*bytes.schema().field(0).data_type(), DataType::BinaryView);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn strings(mut self, strings: Strings) -> Self {
        self.strings = strings;
        self
    }

    /// Plans the scan, leaves out what cannot match, and begins to read.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// # let (csv, hits) = (directory.path().join("hits.csv"), directory.path().join("hits"));
    /// # std::fs::write(&csv, "page,visits\n/,30\n/about,1\n/,40\n")?;
    /// # let table = tambour::import([&csv], &hits, &tambour::ImportOptions::default())?;
    /// let batches = table.scan().filter("visits > 10").batches()?;
    /// let rows = batches.map(|batch| batch.map(|it| it.num_rows())).sum::<Result<usize, _>>()?;
    /// assert_eq!(rows, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn batches(self) -> Result<Batches, Error> {
        let table = self.table;
        let all = || table.columns().iter().map(|column| column.name.clone()).collect();
        let wanted: Vec<String> = self.columns.unwrap_or_else(all);
        let filter = match self.filters.into_iter().collect::<Result<Vec<_>, _>>()? {
            filters if filters.is_empty() => None,
            filters => Some(Filter::All(filters).bind(table.columns())?),
        };
        let mut columns = wanted.clone();
        for name in filter.iter().flat_map(RowFilter::columns) {
            if !columns.contains(name) {
                columns.push(name.clone());
            }
        }
        let predicate = filter.as_ref().map_or(Predicate::Unknown, |it| it.predicate().clone());
        let request = ScanRequest {
            columns,
            predicate,
            limit: self.limit.filter(|_| filter.is_none()),
            batch_rows: self.batch_rows,
            strings: self.strings,
            ..ScanRequest::default()
        };
        let (scan, _pruned) = Scan::plan(table, &request)?;
        let reader = scan.run(0, table.storage(), Some(table))?;
        let kept: Vec<usize> = (0..wanted.len()).collect();
        let schema = reader.schema().project(&kept).map_err(arrow("plan a scan"))?;
        let left = self.limit.unwrap_or(u64::MAX);
        Ok(Batches { reader, filter, schema: Arc::new(schema), left })
    }
}

/// The batches of a scan; see [`ScanBuilder`].
///
/// ```
/// # let directory = tempfile::tempdir()?;
/// # let (csv, hits) = (directory.path().join("hits.csv"), directory.path().join("hits"));
/// # std::fs::write(&csv, "page,visits\n/,30\n/about,1\n/,40\n")?;
/// # let table = tambour::import([&csv], &hits, &tambour::ImportOptions::default())?;
/// let batches: Vec<_> = table.scan().batches()?.collect::<Result<_, _>>()?;
/// assert_eq!(batches[0].num_rows(), 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Batches {
    reader: ScanReader,
    filter: Option<RowFilter>,
    schema: SchemaRef,
    left: u64,
}

impl Batches {
    /// The schema of every batch; the metadata of its fields say the ClickHouse types.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// # let (csv, hits) = (directory.path().join("hits.csv"), directory.path().join("hits"));
    /// # std::fs::write(&csv, "page,visits\n/,30\n/about,1\n/,40\n")?;
    /// # let table = tambour::import([&csv], &hits, &tambour::ImportOptions::default())?;
    /// let batches = table.scan().columns(["page"]).batches()?;
    /// assert_eq!(batches.schema().fields().len(), 1);
    /// assert_eq!(batches.schema().field(0).name(), "page");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The rows of a batch that are wanted, without the columns that only the filter needs.
    fn wanted(&mut self, batch: &RecordBatch) -> Result<RecordBatch, TableError> {
        let filtered = match &self.filter {
            Some(filter) => filter.filter(batch)?,
            None => batch.clone(),
        };
        let rows = usize::try_from(self.left).unwrap_or(usize::MAX).min(filtered.num_rows());
        self.left -= rows as u64;
        let filtered = filtered.slice(0, rows);
        let columns = filtered.columns().iter().take(self.schema.fields().len()).cloned().collect();
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)
            .map_err(arrow("read a batch"))
    }
}

impl Iterator for Batches {
    type Item = Result<RecordBatch, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.left > 0 {
            let wanted = match self.reader.next()? {
                Ok(batch) => self.wanted(&batch),
                Err(error) => Err(error),
            };
            match wanted {
                Ok(batch) if batch.num_rows() == 0 => {}
                Ok(batch) => return Some(Ok(batch)),
                Err(error) => {
                    // Nothing follows an error.
                    self.left = 0;
                    return Some(Err(error.into()));
                }
            }
        }
        None
    }
}

fn arrow(operation: &'static str) -> impl FnOnce(ArrowError) -> TableError {
    move |cause| TableError::Arrow { operation, cause }
}
