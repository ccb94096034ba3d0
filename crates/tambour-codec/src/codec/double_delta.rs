//! `DoubleDelta`, method 0x94: differences of differences in bits, for clocks and counters.
//!
//! `[width][leading][leading bytes]`, u32 count of values, then the first value, the first difference, and a stream of bits.

use super::counted::{decode_counted, encode_counted, explain_counted};
use super::explain::word;
use super::width::argument_width;
use super::{Class, Codec, Family, Scope};
use crate::{CodecError, kernels};
use tambour_kernel::column::{Width, double_delta};

pub(super) const FAMILY: Family = Family {
    name: "DoubleDelta",
    method: 0x94,
    scope: Scope::Values,
    // One bit for a value of eight bytes.
    expansion_max: 64,
    build: |arguments, element| {
        let classes = [Class::Unsigned, Class::Signed, Class::Float];
        let argument = argument_width("DoubleDelta", arguments, element, &classes)?;
        // ClickHouse checks the argument and goes by the column.
        let known = classes.contains(&element.class).then(|| Width::new(element.width)).flatten();
        let width = known.unwrap_or(argument);
        Ok(Box::new(DoubleDelta { width, scratch: Vec::new() }))
    },
    explain: |payload, inside| {
        let values = inside.values();
        let items = explain_counted("DoubleDelta", payload, values)?;
        let width = values.width;
        if let Some(first) = items.get(..width).filter(|_| values.count > 0) {
            values.say("first", word(first));
        }
        if let Some(difference) = items.get(width..2 * width).filter(|_| values.count > 1) {
            let above = 64 - 8 * u32::try_from(width).unwrap_or(8);
            values.say("first difference", word(difference).cast_signed() << above >> above);
        }
        Ok(())
    },
};

#[derive(Debug)]
struct DoubleDelta {
    width: Width,
    /// Room for the bound of the largest source so far.
    scratch: Vec<u8>,
}

impl Codec for DoubleDelta {
    fn encode(&mut self, source: &[u8], target: &mut Vec<u8>) -> Result<(), CodecError> {
        let Self { width, scratch } = self;
        encode_counted(*width, scratch, (double_delta::bound, double_delta::encode), source, target)
    }

    fn decode(&mut self, source: &[u8], target: &mut [u8]) -> Result<(), CodecError> {
        decode_counted("DoubleDelta", (kernels::double_delta_decode()?, 2), source, target)
    }
}
