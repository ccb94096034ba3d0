//! The columns of the data-type study: four number types, each in three compressibilities.

use super::Input;
use tambour_report::random::Random;

/// One value in this many is not 1 in the most compressible columns.
const RARE: u64 = 100;

/// What the values of a column are.
#[derive(Clone, Copy)]
enum Values {
    /// Nearly always 1, else up to 1000.
    MostlyOne,
    /// Evenly from 1 up to this.
    UpTo(u64),
}

impl Values {
    fn next(self, random: &mut Random) -> u64 {
        match self {
            Self::MostlyOne if random.below(RARE) > 0 => 1,
            Self::MostlyOne => 1 + random.below(1000),
            Self::UpTo(max) => 1 + random.below(max),
        }
    }
}

/// Columns of `bytes` bytes each: UInt32, UInt64, Float32 and Float64, mostly 1, up to a thousand and up to a million.
#[expect(clippy::cast_possible_truncation, reason = "values are at most a million")]
pub fn study(bytes: usize) -> Vec<Input> {
    let kinds = [
        ("mostly1", Values::MostlyOne),
        ("thousand", Values::UpTo(1000)),
        ("million", Values::UpTo(1_000_000)),
    ];
    let mut inputs = Vec::new();
    for (kind, values) in kinds {
        inputs.push(column("u32", kind, values, bytes, |value| (value as u32).to_le_bytes()));
        inputs.push(column("u64", kind, values, bytes, u64::to_le_bytes));
        inputs.push(column("f32", kind, values, bytes, |value| (value as f32).to_le_bytes()));
        inputs.push(column("f64", kind, values, bytes, |value| (value as f64).to_le_bytes()));
    }
    inputs
}

fn column<const N: usize>(
    prefix: &str,
    kind: &str,
    values: Values,
    length: usize,
    encode: impl Fn(u64) -> [u8; N],
) -> Input {
    let mut random = Random::new(N as u64);
    let mut bytes = Vec::with_capacity(length + N);
    while bytes.len() < length {
        bytes.extend(encode(values.next(&mut random)));
    }
    bytes.truncate(length);
    Input { name: format!("study_{kind}_{prefix}"), bytes }
}
