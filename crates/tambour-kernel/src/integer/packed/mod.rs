//! Bit packing in blocks: as many bits per value as a block needs, and patches for the few values that need more.
//!
//! - [`Layout::Plain`] (in the manner of BP128): blocks of 128 values at the width of the largest.
//! - [`Layout::Patched`] (in the manner of PFOR): blocks of 256 values at a width that fits most; the others are exceptions,
//!   in a list or in a bitmap, whichever is shorter.
//! - [`Layout::Listed`]: the same blocks with lists only, larger and faster to decode.
//!
//! Either can hold values or the differences of neighbours ([`Series`]); for differences the decoder adds up while it unpacks.
//! Neither the number of values nor the length is stored.
//!
//! ```
//! use tambour_kernel::integer::packed::{self, Layout, Series};
//! let ids: Vec<u32> = (0..1000).map(|k| 40 * k + k % 7).collect();
//! let mut bytes = vec![0; packed::bound(ids.len())];
//! let length = packed::encode(&ids, &mut bytes, Layout::Patched, Series::Differences).unwrap();
//! assert!(length < 850);
//! let mut values = vec![0; ids.len()];
//! assert_eq!(packed::decode(&bytes[..length], &mut values, Layout::Patched, Series::Differences), Ok(length));
//! assert_eq!(values, ids);
//! ```

/// Widest values that four bytes hold wherever they start.
#[cfg(target_arch = "x86_64")]
const NARROW_MAX: u32 = 25;

/// The engine of an instruction set: the functions of its module, which need the set that a value of `$proof` proves.
#[cfg(target_arch = "x86_64")]
macro_rules! engine {
    ($proof:ident) => {
        impl super::Engine for $proof {
            #[inline(always)]
            fn unpack<const SUMS: bool>(
                self,
                source: &[u8],
                at: usize,
                width: u32,
                target: &mut [u32],
                before: u32,
            ) -> u32 {
                if width <= super::NARROW_MAX {
                    // SAFETY: `self` proves the instruction set.
                    unsafe { unpack::<SUMS, false>(source, at, width, target, before) }
                } else {
                    // SAFETY: as above.
                    unsafe { unpack::<SUMS, true>(source, at, width, target, before) }
                }
            }

            #[inline(always)]
            fn unpack_marked<const SUMS: bool>(
                self,
                packed: super::header::Packed<'_>,
                highs: &[u32; super::HIGHS],
                target: &mut [u32; super::header::BLOCK],
                before: u32,
            ) -> u32 {
                if packed.width <= super::NARROW_MAX {
                    // SAFETY: `self` proves the instruction set.
                    unsafe { unpack_marked::<SUMS, false>(packed, highs, target, before) }
                } else {
                    // SAFETY: as above.
                    unsafe { unpack_marked::<SUMS, true>(packed, highs, target, before) }
                }
            }

            #[inline(always)]
            fn raise(
                self,
                source: &[u8],
                data: usize,
                header: super::header::Header,
                first: usize,
                target: &mut [u32; 16],
            ) {
                // SAFETY: `self` proves the instruction set.
                unsafe { raise(source, data, header, first, target) }
            }

            #[inline(always)]
            fn add_up(self, target: &mut [u32], before: u32) -> u32 {
                // SAFETY: `self` proves the instruction set.
                unsafe { add_up(target, before) }
            }

            #[inline(always)]
            fn highs(
                self,
                source: &[u8],
                codes: usize,
                data: usize,
                count: usize,
                target: &mut [u32; super::HIGHS],
            ) {
                // SAFETY: `self` proves the instruction set.
                unsafe { highs(source, codes, data, count, target) }
            }
        }
    };
}

mod bits;
mod encode;
mod header;
mod patched;
mod plain;
mod scalar;

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;

use super::{Decode, Malformed};
use crate::variant::{Isa, Variant, Variants};
use scalar::Scalar;

/// How blocks hold values of different sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Blocks of 128 at the width of the largest value.
    Plain,
    /// Blocks of 256 with exceptions.
    Patched,
    /// Blocks as of [`Self::Patched`] without bitmaps. What holds the one can be read as the other.
    Listed,
}

/// What is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Series {
    /// The values.
    Values,
    /// Each value minus the one before it, modulo 2^32; before the first there is 0. Good for sorted values.
    Differences,
}

impl Layout {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Plain, Self::Patched, Self::Listed];

    /// The decoders, best first.
    pub fn decoders(self, series: Series) -> &'static Variants<Decode<u32>> {
        match (self, series) {
            (Self::Plain, Series::Values) => &PLAIN_VARIANTS,
            (Self::Plain, Series::Differences) => &PLAIN_SUM_VARIANTS,
            (Self::Patched | Self::Listed, Series::Values) => &PATCHED_VARIANTS,
            (Self::Patched | Self::Listed, Series::Differences) => &PATCHED_SUM_VARIANTS,
        }
    }
}

impl Series {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Values, Self::Differences];
}

/// The decoders of plain blocks of values, best first.
pub static PLAIN_VARIANTS: Variants<Decode<u32>> = Variants::new(&[
    #[cfg(target_arch = "x86_64")]
    avx512::PLAIN,
    #[cfg(target_arch = "x86_64")]
    avx2::PLAIN,
    Variant {
        name: "scalar",
        isa: Isa::Scalar,
        run: |source, target| plain::decode::<_, false>(Scalar, source, target),
    },
]);

/// The decoders of plain blocks of differences, best first.
pub static PLAIN_SUM_VARIANTS: Variants<Decode<u32>> = Variants::new(&[
    #[cfg(target_arch = "x86_64")]
    avx512::PLAIN_SUM,
    #[cfg(target_arch = "x86_64")]
    avx2::PLAIN_SUM,
    Variant {
        name: "scalar",
        isa: Isa::Scalar,
        run: |source, target| plain::decode::<_, true>(Scalar, source, target),
    },
]);

/// The decoders of patched blocks of values, best first.
pub static PATCHED_VARIANTS: Variants<Decode<u32>> = Variants::new(&[
    #[cfg(target_arch = "x86_64")]
    avx512::PATCHED,
    #[cfg(target_arch = "x86_64")]
    avx2::PATCHED,
    Variant {
        name: "scalar",
        isa: Isa::Scalar,
        run: |source, target| patched::decode::<_, false>(Scalar, source, target),
    },
]);

/// The decoders of patched blocks of differences, best first.
pub static PATCHED_SUM_VARIANTS: Variants<Decode<u32>> = Variants::new(&[
    #[cfg(target_arch = "x86_64")]
    avx512::PATCHED_SUM,
    #[cfg(target_arch = "x86_64")]
    avx2::PATCHED_SUM,
    Variant {
        name: "scalar",
        isa: Isa::Scalar,
        run: |source, target| patched::decode::<_, true>(Scalar, source, target),
    },
]);

/// Most bytes that `values` values take, in any layout.
pub const fn bound(values: usize) -> usize {
    values.saturating_mul(4).saturating_add(values.div_ceil(plain::BLOCK))
}

/// Encodes; the number of bytes, or `None` when the target is too short.
///
/// ```
/// use tambour_kernel::integer::packed::{self, Layout, Series};
/// let positions: Vec<u32> = (0..1000).map(|i| 3 * i).collect();
/// let mut bytes = vec![0; packed::bound(positions.len())];
/// let length = packed::encode(&positions, &mut bytes, Layout::Plain, Series::Differences)
///     .ok_or("no room")?;
/// assert!(length < 4 * positions.len() / 10, "differences of 3 need two bits");
///
/// let mut decoded = vec![0; positions.len()];
/// packed::decode(&bytes[..length], &mut decoded, Layout::Plain, Series::Differences)?;
/// assert_eq!(decoded, positions);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn encode(source: &[u32], target: &mut [u8], layout: Layout, series: Series) -> Option<usize> {
    encode::encode(source, target, layout, series)
}

/// Decodes exactly `target.len()` values with the best variant of this CPU; the number of bytes taken.
pub fn decode(
    source: &[u8],
    target: &mut [u32],
    layout: Layout,
    series: Series,
) -> Result<usize, Malformed> {
    layout.decoders(series).best().decode(source, target)
}

/// Bytes after packed values that an engine may read (and ignore).
const SLACK: usize = 64;

/// Most exceptions of a block, and as much more as an engine may write.
const HIGHS: usize = 256 + 32;

/// How values come out of their bits. `SUMS` adds each to the running sum `before` and returns the last sum (otherwise what
/// is returned has no meaning).
///
/// Positions and widths have been checked, and [`SLACK`] bytes follow what is read; targets are whole groups of 16 values.
trait Engine: Copy {
    /// Values of `width` bits from position `at` on.
    fn unpack<const SUMS: bool>(
        self,
        source: &[u8],
        at: usize,
        width: u32,
        target: &mut [u32],
        before: u32,
    ) -> u32;

    /// The same for a block whose `bitmap` marks values to which the next of `highs` is added above the width.
    fn unpack_marked<const SUMS: bool>(
        self,
        packed: header::Packed<'_>,
        highs: &[u32; HIGHS],
        target: &mut [u32; header::BLOCK],
        before: u32,
    ) -> u32;

    /// What is added to the exceptions `first` to `first + 15` of a list: upper parts at `data`, plus one, above the width;
    /// zero after the last exception.
    fn raise(
        self,
        source: &[u8],
        data: usize,
        header: header::Header,
        first: usize,
        target: &mut [u32; 16],
    );

    /// Running sums in place.
    fn add_up(self, target: &mut [u32], before: u32) -> u32;

    /// Values in StreamVByte: `count` codes at `codes`, data at `data`; each plus one.
    ///
    /// # Panics
    /// For more values than a block has, and where source or room after the data ends too early.
    fn highs(
        self,
        source: &[u8],
        codes: usize,
        data: usize,
        count: usize,
        target: &mut [u32; HIGHS],
    );
}
