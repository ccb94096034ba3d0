//! The loops, compiled for each level, and their tables.

use super::super::{Hash128, xxh3, xxh32, xxh64};
use super::order::{BATCH, Order};
use super::{BadOffset, Column, Hash, Offsets};
use crate::variant::{Isa, Variant, Variants};

/// A hash function for keys of any length; inlined where the length is known.
trait Function {
    type Output;

    fn hash(key: &[u8], seed: u64) -> Self::Output;
}

struct Xxh32;
struct Xxh64;
struct Xxh3Of64;
struct Xxh3Of128;

impl Function for Xxh32 {
    type Output = u32;

    #[expect(clippy::cast_possible_truncation, reason = "the seed of XXH32 has 32 bits")]
    #[inline(always)]
    fn hash(key: &[u8], seed: u64) -> u32 {
        xxh32::body(key, seed as u32)
    }
}

impl Function for Xxh64 {
    type Output = u64;

    #[inline(always)]
    fn hash(key: &[u8], seed: u64) -> u64 {
        xxh64::body(key, seed)
    }
}

impl Function for Xxh3Of64 {
    type Output = u64;

    #[inline(always)]
    fn hash(key: &[u8], seed: u64) -> u64 {
        xxh3::body_64(key, seed)
    }
}

impl Function for Xxh3Of128 {
    type Output = Hash128;

    #[inline(always)]
    fn hash(key: &[u8], seed: u64) -> Hash128 {
        xxh3::body_128(key, seed)
    }
}

/// Bytes of a cache line, and of the widest register.
const LINE: usize = 64;

#[inline(always)]
fn fixed<F: Function, const N: usize>(bytes: &[u8], seed: u64, target: &mut [F::Output]) {
    let (keys, _) = bytes.as_chunks::<N>();
    // Stores that cross cache lines cost a tenth of the speed, so a long column gets to the start of a line first.
    let ahead = target.as_ptr().align_offset(LINE);
    let ahead = if ahead < target.len() / 16 { ahead.min(keys.len()) } else { 0 };
    let ((first_keys, keys), (first, rest)) = (keys.split_at(ahead), target.split_at_mut(ahead));
    each::<F, N>(first_keys, seed, first);
    each::<F, N>(keys, seed, rest);
}

#[inline(always)]
fn each<F: Function, const N: usize>(keys: &[[u8; N]], seed: u64, target: &mut [F::Output]) {
    for (hash, key) in target.iter_mut().zip(keys) {
        *hash = F::hash(key, seed);
    }
}

#[inline(always)]
fn strings<F: Function, O: Copy>(
    offsets: &[O],
    position: impl Fn(O) -> Option<usize> + Copy,
    bytes: &[u8],
    seed: u64,
    target: &mut [F::Output],
) -> Result<(), BadOffset> {
    // A position that there cannot be lies beyond all bytes.
    let position = |offset| position(offset).unwrap_or(usize::MAX);
    let mut room = Order::new();
    for (batch, hashes) in target.chunks_mut(BATCH).enumerate() {
        let first = BATCH * batch;
        let offsets = &offsets[first..=first + hashes.len()];
        let Some(order) = room.of(offsets, position, bytes.len()) else {
            let done = one_by_one::<F, O>(offsets, position, bytes, seed, hashes);
            done.map_err(|string| BadOffset { string: first + string })?;
            continue;
        };
        for number in order.iter().map(|&number| usize::from(number)) {
            let ends = offsets[number..].first_chunk::<2>();
            let key = ends.and_then(|ends| bytes.get(position(ends[0])..position(ends[1])));
            hashes[number] = F::hash(key.unwrap_or_default(), seed);
        }
    }
    Ok(())
}

#[inline(always)]
fn one_by_one<F: Function, O: Copy>(
    offsets: &[O],
    position: impl Fn(O) -> usize,
    bytes: &[u8],
    seed: u64,
    target: &mut [F::Output],
) -> Result<(), usize> {
    let mut start = position(offsets[0]);
    for (string, (hash, &end)) in target.iter_mut().zip(&offsets[1..]).enumerate() {
        let end = position(end);
        let Some(key) = bytes.get(start..end) else { return Err(string) };
        *hash = F::hash(key, seed);
        start = end;
    }
    Ok(())
}

#[inline(always)]
fn column<F: Function>(
    column: Column<'_>,
    seed: u64,
    target: &mut [F::Output],
) -> Result<(), BadOffset> {
    match column {
        Column::Fixed { width: 1, bytes } => fixed::<F, 1>(bytes, seed, target),
        Column::Fixed { width: 2, bytes } => fixed::<F, 2>(bytes, seed, target),
        Column::Fixed { width: 4, bytes } => fixed::<F, 4>(bytes, seed, target),
        Column::Fixed { width: 8, bytes } => fixed::<F, 8>(bytes, seed, target),
        Column::Fixed { width: 16, bytes } => fixed::<F, 16>(bytes, seed, target),
        Column::Fixed { .. } => unreachable!("keys have one of these widths"),
        Column::Strings { offsets: Offsets::Small(offsets), bytes } => {
            let position = |offset| usize::try_from(offset).ok();
            return strings::<F, i32>(offsets, position, bytes, seed, target);
        }
        Column::Strings { offsets: Offsets::Large(offsets), bytes } => {
            let position = |offset| usize::try_from(offset).ok();
            return strings::<F, i64>(offsets, position, bytes, seed, target);
        }
    }
    Ok(())
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,bmi1,bmi2")]
fn avx512<F: Function>(
    keys: Column<'_>,
    seed: u64,
    target: &mut [F::Output],
) -> Result<(), BadOffset> {
    column::<F>(keys, seed, target)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn avx2<F: Function>(
    keys: Column<'_>,
    seed: u64,
    target: &mut [F::Output],
) -> Result<(), BadOffset> {
    column::<F>(keys, seed, target)
}

macro_rules! tables {
    ($($table:ident $function:ident $hash:ty, $name:literal;)*) => {$(
        #[doc = concat!($name, " over a column, best variant first.")]
        pub static $table: Variants<Hash<$hash>> = Variants::new(&[
            #[cfg(target_arch = "x86_64")]
            Variant { name: "avx512", isa: Isa::Avx512, run: avx512::<$function> },
            #[cfg(target_arch = "x86_64")]
            Variant { name: "avx2", isa: Isa::Avx2, run: avx2::<$function> },
            Variant { name: "scalar", isa: Isa::Scalar, run: column::<$function> },
        ]);
    )*};
}

tables! {
    XXH32_VARIANTS Xxh32 u32, "XXH32";
    XXH64_VARIANTS Xxh64 u64, "XXH64";
    XXH3_64_VARIANTS Xxh3Of64 u64, "XXH3 of 64 bits";
    XXH3_128_VARIANTS Xxh3Of128 Hash128, "XXH3 of 128 bits";
}
