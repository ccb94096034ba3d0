//! `LZ4`, method 0x82: the payload is one LZ4 block, without frame and without a size in front.
//!
//! An incompressible block grows by up to one byte in 255; it is stored so, as ClickHouse does. `LZ4HC`
//! (`lz4hc.rs`) writes the same format under the same method byte.

use super::{Codec, Family, Scope, no_arguments};
use crate::frame::look;
use crate::{CodecError, kernels};
use tambour_kernel::lz4::{self, Selector};

pub(super) const FAMILY: Family = Family {
    name: "LZ4",
    method: 0x82,
    scope: Scope::Generic,
    // A byte that extends a match stands for 255 bytes; nothing in a block stands for more.
    expansion_max: 255,
    build: |arguments, _| {
        no_arguments("LZ4", arguments)?;
        Ok(Box::new(Lz4::new(lz4::Level::default())?))
    },
    explain: look::explain_lz4,
};

/// The codec of every family whose payload is an LZ4 block; they differ in how they encode.
#[derive(Debug)]
pub(super) struct Lz4 {
    /// Learns which decoder suits the stream; an instance of the codec belongs to one.
    decode: Selector,
    level: lz4::Level,
    /// Made on the first use: most instances only decode.
    encode: Option<Box<Encode>>,
}

#[derive(Debug)]
struct Encode {
    encoder: lz4::Encoder,
    /// Room for the bound of the largest source so far.
    scratch: Vec<u8>,
}

impl Lz4 {
    pub(super) fn new(level: lz4::Level) -> Result<Self, CodecError> {
        Ok(Self { decode: kernels::lz4_selector()?, level, encode: None })
    }
}

impl Codec for Lz4 {
    fn encode(&mut self, source: &[u8], target: &mut Vec<u8>) -> Result<(), CodecError> {
        let level = self.level;
        let encode = self.encode.get_or_insert_with(|| {
            Box::new(Encode { encoder: lz4::Encoder::new(level), scratch: Vec::new() })
        });
        let Encode { encoder, scratch } = &mut **encode;
        let bound = lz4::bound(source.len());
        if scratch.len() < bound {
            scratch.resize(bound, 0);
        }
        let Some(size) = encoder.encode(source, scratch) else {
            let (got, max) = (source.len() as u64, lz4::SOURCE_BYTES_MAX as u64);
            return Err(CodecError::Limit { what: "LZ4 source", got, max });
        };
        target.extend_from_slice(&scratch[..size]);
        Ok(())
    }

    fn decode(&mut self, source: &[u8], target: &mut [u8]) -> Result<(), CodecError> {
        Ok(self.decode.decode(source, target)?)
    }
}
