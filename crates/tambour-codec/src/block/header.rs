//! The first 25 bytes of a block.

use super::{HASH_BYTES, HEADER_BYTES, PREFIX_BYTES, SIZE_MAX};
use crate::CodecError;
use crate::codec::family;
use tambour_kernel::hash::Hash128;

/// The header of a block; sizes were checked against the limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The stored checksum of header and payload.
    pub hash: Hash128,
    /// The method byte.
    pub method: u8,
    /// Compressed size in bytes with the nine header bytes, without the checksum.
    pub compressed_size: u32,
    /// Size after decoding in bytes.
    pub uncompressed_size: u32,
}

impl Header {
    /// Reads and checks the first 25 bytes of `source`. An unknown method is not an error here.
    ///
    /// ```
    /// use tambour_codec::{block::{Encoder, Header}, codec::{Element, method_name}, spec::CodecSpec};
    /// let mut block = Vec::new();
    /// Encoder::new(&CodecSpec::lz4(), Element::BYTES)?.encode(&[7; 1000], &mut block)?;
    /// let header = Header::parse(&block)?;
    /// assert_eq!((method_name(header.method), header.uncompressed_size), ("LZ4", 1000));
    /// assert_eq!(header.block_bytes(), block.len());
    /// # Ok::<(), tambour_codec::CodecError>(())
    /// ```
    pub fn parse(source: &[u8]) -> Result<Self, CodecError> {
        let truncated = CodecError::Truncated { needed: PREFIX_BYTES, got: source.len() };
        let Some(prefix) = source.first_chunk::<PREFIX_BYTES>() else { return Err(truncated) };
        let [hash @ .., method, c0, c1, c2, c3, u0, u1, u2, u3] = *prefix;
        let header = Self {
            hash: Hash128::from_bytes(hash),
            method,
            compressed_size: u32::from_le_bytes([c0, c1, c2, c3]),
            uncompressed_size: u32::from_le_bytes([u0, u1, u2, u3]),
        };
        header.check()?;
        Ok(header)
    }

    /// The 25 bytes in front of the payload.
    pub fn to_bytes(&self) -> [u8; PREFIX_BYTES] {
        let mut bytes = [0; PREFIX_BYTES];
        bytes[..HASH_BYTES].copy_from_slice(&self.hash.to_bytes());
        bytes[16] = self.method;
        bytes[17..21].copy_from_slice(&self.compressed_size.to_le_bytes());
        bytes[21..].copy_from_slice(&self.uncompressed_size.to_le_bytes());
        bytes
    }

    /// Bytes of the whole block on disk, checksum included.
    pub fn block_bytes(&self) -> usize {
        HASH_BYTES + self.compressed_size as usize
    }

    /// Bytes of the payload.
    pub fn payload_bytes(&self) -> usize {
        self.compressed_size as usize - HEADER_BYTES
    }

    /// Both sizes against the limits of the format and, for a known method, against each other: nobody allocates for a
    /// size that the payload cannot fill.
    fn check(&self) -> Result<(), CodecError> {
        let within = |field, got: u32, min: u64, max: u64| {
            let got = u64::from(got);
            if (min..=max).contains(&got) {
                Ok(())
            } else {
                Err(CodecError::Size { field, got, min, max })
            }
        };
        let limit = u64::from(SIZE_MAX);
        within("compressed size", self.compressed_size, HEADER_BYTES as u64, limit)?;
        let possible = match family(self.method) {
            Ok(family) => {
                limit.min(family.expansion_max.saturating_mul(self.payload_bytes() as u64))
            }
            // Decoding will say so; sizes of such blocks are of use to whoever lists them.
            Err(_) => limit,
        };
        within("uncompressed size", self.uncompressed_size, 0, possible)
    }
}
