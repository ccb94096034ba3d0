//! `NONE`, method 0x02: the payload is the data.

use super::{Codec, Family, Scope, no_arguments};
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
};

#[derive(Debug)]
struct Identity;

impl Codec for Identity {
    fn encode(&mut self, source: &[u8], target: &mut Vec<u8>) -> Result<(), CodecError> {
        target.extend_from_slice(source);
        Ok(())
    }

    fn decode(&mut self, source: &[u8], target: &mut [u8]) -> Result<(), CodecError> {
        if source.len() != target.len() {
            let expected = target.len() as u64;
            return Err(CodecError::Size {
                field: "payload size",
                got: source.len() as u64,
                min: expected,
                max: expected,
            });
        }
        target.copy_from_slice(source);
        Ok(())
    }
}
