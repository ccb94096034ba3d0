//! Hashes that formats of others prescribe, and hashes of whole columns.
//!
//! [`city_hash_128`] is the checksum of a compressed block, [`FileHasher`] that of a file in `checksums.txt`, and
//! [`sip_hash_128`] makes partition ids and shortens file names; [`city_hash_64`] and [`sip_hash_64`] are for SQL.
//!
//! The family of xxHash is here for one key of any length ([`xxh32`], [`xxh64`], [`xxh3_64`], [`xxh3_128`]), for one key of a
//! constant length ([`xxh32_of`] and so on, a few instructions without a branch), and for [`mod@column`]s. [`partition`] makes
//! numbers of partitions of hashes. Results are those of the C library. [`crc32c`] guards records and pages.

mod city;
pub mod column;
mod crc32c;
mod file;
pub mod partition;
mod sip;
mod xxh3;
mod xxh32;
mod xxh64;

pub use city::{city_hash_64, city_hash_128, city_hash_128_seeded, city_hash_join};
pub use crc32c::{CRC32C_VARIANTS, Crc32c, crc32c};
pub use file::FileHasher;
pub use sip::{
    sip_hash_64, sip_hash_64_keyed, sip_hash_128, sip_hash_128_keyed, sip_hash_128_reference,
};
pub use xxh3::{LONG_VARIANTS, Long, xxh3_64, xxh3_64_of, xxh3_128, xxh3_128_of};
pub use xxh32::{xxh32, xxh32_of};
pub use xxh64::{xxh64, xxh64_of};

/// The little-endian number at a position.
#[inline(always)]
fn read32(source: &[u8], at: usize) -> u32 {
    let mut bytes = [0; 4];
    bytes.copy_from_slice(&source[at..at + 4]);
    u32::from_le_bytes(bytes)
}

/// The little-endian number at a position.
#[inline(always)]
fn read64(source: &[u8], at: usize) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&source[at..at + 8]);
    u64::from_le_bytes(bytes)
}

/// A 128-bit hash. On disk: `low` little-endian, then `high` little-endian.
///
/// ```
/// use tambour_kernel::hash::Hash128;
/// let hash = Hash128 { low: 1, high: 2 };
/// assert_eq!(hash.to_string(), "01000000000000000200000000000000");
/// assert_eq!(Hash128::from_bytes(hash.to_bytes()), hash);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hash128 {
    /// Lower half, stored first.
    pub low: u64,
    /// Upper half, stored second.
    pub high: u64,
}

impl Hash128 {
    /// The 16 bytes as stored.
    pub const fn to_bytes(self) -> [u8; 16] {
        (self.low as u128 | (self.high as u128) << 64).to_le_bytes()
    }

    /// Reads the 16 bytes as stored.
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        let both = u128::from_le_bytes(bytes);
        #[expect(clippy::cast_possible_truncation, reason = "the lower half is what is wanted")]
        let low = both as u64;
        Self { low, high: (both >> 64) as u64 }
    }
}

/// Prints the bytes as stored, in hexadecimal.
impl std::fmt::Display for Hash128 {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.to_bytes().iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

#[cfg(test)]
mod tests {
    use super::{FileHasher, Hash128, city_hash_128, sip_hash_128};

    /// The input of every vector: 00 01 02 … repeating.
    fn counting(length: usize) -> Vec<u8> {
        (0..=255).cycle().take(length).collect()
    }

    fn file_hash(source: &[u8], cut: usize) -> Hash128 {
        let mut hasher = FileHasher::default();
        source.chunks(cut).for_each(|piece| hasher.update(piece));
        hasher.finish()
    }

    #[test]
    fn city_hash_vectors() {
        for (length, expected) in [
            (0, "2b9ac064fc9df03d291ee592c340b53c"),
            (3, "c20a85b02619dc106f0edd5cad0dc280"),
            (8, "82861e4e98e8bfd011c67fcfa0415156"),
            (12, "3f87120e38602718c20c93712b6ca989"),
            (16, "45f9c277e6adce17dcfec87506d69e57"),
            (17, "f10f31fb30e8128137d74fc609ad72c9"),
            (40, "abdca2f867361920f3ed11ac71746928"),
            (127, "c6eecaaca0ef9c6e18a7e666ba8b8156"),
            (128, "905592545b03ef7d3890ca4a5c7634de"),
            (143, "5b0d29c2f4db632d84b5ce1784cc125c"),
            (144, "fcd003c9eeecbda6bcc1126962796bc5"),
            (200, "fdb6239e697457279c28e7eb01ef8256"),
            (1000, "d98f2d551e2d94e3000299f6224a6b86"),
        ] {
            assert_eq!(city_hash_128(&counting(length)).to_string(), expected, "length {length}");
        }
    }

    #[test]
    fn file_hash_vectors() {
        for (length, expected) in [
            (0, "00000000000000000000000000000000"),
            (5, "245e14b77717f0affc87eea7348ce441"),
            (2047, "9be637e3bd3b212f729a36ca9040afc3"),
            (2048, "f286ffc61754f5da0197c3009d4d1fad"),
            (2049, "f7d77c7892230b206ed6fd8f2c4b9152"),
            (5000, "524b738260824b73bc020913a0876ab5"),
        ] {
            for cut in [1, 7, 2047, 2048, 2049, 10_000] {
                let hash = file_hash(&counting(length), cut);
                assert_eq!(hash.to_string(), expected, "length {length}, cut {cut}");
            }
        }
    }

    #[test]
    fn sip_hash_vectors() {
        let hex = |bytes: [u8; 16]| Hash128::from_bytes(bytes).to_string();
        assert_eq!(hex(sip_hash_128(&counting(0))), "32b5c1db56a683e9e5b5b6a8cbed11f7");
        assert_eq!(hex(sip_hash_128(&counting(20))), "7a95a47fae5484ed9f031656648fcfa0");
    }

    #[test]
    fn bytes_go_both_ways() {
        let hash = Hash128 { low: 0x0706_0504_0302_0100, high: 0x0f0e_0d0c_0b0a_0908 };
        assert_eq!(hash.to_bytes().as_slice(), counting(16));
        assert_eq!(Hash128::from_bytes(hash.to_bytes()), hash);
    }
}
