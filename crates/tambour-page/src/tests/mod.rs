//! Tests of the page store: on storage in memory, where a power cut is a value.

mod backup;
mod crash;
mod damage;
mod disk;
mod fault;
mod hostile;
mod hot;
mod mark;
mod model;
mod turns;

use super::{Access, Durability, Layout, Options, PageCodec, PageError, PageId, Store};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tambour_storage::place::memory::Memory;

/// The name of every store in the tests.
pub(super) fn path() -> PathBuf {
    PathBuf::from("/store")
}

pub(super) const PAGE: usize = 4096;

pub(super) fn options(layout: Layout) -> Options {
    let page_bytes = if layout == Layout::Holes { 4 * PAGE } else { PAGE };
    Options {
        page_bytes,
        layout,
        codec: PageCodec::LZ4,
        file_id: Some(0x1234_5678_9abc),
        granule: 64,
        ..Options::default()
    }
}

pub(super) fn create(memory: &Memory, options: &Options) -> Store {
    Store::create_on(memory, &path(), options).unwrap()
}

pub(super) fn open(memory: &Memory) -> Result<Store, PageError> {
    Store::open_on(memory, &path(), Access::Write)
}

/// A page that is told from every other by its number and version; the higher `noise`, the less it can be compressed.
pub(super) fn content(bytes: usize, page: PageId, version: u64, noise: u64) -> Vec<u8> {
    let mut seed = page.wrapping_mul(0x9e37_79b9).wrapping_add(version) | 1;
    let mut content = Vec::with_capacity(bytes);
    while content.len() < bytes {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let text = format!("page {page} version {version} ");
        content.extend_from_slice(text.as_bytes());
        if (seed >> 40) % 8 < noise {
            content.extend_from_slice(&seed.to_le_bytes());
        }
    }
    content.truncate(bytes);
    content
}

/// What a store should hold.
pub(super) type Model = BTreeMap<PageId, Vec<u8>>;

/// Everything that a store holds, read page by page.
pub(super) fn everything(store: &mut Store) -> Result<Model, PageError> {
    let pages: Vec<PageId> = store.pages().collect();
    let mut model = Model::new();
    for page in pages {
        let mut content = vec![0; store.page_bytes()];
        store.read(page, &mut content)?;
        model.insert(page, content);
    }
    Ok(model)
}

/// One change of the model and the store.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// Page, version, noise.
    Put(PageId, u64, u64),
    Zero(PageId),
    Free(PageId),
}

/// Commits steps; `model` is what the store then holds if that succeeds.
pub(super) fn commit(
    store: &mut Store,
    model: &mut Model,
    steps: &[Step],
    durability: Durability,
) -> Result<u64, PageError> {
    let bytes = store.page_bytes();
    let mut next = model.clone();
    let mut batch = store.batch()?;
    for step in steps {
        match *step {
            Step::Put(page, version, noise) => {
                let content = content(bytes, page, version, noise);
                batch.put(page, &content)?;
                next.insert(page, content);
            }
            Step::Zero(page) => {
                batch.put(page, &vec![0; bytes])?;
                next.insert(page, vec![0; bytes]);
            }
            Step::Free(page) => {
                if next.remove(&page).is_some() {
                    batch.free(page)?;
                }
            }
        }
    }
    *model = next;
    batch.commit(durability)
}

/// The bytes of the file that holds the map.
pub(super) fn pack_path(layout: Layout) -> PathBuf {
    match layout {
        Layout::Packed => path(),
        Layout::Holes => super::shared::map_path(Path::new("/store")),
    }
}
