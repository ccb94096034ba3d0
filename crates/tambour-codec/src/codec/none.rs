//! `NONE`, method 0x02: the payload is the data.

use super::{Codec, Family, Inside, Scope, no_arguments};
use crate::CodecError;

pub(super) const FAMILY: Family = Family {
    name: "NONE",
    method: 0x02,
    scope: Scope::Generic,
    expansion_max: 1,
    build: |arguments, _| {
        no_arguments("NONE", arguments)?;
        Ok(Box::new(Identity))
    },
    explain: |payload, inside| {
        *inside = Inside::Plain;
        check_size(payload.bytes.len(), payload.content_bytes)
    },
};

#[derive(Debug)]
struct Identity;

fn check_size(got: usize, expected: usize) -> Result<(), CodecError> {
    if got == expected {
        return Ok(());
    }
    let (got, expected) = (got as u64, expected as u64);
    Err(CodecError::Size { field: "payload size", got, min: expected, max: expected })
}

impl Codec for Identity {
    fn encode(&mut self, source: &[u8], target: &mut Vec<u8>) -> Result<(), CodecError> {
        target.extend_from_slice(source);
        Ok(())
    }

    fn decode(&mut self, source: &[u8], target: &mut [u8]) -> Result<(), CodecError> {
        check_size(source.len(), target.len())?;
        target.copy_from_slice(source);
        Ok(())
    }
}
