//! Walks over the headers of a file of blocks without reading what is in them.

use crate::budget::BATCH_BYTES_MAX;
use crate::{PartError, Place};
use std::path::Path;
use tambour_codec::block::{HASH_BYTES, HEADER_BYTES, Header};
use tambour_storage::ReadAt;

/// Bytes read of each block: checksum, header, and the list of methods of a chain.
const PROBE_BYTES: usize = 64;

/// What a header says of its block.
#[derive(Clone, Debug)]
pub(crate) struct BlockInfo {
    /// Offset in the file.
    pub(crate) start: u64,
    pub(crate) header: Header,
    /// The first bytes of the payload (a chain lists its methods there).
    pub(crate) payload: Vec<u8>,
}

impl BlockInfo {
    /// Refuses a block that decodes to more than a batch may.
    pub(crate) fn check_size(&self, path: &Path) -> Result<(), PartError> {
        let size = u64::from(self.header.uncompressed_size);
        if size <= BATCH_BYTES_MAX {
            return Ok(());
        }
        let place = Place::file(path).at(self.start);
        Err(PartError::limit(place, "size of a block after decoding", BATCH_BYTES_MAX, size))
    }
}

/// An iterator over the blocks of a file from an offset on; ends after the first error.
#[derive(Debug)]
pub(crate) struct Headers<'a> {
    file: &'a dyn ReadAt,
    path: &'a Path,
    at: u64,
}

impl<'a> Headers<'a> {
    pub(crate) fn new(file: &'a dyn ReadAt, path: &'a Path, at: u64) -> Self {
        Self { file, path, at }
    }

    fn read(&mut self) -> Result<BlockInfo, PartError> {
        let start = self.at;
        let place = Place::file(self.path).at(start);
        let left = self.file.len() - start;
        let count = PROBE_BYTES.min(usize::try_from(left).unwrap_or(PROBE_BYTES));
        let mut probe = [0; PROBE_BYTES];
        let probe = probe.get_mut(..count).unwrap_or_default();
        self.file.read_exact_at(probe, start).map_err(|cause| PartError::Io {
            place: Box::new(place.clone()),
            operation: "read",
            cause,
        })?;
        let header = Header::parse(probe)
            .map_err(|cause| PartError::Block { place: Box::new(place.clone()), cause })?;
        let bytes = header.block_bytes() as u64;
        if bytes > left {
            return Err(PartError::malformed(place, "block extends past the end of the file"));
        }
        self.at = start + bytes;
        let end = count.min(header.block_bytes());
        let payload = probe.get(HASH_BYTES + HEADER_BYTES..end).unwrap_or_default().to_vec();
        Ok(BlockInfo { start, header, payload })
    }
}

impl Iterator for Headers<'_> {
    type Item = Result<BlockInfo, PartError>;
    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.file.len() {
            return None;
        }
        let read = self.read();
        if read.is_err() {
            self.at = u64::MAX;
        }
        Some(read)
    }
}
