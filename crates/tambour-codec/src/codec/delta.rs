//! `Delta`, method 0x92: differences of neighbours, in as many bytes as the values. It does not compress; what follows in
//! the chain does.
//!
//! `[width][leading][leading bytes]`, then the first value and the differences, modulo the width.

use super::explain::word;
use super::width::{argument_width, explain_prefix, read_prefix, write_prefix};
use super::{Class, Codec, Family, Inside, Payload, Scope};
use crate::{CodecError, kernels};
use tambour_kernel::column::{Width, delta, fill, is_zero};

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
    explain,
};

#[derive(Debug)]
struct Delta {
    width: Width,
}

fn explain(payload: &Payload<'_>, inside: &mut Inside) -> Result<(), CodecError> {
    let values = inside.values();
    let prefix = explain_prefix("Delta", Width::new, payload, values)?;
    if prefix.source.len() != values.count * values.width {
        return Err(other_count(prefix.at));
    }
    if let Some(first) = prefix.source.get(..values.width) {
        values.say("first", word(first));
    }
    Ok(())
}

fn other_count(at: usize) -> CodecError {
    CodecError::Payload { codec: "Delta", at, reason: "not one difference per value" }
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
            return Err(other_count(body.at));
        }
        if let Some((first, differences)) = body.source.split_at_checked(body.width.bytes())
            && is_zero(differences)
        {
            fill(body.width, word(first), body.target);
            return Ok(());
        }
        kernels::delta_decode()?.decode(body.width, body.source, body.target);
        Ok(())
    }
}
