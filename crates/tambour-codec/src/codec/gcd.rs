//! `GCD`, method 0x9a: values divided by their greatest common divisor, for amounts in steps. It does not compress; what
//! follows in the chain does.
//!
//! `[width][leading][leading bytes]`, the divisor (0 when all values are), then the quotients, in full width.

use super::explain::word;
use super::width::{element_width, explain_prefix, read_prefix, write_prefix};
use super::{Class, Codec, Family, Inside, Payload, Scope, no_arguments};
use crate::{CodecError, kernels};
use tambour_kernel::column::gcd;

pub(super) const FAMILY: Family = Family {
    name: "GCD",
    method: 0x9a,
    scope: Scope::Values,
    // Longer than the data by the prefix and the divisor.
    expansion_max: 1,
    build: |arguments, element| {
        no_arguments("GCD", arguments)?;
        let classes = [Class::Unsigned, Class::Signed];
        let width = element_width("GCD", arguments, element, &classes, &[1, 2, 4, 8, 16, 32])?;
        Ok(Box::new(Gcd { width, signed: element.class == Class::Signed }))
    },
    explain,
};

#[derive(Debug)]
struct Gcd {
    width: u8,
    /// Whether values are divided as signed integers.
    signed: bool,
}

fn malformed(at: usize, reason: &'static str) -> CodecError {
    CodecError::Payload { codec: "GCD", at, reason }
}

/// The widths that exist.
fn accept(byte: u8) -> Option<usize> {
    Some(usize::from(byte)).filter(|width| gcd::WIDTHS.contains(width))
}

/// The divisor in front of the quotients of this many bytes of values.
fn split_divisor(
    source: &[u8],
    at: usize,
    width: usize,
    values: usize,
) -> Result<(&[u8], &[u8]), CodecError> {
    let split = source.split_at_checked(width);
    let (divisor, quotients) = split.ok_or_else(|| malformed(at, "divisor cut short"))?;
    if quotients.len() == values {
        Ok((divisor, quotients))
    } else {
        Err(malformed(at + width, "not one quotient per value"))
    }
}

fn explain(payload: &Payload<'_>, inside: &mut Inside) -> Result<(), CodecError> {
    let values = inside.values();
    let prefix = explain_prefix("GCD", accept, payload, values)?;
    let whole = values.count * values.width;
    let (divisor, quotients) = split_divisor(prefix.source, prefix.at, prefix.width, whole)?;
    values.header_bytes += divisor.len();
    values.value_bytes = quotients.len();
    match divisor.split_at_checked(8) {
        Some((_, above)) if above.iter().any(|byte| *byte != 0) => {
            values.say("divisor", "of more than 64 bits");
        }
        _ => values.say("divisor", word(divisor)),
    }
    Ok(())
}

impl Codec for Gcd {
    fn encode(&mut self, source: &[u8], target: &mut Vec<u8>) -> Result<(), CodecError> {
        let values = write_prefix(self.width, source, target);
        let (start, width) = (target.len(), usize::from(self.width));
        target.resize(start + width + values.len(), 0);
        gcd::encode(width, self.signed, values, &mut target[start..]);
        Ok(())
    }

    fn decode(&mut self, source: &[u8], target: &mut [u8]) -> Result<(), CodecError> {
        let body = read_prefix("GCD", accept, source, target)?;
        let (divisor, quotients) =
            split_divisor(body.source, body.at, body.width, body.target.len())?;
        kernels::gcd_decode()?.decode(body.width, divisor, quotients, body.target);
        Ok(())
    }
}
