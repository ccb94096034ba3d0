//! One range of one object, fetched into units.

use crate::cache::{Cache, Cell};
use crate::error::StoreError;
use bytes::{Bytes, BytesMut};
use futures::StreamExt;
use object_store::path::Path;
use object_store::{GetOptions, GetRange, GetResult, ObjectMeta, ObjectStore, ObjectStoreExt};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of a unit: what is fetched at least, and kept or let go as one.
pub(crate) const UNIT: u64 = 256 << 10;
/// How often an answer that ended early is gone on with.
const ATTEMPTS_MAX: u32 = 3;

static REQUESTS: AtomicU64 = AtomicU64::new(0);
static BYTES: AtomicU64 = AtomicU64::new(0);

/// What all stores of this process were asked; tries that were repeated count once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Requests: of objects, of their lengths, of pages of listings.
    pub requests: u64,
    /// Bytes of objects that came.
    pub bytes: u64,
}

/// What all stores of this process were asked until now.
pub fn traffic() -> Traffic {
    Traffic { requests: REQUESTS.load(Ordering::Relaxed), bytes: BYTES.load(Ordering::Relaxed) }
}

pub(crate) fn count_request() {
    REQUESTS.fetch_add(1, Ordering::Relaxed);
}

/// The very object that was opened.
#[derive(Debug)]
pub(crate) struct Object {
    pub(crate) store: Arc<dyn ObjectStore>,
    pub(crate) path: Path,
    pub(crate) url: String,
    pub(crate) size: u64,
    /// Its tag, if it is one that says that all bytes are the same.
    tag: Option<String>,
    /// When it was written, where that is all there is.
    modified: Option<ObjectMeta>,
}

impl Object {
    pub(crate) fn new(store: Arc<dyn ObjectStore>, url: String, meta: ObjectMeta) -> Self {
        let tag = meta.e_tag.clone().filter(|tag| !tag.starts_with("W/"));
        let (path, size) = (meta.location.clone(), meta.size);
        let modified = tag.is_none().then_some(meta);
        Self { store, path, url, size, tag, modified }
    }

    /// Looks at an object.
    pub(crate) async fn look(
        store: Arc<dyn ObjectStore>,
        url: String,
        path: Path,
    ) -> Result<Self, StoreError> {
        count_request();
        let meta = store.head(&path).await.map_err(|error| StoreError::request(&url, error))?;
        let meta = ObjectMeta { location: path, ..meta };
        Ok(Self::new(store, url, meta))
    }

    /// True if an answer is of this object.
    fn is_same(&self, answer: &GetResult) -> bool {
        let meta = &answer.meta;
        let is_tagged = self.tag.is_none() || meta.e_tag.is_none() || meta.e_tag == self.tag;
        let is_dated = self
            .modified
            .as_ref()
            .is_none_or(|it| it.last_modified == meta.last_modified && it.e_tag == meta.e_tag);
        meta.size == self.size && is_tagged && is_dated
    }
}

/// A run of units that one request fetches. Dropped early, it tells those who wait.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) object: Arc<Object>,
    pub(crate) cache: Arc<Cache>,
    /// The number of the opened file.
    pub(crate) file: u64,
    /// The first unit that is not here yet.
    pub(crate) next: u64,
    /// Cells of the units from there on.
    pub(crate) cells: VecDeque<Arc<Cell>>,
}

impl Run {
    /// Fetches all units, or tells the error to those that did not come.
    pub(crate) async fn fetch(mut self) {
        if let Err(error) = self.fetch_all().await {
            self.fail(error);
        }
    }

    async fn fetch_all(&mut self) -> Result<(), StoreError> {
        let start = self.next * UNIT;
        let end = (start + self.cells.len() as u64 * UNIT).min(self.object.size);
        let mut pending = BytesMut::new();
        let mut at = start;
        for attempt in 1.. {
            match self.answer(&mut at, end, &mut pending).await {
                Ok(()) if at == end => return Ok(()),
                Ok(()) if attempt == ATTEMPTS_MAX => {
                    let (offset, expected, got) = (start, end - start, at - start);
                    let url = self.object.url.clone();
                    return Err(StoreError::Short { url, offset, expected, got });
                }
                Err(error @ StoreError::Request { .. }) if attempt < ATTEMPTS_MAX && at > start => {
                    // It broke off on the way; the rest may come.
                    drop(error);
                }
                Ok(()) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// One request, from `at` on, as far as its answer goes.
    async fn answer(
        &mut self,
        at: &mut u64,
        end: u64,
        pending: &mut BytesMut,
    ) -> Result<(), StoreError> {
        let object = Arc::clone(&self.object);
        let failed = |error| StoreError::request(&object.url, error);
        let changed = || StoreError::Changed { url: object.url.clone() };
        let options = GetOptions {
            range: Some(GetRange::Bounded(*at..end)),
            if_match: object.tag.clone(),
            ..GetOptions::default()
        };
        count_request();
        let answer = match object.store.get_opts(&object.path, options).await {
            Err(object_store::Error::NotFound { .. }) => return Err(changed()),
            answer => answer.map_err(failed)?,
        };
        if answer.range != (*at..end) || !object.is_same(&answer) {
            return Err(changed());
        }
        let mut stream = answer.into_stream();
        while let Some(bytes) = stream.next().await {
            let bytes = bytes.map_err(failed)?;
            BYTES.fetch_add(bytes.len() as u64, Ordering::Relaxed);
            if bytes.len() as u64 > end - *at {
                return Err(changed());
            }
            *at += bytes.len() as u64;
            self.take(bytes, pending, *at == end);
        }
        Ok(())
    }

    /// Cuts what came into units.
    fn take(&mut self, mut bytes: Bytes, pending: &mut BytesMut, is_last: bool) {
        let unit = usize::try_from(UNIT).unwrap_or(usize::MAX);
        loop {
            let piece = bytes.split_to(bytes.len().min(unit - pending.len()));
            if pending.capacity() == 0 {
                pending.reserve(unit.min(piece.len() + bytes.len()).max(unit / 4));
            }
            pending.extend_from_slice(&piece);
            if pending.len() < unit && !(is_last && bytes.is_empty() && !pending.is_empty()) {
                return;
            }
            let whole = std::mem::take(pending).freeze();
            let Some(cell) = self.cells.pop_front() else { return };
            self.cache.fulfil((self.file, self.next), &cell, whole);
            self.next += 1;
        }
    }

    fn fail(&mut self, error: StoreError) {
        let error = Arc::new(error);
        for cell in std::mem::take(&mut self.cells) {
            self.cache.fail((self.file, self.next), &cell, &error);
            self.next += 1;
        }
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        if !self.cells.is_empty() {
            let url = self.object.url.clone();
            self.fail(StoreError::GivenUp { url });
        }
    }
}
