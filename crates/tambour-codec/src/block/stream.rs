//! A stream is a plain concatenation of blocks: walking over it, and decoding it whole.

use super::{Block, Decoder, Header};
use crate::CodecError;

/// The header of a block within a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed<T> {
    /// Offset of the block in the stream.
    pub offset: usize,
    /// The header or block.
    pub item: T,
}

/// Walks over the headers of a stream; checks sizes, not checksums. Ends after the first error.
///
/// ```
/// use tambour_codec::{block::{Encoder, stream::Headers}, codec::Element, spec::CodecSpec};
/// let mut encoder = Encoder::new(&CodecSpec::lz4(), Element::BYTES)?;
/// let mut stored = Vec::new();
/// encoder.encode(&[7; 300], &mut stored)?;
/// let second = stored.len();
/// encoder.encode(&[8; 200], &mut stored)?;
/// let found: Vec<_> = Headers::new(&stored).collect::<Result<_, _>>()?;
/// let found: Vec<_> = found.iter().map(|h| (h.offset, h.item.uncompressed_size)).collect();
/// assert_eq!(found, [(0, 300), (second, 200)]);
/// # Ok::<(), tambour_codec::CodecError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Headers<'a> {
    source: &'a [u8],
    offset: usize,
}

impl<'a> Headers<'a> {
    /// The headers of all blocks of a stream.
    pub fn new(source: &'a [u8]) -> Self {
        Self { source, offset: 0 }
    }

    /// Where the next block starts; after an error, where the damaged one starts.
    pub fn offset(&self) -> usize {
        self.offset
    }
}

impl Iterator for Headers<'_> {
    type Item = Result<Placed<Header>, CodecError>;

    fn next(&mut self) -> Option<Self::Item> {
        advance(&mut self.source, &mut self.offset, |rest| {
            let header = Header::parse(rest)?;
            let (needed, got) = (header.block_bytes(), rest.len());
            if needed > got {
                Err(CodecError::Truncated { needed, got })
            } else {
                Ok((header, needed))
            }
        })
    }
}

/// Walks over the verified blocks of a stream. Ends after the first error.
///
/// ```
/// use tambour_codec::{block::{Encoder, stream::Blocks}, codec::Element, spec::CodecSpec};
/// let mut stored = Vec::new();
/// Encoder::new(&CodecSpec::lz4(), Element::BYTES)?.encode(b"whole", &mut stored)?;
/// stored.extend(b"and what is left of another");
/// let mut blocks = Blocks::new(&stored);
/// assert!(blocks.next().is_some_and(|block| block.is_ok()));
/// assert!(blocks.next().is_some_and(|block| block.is_err()));
/// assert!(blocks.next().is_none(), "ends after the first error");
/// # Ok::<(), tambour_codec::CodecError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Blocks<'a> {
    source: &'a [u8],
    offset: usize,
}

impl<'a> Blocks<'a> {
    /// The blocks of a stream.
    pub fn new(source: &'a [u8]) -> Self {
        Self { source, offset: 0 }
    }

    /// Where the next block starts; after an error, where the damaged one starts.
    pub fn offset(&self) -> usize {
        self.offset
    }
}

impl<'a> Iterator for Blocks<'a> {
    type Item = Result<Placed<Block<'a>>, CodecError>;

    fn next(&mut self) -> Option<Self::Item> {
        advance(&mut self.source, &mut self.offset, |rest| {
            let block = Block::parse(rest)?;
            Ok((block, block.block_bytes()))
        })
    }
}

/// Takes one item of known size from the front of `source`; takes everything on an error.
fn advance<'a, T>(
    source: &mut &'a [u8],
    offset: &mut usize,
    parse: impl FnOnce(&'a [u8]) -> Result<(T, usize), CodecError>,
) -> Option<Result<Placed<T>, CodecError>> {
    if source.is_empty() {
        return None;
    }
    Some(match parse(source) {
        Ok((item, bytes)) => {
            let placed = Placed { offset: *offset, item };
            *source = &source[bytes..];
            *offset += bytes;
            Ok(placed)
        }
        Err(error) => {
            *source = &[];
            Err(error)
        }
    })
}

/// Decodes a whole stream of at most `bytes_max` uncompressed bytes; for the small files of a part.
///
/// ```
/// use tambour_codec::block::{Decoder, Encoder, stream::decode_all};
/// use tambour_codec::{codec::Element, spec::CodecSpec};
/// let mut stored = Vec::new();
/// Encoder::new(&CodecSpec::lz4(), Element::BYTES)?.encode(&[7; 1000], &mut stored)?;
/// assert_eq!(decode_all(&stored, &mut Decoder::new(), 1000)?, [7; 1000]);
/// assert!(decode_all(&stored, &mut Decoder::new(), 999).is_err());
/// # Ok::<(), tambour_codec::CodecError>(())
/// ```
pub fn decode_all(
    source: &[u8],
    decoder: &mut Decoder,
    bytes_max: usize,
) -> Result<Vec<u8>, CodecError> {
    let mut target = Vec::new();
    for block in Blocks::new(source) {
        let block = block?.item;
        let total = target.len() as u64 + u64::from(block.header.uncompressed_size);
        if total > bytes_max as u64 {
            let max = bytes_max as u64;
            return Err(CodecError::Limit { what: "block stream", got: total, max });
        }
        decoder.decode_append(&block, &mut target)?;
    }
    Ok(target)
}
