//! Keys as the bytes that are hashed.

/// Keys of a fixed width: numbers, little-endian as on disk, or arrays of bytes.
pub trait Keys: Copy + sealed::Sealed {
    /// The bytes of all keys, side by side.
    fn bytes(keys: &[Self]) -> &[u8];
}

mod sealed {
    /// Keeps `Keys` to types whose bytes may be looked at.
    pub trait Sealed {}
}

macro_rules! arrays {
    ($($width:literal)*) => {$(
        impl sealed::Sealed for [u8; $width] {}
        impl Keys for [u8; $width] {
            fn bytes(keys: &[Self]) -> &[u8] {
                keys.as_flattened()
            }
        }
    )*};
}

macro_rules! numbers {
    ($($number:ty)*) => {$(
        // On a big-endian machine the bytes in memory are not those on disk; there keys come as arrays.
        #[cfg(target_endian = "little")]
        impl sealed::Sealed for $number {}
        #[cfg(target_endian = "little")]
        impl Keys for $number {
            fn bytes(keys: &[Self]) -> &[u8] {
                // SAFETY: an integer has no padding, and a slice covers all bytes of its elements.
                unsafe { std::slice::from_raw_parts(keys.as_ptr().cast(), size_of_val(keys)) }
            }
        }
    )*};
}

arrays! { 1 2 4 8 16 }
numbers! { u8 u16 u32 u64 u128 i8 i16 i32 i64 i128 }
