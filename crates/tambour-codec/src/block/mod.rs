//! ClickHouse's compressed block: checksum, header, payload.

use crate::CodecError;
use crate::spec::CodecSpec;
use tambour_kernel::hash::Hash128;

/// Bytes of the checksum.
pub const HASH_BYTES: usize = 16;
/// Bytes of the header behind the checksum: method, compressed size, uncompressed size.
pub const HEADER_BYTES: usize = 9;
/// Largest compressed or uncompressed size that is accepted, in bytes.
pub const SIZE_MAX: u32 = 1 << 30;

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
    /// Reads and checks the first 25 bytes of `source`.
    pub fn parse(_source: &[u8]) -> Result<Self, CodecError> {
        todo!()
    }
    /// Bytes of the whole block on disk, checksum included.
    pub fn block_bytes(&self) -> usize {
        todo!()
    }
}

/// One whole block whose checksum was verified.
#[derive(Clone, Copy, Debug)]
pub struct Block<'a> {
    /// Its header.
    pub header: Header,
    /// The payload behind the header.
    pub payload: &'a [u8],
}

impl<'a> Block<'a> {
    /// The block at the start of `source` (which may go on behind it). Verifies sizes and checksum.
    pub fn parse(_source: &'a [u8]) -> Result<Self, CodecError> {
        todo!()
    }
    /// Bytes of the whole block on disk, checksum included.
    pub fn block_bytes(&self) -> usize {
        todo!()
    }
}

/// Decodes blocks of any known method; keeps scratch memory and contexts between blocks. One per thread.
#[derive(Debug, Default)]
pub struct Decoder {}

impl Decoder {
    /// A decoder.
    pub fn new() -> Self {
        Self::default()
    }
    /// Decodes into exactly `uncompressed_size` bytes.
    pub fn decode(&mut self, _block: &Block<'_>, _target: &mut [u8]) -> Result<(), CodecError> {
        todo!()
    }
}

/// Encodes blocks with one codec or chain; keeps contexts between blocks. One per stream.
#[derive(Debug)]
pub struct Encoder {}

impl Encoder {
    /// An encoder for a specification; see [`crate::codec::Element`] for what a codec learns of the column.
    pub fn new(_spec: &CodecSpec, _element: crate::codec::Element) -> Result<Self, CodecError> {
        todo!()
    }
    /// Appends one block that holds `source` (at most [`SIZE_MAX`] bytes).
    pub fn encode(&mut self, _source: &[u8], _target: &mut Vec<u8>) -> Result<(), CodecError> {
        todo!()
    }
}
