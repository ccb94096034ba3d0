//! Other implementations to compare with, and a naive one of our own.

use std::ffi::{c_char, c_int, c_void};

/// Decodes an LZ4 block byte by byte, in the most obvious way. `None` when it is malformed or does not fill exactly
/// `length` bytes.
pub fn naive_lz4_decode(source: &[u8], length: usize) -> Option<Vec<u8>> {
    naive_lz4_decode_behind(b"", source, length)
}

/// As [`naive_lz4_decode`], with a dictionary: what lies before the first byte.
pub fn naive_lz4_decode_behind(dictionary: &[u8], source: &[u8], length: usize) -> Option<Vec<u8>> {
    let mut output = dictionary.to_vec();
    naive_lz4_append(&mut output, source, dictionary.len() + length)?;
    output.drain(..dictionary.len());
    Some(output)
}

/// Decodes after what is in `output`, up to exactly `length` bytes in all.
fn naive_lz4_append(output: &mut Vec<u8>, source: &[u8], length: usize) -> Option<()> {
    let mut input = source.iter().copied();
    loop {
        let token = input.next()?;
        for _ in 0..naive_length(token >> 4, &mut input)? {
            output.push(input.next()?);
            if output.len() > length {
                return None;
            }
        }
        if input.len() == 0 {
            return (output.len() == length).then_some(());
        }
        let offset = usize::from(input.next()?) + 256 * usize::from(input.next()?);
        for _ in 0..naive_length(token & 15, &mut input)? + 4 {
            let from = output.len().checked_sub(offset).filter(|_| offset > 0)?;
            output.push(output[from]);
            if output.len() > length {
                return None;
            }
        }
    }
}

fn naive_length(half: u8, input: &mut impl Iterator<Item = u8>) -> Option<usize> {
    let mut length = usize::from(half);
    if half == 15 {
        loop {
            let byte = input.next()?;
            length += usize::from(byte);
            if byte != 255 {
                break;
            }
        }
    }
    Some(length)
}

/// Decodes with the C library into exactly `target.len()` bytes; whether it accepted the block.
pub fn c_lz4_decode(source: &[u8], target: &mut [u8]) -> bool {
    // The C library writes nothing to an empty target, but wants a pointer that is not null; a slice's never is.
    let (length, room) = (c_length(source.len()), c_length(target.len()));
    let (from, to) = (source.as_ptr().cast::<c_char>(), target.as_mut_ptr().cast::<c_char>());
    #[expect(unsafe_code, reason = "the C library is an oracle")]
    // SAFETY: both pointers come with the lengths of their slices.
    let written = unsafe { lz4_sys::LZ4_decompress_safe(from, to, length, room) };
    written == room
}

/// Encodes with the C library's `LZ4_compress_fast`.
pub fn c_lz4_encode(source: &[u8], target: &mut [u8], acceleration: u16) -> usize {
    let (length, room) = (c_length(source.len()), c_length(target.len()));
    let (from, to) = (source.as_ptr().cast::<c_char>(), target.as_mut_ptr().cast::<c_char>());
    let acceleration = c_int::from(acceleration);
    #[expect(unsafe_code, reason = "the C library is an oracle")]
    // SAFETY: both pointers come with the lengths of their slices.
    let written = unsafe { lz4_sys::LZ4_compress_fast(from, to, length, room, acceleration) };
    usize::try_from(written).unwrap_or(0)
}

/// Encodes with the C library's high compression.
pub fn c_lz4_encode_high(source: &[u8], level: u8) -> Vec<u8> {
    let mut target = vec![0; tambour_kernel::lz4::bound(source.len())];
    let (length, room) = (c_length(source.len()), c_length(target.len()));
    let (from, to) = (source.as_ptr().cast::<c_char>(), target.as_mut_ptr().cast::<c_char>());
    let level = c_int::from(level);
    #[expect(unsafe_code, reason = "the C library is an oracle")]
    // SAFETY: both pointers come with the lengths of their slices.
    let written = unsafe { lz4_sys::LZ4_compress_HC(from, to, length, room, level) };
    target.truncate(usize::try_from(written).unwrap_or(0));
    target
}

#[expect(unsafe_code, reason = "the C library is an oracle")]
// The signatures are those of `lz4hc.h` and `lz4.h`; the binding leaves these functions out.
unsafe extern "C" {
    fn LZ4_sizeofStateHC() -> c_int;
    fn LZ4_compress_HC_extStateHC(
        state: *mut c_void,
        source: *const c_char,
        target: *mut c_char,
        length: c_int,
        room: c_int,
        level: c_int,
    ) -> c_int;
    fn LZ4_decompress_safe_usingDict(
        source: *const c_char,
        target: *mut c_char,
        length: c_int,
        room: c_int,
        dictionary: *const c_char,
        dictionary_length: c_int,
    ) -> c_int;
}

/// The C library's high compression with memory that is kept between calls.
#[derive(Debug)]
pub struct CHigh {
    /// Aligned as the library wants it, for 8 bytes.
    state: Vec<u64>,
    level: c_int,
}

impl CHigh {
    /// An encoder for a level.
    pub fn new(level: u8) -> Self {
        #[expect(unsafe_code, reason = "the C library is an oracle")]
        // SAFETY: a pure function.
        let bytes = unsafe { LZ4_sizeofStateHC() };
        let words = usize::try_from(bytes).unwrap_or(0).div_ceil(8);
        Self { state: vec![0; words], level: c_int::from(level) }
    }

    /// Encodes into the start of `target`; returns the size, 0 when it does not fit.
    pub fn encode(&mut self, source: &[u8], target: &mut [u8]) -> usize {
        let (length, room) = (c_length(source.len()), c_length(target.len()));
        let (from, to) = (source.as_ptr().cast::<c_char>(), target.as_mut_ptr().cast::<c_char>());
        let state = self.state.as_mut_ptr().cast::<c_void>();
        #[expect(unsafe_code, reason = "the C library is an oracle")]
        // SAFETY: both pointers come with the lengths of their slices, and the state has the size that was asked for.
        let written =
            unsafe { LZ4_compress_HC_extStateHC(state, from, to, length, room, self.level) };
        usize::try_from(written).unwrap_or(0)
    }
}

/// Decodes with the C library and a dictionary into exactly `target.len()` bytes; whether it accepted the block.
pub fn c_lz4_decode_with_dictionary(dictionary: &[u8], source: &[u8], target: &mut [u8]) -> bool {
    let (length, room) = (c_length(source.len()), c_length(target.len()));
    let (from, to) = (source.as_ptr().cast::<c_char>(), target.as_mut_ptr().cast::<c_char>());
    let (prefix, prefix_length) = (dictionary.as_ptr().cast(), c_length(dictionary.len()));
    #[expect(unsafe_code, reason = "the C library is an oracle")]
    // SAFETY: all pointers come with the lengths of their slices.
    let written =
        unsafe { LZ4_decompress_safe_usingDict(from, to, length, room, prefix, prefix_length) };
    written == room
}

fn c_length(length: usize) -> c_int {
    c_int::try_from(length).unwrap_or(c_int::MAX)
}

/// The hashes of the C library of xxHash: XXH32, XXH64, XXH3 of 64 and of 128 bits.
pub fn c_xxhash(key: &[u8], seed: u64) -> (u32, u64, u64, [u64; 2]) {
    (c_xxh32(key, seed), c_xxh64(key, seed), c_xxh3_64(key, seed), c_xxh3_128(key, seed))
}

/// XXH32 of the C library; it takes the lower half of the seed.
#[expect(unsafe_code, reason = "the C library is an oracle")]
#[expect(clippy::cast_possible_truncation, reason = "the seed of XXH32 has 32 bits")]
pub fn c_xxh32(key: &[u8], seed: u64) -> u32 {
    // SAFETY: the pointer comes with the length of its slice.
    unsafe { xxhash_c_sys::XXH32(key.as_ptr().cast(), key.len(), seed as u32) }
}

/// XXH64 of the C library.
#[expect(unsafe_code, reason = "the C library is an oracle")]
pub fn c_xxh64(key: &[u8], seed: u64) -> u64 {
    // SAFETY: the pointer comes with the length of its slice.
    unsafe { xxhash_c_sys::XXH64(key.as_ptr().cast(), key.len(), seed) }
}

/// XXH3 of 64 bits of the C library.
#[expect(unsafe_code, reason = "the C library is an oracle")]
pub fn c_xxh3_64(key: &[u8], seed: u64) -> u64 {
    // SAFETY: the pointer comes with the length of its slice.
    unsafe { xxhash_c_sys::XXH3_64bits_withSeed(key.as_ptr().cast(), key.len(), seed) }
}

/// XXH3 of 128 bits of the C library, low half first.
#[expect(unsafe_code, reason = "the C library is an oracle")]
pub fn c_xxh3_128(key: &[u8], seed: u64) -> [u64; 2] {
    // SAFETY: the pointer comes with the length of its slice.
    let hash = unsafe { xxhash_c_sys::XXH3_128bits_withSeed(key.as_ptr().cast(), key.len(), seed) };
    [hash.low64, hash.high64]
}
