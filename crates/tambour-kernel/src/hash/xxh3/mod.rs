//! XXH3, 64 and 128 bits (`xxhash_spec.md` of the xxHash project): one function per class of lengths.

mod long;
mod medium;
mod short;
mod stripe;
#[cfg(target_arch = "x86_64")]
mod wide;

pub use long::LONG_VARIANTS;
pub use stripe::Long;

use super::{Hash128, read64};

/// Bytes of the secret.
const SECRET_BYTES: usize = 192;

/// The secret of the reference. No static: callers in other crates could not fold its numbers into their code.
const SECRET: [u8; SECRET_BYTES] = [
    0xb8, 0xfe, 0x6c, 0x39, 0x23, 0xa4, 0x4b, 0xbe, 0x7c, 0x01, 0x81, 0x2c, 0xf7, 0x21, 0xad, 0x1c,
    0xde, 0xd4, 0x6d, 0xe9, 0x83, 0x90, 0x97, 0xdb, 0x72, 0x40, 0xa4, 0xa4, 0xb7, 0xb3, 0x67, 0x1f,
    0xcb, 0x79, 0xe6, 0x4e, 0xcc, 0xc0, 0xe5, 0x78, 0x82, 0x5a, 0xd0, 0x7d, 0xcc, 0xff, 0x72, 0x21,
    0xb8, 0x08, 0x46, 0x74, 0xf7, 0x43, 0x24, 0x8e, 0xe0, 0x35, 0x90, 0xe6, 0x81, 0x3a, 0x26, 0x4c,
    0x3c, 0x28, 0x52, 0xbb, 0x91, 0xc3, 0x00, 0xcb, 0x88, 0xd0, 0x65, 0x8b, 0x1b, 0x53, 0x2e, 0xa3,
    0x71, 0x64, 0x48, 0x97, 0xa2, 0x0d, 0xf9, 0x4e, 0x38, 0x19, 0xef, 0x46, 0xa9, 0xde, 0xac, 0xd8,
    0xa8, 0xfa, 0x76, 0x3f, 0xe3, 0x9c, 0x34, 0x3f, 0xf9, 0xdc, 0xbb, 0xc7, 0xc7, 0x0b, 0x4f, 0x1d,
    0x8a, 0x51, 0xe0, 0x4b, 0xcd, 0xb4, 0x59, 0x31, 0xc8, 0x9f, 0x7e, 0xc9, 0xd9, 0x78, 0x73, 0x64,
    0xea, 0xc5, 0xac, 0x83, 0x34, 0xd3, 0xeb, 0xc3, 0xc5, 0x81, 0xa0, 0xff, 0xfa, 0x13, 0x63, 0xeb,
    0x17, 0x0d, 0xdd, 0x51, 0xb7, 0xf0, 0xda, 0x49, 0xd3, 0x16, 0x55, 0x26, 0x29, 0xd4, 0x68, 0x9e,
    0x2b, 0x16, 0xbe, 0x58, 0x7d, 0x47, 0xa1, 0xfc, 0x8f, 0xf8, 0xb8, 0xd1, 0x7a, 0xd0, 0x31, 0xce,
    0x45, 0xcb, 0x3a, 0x8f, 0x95, 0x16, 0x04, 0x28, 0xaf, 0xd7, 0xfb, 0xca, 0xbb, 0x4b, 0x40, 0x7e,
];

/// Most bytes of a key that is hashed without stripes.
const MEDIUM_MAX: usize = 240;

/// The 64-bit hash of a key of any length.
///
/// ```
/// // SELECT xxh3('Tambour')
/// assert_eq!(tambour_kernel::hash::xxh3_64(b"Tambour", 0), 13_844_337_763_551_456_313);
/// ```
pub fn xxh3_64(key: &[u8], seed: u64) -> u64 {
    body_64(key, seed)
}

/// The 64-bit hash of a key whose length the compiler knows: no branch on it is left.
///
/// ```
/// use tambour_kernel::hash::{xxh3_64, xxh3_64_of};
/// let key = 77_u64.to_le_bytes();
/// assert_eq!(xxh3_64_of(&key, 0), xxh3_64(&key, 0));
/// ```
#[inline]
pub fn xxh3_64_of<const N: usize>(key: &[u8; N], seed: u64) -> u64 {
    body_64(key, seed)
}

/// The 128-bit hash of a key of any length.
///
/// ```
/// use tambour_kernel::hash::{xxh3_64, xxh3_128};
/// // SELECT lower(hex(xxh3_128('Tambour')))
/// let hash = xxh3_128(b"Tambour", 0);
/// assert_eq!(format!("{:016x}{:016x}", hash.high, hash.low), "25af1796e8a33473e40b8e4fe552becd");
/// ```
pub fn xxh3_128(key: &[u8], seed: u64) -> Hash128 {
    body_128(key, seed)
}

/// The 128-bit hash of a key whose length the compiler knows: no branch on it is left.
///
/// ```
/// use tambour_kernel::hash::{xxh3_128, xxh3_128_of};
/// let key = [7; 16];
/// assert_eq!(xxh3_128_of(&key, 0), xxh3_128(&key, 0));
/// ```
#[inline]
pub fn xxh3_128_of<const N: usize>(key: &[u8; N], seed: u64) -> Hash128 {
    body_128(key, seed)
}

/// The function; inlined so that a constant length folds.
#[inline(always)]
pub(super) fn body_64(key: &[u8], seed: u64) -> u64 {
    match key.len() {
        0..=16 => short::hash_64(key, seed),
        17..=128 => medium::hash_64_to_128(key, seed),
        129..=MEDIUM_MAX => medium::hash_64_to_240(key, seed),
        _ => long::hash_64(key, seed),
    }
}

/// The function; inlined so that a constant length folds.
#[inline(always)]
pub(super) fn body_128(key: &[u8], seed: u64) -> Hash128 {
    match key.len() {
        0..=16 => short::hash_128(key, seed),
        17..=128 => medium::hash_128_to_128(key, seed),
        129..=MEDIUM_MAX => medium::hash_128_to_240(key, seed),
        _ => long::hash_128(key, seed),
    }
}

/// The secret's number at a position.
#[inline(always)]
fn secret(at: usize) -> u64 {
    read64(&SECRET, at)
}

/// Two numbers multiplied, low and high half.
#[inline(always)]
fn multiply(a: u64, b: u64) -> Hash128 {
    let product = u128::from(a) * u128::from(b);
    Hash128::from_bytes(product.to_le_bytes())
}

/// Two numbers multiplied, the halves of the product joined.
#[inline(always)]
fn fold(a: u64, b: u64) -> u64 {
    let product = multiply(a, b);
    product.low ^ product.high
}

/// The last step of all hashes of more than eight bytes.
#[inline(always)]
fn avalanche(mut hash: u64) -> u64 {
    hash = (hash ^ hash >> 37).wrapping_mul(0x1656_6791_9e37_79f9);
    hash ^ hash >> 32
}
