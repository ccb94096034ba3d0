//! `Pco(level)`, method 0xe2, ours: the numerical codec of the crate `pco`, for archives. Small, and slow to write.
//!
//! `[width][leading][leading bytes][class]`, then a standalone pco file: class 0 for unsigned integers, 1 for signed ones,
//! 2 for floats.

use super::width::{WORDS, element_width, explain_prefix, read_prefix, write_prefix};
use super::{Class, Codec, Family, Scope, argument_error};
use crate::CodecError;
use pco::ChunkConfig;
use pco::standalone::{simple_compress, simple_decompress_into};
use std::panic::{AssertUnwindSafe, catch_unwind};
use tambour_kernel::column::Width;

pub(super) const FAMILY: Family = Family {
    name: "Pco",
    method: 0xe2,
    scope: Scope::Values,
    // Values that are all equal take no bits; a chunk has up to 2^24 of them after some ten bytes.
    expansion_max: 4 << 20,
    build: |arguments, element| {
        let level = match arguments {
            [] => Some(pco::DEFAULT_COMPRESSION_LEVEL),
            [level] => level.parse().ok().filter(|level| (0..=LEVEL_MAX).contains(level)),
            _ => None,
        };
        let level =
            level.ok_or_else(|| argument_error("Pco", arguments, "the level is 0 to 12"))?;
        let classes = [Class::Unsigned, Class::Signed, Class::Float];
        let width = element_width("Pco", arguments, element, &classes, WORDS)?;
        let refused = || argument_error("Pco", arguments, "floats have 4 or 8 bytes");
        let kind = match element.class {
            Class::Float if width < 4 => return Err(refused()),
            Class::Float => FLOAT,
            Class::Signed => SIGNED,
            _ => UNSIGNED,
        };
        let width = Width::new(width).ok_or_else(refused)?;
        Ok(Box::new(Pco { width, kind, level }))
    },
    explain: |payload, inside| {
        let values = inside.values();
        let prefix = explain_prefix("Pco", Width::new, payload, values)?;
        let (&kind, file) =
            prefix.source.split_first().ok_or_else(|| malformed(prefix.at, "no class"))?;
        values.header_bytes += 1;
        values.value_bytes = file.len();
        let classes = ["unsigned", "signed", "float"];
        let class = classes.get(usize::from(kind)).copied();
        values.say("type", class.ok_or_else(|| malformed(prefix.at, "an unknown type"))?);
        Ok(())
    },
};

const LEVEL_MAX: usize = 12;
const UNSIGNED: u8 = 0;
const SIGNED: u8 = 1;
const FLOAT: u8 = 2;

#[derive(Debug)]
struct Pco {
    width: Width,
    kind: u8,
    level: usize,
}

fn malformed(at: usize, reason: &'static str) -> CodecError {
    CodecError::Payload { codec: "Pco", at, reason }
}

/// Calls a function that is generic over the number type with that of a width and a class.
macro_rules! by_type {
    ($width:expr, $kind:expr, $function:ident($($argument:expr),*)) => {
        match ($width, $kind) {
            (Width::W1, UNSIGNED) => $function($($argument,)* u8::to_le_bytes, u8::from_le_bytes),
            (Width::W2, UNSIGNED) => $function($($argument,)* u16::to_le_bytes, u16::from_le_bytes),
            (Width::W4, UNSIGNED) => $function($($argument,)* u32::to_le_bytes, u32::from_le_bytes),
            (Width::W8, UNSIGNED) => $function($($argument,)* u64::to_le_bytes, u64::from_le_bytes),
            (Width::W1, SIGNED) => $function($($argument,)* i8::to_le_bytes, i8::from_le_bytes),
            (Width::W2, SIGNED) => $function($($argument,)* i16::to_le_bytes, i16::from_le_bytes),
            (Width::W4, SIGNED) => $function($($argument,)* i32::to_le_bytes, i32::from_le_bytes),
            (Width::W8, SIGNED) => $function($($argument,)* i64::to_le_bytes, i64::from_le_bytes),
            (Width::W4, FLOAT) => $function($($argument,)* f32::to_le_bytes, f32::from_le_bytes),
            (Width::W8, FLOAT) => $function($($argument,)* f64::to_le_bytes, f64::from_le_bytes),
            _ => Err(malformed(0, "an unknown type")),
        }
    };
}

impl Codec for Pco {
    fn encode(&mut self, source: &[u8], target: &mut Vec<u8>) -> Result<(), CodecError> {
        let values = write_prefix(self.width.byte(), source, target);
        target.push(self.kind);
        by_type!(self.width, self.kind, compress(self.level, values, target))
    }

    fn decode(&mut self, source: &[u8], target: &mut [u8]) -> Result<(), CodecError> {
        let body = read_prefix("Pco", Width::new, source, target)?;
        let Some((&kind, file)) = body.source.split_first() else {
            return Err(malformed(body.at, "no class"));
        };
        by_type!(body.width, kind, decompress(file, body.target))
    }
}

fn compress<T: pco::data_types::Number, const N: usize>(
    level: usize,
    values: &[u8],
    target: &mut Vec<u8>,
    _: fn(T) -> [u8; N],
    read: fn([u8; N]) -> T,
) -> Result<(), CodecError> {
    let (chunks, _) = values.as_chunks::<N>();
    let numbers: Vec<T> = chunks.iter().map(|bytes| read(*bytes)).collect();
    let config = ChunkConfig::default().with_compression_level(level).with_enable_8_bit(true);
    let file = simple_compress(&numbers, &config).map_err(|_| {
        let (got, max) = (values.len() as u64, u64::from(u32::MAX));
        CodecError::Limit { what: "values for pco", got, max }
    })?;
    target.extend_from_slice(&file);
    Ok(())
}

fn decompress<T: pco::data_types::Number + Default, const N: usize>(
    file: &[u8],
    target: &mut [u8],
    write: fn(T) -> [u8; N],
    _: fn([u8; N]) -> T,
) -> Result<(), CodecError> {
    let mut numbers = vec![T::default(); target.len() / N];
    // The crate is not ours: where it panics over hostile bytes, that is damage, not our end.
    let decoded = catch_unwind(AssertUnwindSafe(|| simple_decompress_into(file, &mut numbers)));
    let Ok(Ok(progress)) = decoded else { return Err(malformed(0, "not a pco file")) };
    if progress.n_processed != numbers.len() || !progress.finished {
        return Err(malformed(0, "another number of values than the block's"));
    }
    let (chunks, _) = target.as_chunks_mut::<N>();
    for (place, number) in chunks.iter_mut().zip(numbers) {
        *place = write(number);
    }
    Ok(())
}
