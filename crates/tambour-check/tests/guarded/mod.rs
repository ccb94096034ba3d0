//! Memory between inaccessible pages.
#![expect(unsafe_code, reason = "maps pages")]

use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect, munmap};
use std::ffi::c_void;

/// Pages that can be written, between two that cannot be touched.
pub(crate) struct Guarded {
    map: *mut u8,
    /// Bytes of one page at least; the protected pieces at both ends have this size.
    edge: usize,
    /// Bytes between them.
    inner: usize,
}

impl Guarded {
    pub(crate) fn new(inner: usize) -> Self {
        // A multiple of every usual page size.
        let edge = 64 << 10;
        let inner = inner.next_multiple_of(edge);
        let (read_write, private) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE);
        // SAFETY: a new anonymous mapping touches no memory of others.
        let map =
            unsafe { mmap_anonymous(std::ptr::null_mut(), inner + 2 * edge, read_write, private) };
        let map = map.unwrap().cast::<u8>();
        for start in [0, edge + inner] {
            let page = map.wrapping_add(start).cast::<c_void>();
            // SAFETY: within the mapping just made, to which no reference exists.
            unsafe { mprotect(page, edge, MprotectFlags::empty()) }.unwrap();
        }
        Self { map, edge, inner }
    }

    /// `length` bytes that start right after the first guard, or end right before the second.
    pub(crate) fn bytes(&mut self, length: usize, at_end: bool) -> &mut [u8] {
        assert!(length <= self.inner);
        let start = self.edge + if at_end { self.inner - length } else { 0 };
        let start = self.map.wrapping_add(start);
        // SAFETY: within the accessible pages, borrowed as long as `self`.
        unsafe { std::slice::from_raw_parts_mut(start, length) }
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        let length = self.inner + 2 * self.edge;
        // SAFETY: the whole mapping, to which no reference is left.
        unsafe { munmap(self.map.cast(), length) }.unwrap();
    }
}
