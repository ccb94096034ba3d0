//! Hashes of whole columns: keys of 1, 2, 4, 8 or 16 bytes, and strings, into a buffer of the caller.
//!
//! The loops are those for keys of constant length, compiled once per level: the compiler makes vectors of them, which a call
//! per key prevents. Strings are hashed in the order of their lengths, a batch at a time. [`Keys`] are numbers as stored (little-endian) or arrays of bytes.
//!
//! ```
//! use tambour_kernel::hash::{column, xxh64_of};
//! let mut hashes = [0; 3];
//! column::xxh64(&[1_u64, 2, 3], 0, &mut hashes);
//! assert_eq!(hashes[2], xxh64_of(&3_u64.to_le_bytes(), 0));
//! let offsets = column::Offsets::Small(&[0, 3, 3, 8]);
//! column::xxh64_strings(offsets, b"abcdefgh", 0, &mut hashes)?;
//! # Ok::<(), column::BadOffset>(())
//! ```

mod keys;
mod loops;
mod order;

pub use keys::Keys;
pub use loops::{XXH3_64_VARIANTS, XXH3_128_VARIANTS, XXH32_VARIANTS, XXH64_VARIANTS};

use super::Hash128;
use crate::variant::Runnable;

/// Where strings start and end: one offset more than there are strings, as Arrow has them.
///
/// ```
/// use tambour_kernel::hash::{column::{Offsets, xxh64_strings}, xxh64};
/// let mut hashes = [0; 2];
/// xxh64_strings(Offsets::Small(&[0, 4, 8]), b"oslorome", 0, &mut hashes)?;
/// assert_eq!(hashes, [xxh64(b"oslo", 0), xxh64(b"rome", 0)]);
/// assert!(xxh64_strings(Offsets::Small(&[0, 4, 9]), b"oslorome", 0, &mut hashes).is_err());
/// # Ok::<(), tambour_kernel::hash::column::BadOffset>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub enum Offsets<'a> {
    /// Offsets of 32 bits.
    Small(&'a [i32]),
    /// Offsets of 64 bits.
    Large(&'a [i64]),
}

/// An offset that is below the one before it, or beyond the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadOffset {
    /// Number of the string.
    pub string: usize,
}

impl std::fmt::Display for BadOffset {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "offsets of string {} do not lie in order within the bytes", self.string)
    }
}

impl std::error::Error for BadOffset {}

/// The keys of a column.
#[derive(Clone, Copy, Debug)]
pub enum Column<'a> {
    /// Bytes of keys side by side.
    Fixed {
        /// Bytes of a key: 1, 2, 4, 8 or 16.
        width: usize,
        /// All keys.
        bytes: &'a [u8],
    },
    /// Strings.
    Strings {
        /// Where they are.
        offsets: Offsets<'a>,
        /// All bytes.
        bytes: &'a [u8],
    },
}

/// A hash function over a column. Calling it needs the instruction set of its variant; a [`Runnable`] stands for that.
pub type Hash<H> =
    unsafe fn(column: Column<'_>, seed: u64, target: &mut [H]) -> Result<(), BadOffset>;

impl<H: 'static> Runnable<Hash<H>> {
    /// Hashes the keys; there must be as many hashes as keys. XXH32 takes the lower half of the seed.
    ///
    /// ```
    /// use tambour_kernel::hash::{column::XXH3_64_VARIANTS, xxh3_64};
    /// let (keys, mut hashes) = ([1_u64, 2, 3], [0; 3]);
    /// XXH3_64_VARIANTS.best().hash(&keys, 0, &mut hashes);
    /// assert_eq!(hashes, keys.map(|key| xxh3_64(&key.to_le_bytes(), 0)));
    /// ```
    pub fn hash<K: Keys>(self, keys: &[K], seed: u64, target: &mut [H]) {
        assert_eq!(keys.len(), target.len(), "a hash for each key");
        let column = Column::Fixed { width: size_of::<K>(), bytes: K::bytes(keys) };
        let run = self.run();
        // SAFETY: the only condition is the instruction set, and a `Runnable` exists only after its check.
        let hashed = unsafe { run(column, seed, target) };
        debug_assert!(hashed.is_ok(), "keys of a fixed width have no offsets");
    }

    /// Hashes strings; there must be as many hashes as strings.
    pub fn hash_strings(
        self,
        offsets: Offsets<'_>,
        bytes: &[u8],
        seed: u64,
        target: &mut [H],
    ) -> Result<(), BadOffset> {
        let strings = match offsets {
            Offsets::Small(offsets) => offsets.len(),
            Offsets::Large(offsets) => offsets.len(),
        };
        assert_eq!(strings, target.len() + 1, "an offset more than there are hashes");
        let run = self.run();
        // SAFETY: the only condition is the instruction set, and a `Runnable` exists only after its check.
        unsafe { run(Column::Strings { offsets, bytes }, seed, target) }
    }
}

macro_rules! functions {
    ($($keys:ident $strings:ident $variants:ident $seed:ty, $hash:ty, $name:literal;)*) => {$(
        #[doc = concat!($name, " of each key, with the best variant of this CPU; as many hashes as keys.")]
        pub fn $keys<K: Keys>(keys: &[K], seed: $seed, target: &mut [$hash]) {
            $variants.best().hash(keys, seed.into(), target);
        }

        #[doc = concat!($name, " of each string, with the best variant of this CPU; as many hashes as strings.")]
        pub fn $strings(
            offsets: Offsets<'_>,
            bytes: &[u8],
            seed: $seed,
            target: &mut [$hash],
        ) -> Result<(), BadOffset> {
            $variants.best().hash_strings(offsets, bytes, seed.into(), target)
        }
    )*};
}

functions! {
    xxh32 xxh32_strings XXH32_VARIANTS u32, u32, "XXH32";
    xxh64 xxh64_strings XXH64_VARIANTS u64, u64, "XXH64";
    xxh3_64 xxh3_64_strings XXH3_64_VARIANTS u64, u64, "XXH3 of 64 bits";
    xxh3_128 xxh3_128_strings XXH3_128_VARIANTS u64, Hash128, "XXH3 of 128 bits";
}
