//! Scans a whole file for `verify`: its hash, and every block in it with the hash of the contents.

use super::headers::{BlockInfo, Headers};
use crate::{PartError, Place};
use std::path::Path;
use tambour_codec::CodecError;
use tambour_codec::block::{Block, Decoder};
use tambour_kernel::hash::{FileHasher, Hash128};
use tambour_storage::ReadAt;

/// Bytes read at once from files that are not runs of blocks.
const CHUNK_BYTES: u64 = 1 << 20;

/// What a file has in it.
#[derive(Debug)]
pub(crate) struct Scanned {
    pub(crate) size: u64,
    pub(crate) hash: Hash128,
    /// Size and hash of what is in the blocks.
    pub(crate) contents: (u64, Hash128),
    pub(crate) blocks: Vec<BlockInfo>,
}

/// Reads the bytes of a file, and its blocks if it is a run of them. All that is wrong with blocks goes to `errors`.
pub(crate) fn scan(
    file: &dyn ReadAt,
    path: &Path,
    has_blocks: bool,
    errors: &mut Vec<PartError>,
) -> Result<Scanned, PartError> {
    let mut hasher = FileHasher::default();
    let mut bytes = Vec::new();
    let mut at = 0;
    while at < file.len() {
        let count = CHUNK_BYTES.min(file.len() - at);
        read(file, path, at, count, &mut bytes)?;
        hasher.update(&bytes);
        at += count;
    }
    let mut contents = FileHasher::default();
    let mut contents_size = 0;
    let mut blocks = Vec::new();
    let mut decoder = Decoder::new();
    let mut decoded = Vec::new();
    let start = if has_blocks { 0 } else { file.len() };
    for block in Headers::new(file, path, start) {
        let block = match block {
            Ok(block) => block,
            Err(error) => {
                // Without a header nothing says where the next block starts.
                errors.push(error);
                break;
            }
        };
        if let Err(error) = block.check_size(path) {
            errors.push(error);
            continue;
        }
        read(file, path, block.start, block.header.block_bytes() as u64, &mut bytes)?;
        match decode(&bytes, &mut decoder, &mut decoded) {
            Ok(()) => {
                contents.update(&decoded);
                contents_size += decoded.len() as u64;
                blocks.push(block);
            }
            Err(cause) => {
                let place = Box::new(Place::file(path).at(block.start));
                errors.push(PartError::Block { place, cause });
            }
        }
    }
    let contents = (contents_size, contents.finish());
    Ok(Scanned { size: file.len(), hash: hasher.finish(), contents, blocks })
}

fn read(
    file: &dyn ReadAt,
    path: &Path,
    at: u64,
    count: u64,
    target: &mut Vec<u8>,
) -> Result<(), PartError> {
    target.resize(usize::try_from(count).unwrap_or(usize::MAX), 0);
    file.read_exact_at(target, at).map_err(|cause| PartError::Io {
        place: Box::new(Place::file(path).at(at)),
        operation: "read",
        cause,
    })
}

fn decode(bytes: &[u8], decoder: &mut Decoder, target: &mut Vec<u8>) -> Result<(), CodecError> {
    let block = Block::parse(bytes)?;
    target.clear();
    target.resize(block.header.uncompressed_size as usize, 0);
    decoder.decode(&block, target)
}
