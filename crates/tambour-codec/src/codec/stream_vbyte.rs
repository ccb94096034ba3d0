//! `StreamVByte`, method 0xe1, ours: integers as distances from the least one in zero to four bytes each; the lengths of four
//! values are one byte, and all of them come first.

use super::offsets::{decode_offsets, encode_offsets, explain_offsets, malformed};
use super::width::{WORDS, element_width};
use super::{Class, Codec, Family, Scope, no_arguments};
use crate::{CodecError, kernels};
use tambour_kernel::column::Width;
use tambour_kernel::integer::stream_vbyte::{self, Lengths};

pub(super) const FAMILY: Family = Family {
    name: "StreamVByte",
    method: 0xe1,
    scope: Scope::Values,
    // A byte of lengths for four values of eight bytes.
    expansion_max: 32,
    build: |arguments, element| {
        no_arguments("StreamVByte", arguments)?;
        let classes = [Class::Unsigned, Class::Signed];
        let width = element_width("StreamVByte", arguments, element, &classes, WORDS)?;
        let width = Width::new(width).unwrap_or(Width::W1);
        let signed = element.class == Class::Signed;
        Ok(Box::new(StreamVByte { width, signed, distances: Vec::new() }))
    },
    explain: |payload, inside| explain_offsets("StreamVByte", &["distances"], payload, inside),
};

/// The only form.
const FORM: u8 = 0;
const LENGTHS: Lengths = Lengths::ZeroToFour;

#[derive(Debug)]
struct StreamVByte {
    width: Width,
    signed: bool,
    distances: Vec<u32>,
}

impl Codec for StreamVByte {
    fn encode(&mut self, source: &[u8], target: &mut Vec<u8>) -> Result<(), CodecError> {
        encode_offsets(self.width, self.signed, source, target, |distances, target| {
            let start = target.len();
            let bound = stream_vbyte::bound(distances.len());
            target.resize(start + bound, 0);
            let size = stream_vbyte::encode(distances, &mut target[start..], LENGTHS);
            let limit =
                CodecError::Limit { what: "values", got: bound as u64, max: u64::from(u32::MAX) };
            target.truncate(start + size.ok_or(limit)?);
            Ok(FORM)
        })
    }

    fn decode(&mut self, source: &[u8], target: &mut [u8]) -> Result<(), CodecError> {
        let isa = kernels::isa()?;
        let name = "StreamVByte";
        decode_offsets(name, source, target, &mut self.distances, |form, stream, distances| {
            if form != FORM {
                return Err(CodecError::Payload { codec: name, at: 0, reason: "no such form" });
            }
            let decoder = LENGTHS.decoders().best_at_most(isa);
            decoder.decode(stream, distances).map_err(|cause| malformed(name, cause))
        })
    }
}
