//! Page stores: pages of a fixed size, compressed, in one file.

use crate::buffer::{Bytes, PathArgument, Room};
use crate::column::Column;
use crate::failure::{Failure, argument};
use crate::owned::Owned;
use crate::work;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::fs::File;
use std::io::Write as _;
use tambour::page::{Access, Layout, Level, restore};
use tambour::{Durability, Kind, PageOptions, PageStore};

/// A page store.
#[pyclass(frozen, module = "tambour._internal")]
pub(crate) struct Pages {
    store: Owned<PageStore>,
    page_bytes: usize,
}

impl Pages {
    fn new(store: PageStore) -> Self {
        let page_bytes = store.page_bytes();
        Self { store: Owned::new("page store", store), page_bytes }
    }
}

#[pymethods]
impl Pages {
    /// Makes a store.
    #[staticmethod]
    fn create(
        py: Python<'_>,
        path: PathArgument,
        page_bytes: usize,
        codec: &str,
        holes: bool,
    ) -> PyResult<Self> {
        let codec =
            codec.parse().map_err(|error: tambour::page::PageError| Failure::from(error))?;
        let layout = if holes { Layout::Holes } else { Layout::Packed };
        let options = PageOptions { page_bytes, codec, layout, ..PageOptions::default() };
        work::detached(py, |_| Ok(Self::new(PageStore::create(&path, &options)?)))
    }

    /// Opens a store.
    #[staticmethod]
    fn open(py: Python<'_>, path: PathArgument, writable: bool) -> PyResult<Self> {
        let access = if writable { Access::Write } else { Access::Read };
        work::detached(py, |_| Ok(Self::new(PageStore::open(&path, access)?)))
    }

    /// Makes a store of a backup and those that followed it.
    #[staticmethod]
    fn restore(py: Python<'_>, backups: Vec<PathArgument>, path: PathArgument) -> PyResult<()> {
        work::detached(py, |_| {
            restored(&backups, &path)?;
            Ok(())
        })
    }

    /// Bytes of a page.
    #[getter]
    fn page_bytes(&self) -> usize {
        self.page_bytes
    }

    /// One more than the highest page ever written.
    fn end(&self, py: Python<'_>) -> PyResult<u64> {
        self.store.with(py, |store| Ok(store.len()))
    }

    /// The last commit.
    fn generation(&self, py: Python<'_>) -> PyResult<u64> {
        self.store.with(py, |store| Ok(store.generation()))
    }

    /// The pages that exist.
    fn pages(&self, py: Python<'_>) -> PyResult<Vec<u64>> {
        self.store.with(py, |store| Ok(store.pages().collect()))
    }

    /// True if a page exists.
    fn contains(&self, py: Python<'_>, page: u64) -> PyResult<bool> {
        self.store.with(py, |store| Ok(store.contains(page)))
    }

    /// A page.
    fn read<'py>(&self, py: Python<'py>, page: u64) -> PyResult<Bound<'py, PyBytes>> {
        let content = self.store.with(py, |store| {
            let mut content = vec![0; store.page_bytes()];
            store.read(page, &mut content)?;
            Ok(content)
        })?;
        Ok(PyBytes::new(py, &content))
    }

    /// A page into the room of an object.
    fn read_into(&self, py: Python<'_>, page: u64, target: &Bound<'_, PyAny>) -> PyResult<()> {
        let mut room = Room::of(target)?;
        let content = self.store.with(py, |store| {
            let expected = store.page_bytes();
            if room.len() != expected {
                let text = format!("a page has {expected} bytes, the buffer {}", room.len());
                return Err(Failure::Said(Kind::Argument, text));
            }
            let mut content = vec![0; expected];
            store.read(page, &mut content)?;
            Ok(content)
        })?;
        room.fill(py, &content);
        Ok(())
    }

    /// Pages one after another, in the order in which they were asked for.
    fn read_many<'py>(
        &self,
        py: Python<'py>,
        pages: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let pages = Column::of(pages)?;
        let content = self.store.with(py, |store| {
            let (pages, size) = (pages.ids()?, store.page_bytes());
            let mut content = vec![0; pages.len() * size];
            let mut places: Vec<(u64, usize)> =
                pages.iter().enumerate().map(|(place, page)| (*page, place)).collect();
            places.sort_unstable();
            let mut wanted = pages;
            wanted.sort_unstable();
            wanted.dedup();
            store.reader().read_many(&wanted, &mut |page, image| {
                let first = places.partition_point(|(known, _)| *known < page);
                let same = places[first..].iter().take_while(|(known, _)| *known == page);
                for (_, place) in same {
                    content[place * size..][..size].copy_from_slice(image);
                }
            })?;
            Ok(content)
        })?;
        Ok(PyBytes::new(py, &content))
    }

    /// A page that is not in use.
    fn alloc(&self, py: Python<'_>) -> PyResult<u64> {
        self.store.with(py, |store| Ok(store.alloc()?))
    }

    /// Writes and frees pages in one commit; its number.
    fn commit(
        &self,
        py: Python<'_>,
        puts: Vec<(u64, Bound<'_, PyAny>)>,
        frees: Vec<u64>,
        durable: bool,
    ) -> PyResult<u64> {
        let puts: Vec<(u64, Bytes)> = puts
            .iter()
            .map(|(page, content)| Ok((*page, Bytes::of(content)?)))
            .collect::<PyResult<_>>()?;
        self.store.with(py, |store| {
            let mut batch = store.batch()?;
            for (page, content) in &puts {
                batch.put(*page, content.as_slice())?;
            }
            for page in frees {
                batch.free(page)?;
            }
            Ok(batch.commit(if durable { Durability::Sync } else { Durability::Async })?)
        })
    }

    /// Bytes of pages, images and files.
    fn stat<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let stat = self.store.with(py, |store| Ok(store.stat(false)?))?;
        let figures = PyDict::new(py);
        figures.set_item("pages", stat.pages)?;
        figures.set_item("bytes", stat.logical_bytes)?;
        figures.set_item("image_bytes", stat.image_bytes)?;
        figures.set_item("bytes_on_disk", stat.allocated_bytes())?;
        figures.set_item("free_bytes", stat.free_bytes)?;
        figures.set_item("layout", stat.layout.name())?;
        figures.set_item("generation", stat.generation)?;
        Ok(figures)
    }

    /// Decodes every page: how many, and the damage as exceptions.
    fn verify(&self, py: Python<'_>) -> PyResult<(u64, Vec<Py<PyAny>>)> {
        let seen = self.store.with(py, |store| Ok(store.verify(Level::Decode, &mut |_| {})?))?;
        let raised = |error| PyErr::from(Failure::from(error)).into_value(py).into_any();
        Ok((seen.pages, seen.damage.into_iter().map(raised).collect()))
    }

    /// Writes a backup of what changed after a commit into a new file.
    fn backup(&self, py: Python<'_>, path: PathArgument, since: u64) -> PyResult<()> {
        self.store.with(py, |store| {
            let io = |error: std::io::Error| cannot(&path, &error);
            let mut file = File::create_new(&path).map_err(io)?;
            store.backup(&mut file, since)?;
            file.flush().map_err(io)?;
            file.sync_all().map_err(io)
        })
    }

    /// Trains a dictionary on the pages.
    fn train_dictionary(&self, py: Python<'_>) -> PyResult<()> {
        self.store.with(py, |store| {
            store.train_dict(&[])?;
            Ok(())
        })
    }

    /// Closes the store.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.store.close(py, |store| Ok(store.close()?))
    }

    /// True if it was closed.
    #[getter]
    fn closed(&self, py: Python<'_>) -> bool {
        self.store.is_closed(py)
    }
}

fn restored(backups: &[PathArgument], path: &std::path::Path) -> Result<(), Failure> {
    if backups.is_empty() {
        return Err(argument("no backups"));
    }
    for backup in backups {
        let mut file = File::open(backup).map_err(|error| cannot(backup, &error))?;
        restore(&*tambour::storage::place::disk(), &mut file, path, &PageOptions::default())?;
    }
    Ok(())
}

/// The system said no.
fn cannot(path: &std::path::Path, error: &std::io::Error) -> Failure {
    let kind = match error.kind() {
        std::io::ErrorKind::NotFound => Kind::NotFound,
        std::io::ErrorKind::AlreadyExists => Kind::Conflict,
        _ => Kind::Io,
    };
    Failure::Said(kind, format!("{}: {error}", path.display()))
}
