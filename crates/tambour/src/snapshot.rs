//! A table as programs use it.

use crate::attach::{self, AttachOptions};
#[cfg(feature = "files")]
use crate::export::{self, ExportOptions, ExportProgress};
use crate::{Error, ScanBuilder};
#[cfg(feature = "files")]
use std::io::Write;
#[cfg(feature = "files")]
use std::ops::ControlFlow;
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;
use tambour_codec::spec::CodecSpec;
#[cfg(feature = "files")]
use tambour_files::Format;
use tambour_index::verify;
use tambour_storage::{Storage, disk};
use tambour_table::merge::{OptimizeOptions, OptimizeSummary, optimize_with};
use tambour_table::recompress::{RecompressSummary, recompress};
use tambour_table::verify::TableVerification;

/// An opened table: a snapshot of its definition and its parts, cheap to clone. Whoever writes to the table later does not
/// change what is read through this one.
///
/// The rest of what it tells, like [`rows`](tambour_table::Table::rows) and [`columns`](tambour_table::Table::columns), is that
/// of the layer's own table, to which it dereferences.
///
/// ```
/// use tambour::{ImportOptions, Table};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let directory = tempfile::tempdir()?;
/// # let (csv, hits) = (directory.path().join("hits.csv"), directory.path().join("hits"));
/// std::fs::write(&csv, "page,visits\n/,3\n/about,1\n")?;
/// tambour::import([&csv], &hits, &ImportOptions::default().order_by("page"))?;
/// tambour::import([&csv], &hits, &ImportOptions::default().append())?;
///
/// let mut table = Table::open(&hits)?;
/// assert_eq!((table.rows(), table.parts().len()), (4, 2));
/// table.optimize(&Default::default())?;
/// assert_eq!((table.rows(), table.parts().len()), (4, 1));
/// table.recompress(|column| (column == "page").then(|| "ZSTD(3)".parse()).transpose().ok().flatten())?;
/// assert!(table.verify()?.damage.is_empty());
/// assert_eq!(table.export(directory.path().join("hits.parquet"))?, 4);
/// let script = table.attach_script(&Default::default()).unwrap();
/// assert!(script.contains("ATTACH PART"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Table {
    snapshot: Arc<tambour_table::Table>,
}

impl Table {
    /// Opens a table directory: one that Tambour made, a directory of ClickHouse parts, or a single part.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// # let (csv, hits) = (directory.path().join("hits.csv"), directory.path().join("hits"));
    /// # std::fs::write(&csv, "page,visits\n/,30\n/about,1\n/,40\n")?;
    /// # let table = tambour::import([&csv], &hits, &tambour::ImportOptions::default())?;
    /// assert_eq!(tambour::Table::open(&hits)?.rows(), 3);
    /// // A single part is a table, too, though nobody knows its statement.
    /// let part = hits.join(&table.part_names()[0]);
    /// assert_eq!(tambour::Table::open(part)?.rows(), 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Ok(tambour_table::Table::open(path.as_ref())?.into())
    }

    /// The same on another storage, or with files that are read in another way.
    ///
    /// ```
    /// use tambour::storage::{Reading, disk_read};
    /// # let directory = tempfile::tempdir()?;
    /// # let (csv, hits) = (directory.path().join("hits.csv"), directory.path().join("hits"));
    /// # std::fs::write(&csv, "page,visits\n/,30\n/about,1\n/,40\n")?;
    /// # tambour::import([&csv], &hits, &tambour::ImportOptions::default())?;
    /// let table = tambour::Table::open_on(&disk_read(Reading::Mapped), &hits)?;
    /// assert_eq!(table.rows(), 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open_on(storage: &Arc<dyn Storage>, path: impl AsRef<Path>) -> Result<Self, Error> {
        Ok(tambour_table::Table::open_on(storage, path.as_ref())?.into())
    }

    /// The layer's own table, for what asks for one.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// # let (csv, hits) = (directory.path().join("hits.csv"), directory.path().join("hits"));
    /// # std::fs::write(&csv, "page,visits\n/,30\n/about,1\n/,40\n")?;
    /// # let table = tambour::import([&csv], &hits, &tambour::ImportOptions::default())?;
    /// let layer: std::sync::Arc<tambour::table::Table> = table.snapshot();
    /// assert_eq!(layer.rows(), table.rows());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn snapshot(&self) -> Arc<tambour_table::Table> {
        Arc::clone(&self.snapshot)
    }

    /// Begins to describe which rows are read; see [`ScanBuilder`].
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// # let (csv, hits) = (directory.path().join("hits.csv"), directory.path().join("hits"));
    /// # std::fs::write(&csv, "page,visits\n/,30\n/about,1\n/,40\n")?;
    /// # let table = tambour::import([&csv], &hits, &tambour::ImportOptions::default())?;
    /// let rows: usize = table.scan().batches()?.map(|batch| batch.unwrap().num_rows()).sum();
    /// assert_eq!(rows as u64, table.rows());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn scan(&self) -> ScanBuilder<'_> {
        ScanBuilder::new(self)
    }

    /// Reads everything and checks it: hashes of files, checksums of blocks, marks, indexes and every value. All damage is
    /// listed in the result.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// # let (csv, hits) = (directory.path().join("hits.csv"), directory.path().join("hits"));
    /// # std::fs::write(&csv, "page,visits\n/,30\n/about,1\n/,40\n")?;
    /// # let table = tambour::import([&csv], &hits, &tambour::ImportOptions::default())?;
    /// let seen = table.verify()?;
    /// assert_eq!((seen.parts, seen.rows, seen.damage.len()), (1, 3, 0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn verify(&self) -> Result<TableVerification, Error> {
        Ok(verify(self.storage(), self.path(), &mut |_| {})?)
    }

    /// Merges the parts of each partition into one. This handle shows the table after it.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// # let (csv, hits) = (directory.path().join("hits.csv"), directory.path().join("hits"));
    /// # std::fs::write(&csv, "page,visits\n/,30\n/about,1\n/,40\n")?;
    /// # let table = tambour::import([&csv], &hits, &tambour::ImportOptions::default())?;
    /// tambour::import([&csv], &hits, &tambour::ImportOptions::default().append())?;
    /// let mut table = tambour::Table::open(&hits)?;
    /// let summary = table.optimize(&Default::default())?;
    /// assert_eq!((summary.parts_before, summary.parts_after, summary.rows), (2, 1, 6));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn optimize(&mut self, options: &OptimizeOptions) -> Result<OptimizeSummary, Error> {
        let path = self.path().to_owned();
        let summary = optimize_with(&disk(), &path, options, None, &mut |_| {})?;
        *self = Self::open(path)?;
        Ok(summary)
    }

    /// Gives columns other codecs, block by block: those for which `choose` names one. This handle shows the table after it.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// # let (csv, hits) = (directory.path().join("hits.csv"), directory.path().join("hits"));
    /// # std::fs::write(&csv, "page,visits\n/,30\n/about,1\n/,40\n")?;
    /// # let table = tambour::import([&csv], &hits, &tambour::ImportOptions::default())?;
    /// let mut table = table;
    /// table.recompress(|column| (column == "page").then(|| "ZSTD(9)".parse().unwrap()))?;
    /// let page = &table.definition().unwrap().columns[0];
    /// assert_eq!(page.codec.as_ref().unwrap().to_string(), "ZSTD(9)");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn recompress(
        &mut self,
        choose: impl Fn(&str) -> Option<CodecSpec>,
    ) -> Result<RecompressSummary, Error> {
        let path = self.path().to_owned();
        let summary = recompress(&disk(), &path, &choose, &mut |_| {})?;
        *self = Self::open(path)?;
        Ok(summary)
    }

    /// Writes all rows into a new file, as CSV, TSV, JSON lines, Parquet or Arrow, as its name says; the number of rows.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// # let (csv, hits) = (directory.path().join("hits.csv"), directory.path().join("hits"));
    /// # std::fs::write(&csv, "page,visits\n/,30\n/about,1\n/,40\n")?;
    /// # let table = tambour::import([&csv], &hits, &tambour::ImportOptions::default())?;
    /// let parquet = directory.path().join("hits.parquet");
    /// assert_eq!(table.export(&parquet)?, 3);
    /// let again = table.export(&parquet).unwrap_err();
    /// assert_eq!(again.kind(), tambour::Kind::Conflict); // the file is there already
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[cfg(feature = "files")]
    pub fn export(&self, path: impl AsRef<Path>) -> Result<u64, Error> {
        self.export_with(path, &ExportOptions::default(), &mut |_| ControlFlow::Continue(()))
    }

    /// The same with options; `progress` is told the rows so far and may stop, with [`Error::Interrupted`]. The file appears
    /// when it is complete.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// # let (csv, hits) = (directory.path().join("hits.csv"), directory.path().join("hits"));
    /// # std::fs::write(&csv, "page,visits\n/,30\n/about,1\n/,40\n")?;
    /// # let table = tambour::import([&csv], &hits, &tambour::ImportOptions::default())?;
    /// use std::ops::ControlFlow;
    ///
    /// let mut options = tambour::ExportOptions::default();
    /// options.columns = vec!["visits".to_owned()];
    /// let csv = directory.path().join("visits.csv");
    /// table.export_with(&csv, &options, &mut |_rows| ControlFlow::Continue(()))?;
    /// assert!(std::fs::read_to_string(&csv)?.contains("visits"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[cfg(feature = "files")]
    pub fn export_with(
        &self,
        path: impl AsRef<Path>,
        options: &ExportOptions,
        progress: &mut ExportProgress<'_>,
    ) -> Result<u64, Error> {
        export::to_file(self, path.as_ref(), options, progress)
    }

    /// The same into a writer.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// # let (csv, hits) = (directory.path().join("hits.csv"), directory.path().join("hits"));
    /// # std::fs::write(&csv, "page,visits\n/,30\n/about,1\n/,40\n")?;
    /// # let table = tambour::import([&csv], &hits, &tambour::ImportOptions::default())?;
    /// use std::ops::ControlFlow;
    /// use tambour::files::Format;
    ///
    /// let mut lines = Vec::new();
    /// let options = tambour::ExportOptions::default();
    /// table.export_to(&mut lines, Format::JsonLines, &options, &mut |_| ControlFlow::Continue(()))?;
    /// assert_eq!(lines.iter().filter(|byte| **byte == b'\n').count(), 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[cfg(feature = "files")]
    pub fn export_to(
        &self,
        target: &mut (dyn Write + Send),
        format: Format,
        options: &ExportOptions,
        progress: &mut ExportProgress<'_>,
    ) -> Result<u64, Error> {
        export::to_writer(self, target, format, options, progress)
    }

    /// The commands that attach the parts to a ClickHouse server, as a shell script or as SQL; `None` if the table's CREATE
    /// TABLE statement is not known, and for parts in the syntax before 2018.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// # let (csv, hits) = (directory.path().join("hits.csv"), directory.path().join("hits"));
    /// # std::fs::write(&csv, "page,visits\n/,30\n/about,1\n/,40\n")?;
    /// # let table = tambour::import([&csv], &hits, &tambour::ImportOptions::default())?;
    /// let mut options = tambour::AttachOptions::default();
    /// options.sql = true;
    /// let script = table.attach_script(&options).unwrap();
    /// assert!(script.starts_with("CREATE TABLE default.hits"));
    /// assert!(script.contains("ALTER TABLE default.hits ATTACH PART 'all_1_1_0'"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn attach_script(&self, options: &AttachOptions) -> Option<String> {
        attach::script(self, options)
    }

    /// A place with blocks that ClickHouse does not read, since their codec is Tambour's own: part, column and codec. A script
    /// that attaches the parts is of no use then.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// # let (csv, hits) = (directory.path().join("hits.csv"), directory.path().join("hits"));
    /// # std::fs::write(&csv, "page,visits\n/,30\n/about,1\n/,40\n")?;
    /// let options = tambour::ImportOptions::default().codec("PFOR, ZSTD".parse()?).portable(false);
    /// # let options = options.codec_of("page", "LZ4".parse()?);
    /// let table = tambour::import([&csv], &hits, &options)?;
    /// assert!(table.own_codec()?.unwrap().contains("column `visits`"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn own_codec(&self) -> Result<Option<String>, Error> {
        for part in self.parts() {
            for (column, size) in part.columns().iter().zip(part.column_sizes()?) {
                let is_own = |text: &&String| {
                    text.parse::<CodecSpec>().is_ok_and(|spec| !spec.is_portable())
                };
                if let Some(codec) = size.codecs.iter().find(is_own) {
                    let (part, column) = (part.name(), &column.name);
                    return Ok(Some(format!("part {part:?}, column `{column}`: {codec}")));
                }
            }
        }
        Ok(None)
    }
}

impl From<tambour_table::Table> for Table {
    fn from(table: tambour_table::Table) -> Self {
        Self { snapshot: Arc::new(table) }
    }
}

impl Deref for Table {
    type Target = tambour_table::Table;

    fn deref(&self) -> &tambour_table::Table {
        &self.snapshot
    }
}
