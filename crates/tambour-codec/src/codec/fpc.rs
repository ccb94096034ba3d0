//! `FPC`, method 0x98: floats predicted from the values before them, for measurements of full precision.
//!
//! `[width][level]`, then pairs of values, each after a byte of codes; see `docs/format/codecs.md`. The level is the
//! logarithm of the entries of both prediction tables, which are empty at the start of a block.

use super::width::element_width;
use super::{Class, Codec, Element, Family, Scope, argument_error};
use crate::CodecError;
use std::collections::HashMap;
use tambour_kernel::column::Malformed;
use tambour_kernel::column::fpc::{self, FloatWidth, Predictor, Table};

pub(super) const FAMILY: Family = Family {
    name: "FPC",
    method: 0x98,
    scope: Scope::Values,
    // A pair of doubles takes one byte.
    expansion_max: 16,
    build: |arguments, element| Ok(Box::new(build(arguments, element)?)),
    explain: |payload, inside| {
        let values = inside.values();
        let (width, level, pairs) = read_header(payload.bytes)?;
        values.width = width.bytes();
        // The last may be cut short.
        values.count = payload.content_bytes.div_ceil(values.width);
        values.header_bytes = payload.bytes.len() - pairs.len();
        values.value_bytes = pairs.len();
        values.say("level", u64::from(level));
        Ok(())
    },
};

/// Level without an argument, as in ClickHouse.
const LEVEL_DEFAULT: u8 = 12;
const LEVEL_MAX: u8 = 28;
/// Tables of this level or below are always arrays.
const DENSE_LEVEL: u8 = 16;

#[derive(Debug)]
struct Fpc {
    width: FloatWidth,
    level: u8,
    dense: [Vec<u64>; 2],
}

fn build(arguments: &[String], element: Element) -> Result<Fpc, CodecError> {
    let refused = |reason| argument_error("FPC", arguments, reason);
    let (level, width) = match arguments {
        [] => (None, None),
        [level] => (Some(level), None),
        [level, width] => (Some(level), Some(width)),
        _ => return Err(refused("takes two arguments, the level and the width")),
    };
    let level = match level {
        None => LEVEL_DEFAULT,
        Some(level) => {
            let level = level.parse().ok().filter(|level| (1..=LEVEL_MAX).contains(level));
            level.ok_or_else(|| refused("the level is 1 to 28"))?
        }
    };
    let own = element_width("FPC", arguments, element, &[Class::Float], &[8, 4])?;
    let own = float_width(own).ok_or_else(|| refused("the width is 4 or 8"))?;
    let width = match width {
        None => own,
        Some(width) => {
            let width = width.parse().ok().and_then(float_width);
            let width = width.ok_or_else(|| refused("the width is 4 or 8"))?;
            // ClickHouse checks the argument and goes by the column.
            if element.class == Class::Unknown { width } else { own }
        }
    };
    Ok(Fpc { width, level, dense: Default::default() })
}

pub(super) fn float_width(bytes: u8) -> Option<FloatWidth> {
    match bytes {
        4 => Some(FloatWidth::F4),
        8 => Some(FloatWidth::F8),
        _ => None,
    }
}

/// A table that takes memory only for what was stored: a block of few values may ask for a table of gigabytes.
#[derive(Default)]
struct Sparse(HashMap<usize, u64>);

impl Table for Sparse {
    fn get(&self, index: usize) -> u64 {
        self.0.get(&index).copied().unwrap_or_default()
    }

    fn set(&mut self, index: usize, value: u64) {
        self.0.insert(index, value);
    }
}

/// What a run over a block does with a predictor over any table.
trait Run<R> {
    fn run<T: Table + ?Sized>(self, predictor: &mut Predictor<'_, T>) -> R;
}

/// Runs with tables of a level, for a block of this many values: arrays, unless those would be much larger than the block.
fn with_tables<R>(dense: &mut [Vec<u64>; 2], level: u8, values: usize, run: impl Run<R>) -> R {
    let entries = 1 << level;
    if level <= DENSE_LEVEL || entries / 4 <= values {
        for table in &mut *dense {
            table.clear();
            table.resize(entries, 0);
        }
        let [first, second] = dense;
        return run.run(&mut Predictor::new(&mut first[..], &mut second[..], u32::from(level)));
    }
    let (mut first, mut second) = (Sparse::default(), Sparse::default());
    run.run(&mut Predictor::new(&mut first, &mut second, u32::from(level)))
}

struct Encode<'a>(FloatWidth, &'a [u8], &'a mut [u8]);

impl Run<usize> for Encode<'_> {
    fn run<T: Table + ?Sized>(self, predictor: &mut Predictor<'_, T>) -> usize {
        fpc::encode(self.0, predictor, self.1, self.2)
    }
}

struct Decode<'a>(FloatWidth, &'a [u8], &'a mut [u8]);

impl Run<Result<usize, Malformed>> for Decode<'_> {
    fn run<T: Table + ?Sized>(self, predictor: &mut Predictor<'_, T>) -> Result<usize, Malformed> {
        fpc::decode(self.0, predictor, self.1, self.2)
    }
}

fn malformed(at: usize, reason: &'static str) -> CodecError {
    CodecError::Payload { codec: "FPC", at, reason }
}

/// Width and level, and the pairs after them.
fn read_header(source: &[u8]) -> Result<(FloatWidth, u8, &[u8]), CodecError> {
    let Some((&[width, level], pairs)) = source.split_first_chunk() else {
        return Err(malformed(source.len(), "prefix cut short"));
    };
    let width = float_width(width).ok_or_else(|| malformed(0, "an unknown width"))?;
    if (1..=LEVEL_MAX).contains(&level) {
        Ok((width, level, pairs))
    } else {
        Err(malformed(1, "an unknown level"))
    }
}

impl Codec for Fpc {
    fn encode(&mut self, source: &[u8], target: &mut Vec<u8>) -> Result<(), CodecError> {
        let bytes = match self.width {
            FloatWidth::F4 => 4,
            FloatWidth::F8 => 8,
        };
        target.extend([bytes, self.level]);
        let start = target.len();
        target.resize(start + fpc::bound(self.width, source.len()), 0);
        let values = source.len() / self.width.bytes();
        let run = Encode(self.width, source, &mut target[start..]);
        let used = with_tables(&mut self.dense, self.level, values, run);
        target.truncate(start + used);
        Ok(())
    }

    fn decode(&mut self, source: &[u8], target: &mut [u8]) -> Result<(), CodecError> {
        let (width, level, pairs) = read_header(source)?;
        let values = target.len() / width.bytes();
        let run = Decode(width, pairs, target);
        let used = with_tables(&mut self.dense, level, values, run)
            .map_err(|cause| malformed(2 + cause.at, cause.reason))?;
        if used == pairs.len() { Ok(()) } else { Err(malformed(2 + used, "trailing bytes")) }
    }
}
