//! A hint to the CPU that bytes are wanted soon.

/// Begins to load the cache line that holds the byte `at`. Nothing happens where there is no such byte or no such hint.
///
/// ```
/// let bytes = [0; 4096];
/// tambour_kernel::prefetch(&bytes, 2048);
/// tambour_kernel::prefetch(&bytes, 9999); // No such byte: nothing happens.
/// assert_eq!(bytes, [0; 4096]);
/// ```
#[inline(always)]
pub fn prefetch(bytes: &[u8], at: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(place) = bytes.get(at) {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let place = std::ptr::from_ref(place).cast();
        // SAFETY: a prefetch of a byte that is there; it changes nothing.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(place) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (bytes, at);
}
