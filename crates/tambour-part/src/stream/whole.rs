//! Small files of blocks, decoded as a whole: mark files, the primary index, the body of `checksums.txt`.

use crate::{PartError, Place};
use std::path::Path;
use tambour_codec::block::{Block, Decoder, Header};

/// Decodes all blocks of `source`, which starts at `offset` in its file, into at most `limit` bytes.
pub(crate) fn decode(
    path: &Path,
    source: &[u8],
    offset: u64,
    limit: u64,
) -> Result<Vec<u8>, PartError> {
    let mut decoder = Decoder::new();
    let mut target = Vec::new();
    let mut at = 0;
    while let Some(rest) = source.get(at..).filter(|rest| !rest.is_empty()) {
        let place = || Place::file(path).at(offset + at as u64);
        let broken = |cause| PartError::Block { place: Box::new(place()), cause };
        let header = Header::parse(rest).map_err(broken)?;
        let size = target.len() as u64 + u64::from(header.uncompressed_size);
        if size > limit {
            return Err(PartError::limit(place(), "size of the contents", limit, size));
        }
        let block = Block::parse(rest).map_err(broken)?;
        let start = target.len();
        target.resize(start + header.uncompressed_size as usize, 0);
        let place_in_target = target.get_mut(start..).unwrap_or_default();
        decoder.decode(&block, place_in_target).map_err(broken)?;
        at += block.block_bytes();
    }
    Ok(target)
}
