//! Hashes that formats of others prescribe.

/// A 128-bit hash. On disk: `low` little-endian, then `high` little-endian.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hash128 {
    /// Lower half, stored first.
    pub low: u64,
    /// Upper half, stored second.
    pub high: u64,
}

impl Hash128 {
    /// The 16 bytes as stored.
    pub fn to_bytes(self) -> [u8; 16] {
        todo!()
    }
    /// Reads the 16 bytes as stored.
    pub fn from_bytes(_bytes: [u8; 16]) -> Self {
        todo!()
    }
}

/// CityHash128 1.0.2.
pub fn city_hash_128(_source: &[u8]) -> Hash128 {
    todo!()
}

/// CityHash128 1.0.2 with a seed.
pub fn city_hash_128_seeded(_source: &[u8], _seed: Hash128) -> Hash128 {
    todo!()
}

/// `SipHash` 2-4 with zero key and 128-bit result as ClickHouse computes it (partition ids, long file names).
pub fn sip_hash_128(_source: &[u8]) -> [u8; 16] {
    todo!()
}

/// The running hash of `checksums.txt`: the seeded CityHash128 chained over pieces of 2048 bytes.
#[derive(Clone, Debug)]
pub struct FileHasher {
    // state, and up to 2047 pending bytes in a fixed array
}

impl Default for FileHasher {
    fn default() -> Self {
        todo!()
    }
}

impl FileHasher {
    /// Adds bytes; how they are cut over calls does not matter.
    pub fn update(&mut self, _source: &[u8]) {
        todo!()
    }
    /// The hash of everything so far (zero for an empty input).
    pub fn finish(&self) -> Hash128 {
        todo!()
    }
}
