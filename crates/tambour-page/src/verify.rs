//! Verification: everything that can be wrong with a store, listed.

use super::PageError;
use super::header::{self, HEADER_BYTES};
use super::options::PageId;
use super::reader::Reader;
use super::store::Store;

/// How much is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// The header of each image: is it there, of this page, of this generation?
    Headers,
    /// The checksum of each image, too.
    Checksums,
    /// Each image is decoded.
    Decode,
}

/// What a verification found.
#[derive(Debug, Default)]
pub struct Verified {
    /// Pages looked at.
    pub pages: u64,
    /// Bytes of their images.
    pub image_bytes: u64,
    /// What is wrong.
    pub damage: Vec<PageError>,
}

impl Store {
    /// Looks at every page of the store as of the last commit. The superblock, the map and that no two extents overlap were
    /// checked when it was opened; what was found there and is no obstacle comes first.
    ///
    /// ```
    /// # use tambour_page::*;
    /// # use tambour_storage::place::disk;
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("drum.pages");
    /// # let mut store = Store::create(&path, &Options { page_bytes: 4096, ..Options::default() })?;
    /// # let mut batch = store.batch()?;
    /// # batch.put(0, &[1; 4096])?;
    /// # batch.commit(Durability::Sync)?;
    /// let verified = store.verify(Level::Decode, &mut |_| {})?;
    /// assert_eq!((verified.pages, verified.damage.len()), (1, 0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn verify(
        &self,
        level: Level,
        progress: &mut dyn FnMut(&Verified),
    ) -> Result<Verified, PageError> {
        let mut verified = Verified::default();
        if let Some(PageError::Structure { path, what, offset, problem }) = &self.repaired {
            let mended =
                if self.writable { "; the other copy is intact and was written back" } else { "" };
            let problem = format!("{problem}{mended}");
            verified.damage.push(PageError::structure(path, what, *offset, problem));
        }
        let used: u64 = self.used_bytes();
        let start = super::superblock::DATA_START;
        let (free, tail) = (self.extents.free_bytes(), self.extents.tail());
        if start + used + free != tail {
            let problem = format!("{used} bytes used and {free} free do not make {tail} together");
            verified.damage.push(self.broken("extents", start, problem));
        }
        self.reader().verify(level, &mut verified, progress)?;
        Ok(verified)
    }

    /// Bytes of all extents in use, padding included.
    pub(super) fn used_bytes(&self) -> u64 {
        let granule = self.shared.granule;
        let images =
            self.map.images(0).filter(|(_, entry)| entry.state == super::map::State::Packed);
        let images: u64 = images.map(|(_, entry)| self.padded(entry.length)).sum();
        let dictionaries: u64 = self
            .references
            .iter()
            .map(|(_, stretch)| stretch.bytes.next_multiple_of(granule))
            .sum();
        let inside = |it: &&(u64, u64)| it.0 < self.extents.tail();
        let frames: u64 = self.log.frames.iter().filter(inside).map(|frame| frame.1).sum();
        let freed: u64 = self.freed.iter().map(|freed| freed.bytes).sum();
        images
            + dictionaries
            + frames
            + freed
            + self.superblock.snapshot.bytes.next_multiple_of(granule)
    }
}

impl Reader {
    fn verify(
        &mut self,
        level: Level,
        verified: &mut Verified,
        progress: &mut dyn FnMut(&Verified),
    ) -> Result<(), PageError> {
        let pages: Vec<PageId> = self.map().images(0).map(|(page, _)| page).collect();
        // Of a page of zeros there is nothing to look at.
        verified.pages = self.map().zeros().map(|(_, count, _)| count).sum();
        let mut target = vec![0; self.page_bytes()];
        let mut image = Vec::new();
        for page in pages {
            let entry = self.map().get(page);
            let outcome = if level == Level::Decode {
                self.read(page, &mut target)
            } else {
                self.verify_image(page, level, &mut image)
            };
            verified.pages += 1;
            verified.image_bytes += u64::from(entry.length);
            match outcome {
                Ok(()) => {}
                Err(error) if is_damage(&error) => verified.damage.push(error),
                Err(error) => return Err(error),
            }
            if verified.pages.is_multiple_of(256) {
                progress(verified);
            }
        }
        progress(verified);
        Ok(())
    }

    fn verify_image(
        &mut self,
        page: PageId,
        level: Level,
        image: &mut Vec<u8>,
    ) -> Result<(), PageError> {
        let entry = self.map().get(page);
        let shared = self.shared();
        if level == Level::Checksums {
            let image = shared.fetch(page, &entry, image)?;
            return shared.check(page, &entry, image).map(|_| ());
        }
        if entry.state == super::map::State::Raw {
            return Ok(());
        }
        let (file, offset) = shared.place(page, &entry);
        image.resize(HEADER_BYTES, 0);
        file.read(image, offset)?;
        let found = header::parse(image, shared.expected(page, &entry));
        let found = found.and_then(|header| {
            let expected = entry.length as usize - HEADER_BYTES;
            if header.payload_bytes as usize == expected {
                Ok(())
            } else {
                Err(format!("payload of {} bytes, expected {expected}", header.payload_bytes))
            }
        });
        found.map_err(|problem| shared.page_error(page, &entry, problem))
    }
}

fn is_damage(error: &PageError) -> bool {
    use tambour_codec::Kind;
    matches!(error.kind(), Kind::Corrupt | Kind::Unsupported)
}
