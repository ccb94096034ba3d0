//! Loops over columns of fixed-width values: differences, bit packing, exclusive ors, common divisors, decimals.
//!
//! These are the loops of ClickHouse's codecs, whose payloads `docs/format/codecs.md` describes; headers, limits and buffers
//! belong to the codecs (`tambour-codec`). All values are little-endian; arithmetic is modulo the width of a value.

pub mod alp;
pub(crate) mod bits;
pub mod delta;
pub mod double_delta;
mod fill;
pub mod fpc;
pub mod gcd;
pub mod gorilla;
#[cfg(target_arch = "x86_64")]
mod register;
pub mod stats;
pub mod t64;

use crate::variant::Runnable;
pub use fill::{fill, is_zero};

/// What is wrong with the values of a payload, and where. Positions count bytes from the start of the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// Position of the byte in which the value starts.
    pub at: usize,
    /// What is wrong with it.
    pub reason: &'static str,
}

impl std::fmt::Display for Malformed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} at {}", self.reason, self.at)
    }
}

impl std::error::Error for Malformed {}

/// A decoder of a stream of bits that hold one value after another, after the first ones in full. Calling it needs the
/// instruction set of its variant; a [`Runnable`] stands for that.
pub type DecodeItems =
    unsafe fn(width: Width, source: &[u8], target: &mut [u8]) -> Result<(), Malformed>;

impl Runnable<DecodeItems> {
    /// Decodes as many values as `target`, a multiple of the width, has room for. Bytes after the last item are not looked at.
    pub fn decode(self, width: Width, source: &[u8], target: &mut [u8]) -> Result<(), Malformed> {
        assert!(target.len().is_multiple_of(width.bytes()));
        let run = self.run();
        // SAFETY: the only condition is the instruction set, and a `Runnable` exists only after its check.
        unsafe { run(width, source, target) }
    }
}

/// Width of a value of one machine word.
///
/// ```
/// use tambour_kernel::column::Width;
/// assert_eq!(Width::new(4), Some(Width::W4));
/// assert_eq!(Width::new(3), None);
/// assert_eq!((Width::W8.bytes(), Width::W8.bits()), (8, 64));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// One byte.
    W1,
    /// Two bytes.
    W2,
    /// Four bytes.
    W4,
    /// Eight bytes.
    W8,
}

impl Width {
    /// Every width.
    pub const ALL: &[Self] = &[Self::W1, Self::W2, Self::W4, Self::W8];

    /// The width of this many bytes.
    pub fn new(bytes: u8) -> Option<Self> {
        Self::ALL.iter().copied().find(|width| width.bytes() == usize::from(bytes))
    }

    /// Bytes of a value.
    pub const fn bytes(self) -> usize {
        self.byte() as usize
    }

    /// Bytes of a value, as a byte.
    pub const fn byte(self) -> u8 {
        match self {
            Self::W1 => 1,
            Self::W2 => 2,
            Self::W4 => 4,
            Self::W8 => 8,
        }
    }

    /// Bits of a value.
    pub const fn bits(self) -> u32 {
        self.byte() as u32 * 8
    }
}

impl From<Width> for usize {
    fn from(width: Width) -> Self {
        width.bytes()
    }
}

/// An unsigned integer of one of the widths.
pub(crate) trait Word: Copy + Default + Eq {
    const BYTES: usize;
    const BITS: u32;

    /// Reads a value from a chunk of exactly its width.
    fn read(bytes: &[u8]) -> Self;
    /// Writes a value to a chunk of exactly its width.
    fn write(self, bytes: &mut [u8]);
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    /// Zero-extended.
    fn wide(self) -> u64;
    /// Sign-extended.
    fn signed(self) -> i64;
    /// The low bits.
    fn narrow(wide: u64) -> Self;
}

macro_rules! word {
    ($($unsigned:ty, $signed:ty;)*) => {$(
        impl Word for $unsigned {
            const BYTES: usize = size_of::<Self>();
            const BITS: u32 = Self::BITS;

            #[inline(always)]
            fn read(bytes: &[u8]) -> Self {
                let mut value = [0; size_of::<Self>()];
                value.copy_from_slice(bytes);
                Self::from_le_bytes(value)
            }

            #[inline(always)]
            fn write(self, bytes: &mut [u8]) {
                bytes.copy_from_slice(&self.to_le_bytes());
            }

            #[inline(always)]
            fn add(self, other: Self) -> Self {
                self.wrapping_add(other)
            }

            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }

            #[inline(always)]
            fn wide(self) -> u64 {
                self as u64
            }

            #[inline(always)]
            fn signed(self) -> i64 {
                self as $signed as i64
            }

            #[inline(always)]
            #[expect(clippy::allow_attributes, reason = "the lint does not fire for the widest")]
            #[allow(clippy::cast_possible_truncation, reason = "the low bits are what is wanted")]
            fn narrow(wide: u64) -> Self {
                wide as Self
            }
        }
    )*};
}

word! { u8, i8; u16, i16; u32, i32; u64, i64; }

/// Calls a function that is generic over [`Word`] with the type of a width.
macro_rules! by_width {
    ($width:expr, $function:ident($($argument:expr),* $(,)?)) => {
        match $width {
            $crate::column::Width::W1 => $function::<u8>($($argument),*),
            $crate::column::Width::W2 => $function::<u16>($($argument),*),
            $crate::column::Width::W4 => $function::<u32>($($argument),*),
            $crate::column::Width::W8 => $function::<u64>($($argument),*),
        }
    };
}
pub(crate) use by_width;
