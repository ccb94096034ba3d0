//! `GCD`, method 0x9a: values divided by their greatest common divisor, for amounts in steps. It does not compress; what
//! follows in the chain does.
//!
//! `[width][leading][leading bytes]`, the divisor (0 when all values are), then the quotients, in full width.

use super::width::{element_width, read_prefix, write_prefix};
use super::{Class, Codec, Family, Scope, no_arguments};
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
};

#[derive(Debug)]
struct Gcd {
    width: u8,
    /// Whether values are divided as signed integers.
    signed: bool,
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
        let accept = |byte| Some(usize::from(byte)).filter(|width| gcd::WIDTHS.contains(width));
        let body = read_prefix("GCD", accept, source, target)?;
        let malformed = |at, reason| CodecError::Payload { codec: "GCD", at, reason };
        let Some((divisor, quotients)) = body.source.split_at_checked(body.width) else {
            return Err(malformed(body.at, "divisor cut short"));
        };
        let at = body.at + body.width;
        if quotients.len() != body.target.len() {
            return Err(malformed(at, "other than one quotient per value"));
        }
        kernels::gcd_decode()?.decode(body.width, divisor, quotients, body.target);
        Ok(())
    }
}
