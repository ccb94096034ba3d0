//! Loads and stores of registers at a position of a slice: the only raw memory accesses of the integer kernels.
//!
//! They take slices and positions instead of pointers, so that a build with debug assertions (every test build) checks each
//! access against the bounds of its buffer. A position counts elements of the slice.

/// A value that any bytes make: an integer or a vector register.
///
/// # Safety
/// Every bit pattern of the type's size is a valid value, and the type has no padding.
pub(super) unsafe trait Plain: Copy {}

// SAFETY: integers have neither padding nor forbidden bit patterns.
unsafe impl Plain for u8 {}
// SAFETY: as above.
unsafe impl Plain for u16 {}
// SAFETY: as above.
unsafe impl Plain for u32 {}
// SAFETY: as above.
unsafe impl Plain for u64 {}
// SAFETY: integers side by side are as plain as one.
unsafe impl<T: Plain, const N: usize> Plain for [T; N] {}
#[cfg(target_arch = "x86_64")]
// SAFETY: a register of bytes has neither padding nor forbidden bit patterns.
unsafe impl Plain for core::arch::x86_64::__m128i {}
#[cfg(target_arch = "x86_64")]
// SAFETY: as above.
unsafe impl Plain for core::arch::x86_64::__m256i {}
#[cfg(target_arch = "x86_64")]
// SAFETY: as above.
unsafe impl Plain for core::arch::x86_64::__m512i {}

/// The value in the bytes of `buffer` from element `at` on, in native byte order.
///
/// # Safety
/// The bytes of a `V` from element `at` on lie within the buffer.
#[inline(always)]
pub(super) unsafe fn load<V: Plain, T: Plain>(buffer: &[T], at: usize) -> V {
    debug_assert!(at * size_of::<T>() + size_of::<V>() <= size_of_val(buffer));
    // SAFETY: the caller keeps `at` within the buffer.
    let place = unsafe { buffer.as_ptr().add(at) };
    // SAFETY: the caller keeps all bytes of the value within the buffer; any bytes make a `V`.
    unsafe { place.cast::<V>().read_unaligned() }
}

/// Writes a value to the bytes of `buffer` from element `at` on, in native byte order.
///
/// # Safety
/// The bytes of a `V` from element `at` on lie within the buffer.
#[inline(always)]
pub(super) unsafe fn store<V: Plain, T: Plain>(buffer: &mut [T], at: usize, value: V) {
    debug_assert!(at * size_of::<T>() + size_of::<V>() <= size_of_val(buffer));
    // SAFETY: the caller keeps `at` within the buffer.
    let place = unsafe { buffer.as_mut_ptr().add(at) };
    // SAFETY: the caller keeps all bytes of the value within the buffer; a `V` has no padding, and any bytes make a `T`.
    unsafe { place.cast::<V>().write_unaligned(value) }
}

/// The register in 64 bytes of a table.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) fn row64(table: &[u8; 64]) -> core::arch::x86_64::__m512i {
    // SAFETY: the table has 64 bytes.
    unsafe { load(table, 0) }
}
