//! Laws of the hash kernels.

use crate::oracle;
use tambour_kernel::hash::column::{
    BadOffset, Hash, Keys, Offsets, XXH3_64_VARIANTS, XXH3_128_VARIANTS, XXH32_VARIANTS,
    XXH64_VARIANTS,
};
use tambour_kernel::hash::{self, Hash128};
use tambour_kernel::variant::{Runnable, Variants};

/// Law: the hashes of a key are those of the C library.
#[expect(clippy::cast_possible_truncation, reason = "the seed of XXH32 has 32 bits")]
pub fn like_c(key: &[u8], seed: u64) {
    let (h32, h64, h3, [low, high]) = oracle::c_xxhash(key, seed);
    let length = key.len();
    assert_eq!(hash::xxh32(key, seed as u32), h32, "XXH32 of {length} bytes, seed {seed}");
    assert_eq!(hash::xxh64(key, seed), h64, "XXH64 of {length} bytes, seed {seed}");
    assert_eq!(hash::xxh3_64(key, seed), h3, "XXH3 of {length} bytes, seed {seed}");
    assert_eq!(
        hash::xxh3_128(key, seed),
        Hash128 { low, high },
        "XXH3-128 of {length} bytes, seed {seed}"
    );
    if length > 240 {
        for variant in hash::LONG_VARIANTS.available() {
            assert_eq!(variant.hash(key, seed), Hash128 { low, high }, "{}", variant.name());
        }
    }
}

/// Law: the functions for a constant length agree with those for any length.
#[expect(clippy::cast_possible_truncation, reason = "the seed of XXH32 has 32 bits")]
pub fn constant_length<const N: usize>(key: &[u8; N], seed: u64) {
    assert_eq!(hash::xxh32_of(key, seed as u32), hash::xxh32(key, seed as u32), "{N} bytes");
    assert_eq!(hash::xxh64_of(key, seed), hash::xxh64(key, seed), "{N} bytes");
    assert_eq!(hash::xxh3_64_of(key, seed), hash::xxh3_64(key, seed), "{N} bytes");
    assert_eq!(hash::xxh3_128_of(key, seed), hash::xxh3_128(key, seed), "{N} bytes");
}

/// One hash function: of a key, and of columns.
struct Function<H: 'static> {
    variants: &'static Variants<Hash<H>>,
    one: fn(&[u8], u64) -> H,
}

#[expect(clippy::cast_possible_truncation, reason = "the seed of XXH32 has 32 bits")]
const XXH32: Function<u32> =
    Function { variants: &XXH32_VARIANTS, one: |key, seed| hash::xxh32(key, seed as u32) };
const XXH64: Function<u64> = Function { variants: &XXH64_VARIANTS, one: hash::xxh64 };
const XXH3_64: Function<u64> = Function { variants: &XXH3_64_VARIANTS, one: hash::xxh3_64 };
const XXH3_128: Function<Hash128> = Function { variants: &XXH3_128_VARIANTS, one: hash::xxh3_128 };

impl<H: Copy + Default + PartialEq + 'static> Function<H> {
    /// Every variant gives the hashes of the keys.
    fn check<'k>(
        &self,
        keys: impl Iterator<Item = &'k [u8]>,
        seed: u64,
        run: impl Fn(Runnable<Hash<H>>, &mut [H]),
    ) {
        let expected: Vec<H> = keys.map(|key| (self.one)(key, seed)).collect();
        for variant in self.variants.available() {
            let mut target = vec![H::default(); expected.len()];
            run(variant, &mut target);
            assert!(target == expected, "{} differs", variant.name());
        }
    }

    fn fixed<const N: usize>(&self, keys: &[[u8; N]], seed: u64)
    where
        [u8; N]: Keys,
    {
        let slices = keys.iter().map(<[u8; N]>::as_slice);
        self.check(slices, seed, |variant, target| variant.hash(keys, seed, target));
    }

    fn strings(&self, offsets: Offsets<'_>, keys: &[&[u8]], bytes: &[u8], seed: u64) {
        self.check(keys.iter().copied(), seed, |variant, target| {
            assert_eq!(variant.hash_strings(offsets, bytes, seed, target), Ok(()));
        });
    }
}

/// Law: every variant over a column of `N`-byte keys gives the hashes of the keys.
pub fn fixed_column<const N: usize>(bytes: &[u8], seed: u64)
where
    [u8; N]: Keys,
{
    let (keys, _) = bytes.as_chunks::<N>();
    XXH32.fixed(keys, seed);
    XXH64.fixed(keys, seed);
    XXH3_64.fixed(keys, seed);
    XXH3_128.fixed(keys, seed);
}

/// Law: the same for strings that `lengths` cut out of the bytes, with offsets of both widths.
pub fn string_column(bytes: &[u8], lengths: &[u16], seed: u64) {
    let mut ends = vec![0];
    for &length in lengths {
        let start = ends[ends.len() - 1];
        ends.push((start + usize::from(length)).min(bytes.len()));
    }
    let keys: Vec<&[u8]> = ends.array_windows().map(|&[start, end]| &bytes[start..end]).collect();
    let small: Vec<i32> = ends.iter().map(|&end| i32::try_from(end).unwrap_or(0)).collect();
    let large: Vec<i64> = small.iter().map(|&end| end.into()).collect();
    for offsets in [Offsets::Small(&small), Offsets::Large(&large)] {
        XXH32.strings(offsets, &keys, bytes, seed);
        XXH64.strings(offsets, &keys, bytes, seed);
        XXH3_64.strings(offsets, &keys, bytes, seed);
        XXH3_128.strings(offsets, &keys, bytes, seed);
    }
}

/// Law: offsets that fall, or that reach beyond the bytes, are refused by every variant.
pub fn refuse_offsets(offsets: &[i32], bytes: &[u8], string: usize) {
    for variant in XXH3_64_VARIANTS.available() {
        let mut target = vec![0; offsets.len() - 1];
        let hashed = variant.hash_strings(Offsets::Small(offsets), bytes, 0, &mut target);
        assert_eq!(hashed, Err(BadOffset { string }), "{}", variant.name());
    }
}
