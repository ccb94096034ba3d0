//! The tables that a worker opens: below its root only.

use datafusion::common::{Result, exec_datafusion_err};
use datafusion::error::DataFusionError;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use tambour_table::Table;
use tambour_table::scan::Scan;
use tambour_table::store::{is_url, storage_of};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::block_in_place;

/// Tables that are kept open at most; beyond, all are let go.
const OPEN_MAX: usize = 256;

/// Tables below a directory.
#[derive(Debug)]
pub(crate) struct Tables {
    root: PathBuf,
    open: Mutex<HashMap<PathBuf, Opened>>,
}

/// A table while it is opened, and from then on: whoever asks for it in between waits.
type Opened = Arc<Mutex<Option<Arc<Table>>>>;

impl Tables {
    /// Below a directory that is there, or below the URL of an object store.
    pub(crate) fn below(root: &Path) -> std::io::Result<Self> {
        if is_url(root) {
            // One without credentials is told now, not to those who ask.
            storage_of(root).map_err(std::io::Error::other)?;
            return Ok(Self { root: root.to_owned(), open: Mutex::default() });
        }
        let root = root.canonicalize()?;
        if !root.is_dir() {
            return Err(std::io::ErrorKind::NotADirectory.into());
        }
        Ok(Self { root, open: Mutex::default() })
    }
    /// The directory.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }
    /// The table of a scan, with exactly the parts that the scan names.
    pub(crate) fn open(&self, scan: &Scan) -> Result<Arc<Table>> {
        let external = |error| DataFusionError::External(Box::new(error));
        let path = self.allowed(&scan.directory().map_err(external)?)?;
        let slot = {
            let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            if open.len() >= OPEN_MAX && !open.contains_key(&path) {
                open.clear();
            }
            Arc::clone(open.entry(path.clone()).or_default())
        };
        aside(|| {
            let mut opened = slot.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(table) = opened.as_ref().filter(|table| scan.check(table).is_ok()) {
                return Ok(Arc::clone(table));
            }
            // It has changed since, or was never open.
            let table = Arc::new(Table::open(&path).map_err(external)?);
            scan.check(&table).map_err(external)?;
            Ok(Arc::clone(opened.insert(table)))
        })
    }
    /// The path without links and dots, if it is below the root.
    pub(crate) fn allowed(&self, path: &Path) -> Result<PathBuf> {
        let outside = || {
            exec_datafusion_err!(
                "{} is not below {}, the root of this worker",
                path.display(),
                self.root.display()
            )
        };
        if is_url(path) {
            // Nothing is asked of a store that somebody else named; names like `..` are refused by the store.
            if !path.starts_with(&self.root) {
                return Err(outside());
            }
            storage_of(path).map_err(|error| exec_datafusion_err!("{error}"))?;
            return Ok(path.to_owned());
        }
        let found = path
            .canonicalize()
            .map_err(|error| exec_datafusion_err!("{}: {error}", path.display()))?;
        if !found.starts_with(&self.root) {
            return Err(outside());
        }
        Ok(found)
    }
}

/// Does what takes a while. Plans are read on the threads that talk, which must answer others meanwhile: tables of thousands of parts
/// take longer to open than a worker may be silent.
fn aside<T>(work: impl FnOnce() -> T) -> T {
    let is_shared = Handle::try_current()
        .is_ok_and(|handle| handle.runtime_flavor() == RuntimeFlavor::MultiThread);
    if is_shared { block_in_place(work) } else { work() }
}
