//! `PFOR`, method 0xe0, ours: integers as distances from the least one, or as differences of neighbours, in as few bits as
//! most of a block of 256 need; the others are patches. Decodes at several billion values a second.

use super::offsets::{decode_offsets, encode_offsets, explain_offsets, malformed};
use super::width::{WORDS, element_width};
use super::{Class, Codec, Family, Scope, no_arguments};
use crate::{CodecError, kernels};
use tambour_kernel::column::Width;
use tambour_kernel::integer::packed::{self, Layout, Series};

pub(super) const FAMILY: Family = Family {
    name: "PFOR",
    method: 0xe0,
    scope: Scope::Values,
    // Blocks of 256 values of eight bytes, each of at least one byte.
    expansion_max: 2048,
    build: |arguments, element| {
        no_arguments("PFOR", arguments)?;
        let classes = [Class::Unsigned, Class::Signed];
        let width = element_width("PFOR", arguments, element, &classes, WORDS)?;
        let width = Width::new(width).unwrap_or(Width::W1);
        Ok(Box::new(Pfor { width, signed: element.class == Class::Signed, distances: Vec::new() }))
    },
    explain: |payload, inside| {
        explain_offsets("PFOR", &["distances", "differences"], payload, inside)
    },
};

/// The forms: what is packed.
const FORMS: [Series; 2] = [Series::Values, Series::Differences];

#[derive(Debug)]
struct Pfor {
    width: Width,
    signed: bool,
    distances: Vec<u32>,
}

impl Codec for Pfor {
    fn encode(&mut self, source: &[u8], target: &mut Vec<u8>) -> Result<(), CodecError> {
        encode_offsets(self.width, self.signed, source, target, |distances, target| {
            let start = target.len();
            let mut best = None;
            let mut scratch = vec![0; packed::bound(distances.len())];
            for (form, series) in (0..).zip(FORMS) {
                let size = packed::encode(distances, &mut scratch, Layout::Patched, series);
                let Some(size) = size else { continue };
                if best.is_none_or(|(_, known)| size < known) {
                    target.truncate(start);
                    target.extend_from_slice(&scratch[..size]);
                    best = Some((form, size));
                }
            }
            let limit = || CodecError::Limit {
                what: "values",
                got: distances.len() as u64,
                max: u64::from(u32::MAX),
            };
            best.map(|(form, _)| form).ok_or_else(limit)
        })
    }

    fn decode(&mut self, source: &[u8], target: &mut [u8]) -> Result<(), CodecError> {
        let isa = kernels::isa()?;
        decode_offsets("PFOR", source, target, &mut self.distances, |form, packed, distances| {
            let no_form = CodecError::Payload { codec: "PFOR", at: 0, reason: "no such form" };
            let series = FORMS.get(usize::from(form)).ok_or(no_form)?;
            let decoder = Layout::Patched.decoders(*series).best_at_most(isa);
            decoder.decode(packed, distances).map_err(|cause| malformed("PFOR", cause))
        })
    }
}
