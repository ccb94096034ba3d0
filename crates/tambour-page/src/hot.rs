//! Pages that are written again and again. Until the next checkpoint they have a codec that encodes fast: such an image is
//! gone before anybody is glad that it is small. The checkpoint encodes those that have cooled down as all others are.
//!
//! Nothing of this is in the file: an image names its codec, so everybody can read it and tell that it is to be encoded again.

use super::PageError;
use super::batch::{Batch, Item};
use super::header::Header;
use super::options::{Durability, Method, PageCodec, PageId};
use super::store::Store;
use std::collections::BTreeMap;

/// At most this many bytes of pages have the fast codec: a checkpoint encodes no more.
const HOT_BYTES_MAX: usize = 16 << 20;
/// Bytes of pages that are encoded again by one commit.
const STEP_BYTES: usize = 2 << 20;

impl Store {
    /// Sets a codec for pages that are written again before the next checkpoint, or takes it back. [`Store::checkpoint`] and
    /// the checkpoints that are made by themselves encode them with the codec of the store, where that makes them smaller. It
    /// lasts while the store is open.
    ///
    /// ```
    /// # use tambour_page::*;
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("drum.pages");
    /// # let mut store = Store::create(&path, &Options { page_bytes: 4096, ..Options::default() })?;
    /// store.set_hot_codec(Some(PageCodec::LZ4))?;
    /// for beat in 0..10 {
    ///     let mut batch = store.batch()?;
    ///     batch.put(0, &[beat; 4096])?;
    ///     batch.commit(Durability::Sync)?;
    /// }
    /// store.checkpoint()?;
    /// assert_eq!(store.stat(true)?.codecs[0].0, Method::Zstd);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_hot_codec(&mut self, codec: Option<PageCodec>) -> Result<(), PageError> {
        self.hot_codec = codec.map(PageCodec::check).transpose()?;
        Ok(())
    }

    /// How images are encoded that are to last: method, and number of the dictionary.
    fn lasting(&self) -> (Method, u16) {
        let method = self.superblock.codec.method;
        (method, if method.takes_dictionary() { self.superblock.dictionary } else { 0 })
    }

    /// True if an image is not encoded as those that are to last. What no codec makes smaller is stored as it is by all.
    pub(super) fn is_hot_image(&self, header: &Header) -> bool {
        header.method != Method::None && (header.method, header.dictionary) != self.lasting()
    }

    /// Notes that a page has such an image since a commit that was found in the file.
    pub(super) fn note_hot(&mut self, page: PageId) {
        if self.hot.len() < self.hot_max() {
            self.hot.insert(page);
        }
    }

    fn hot_max(&self) -> usize {
        (HOT_BYTES_MAX / self.page_bytes()).max(1)
    }

    /// The codec of a page that was written since the last checkpoint, if it is not that of all others. `more` pages have it
    /// beside those of earlier commits.
    pub(super) fn hot_codec_of(&self, page: PageId, more: usize) -> Option<PageCodec> {
        let codec = self.hot_codec?;
        let (method, dictionary) = self.lasting();
        let is_other = method != Method::None && (codec.method, 0) != (method, dictionary);
        let entry = self.map.get(page);
        let is_again = entry.has_image() && entry.generation > self.superblock.generation;
        let has_room = self.hot.contains(&page) || self.hot.len() + more < self.hot_max();
        (is_other && is_again && has_room).then_some(codec)
    }

    /// Encodes hot pages as others are, without those that are written anew just now. Pages that cannot be read stay as they
    /// are, as do all when there is no room: neither may be in the way of a checkpoint.
    pub(super) fn cool(&mut self, but: &BTreeMap<PageId, Item>) -> Result<(), PageError> {
        if self.hot_codec.is_none() || self.hot.is_empty() {
            return Ok(());
        }
        let mut pages: Vec<PageId> = std::mem::take(&mut self.hot).into_iter().collect();
        pages.retain(|page| {
            let stays = but.contains_key(page);
            if stays {
                self.hot.insert(*page);
            }
            !stays
        });
        let mut content = vec![0; self.page_bytes()];
        for group in pages.chunks((STEP_BYTES / self.page_bytes()).max(1)) {
            let mut batch = self.batch()?;
            batch.cools = true;
            for page in group {
                batch.cool(*page, &mut content)?;
            }
            match batch.commit(Durability::Async) {
                Err(PageError::Full { .. }) => return Ok(()),
                committed => committed?,
            };
        }
        Ok(())
    }
}

impl Batch<'_> {
    /// Encodes a page again, if it becomes smaller by it.
    fn cool(&mut self, page: PageId, content: &mut [u8]) -> Result<(), PageError> {
        let length = self.store.map.get(page).length;
        if self.store.read(page, content).is_err() {
            return Ok(());
        }
        let used = self.used;
        self.put(page, content)?;
        let is_smaller = match self.items.get(&page) {
            Some(Item::Image { length: now, .. }) => {
                self.store.padded(*now) < self.store.padded(length)
            }
            _ => true,
        };
        if !is_smaller {
            self.items.remove(&page);
            self.used = used;
        }
        Ok(())
    }
}
