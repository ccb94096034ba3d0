//! Unaligned loads and stores at a position of a slice: the verbs of an LZ loop.
//!
//! These are the only raw memory accesses of the LZ kernels. They take slices and positions instead of pointers, so that a
//! build with debug assertions (every test build) checks each access against the bounds of its buffer.

/// A value that any bytes make: an integer or a vector register.
///
/// # Safety
/// Every bit pattern of the type's size is a valid value, and the type has no padding.
pub(crate) unsafe trait Plain: Copy {}

// SAFETY: integers have neither padding nor forbidden bit patterns.
unsafe impl Plain for u8 {}
// SAFETY: as above.
unsafe impl Plain for u16 {}
// SAFETY: as above.
unsafe impl Plain for u32 {}
// SAFETY: as above.
unsafe impl Plain for u64 {}
// SAFETY: as above.
unsafe impl Plain for u128 {}
#[cfg(target_arch = "x86_64")]
// SAFETY: a register of bytes has neither padding nor forbidden bit patterns.
unsafe impl Plain for core::arch::x86_64::__m128i {}
#[cfg(target_arch = "x86_64")]
// SAFETY: as above.
unsafe impl Plain for core::arch::x86_64::__m256i {}
#[cfg(target_arch = "x86_64")]
// SAFETY: as above.
unsafe impl Plain for core::arch::x86_64::__m512i {}
#[cfg(target_arch = "aarch64")]
// SAFETY: as above.
unsafe impl Plain for core::arch::aarch64::uint8x16_t {}

/// Two values side by side: a piece for which there is no register.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Two<T>(T, T);

// SAFETY: two values of one type leave no gap between them.
unsafe impl<T: Plain> Plain for Two<T> {}

/// The value in the bytes of `buffer` from `at` on, in native byte order.
///
/// # Safety
/// `at + size_of::<T>() <= buffer.len()`.
#[inline(always)]
pub(crate) unsafe fn load<T: Plain>(buffer: &[u8], at: usize) -> T {
    debug_assert!(at <= buffer.len() && size_of::<T>() <= buffer.len() - at);
    // SAFETY: the caller keeps `at` within the buffer.
    let place = unsafe { buffer.as_ptr().add(at) };
    // SAFETY: the caller keeps all bytes of the value within the buffer; any bytes make a `T`.
    unsafe { place.cast::<T>().read_unaligned() }
}

/// Writes a value to the bytes of `buffer` from `at` on, in native byte order.
///
/// # Safety
/// `at + size_of::<T>() <= buffer.len()`.
#[inline(always)]
pub(crate) unsafe fn store<T: Plain>(buffer: &mut [u8], at: usize, value: T) {
    debug_assert!(at <= buffer.len() && size_of::<T>() <= buffer.len() - at);
    // SAFETY: the caller keeps `at` within the buffer.
    let place = unsafe { buffer.as_mut_ptr().add(at) };
    // SAFETY: the caller keeps all bytes of the value within the buffer; a `T` has no padding to leave bytes undefined.
    unsafe { place.cast::<T>().write_unaligned(value) }
}

/// Copies `size_of::<T>()` bytes between two buffers.
///
/// # Safety
/// `from + size_of::<T>() <= source.len()` and `to + size_of::<T>() <= target.len()`.
#[inline(always)]
pub(crate) unsafe fn copy<T: Plain>(source: &[u8], from: usize, target: &mut [u8], to: usize) {
    // SAFETY: the caller keeps `from` far enough from the end.
    let value = unsafe { load::<T>(source, from) };
    // SAFETY: the caller keeps `to` far enough from the end.
    unsafe { store(target, to, value) }
}

/// Copies `size_of::<T>()` bytes inside one buffer; all are read before any is written.
///
/// # Safety
/// `from + size_of::<T>()` and `to + size_of::<T>()` are at most `buffer.len()`.
#[inline(always)]
pub(crate) unsafe fn copy_inside<T: Plain>(buffer: &mut [u8], from: usize, to: usize) {
    // SAFETY: the caller keeps `from` far enough from the end.
    let value = unsafe { load::<T>(buffer, from) };
    // SAFETY: the caller keeps `to` far enough from the end.
    unsafe { store(buffer, to, value) }
}

/// The value, by a way that the optimiser cannot see through: it then keeps the order of additions that the source has.
#[inline(always)]
pub(crate) fn opaque(value: usize) -> usize {
    #[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
    {
        let mut value = value;
        // SAFETY: an empty instruction sequence that touches neither memory nor flags.
        unsafe {
            core::arch::asm!("/* {0} */", inout(reg) value, options(pure, nomem, nostack, preserves_flags));
        }
        value
    }
    #[cfg(not(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri))))]
    value
}

/// Starts a new cache line of code here: a loop that follows lies the same way in every build. Where its head falls within
/// a line is worth up to a third of its speed, and a change of any other function would move it.
///
/// It claims to touch memory, so that what is loaded before is not loaded after it, between the line's start and the loop.
#[inline(always)]
pub(crate) fn align() {
    #[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
    // SAFETY: only instructions that do nothing, as many as are missing to the end of the line.
    unsafe {
        core::arch::asm!(".p2align 6", options(nostack, preserves_flags));
    }
}

/// [`opaque`] for a place in a buffer.
#[inline(always)]
pub(crate) fn opaque_place(place: *const u8) -> *const u8 {
    #[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
    {
        let mut place = place;
        #[expect(clippy::pointers_in_nomem_asm_block, reason = "the place is not looked into")]
        // SAFETY: an empty instruction sequence that touches neither memory nor flags, and leaves the place as it is.
        unsafe {
            core::arch::asm!("/* {0} */", inout(reg) place, options(pure, nomem, nostack, preserves_flags));
        }
        place
    }
    #[cfg(not(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri))))]
    place
}
