//! `Delta`, method 0x92: differences of neighbours, in as many bytes as the values. It does not compress; what follows in
//! the chain does.
//!
//! `[width][leading][leading bytes]`, then the first value and the differences, modulo the width.

use super::width::{argument_width, read_prefix, write_prefix};
use super::{Class, Codec, Family, Scope};
use crate::{CodecError, kernels};
use tambour_kernel::column::{Width, delta};

pub(super) const FAMILY: Family = Family {
    name: "Delta",
    method: 0x92,
    scope: Scope::Values,
    // Two bytes longer than the data.
    expansion_max: 1,
    build: |arguments, element| {
        let classes = [Class::Unsigned, Class::Signed, Class::Float];
        Ok(Box::new(Delta { width: argument_width("Delta", arguments, element, &classes)? }))
    },
};

#[derive(Debug)]
struct Delta {
    width: Width,
}

impl Codec for Delta {
    fn encode(&mut self, source: &[u8], target: &mut Vec<u8>) -> Result<(), CodecError> {
        let values = write_prefix(self.width.byte(), source, target);
        let start = target.len();
        target.resize(start + values.len(), 0);
        delta::encode(self.width, values, &mut target[start..]);
        Ok(())
    }

    fn decode(&mut self, source: &[u8], target: &mut [u8]) -> Result<(), CodecError> {
        let body = read_prefix("Delta", Width::new, source, target)?;
        if body.source.len() != body.target.len() {
            let reason = "other than one difference per value";
            return Err(CodecError::Payload { codec: "Delta", at: body.at, reason });
        }
        kernels::delta_decode()?.decode(body.width, body.source, body.target);
        Ok(())
    }
}
