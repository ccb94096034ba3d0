//! Reading one block: the checksum always, then the codec that the method byte names.

use super::{HASH_BYTES, Header, PREFIX_BYTES};
use crate::CodecError;
use crate::codec::{Decoders, check_chain};
use tambour_kernel::hash::city_hash_128;

/// One whole block whose checksum was verified.
#[derive(Clone, Copy, Debug)]
pub struct Block<'a> {
    /// Its header.
    pub header: Header,
    /// The payload after the header.
    pub payload: &'a [u8],
}

impl<'a> Block<'a> {
    /// The block at the start of `source` (which may go on after it). Verifies sizes and checksum; sizes
    /// of a chain, too, as far as they show without decoding.
    ///
    /// ```
    /// use tambour_codec::{block::{Block, Encoder}, codec::Element, spec::CodecSpec};
    /// let mut stored = Vec::new();
    /// Encoder::new(&CodecSpec::lz4(), Element::BYTES)?.encode(b"hello", &mut stored)?;
    /// assert_eq!(Block::parse(&stored)?.block_bytes(), stored.len());
    ///
    /// stored[27] ^= 1;
    /// assert!(Block::parse(&stored).is_err(), "one bit is different");
    /// # Ok::<(), tambour_codec::CodecError>(())
    /// ```
    pub fn parse(source: &'a [u8]) -> Result<Self, CodecError> {
        let header = Header::parse(source)?;
        let needed = header.block_bytes();
        let Some(block) = source.get(..needed) else {
            return Err(CodecError::Truncated { needed, got: source.len() });
        };
        let got = city_hash_128(&block[HASH_BYTES..]);
        if got != header.hash {
            return Err(CodecError::Checksum { expected: header.hash, got });
        }
        let payload = &block[PREFIX_BYTES..];
        check_chain(header.method, header.uncompressed_size, payload)?;
        Ok(Self { header, payload })
    }

    /// Bytes of the whole block on disk, checksum included.
    pub fn block_bytes(&self) -> usize {
        self.header.block_bytes()
    }
}

/// Decodes blocks of any known method; keeps scratch memory and contexts between blocks. One per thread.
#[derive(Debug, Default)]
pub struct Decoder {
    decoders: Decoders,
}

impl Decoder {
    /// A decoder.
    pub fn new() -> Self {
        Self::default()
    }

    /// Decodes into exactly `uncompressed_size` bytes. On an error the target holds unspecified bytes.
    pub fn decode(&mut self, block: &Block<'_>, target: &mut [u8]) -> Result<(), CodecError> {
        let expected = block.header.uncompressed_size as usize;
        if target.len() != expected {
            return Err(CodecError::Target { expected, got: target.len() });
        }
        self.decoders.get(block.header.method)?.decode(block.payload, target)
    }

    /// Decodes into the end of `target`, which grows by `uncompressed_size` bytes, or not at all on an error.
    ///
    /// ```
    /// use tambour_codec::block::{Block, Decoder, Encoder};
    /// use tambour_codec::{codec::Element, spec::CodecSpec};
    /// let mut stored = Vec::new();
    /// Encoder::new(&CodecSpec::lz4(), Element::BYTES)?.encode(b"world", &mut stored)?;
    /// let mut text = b"hello ".to_vec();
    /// Decoder::new().decode_append(&Block::parse(&stored)?, &mut text)?;
    /// assert_eq!(text, b"hello world");
    /// # Ok::<(), tambour_codec::CodecError>(())
    /// ```
    pub fn decode_append(
        &mut self,
        block: &Block<'_>,
        target: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        let start = target.len();
        target.resize(start + block.header.uncompressed_size as usize, 0);
        let result = self.decode(block, &mut target[start..]);
        if result.is_err() {
            target.truncate(start);
        }
        result
    }
}
