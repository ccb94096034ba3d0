//! Writing blocks, with one codec or a chain.

use super::{HASH_BYTES, HEADER_BYTES, Header, PREFIX_BYTES, SIZE_MAX};
use crate::CodecError;
use crate::choose::{Choice, Chooser, block_bytes};
use crate::codec::{Chain, Codec, Element, Named};
use crate::spec::{CodecCall, CodecSpec};
use tambour_kernel::hash::{Hash128, city_hash_128};

/// Encodes blocks with a codec or a chain; keeps contexts between blocks. One per stream.
///
/// ```
/// use tambour_codec::block::{Decoder, Encoder, stream::decode_all};
/// use tambour_codec::codec::{Class, Element};
/// let times = Element { width: 4, class: Class::Unsigned };
/// let mut encoder = Encoder::new(&"DoubleDelta, LZ4".parse()?, times)?;
/// let values: Vec<u8> = (0..5000_u32).flat_map(|i| (60 * i).to_le_bytes()).collect();
/// let mut stored = Vec::new();
/// encoder.encode(&values, &mut stored)?;
/// assert!(stored.len() < values.len() / 100);
/// assert_eq!(decode_all(&stored, &mut Decoder::new(), values.len())?, values);
/// # Ok::<(), tambour_codec::CodecError>(())
/// ```
#[derive(Debug)]
pub struct Encoder {
    work: Work,
    element: Element,
}

#[derive(Debug)]
enum Work {
    /// Always the same, with its method byte.
    Fixed(u8, Box<dyn Codec>),
    /// Chosen for each block.
    Chosen(Box<Chooser>),
}

impl Encoder {
    /// An encoder for a specification; see [`Element`] for what a codec learns of the column.
    ///
    /// Codecs of ClickHouse that this version does not have are [`CodecError::UnsupportedCodec`]; one that does not suit the
    /// elements is [`CodecError::Spec`].
    pub fn new(spec: &CodecSpec, element: Element) -> Result<Self, CodecError> {
        if let [call] = &spec.calls[..] {
            let work = if let Some(choice) = Choice::of(call) {
                Work::Chosen(Box::new(Chooser::new(choice?, element)?))
            } else {
                let (method, codec) = build(spec, call, element)?;
                Work::Fixed(method, codec)
            };
            return Ok(Self { work, element });
        }
        let members = spec.calls.iter().map(|call| build(spec, call, element));
        let chain = Chain::new(members.collect::<Result<Vec<_>, _>>()?);
        Ok(Self { work: Work::Fixed(Chain::METHOD, Box::new(chain)), element })
    }

    /// How many bytes a block should have, if that is part of the choice: see [`block_bytes`].
    pub fn block_bytes(&self) -> Option<(usize, usize)> {
        matches!(self.work, Work::Chosen(_)).then(|| block_bytes(self.element))
    }

    /// Appends one block that holds `source` (at most [`SIZE_MAX`] bytes). On an error `target` is as before.
    pub fn encode(&mut self, source: &[u8], target: &mut Vec<u8>) -> Result<(), CodecError> {
        let uncompressed_size = limited("uncompressed block", source.len())?;
        let start = target.len();
        target.extend_from_slice(&[0; PREFIX_BYTES]);
        let method = match &mut self.work {
            Work::Fixed(method, codec) => codec.encode(source, target).map(|()| *method),
            Work::Chosen(chooser) => chooser.encode(source, target),
        };
        let sealed =
            method.and_then(|method| seal(&mut target[start..], method, uncompressed_size));
        if sealed.is_err() {
            target.truncate(start);
        }
        sealed
    }
}

/// Fills in header and checksum in front of a payload.
fn seal(block: &mut [u8], method: u8, uncompressed_size: u32) -> Result<(), CodecError> {
    let compressed_size = limited("compressed block", block.len() - HASH_BYTES)?;
    let hash = Hash128::default();
    let mut header = Header { hash, method, compressed_size, uncompressed_size };
    block[..PREFIX_BYTES].copy_from_slice(&header.to_bytes());
    header.hash = city_hash_128(&block[HASH_BYTES..]);
    block[..HASH_BYTES].copy_from_slice(&header.hash.to_bytes());
    debug_assert!(block.len() == header.block_bytes() && block.len() >= HEADER_BYTES);
    Ok(())
}

/// The codec of a call, and its method byte.
fn build(
    spec: &CodecSpec,
    call: &CodecCall,
    element: Element,
) -> Result<(u8, Box<dyn Codec>), CodecError> {
    let refused =
        |reason: &str| CodecError::Spec { spec: spec.to_string(), reason: reason.to_owned() };
    match Named::find(&call.name) {
        Some(Named::Family(family)) if family.method == Chain::METHOD => {
            Err(refused("a chain is written as its codecs, separated by commas"))
        }
        Some(Named::Family(family)) => {
            Ok((family.method, (family.build)(&call.arguments, element)?))
        }
        Some(Named::Foreign(name, _)) => {
            Err(CodecError::UnsupportedCodec { name: name.to_owned() })
        }
        None => Err(refused("there is no such codec")),
    }
}

/// A size that fits the header.
fn limited(what: &'static str, size: usize) -> Result<u32, CodecError> {
    let fits = u32::try_from(size).ok().filter(|&size| size <= SIZE_MAX);
    fits.ok_or(CodecError::Limit { what, got: size as u64, max: u64::from(SIZE_MAX) })
}
