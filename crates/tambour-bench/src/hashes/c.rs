//! C xxHash behind safe calls.

/// XXH32; it takes the lower half of the seed.
#[expect(unsafe_code, reason = "a border to C")]
#[expect(clippy::cast_possible_truncation, reason = "the seed of XXH32 has 32 bits")]
pub(super) fn xxh32(key: &[u8], seed: u64) -> u32 {
    // SAFETY: the pointer comes with the length of its slice.
    unsafe { xxhash_c_sys::XXH32(key.as_ptr().cast(), key.len(), seed as u32) }
}

/// XXH64.
#[expect(unsafe_code, reason = "a border to C")]
pub(super) fn xxh64(key: &[u8], seed: u64) -> u64 {
    // SAFETY: the pointer comes with the length of its slice.
    unsafe { xxhash_c_sys::XXH64(key.as_ptr().cast(), key.len(), seed) }
}

/// XXH3 of 64 bits.
#[expect(unsafe_code, reason = "a border to C")]
pub(super) fn xxh3(key: &[u8], seed: u64) -> u64 {
    // SAFETY: the pointer comes with the length of its slice.
    unsafe { xxhash_c_sys::XXH3_64bits_withSeed(key.as_ptr().cast(), key.len(), seed) }
}
