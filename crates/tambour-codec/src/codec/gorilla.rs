//! `Gorilla`, method 0x95: exclusive ors of neighbours in bits, for floats that change slowly.
//!
//! `[width][leading][leading bytes]`, u32 count of values, then the first value and a stream of bits.

use super::counted::{decode_counted, encode_counted, explain_counted};
use super::explain::word;
use super::width::argument_width;
use super::{Class, Codec, Fact, Family, Scope};
use crate::{CodecError, kernels};
use tambour_kernel::column::{Width, gorilla};

pub(super) const FAMILY: Family = Family {
    name: "Gorilla",
    method: 0x95,
    scope: Scope::Values,
    // One bit for a value of eight bytes.
    expansion_max: 64,
    build: |arguments, element| {
        // It runs on integers, too, but ClickHouse refuses that as meaningless unless it is told otherwise.
        let width = argument_width("Gorilla", arguments, element, &[Class::Float])?;
        Ok(Box::new(Gorilla { width, scratch: Vec::new() }))
    },
    explain: |payload, inside| {
        let values = inside.values();
        let items = explain_counted("Gorilla", payload, values)?;
        if let Some(first) = items.get(..values.width).filter(|_| values.count > 0) {
            values.say("first", first_value(first));
        }
        Ok(())
    },
};

/// A first value as the float that it is in most columns.
fn first_value(bytes: &[u8]) -> Fact {
    if let Ok(bytes) = bytes.try_into() {
        return Fact::Float(f64::from_le_bytes(bytes));
    }
    let Ok(bytes) = bytes.try_into() else { return Fact::Unsigned(word(bytes)) };
    let first = f32::from_le_bytes(bytes);
    // By its digits: 0.1 stays 0.1.
    Fact::Float(first.to_string().parse().unwrap_or_else(|_| first.into()))
}

#[derive(Debug)]
struct Gorilla {
    width: Width,
    /// Room for the bound of the largest source so far.
    scratch: Vec<u8>,
}

impl Codec for Gorilla {
    fn encode(&mut self, source: &[u8], target: &mut Vec<u8>) -> Result<(), CodecError> {
        let Self { width, scratch } = self;
        encode_counted(*width, scratch, (gorilla::bound, gorilla::encode), source, target)
    }

    fn decode(&mut self, source: &[u8], target: &mut [u8]) -> Result<(), CodecError> {
        decode_counted("Gorilla", (kernels::gorilla_decode()?, 1), source, target)
    }
}
