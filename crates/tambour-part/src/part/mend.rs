//! Bits of blocks that are put right where a damaged part is read: a block that has the checksum that was written once one of its bits
//! is the other way round is the block that was written, as certainly as 128 bits prove anything.

use crate::PartError;
use crate::stream::headers::Headers;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use tambour_codec::block::HASH_BYTES;
use tambour_kernel::hash::{Hash128, city_hash_128};
use tambour_storage::ReadAt;

/// Blocks up to this size are searched for the bit; the work grows with its square.
const BLOCK_BYTES_MAX: usize = 1 << 16;
/// Bytes that are hashed for one part at most: some ten seconds.
pub(super) const HASHED_BYTES_MAX: u64 = 1 << 36;
/// Blocks above this size are not looked at. Writers make them of a megabyte.
const BLOCK_READ_MAX: usize = 1 << 28;

/// A bit of a file that was put right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mend {
    /// The place of its byte in the file.
    pub offset: u64,
    /// Which of its bits, from 0 for the lowest.
    pub bit: u8,
}

/// A file with some bits the other way round.
#[derive(Debug)]
pub(super) struct Mended {
    pub(super) file: Arc<dyn ReadAt>,
    pub(super) bits: Arc<[Mend]>,
}

impl ReadAt for Mended {
    fn len(&self) -> u64 {
        self.file.len()
    }
    fn read_exact_at(&self, target: &mut [u8], offset: u64) -> io::Result<()> {
        self.file.read_exact_at(target, offset)?;
        for mend in self.bits.iter() {
            let at = mend.offset.checked_sub(offset).and_then(|at| usize::try_from(at).ok());
            if let Some(byte) = at.and_then(|at| target.get_mut(at)) {
                *byte ^= 1 << mend.bit;
            }
        }
        Ok(())
    }
    fn stored(&self) -> io::Result<u64> {
        self.file.stored()
    }
    fn will_need(&self, offset: u64, length: usize) {
        self.file.will_need(offset, length);
    }
}

/// The bits that make blocks of a file sound. What is wrong with the others is for their readers to say.
/// `left` is how many bytes may still be hashed for that.
pub(super) fn bits(
    file: &dyn ReadAt,
    path: &Path,
    left: &AtomicU64,
) -> Result<Vec<Mend>, PartError> {
    let mut found = Vec::new();
    let mut bytes = Vec::new();
    for block in Headers::new(file, path, 0) {
        // Without a header nothing says where the next block starts.
        let Ok(block) = block else { break };
        if block.check_size(path).is_err() || block.header.block_bytes() > BLOCK_READ_MAX {
            continue;
        }
        bytes.resize(block.header.block_bytes(), 0);
        file.read_exact_at(&mut bytes, block.start)
            .map_err(|cause| PartError::io(path, "read", cause))?;
        if let Some((at, bit)) = bit_of(&mut bytes, block.header.hash, left) {
            found.push(Mend { offset: block.start + at as u64, bit });
        }
    }
    Ok(found)
}

/// The byte and the bit that make a block sound; `None` if it is sound, or there is no such bit.
fn bit_of(block: &mut [u8], stored: Hash128, left: &AtomicU64) -> Option<(usize, u8)> {
    let hashed = block.get_mut(HASH_BYTES..)?;
    let difference: Vec<u8> = city_hash_128(hashed)
        .to_bytes()
        .iter()
        .zip(stored.to_bytes())
        .map(|(got, stored)| got ^ stored)
        .collect();
    let differing: u32 = difference.iter().map(|byte| byte.count_ones()).sum();
    match differing {
        0 => return None,
        // It is the checksum itself.
        1 => {
            let at = difference.iter().position(|byte| *byte != 0)?;
            return Some((at, u8::try_from(difference[at].trailing_zeros()).ok()?));
        }
        _ => {}
    }
    let cost = 8 * (hashed.len() as u64).pow(2);
    let take = |left: u64| left.checked_sub(cost);
    if hashed.len() > BLOCK_BYTES_MAX || left.fetch_update(Relaxed, Relaxed, take).is_err() {
        return None;
    }
    for at in 0..hashed.len() {
        for bit in 0..8 {
            hashed[at] ^= 1 << bit;
            if city_hash_128(hashed) == stored {
                return Some((HASH_BYTES + at, bit));
            }
            hashed[at] ^= 1 << bit;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::bit_of;
    use std::sync::atomic::AtomicU64;
    use tambour_codec::block::{Block, Encoder};
    use tambour_codec::codec::Element;
    use tambour_codec::spec::CodecSpec;
    use tambour_kernel::hash::Hash128;

    fn stored(block: &[u8]) -> Hash128 {
        Hash128::from_bytes(block[..16].try_into().unwrap())
    }

    #[test]
    fn any_one_bit_is_found_and_no_two() {
        let mut block = Vec::new();
        let mut encoder = Encoder::new(&CodecSpec::lz4(), Element::BYTES).unwrap();
        encoder.encode(b"a block of some bytes, a block of some bytes", &mut block).unwrap();
        assert_eq!(bit_of(&mut block.clone(), stored(&block), &AtomicU64::new(1 << 30)), None);
        for at in 0..block.len() {
            for bit in 0..8 {
                let mut damaged = block.clone();
                damaged[at] ^= 1 << bit;
                let hash = stored(&damaged);
                assert_eq!(bit_of(&mut damaged, hash, &AtomicU64::new(1 << 30)), Some((at, bit)));
                // The header's sizes are not read here: the caller has the whole block.
                damaged.copy_from_slice(&block);
                damaged[at] ^= 1 << bit;
                let other = (at + 1) % block.len();
                damaged[other] ^= 1 << bit;
                let hash = stored(&damaged);
                assert_eq!(bit_of(&mut damaged, hash, &AtomicU64::new(1 << 30)), None);
            }
        }
        assert!(Block::parse(&block).is_ok());
    }
}
