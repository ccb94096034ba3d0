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
use tambour_storage::disk;
use tambour_table::merge::{OptimizeOptions, OptimizeSummary, optimize_with};
use tambour_table::recompress::{RecompressSummary, recompress};
use tambour_table::verify::{TableVerification, verify};

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
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Ok(tambour_table::Table::open(path.as_ref())?.into())
    }

    /// The layer's own table, for what asks for one.
    pub fn snapshot(&self) -> Arc<tambour_table::Table> {
        Arc::clone(&self.snapshot)
    }

    /// Begins to describe which rows are read; see [`ScanBuilder`].
    pub fn scan(&self) -> ScanBuilder<'_> {
        ScanBuilder::new(self)
    }

    /// Reads everything and checks it: hashes of files, checksums of blocks, marks, indexes and every value. All damage is
    /// listed in the result.
    pub fn verify(&self) -> Result<TableVerification, Error> {
        Ok(verify(self.storage(), self.path(), &mut |_| {})?)
    }

    /// Merges the parts of each partition into one. This handle shows the table after it.
    pub fn optimize(&mut self, options: &OptimizeOptions) -> Result<OptimizeSummary, Error> {
        let path = self.path().to_owned();
        let summary = optimize_with(&disk(), &path, options, None, &mut |_| {})?;
        *self = Self::open(path)?;
        Ok(summary)
    }

    /// Gives columns other codecs, block by block: those for which `choose` names one. This handle shows the table after it.
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
    #[cfg(feature = "files")]
    pub fn export(&self, path: impl AsRef<Path>) -> Result<u64, Error> {
        self.export_with(path, &ExportOptions::default(), &mut |_| ControlFlow::Continue(()))
    }

    /// The same with options; `progress` is told the rows so far and may stop, with [`Error::Interrupted`]. The file appears
    /// when it is complete.
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
    /// TABLE statement is not known.
    pub fn attach_script(&self, options: &AttachOptions) -> Option<String> {
        attach::script(self, options)
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
